//! The folder of records: its files, of this user alone, and the bounds on their size.
//!
//! Invariant: files of records take at most `most` bytes together, but for what is being written:
//! the oldest ones are removed first. Other files are left alone.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use system::private::{PrivateError, prepare_folder};

/// Ending of a record's name.
pub const EXTENSION: &str = "slrec";

/// The folder of records.
#[derive(Debug)]
pub(super) struct RecordFolder {
    path: PathBuf,
    most: u64,
    /// Sizes of the records, by name, and so by age.
    sizes: BTreeMap<String, u64>,
    total: u64,
}

impl RecordFolder {
    /// Opens the folder, and makes it if it doesn't exist.
    ///
    /// # Errors
    /// It can't be made or read, or others may read it.
    pub(super) fn open(path: &Path, most: u64) -> Result<Self, PrivateError> {
        prepare_folder(path)?;
        let mut folder = Self { path: path.to_owned(), most, sizes: BTreeMap::new(), total: 0 };
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if Path::new(&name).extension().is_some_and(|extension| extension == EXTENSION) {
                folder.grow(&name, entry.metadata()?.len());
            }
        }
        Ok(folder)
    }

    /// Creates the file of a record.
    pub(super) fn create(&mut self, name: &str) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path.join(name))?;
        self.grow(name, 0);
        Ok(file)
    }

    /// Notes that a record has grown.
    pub(super) fn grow(&mut self, name: &str, bytes: u64) {
        *self.sizes.entry(name.to_owned()).or_default() += bytes;
        self.total += bytes;
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(size) = self.sizes.remove(name) {
            self.total -= size;
        }
        // An operator may have removed it already.
        let _ = fs::remove_file(self.path.join(name));
    }

    /// Removes the oldest records that aren't `open`, until the others fit.
    pub(super) fn prune(&mut self, open: impl Fn(&str) -> bool) {
        while self.total > self.most {
            let Some(oldest) = self.sizes.keys().find(|name| !open(name)).cloned() else { return };
            self.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn oldest_closed_records_go_first_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        drop(RecordFolder::open(&path, 100).unwrap());
        fs::write(path.join("notes.txt"), [0; 500]).unwrap();
        for name in ["1.slrec", "2.slrec", "3.slrec"] {
            fs::write(path.join(name), [0; 60]).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let mut records = RecordFolder::open(&path, 100).unwrap();
        records.prune(|name| name == "1.slrec");
        let names = || {
            let mut names: Vec<_> = fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(), ["1.slrec", "notes.txt"]);
        records.create("4.slrec").unwrap();
        records.grow("4.slrec", 41);
        records.prune(|_| false);
        assert_eq!(names(), ["4.slrec", "notes.txt"]);
        assert_eq!(fs::metadata(path.join("4.slrec")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
