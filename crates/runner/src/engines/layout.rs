//! Finds the files of a server below the directory that it was unpacked or installed into. Reads directories only.

use super::error::EngineError;
use super::file::{InitialiseLayout, Layout};
use model::build::{Initialise, ServerFiles};
use std::path::{Component, Path, PathBuf};

/// Where to look, and for what.
pub(super) struct Search<'a> {
    pub engine: &'a str,
    /// Where its files may be.
    pub layout: &'a Layout,
    /// How a data directory is made.
    pub initialise: &'a InitialiseLayout,
    /// Relative paths of the result are below it.
    pub base: &'a Path,
    /// The directory of the server, below `base` or absolute.
    pub root: &'a Path,
    /// Directories of libraries, as `root`.
    pub libraries: Vec<PathBuf>,
    /// Arguments without which it does not start.
    pub arguments: Vec<String>,
    /// Whether the user gave the directory.
    pub own: bool,
}

/// The program and the files of a server, below `base` or absolute.
pub(super) struct Found {
    pub program: PathBuf,
    /// What else belongs to it.
    pub files: ServerFiles,
}

/// A path below another, without what stands for the directory itself.
pub(super) fn joined(root: &Path, below: &Path) -> PathBuf {
    let named = |part: &Component<'_>| *part != Component::CurDir;
    root.components().chain(below.components()).filter(named).collect()
}

impl Search<'_> {
    /// Finds them; the error names what is missing.
    pub(super) fn run(self) -> Result<Found, EngineError> {
        let layout = self.layout;
        let program = self.first(&layout.programs, None)?;
        let share = self.first(&layout.share, layout.share_holds.as_deref())?;
        let character_sets = layout.character_sets.as_ref().map(|name| share.join(name));
        let plugins = match &layout.plugin {
            Some(plugin) => Some(self.first(&layout.plugins, Some(plugin))?),
            None => self.first(&layout.plugins, None).ok(),
        };
        let initialise = self.initialise(&program, &share)?;
        let files = ServerFiles {
            dialect: layout.dialect,
            root: self.root.to_owned(),
            initialise,
            share,
            character_sets,
            plugins,
            libraries: self.libraries,
            storage: layout.storage.clone(),
            arguments: self.arguments,
        };
        Ok(Found { program, files })
    }

    fn initialise(&self, program: &Path, share: &Path) -> Result<Initialise, EngineError> {
        Ok(match self.initialise {
            InitialiseLayout::Initdb { program: name } => {
                Initialise::Initdb { program: self.there(program.with_file_name(name))? }
            }
            InitialiseLayout::InitializeInsecure => Initialise::InitializeInsecure,
            InitialiseLayout::EmptyDirectory => Initialise::EmptyDirectory,
            InitialiseLayout::CopyOf { directory } => {
                Initialise::CopyOf { directory: self.there(self.root.join(directory))? }
            }
            InitialiseLayout::Bootstrap { scripts } => {
                let script = |names: &Vec<PathBuf>| {
                    let places: Vec<PathBuf> = names.iter().map(|name| share.join(name)).collect();
                    self.first_of(&places, None)
                };
                Initialise::Bootstrap { scripts: scripts.iter().map(script).collect::<Result<_, _>>()? }
            }
        })
    }

    /// The first of several places below the root that is there, and holds a file.
    fn first(&self, places: &[PathBuf], holds: Option<&Path>) -> Result<PathBuf, EngineError> {
        let places: Vec<PathBuf> = places.iter().map(|place| joined(self.root, place)).collect();
        self.first_of(&places, holds)
    }

    fn first_of(&self, places: &[PathBuf], holds: Option<&Path>) -> Result<PathBuf, EngineError> {
        let wanted = |place: &Path| holds.map_or_else(|| place.to_owned(), |holds| place.join(holds));
        let found = places.iter().find(|place| self.base.join(wanted(place)).exists());
        found.cloned().ok_or_else(|| {
            let shown: Vec<String> = places
                .iter()
                .map(|place| {
                    let place = wanted(place);
                    format!("`{}`", place.strip_prefix(self.root).unwrap_or(&place).display())
                })
                .collect();
            EngineError::NotAServer {
                root: self.base.join(self.root),
                engine: self.engine.to_owned(),
                missing: shown.join(" or "),
                own: self.own,
            }
        })
    }

    fn there(&self, path: PathBuf) -> Result<PathBuf, EngineError> {
        self.first_of(std::slice::from_ref(&path), None)
    }
}
