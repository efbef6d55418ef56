//! The keeper: one process that holds the disks of all machines and starts them. It lives until its stdin is closed, and
//! nothing that it started outlives it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::wire::{self, Ask, Config, Failure, Frame, Kind};
use super::{isolate, places};

/// The word that makes a binary that calls `guest_main` one of ours.
pub(super) const WORD: &str = "__lab-guest";
/// The name of the keeper's own socket in its folder.
pub(super) const SOCKET: &str = "keeper.sock";

struct Keeper {
    program: PathBuf,
    folder: PathBuf,
    folders: bool,
    running: Mutex<HashSet<String>>,
    disks: Mutex<HashMap<String, Vec<PathBuf>>>,
}

/// Runs as the keeper: `keeper namespaces|folders PROGRAM FOLDER`.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let [mode, program, folder] = arguments else {
        return ExitCode::from(2);
    };
    // Nothing in a machine may type into the terminal of who started the lab, nor end with a key pressed there. A process
    // that leads a session already has left it.
    let _ = rustix::process::setsid();
    let ready = prepare(mode == "folders", Path::new(program), Path::new(folder));
    let mut stdout = io::stdout();
    match ready {
        Ok((keeper, listener)) => {
            if wire::send(&mut stdout, Kind::Done, &[]).is_err() {
                return ExitCode::FAILURE;
            }
            thread::spawn(move || serve(&Arc::new(keeper), &listener));
            let mut rest = Vec::new();
            let _ = io::stdin().read_to_end(&mut rest);
            ExitCode::SUCCESS
        }
        Err(cause) => {
            let _ = wire::send_json(&mut stdout, Kind::Failed, &Failure::from(cause));
            ExitCode::FAILURE
        }
    }
}

fn prepare(folders: bool, program: &Path, folder: &Path) -> io::Result<(Keeper, UnixListener)> {
    let keeper = Keeper {
        program: fs::canonicalize(program)?,
        folder: fs::canonicalize(folder)?,
        folders,
        running: Mutex::default(),
        disks: Mutex::default(),
    };
    if !folders {
        isolate::enter_keeper(&keeper.folder)?;
    }
    fs::create_dir_all(keeper.folder.join("disks"))?;
    fs::create_dir_all(keeper.folder.join("root"))?;
    let listener = listen(&keeper.folder, SOCKET)?;
    Ok((keeper, listener))
}

/// Listens at a name in a folder whose own path may be too long for a socket.
fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let opened = fs::File::open(folder)?;
    let path = places::socket_path(opened.as_raw_fd(), name);
    match fs::remove_file(&path) {
        Ok(()) => {}
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause),
    }
    UnixListener::bind(path)
}

