//! Lists a folder in bounds.

use interlock_protocol::ErrorCode;
use jiff::Timestamp;
use rustix::fs::{AtFlags, FileType, statat};
use serde_json::{Value, json};

use super::open::{Guard, Missing};
use super::read::name_of;
use crate::Failure;

/// The entries of a folder by name, at most so many.
pub(crate) fn list(guard: Guard<'_>, path: &str, most: usize) -> Result<Value, Failure> {
    let found = guard.entry(path).map_err(|missing| match missing {
        Missing::Nothing => {
            Failure::new(ErrorCode::NotFound, format!("there is no folder `{path}`")).detail("path", path)
        }
        Missing::Refused(failure) => failure,
    })?;
    if found.file_type() != FileType::Directory {
        let kind = name_of(found.file_type());
        return Err(
            Failure::invalid(format!("`{path}` is no folder but {kind}; read it instead"))
                .detail("path", path),
        );
    }
    let failed = |error: &std::io::Error| Failure::io("listed", path, error);
    let folder = std::fs::read_dir(found.handle_path()).map_err(|error| failed(&error))?;
    let mut names: Vec<std::ffi::OsString> = folder.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    let total = names.len();
    names.truncate(most);
    let opened = std::fs::File::open(found.handle_path()).map_err(|error| failed(&error))?;
    let entries: Vec<Value> = names
        .iter()
        .map(|name| {
            let shown = name.to_string_lossy();
            match statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(_) => json!({"name": shown, "type": "unknown"}),
                Ok(stat) => {
                    let kind = FileType::from_raw_mode(stat.st_mode);
                    let mut entry = json!({
                        "name": shown,
                        "type": word_of(kind),
                        "size": stat.st_size,
                        "mode": format!("{:04o}", stat.st_mode & 0o7777),
                        "modified": Timestamp::new(stat.st_mtime, 0).ok(),
                    });
                    if kind == FileType::Symlink
                        && let Ok(target) = rustix::fs::readlinkat(&opened, name, Vec::new())
                    {
                        entry["target"] = target.to_string_lossy().into();
                    }
                    entry
                }
            }
        })
        .collect();
    Ok(json!({
        "path": path,
        "entries": entries,
        "total": total,
        "truncated": total > most,
    }))
}

fn word_of(file_type: FileType) -> &'static str {
    match file_type {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        FileType::Symlink => "link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "unknown",
    }
}
