//! Commands inside virtual machines, through the agent that runs in them.

use std::time::{Duration, Instant};

use interlock_protocol::Captured;
use tokio_util::sync::CancellationToken;

use super::Proxmox;
use super::facts::Fields;
use super::guest::Guest;
use crate::output::{Exit, Limits, Output, exit_of};
use crate::ssh::bounded;
use crate::{Error, http};

const FIRST_PAUSE: Duration = Duration::from_millis(30);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How much longer than its command an answer may take.
const SLACK: Duration = Duration::from_secs(5);
/// How much input Proxmox passes on.
pub(crate) const MOST_INPUT: usize = 60 * 1024;

impl Proxmox {
    /// Runs an argument vector in a machine. Only for `reach`, which asks for the proof.
    pub(crate) async fn agent_exec(
        &self,
        guest: &Guest,
        argv: &[String],
        stdin: Option<&str>,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let began = Instant::now();
        let argv = bounded(argv, limits.wall);
        let mut pairs: Vec<(&str, &str)> = argv.iter().map(|word| ("command", word.as_str())).collect();
        if let Some(stdin) = stdin {
            if stdin.len() > MOST_INPUT {
                return Err(Error::Unsupported(format!(
                    "a guest agent takes {MOST_INPUT} bytes of input at once; these are {}",
                    stdin.len()
                )));
            }
            pairs.push(("input-data", stdin));
        }
        let data = self
            .post(&format!("{}/agent/exec", guest.path()), &pairs)
            .await
            .map_err(|error| without_agent(guest, error))?;
        let pid = Fields(&data).whole("pid").ok_or_else(|| Error::Protocol {
            connection: self.name().to_owned(),
            message: "the guest agent named no process".to_owned(),
        })?;
        self.agent_wait(guest, pid, limits, began, cancel).await
    }

    async fn agent_wait(
        &self,
        guest: &Guest,
        pid: u64,
        limits: Limits,
        began: Instant,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let path = format!("{}/agent/exec-status", guest.path());
        let pid = pid.to_string();
        let mut pause = FIRST_PAUSE;
        loop {
            let data = self.get_with(&path, &[("pid", &pid)]).await?;
            let fields = Fields(&data);
            let output = |exit| Output {
                stdout: Captured::of(
                    fields.text("out-data").unwrap_or("").as_bytes(),
                    limits.output_bytes,
                ),
                stderr: Captured::of(
                    fields.text("err-data").unwrap_or("").as_bytes(),
                    limits.output_bytes,
                ),
                exit,
                duration: began.elapsed(),
                sandbox: None,
            };
            if fields.flag("exited") {
                if fields.flag("out-truncated") || fields.flag("err-truncated") {
                    return Ok(output(Exit::OutputLimit));
                }
                let code = fields.whole("exitcode").and_then(|code| i32::try_from(code).ok());
                return Ok(output(exit_of(code, limits.wall, began.elapsed())));
            }
            // The command ends by itself inside; nobody waits for the rest.
            if began.elapsed() > limits.wall + SLACK {
                return Ok(output(Exit::TimedOut));
            }
            tokio::select! {
                biased;
                // The agent has no way to end what it started: it ends when its time is over.
                () = cancel.cancelled() => return Ok(output(Exit::Cancelled)),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn without_agent(guest: &Guest, error: Error) -> Error {
    match &error {
        Error::Refused { message, .. } if message.to_lowercase().contains("agent") => {
            Error::Unsupported(http::message(&format!(
                "commands cannot reach the virtual machine {}: {message}; install and start qemu-guest-agent in it and \
                 set its option `agent: 1`",
                guest.vmid
            )))
        }
        _ => error,
    }
}
