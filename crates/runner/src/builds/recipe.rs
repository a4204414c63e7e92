//! Recipes: how sources of an engine become a build, as data (`recipes/*.toml`).

use super::BuildError;
use super::pgo::Pgo;
use super::settings::{Compiler, DebugInfo, Settings, UseOfCcache};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The recipes of one engine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipes {
    pub engine: String,
    /// The first that fits a tree is meant if none is named.
    #[serde(rename = "recipe")]
    recipes: Vec<Recipe>,
    /// Of the recipes that have none of their own.
    training: Option<String>,
    /// Settings under a name: `lto = { lto = "yes" }`.
    #[serde(default)]
    variants: BTreeMap<String, BTreeMap<String, String>>,
}

/// One way to build. Commands are for `/bin/sh`, which finds in its environment `source` (the tree), `build` (the directory that it stands in),
/// `stage` and `prefix` (what is installed goes to `$stage$prefix`), `jobs`, `options`, `optimisation`, and what the settings make of `CC`, `CXX`,
/// `CFLAGS`, `CXXFLAGS`, `LDFLAGS`, `AR`, `NM` and `RANLIB`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    pub name: String,
    pub description: String,
    /// A file of the trees that it fits.
    pub needs: PathBuf,
    /// Done once for a build directory.
    configure: Option<String>,
    build: String,
    /// Absent for a library, which is taken from where it was built.
    install: Option<String>,
    /// Below the build directory.
    library: Option<PathBuf>,
    /// Whether it builds within the tree.
    #[serde(default)]
    in_source: bool,
    /// Written into the build directory before it is configured.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Where the tree says which version it is: a build that says another is not of this tree.
    version: Option<VersionIn>,
    /// A workload for profile-guided optimisation, which finds `installed`, `server_uid` and `server_gid` (of a server) or `library`, and `profile`, the
    /// directory that processes of the build write into when they end. It runs in an empty directory.
    training: Option<String>,
}

/// A version that stands in a file, its parts on lines that begin in these ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionIn {
    pub file: PathBuf,
    lines: Vec<String>,
}

/// A recipe with all that was set: what is done, to the letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// `configure`, `configure,lto`
    pub name: String,
    pub configure: Option<String>,
    pub build: String,
    pub install: Option<String>,
    pub in_source: bool,
    pub files: BTreeMap<String, String>,
    pub product: Product,
    pub environment: BTreeMap<String, String>,
    /// Flags that all code should have been compiled with.
    pub flags: Vec<String>,
    pub settings: BTreeMap<String, String>,
    /// What the compiler calls itself; absent if the command chooses one.
    pub compiler: Option<String>,
    pub version: Option<VersionIn>,
    /// Absent if the build is not trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pgo: Option<Pgo>,
    /// The settings above tell it, too, and what is built is known by those.
    #[serde(skip)]
    pub debug_info: DebugInfo,
    /// Nothing is known by it: the build is the same.
    #[serde(skip)]
    pub ccache: UseOfCcache,
}

/// What a build makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// By its path below the build directory.
    Library(PathBuf),
    /// All that it installs.
    Server,
}

impl Recipes {
    /// # Errors
    /// No TOML of this form, or a recipe that makes neither a library nor an installed server; `origin` names the file.
    pub fn parse(text: &str, origin: &str) -> Result<Recipes, BuildError> {
        let invalid = |problem: String| BuildError::RecipeInvalid { origin: origin.to_owned(), problem };
        let recipes: Recipes = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        for recipe in &recipes.recipes {
            match (&recipe.install, &recipe.library) {
                (Some(_), None) => {}
                (None, Some(library)) if is_within(library) => {}
                _ => {
                    return Err(invalid(format!(
                        "recipe `{}` must have either `install` or a `library` below the build directory",
                        recipe.name
                    )));
                }
            }
        }
        for (name, set) in &recipes.variants {
            let mut settings = Settings::default();
            for (key, value) in set {
                settings.set(key, value).map_err(|error| invalid(format!("variant `{name}`: {error}")))?;
            }
        }
        Ok(recipes)
    }

