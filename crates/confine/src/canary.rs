//! Tries what a read must not be able to do, and says what it could do.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{getppid, test_kill_process};

/// The argument that selects this role. A folder with the files `there` and `socket`, and the port of a listener on
/// loopback, follow.
pub const CANARY: &str = "canary";

const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Prints a line for everything that it could do.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(folder), Some(port)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(crate::USAGE);
    };
    let folder = Path::new(&folder);
    let Some(port) = port.to_str().and_then(|port| port.parse::<u16>().ok()) else {
        return ExitCode::from(crate::USAGE);
    };
    let there = folder.join("there");
    // Without this the rest proves nothing.
    if fs::read(&there).is_err() {
        println!("not read a file");
    }
    let attempts: [(&str, io::Result<()>); 7] = [
        ("make a file", File::create(folder.join("new")).map(drop)),
        (
            "write to a file",
            OpenOptions::new().append(true).open(&there).map(drop),
        ),
        (
            "change the mode of a file",
            fs::set_permissions(&there, Permissions::from_mode(0o600)),
        ),
        ("remove a file", fs::remove_file(folder.join("spare"))),
        (
            "connect to a Unix socket",
            UnixStream::connect(folder.join("socket")).map(drop),
        ),
        (
            "connect to a network socket",
            TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), CONNECT_WITHIN).map(drop),
        ),
        ("send a signal to its parent", signal_parent()),
    ];
    for (what, outcome) in attempts {
        if outcome.is_ok() {
            println!("{what}");
        }
    }
    ExitCode::SUCCESS
}

fn signal_parent() -> io::Result<()> {
    let parent = getppid().ok_or(io::ErrorKind::NotFound)?;
    Ok(test_kill_process(parent)?)
}
