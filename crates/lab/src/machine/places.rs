//! Where things are: sockets outside, and files under a root that may be a plain folder.

use std::fmt::Write as _;
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use super::isolate;

/// The variable that tells our own programs where the root is, where it is a plain folder.
pub(super) const ROOT: &str = "LAB_ROOT";
/// The variable that tells them what address they listen on, where they share the system's network.
pub(super) const ADDRESS: &str = "LAB_ADDRESS";
/// The socket of init, as `systemctl` finds it.
pub(super) const BUS: &str = "/run/systemd/private";
/// The folder of the journal.
pub(super) const JOURNAL: &str = "/var/log/journal";
/// The folder of what of the journal did not fit on the disk.
pub(super) const VOLATILE_JOURNAL: &str = "/run/log/journal";
/// Where units are.
pub(super) const UNITS: &str = "/etc/systemd/system";
/// Where what is started at boot is linked.
pub(super) const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";

/// Bytes as people write them.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The name of a machine's socket.
pub(super) fn socket_name(machine: &str) -> String {
    format!("{machine}.sock")
}

/// A path of a socket that is short, whatever its folder's is.
pub(super) fn socket_path(folder: RawFd, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{folder}/{name}"))
}

/// What the environment of everything has that a machine without namespaces started.
pub(super) fn machine_mark(name: &str, keeper: i32) -> (&'static str, String) {
    ("LAB_MACHINE", format!("{name}-{keeper}"))
}

/// The root of a machine as its own programs see it.
#[derive(Debug, Clone)]
pub(super) struct Root(Option<PathBuf>);

impl Root {
    /// `/`, or the folder that stands for it.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// As this process was told.
    pub(super) fn of_environment() -> Self {
        Self(std::env::var_os(ROOT).map(PathBuf::from))
    }

    /// Where a path of the machine is.
    pub(super) fn at(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        match &self.0 {
            None => Ok(path.as_ref().to_owned()),
            Some(root) => isolate::inside(root, path.as_ref()),
        }
    }

    /// The folder, where the root is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}