    /// In the order in which they are tried.
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }

    /// Settings that belong together, by their name.
    pub fn variants(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        &self.variants
    }

    /// The recipe for a tree: of these names one may be that of a recipe, the others are variants, whose settings come before `set`. `has` says
    /// whether the tree has a file.
    ///
    /// # Errors
    /// A name or a setting that there is not, a recipe that does not fit the tree, a compiler that is not there.
    pub fn choose(
        &self,
        names: &[String],
        set: &[(String, String)],
        has: &dyn Fn(&Path) -> Result<bool, BuildError>,
        compiler: &dyn Fn(&str) -> Option<Compiler>,
    ) -> Result<Ready, BuildError> {
        let mut named = None;
        let mut settings = Settings::default();
        for name in names {
            if let Some(variant) = self.variants.get(name) {
                variant.iter().try_for_each(|(key, value)| settings.set(key, value))?;
            } else if let (Some(recipe), None) = (self.recipes.iter().find(|one| one.name == *name), named) {
                named = Some(recipe);
            } else {
                let recipes = self.recipes.iter().map(|recipe| recipe.name.as_str());
                let known: Vec<&str> = recipes.chain(self.variants.keys().map(String::as_str)).collect();
                return Err(BuildError::NoSuchRecipe {
                    engine: self.engine.clone(),
                    name: name.clone(),
                    known: known.join(", "),
                });
            }
        }
        set.iter().try_for_each(|(key, value)| settings.set(key, value))?;
        let candidates: Vec<&Recipe> = match named {
            Some(recipe) => vec![recipe],
            None => self.recipes.iter().collect(),
        };
        for recipe in &candidates {
            if has(&recipe.needs)? {
                let variants = names.iter().filter(|name| **name != recipe.name);
                let name: Vec<&str> =
                    std::iter::once(recipe.name.as_str()).chain(variants.map(String::as_str)).collect();
                return recipe.ready(name.join(","), self.training.as_deref(), &settings, compiler);
            }
        }
        let needs: Vec<String> = candidates.iter().map(|one| format!("`{}`", one.needs.display())).collect();
        Err(BuildError::NoRecipeFits { engine: self.engine.clone(), needs: needs.join(" or ") })
    }
}

impl Recipe {
    fn ready(
        &self,
        name: String,
        training_of_all: Option<&str>,
        settings: &Settings,
        compiler: &dyn Fn(&str) -> Option<Compiler>,
    ) -> Result<Ready, BuildError> {
        if self.library.is_some() {
            settings.check_library()?;
        }
        let wanted = settings.compiler();
        let compiler = compiler(wanted).ok_or_else(|| BuildError::NoCompiler { name: wanted.to_owned() })?;
        let training = self.training.as_deref().or(training_of_all);
        let pgo = settings.pgo(&self.name, training, &compiler)?;
        Ok(Ready {
            name,
            configure: self.configure.clone(),
            build: self.build.clone(),
            install: self.install.clone(),
            in_source: self.in_source,
            files: self.files.clone(),
            product: self.library.clone().map_or(Product::Server, Product::Library),
            environment: settings.environment(&compiler),
            flags: settings.flags(&compiler),
            settings: settings.all(),
            compiler: Some(compiler.version),
            version: self.version.clone(),
            pgo,
            debug_info: settings.debug_info(),
            ccache: settings.ccache(),
        })
    }
}

