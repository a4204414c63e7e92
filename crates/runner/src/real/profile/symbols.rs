//! Names of the functions of a file with code.

use cpp_demangle::DemangleOptions;
use flate2::Crc;
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where distributions put debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// The functions of a file by their addresses in it.
#[derive(Default)]
pub struct Symbols {
    /// First address, address after the last, name as in the file. Ascending.
    functions: Vec<(u64, u64, String)>,
    /// By first address.
    demangled: RefCell<BTreeMap<u64, Rc<str>>>,
}

impl Symbols {
    /// From the file's own table, the names that it exports, and the debug file of this build if one lies where such files are put.
    pub fn read(file: &object::File<'_>, path: &Path) -> Symbols {
        let mut functions = functions(file);
        for debug in debug_files(file, path) {
            let Ok(data) = fs::read(debug) else { continue };
            let parsed = object::File::parse(data.as_slice()).ok();
            if let Some(parsed) = parsed.filter(|parsed| is_of_build(parsed, &data, file)) {
                functions.extend(self::functions(&parsed));
                break;
            }
        }
        // Several names of one address: the first by name, on every side the same.
        functions.sort();
        functions.dedup_by_key(|(first, ..)| *first);
        Symbols { functions, demangled: RefCell::default() }
    }

    /// The function that an address is in: never the nearest one.
    pub fn name(&self, at: u64) -> Option<Rc<str>> {
        let place = self.functions.partition_point(|(first, ..)| *first <= at);
        let (first, end, name) = self.functions.get(place.checked_sub(1)?)?;
        let of = || Rc::from(demangled(name));
        (at < *end).then(|| Rc::clone(self.demangled.borrow_mut().entry(*first).or_insert_with(of)))
    }
}

fn functions(file: &object::File<'_>) -> Vec<(u64, u64, String)> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let with_code = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let range = |symbol: object::Symbol<'_, '_>| {
        let name = symbol.name().ok()?.to_owned();
        (symbol.size() > 0).then(|| (symbol.address(), symbol.address() + symbol.size(), name))
    };
    with_code.filter_map(range).collect()
}

fn debug_files(file: &object::File<'_>, path: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Ok(Some(id)) = file.build_id()
        && let [first, rest @ ..] = id
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(Path::new(DEBUG_DIRECTORY).join(format!(".build-id/{first:02x}/{rest}.debug")));
    }
    if let (Ok(Some((name, _))), Some(directory)) = (file.gnu_debuglink(), path.parent())
        && let Ok(name) = std::str::from_utf8(name)
    {
        files.push(directory.join(name));
        files.push(directory.join(".debug").join(name));
    }
    files.retain(|one| one != path && one.is_file());
    files
}

/// One of another build would name nothing right.
fn is_of_build(debug: &object::File<'_>, data: &[u8], file: &object::File<'_>) -> bool {
    match (debug.build_id(), file.build_id()) {
        (Ok(Some(debug)), Ok(Some(file))) => debug == file,
        // Some linkers write none. The checksum of the debug file stands beside its name.
        (Ok(None), Ok(None)) => {
            let mut crc = Crc::new();
            crc.update(data);
            matches!(file.gnu_debuglink(), Ok(Some((_, wanted))) if wanted == crc.sum())
        }
        _ => false,
    }
}

/// Without parameters and what compilers append to parts and copies of a function: those differ between releases and builds that have the same function.
fn demangled(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let plus_plus = (name.starts_with("_Z") && !is_rust(name)).then(|| cpp_demangle::Symbol::new(name).ok());
    let text = plus_plus.flatten().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    match text {
        Some(text) => text.split(" [clone ").next().unwrap_or_default().to_owned(),
        None => {
            let rust = format!("{:#}", rustc_demangle::demangle(name));
            let end = rust.get(1..).and_then(|rest| rest.find('.')).map_or(rust.len(), |dot| dot + 1);
            rust[..end].to_owned()
        }
    }
}

/// Rust's older names look like those of C++, with a hash at their end: `17h60d1390cc310b474E`.
fn is_rust(name: &str) -> bool {
    let hash = name.strip_suffix('E').and_then(|name| name.rsplit_once("17h"));
    hash.is_some_and(|(_, hash)| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builds::debug_info::put_apart;
    use std::process::Command;

    #[test]
    fn names_are_those_of_the_source() {
        for (name, of_source) in [
            ("_ZN7rocksdb6DBImpl3GetERKNS_11ReadOptionsE", "rocksdb::DBImpl::Get"),
            ("_ZN7rocksdb6DBImpl3GetERKNS_11ReadOptionsE.cold", "rocksdb::DBImpl::Get"),
            ("heap_hot_search_buffer.constprop.0", "heap_hot_search_buffer"),
            ("_ZN4load10foreground6Burner4burn17h60d1390cc310b474E", "load::foreground::Burner::burn"),
            ("memcpy", "memcpy"),
            (".hidden", ".hidden"),
        ] {
            assert_eq!(demangled(name), of_source);
        }
    }

    #[test]
    fn functions_are_named_by_the_debug_file_that_a_build_puts_beside_its_files() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        let run = |program: &str, arguments: &[&str]| {
            let status = Command::new(program).args(arguments).current_dir(scratch.path()).status().unwrap();
            assert!(status.success(), "{program} {arguments:?}");
        };
        fs::write(
            path("a.c"),
            "static __attribute__((noinline)) int planted(int a) { return a * 3; }\nint main(int n, char **w) { (void)w; return planted(n); }\n",
        )
        .unwrap();
        let is_named = |name: &str| {
            let data = fs::read(path(name)).unwrap();
            let symbols = Symbols::read(&object::File::parse(data.as_slice()).unwrap(), &path(name));
            symbols.functions.iter().any(|(.., name)| name == "planted")
        };
        for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
            fs::create_dir(path("bin")).unwrap();
            run("cc", &["-O1", "-g", build_id, "-o", "bin/program", "a.c"]);
            put_apart(&path("bin"), scratch.path(), &|| false).unwrap();
            assert!(is_named("bin/program"), "{build_id}: debug info alone is taken away");
            // Then the debug file alone has the name.
            run("objcopy", &["--strip-all", "bin/program"]);
            assert!(is_named("bin/program"), "{build_id}");
            run("cc", &["-O2", "-g", "-Wl,--build-id=0x01020304", "-o", "bin/.debug/program.debug", "a.c"]);
            assert!(!is_named("bin/program"), "{build_id}: the debug file of another build");
            fs::remove_dir_all(path("bin")).unwrap();
        }
    }

    #[test]
    fn an_address_behind_the_end_of_a_function_is_in_none() {
        let functions = vec![(16, 20, "f".to_owned()), (32, 40, "g".to_owned())];
        let symbols = Symbols { functions, demangled: RefCell::default() };
        let name = |at| symbols.name(at).map(|name| name.to_string());
        assert_eq!(
            [name(15), name(16), name(19), name(20), name(39), name(40)].map(|name| name.unwrap_or_default()),
            ["", "f", "f", "", "g", ""]
        );
    }
}
