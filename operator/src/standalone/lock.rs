//! One standalone per directory.
//!
//! Two would overwrite each other's statuses and configurations. The lock is one of the operating system on an open file
//! (`flock`), so that it ends with the process however that ends; the file itself stays and means nothing. It is in
//! `.status/` because the run directory can be elsewhere. A file system that has no locks is taken without one.

use std::{fs, io, path::Path};

use super::{StartError, status_file::DIRECTORY};

/// The file, in the directory of the status files.
const FILE: &str = ".lock";

/// The directory is ours until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: fs::File,
}

impl Lock {
    /// Takes a configuration directory whose directory of status files exists.
    pub(super) fn take(config_dir: &Path) -> Result<Self, StartError> {
        let unwritable = |cause| StartError::Unwritable { path: config_dir.to_owned(), cause };
        let path = config_dir.join(DIRECTORY).join(FILE);
        let file = fs::File::options().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(unwritable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(StartError::Taken { path: config_dir.to_owned() });
            }
            Err(fs::TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => {}
            Err(fs::TryLockError::Error(cause)) => return Err(unwritable(cause)),
        }
        Ok(Self { _file: file })
    }

    /// Whether a standalone runs on a configuration directory. Where that cannot be known, one does.
    pub(super) fn is_taken(config_dir: &Path) -> bool {
        match fs::File::open(config_dir.join(DIRECTORY).join(FILE)) {
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_one_standalones_until_that_one_ends() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(DIRECTORY)).unwrap();
        assert!(!Lock::is_taken(directory.path()), "nobody ever ran");
        let first = Lock::take(directory.path()).unwrap();
        assert!(Lock::is_taken(directory.path()));
        let refused = Lock::take(directory.path()).unwrap_err();
        assert!(matches!(refused, StartError::Taken { .. }), "{refused}");
        let text = refused.to_string();
        assert!(text.contains(&directory.path().display().to_string()) && text.contains("another"), "{text}");
        drop(first);
        assert!(!Lock::is_taken(directory.path()));
        Lock::take(directory.path()).unwrap();
    }
}
