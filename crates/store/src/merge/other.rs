//! The store that is merged: attached as it is, or as a copy of our schema if it is of an earlier one.

use crate::backup::back_up;
use crate::check::quick_check;
use crate::error::Error;
use crate::file::{Store, uri};
use crate::migrations;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A store from which is taken.
pub(super) struct OtherStore {
    /// What is attached.
    file: PathBuf,
    /// Of the file that the user named.
    pub schema: u32,
    /// Removed when the merge has ended.
    _copy: Option<tempfile::TempDir>,
}

impl OtherStore {
    /// `into` is the store that takes.
    pub fn open(path: &Path, into: &Store) -> Result<OtherStore, Error> {
        let place = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
        if place(path).is_some_and(|of_other| place(into.path()) == Some(of_other)) {
            return Err(Error::SameStore { path: path.to_path_buf() });
        }
        if path.to_str().is_none() {
            let source = std::io::Error::other("its name is no UTF-8");
            return Err(Error::CannotOpen { path: path.to_path_buf(), source: Box::new(source) });
        }
        let store = Store::open_as_it_is(path)?;
        // Damage would else be met in the middle, and look like that of the store that takes.
        quick_check(&store.connection, path)?;
        let schema = migrations::schema_of(&store.connection, path)?;
        let is_older = migrations::check_current(&store.connection, path).is_err();
        if is_older || store.is_in_closed_directory {
            drop(store);
            return OtherStore::of_copy(path, into, schema);
        }
        Ok(OtherStore { file: path.to_path_buf(), schema, _copy: None })
    }

    /// A copy beside the store that takes, where there has to be room for it anyway.
    fn of_copy(path: &Path, into: &Store, schema: u32) -> Result<OtherStore, Error> {
        let cannot =
            |source: std::io::Error| Error::CannotOpen { path: path.to_path_buf(), source: Box::new(source) };
        let directory = tempfile::Builder::new().prefix(".dbdyno-merge-").tempdir_in(into.directory());
        let directory = directory.map_err(cannot)?;
        let file = directory.path().join("copy.sqlite");
        // The directory is for us alone, and so is what is in it.
        std::fs::File::create_new(&file).map_err(cannot)?;
        back_up(path, &file)?;
        Store::connect(&file)?.migrate()?;
        Ok(OtherStore { file, schema, _copy: Some(directory) })
    }

    /// For reading alone: a transaction of ours keeps nobody from writing to it, and none of its files is changed.
    pub fn attach_to(&self, store: &Store) -> Result<(), Error> {
        store.sql(format!("attach `{}`", self.file.display()), |connection| {
            connection.execute("ATTACH ? AS other", [uri(&self.file, "mode=ro")]).map(|_| ())
        })
    }

    pub fn detach_from(&self, store: &Store) -> Result<(), Error> {
        store.sql("detach the other store", |connection| connection.execute_batch("DETACH other"))
    }
}
