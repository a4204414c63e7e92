//! No circle of files in the crates that are read from a record to a page: a file that uses another is read after it.
//! Knows `use` lines, paths in the code and re-exports; what a parent passes on of its children (`pub use`) is no use of
//! them. Test code may use what it likes.

use super::rust_source::RustSource;
use super::{SourceFile, Violation};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const CRATES: &[&str] = &["findings", "report"];

/// From the root of the crate.
type Path = Vec<String>;
/// Which file uses which.
type Arrows<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// A name that a `use` line brings into a file.
struct Import {
    name: String,
    /// As it is written.
    path: Path,
    is_passed_on: bool,
}

struct Module {
    /// From the root of the project.
    file: String,
    imports: Vec<Import>,
    /// Paths in the rest of the code, as they are written.
    paths: Vec<Path>,
}

type Modules = BTreeMap<Path, Module>;

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    CRATES.iter().flat_map(|name| circles(&modules(files, name))).collect()
}

fn modules(files: &[SourceFile], crate_name: &str) -> Modules {
    let root = format!("crates/{crate_name}/src/");
    let of_crate = files.iter().filter(|file| file.is_rust() && !file.is_test_file());
    let module = |file: &SourceFile| {
        let own = own_path(file.path.strip_prefix(&root)?);
        let source = RustSource::parse(&file.text);
        let shipped = source.code.iter().zip(&source.test).filter(|(_, is_test)| !**is_test);
        let code: Vec<&str> = shipped.map(|(line, _)| line.as_str()).collect();
        let (imports, paths) = names_in(&tokens(&code.join("\n")));
        Some((own, Module { file: file.path.clone(), imports, paths }))
    };
    of_crate.filter_map(module).collect()
}

/// `charts::svg` of `charts/svg.rs`, `charts` of `charts/mod.rs`, nothing of `lib.rs`.
fn own_path(file: &str) -> Path {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Path::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Words, `::`, and every other sign by itself.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = match first {
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

fn names_in(tokens: &[&str]) -> (Vec<Import>, Vec<Path>) {
    let (mut imports, mut paths) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let is_passed_on = at > 0 && matches!(tokens[at - 1], "pub" | ")");
            let mut found = Vec::new();
            at = read_tree(tokens, at + 1, &Path::new(), &mut found);
            imports.extend(found.into_iter().map(|(name, path)| Import { name, path, is_passed_on }));
            continue;
        }
        let start = at;
        while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|next| starts_word(next)) {
            at += 2;
        }
        if at > start && (start == 0 || tokens[start - 1] != "::") {
            paths.push(tokens[start..=at].iter().step_by(2).map(|word| (*word).to_owned()).collect());
        }
        at += 1;
    }
    (imports, paths)
}

fn starts_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Reads one tree of a `use` line: the names that it brings and what they stand for. Returns where it ends.
fn read_tree(tokens: &[&str], mut at: usize, prefix: &Path, found: &mut Vec<(String, Path)>) -> usize {
    let mut path = prefix.clone();
    while let Some(token) = tokens.get(at) {
        match *token {
            "::" => at += 1,
            "{" => {
                at += 1;
                while !matches!(tokens.get(at), None | Some(&"}")) {
                    at = read_tree(tokens, at, &path, found);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            "," | "}" | ";" | "as" => break,
            // `charts::{self}` is `charts`.
            "self" if !path.is_empty() => at += 1,
            word => {
                path.push(word.to_owned());
                at += 1;
            }
        }
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if let (Some(&"as"), Some(alias)) = (tokens.get(at), tokens.get(at + 1)) {
        name = (*alias).to_owned();
        at += 2;
    }
    found.push((name, path));
    at
}

/// A path as it is written in a file, from the root of the crate; absent where it leads into another one.
fn from_root(modules: &Modules, own: &[String], path: &[String]) -> Option<Path> {
    let mut base = own.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            let levels = path.iter().take_while(|word| *word == "super").count();
            base.truncate(own.len().checked_sub(levels)?);
            rest = &path[levels..];
        }
        _ if !modules.contains_key(&[own, &path[..1]].concat()) => return None,
        _ => {}
    }
    Some([base.as_slice(), rest].concat())
}

fn arrows(modules: &Modules) -> Arrows<'_> {
    let uses = |own: &Path, module: &Module| {
        let written = module.paths.iter().filter_map(|path| {
            let imported = module.imports.iter().find(|import| import.name == path[0]);
            let Some(import) = imported else { return from_root(modules, own, path) };
            Some([from_root(modules, own, &import.path)?.as_slice(), &path[1..]].concat())
        });
        let imported = module.imports.iter().filter_map(|import| {
            let path = from_root(modules, own, &import.path)?;
            (!import.is_passed_on || !path.starts_with(own)).then_some(path)
        });
        imported
            .chain(written)
            .filter_map(|path| definer(modules, path))
            .filter(|file| *file != own)
            .collect()
    };
    modules.iter().map(|(own, module)| (own, uses(own, module))).collect()
}

