//! `dbdyno engine list|fetch|build|recipes|add|start|info`.

use crate::cli::{Engine, EngineAction, Places, Recipe};
use crate::commands::engine_build::{self, SourceAt, Wanted};
use crate::commands::{engine_start, print};
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use crate::{interrupt, paths, resources};
use anyhow::anyhow;
use model::build::{BuildSource, EngineBuild, Initialise, ServerFiles};
use model::elsewhere::ServerElsewhere;
use model::subject::BuildRef;
use runner::engines::{BuildCache, EngineCatalog, EngineError, PackageRecord, ReleaseStatus, Repository};
use runner::server::{Network, elsewhere};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Dispatches.
pub fn run(places: &Places, arguments: &Engine) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    match &arguments.action {
        EngineAction::List { json } => list(&catalog, &cache, *json),
        EngineAction::Fetch { builds } => fetch(&catalog, &cache, builds),
        EngineAction::Build { engine, git, reference, source, recipe, name, json } => {
            let from = match (git, reference, source) {
                (Some(repository), Some(reference), _) => SourceAt::Commit { repository, reference },
                (_, _, Some(path)) => SourceAt::Tree(path),
                _ => return Err(usage(anyhow!("name the sources: --git DIR --ref REF, or --source PATH"))),
            };
            let wanted = Wanted { engine, from, recipe, name: name.as_deref(), as_json: *json };
            engine_build::run(places, &catalog, &cache, &wanted)
        }
        EngineAction::Recipes { engine, json } => engine_build::print_recipes(engine, *json),
        EngineAction::Add { name, git: Some(git), recipe, .. } => {
            add_repository(places, &catalog, &cache, name, git, recipe)
        }
        EngineAction::Add { recipe, .. } if recipe.is_given() => {
            Err(usage(anyhow!("--recipe, --set and --build-timeout are of commits, which --git names")))
        }
        EngineAction::Add { name, path, password_file, insecure_login, tls_ca, .. } => {
            let path = path.as_deref().unwrap_or(Path::new(""));
            match path.to_str().filter(|text| ServerElsewhere::is_meant_by(text)) {
                Some(address) => {
                    let server = ServerElsewhere {
                        password_file: password_file.clone(),
                        insecure_login: *insecure_login,
                        tls_ca: tls_ca.clone(),
                        ..ServerElsewhere::parse(address).map_err(usage)?
                    };
                    add_elsewhere(&catalog, &cache, name, server)
                }
                None if password_file.is_some() || *insecure_login || tls_ca.is_some() => {
                    Err(usage(anyhow!(
                        "--password-file, --tls-ca and --insecure-login are for the address of a server that runs already"
                    )))
                }
                None => add(&catalog, &cache, name, path),
            }
        }
        EngineAction::Start { server, memory, tcp, json } => {
            let network = if *tcp { Network::Loopback { port: None } } else { Network::Socket };
            let wanted = engine_start::Wanted { server, memory, network, as_json: *json };
            engine_start::run(places, &catalog, &cache, &wanted)
        }
        EngineAction::Info { build, json } => info(&catalog, &cache, build, *json),
    }?;
    Ok(Ending::Done)
}

fn list(catalog: &EngineCatalog, cache: &BuildCache, as_json: bool) -> anyhow::Result<()> {
    let cached = cache.list(catalog)?;
    let is_here = |engine: &str, version: &str| {
        cached
            .builds
            .iter()
            .any(|build| build.reference.engine == engine && build.reference.version == version)
    };
    if as_json {
        let mut engines = Vec::new();
        for engine in catalog.engines() {
            let releases: Vec<_> = catalog
                .releases(engine)?
                .iter()
                .map(|release| {
                    json!({
                        "version": release.version,
                        "tried": release.status == ReleaseStatus::Tried,
                        "here": is_here(engine, &release.version),
                    })
                })
                .collect();
            let configs: Vec<_> = catalog.configs(engine)?.iter().map(|config| &config.name).collect();
            engines.push(json!({
                "engine": engine,
                "family": catalog.family(engine)?,
                "releases": releases,
                "configs": configs,
            }));
        }
        return print::json(&json!({ "schema": 1, "engines": engines, "builds": cached.builds }));
    }
    let mut text = String::new();
    for engine in catalog.engines() {
        let releases = catalog.releases(engine)?;
        let of_status = |status: ReleaseStatus| {
            let versions: Vec<&str> = releases
                .iter()
                .filter(|release| release.status == status)
                .map(|release| release.version.as_str())
                .collect();
            wrapped(&versions.join(" "))
        };
        writeln!(text, "{engine} ({})", what_it_is(catalog, engine)?)?;
        writeln!(text, "  available, tried:\n{}", of_status(ReleaseStatus::Tried))?;
        if releases.iter().any(|release| release.status == ReleaseStatus::Untried) {
            writeln!(text, "  published, untried:\n{}", of_status(ReleaseStatus::Untried))?;
        }
        let configs = catalog.configs(engine)?;
        if !configs.is_empty() {
            writeln!(text, "  configurations:")?;
        }
        for config in configs {
            writeln!(text, "    {:<14} {}", config.name, config.description)?;
        }
    }
    writeln!(text, "builds that are here:")?;
    if cached.builds.is_empty() {
        writeln!(text, "  none; `dbdyno engine fetch rocksdb@8.7.3` fetches one, and so does `compare`")?;
    }
    for build in &cached.builds {
        let source = match &build.source {
            // Of packages the first is the server; `engine info` has all of it.
            BuildSource::Published { coordinates } => coordinates.split(',').next().unwrap_or(coordinates),
            BuildSource::Own { path } | BuildSource::Installed { path } => &path.display().to_string(),
            BuildSource::Elsewhere { server, .. } => &server.to_string(),
        };
        let file = match (build.checksum(), build.file_size()) {
            (Some(sha256), Some(size)) => {
                format!("{:>5.1} MB  sha256 {}", size.0 as f64 / 1e6, &sha256[..12.min(sha256.len())])
            }
            _ => "external server".to_owned(),
        };
        writeln!(text, "  {:<22} {file:<29}  {source}", build.reference.to_string())?;
    }
    for problem in &cached.problems {
        writeln!(text, "  unreadable: {problem}")?;
    }
    print::text(&report::printable_lines(&text))
}

