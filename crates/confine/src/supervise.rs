//! Runs the stages of one command and lets nothing of it outlive the control socket.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, pidfd_open,
    set_child_subreaper, waitid,
};
use rustix::system::sysinfo;

use crate::ending::{Ending, SignalScope, children, end_all, numbers};
use crate::guard::{Charge, say};
use crate::orders::{Ended, Failed, Held, Orders, Profile, Report, Stage, StageOrders, Stderr, VERSION};
use crate::{TERMINATE, stage};

const CHUNK: usize = 16 * 1024;
/// How often the processes of a read are looked at.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// The argument that selects this role. The numbers of two descriptors follow.
pub(crate) const ROLE: &str = "supervise";

pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut opened = |options: &mut OpenOptions| {
        let number: u32 = arguments.next()?.to_str()?.parse().ok()?;
        options.open(format!("/proc/self/fd/{number}")).ok()
    };
    let (Some(guard), Some(group), Ok(control)) = (
        opened(OpenOptions::new().read(true)),
        opened(OpenOptions::new().write(true)),
        // A copy, because standard input is borrowed for as long as the program runs.
        io::stdin().as_fd().try_clone_to_owned(),
    ) else {
        return ExitCode::from(crate::USAGE);
    };
    close_fds::set_fds_cloexec(3, &[]);
    let control = UnixStream::from(control);
    let mut line = Vec::new();
    // The guard holds its end open; the line is all that it says.
    let read = BufReader::with_capacity(CHUNK, &guard).read_until(b'\n', &mut line);
    let Some(charge) = read
        .ok()
        .and_then(|_| serde_json::from_slice::<Charge>(&line).ok())
    else {
        return ExitCode::from(crate::USAGE);
    };
    let report = Supervisor::new(&control, &guard, &group, &charge).run();
    charge.remove();
    match say(&control, &report) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody listens any more.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Why a command is over.
enum Over {
    /// Every stage has ended.
    Ended(Ended),
    /// The control socket has closed, or the guard is gone.
    Abandoned,
    /// A read started more processes than it may.
    TooMany,
}

struct Supervisor<'a> {
    control: &'a UnixStream,
    /// Closes with the guard.
    guard: &'a File,
    /// Where the guard is told of the process group.
    told: &'a File,
    charge: &'a Charge,
    orders: &'a Orders,
    scope: Option<SignalScope>,
    /// The process group of the stages: the number of the first one.
    group: Option<Pid>,
}

struct Running {
    pid: Pid,
    end: OwnedFd,
    ended: Option<Ended>,
}

impl<'a> Supervisor<'a> {
    fn new(control: &'a UnixStream, guard: &'a File, told: &'a File, charge: &'a Charge) -> Self {
        Self {
            control,
            guard,
            told,
            charge,
            orders: &charge.orders,
            scope: None,
            group: None,
        }
    }

    fn run(mut self) -> Report {
        if self.orders.profile == Profile::ReadOnly {
            // What a read leaves behind in a group of its own still comes to us, to be killed.
            if let Err(error) = set_child_subreaper(Some(getpid())) {
                return no_sandbox(format!("what it starts could not be kept together: {error}"));
            }
        }
        if self.charge.ending == Ending::SignalScope {
            // A scope inside that of the guard: the guard is none of what is killed here.
            self.scope = SignalScope::enter();
            if self.scope.is_none() {
                return no_sandbox("the signal scope cannot be entered a second time".to_owned());
            }
        }
        let (mut running, held) = match self.start() {
            Ok((running, held)) => (running, self.with_ending(held)),
            Err(failed) => {
                self.sweep();
                return Report::Failed(failed);
            }
        };
        if say(self.control, &Report::Started(held)).is_err() {
            self.sweep();
            return Report::Ended(Ended::Signal(Signal::KILL.as_raw()));
        }
        let over = self.watch(&mut running);
        self.sweep();
        if let Ok(Over::TooMany) = over {
            let most = self.orders.resources.processes;
            // It goes where the errors of the command go. Nothing else can be done if that fails.
            let _ = writeln!(
                io::stderr(),
                "interlock: the command was ended, because it started more than {most} processes"
            );
        }
        Report::Ended(match over {
            Ok(Over::Ended(ended)) => ended,
            Ok(Over::Abandoned | Over::TooMany) | Err(_) => Ended::Signal(Signal::KILL.as_raw()),
        })
    }

