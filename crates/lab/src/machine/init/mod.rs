//! The first process of a machine: it makes itself at home, runs its units or its one program, and does what the lab asks.

pub(super) mod bus;
mod control;
pub(super) mod exec;
mod launch;
pub(super) mod process;
pub(super) mod service;
mod stopping;
pub(super) mod unit_file;
mod units;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use self::process::Processes;
use self::units::Units;
use super::journal::Journal;
use super::places::{self, Root};
use super::wire::{self, Config, Failure, Kind};
use super::{etc, isolate};

/// What the first process of a machine knows.
pub(crate) struct Init {
    pub(crate) config: Config,
    pub(crate) root: Root,
    pub(crate) processes: Arc<Processes>,
    pub(crate) units: Units,
    /// The one program, once it runs.
    pub(crate) program: Mutex<Option<rustix::process::Pid>>,
    /// What everything has in its environment that a machine starts that is a plain folder.
    pub(crate) folder_mark: (&'static str, String),
}

/// Runs as the first process of a machine. Its stdin is the socket that it serves, its stdout leads to the keeper.
pub(super) fn main() -> ExitCode {
    match begin() {
        Ok((init, listener)) => {
            control::serve(&init, &listener);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn begin() -> io::Result<(Arc<Init>, UnixListener)> {
    let listener = UnixListener::from(owned(io::stdin())?);
    let mut control = UnixStream::from(owned(io::stdout())?);
    let begun = isolate::end_with_parent()
        .and_then(|()| isolate::close_to_others())
        .and_then(|()| settle(&mut control));
    match begun {
        Ok(init) => {
            wire::send(&mut control, Kind::Done, &[])?;
            std::thread::spawn(move || {
                // The keeper says nothing more; when it is gone, so is this machine.
                let _ = wire::receive(&mut control);
                std::process::exit(1);
            });
            Ok((init, listener))
        }
        Err(cause) => {
            let again = io::Error::new(cause.kind(), cause.to_string());
            let _ = wire::send_json(&mut control, Kind::Failed, &Failure::from(cause));
            Err(again)
        }
    }
}

fn owned(stream: impl std::os::fd::AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

fn settle(control: &mut UnixStream) -> io::Result<Arc<Init>> {
    let config: Config = wire::receive(control)?
        .ok_or(io::ErrorKind::UnexpectedEof)?
        .json()?;
    let mut contents = Vec::with_capacity(config.files.len());
    for _ in &config.files {
        contents.push(wire::receive_bytes(control)?);
    }
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let root = if config.folders {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        etc::make_folders(&config.root)?;
        Root::new(Some(config.root.clone()))
    } else {
        isolate::enter_root(&config)?;
        Root::new(None)
    };
    if config.fresh {
        for (path, content) in etc::files(&config) {
            write(&root, Path::new(path), content.as_bytes(), Some(0o644))?;
        }
        for (head, content) in config.files.iter().zip(&contents) {
            write(&root, &head.path, content, Some(head.mode))?;
        }
    }
    let init = Arc::new(Init {
        units: Units::new(&root, Journal::new(&root)?),
        root,
        processes: Processes::new(),
        program: Mutex::default(),
        folder_mark: places::machine_mark(&config.name, parent),
        config,
    });
    if init.config.program.is_none() {
        bus::serve(&init)?;
        init.units.start_enabled(&init);
    }
    Ok(init)
}

/// Writes a file of the machine, and the folders that it is in.
pub(crate) fn write(root: &Root, path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    if !path.is_absolute() || isolate::has_zero(path) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{}: not an absolute path", path.display()),
        ));
    }
    let at = root.at(path)?;
    if let Some(above) = at.parent() {
        fs::create_dir_all(above)?;
    }
    let told = |cause: io::Error| match cause.raw_os_error() {
        Some(_) => cause,
        None => io::Error::new(cause.kind(), format!("{}: {cause}", path.display())),
    };
    fs::write(&at, content).map_err(told)?;
    if let Some(mode) = mode {
        fs::set_permissions(&at, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
