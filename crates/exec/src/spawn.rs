//! Starts a child. The one place in Interlock where a process begins.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::sandbox::{self, Outside, Profile, Sandbox, SandboxPolicy};
use crate::{Error, Program, Protected};

/// Where programs are looked for, whatever our own environment says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every program finds in its environment, and nothing else of ours.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", PATH),
    ("LANG", "C.UTF-8"),
    ("HOME", "/nonexistent"),
    ("TERM", "dumb"),
];

/// What a child is held by.
#[derive(Debug, Clone)]
pub(crate) struct Confinement {
    pub(crate) profile: Profile,
    pub(crate) protected: Arc<Protected>,
    pub(crate) policy: SandboxPolicy,
}

/// A child that was started, with everything of its group. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct Spawned {
    /// Nothing once it was waited for.
    child: Option<Child>,
    group: Pid,
    pub(crate) sandbox: Sandbox,
    /// Set when the child has ended. It keeps its number until it is waited for.
    pub(crate) ended: CancellationToken,
}

impl Spawned {
    pub(crate) fn pipes(&mut self) -> Option<(std::process::ChildStdout, std::process::ChildStderr)> {
        let child = self.child.as_mut()?;
        child.stdout.take().zip(child.stderr.take())
    }

    /// Sends a signal to the whole group. As long as the child was not waited for, its number is no one else's.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.child.is_some() {
            // Nothing is left to signal if this fails.
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Kills what is left of the group and takes the status of a child that has ended.
    pub(crate) fn reap(mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        match self.child.take() {
            Some(mut child) => child.wait(),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(mut child) = self.child.take() {
            // It may take the kernel a moment, and whoever drops this may not be kept waiting.
            let _ = thread::Builder::new()
                .name("interlock-reap".to_owned())
                .spawn(move || child.wait());
        }
    }
}

/// Starts a program on a fresh thread, which gives up its rights first: what a thread gives up stays given up, and its
/// children inherit that.
pub(crate) async fn spawn(program: Arc<Program>, confinement: Confinement) -> Result<Spawned, Error> {
    let (send, receive) = oneshot::channel();
    let failed = |cause: io::Error| Error::Spawn {
        program: program.name().display().to_string(),
        cause,
    };
    let theirs = Arc::clone(&program);
    thread::Builder::new()
        .name("interlock-spawn".to_owned())
        .spawn(move || {
            let ended = CancellationToken::new();
            let started = spawn_here(&theirs, &confinement, ended.clone());
            let child = started.as_ref().map(|spawned| spawned.group).ok();
            // If nobody waits any more, the child comes back with the error, and dropping it kills it.
            let _ = send.send(started);
            let _when_done = ended.drop_guard();
            if let Some(child) = child {
                wait_for_end(child);
            }
        })
        .map_err(failed)?;
    receive
        .await
        .map_err(|_| failed(io::Error::other("the thread that starts it ended")))?
}

/// Waits for the end of a child and leaves it to be waited for: until then nobody else can get its number.
fn wait_for_end(child: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(child), options) {}
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "here, and nowhere else, a process begins: for a permit, or for one of our own fixed questions"
)]
fn spawn_here(
    program: &Program,
    confinement: &Confinement,
    ended: CancellationToken,
) -> Result<Spawned, Error> {
    let folder = program.folder().unwrap_or_else(|| std::path::Path::new("/"));
    if let Err(cause) = folder.metadata() {
        return Err(Error::Folder {
            path: folder.to_owned(),
            cause,
        });
    }
    let sandbox = match sandbox::enter(confinement.profile, &confinement.protected) {
        Ok(sandbox) => sandbox,
        Err(Outside::NotEntered(reason)) => return Err(Error::NoSandbox { reason }),
        Err(Outside::NotThere(reason)) => match confinement.policy {
            SandboxPolicy::Required => return Err(Error::NoSandbox { reason }),
            SandboxPolicy::WhereAvailable => Sandbox::None { reason },
        },
    };
    let child = std::process::Command::new(program.name())
        .args(program.arguments())
        .current_dir(folder)
        .env_clear()
        .envs(ENVIRONMENT)
        .envs(program.env())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|cause| {
            let name = program.name().display().to_string();
            match cause.kind() {
                io::ErrorKind::NotFound => Error::NotFound { program: name },
                io::ErrorKind::PermissionDenied => Error::Denied { program: name, cause },
                _ => Error::Spawn { program: name, cause },
            }
        })?;
    let group = Pid::from_child(&child);
    Ok(Spawned {
        child: Some(child),
        group,
        sandbox,
        ended,
    })
}