/// Whether it is loaded or spoken to.
fn what_it_is(catalog: &EngineCatalog, engine: &str) -> anyhow::Result<String> {
    Ok(match catalog.dialect(engine)? {
        None if catalog.is_program(engine)? => "a program of the host".to_owned(),
        None => "a library".to_owned(),
        Some(dialect) => format!("a server, speaks {}", dialect.name()),
    })
}

/// Words in lines of at most 90 columns, indented.
fn wrapped(words: &str) -> String {
    const WIDTH: usize = 90;
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() > WIDTH) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "    " } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

fn fetch(catalog: &EngineCatalog, cache: &BuildCache, builds: &[String]) -> anyhow::Result<()> {
    let progress = Progress::new();
    let references: Vec<BuildRef> =
        builds.iter().map(|text| text.parse().map_err(usage)).collect::<anyhow::Result<_>>()?;
    for reference in &references {
        let build = cache.fetch(catalog, reference, &mut |text| progress.say(text)).map_err(as_usage)?;
        print::text(&format!("{reference} is here: {}\n", build.library.display()))?;
    }
    Ok(())
}

fn add(catalog: &EngineCatalog, cache: &BuildCache, name: &str, path: &Path) -> anyhow::Result<()> {
    let build = cache.add(catalog, name, path).map_err(as_usage)?;
    print::text(&format!("{} is {}\n", build.reference, build.library.display()))
}

fn add_repository(
    places: &Places,
    catalog: &EngineCatalog,
    cache: &BuildCache,
    engine: &str,
    directory: &Path,
    recipe: &Recipe,
) -> anyhow::Result<()> {
    // An unknown recipe is an error now, and not only when the first commit is built.
    crate::building::check_recipe(engine, recipe)?;
    crate::building::check_repository(places, directory)?;
    let path = std::path::absolute(directory)?;
    let repository =
        Repository { path, recipe: recipe.names.clone(), set: recipe.set.clone(), timeout: recipe.timeout };
    cache.add_repository(catalog, engine, &repository).map_err(as_usage)?;
    print::text(&format!(
        "commits of {engine} are those of `{}`: {engine}@git:REF is built when it is measured\n",
        repository.path.display()
    ))
}

fn add_elsewhere(
    catalog: &EngineCatalog,
    cache: &BuildCache,
    name: &str,
    server: ServerElsewhere,
) -> anyhow::Result<()> {
    if server.tls_ca.is_some() && server.endpoint.host().is_empty() {
        return Err(usage(anyhow!(
            "--tls-ca is for the address of a host; nobody else can read what goes through a Unix socket"
        )));
    }
    let build = cache.add_elsewhere(catalog, name, server).map_err(as_usage)?;
    let shown = build.elsewhere().map(ToString::to_string).unwrap_or_default();
    print::text(&format!(
        "{} is {shown}, an external server: dbdyno's tables are made in that database and dropped again\n",
        build.reference
    ))
}

