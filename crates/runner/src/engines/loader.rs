//! Starts a program with the dynamic loader and the C library that came with it in place of the host's.
//!
//! The kernel reads the loader's path from the program's header PT_INTERP, and it must be absolute. So what is
//! started is a copy of the program with that header pointing to a path that is appended to the file; all else is
//! as published, byte for byte, and finds its libraries by LD_LIBRARY_PATH. The published file stays beside it and
//! is what a build is identified by: the copy differs from host to host, and is made anew when the cache was moved.
//!
//! Rejected: `patchelf`, which would have to be fetched first and moves segments about; the loader as the program
//! (`ld.so mariadbd ..`), which /proc and perf then show in place of the server.

use super::error::EngineError;
use crate::passable;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The directory of the copy in its build's directory.
const COPY_DIRECTORY: &str = "run";

/// Type of the program header with the loader's path (ELF specification, "Program Header").
const PT_INTERP: u32 = 3;

/// Where the copy of a program is in its build's directory.
pub(super) fn copy_of(program: &Path, directory: &Path) -> PathBuf {
    directory.join(COPY_DIRECTORY).join(program.file_name().unwrap_or_default())
}

/// Sees to it that the copy of `program` is there as it has to be; both paths are below `directory`.
pub(super) fn ensure_copy(program: &Path, loader: &Path, directory: &Path) -> Result<(), EngineError> {
    let path = directory.join(program);
    let content = fs::read(&path).map_err(EngineError::io("read", &path))?;
    let wanted = with_loader(&content, &directory.join(loader))
        .map_err(|problem| EngineError::NotAProgram { path, problem: problem.to_owned() })?;
    let copy = copy_of(program, directory);
    if fs::read(&copy).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let parent = directory.join(COPY_DIRECTORY);
    passable::create_dir_all(&parent).map_err(EngineError::io("write", &parent))?;
    // In one step: a server that runs from the old one keeps it.
    let fresh = parent.join(format!(".new-{}", std::process::id()));
    let written = fs::write(&fresh, wanted)
        .and_then(|()| fs::set_permissions(&fresh, Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&fresh, &copy));
    written.map_err(|error| {
        // Best effort: the first error is the one to tell.
        let _ = fs::remove_file(&fresh);
        EngineError::io("write", &copy)(error)
    })
}

/// The program with another loader; the error is what is wrong with it.
fn with_loader(program: &[u8], loader: &Path) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "it is cut short";
    if program.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err("it is no 64-bit little-endian ELF file");
    }
    let number = |at: usize, length: usize| -> Result<usize, &'static str> {
        let bytes = program.get(at..at.checked_add(length).ok_or(CUT)?).ok_or(CUT)?;
        let value = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).map_err(|_| CUT)
    };
    // e_phoff, e_phentsize, e_phnum of Elf64_Ehdr.
    let (headers, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    for index in 0..count {
        let header = size.checked_mul(index).and_then(|at| at.checked_add(headers)).ok_or(CUT)?;
        if number(header, 4)? != PT_INTERP as usize {
            continue;
        }
        let mut changed = program.to_vec();
        let path = [loader.as_os_str().as_bytes(), b"\0"].concat();
        // p_offset, p_filesz, p_memsz of Elf64_Phdr.
        for (at, value) in [(0x08, changed.len()), (0x20, path.len()), (0x28, path.len())] {
            let field = changed.get_mut(header + at..header + at + 8).ok_or(CUT)?;
            field.copy_from_slice(&(value as u64).to_le_bytes());
        }
        changed.extend(path);
        return Ok(changed);
    }
    Err("it has no dynamic loader")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The test's own program, which is dynamically linked.
    fn own() -> Vec<u8> {
        fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn a_copy_is_started_by_the_loader_that_it_names() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let loader = directory.join("loader");
        let content = own();
        fs::write(directory.join("server"), &content).unwrap();
        let ensure = || ensure_copy(Path::new("server"), Path::new("loader"), directory).unwrap();
        ensure();
        let copy = copy_of(Path::new("server"), directory);
        assert_eq!(copy, directory.join("run/server"));
        let run = || {
            loop {
                match Command::new(&copy).arg("--list").output() {
                    // Another test forked while the copy was being written, and has not yet become its program.
                    Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                    other => return other,
                }
            }
        };
        assert!(run().is_err(), "there is no such loader yet");
        std::os::unix::fs::symlink(host_loader(&content), &loader).unwrap();
        let ran = run().unwrap();
        assert!(String::from_utf8_lossy(&ran.stdout).contains("a_copy_is_started_by_the_loader"));

        let before = fs::metadata(&copy).unwrap().modified().unwrap();
        ensure();
        assert_eq!(fs::metadata(&copy).unwrap().modified().unwrap(), before, "the right one stays");
        fs::write(&copy, "x").unwrap();
        ensure();
        assert!(run().is_ok(), "a damaged one is made anew");
    }

    fn host_loader(program: &[u8]) -> PathBuf {
        let start = program.windows(4).position(|window| window == b"/lib").unwrap();
        let length = program[start..].iter().position(|byte| *byte == 0).unwrap();
        PathBuf::from(String::from_utf8(program[start..start + length].to_vec()).unwrap())
    }

    #[test]
    fn what_is_no_whole_program_is_refused() {
        let content = own();
        let check = |content: &[u8], expected: &str| {
            assert_eq!(with_loader(content, Path::new("/x")).unwrap_err(), expected);
        };
        check(b"", "it is no 64-bit little-endian ELF file");
        check(b"#!/bin/sh\n", "it is no 64-bit little-endian ELF file");
        check(&content[..0x30], "it is cut short");
        check(&content[..0x60], "it is cut short");
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/elf/exports_rocksdb_open.so");
        check(&fs::read(library).unwrap(), "it has no dynamic loader");
    }
}