impl Ready {
    /// A command of the user's, run in the root of the tree, that makes a library there.
    ///
    /// # Errors
    /// The library is not named by a path within the tree.
    pub fn command(command: &str, library: &Path) -> Result<Ready, BuildError> {
        if !is_within(library) {
            return Err(BuildError::BadLibraryPath { path: library.to_owned() });
        }
        Ok(Ready {
            name: "command".to_owned(),
            configure: None,
            // As a shell runs it that was given it: of several commands the last one says whether it failed.
            build: format!("set +e\n{command}"),
            install: None,
            in_source: true,
            files: BTreeMap::new(),
            product: Product::Library(library.to_owned()),
            environment: BTreeMap::new(),
            flags: Vec::new(),
            settings: BTreeMap::new(),
            compiler: None,
            version: None,
            pgo: None,
            debug_info: DebugInfo::In,
            ccache: UseOfCcache::AsTheCommandHasIt,
        })
    }
}

impl VersionIn {
    /// `15.7` of the text of the file; absent if a line is missing.
    pub fn read(&self, text: &str) -> Option<String> {
        let part = |begin: &String| {
            let rest = text.lines().find_map(|line| line.trim().strip_prefix(begin.as_str()))?;
            let end = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '.');
            Some(&rest[..end.unwrap_or(rest.len())]).filter(|part| !part.is_empty())
        };
        let parts: Option<Vec<&str>> = self.lines.iter().map(part).collect();
        parts.map(|parts| parts.join("."))
    }
}

