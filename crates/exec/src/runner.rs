//! Watches a child to its end, whichever comes first.

use std::future::Future;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_gate::Started;
use interlock_protocol::{Capture, Captured};
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::sandbox::{Profile, Sandbox, SandboxPolicy};
use crate::spawn::{Confinement, Spawned, spawn};
use crate::{Error, Limits, Probe, Program, Protected};

/// How long the streams may stay open after their process ended: something in the background holds them.
const LINGER: Duration = Duration::from_millis(250);
/// How long the kernel may take to end what it was told to kill.
const KILL_WITHIN: Duration = Duration::from_secs(5);
const CHUNK: usize = 16 * 1024;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal, which was not ours.
    Signal(i32),
    /// Its time ran out and it was killed.
    TimedOut,
    /// It was cancelled and killed.
    Cancelled,
    /// It printed without end and was killed.
    OutputLimit,
}

/// What came of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What it printed.
    pub stdout: Captured,
    /// What it complained about.
    pub stderr: Captured,
    /// How it ended.
    pub exit: Exit,
    /// How long it took.
    pub duration: Duration,
    /// What held it.
    pub sandbox: Sandbox,
}

/// Runs processes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runner {
    protected: Arc<Protected>,
    policy: SandboxPolicy,
}

impl Runner {
    /// A runner whose children cannot reach what is protected.
    pub fn new(protected: Protected, policy: SandboxPolicy) -> Self {
        crate::sandbox::is_there();
        Self {
            protected: Arc::new(protected),
            policy,
        }
    }

    /// What its children cannot reach.
    pub fn protected(&self) -> &Protected {
        &self.protected
    }

    /// Whether a program runs only where the kernel enforces the sandbox.
    pub const fn requires_sandbox(&self) -> bool {
        matches!(self.policy, SandboxPolicy::Required)
    }

    /// Runs a program for a permit that was used up. What it may change follows from the permitted plan.
    ///
    /// Dropping the future kills the program and everything in its group.
    pub async fn run(
        &self,
        started: &Started,
        program: Program,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let profile = Profile::of(started.plan().kind);
        self.watch(program, profile, limits, cancel).await
    }

    /// Asks one of our own questions. Takes no permit: nothing but the fixed form of the question runs, read-only.
    pub async fn probe(
        &self,
        probe: &Probe,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        self.watch(probe.program()?, Profile::ReadOnly, limits, cancel)
            .await
    }

    async fn watch(
        &self,
        program: Program,
        profile: Profile,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        if cancel.is_cancelled() {
            return Err(Error::CancelledFirst);
        }
        let began = Instant::now();
        let program = Arc::new(program);
        let confinement = Confinement {
            profile,
            protected: Arc::clone(&self.protected),
            policy: self.policy,
        };
        let spawned = spawn(Arc::clone(&program), confinement).await?;
        tracing::debug!(
            program = %program.name().display(),
            sandbox = ?spawned.sandbox,
            "process started"
        );
        let sandbox = spawned.sandbox.clone();
        let watched = |cause| Error::Watch {
            program: program.name().display().to_string(),
            cause,
        };
        let mut watch = Watch::new(spawned, limits).map_err(watched)?;
        let stop = watch.until_stop(cancel).await;
        let exit = watch.end(stop).await;
        let (exit, stdout, stderr) = (exit.map_err(watched)?, watch.stdout, watch.stderr);
        Ok(Output {
            stdout: stdout.capture.finish(),
            stderr: stderr.capture.finish(),
            exit,
            duration: began.elapsed(),
            sandbox,
        })
    }
}

/// Why watching stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Ended,
    TimedOut,
    Cancelled,
    OutputLimit,
}

struct Watch {
    /// Nothing once it was waited for.
    spawned: Option<Spawned>,
    /// Set when the process ends.
    ended: CancellationToken,
    stdout: Stream<ChildStdout>,
    stderr: Stream<ChildStderr>,
    limits: Limits,
}

