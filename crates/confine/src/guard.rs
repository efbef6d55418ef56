//! Outlives the supervisor, so that nothing of a command does.
//!
//! Guard and supervisor watch each other. If the supervisor is killed, the guard ends the command; if the guard is killed,
//! the supervisor does.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, getpid, kill_process_group, set_child_subreaper};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use serde::{Deserialize, Serialize};

use crate::ending::{ControlGroup, Ending, SignalScope, end_all};
use crate::orders::{Ended, Failed, Orders, Profile, Report, VERSION};
use crate::{supervise, temporary};

/// The longest orders.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// What the supervisor is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Charge {
    pub(crate) orders: Orders,
    /// How a read is ended.
    pub(crate) ending: Ending,
    /// The control group of a read.
    pub(crate) group: Option<ControlGroup>,
    /// The temporary folder of a read.
    pub(crate) temporary: Option<PathBuf>,
}

impl Charge {
    /// Removes what was made for a read.
    pub(crate) fn remove(&self) {
        if let Some(folder) = &self.temporary {
            temporary::remove(folder);
        }
        if let Some(group) = &self.group {
            group.remove();
        }
    }
}

pub(crate) fn run() -> ExitCode {
    close_fds::set_fds_cloexec(3, &[]);
    // A copy, because standard input is borrowed for as long as the program runs.
    let control = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(control) => UnixStream::from(control),
        Err(_) => return ExitCode::from(crate::USAGE),
    };
    let report = orders(&control)
        .map_err(|reason| Failed::Orders { reason })
        .and_then(guard);
    let report = match report {
        // The supervisor has reported.
        Ok(Guarded::Reported) => return ExitCode::SUCCESS,
        Ok(Guarded::Lost) => Report::Ended(Ended::Signal(Signal::KILL.as_raw())),
        Err(failed) => Report::Failed(failed),
    };
    match say(&control, &report) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody listens any more.
        Err(_) => ExitCode::FAILURE,
    }
}

fn orders(control: &UnixStream) -> Result<Orders, String> {
    let mut line = Vec::new();
    BufReader::new(control.take(MOST_BYTES))
        .read_until(b'\n', &mut line)
        .map_err(|error| error.to_string())?;
    let orders: Orders = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
    if orders.version != VERSION {
        return Err(format!(
            "these are orders {}, and this program knows orders {VERSION}",
            orders.version
        ));
    }
    if orders.stages.is_empty() || orders.stages.iter().any(|stage| stage.argv.is_empty()) {
        return Err("no command".to_owned());
    }
    Ok(orders)
}

pub(crate) fn say(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// What became of the supervisor.
enum Guarded {
    /// It came to its end.
    Reported,
    /// It was killed.
    Lost,
}

/// Runs the supervisor to its end, and leaves nothing of the command.
fn guard(orders: Orders) -> Result<Guarded, Failed> {
    let (charge, scope) = prepare(orders)?;
    let guarded = supervised(&charge, scope.as_ref());
    charge.remove();
    guarded.map_err(|error| Failed::NoSandbox {
        reason: format!("the supervisor cannot be started: {error}"),
    })
}

/// Makes what a read needs.
fn prepare(orders: Orders) -> Result<(Charge, Option<SignalScope>), Failed> {
    let failed = |reason: String| Failed::NoSandbox { reason };
    let mut charge = Charge {
        ending: Ending::OneByOne,
        group: None,
        temporary: None,
        orders,
    };
    if charge.orders.profile == Profile::ReadWrite {
        return Ok((charge, None));
    }
    // What a read leaves behind in a group of its own still comes to us, to be killed.
    set_child_subreaper(Some(getpid()))
        .map_err(|error| failed(format!("what it starts could not be kept together: {error}")))?;
    let strongest = charge.orders.ending;
    let scope = (strongest >= Ending::SignalScope)
        .then(SignalScope::enter)
        .flatten();
    if scope.is_some() {
        charge.ending = Ending::SignalScope;
    } else if strongest >= Ending::ControlGroup {
        charge.group = ControlGroup::make();
        if charge.group.is_some() {
            charge.ending = Ending::ControlGroup;
        }
    }
    match temporary::make(&charge.orders.temporary) {
        Ok(folder) => charge.temporary = Some(folder),
        Err(error) => {
            charge.remove();
            return Err(failed(format!(
                "no temporary folder can be made in `{}`: {error}",
                charge.orders.temporary.display()
            )));
        }
    }
    Ok((charge, scope))
}

fn supervised(charge: &Charge, scope: Option<&SignalScope>) -> io::Result<Guarded> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    let (group, group_theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut supervisor = start(&theirs, &group_theirs)?;
    drop((theirs, group_theirs));
    // The streams of the command end with the command.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    // Open until this process ends: that is how the supervisor learns of it.
    let mut link = File::from(ours);
    let mut told = serde_json::to_vec(charge)?;
    told.push(b'\n');
    // A supervisor that is gone is found below.
    let _ = link.write_all(&told);
    let status = supervisor.wait()?;
    if status.code().is_some() {
        return Ok(Guarded::Reported);
    }
    let mut number = String::new();
    File::from(group).read_to_string(&mut number)?;
    match charge.orders.profile {
        Profile::ReadOnly => end_all(scope, charge.group.as_ref()),
        // A write may have started a service, which left the process group.
        Profile::ReadWrite => {
            if let Some(group) = number.trim().parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }
    Ok(Guarded::Lost)
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the guard starts this program again, to supervise the command"
)]
fn start(link: &OwnedFd, group: &OwnedFd) -> io::Result<std::process::Child> {
    // Only this process has threads to race with, and it has none.
    for descriptor in [link, group] {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    std::process::Command::new("/proc/self/exe")
        .arg(supervise::ROLE)
        .arg(link.as_raw_fd().to_string())
        .arg(group.as_raw_fd().to_string())
        .env_clear()
        .stdin(Stdio::inherit())
        // What kills the guard's process group leaves the supervisor.
        .process_group(0)
        .spawn()
}