fn is_within(path: &Path) -> bool {
    path.file_name().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPES: &str = r#"
        engine = "postgres"
        [[recipe]]
        name = "meson"
        description = "d"
        needs = "meson.build"
        build = "ninja"
        install = "ninja install"
        [[recipe]]
        name = "configure"
        description = "d"
        needs = "configure"
        configure = "$source/configure"
        build = "make"
        install = "make install"
        training = "run it"
        [variants]
        lto = { lto = "yes" }
        fast = { optimisation = "-O3", lto = "yes" }
    "#;

    const LIBRARY: &str = "engine = \"a\"\n[[recipe]]\nname = \"r\"\ndescription = \"\"\nneeds = \"x\"\nbuild = \"y\"\nlibrary = \"a.so\"\n";

    fn compiler(name: &str) -> Option<Compiler> {
        (name != "none").then(|| Compiler {
            name: name.to_owned(),
            version: format!("{name} 1.0"),
            takes_partial_training: false,
        })
    }

    fn chosen(names: &[&str], set: &[(&str, &str)], file: &str) -> Result<Ready, BuildError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let set: Vec<(String, String)> =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let has = |path: &Path| Ok(path == Path::new(file));
        Recipes::parse(RECIPES, "test")?.choose(&names, &set, &has, &compiler)
    }

    #[test]
    fn the_recipe_that_fits_is_meant_and_variants_and_settings_come_on_top() {
        let plain = chosen(&[], &[], "configure").unwrap();
        assert_eq!((plain.name.as_str(), plain.product), ("configure", Product::Server));
        assert_eq!(chosen(&[], &[], "meson.build").unwrap().name, "meson");
        let fast = chosen(&["fast"], &[("optimisation", "-Os")], "configure").unwrap();
        assert_eq!(fast.name, "configure,fast");
        assert_eq!((fast.settings["lto"].as_str(), fast.settings["optimisation"].as_str()), ("yes", "-Os"));
        assert_eq!(fast.compiler.as_deref(), Some("gcc 1.0"));
    }

    #[test]
    fn what_there_is_not_is_named_with_what_there_is() {
        let refused = |names: &[&str], set: &[(&str, &str)], file: &str, parts: &[&str]| {
            let error = chosen(names, set, file).unwrap_err();
            assert!(error.is_usage(), "{error}");
            let said = error.to_string();
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        };
        refused(&["cmake"], &[], "configure", &["cmake", "meson, configure, fast, lto"]);
        refused(&["meson", "configure"], &[], "configure", &["configure"]);
        refused(&[], &[], "README", &["`meson.build` or `configure`"]);
        refused(&["meson"], &[], "configure", &["`meson.build`"]);
        refused(&[], &[("speed", "1")], "configure", &["speed", "optimisation"]);
        refused(&[], &[("lto", "maybe")], "configure", &["lto", "yes", "maybe"]);
        refused(&[], &[("compiler", "none")], "configure", &["`none`"]);
    }

    #[test]
    fn a_build_is_trained_by_the_workload_of_its_recipe_or_by_a_command() {
        let training = |set: &[(&str, &str)], file| {
            let ready = chosen(&[], set, file).unwrap();
            (ready.pgo.map(|pgo| pgo.training), ready.settings.get("pgo").cloned())
        };
        assert_eq!(training(&[], "configure"), (None, None));
        assert_eq!(training(&[("pgo", "no")], "configure"), (None, None));
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(training(&[("pgo", "yes")], "configure"), (of("run it"), of("yes")));
        assert_eq!(training(&[("pgo", "sh own.sh")], "meson.build"), (of("sh own.sh"), of("sh own.sh")));
        let error = chosen(&[], &[("pgo", "yes")], "meson.build").unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("`meson`"), "{error}");
        let of_all = Recipes::parse(&format!("training = \"all\"\n{RECIPES}"), "test").unwrap();
        for (file, training) in [("meson.build", "all"), ("configure", "run it")] {
            let has = |path: &Path| Ok(path == Path::new(file));
            let set = [("pgo".to_owned(), "yes".to_owned())];
            let ready = of_all.choose(&[], &set, &has, &compiler).unwrap();
            assert_eq!(ready.pgo.unwrap().training, training);
        }
    }

    #[test]
    fn a_library_has_the_allocator_of_the_process_that_loads_it() {
        let set = [("allocator".to_owned(), "jemalloc".to_owned())];
        let library = Recipes::parse(LIBRARY, "test").unwrap();
        assert!(library.choose(&[], &[], &|_| Ok(true), &compiler).is_ok());
        let error = library.choose(&[], &set, &|_| Ok(true), &compiler).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("`jemalloc`"), "{error}");
        let server = chosen(&[], &[("allocator", "jemalloc")], "configure").unwrap();
        assert!(server.environment["LDFLAGS"].contains("-ljemalloc"));
    }

    #[test]
    fn a_file_of_recipes_that_cannot_be_is_named() {
        let broken = |text: &str| Recipes::parse(text, "own.toml").unwrap_err().to_string();
        assert!(broken("engine = 1").contains("own.toml"));
        let neither =
            "engine = \"a\"\n[[recipe]]\nname = \"r\"\ndescription = \"\"\nneeds = \"x\"\nbuild = \"y\"\n";
        assert!(broken(neither).contains("`r`"));
        assert!(broken(&format!("{neither}library = \"../x.so\"\n")).contains("`r`"));
        assert!(broken(&RECIPES.replace("lto = \"yes\" }", "speed = \"1\" }")).contains("speed"));
    }

    #[test]
    fn a_version_is_read_from_one_line_or_several() {
        let of = |file: &str, lines: &[&str]| VersionIn {
            file: file.into(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let postgres = of("configure", &["PACKAGE_VERSION='"]);
        assert_eq!(postgres.read("x\nPACKAGE_VERSION='15.7'\n").as_deref(), Some("15.7"));
        assert_eq!(postgres.read("PACKAGE_VERSION='18devel'\n").as_deref(), Some("18devel"));
        let mariadb =
            of("VERSION", &["MYSQL_VERSION_MAJOR=", "MYSQL_VERSION_MINOR=", "MYSQL_VERSION_PATCH="]);
        let text =
            "MYSQL_VERSION_MAJOR=10\nMYSQL_VERSION_MINOR=11\nMYSQL_VERSION_PATCH=9\nSERVER_MATURITY=stable\n";
        assert_eq!(mariadb.read(text).as_deref(), Some("10.11.9"));
        assert_eq!(mariadb.read("MYSQL_VERSION_MAJOR=10\n"), None);
    }
}
