//! Hides folders from a child, where the superuser runs us: in a mount namespace of the child's own, something empty lies
//! over each of them.
//!
//! Landlock can only permit, from a folder downwards, so closing a folder closes adding to every folder above it. What is
//! hidden needs no closing. The child cannot uncover it: Landlock lets nobody mount or unmount, and the capability for it
//! is given up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::io;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

/// Gives this process, and what it starts, a view of the files of its own. `Err` where that is not possible, as for an
/// ordinary user.
#[expect(
    deprecated,
    reason = "what is unsafe about it is sharing open files no more; only the view of the files is taken apart here"
)]
pub(crate) fn own_view() -> io::Result<()> {
    if !capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN) {
        return Err(io::Errno::PERM);
    }
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    // What is mounted here from now on stays here; what others mount still comes in.
    mount_change(
        "/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )
}

/// Lays something empty over a folder, and keeps it where it is: a folder above it that could be renamed would take it
/// along, out of reach of what is closed the next time. Needs a view of one's own. `pinned` are the folders that stay
/// where they are already.
pub(crate) fn hide(folder: &Path, pinned: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
    above.reverse();
    for folder in above {
        if folder.parent().is_some() && !pinned.contains(folder) {
            // What something is mounted on cannot be renamed.
            mount_bind_recursive(folder, folder)?;
            pinned.insert(folder.to_owned());
        }
    }
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("interlock", folder, "tmpfs", flags, c"mode=0000,size=4k")
}
