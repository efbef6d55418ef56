//! A folder of a read's own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::getpid;

/// How many names are tried.
const ATTEMPTS: u32 = 16;

/// A name that no other read has at this moment.
pub(crate) fn own_name() -> String {
    let process = getpid().as_raw_nonzero();
    let number = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    format!("interlock-read-{process}-{number:08x}")
}

/// Makes a folder that only this user can enter.
pub(crate) fn make(base: &Path) -> io::Result<PathBuf> {
    for _ in 0..ATTEMPTS {
        let path = base.join(own_name());
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes it with everything in it.
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_dir_all(path);
}
