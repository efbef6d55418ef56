//! The processes of a machine: started, reaped, and killed with everything that they started.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitIdOptions, WaitIdStatus, WaitOptions, WaitStatus};

#[expect(
    clippy::disallowed_types,
    reason = "what runs in a machine of the lab are processes"
)]
pub(crate) type Command = std::process::Command;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// As shells count it.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    fn of(status: WaitStatus) -> Option<Self> {
        status
            .exit_status()
            .map(Self::Code)
            .or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

/// A process that was started.
pub(crate) struct Started {
    pub(crate) child: std::process::Child,
    pub(crate) pid: Pid,
    pub(crate) ended: Receiver<Ended>,
}

type Job = (Command, Sender<io::Result<Started>>);

/// Starts processes and reaps them, and whatever else is left to the first process of a machine.
#[derive(Debug)]
pub(crate) struct Processes {
    table: Mutex<HashMap<i32, Sender<Ended>>>,
    begun: Condvar,
    jobs: Mutex<Sender<Job>>,
}

impl Processes {
    /// Begins to reap.
    pub(crate) fn new() -> Arc<Self> {
        let (jobs, todo) = channel::<Job>();
        let processes = Arc::new(Self {
            table: Mutex::default(),
            begun: Condvar::new(),
            jobs: Mutex::new(jobs),
        });
        let reaper = Arc::clone(&processes);
        thread::spawn(move || {
            loop {
                reaper.reap();
            }
        });
        // One thread starts them all: a process that ends with its parent ends with the thread that started it.
        let starter = Arc::clone(&processes);
        thread::spawn(move || {
            for (command, answer) in todo {
                let _ = answer.send(starter.start(command));
            }
        });
        processes
    }

    /// Starts a process.
    pub(crate) fn spawn(&self, command: Command) -> io::Result<Started> {
        let (answer, answered) = channel();
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        jobs.send((command, answer)).map_err(io::Error::other)?;
        answered.recv().map_err(io::Error::other)?
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Sender<Ended>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody reaps while a process is started: neither is its end missed, nor one taken that starting failed with.
    fn start(&self, mut command: Command) -> io::Result<Started> {
        let mut table = self.lock();
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let (end, ended) = channel();
        table.insert(pid.as_raw_nonzero().get(), end);
        self.begun.notify_all();
        Ok(Started { child, pid, ended })
    }

    fn reap(&self) {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let waiting: rustix::io::Result<Option<WaitIdStatus>> =
            rustix::process::waitid(rustix::process::WaitId::All, peek);
        let mut table = self.lock();
        if waiting.is_err() {
            // There is no child. Nobody can become ours then, until one is started.
            let _ = self.begun.wait_timeout(table, Duration::from_secs(1));
            return;
        }
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let told = table.remove(&pid.as_raw_nonzero().get());
            if let (Some(end), Some(ended)) = (told, Ended::of(status)) {
                let _ = end.send(ended);
            }
        }
    }
}

/// Sends a signal to everything that has this in its environment: what was started with it, and what that started.
pub(crate) fn signal_marked(mark: &str, signal: Signal) -> usize {
    let own = rustix::process::getpid();
    let mut count = 0;
    for pid in all_pids() {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
            continue;
        };
        let marked = environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == mark.as_bytes());
        let alive = !fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_zombie(&stat));
        if let Some(pid) = Pid::from_raw(pid).filter(|pid| marked && alive && *pid != own) {
            count += 1;
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
    count
}

/// Kills everything that has this in its environment, until there is nothing more.
pub(crate) fn kill_marked(mark: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while signal_marked(mark, Signal::KILL) > 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(2));
    }
}

fn all_pids() -> Vec<i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn is_zombie(stat: &str) -> bool {
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// The name of a signal, as systemd writes it.
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        10 => "USR1",
        11 => "SEGV",
        12 => "USR2",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        other => return other.to_string(),
    };
    name.to_owned()
}
