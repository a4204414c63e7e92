//! Writes the list of all TOML files that are built in, so that adding one is no edit of Rust code. A build script and
//! not `include_dir`, whose macro does not see on a stable compiler that a file was added.

use std::path::Path;
use std::{env, fs, io};

/// Each is listed without what is below it.
const FOLDERS: [&str; 8] = [
    "configs",
    "engines",
    "engines/options",
    "hardware",
    "patterns",
    "recipes",
    "workloads",
    "workloads/sequences",
];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut list = String::from("&[\n");
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed=../../{folder}");
        let entries = fs::read_dir(root.join(folder))?.collect::<io::Result<Vec<_>>>()?;
        let mut files: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        for file in files {
            let name = file.file_stem().unwrap_or_default();
            list += &format!("    ({folder:?}, {name:?}, include_str!({file:?})),\n");
        }
    }
    let target = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&target).join("embedded.rs"), list + "]\n")
}
