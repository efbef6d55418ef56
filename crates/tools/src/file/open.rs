//! Opens a path and judges it by where it leads.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use interlock_exec::Protected;
use interlock_protocol::ErrorCode;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;

use crate::Failure;

/// Entries of a process under `/proc` that say how it does and nothing of what it holds.
const HARMLESS_OF_A_PROCESS: &[&str] = &[
    "cgroup",
    "cmdline",
    "comm",
    "io",
    "limits",
    "loginuid",
    "mountinfo",
    "mounts",
    "mountstats",
    "net",
    "oom_score",
    "oom_score_adj",
    "sched",
    "schedstat",
    "sessionid",
    "stat",
    "statm",
    "status",
    "wchan",
];

/// Entries of `/proc` that show memory, or wait for ever.
const HARMFUL_OF_THE_KERNEL: &[&str] = &[
    "kcore",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "vmcore",
];

/// Knows what must not be touched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard<'a> {
    pub(crate) protected: &'a Protected,
}

/// Something that exists, held open without having been opened for anything yet.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) handle: OwnedFd,
    /// Where it really is.
    pub(crate) real: PathBuf,
    pub(crate) stat: Stat,
}

impl Found {
    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// The name by which this process reaches what it holds, whatever happens to the path meanwhile.
    pub(crate) fn handle_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// Opens a regular file for reading. Neither a device nor a pipe gets this far.
    pub(crate) fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(CWD, self.handle_path(), flags, Mode::empty())?.into())
    }
}

/// Why a path leads nowhere.
pub(crate) enum Missing {
    /// There is nothing there.
    Nothing,
    /// It cannot or must not be opened.
    Refused(Failure),
}

impl From<Missing> for Failure {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Nothing => Self::new(ErrorCode::NotFound, "there is no such file or folder"),
            Missing::Refused(failure) => failure,
        }
    }
}

impl Guard<'_> {
    /// Finds what a path leads to, for looking at its content.
    pub(crate) fn content(self, path: &str) -> Result<Found, Missing> {
        let found = self.entry(path)?;
        refuse_secrets(&found.real, path).map_err(Missing::Refused)?;
        Ok(found)
    }

    /// Finds what a path leads to.
    pub(crate) fn entry(self, path: &str) -> Result<Found, Missing> {
        let refused = |failure: Failure| Missing::Refused(failure.detail("path", path));
        if !path.starts_with('/') {
            return Err(refused(Failure::invalid(
                "the path must be absolute: begin it with `/`",
            )));
        }
        let handle = openat2(
            CWD,
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            // The links under `/proc` that lead to what another process holds open.
            ResolveFlags::NO_MAGICLINKS,
        )
        .map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => Missing::Nothing,
            errno => refused(Failure::io("opened", path, &errno.into())),
        })?;
        let known = |handle: OwnedFd| -> io::Result<Found> {
            let stat = fstat(&handle)?;
            let real = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
            Ok(Found { handle, real, stat })
        };
        let found = known(handle).map_err(|error| refused(Failure::io("opened", path, &error)))?;
        self.admit(&found.real).map_err(refused)?;
        Ok(found)
    }

    /// Whether a place, which is real, may be touched.
    pub(crate) fn admit(self, real: &Path) -> Result<(), Failure> {
        if !real.is_absolute() {
            return Err(Failure::new(
                ErrorCode::ActionNotAllowed,
                "this is no file with a place of its own",
            ));
        }
        if self.protected.covers(real) {
            return Err(Failure::new(
                ErrorCode::ActionNotAllowed,
                "this belongs to Interlock itself; no tool may reach it",
            ));
        }
        if shows_a_process_or_memory(real) {
            return Err(Failure::new(
                ErrorCode::ActionNotAllowed,
                "this shows the memory or the environment of a process or of the kernel; no tool may read it",
            ));
        }
        Ok(())
    }
}

/// The gate asks a human about a path that holds secrets. A link to one must not be a way around that.
pub(crate) fn refuse_secrets(real: &Path, asked: &str) -> Result<(), Failure> {
    let real = real.to_string_lossy();
    if interlock_shell::path_holds_secrets(&real) && !interlock_shell::path_holds_secrets(asked) {
        return Err(Failure::new(
            ErrorCode::ActionNotAllowed,
            format!("`{asked}` leads to `{real}`, which holds secrets; ask for it by that path"),
        )
        .detail("path", asked)
        .detail("leads_to", real.as_ref()));
    }
    Ok(())
}

fn shows_a_process_or_memory(real: &Path) -> bool {
    let Ok(rest) = real.strip_prefix("/proc") else {
        return false;
    };
    let mut parts = rest.iter().filter_map(|part| part.to_str());
    match parts.next() {
        None => false,
        Some(process) if process.bytes().all(|byte| byte.is_ascii_digit()) => {
            // Its folder may be listed, its threads may not be looked into.
            parts
                .next()
                .is_some_and(|entry| !HARMLESS_OF_A_PROCESS.contains(&entry))
                || is_ours(process)
        }
        Some(entry) => HARMFUL_OF_THE_KERNEL.contains(&entry),
    }
}

/// Whether a number is one of our own threads, each of which has a folder of its own.
fn is_ours(process: &str) -> bool {
    Path::new("/proc/self/task").join(process).exists()
}
