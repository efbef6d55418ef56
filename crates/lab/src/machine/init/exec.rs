//! Runs a program in a machine and passes on what it prints, until it ends, has run too long or nobody listens any more.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Init;
use super::process::{self, Command, Ended, Started};
use crate::machine::wire::{self, ExecRequest, Kind};
use crate::machine::{etc, folders};

/// How long what a program left behind may still print after its end.
const LINGER: Duration = Duration::from_secs(1);

/// What happens while a program runs.
enum Event {
    Printed(Kind, Vec<u8>),
    Closed,
    Ended(Ended),
    Left,
}

static SESSIONS: AtomicU64 = AtomicU64::new(1);

impl Init {
    /// A command in this machine, found as a shell would find it. `mark` is what everything that it starts has in its
    /// environment.
    pub(crate) fn command(
        &self,
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: Option<&Path>,
        mark: (&str, &str),
    ) -> io::Result<Command> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        };
        let mut all: BTreeMap<String, String> = [("PATH", etc::PATH), ("LANG", "C.UTF-8"), mark]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        all.extend(self.config.env.clone());
        all.extend(env.clone());
        if self.root.folder().is_some() {
            return folders::command(self, program, arguments, &all, folder);
        }
        let folder = folder.filter(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
        let path = all.get("PATH").map_or(etc::PATH, String::as_str);
        let found = find(program, path, folder)?;
        let mut command = new_command(&found);
        command
            .arg0(program)
            .args(arguments)
            .env_clear()
            .envs(&all)
            .current_dir(folder);
        Ok(command)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what runs in a machine of the lab are processes"
)]
pub(crate) fn new_command(program: &Path) -> Command {
    Command::new(program)
}

/// Looks a program up, and tells one that is not there from one that may not be run.
fn find(program: &str, path: &str, folder: &Path) -> io::Result<PathBuf> {
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![folder.join(program)]
    } else {
        path.split(':').map(|at| Path::new(at).join(program)).collect()
    };
    let mut refused = None;
    for candidate in candidates {
        match std::fs::metadata(&candidate) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => return Ok(candidate),
            Ok(_) => refused = Some(io::ErrorKind::PermissionDenied),
            Err(_) => {}
        }
    }
    Err(io::Error::from(refused.unwrap_or(io::ErrorKind::NotFound)))
}

