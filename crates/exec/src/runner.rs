//! Watches a child to its end, whichever comes first.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_confine::{Ended, Ending, Policy as SandboxPolicy, Profile};
use interlock_gate::Started;
use interlock_protocol::{Capture, Captured};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::helper::Helper;
use crate::sandbox::{Sandbox, profile_of};
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
    /// The program that sets the sandbox, where it is not beside this executable.
    confine: Option<PathBuf>,
    /// The strongest way in which a read is ended.
    ending: Ending,
}

impl Runner {
    /// A runner whose children cannot reach what is protected.
    pub fn new(protected: Protected, policy: SandboxPolicy) -> Self {
        Self {
            protected: Arc::new(protected),
            policy,
            confine: None,
            ending: Ending::STRONGEST,
        }
    }

    /// The same runner with the program that sets the sandbox at this place.
    #[must_use]
    pub fn with_confine(mut self, program: impl Into<PathBuf>) -> Self {
        self.confine = Some(program.into());
        self
    }

    /// The same runner on a machine that offers no stronger way to end a read.
    #[cfg(test)]
    pub(crate) fn with_ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    pub(crate) fn confine(&self) -> Option<&std::path::Path> {
        self.confine.as_deref()
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
    /// Dropping the future kills the program: a read with everything that it started, a write with its process group.
    pub async fn run(
        &self,
        started: &Started,
        program: Program,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let plan = started.plan();
        let profile = profile_of(plan.kind);
        if plan.sandbox_required {
            // A plan can require what this runner does not.
            let strict = Self {
                policy: SandboxPolicy::Required,
                ..self.clone()
            };
            return strict.watch(program, profile, limits, cancel).await;
        }
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

    pub(crate) async fn watch(
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
        let confinement = Confinement {
            program: match &self.confine {
                Some(program) => program.clone(),
                None => Helper::Confine.path()?,
            },
            profile,
            protected: Arc::clone(&self.protected),
            policy: self.policy,
            wall: limits.wall,
            ending: self.ending,
        };
        let spawned = spawn(&program, &confinement).await?;
        tracing::debug!(
            program = program.name(),
            sandbox = ?spawned.sandbox,
            "process started"
        );
        let sandbox = spawned.sandbox.clone();
        let watched = |cause| Error::Watch {
            program: program.name().to_owned(),
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
    spawned: Spawned,
    /// Set when the command has ended and nothing of it is left.
    ended: Option<std::io::Result<Ended>>,
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
            spawned,
            ended: None,
            stdout: Stream::new(stdout, limits),
            stderr: Stream::new(stderr, limits),
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
                ended = self.spawned.ended() => {
                    self.ended = Some(ended);
                    return Stop::Ended;
                }
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
                self.spawned.terminate().await;
                let grace = self.limits.grace;
                self.read_while(grace, Until::Ended).await;
            }
        }
        if stop != Stop::Ended {
            self.spawned.kill();
            self.read_while(KILL_WITHIN, Until::Ended).await;
        }
        self.read_while(LINGER, Until::Closed).await;
        if self.ended.is_some() {
            // The last process of the command is the one that watched it.
            bounded(KILL_WITHIN, self.spawned.gone()).await;
        }
        match stop {
            Stop::Ended => match self.ended.take() {
                Some(ended) => ended.map(exit_of),
                None => Err(std::io::ErrorKind::NotFound.into()),
            },
            // Not waited for: a process that hangs in the kernel must not hang us.
            Stop::TimedOut => Ok(Exit::TimedOut),
            Stop::Cancelled => Ok(Exit::Cancelled),
            Stop::OutputLimit => Ok(Exit::OutputLimit),
        }
    }

    /// Reads on for at most this long: until the command ended, or until both streams are closed.
    async fn read_while(&mut self, most: Duration, until: Until) {
        let Self {
            spawned,
            ended,
            stdout,
            stderr,
            ..
        } = self;
        let reading = async {
            loop {
                let open = stdout.is_open() || stderr.is_open();
                match until {
                    Until::Ended if ended.is_some() => return,
                    Until::Closed if !open => return,
                    Until::Ended | Until::Closed => {}
                }
                tokio::select! {
                    biased;
                    end = spawned.ended(), if ended.is_none() => *ended = Some(end),
                    () = stdout.read(), if stdout.is_open() => {}
                    () = stderr.read(), if stderr.is_open() => {}
                    else => return,
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

const fn exit_of(ended: Ended) -> Exit {
    match ended {
        Ended::Code(code) => Exit::Code(code),
        Ended::Signal(signal) => Exit::Signal(signal),
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
