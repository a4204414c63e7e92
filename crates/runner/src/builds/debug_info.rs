//! Debug info of a build, put into files beside what has it: what runs is as small as if it had been compiled without, and debuggers find the rest
//! where they look. Code and the names of functions stay as they are.

use super::tree::files_below;
use super::{BuildError, io_error};
use crate::doctor::found_on_path;
use crate::engines::elf;
use crate::process::tool::{self, Tool, ToolError};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Beside a file, where debuggers look for what its `.gnu_debuglink` names (gdb's manual, "Debugging Information in Separate Files").
const DIRECTORY: &str = ".debug";
/// Of binutils, without which gcc links nothing.
const OBJCOPY: &str = "objcopy";
/// The largest file, a server of 1 GB, takes seconds; a timeout against hangs.
const OBJCOPY_TIMEOUT: Nanos = Nanos::from_secs(600);

/// Whether the host can: before hours are spent on a build.
///
/// # Errors
/// It has no `objcopy`.
pub(super) fn check_host() -> Result<(), BuildError> {
    found_on_path(OBJCOPY).map(|_| ()).ok_or(BuildError::NoObjcopy)
}

/// Puts that of all programs and libraries below a directory into `.debug` beside them. Files without any stay as they are.
///
/// # Errors
/// `objcopy` fails, files cannot be written, or the user stops it; some files may have been done.
pub(crate) fn put_apart(
    root: &Path,
    scratch: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), BuildError> {
    let is_apart = |file: &Path| {
        let below = file.strip_prefix(root).unwrap_or(file);
        below.components().any(|part| part.as_os_str() == DIRECTORY)
    };
    let files = files_below(root)?;
    for file in files.iter().filter(|file| !is_apart(file) && elf::has_debug_info(file)) {
        let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { continue };
        let directory = directory.join(DIRECTORY);
        fs::create_dir_all(&directory).map_err(io_error("create", &directory))?;
        let name = name.to_string_lossy();
        let (apart, without) =
            (directory.join(format!("{name}.debug")), directory.join(format!("{name}.new")));
        let shown = |path: &Path| path.display().to_string();
        let objcopy = |arguments: &[String]| {
            let tool = Tool {
                program: Path::new(OBJCOPY),
                arguments,
                directory: scratch,
                output: &scratch.join("objcopy.output"),
                timeout: OBJCOPY_TIMEOUT,
                without: &[],
                with: &BTreeMap::new(),
            };
            tool::run(&tool, |_| Ok(()), &mut || interrupted()).map_err(|source| match source {
                ToolError::Interrupted => BuildError::Interrupted,
                source => BuildError::DebugInfo { path: file.clone(), source },
            })
        };
        objcopy(&["--only-keep-debug".to_owned(), shown(file), shown(&apart)])?;
        let link = format!("--add-gnu-debuglink={}", apart.display());
        objcopy(&["--strip-debug".to_owned(), link, shown(file), shown(&without)])?;
        let mode = fs::metadata(file).map_err(io_error("look at", file))?.permissions();
        fs::set_permissions(&without, mode).map_err(io_error("set the mode of", &without))?;
        // In its place only when it is whole. One that is installed for reading only could not be written.
        fs::rename(&without, file).map_err(io_error("rename", &without))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSection};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::process::Command;

    /// By the C compiler that links Rust's programs, too.
    fn compiled(directory: &Path, flags: &[&str]) -> PathBuf {
        fs::create_dir_all(directory.join("bin")).unwrap();
        fs::write(
            directory.join("a.c"),
            "static __attribute__((noinline)) int f(int a) { return a * 3; }\nint main(int n, char **w) { (void)w; return f(n) - 3; }\n",
        )
        .unwrap();
        let status = Command::new("cc")
            .args(["-O1", "-o", "bin/program", "a.c"])
            .args(flags)
            .current_dir(directory)
            .status()
            .unwrap();
        assert!(status.success());
        directory.join("bin/program")
    }

    fn code(path: &Path) -> Vec<u8> {
        let data = fs::read(path).unwrap();
        let file = object::File::parse(data.as_slice()).unwrap();
        file.section_by_name(".text").unwrap().data().unwrap().to_vec()
    }

    #[test]
    fn what_runs_is_small_has_the_same_code_and_names_its_debug_file() {
        let scratch = tempfile::tempdir().unwrap();
        let without = compiled(&scratch.path().join("without"), &[]);
        let root = scratch.path().join("with");
        let program = compiled(&root, &["-g3"]);
        assert!(elf::has_debug_info(&program) && !elf::has_debug_info(&without));
        let whole = fs::metadata(&program).unwrap().len();
        // As some trees install: not to be written.
        fs::set_permissions(&program, fs::Permissions::from_mode(0o555)).unwrap();
        std::os::unix::fs::symlink("program", root.join("bin/alias")).unwrap();
        put_apart(&root, scratch.path(), &|| false).unwrap();
        assert!(!elf::has_debug_info(&program));
        assert!(fs::metadata(&program).unwrap().len() < whole);
        assert_eq!(code(&program), code(&without));
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o555);
        assert!(Command::new(root.join("bin/alias")).status().unwrap().success());
        let apart = root.join("bin/.debug/program.debug");
        assert!(apart.is_file() && !root.join("bin/.debug/program.new").exists());
        let again = fs::read(&apart).unwrap();
        put_apart(&root, scratch.path(), &|| false).unwrap();
        assert_eq!(fs::read(&apart).unwrap(), again, "what has none is left alone");
    }

    #[test]
    fn a_file_that_objcopy_refuses_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("with");
        let program = compiled(&root, &["-g"]);
        // In the place of the debug file.
        fs::create_dir_all(root.join("bin/.debug/program.debug")).unwrap();
        let error = put_apart(&root, scratch.path(), &|| false).unwrap_err();
        assert!(matches!(error, BuildError::DebugInfo { .. }), "{error}");
        assert!(error.to_string().contains("program") && elf::has_debug_info(&program), "{error}");
    }
}
