//! Commands inside containers, in bounds.

use std::time::{Duration, Instant};

use bollard::container::LogOutput;
use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use interlock_gate::Started;
use interlock_protocol::Capture;
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use super::write::what;
use super::{Docker, READ};
use crate::Error;
use crate::output::{Exit, Limits, Output, exit_of};
use crate::reach::{Form, Probe};
use crate::ssh::bounded;

/// How long the engine may take to say how a command ended, after its output did.
const ENDED: Duration = Duration::from_secs(5);
/// How much longer than the command inside the engine may take.
const AROUND: Duration = Duration::from_secs(3);
/// Of how many containers it is remembered whether they have `timeout`.
const MOST_KNOWN: usize = 4096;
const LOOK: Duration = Duration::from_millis(50);
/// The bounds of a question of our own.
const PROBE: Limits = Limits {
    wall: Duration::from_secs(10),
    output_bytes: 512 * 1024,
    drain_bytes: 4 * 1024 * 1024,
};

impl Docker {
    /// Runs an argument vector inside a container, for a plan that is about this very container.
    ///
    /// The engine cannot end what it started, so the command has its time limit inside the container. One that is cancelled
    /// ends there at that limit.
    pub async fn exec(
        &self,
        started: &Started,
        container: &str,
        argv: &[String],
        stdin: Option<&[u8]>,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        self.is_meant_by(started, container)?;
        self.enter_bounded(container, argv, stdin, Form::Free, limits, cancel)
            .await
    }

    /// Asks one of our own questions inside a container.
    pub async fn probe(&self, container: &str, probe: &Probe) -> Result<Output, Error> {
        self.enter(container, &probe.argv(), None, PROBE, &CancellationToken::new())
            .await
    }

    /// The same for callers that hold a proof. A command that we did not write runs only where the container has `timeout`:
    /// without it nothing could end it.
    pub(crate) async fn enter_bounded(
        &self,
        container: &str,
        argv: &[String],
        stdin: Option<&[u8]>,
        form: Form,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        match (self.has_timeout(container, cancel).await?, form) {
            (true, _) => {
                let argv = bounded(argv, limits.wall);
                // It ends inside first, and says so.
                let outer = Limits {
                    wall: limits.wall + AROUND,
                    ..limits
                };
                let mut output = self.enter(container, &argv, stdin, outer, cancel).await?;
                if let Exit::Code(code) = output.exit {
                    output.exit = exit_of(Some(code), limits.wall, output.duration);
                }
                Ok(output)
            }
            (false, Form::Fixed) => self.enter(container, argv, stdin, limits, cancel).await,
            (false, Form::Free) => Err(Error::Unsupported(format!(
                "the container `{container}` has no `timeout` program, so a command in it could not be ended; its files, \
                 its log and its state can be read (actions file, tail, find, and infra_docker)"
            ))),
        }
    }

    /// Whether a container has `timeout` as we call it. Asked once for each container: a name can get a new one.
    async fn has_timeout(&self, container: &str, cancel: &CancellationToken) -> Result<bool, Error> {
        self.checked(container)?;
        let id = self.id_now(container).await?;
        let known = |found: Option<bool>| {
            let mut timeouts = self
                .inner
                .timeouts
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            match found {
                Some(found) => {
                    if timeouts.len() >= MOST_KNOWN {
                        timeouts.clear();
                    }
                    timeouts.insert(id.clone(), found);
                    Some(found)
                }
                None => timeouts.get(&id).copied(),
            }
        };
        if let Some(found) = known(None) {
            return Ok(found);
        }
        let question = bounded(&["true".to_owned()], PROBE.wall);
        let found = match self.enter(container, &question, None, PROBE, cancel).await {
            Ok(output) if output.exit == Exit::Cancelled => return Err(Error::Cancelled),
            Ok(output) => output.is_success(),
            // Engines refuse to start a program that is not there.
            Err(Error::Refused { .. }) => false,
            Err(error) => return Err(error),
        };
        Ok(known(Some(found)).unwrap_or(found))
    }

    /// For callers that hold a proof, or a question of our own.
    async fn enter(
        &self,
        container: &str,
        argv: &[String],
        stdin: Option<&[u8]>,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        self.checked(container)?;
        let began = Instant::now();
        let id = self.id_now(container).await?;
        let client = self.client().await?;
        let config = ExecConfig {
            attach_stdin: Some(stdin.is_some()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(argv.to_vec()),
            ..ExecConfig::default()
        };
        let made = self
            .within(READ, &what(container), client.create_exec(&id, config))
            .await?;
        let attached = self
            .within(READ, &what(container), client.start_exec(&made.id, None))
            .await?;
        let StartExecResults::Attached { output, input } = attached else {
            return Err(self.not_understood("it did not attach to the command"));
        };
        let mut streams = Streams::new(limits);
        let feeding = feed(input, stdin);
        let reading = streams.take(output);
        let both = async { tokio::join!(reading, feeding).0 };
        let ended = tokio::select! {
            ended = both => ended.map_err(|error| self.error(&what(container), error))?,
            () = tokio::time::sleep(limits.wall) => Some(Exit::TimedOut),
            () = cancel.cancelled() => Some(Exit::Cancelled),
        };
        let exit = match ended {
            Some(exit) => exit,
            None => self.exit_of(&made.id).await?,
        };
        Ok(Output {
            stdout: streams.stdout.finish(),
            stderr: streams.stderr.finish(),
            exit,
            duration: began.elapsed(),
            sandbox: None,
        })
    }

    async fn exit_of(&self, exec: &str) -> Result<Exit, Error> {
        let client = self.client().await?;
        let until = Instant::now() + ENDED;
        loop {
            let found = self
                .within(READ, "the command", client.inspect_exec(exec))
                .await?;
            let code = found.exit_code.and_then(|code| i32::try_from(code).ok());
            match (found.running, code) {
                (Some(true), _) if Instant::now() < until => tokio::time::sleep(LOOK).await,
                (_, Some(code)) if found.running != Some(true) => return Ok(Exit::Code(code)),
                _ => return Err(self.not_understood("it did not say how the command ended")),
            }
        }
    }
}

/// Gives a command its input, and then the end of it.
async fn feed(mut input: impl tokio::io::AsyncWrite + Unpin, stdin: Option<&[u8]>) {
    let Some(bytes) = stdin else {
        return;
    };
    // A command that does not read its input to the end says so by how it ends.
    let _ = input.write_all(bytes).await;
    let _ = input.flush().await;
    let _ = input.shutdown().await;
}

struct Streams {
    stdout: Capture,
    stderr: Capture,
    limits: Limits,
}

impl Streams {
    fn new(limits: Limits) -> Self {
        Self {
            stdout: Capture::new(limits.output_bytes),
            stderr: Capture::new(limits.output_bytes),
            limits,
        }
    }

    /// Takes what comes until it ends, or until it is too much.
    async fn take(
        &mut self,
        mut output: impl futures_util::Stream<Item = Result<LogOutput, bollard::errors::Error>> + Unpin,
    ) -> Result<Option<Exit>, bollard::errors::Error> {
        while let Some(chunk) = output.next().await {
            let stream = match chunk? {
                LogOutput::StdErr { message } => {
                    self.stderr.push(&message);
                    &self.stderr
                }
                LogOutput::StdOut { message }
                | LogOutput::Console { message }
                | LogOutput::StdIn { message } => {
                    self.stdout.push(&message);
                    &self.stdout
                }
            };
            if stream.total() > self.limits.drain_bytes {
                return Ok(Some(Exit::OutputLimit));
            }
        }
        Ok(None)
    }
}
