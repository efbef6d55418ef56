//! Interlock's own files: what no child and no tool may reach.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::hidden;

/// Interlock's own data and configuration.
///
/// A folder stands for everything in it. A file stands also for its neighbours whose names begin with its own: a
/// database has its journal there, a configuration its old versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protected {
    paths: Vec<PathBuf>,
}

impl Protected {
    /// These files and folders, whether they exist yet or not.
    pub fn new<Entry: Into<PathBuf>>(paths: impl IntoIterator<Item = Entry>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
        }
    }

    /// The files and folders, as they were named.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Whether a file is one of them. `real` is where the file really is: absolute, with no symbolic link on the way.
    pub fn covers(&self, real: &Path) -> bool {
        self.resolve().covers(real)
    }

    /// Where they really are now.
    pub(crate) fn resolve(&self) -> Resolved {
        let places: Vec<(PathBuf, Extent)> = self
            .paths
            .iter()
            .map(|path| {
                let real = real_path(path);
                let extent = if real.is_dir() {
                    Extent::Folder
                } else {
                    Extent::FileAndNeighbours
                };
                (real, extent)
            })
            .collect();
        // What lies in a protected folder needs no place of its own, which would close every folder above it for writes.
        let outer = |(inner, _): &(PathBuf, Extent)| {
            !places.iter().any(|(place, extent)| {
                *extent == Extent::Folder && place != inner && inner.starts_with(place)
            })
        };
        let places = places.iter().filter(|place| outer(place)).cloned().collect();
        Resolved { places }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Everything at or below the place, and nothing next to it.
    Folder,
    FileAndNeighbours,
}

/// Where the protected files really are.
pub(crate) struct Resolved {
    places: Vec<(PathBuf, Extent)>,
}

/// What is not protected.
pub(crate) struct Open {
    /// Folders on the way to something protected: their names may be listed, nothing else.
    pub(crate) on_the_way: Vec<OwnedFd>,
    /// Folders with nothing protected in them.
    pub(crate) folders: Vec<OwnedFd>,
    /// Everything else that is not protected.
    pub(crate) files: Vec<OwnedFd>,
}

impl Resolved {
    pub(crate) fn covers(&self, real: &Path) -> bool {
        self.places.iter().any(|(place, extent)| {
            real.starts_with(place)
                || match extent {
                    Extent::Folder => false,
                    Extent::FileAndNeighbours => is_neighbour(real, place),
                }
        })
    }

    /// Closes every device as well.
    pub(crate) fn with_devices(mut self) -> Self {
        self.places.push((PathBuf::from("/dev"), Extent::Folder));
        self
    }

    /// Hides what can be hidden from this thread and its children, and says what is left to be closed.
    pub(crate) fn hide(self) -> Self {
        let worth = self.places.iter().any(|(_, extent)| *extent == Extent::Folder);
        if !worth || hidden::own_view().is_err() {
            return self;
        }
        let mut pinned = BTreeSet::new();
        let places = self
            .places
            .into_iter()
            .filter(|(place, extent)| match extent {
                // The root is the view itself.
                Extent::Folder => place.parent().is_none() || hidden::hide(place, &mut pinned).is_err(),
                // A neighbour that comes later would lie open.
                Extent::FileAndNeighbours => true,
            })
            .collect();
        Self { places }
    }

    /// Everything that is not protected, as few entries as say it: the neighbours along the way to each protected path.
    ///
    /// A symbolic link is no entry: what it points to is open by its own place or not at all.
    pub(crate) fn open(&self) -> io::Result<Open> {
        let mut open = Open {
            on_the_way: Vec::new(),
            folders: Vec::new(),
            files: Vec::new(),
        };
        let ancestors: BTreeSet<&Path> = self
            .places
            .iter()
            .flat_map(|(place, _)| place.ancestors().skip(1))
            .filter(|ancestor| !self.covers(ancestor))
            .collect();
        if self.places.is_empty() {
            open.folders.push(entry(Path::new("/"))?);
        }
        for ancestor in ancestors {
            // What we cannot list stays closed.
            let Ok(entries) = fs::read_dir(ancestor) else {
                continue;
            };
            open.on_the_way.push(entry(ancestor)?);
            for neighbour in entries.flatten() {
                let path = neighbour.path();
                let on_the_way = self.places.iter().any(|(place, _)| place.starts_with(&path));
                if on_the_way || self.covers(&path) {
                    continue;
                }
                // It may be gone by now.
                let Ok(found) = entry(&path) else { continue };
                match FileType::from_raw_mode(fstat(&found)?.st_mode) {
                    FileType::Directory => open.folders.push(found),
                    FileType::Symlink => {}
                    _ => open.files.push(found),
                }
            }
        }
        Ok(open)
    }
}

fn entry(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

/// Whether a path is, or lies in, something next to `place` whose name begins with the name of `place`.
fn is_neighbour(real: &Path, place: &Path) -> bool {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return false;
    };
    real.strip_prefix(parent)
        .ok()
        .and_then(|rest| rest.components().next())
        .is_some_and(|first| {
            first
                .as_os_str()
                .as_encoded_bytes()
                .starts_with(name.as_encoded_bytes())
        })
}

/// Where a path really is, also one that does not exist yet: what exists of it without symbolic links, then the rest.
fn real_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute
        .ancestors()
        .find_map(|ancestor| {
            let real = ancestor.canonicalize().ok()?;
            let rest = absolute.strip_prefix(ancestor).ok()?;
            // Joining nothing would add a slash that makes a file look like a folder.
            Some(if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            })
        })
        .unwrap_or(absolute)
}