fn serve(keeper: &Arc<Keeper>, listener: &UnixListener) {
    for connection in listener.incoming().flatten() {
        let keeper = Arc::clone(keeper);
        // A thread of its own: what it starts lives in the namespaces that this thread enters.
        thread::spawn(move || {
            let mut connection = connection;
            if let Err(cause) = keeper.answer(&mut connection) {
                let _ = wire::send_json(&mut connection, Kind::Failed, &Failure::from(cause));
            }
        });
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    fn answer(&self, connection: &mut UnixStream) -> io::Result<()> {
        let Some(request) = wire::receive(connection)? else {
            return Ok(());
        };
        match request.json()? {
            Ask::Start(config) => {
                let mut contents = Vec::with_capacity(config.files.len());
                for _ in &config.files {
                    contents.push(wire::receive_bytes(connection)?);
                }
                let name = config.name.clone();
                if !lock(&self.running).insert(name.clone()) {
                    return Err(io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "it is running already",
                    ));
                }
                let ended = self.start(*config, &contents, connection);
                lock(&self.running).remove(&name);
                wire::send(connection, Kind::Exit, &ended?.to_be_bytes())
            }
            Ask::Discard { name } => {
                if lock(&self.running).contains(&name) {
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, "it is running"));
                }
                self.discard(&name)?;
                wire::send(connection, Kind::Done, &[])
            }
        }
    }

    /// Starts a machine and stays until it ended.
    fn start(
        &self,
        mut config: Config,
        contents: &[Vec<u8>],
        connection: &mut UnixStream,
    ) -> io::Result<i32> {
        let disks = self.disks_of(&mut config)?;
        let listener = listen(&self.folder, &places::socket_name(&config.name))?;
        // Begun first: a thread whose children are in another process namespace cannot begin threads.
        let (running, runs) = channel();
        let listening = connection.try_clone()?;
        thread::spawn(move || kill_when_told(listening, &runs));
        if self.folders {
            config.root = disks.first().cloned().unwrap_or_default();
            config.folders = true;
        } else {
            config.root = self.folder.join("root");
            isolate::enter_machine()?;
            let (disk, volumes) = disks.split_first().ok_or(io::ErrorKind::NotFound)?;
            isolate::assemble(&config, disk, volumes, &self.program)?;
        }
        let (mut control, theirs) = UnixStream::pair()?;
        let mut child = self.spawn(&config, listener, theirs)?;
        let pid = rustix::process::Pid::from_child(&child);
        let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
        let begun =
            hand_over(&mut control, &config, contents).and_then(|()| wire::send(connection, Kind::Done, &[]));
        if let Err(cause) = begun {
            let _ = child.kill();
            let _ = child.wait();
            return Err(cause);
        }
        let _ = running.send(handle);
        let status = child.wait()?;
        if self.folders {
            let keeper = rustix::process::getpid().as_raw_nonzero().get();
            let (mark, value) = places::machine_mark(&config.name, keeper);
            super::init::process::kill_marked(&format!("{mark}={value}"));
        }
        Ok(status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a machine of the lab is a process"
    )]
    fn spawn(
        &self,
        config: &Config,
        listener: UnixListener,
        control: UnixStream,
    ) -> io::Result<std::process::Child> {
        std::process::Command::new(&self.program)
            .args([WORD, "init", &config.name])
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(OwnedFd::from(control)))
            .stderr(Stdio::null())
            .spawn()
    }

    /// Where the disk and the volumes of a machine are; made if it has none yet.
    fn disks_of(&self, config: &mut Config) -> io::Result<Vec<PathBuf>> {
        let mut disks = lock(&self.disks);
        config.fresh = !disks.contains_key(&config.name);
        if let Some(known) = disks.get(&config.name) {
            return Ok(known.clone());
        }
        let folder = self.folder.join("disks").join(&config.name);
        let sizes = std::iter::once(config.disk_bytes).chain(config.volumes.iter().map(|(_, bytes)| *bytes));
        let mut made = Vec::new();
        for (number, bytes) in sizes.enumerate() {
            let at = folder.join(number.to_string());
            if self.folders {
                if number == 0 {
                    fs::create_dir_all(&at)?;
                }
            } else {
                let name = match number
                    .checked_sub(1)
                    .and_then(|number| config.volumes.get(number))
                {
                    None => config.name.clone(),
                    Some((path, _)) => format!("{}{}", config.name, path.display()).replace('/', "-"),
                };
                isolate::make_disk(&name, &at, bytes)?;
            }
            made.push(at);
        }
        disks.insert(config.name.clone(), made.clone());
        Ok(made)
    }

    fn discard(&self, name: &str) -> io::Result<()> {
        let Some(disks) = lock(&self.disks).remove(name) else {
            return Ok(());
        };
        if !self.folders {
            for disk in &disks {
                isolate::drop_disk(disk)?;
            }
        }
        fs::remove_dir_all(self.folder.join("disks").join(name))
    }
}

/// Tells the first process of a machine what it is, and waits until it is ready.
fn hand_over(control: &mut UnixStream, config: &Config, contents: &[Vec<u8>]) -> io::Result<()> {
    wire::send_json(control, Kind::Request, config)?;
    for content in contents {
        wire::send_bytes(control, content)?;
    }
    match wire::receive(control)? {
        Some(Frame { kind: Kind::Done, .. }) => Ok(()),
        Some(frame) => Err(frame.failure()),
        None => Err(io::Error::other("it ended before it began")),
    }
}

/// The lab says nothing more about a machine that runs, except that it shall be killed, or leaves.
fn kill_when_told(mut connection: UnixStream, machine: &Receiver<OwnedFd>) {
    let _ = connection.read(&mut [0]);
    if let Ok(machine) = machine.recv() {
        let _ = rustix::process::pidfd_send_signal(machine.as_fd(), rustix::process::Signal::KILL);
    }
}