fn info(catalog: &EngineCatalog, cache: &BuildCache, text: &str, as_json: bool) -> anyhow::Result<()> {
    let reference: BuildRef = text.parse().map_err(usage)?;
    let progress = Progress::new();
    let found = cache.resolve(catalog, &reference, &mut |text| progress.say(text)).map_err(as_usage)?;
    let Some(build) = found else {
        return Err(anyhow!("{reference} is not here; `dbdyno engine fetch {reference}` fetches it"));
    };
    let packages = cache.packages(&reference).map_err(as_usage)?;
    if as_json {
        print::json(&json!({ "schema": 1, "build": build, "packages": packages }))
    } else {
        print::text(&report::printable_lines(&described(&build, &packages)?))
    }
}

fn described(build: &EngineBuild, packages: &[PackageRecord]) -> anyhow::Result<String> {
    let mut text = String::new();
    let source = match &build.source {
        BuildSource::Published { coordinates } => format!("published, {coordinates}"),
        BuildSource::Own { path } => format!("your own, {}", path.display()),
        BuildSource::Installed { path } => format!("installed, {}", path.display()),
        BuildSource::Elsewhere { server, .. } => return described_elsewhere(build, server),
    };
    writeln!(text, "{}", build.reference)?;
    writeln!(text, "  source     {source}")?;
    let file = if build.server.is_some() { "program" } else { "library" };
    writeln!(text, "  {file}    {}", build.library.display())?;
    writeln!(text, "  sha256     {}", build.sha256)?;
    writeln!(text, "  size       {:.1} MB", build.size.0 as f64 / 1e6)?;
    let compilers =
        if build.compilers.is_empty() { "unknown (stripped)".into() } else { build.compilers.join("; ") };
    writeln!(text, "  compilers  {compilers}")?;
    if let Some(made) = &build.made {
        writeln!(text, "  built from {} {} ({})", made.source.display(), made.id, made.summary)?;
        writeln!(text, "  recipe     {}", made.shown())?;
        if !made.ignored.is_empty() {
            writeln!(text, "  not all code was compiled with {}", made.ignored.join(" "))?;
        }
    }
    if let Some(server) = &build.server {
        describe_server(&mut text, server, packages)?;
    }
    match &build.probe {
        None if build.server.is_some() => {}
        None => writeln!(text, "  not opened yet: `compare` finds out its defaults")?,
        Some(probe) => {
            for (name, value) in &probe.facts {
                writeln!(text, "  {name:<10} {value}")?;
            }
            if !probe.missing_symbols.is_empty() {
                writeln!(text, "  not supported by this release: {}", probe.missing_symbols.join(", "))?;
            }
            writeln!(text, "  its own defaults:\n{}", probe.default_options)?;
        }
    }
    Ok(text)
}

/// What it says of itself is asked before each run, for nobody tells us when it changes.
fn described_elsewhere(build: &EngineBuild, server: &ServerElsewhere) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(text, "{}", build.reference)?;
    writeln!(text, "  runs at    {}", server.endpoint)?;
    writeln!(text, "  speaks     {}", server.dialect.name())?;
    writeln!(text, "  database   {} as {}", server.database, server.user)?;
    if let Some(storage) = &server.storage {
        writeln!(text, "  tables in  {storage}")?;
    }
    writeln!(text, "  password   {}", elsewhere::password_origin(&build.reference, server))?;
    if let Some(authorities) = &server.tls_ca {
        writeln!(text, "  TLS        with a certificate that `{}` has signed", authorities.display())?;
    }
    if server.insecure_login {
        writeln!(
            text,
            "  login      insecure: in clear text over a network too, if the server asks for that"
        )?;
    }
    writeln!(text, "  external: dbdyno does not start, stop or freeze it, and does not read its counters")?;
    Ok(text)
}

fn describe_server(
    text: &mut String,
    server: &ServerFiles,
    packages: &[PackageRecord],
) -> anyhow::Result<()> {
    writeln!(text, "  files      {}", server.root.display())?;
    writeln!(text, "  speaks     {}", server.dialect.name())?;
    if let Some(storage) = &server.storage {
        writeln!(text, "  tables in  {storage}")?;
    }
    let data = match &server.initialise {
        Initialise::Initdb { program } => format!("by {}", program.display()),
        Initialise::InitializeInsecure | Initialise::EmptyDirectory => "by the server itself".to_owned(),
        Initialise::CopyOf { directory } => format!("a copy of {}", directory.display()),
        Initialise::Bootstrap { scripts } => {
            format!("by {} scripts in {}", scripts.len(), server.share.display())
        }
    };
    writeln!(text, "  new data   {data}")?;
    if !server.arguments.is_empty() {
        writeln!(text, "  arguments  {}", server.arguments.join(" "))?;
    }
    if !packages.is_empty() {
        let shown: Vec<String> =
            packages.iter().map(|package| format!("{}={}", package.name, package.version)).collect();
        writeln!(text, "  packages:\n{}", wrapped(&shown.join(" ")))?;
    }
    Ok(())
}

fn as_usage(error: EngineError) -> anyhow::Error {
    if error.is_usage() { usage(error) } else { error.into() }
}
