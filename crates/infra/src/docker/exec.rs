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
use crate::output::{Exit, Limits, Output};
use crate::reach::Probe;

/// How long the engine may take to say how a command ended, after its output did.
const ENDED: Duration = Duration::from_secs(5);
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
    /// The engine cannot end what it started: a command whose time is over, or that is cancelled, is let go.
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
        self.enter(container, argv, stdin, limits, cancel).await
    }

    /// Asks one of our own questions inside a container.
    pub async fn probe(&self, container: &str, probe: &Probe) -> Result<Output, Error> {
        self.enter(container, &probe.argv(), None, PROBE, &CancellationToken::new())
            .await
    }

    /// For callers that hold a proof, or a question of our own.
    pub(crate) async fn enter(
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
