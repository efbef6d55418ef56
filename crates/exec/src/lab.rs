//! Starts the simulated cluster of the demo, which is a program of its own.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin};

use crate::{Error, Helper};

/// Variables of ours that the lab gets: where things are and how its text looks, and no credential.
const KEPT: [&str; 11] = [
    "PATH",
    "HOME",
    "XDG_DATA_HOME",
    "TMPDIR",
    "TERM",
    "COLUMNS",
    "LANG",
    "LC_ALL",
    "NO_COLOR",
    "INTERLOCK_LOG",
    "RUST_BACKTRACE",
];
/// How much of what it prints is read.
const MOST: u64 = 1 << 20;
/// How long it may take to end what runs in it.
const WIND_UP: Duration = Duration::from_secs(10);

/// The program, with its environment.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this room may start processes; this one is a program of our own"
)]
fn command() -> Result<std::process::Command, Error> {
    let mut command = std::process::Command::new(Helper::Lab.path()?);
    command.env_clear();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    Ok(command)
}

/// The same, to be waited for.
#[expect(
    clippy::disallowed_types,
    reason = "this room may start processes; this one is a program of our own"
)]
fn waited_for() -> Result<tokio::process::Command, Error> {
    Ok(tokio::process::Command::from(command()?))
}

fn failed(cause: std::io::Error) -> Error {
    Error::Spawn {
        program: Helper::Lab.name().to_owned(),
        cause,
    }
}

/// Makes this process the lab, with the arguments that a person typed. Returns only if that cannot be done.
#[expect(
    clippy::disallowed_methods,
    reason = "the lab takes the place of this process; nothing of a model's is in its arguments"
)]
pub fn become_lab(arguments: &[OsString]) -> Error {
    use std::os::unix::process::CommandExt as _;
    match command() {
        Ok(mut command) => failed(command.args(arguments).exec()),
        Err(error) => error,
    }
}

/// The incidents that can be played, as a JSON document.
pub async fn lab_incidents() -> Result<String, Error> {
    let mut child = waited_for()?
        .args(["incidents", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        stdout
            .take(MOST)
            .read_to_string(&mut text)
            .await
            .map_err(failed)?;
    }
    let status = child.wait().await.map_err(failed)?;
    if !status.success() {
        return Err(failed(std::io::Error::other(format!("it ended with {status}"))));
    }
    Ok(text)
}

/// A lab that runs as long as this is kept.
#[derive(Debug)]
pub struct LabProcess {
    child: Child,
    /// The lab ends when this is closed, also because this process is gone.
    input: Option<ChildStdin>,
    said: String,
}

impl LabProcess {
    /// Starts it and waits until everything in it answers.
    pub async fn start(folder: &Path, speed: f64) -> Result<Self, Error> {
        let mut command = waited_for()?;
        command
            .args(["serve", "--until-input-ends", "--speed"])
            .arg(speed.to_string())
            .arg("--folder")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for this process, which then ends the lab.
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        let input = child.stdin.take();
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed(std::io::Error::other("it has no streams")));
        };
        let log = tokio::spawn(follow(stderr));
        let mut said = String::new();
        BufReader::new(stdout.take(MOST))
            .read_line(&mut said)
            .await
            .map_err(failed)?;
        if said.ends_with('\n') {
            return Ok(Self { child, input, said });
        }
        drop(input);
        let last = log.await.unwrap_or_default();
        let message = last.strip_prefix("error: ").unwrap_or(&last).to_owned();
        Err(Error::Lab { message })
    }

    /// What it printed: its addresses and credentials, as a JSON document.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// Ends it and everything that runs in it.
    pub async fn stop(mut self) {
        drop(self.input.take());
        if tokio::time::timeout(WIND_UP, self.child.wait()).await.is_err() {
            tracing::warn!("the lab did not end in time and is killed");
            // It is killed when it is dropped; one that is gone already need not be.
            let _ = self.child.start_kill();
            let _ = self.child.wait().await;
        }
    }
}

/// Logs what the lab writes to standard error. The last line is why it ended, if it did.
async fn follow(stderr: tokio::process::ChildStderr) -> String {
    let mut lines = BufReader::new(stderr).lines();
    let mut last = String::new();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!(%line, "the lab says");
        last = line;
    }
    last
}
