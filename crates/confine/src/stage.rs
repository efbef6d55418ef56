//! One stage: gives up its rights, then is replaced by the command.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::ending::{ControlGroup, Ending};
use crate::orders::{Failed, Held, Policy, StageOrders, VERSION};
use crate::protected::Protected;
use crate::sandbox::{self, Outside};
use crate::{limits, seccomp};

/// The argument that selects this role.
pub(crate) const ROLE: &str = "stage";

/// As a shell ends where it could not run a program.
const COULD_NOT_RUN: u8 = 126;
const FIRST_INHERITED: i32 = 3;

pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let orders = arguments
        .next()
        .and_then(|text| serde_json::from_slice::<StageOrders>(text.as_encoded_bytes()).ok());
    let (Some(orders), Some(separator)) = (orders, arguments.next()) else {
        return ExitCode::from(crate::USAGE);
    };
    if orders.version != VERSION || separator != "--" {
        return ExitCode::from(crate::USAGE);
    }
    // Without a report the supervisor sees that nothing was reported.
    let Ok(report) = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{}", orders.report))
    else {
        return ExitCode::from(COULD_NOT_RUN);
    };
    let failed = confine_and_execute(&orders, arguments, &report);
    let _ = tell(&report, &failed);
    ExitCode::from(COULD_NOT_RUN)
}

/// Returns only if the command was not executed.
fn confine_and_execute(
    orders: &StageOrders,
    arguments: impl Iterator<Item = OsString>,
    report: &File,
) -> Failed {
    // The report closes when the command begins: that is how the supervisor learns of it.
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    if let Err(reason) = die_with_supervisor(orders.supervisor) {
        return Failed::NoSandbox { reason };
    }
    let held = match confine(orders) {
        Ok(held) => held,
        Err(reason) => return Failed::NoSandbox { reason },
    };
    if let Err(error) = tell(report, &held) {
        return Failed::NoSandbox {
            reason: format!("the sandbox could not be reported: {error}"),
        };
    }
    execute(arguments)
}

fn tell(mut report: &File, what: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    report.write_all(&line)
}

fn die_with_supervisor(supervisor: i32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the parent-death signal cannot be set: {error}"))?;
    // It may have died before the signal was set.
    match getppid() {
        Some(parent) if parent.as_raw_nonzero().get() == supervisor => Ok(()),
        Some(_) | None => Err("the supervisor is gone".to_owned()),
    }
}

fn confine(orders: &StageOrders) -> Result<Held, String> {
    let joined = orders.group.as_ref().map_or(Ok(()), ControlGroup::join);
    let protected = Protected::new(orders.protected.iter().cloned());
    let held = match sandbox::enter(
        orders.profile,
        &protected,
        orders.temporary.as_deref(),
        &orders.sockets,
    ) {
        Ok(mut missing) => {
            if joined.is_err() {
                missing.extend(Ending::OneByOne.missing().map(str::to_owned));
            }
            Held::Enforced { missing }
        }
        Err(Outside::NotEntered(reason)) => return Err(reason),
        Err(Outside::NotThere(reason)) => Held::None { reason },
    };
    limits::set(orders.profile, &orders.resources)
        .map_err(|error| format!("the resource limits cannot be set: {error}"))?;
    let held = match seccomp::enter(orders.profile, &orders.sockets) {
        Ok(()) => held,
        Err(reason) => Held::None { reason },
    };
    match (&held, orders.policy) {
        (Held::None { reason }, Policy::Required) => Err(reason.clone()),
        (Held::Enforced { .. }, _) | (Held::None { .. }, Policy::WhereAvailable) => Ok(held),
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one place where a process becomes the command that it was confined for"
)]
fn execute(mut arguments: impl Iterator<Item = OsString>) -> Failed {
    let Some(name) = arguments.next() else {
        return Failed::Orders {
            reason: "no command".to_owned(),
        };
    };
    let cause = std::process::Command::new(&name).args(arguments).exec();
    let program = name.to_string_lossy().into_owned();
    match cause.kind() {
        io::ErrorKind::NotFound => Failed::NotFound { program },
        io::ErrorKind::PermissionDenied => Failed::Denied {
            program,
            cause: cause.to_string(),
        },
        _ => Failed::Spawn {
            program,
            cause: cause.to_string(),
        },
    }
}
