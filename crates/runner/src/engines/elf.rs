//! Is a file a library of this engine, or a program, and of this CPU, and which compilers made it: read from the ELF headers
//! and the symbol table for the dynamic linker, which stripped libraries keep. Nothing is loaded.

use super::error::EngineError;
use super::file::LibrarySource;
use object::{Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, ReadCache};
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What stands in the stamp of a compiler or linker. The section holds any text that a source file asks for:
/// published builds from 8.5.4 on have `$Id$` and a copyright line of a bundled library in it.
const TOOLS: [&str; 5] = ["GCC", "clang", "LLD", "Intel", "rustc"];

/// As the run path of a library spells its own directory.
const ORIGIN: [&[u8]; 2] = [b"$ORIGIN", b"${ORIGIN}"];

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Checks that `path` is a library of the engine for the CPU `arch` (as `std::env::consts::ARCH` spells it)
/// and returns the compiler stamps in it.
pub(super) fn check_library(
    path: &Path,
    source: &LibrarySource,
    arch: &str,
) -> Result<Vec<String>, EngineError> {
    let not_a_library = |problem: String| EngineError::NotALibrary {
        path: path.to_owned(),
        problem,
        example: format!("lib{}.so", source.engine),
    };
    let read = EngineError::io("read", path);
    let mut file = File::open(path).map_err(&read)?;
    let mut magic = Vec::new();
    file.by_ref().take(ELF_MAGIC.len() as u64).read_to_end(&mut magic).map_err(&read)?;
    if magic != ELF_MAGIC {
        return Err(not_a_library("it does not begin like one".to_owned()));
    }
    let cache = ReadCache::new(file);
    let library = object::File::parse(&cache).map_err(|error| not_a_library(error.to_string()))?;
    if library.kind() != ObjectKind::Dynamic {
        return Err(not_a_library("it is an object file or a program".to_owned()));
    }
    if !is_for(library.architecture(), arch) {
        return Err(EngineError::OtherCpu {
            path: path.to_owned(),
            found: format!("{:?}", library.architecture()).to_lowercase(),
            wanted: arch.to_owned(),
        });
    }
    let exported = library.dynamic_symbols().any(|symbol| {
        symbol.is_definition() && symbol.name_bytes().is_ok_and(|name| name == source.entry_symbol.as_bytes())
    });
    if !exported {
        // A library that was cut short has lost its section headers, which are at its end.
        if library.sections().next().is_none() {
            return Err(not_a_library("it is cut short".to_owned()));
        }
        return Err(EngineError::NoEntrySymbol {
            path: path.to_owned(),
            symbol: source.entry_symbol.clone(),
            engine: source.engine.clone(),
        });
    }
    Ok(stamps_of(&library))
}

/// Checks that `path` is a program for the CPU `arch` and returns the compiler stamps in it.
pub(super) fn check_program(path: &Path, arch: &str) -> Result<Vec<String>, EngineError> {
    let not_a_program = |problem: String| EngineError::NotAProgram { path: path.to_owned(), problem };
    let file = File::open(path).map_err(EngineError::io("read", path))?;
    let cache = ReadCache::new(file);
    let program = object::File::parse(&cache).map_err(|error| not_a_program(error.to_string()))?;
    if !matches!(program.kind(), ObjectKind::Executable | ObjectKind::Dynamic) || program.entry() == 0 {
        return Err(not_a_program("it is an object file or a library".to_owned()));
    }
    if !is_for(program.architecture(), arch) {
        let found = format!("{:?}", program.architecture()).to_lowercase();
        return Err(not_a_program(format!("it is for {found}, this machine is {arch}")));
    }
    Ok(stamps_of(&program))
}

/// Whether the dynamic linker looks for other libraries in the directory of this one (`$ORIGIN` in its run path), so that it
/// cannot be loaded from elsewhere. A file that cannot be read does not.
pub(crate) fn looks_beside_itself(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    let Ok(library) = object::File::parse(&cache) else { return false };
    let strings = library.section_by_name(".dynstr").and_then(|section| section.data().ok());
    let names =
        |text: &[u8]| ORIGIN.iter().any(|origin| text.windows(origin.len()).any(|part| part == *origin));
    strings.is_some_and(names)
}

/// Whether a program or library has debug info in it. Objects and archives of objects, which nothing runs, are neither.
pub(crate) fn has_debug_info(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    let Ok(file) = object::File::parse(&cache) else { return false };
    matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic)
        && file.section_by_name(".debug_info").is_some()
}

/// The command lines of the compilers that made a file, each once, if they wrote them into it (`-frecord-gcc-switches`).
pub(super) fn command_lines(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let cache = ReadCache::new(file);
    let Ok(file) = object::File::parse(&cache) else { return Vec::new() };
    let section = file.section_by_name(".GCC.command.line").and_then(|section| section.data().ok());
    lines_of(section.unwrap_or_default())
}