/// The module that defines what a path from the root leads to, re-exports followed; absent where that is a module as
/// such, or stands in another crate.
fn definer(modules: &Modules, mut path: Path) -> Option<&Path> {
    // Re-exports in a circle do not compile.
    for _ in 0..=modules.len() {
        let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
        let (home, module) = modules.get_key_value(&path[..length])?;
        let item = path.get(length)?;
        let Some(import) = module.imports.iter().find(|import| import.name == *item) else {
            return Some(home);
        };
        path = [from_root(modules, home, &import.path)?.as_slice(), &path[length + 1..]].concat();
    }
    None
}

/// The shortest circle through each file that no circle before it names.
fn circles(modules: &Modules) -> Vec<Violation> {
    let arrows = arrows(modules);
    let mut named: BTreeSet<&Path> = BTreeSet::new();
    let mut violations = Vec::new();
    for start in arrows.keys() {
        if named.contains(start) {
            continue;
        }
        let Some(circle) = shortest_circle(&arrows, start) else { continue };
        let files: Vec<&str> =
            circle.iter().chain([start]).map(|path| modules[*path].file.as_str()).collect();
        named.extend(circle);
        violations.push(Violation {
            path: modules[*start].file.clone(),
            line: 0,
            problem: format!(
                "files use each other in a circle: {}; move what both need into a file of its own, or the work up",
                files.join(" -> ")
            ),
        });
    }
    violations
}

/// From a file back to it.
fn shortest_circle<'a>(arrows: &Arrows<'a>, start: &'a Path) -> Option<Vec<&'a Path>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen: BTreeSet<&Path> = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in arrows.get(way.last()?).into_iter().flatten() {
            if *next == start {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push_back([way.as_slice(), &[*next]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn problems(sources: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| format!("crates/report/src/{name}");
        let files: Vec<SourceFile> = sources.iter().map(|(name, text)| file(&path(name), text)).collect();
        check(&files)
            .into_iter()
            .map(|violation| violation.problem.replace("crates/report/src/", ""))
            .collect()
    }

    #[test]
    fn files_side_by_side_that_use_each_other_are_named() {
        let found = problems(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::{self as other, Thing}; fn f() { other::g() }"),
            ("b.rs", "use super::c::h; pub struct Thing; pub fn g() { h() }"),
            ("c.rs", "pub fn h() { crate::a::f() }"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a.rs -> b.rs -> c.rs -> a.rs;"), "{}", found[0]);
    }

    #[test]
    fn a_child_that_needs_its_parent_which_calls_it_is_a_circle() {
        let child = ("room/child.rs", "use super::Shared; pub fn go(_: Shared) {}");
        let calling = ("room/mod.rs", "mod child; pub struct Shared; fn f() { child::go(Shared) }");
        assert_eq!(problems(&[("lib.rs", "mod room;"), calling, child]).len(), 1);
        let imported = ("room/mod.rs", "mod child; use child::go; pub struct Shared; fn f() { go(Shared) }");
        assert_eq!(problems(&[("lib.rs", "mod room;"), imported, child]).len(), 1);
        let listing = ("room/mod.rs", "mod child; pub use child::go; pub struct Shared;");
        assert_eq!(problems(&[("lib.rs", "mod room;"), listing, child]), Vec::<String>::new());
    }

    #[test]
    fn what_is_passed_on_is_used_where_it_is_defined() {
        let found = problems(&[
            ("lib.rs", "pub mod room; pub use room::Shared;"),
            ("room/mod.rs", "mod types; mod child; pub(crate) use types::Shared; fn f() { child::go() }"),
            ("room/types.rs", "pub struct Shared;"),
            ("room/child.rs", "use super::Shared; use crate::Shared as Same; pub fn go() {}"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn tests_modules_as_such_and_other_crates_are_no_arrows() {
        let found = problems(&[
            ("lib.rs", "mod a; mod b; use model::figures; fn f() { a::g(); figures::count() }"),
            ("a.rs", "use super::b; pub fn g() {}\n#[cfg(test)]\nmod tests {\n    use super::b::h;\n}\n"),
            ("b.rs", "use super::a::g; pub fn h() { std::mem::drop(g()) }"),
            ("b/tests.rs", "use crate::f;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }
}