impl Watch {
    fn new(mut spawned: Spawned, limits: Limits) -> std::io::Result<Self> {
        let (stdout, stderr) = spawned
            .pipes()
            .ok_or_else(|| std::io::Error::other("its streams are not ours"))?;
        Ok(Self {
            ended: spawned.ended.clone(),
            spawned: Some(spawned),
            stdout: Stream::new(ChildStdout::from_std(stdout)?, limits),
            stderr: Stream::new(ChildStderr::from_std(stderr)?, limits),
            limits,
        })
    }

    /// Reads both streams until something stops it.
    async fn until_stop(&mut self, cancel: &CancellationToken) -> Stop {
        let mut out_of_time = pin!(sleep(self.limits.wall));
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Stop::Cancelled,
                () = &mut out_of_time => return Stop::TimedOut,
                () = self.ended.cancelled() => return Stop::Ended,
                () = self.stdout.read(), if self.stdout.is_open() => {}
                () = self.stderr.read(), if self.stderr.is_open() => {}
            }
            if self.stdout.is_over() || self.stderr.is_over() {
                return Stop::OutputLimit;
            }
        }
    }

    /// Ends what has to be ended, takes what is still in the streams, and says how it went.
    async fn end(&mut self, stop: Stop) -> std::io::Result<Exit> {
        match stop {
            Stop::Ended | Stop::OutputLimit => {}
            Stop::TimedOut | Stop::Cancelled => {
                self.signal(Signal::TERM);
                let grace = self.limits.grace;
                self.read_while(grace, Until::Ended).await;
            }
        }
        if stop != Stop::Ended {
            self.signal(Signal::KILL);
            self.read_while(KILL_WITHIN, Until::Ended).await;
        }
        self.read_while(LINGER, Until::Closed).await;
        // Now whatever it left behind in the background, and what that still had to say.
        self.signal(Signal::KILL);
        self.read_while(LINGER, Until::Closed).await;
        let Some(spawned) = self.spawned.take() else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        match stop {
            Stop::Ended => spawned.reap().map(exit_of),
            // Dropped, not waited for: a process that hangs in the kernel must not hang us.
            Stop::TimedOut => Ok(Exit::TimedOut),
            Stop::Cancelled => Ok(Exit::Cancelled),
            Stop::OutputLimit => Ok(Exit::OutputLimit),
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(spawned) = &self.spawned {
            spawned.signal(signal);
        }
    }

    /// Reads on for at most this long: until the process ended, or until both streams are closed.
    async fn read_while(&mut self, most: Duration, until: Until) {
        let Self {
            ended,
            stdout,
            stderr,
            ..
        } = self;
        let reading = async {
            loop {
                let open = stdout.is_open() || stderr.is_open();
                tokio::select! {
                    biased;
                    () = ended.cancelled(), if until == Until::Ended => return,
                    () = stdout.read(), if stdout.is_open() => {}
                    () = stderr.read(), if stderr.is_open() => {}
                    () = std::future::ready(()), if !open && until == Until::Closed => return,
                }
            }
        };
        bounded(most, reading).await;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Ended,
    Closed,
}

/// What is not done in this time is left.
async fn bounded(most: Duration, work: impl Future<Output = ()>) {
    let _ = timeout(most, work).await;
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        // A process that was waited for has ended in one of the two ways.
        (None, None) => Exit::Code(-1),
    }
}

struct Stream<Pipe> {
    /// Nothing once it is at its end.
    pipe: Option<Pipe>,
    capture: Capture,
    buffer: Box<[u8]>,
    most: u64,
}

impl<Pipe: AsyncRead + Unpin> Stream<Pipe> {
    fn new(pipe: Pipe, limits: Limits) -> Self {
        Self {
            pipe: Some(pipe),
            capture: Capture::new(limits.output_bytes),
            buffer: vec![0; CHUNK].into_boxed_slice(),
            most: limits.drain_bytes,
        }
    }

    const fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    const fn is_over(&self) -> bool {
        self.capture.total() > self.most
    }

    /// Takes the next piece. Nothing is lost if it is dropped while it waits.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(length) => self.capture.push(&self.buffer[..length]),
        }
    }
}