    /// Starts every stage and waits until each has become its command.
    fn start(&mut self) -> Result<(Vec<Running>, Held), Failed> {
        let mut running = Vec::new();
        let mut reports = Vec::new();
        let mut input: Option<OwnedFd> = None;
        let last = self.orders.stages.len() - 1;
        for (number, stage) in self.orders.stages.iter().enumerate() {
            let failed = |cause: io::Error| Failed::Spawn {
                program: stage.argv.first().cloned().unwrap_or_default(),
                cause: cause.to_string(),
            };
            let (output, next) = if number == last {
                (io::stdout().as_fd().try_clone_to_owned().map_err(failed)?, None)
            } else {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
                (write, Some(read))
            };
            let (pid, report) = self.start_stage(stage, input.take(), output).map_err(failed)?;
            if self.group.is_none() {
                self.group = Some(pid);
                let mut told = self.told;
                // A guard that is gone is found when the command is watched.
                let _ = told.write_all(pid.as_raw_nonzero().to_string().as_bytes());
            }
            let end = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
            running.push(Running {
                pid,
                end,
                ended: None,
            });
            reports.push((stage, report));
            input = next;
        }
        let mut held = None;
        for (stage, report) in reports {
            let this = began(stage, report)?;
            // All stages have the same profile; the first that lacks something speaks for all.
            held = match held.take() {
                Some(Held::Enforced { missing }) if missing.is_empty() => Some(this),
                None => Some(this),
                other => other,
            };
        }
        held.map(|held| (running, held)).ok_or_else(|| Failed::Orders {
            reason: "no command".to_owned(),
        })
    }

    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "the supervisor starts this program again, to be confined and replaced by the command"
    )]
    fn start_stage(
        &self,
        stage: &Stage,
        input: Option<OwnedFd>,
        output: OwnedFd,
    ) -> io::Result<(Pid, OwnedFd)> {
        let (report, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        // Only this process has threads to race with, and it has none.
        fcntl_setfd(&theirs, FdFlags::empty())?;
        let orders = StageOrders {
            version: VERSION,
            profile: self.orders.profile,
            policy: self.orders.policy,
            sockets: stage.sockets.clone(),
            protected: self.orders.protected.clone(),
            temporary: self.charge.temporary.clone(),
            group: self.charge.group.clone(),
            resources: self.orders.resources,
            supervisor: getpid().as_raw_nonzero().get(),
            report: theirs.as_raw_fd(),
        };
        let stderr = match stage.stderr {
            Stderr::Kept => Stdio::inherit(),
            Stderr::Null => Stdio::null(),
            Stderr::Output => Stdio::from(output.try_clone()?),
        };
        let mut command = std::process::Command::new("/proc/self/exe");
        command
            .arg(stage::ROLE)
            .arg(serde_json::to_string(&orders)?)
            .arg("--")
            .args(&stage.argv)
            .current_dir(&self.orders.folder)
            .env_clear()
            .envs(&self.orders.env)
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::from(output))
            .stderr(stderr)
            .process_group(self.group.map_or(0, |group| group.as_raw_nonzero().get()));
        if let Some(temporary) = &self.charge.temporary {
            command.env("TMPDIR", temporary);
        }
        let child = command.spawn()?;
        Ok((Pid::from_child(&child), report))
    }

    /// Says what the way to end this read does not enforce.
    fn with_ending(&self, held: Held) -> Held {
        match (held, self.orders.profile) {
            (Held::Enforced { mut missing }, Profile::ReadOnly) => {
                missing.extend(self.charge.ending.missing().map(str::to_owned));
                Held::Enforced { missing }
            }
            (held, _) => held,
        }
    }

    /// Waits for the end of every stage, of the control socket, or of the guard.
    fn watch(&self, running: &mut [Running]) -> io::Result<Over> {
        loop {
            if let Some(over) = all_ended(running) {
                return Ok(Over::Ended(over));
            }
            let (told, ended) = {
                let mut waiting = vec![
                    PollFd::new(self.control, PollFlags::IN),
                    PollFd::new(self.guard, PollFlags::IN),
                ];
                let alive: Vec<usize> = (0..running.len())
                    .filter(|&index| running[index].ended.is_none())
                    .collect();
                waiting.extend(
                    alive
                        .iter()
                        .map(|&index| PollFd::new(&running[index].end, PollFlags::IN)),
                );
                let tick = (self.orders.profile == Profile::ReadOnly).then_some(&TICK);
                match poll(&mut waiting, tick) {
                    Ok(0) => {
                        if self.tidy(running) {
                            return Ok(Over::TooMany);
                        }
                        continue;
                    }
                    Ok(_) => {}
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                }
                let ended: Vec<usize> = alive
                    .iter()
                    .zip(&waiting[2..])
                    .filter(|(_, descriptor)| !descriptor.revents().is_empty())
                    .map(|(&index, _)| index)
                    .collect();
                if !waiting[1].revents().is_empty() {
                    return Ok(Over::Abandoned);
                }
                (!waiting[0].revents().is_empty(), ended)
            };
            for index in ended {
                running[index].ended = Some(end_of(&running[index])?);
            }
            if told {
                let mut byte = [0];
                let mut control = self.control;
                match control.read(&mut byte) {
                    Ok(1) if byte[0] == TERMINATE => self.signal(Signal::TERM),
                    Ok(_) | Err(_) => return Ok(Over::Abandoned),
                }
            }
        }
    }

    /// Takes leave of what a read left behind and what has ended since. Says whether the read has too many processes: the
    /// limit of the kernel does not bind the superuser.
    fn tidy(&self, running: &[Running]) -> bool {
        let left = children().into_iter();
        for child in left.filter(|child| running.iter().all(|stage| stage.pid != *child)) {
            let _ = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        let most = self.orders.resources.processes;
        // What all of the system has is known at once; what this command has is counted only if it could be too much.
        u64::from(sysinfo().procs) > most && descendants(most) > most
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Nothing is left to signal if this fails.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills what is left of the command. Of a write only its process group: a write may have started a service.
    fn sweep(&self) {
        self.signal(Signal::KILL);
        if self.orders.profile == Profile::ReadWrite {
            return;
        }
        end_all(self.scope.as_ref(), self.charge.group.as_ref());
    }
}

fn no_sandbox(reason: String) -> Report {
    Report::Failed(Failed::NoSandbox { reason })
}

/// The end of the last stage, once all have ended: as in a shell.
fn all_ended(running: &[Running]) -> Option<Ended> {
    let ends: Option<Vec<Ended>> = running.iter().map(|stage| stage.ended).collect();
    ends?.pop()
}

/// The status of a stage that has ended. It is left to be waited for, so that its number is no one else's.
fn end_of(stage: &Running) -> io::Result<Ended> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(stage.pid), options) {
            Ok(Some(status)) => {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Ended::Code(code),
                    (None, Some(signal)) => Ended::Signal(signal),
                    (None, None) => Ended::Code(-1),
                });
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What holds a stage, once it has become its command.
fn began(stage: &Stage, report: OwnedFd) -> Result<Held, Failed> {
    let failed = |cause: String| Failed::Spawn {
        program: stage.argv.first().cloned().unwrap_or_default(),
        cause,
    };
    let mut text = String::new();
    File::from(report)
        .read_to_string(&mut text)
        .map_err(|error| failed(error.to_string()))?;
    // What holds it, and behind that why it did not begin, if it did not.
    match text.lines().last() {
        None => Err(failed("it ended before it was confined".to_owned())),
        Some(line) => match serde_json::from_str::<Failed>(line) {
            Ok(failed) => Err(failed),
            Err(_) => serde_json::from_str::<Held>(line).map_err(|error| failed(error.to_string())),
        },
    }
}

/// How many processes and threads come from this one, counted until there are more than this.
fn descendants(most: u64) -> u64 {
    let mut found = 0;
    let mut waiting = children();
    while let Some(process) = waiting.pop() {
        let tasks = format!("/proc/{}/task", process.as_raw_nonzero());
        for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
            found += 1;
            if found > most {
                return found;
            }
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            waiting.extend(numbers(&children));
        }
    }
    found
}
