//! The file of a store, seen from outside: its size, the room around it, and who may read it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::Sqlite;
use crate::Exposure;

impl Sqlite {
    #[expect(clippy::unused_async, reason = "another backend asks a server")]
    pub(crate) async fn free_bytes(&self) -> Option<u64> {
        let folder = self.path.as_deref()?.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let disk = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
        // What is reserved for root can be used by root.
        let blocks = if rustix::process::geteuid().is_root() {
            disk.f_bfree
        } else {
            disk.f_bavail
        };
        Some(blocks.saturating_mul(disk.f_frsize))
    }

    #[expect(clippy::unused_async, reason = "another backend asks a server")]
    pub(crate) async fn size_bytes(&self) -> Option<u64> {
        fs::metadata(self.path.as_deref()?).ok().map(|file| file.len())
    }

    #[expect(clippy::unused_async, reason = "another backend asks a server")]
    pub(crate) async fn exposure(&self) -> Option<Exposure> {
        let path = self.path.as_deref()?;
        let mode = fs::metadata(path).ok()?.mode() & 0o777;
        let rights = format!("mode {mode:o}");
        let others = mode & 0o077;
        Some(if others == 0 {
            Exposure::OwnerOnly { rights }
        } else {
            Exposure::Others {
                rights,
                remedy: format!("chmod 600 {}", path.display()),
            }
        })
    }
}
