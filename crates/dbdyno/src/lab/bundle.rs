//! What a host needs of this one to carry out a plan: the plan, the files that it names, the user's own workloads, engines and
//! configurations. So a plan means the same on every host.

use crate::exit::usage;
use crate::paths;
use anyhow::{Context, anyhow};
use model::job::Job;
use model::plan_file::PlanFile;
use runner::remote::job::PLAN;
use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The user's own definitions there, as `$XDG_CONFIG_HOME`.
const CONFIG: &str = "config";

/// Files with their paths below the directory of a job.
pub type Files = Vec<(PathBuf, Vec<u8>)>;

/// The files, the plan the last of them. `text` is that of the plan.
///
/// # Errors
/// A plan that names a file which is not below the current directory, or that cannot be read.
pub fn files(text: &str, file: &PlanFile) -> anyhow::Result<Files> {
    let mut files = with_own(named_by(file))?;
    files.push((PathBuf::from(PLAN), text.as_bytes().to_vec()));
    Ok(files)
}

/// Files that a plan, or a comparison, names, and the user's own definitions.
///
/// # Errors
/// One that is not below the current directory, or that cannot be read.
pub fn with_own(named: Vec<PathBuf>) -> anyhow::Result<Files> {
    let mut files = Vec::new();
    for path in named {
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(usage(anyhow!(
                "what is measured names `{}`, which has no place on another host: put it below the current directory and name it from there",
                path.display()
            )));
        }
        let content =
            fs::read(&path).with_context(|| format!("failed to read `{}`", path.display())).map_err(usage)?;
        files.push((path, content));
    }
    let own = paths::config_dir()?;
    for folder in ["configs", "engines", "patterns", "recipes", "workloads"] {
        let Ok(entries) = fs::read_dir(own.join(folder)) else { continue };
        for entry in entries {
            let path = entry.with_context(|| format!("failed to read `{}`", own.display()))?.path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let content = fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
            let name = path.file_name().map(Path::new).unwrap_or(Path::new(""));
            files.push((Path::new(CONFIG).join("dbdyno").join(folder).join(name), content));
        }
    }
    Ok(files)
}

/// Those of a job: the ones that are known, or read again by what its plan says.
///
/// # Errors
/// As those of [`files`].
pub fn of_job<'a>(job: &Job, known: Option<&'a Files>) -> anyhow::Result<Cow<'a, Files>> {
    match known {
        Some(files) => Ok(Cow::Borrowed(files)),
        None => {
            let file = PlanFile::parse(&job.plan, "the plan of the campaign")?;
            Ok(Cow::Owned(files(&job.plan, &file)?))
        }
    }
}

/// Whether a workload is named by its file.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|of| of == "toml")
}

/// The files that a plan names.
pub fn named_by(file: &PlanFile) -> Vec<PathBuf> {
    let workloads = file.workloads.iter().filter(|name| is_path(name)).map(PathBuf::from);
    workloads.chain(file.config_files.values().cloned()).chain(file.db_bench.values().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(further: &str) -> PlanFile {
        let text = format!(
            "name = \"n\"\nworkloads = [\"quick\"]\nsubjects = [\"rocksdb@8.5.4\", \"rocksdb@8.7.3\"]\n{further}"
        );
        PlanFile::parse(&text, "plan").unwrap()
    }

    #[test]
    fn files_of_a_plan_keep_their_paths_and_none_leaves_the_directory() {
        let found = files("text", &plan("")).unwrap();
        assert_eq!(found.last(), Some(&(PathBuf::from(PLAN), b"text".to_vec())));
        for outside in ["../my.cnf", "/etc/my.cnf", "a/../../my.cnf"] {
            let file = plan(&format!("[config_files]\nmine = \"{outside}\""));
            let error = format!("{:#}", files("text", &file).unwrap_err());
            assert!(error.contains(&format!("names `{outside}`")), "{error}");
        }
        let file = plan("[config_files]\nmine = \"src/lab/bundle.rs\"");
        assert_eq!(files("text", &file).unwrap()[0].0, Path::new("src/lab/bundle.rs"));
    }
}
