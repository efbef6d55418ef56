//! Writes and deletes files: whole or not at all, where the path says and nowhere else.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use interlock_protocol::ErrorCode;
use jiff::Timestamp;
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fsync, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::open::{Guard, Missing, refuse_secrets};
use super::read::name_of;
use crate::Failure;

/// The permissions of a file that did not exist before.
const NEW_FILE: Mode = Mode::from_raw_mode(0o644);

/// A folder held open, and a name in it.
struct Spot<'a> {
    folder: OwnedFd,
    name: &'a str,
    /// What has the name now.
    now: Option<Stat>,
}

/// Finds the folder of a path, which must exist, and what has its last name there.
fn spot<'a>(guard: Guard<'_>, path: &'a str) -> Result<Spot<'a>, Failure> {
    let given = Path::new(path);
    let name = path
        .rsplit('/')
        .next()
        .filter(|name| !matches!(*name, "" | "." | ".."))
        .ok_or_else(|| Failure::invalid(format!("`{path}` names no file")).detail("path", path))?;
    let parent = given.parent().and_then(Path::to_str).unwrap_or("/");
    let found = guard.entry(parent).map_err(|missing| match missing {
        Missing::Nothing => Failure::new(
            ErrorCode::NotFound,
            format!("there is no folder `{parent}`; it is not made along the way"),
        )
        .detail("path", path),
        Missing::Refused(failure) => failure,
    })?;
    let real = found.real.join(name);
    guard
        .admit(&real)
        .map_err(|failure| failure.detail("path", path))?;
    refuse_secrets(&real, path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, found.handle_path(), flags, Mode::empty())
        .map_err(|errno| Failure::io("opened", parent, &errno.into()))?;
    let now = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(Failure::io("looked at", path, &errno.into())),
    };
    Ok(Spot { folder, name, now })
}

/// What has the name is a regular file, or nothing has it.
fn replaceable(spot: &Spot<'_>, path: &str) -> Result<(), Failure> {
    match spot.now.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        None | Some(FileType::RegularFile) => Ok(()),
        Some(FileType::Symlink) => Err(Failure::invalid(format!(
            "`{path}` is a symbolic link; write to the file that it leads to"
        ))
        .detail("path", path)),
        Some(other) => {
            Err(Failure::invalid(format!("`{path}` is {}, not a file", name_of(other))).detail("path", path))
        }
    }
}

/// Gives a file this content, whole or not at all: written next to it, then put in its place. Keeps its owner and its
/// permissions.
pub(crate) fn write(guard: Guard<'_>, path: &str, content: &[u8]) -> Result<(), Failure> {
    let spot = spot(guard, path)?;
    replaceable(&spot, path)?;
    put(&spot, content).map_err(|error| Failure::io("written", path, &error))
}

fn put(spot: &Spot<'_>, content: &[u8]) -> io::Result<()> {
    // Unique among ourselves; `EXCL` sees to everyone else.
    let temporary = format!(
        ".interlock-{}-{}",
        std::process::id(),
        Timestamp::now().as_nanosecond()
    );
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Nobody else may read it before it has the permissions of what it replaces.
    let file = openat(&spot.folder, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
    let put = || -> io::Result<()> {
        let mut file = File::from(file);
        file.write_all(content)?;
        match spot.now {
            None => fchmod(&file, NEW_FILE)?,
            Some(stat) => {
                let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
                fchown(&file, Some(owner.0), Some(owner.1))?;
                fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
            }
        }
        file.sync_all()?;
        renameat(&spot.folder, &temporary, &spot.folder, spot.name)?;
        fsync(&spot.folder)?;
        Ok(())
    };
    put().inspect_err(|_| {
        // Gone already if the rename was done.
        let _ = unlinkat(&spot.folder, &temporary, AtFlags::empty());
    })
}

/// Adds to the end of a file, which must exist.
pub(crate) fn append(guard: Guard<'_>, path: &str, content: &[u8]) -> Result<(), Failure> {
    let spot = spot(guard, path)?;
    replaceable(&spot, path)?;
    if spot.now.is_none() {
        return Err(
            Failure::new(ErrorCode::NotFound, format!("there is no file `{path}`")).detail("path", path),
        );
    }
    let add = || -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(&spot.folder, spot.name, flags, Mode::empty())?);
        file.write_all(content)?;
        file.sync_all()
    };
    add().map_err(|error| Failure::io("added to", path, &error))
}

/// Deletes a file, or a symbolic link by itself.
pub(crate) fn delete(guard: Guard<'_>, path: &str) -> Result<(), Failure> {
    let spot = spot(guard, path)?;
    match spot.now.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        None => {
            Err(Failure::new(ErrorCode::NotFound, format!("there is no file `{path}`")).detail("path", path))
        }
        Some(FileType::RegularFile | FileType::Symlink) => {
            let delete = || -> io::Result<()> {
                unlinkat(&spot.folder, spot.name, AtFlags::empty())?;
                Ok(fsync(&spot.folder)?)
            };
            delete().map_err(|error| Failure::io("deleted", path, &error))
        }
        Some(other) => {
            Err(Failure::invalid(format!("`{path}` is {}, not a file", name_of(other))).detail("path", path))
        }
    }
}