/// ```text
/// GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2 -fPIC
/// /usr/lib/llvm-16/bin/clang -O2 -g -c a.c
/// ```
/// as gcc writes them from 11 on, and clang. Older gcc writes each word by itself, which tells nothing of a single line: such words are left out.
fn lines_of(section: &[u8]) -> Vec<String> {
    let texts = section.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    texts.filter(|text| text.contains(" -") && !text.starts_with('-')).map(Cow::into_owned).collect()
}

fn stamps_of<'a>(file: &object::File<'a, &'a ReadCache<File>>) -> Vec<String> {
    let comment = file.section_by_name(".comment").and_then(|section| section.data().ok());
    comment.map(compiler_stamps).unwrap_or_default()
}

fn is_for(found: Architecture, arch: &str) -> bool {
    match found {
        Architecture::X86_64 => arch == "x86_64",
        Architecture::Aarch64 => arch == "aarch64",
        Architecture::Riscv64 => arch == "riscv64",
        Architecture::PowerPc64 => arch == "powerpc64",
        Architecture::S390x => arch == "s390x",
        // The list of the `object` crate is open; an engine for any other CPU is none that we know of.
        _ => false,
    }
}

/// The stamps in a `.comment` section, each once, in file order: `GCC: (GNU) 7.3.1 20180303`.
fn compiler_stamps(comment: &[u8]) -> Vec<String> {
    let mut stamps: Vec<String> = Vec::new();
    for text in comment.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(text).into_owned();
        if TOOLS.iter().any(|tool| text.contains(tool)) && !stamps.contains(&text) {
            stamps.push(text);
        }
    }
    stamps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::catalog::tests::ENGINE;
    use crate::engines::file::EngineSource;
    use crate::engines::{CatalogFiles, EngineCatalog};
    use std::path::PathBuf;

    fn check(path: &Path) -> Result<Vec<String>, EngineError> {
        let files = CatalogFiles { engines: &[("embedded:rocksdb", ENGINE)], configs: &[] };
        let catalog = EngineCatalog::parse(files).unwrap();
        let EngineSource::Library(source) = catalog.source("rocksdb").unwrap() else {
            panic!("RocksDB is a library")
        };
        check_library(path, source, "x86_64")
    }

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/elf").join(name)
    }

    #[test]
    fn a_library_with_the_entry_symbol_tells_its_compiler() {
        let stamps = check(&fixture("exports_rocksdb_open.so")).unwrap();
        assert_eq!(stamps, ["GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"]);
    }

    #[test]
    fn what_is_no_library_of_the_engine_is_refused_with_its_path() {
        let scratch = tempfile::tempdir().unwrap();
        let whole = std::fs::read(fixture("exports_rocksdb_open.so")).unwrap();
        let refused = |path: &Path, expected: &str| {
            let error = check(path).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(&path.display().to_string()), "{error}");
        };
        refused(&fixture("exports_other_open.so"), "does not export `rocksdb_open`");
        refused(&fixture("other_cpu.so"), "is a library for aarch64, this machine is x86_64");
        refused(&fixture("README.md"), "is not an ELF shared library");
        let broken = scratch.path().join("librocksdb.so");
        for length in [0, 3, 4, 40, 64, 1000, whole.len() - 1] {
            std::fs::write(&broken, &whole[..length]).unwrap();
            refused(&broken, "is not an ELF shared library");
        }
        let mut relocatable = whole.clone();
        relocatable[16] = 1; // e_type = ET_REL
        std::fs::write(&broken, &relocatable).unwrap();
        refused(&broken, "it is an object file or a program");
    }

    #[test]
    fn stamps_are_told_once_and_in_order_without_what_is_none() {
        let stamps = |comment: &str| compiler_stamps(comment.as_bytes());
        assert_eq!(stamps("\0GCC: 7.3.1\0$Id$\0GCC: 4.4.7\0GCC: 7.3.1\0"), ["GCC: 7.3.1", "GCC: 4.4.7"]);
        assert_eq!(stamps("Debian clang version 14.0.6\0"), ["Debian clang version 14.0.6"]);
        assert_eq!(stamps(""), Vec::<String>::new());
    }

    #[test]
    fn command_lines_are_told_from_single_words() {
        let lines = |section: &str| lines_of(section.as_bytes());
        let gcc = "GNU C17 12.2.0 -g -O2";
        let clang = "/usr/bin/clang -O2 -c a.c";
        assert_eq!(lines(&format!("\0{gcc}\0\0{clang}\0")), [gcc, clang]);
        assert_eq!(lines("a.c\0-O2\0-auxbase-strip a.o\0"), Vec::<String>::new());
        assert_eq!(lines(""), Vec::<String>::new());
    }
}