/// Runs a program for the lab.
pub(super) fn run(init: &Init, request: &ExecRequest, mut connection: UnixStream) -> io::Result<()> {
    let session = format!("c{}", SESSIONS.fetch_add(1, Ordering::Relaxed));
    let mark = ("XDG_SESSION_ID", session.as_str());
    let mut env: BTreeMap<String, String> = [
        ("HOME", "/root"),
        ("USER", "root"),
        ("LOGNAME", "root"),
        ("SHELL", "/bin/sh"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    env.extend(request.env.clone());
    let folder = request.folder.as_deref().unwrap_or(Path::new("/root"));
    let started = init
        .command(&request.argv, &env, Some(folder), mark)
        .and_then(|mut command| {
            let stdin = if request.reads {
                Stdio::piped()
            } else {
                Stdio::null()
            };
            command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.process_group(0);
            init.processes.spawn(command)
        });
    let started = match started {
        Ok(started) => started,
        Err(cause) => return not_started(&request.argv, &cause, &mut connection),
    };
    let mark = format!("XDG_SESSION_ID={session}");
    let timeout = request.timeout_milliseconds.map(Duration::from_millis);
    follow(started, connection, &mark, timeout)
}

/// As a shell says it.
fn not_started(argv: &[String], cause: &io::Error, connection: &mut UnixStream) -> io::Result<()> {
    let name = argv.first().map_or("", String::as_str);
    let (code, why) = match cause.kind() {
        io::ErrorKind::NotFound => (127, "not found".to_owned()),
        io::ErrorKind::PermissionDenied => (126, "Permission denied".to_owned()),
        _ => (126, cause.to_string()),
    };
    wire::send(
        connection,
        Kind::Stderr,
        format!("sh: 1: {name}: {why}\n").as_bytes(),
    )?;
    wire::send(connection, Kind::Exit, &i32::to_be_bytes(code))
}

fn follow(
    mut started: Started,
    connection: UnixStream,
    mark: &str,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let (events, happened) = sync_channel(16);
    if let Some(stdout) = started.child.stdout.take() {
        pass_on(stdout, Kind::Stdout, events.clone());
    }
    if let Some(stderr) = started.child.stderr.take() {
        pass_on(stderr, Kind::Stderr, events.clone());
    }
    feed(
        started.child.stdin.take(),
        connection.try_clone()?,
        events.clone(),
    );
    let ended = started.ended;
    thread::spawn(move || {
        if let Ok(how) = ended.recv() {
            let _ = events.send(Event::Ended(how));
        }
    });
    let kill = || {
        let _ = rustix::process::kill_process_group(started.pid, Signal::KILL);
        process::kill_marked(mark);
    };
    let code = until_end(&happened, &connection, timeout, kill);
    let mut connection = connection;
    let sent = wire::send(&mut connection, Kind::Exit, &code.to_be_bytes());
    // The thread that reads what a program is to read waits on this connection.
    let _ = connection.shutdown(std::net::Shutdown::Both);
    sent
}

/// Sends on what is printed. Gives the code that the program ended with.
fn until_end(
    happened: &Receiver<Event>,
    mut connection: &UnixStream,
    timeout: Option<Duration>,
    kill: impl Fn(),
) -> i32 {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut killed = false;
    let (mut open, mut code) = (2, None);
    loop {
        let left = deadline
            .filter(|_| !killed)
            .map(|at| at.saturating_duration_since(Instant::now()));
        let patience = match code {
            Some(_) => LINGER,
            None => left.unwrap_or(Duration::from_hours(1)),
        };
        match happened.recv_timeout(patience) {
            Ok(Event::Printed(kind, bytes)) => {
                if wire::send(&mut connection, kind, &bytes).is_err() && !killed {
                    kill();
                    killed = true;
                }
            }
            Ok(Event::Closed) => open -= 1,
            Ok(Event::Ended(how)) => code = Some(how.code()),
            Ok(Event::Left) => {
                if !killed && code.is_none() {
                    kill();
                    killed = true;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(code) = code {
                    return code;
                }
                if left.is_some() {
                    kill();
                    killed = true;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return code.unwrap_or(-1),
        }
        if let (0, Some(code)) = (open, code) {
            return code;
        }
    }
}

fn pass_on(mut from: impl Read + Send + 'static, kind: Kind, events: SyncSender<Event>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 15];
        while let Ok(length) = from.read(&mut buffer) {
            let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else {
                break;
            };
            if events.send(Event::Printed(kind, read.to_vec())).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Closed);
    });
}

/// Gives the program what it reads, and notices when the lab leaves.
fn feed(stdin: Option<std::process::ChildStdin>, mut connection: UnixStream, events: SyncSender<Event>) {
    thread::spawn(move || {
        let mut stdin = stdin;
        while let Ok(Some(frame)) = wire::receive(&mut connection) {
            match frame.kind {
                Kind::Data => {
                    // A program need not read all that it is given.
                    if stdin
                        .as_mut()
                        .is_some_and(|to| to.write_all(&frame.body).is_err())
                    {
                        stdin = None;
                    }
                }
                _ => stdin = None,
            }
        }
        let _ = events.send(Event::Left);
    });
}

/// Runs the one program of a machine, and ends the machine with it.
pub(super) fn run_program(init: &Init, argv: &[String], mut connection: UnixStream) -> i32 {
    let env = [
        ("HOME".to_owned(), "/root".to_owned()),
        ("HOSTNAME".to_owned(), init.config.name.clone()),
    ];
    let started = init
        .command(argv, &env.into(), None, ("container", "lab"))
        .and_then(|mut command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.process_group(0);
            init.processes.spawn(command)
        });
    let mut started = match started {
        Ok(started) => started,
        Err(cause) => {
            let why = format!("exec: {}: {cause}\n", argv.first().map_or("", String::as_str));
            let _ = wire::send(&mut connection, Kind::Stderr, why.as_bytes());
            return if cause.kind() == io::ErrorKind::NotFound {
                127
            } else {
                126
            };
        }
    };
    let (events, happened) = sync_channel(16);
    if let Some(stdout) = started.child.stdout.take() {
        pass_on(stdout, Kind::Stdout, events.clone());
    }
    if let Some(stderr) = started.child.stderr.take() {
        pass_on(stderr, Kind::Stderr, events.clone());
    }
    *init
        .program
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(started.pid);
    let ended = started.ended;
    thread::spawn(move || {
        if let Ok(how) = ended.recv() {
            let _ = events.send(Event::Ended(how));
        }
    });
    until_end(&happened, &connection, None, || {})
}
