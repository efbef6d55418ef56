//! The QEMU guest agent: programs that are run in a virtual machine and asked after later.

use std::time::Duration;

use super::state::GuestStatus;
use super::{Cluster, Place};
use crate::machine::{Chunk, Exec, Machine};
use crate::topology::GuestKind;

/// How much of each stream the real agent keeps.
const MOST: usize = 16 << 20;

/// How long a program is watched before it counts as begun.
const FIRST: Duration = Duration::from_millis(100);

/// How many programs the agent remembers.
const RUNS: usize = 256;

/// Why the agent did not answer, in the words of Proxmox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// There is no such virtual machine.
    #[error("there is no VM {0}")]
    NoVm(u32),
    /// It does not run.
    #[error("VM {0} is not running")]
    NotRunning(u32),
    /// It is configured without.
    #[error("No QEMU guest agent configured")]
    NotConfigured,
    /// It does not answer.
    #[error("QEMU guest agent is not running")]
    Silent,
    /// The agent says no.
    #[error("Agent error: {0}")]
    Refused(String),
}

/// What became of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecStatus {
    /// Whether it has ended.
    pub exited: bool,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
    /// Whether more was printed than is kept.
    pub stdout_truncated: bool,
    /// Whether it complained about more than is kept.
    pub stderr_truncated: bool,
}

pub(super) type Run = ExecStatus;

impl Cluster {
    /// The machine of a virtual machine whose agent answers.
    pub(crate) fn agent(&self, vmid: u32) -> Result<Machine, AgentError> {
        let located = self.locate(vmid).map_err(|_| AgentError::NoVm(vmid))?;
        if located.kind != GuestKind::Vm {
            return Err(AgentError::NoVm(vmid));
        }
        let enabled = located.config.now.get("agent").is_some_and(|value| {
            let value = value.strip_prefix("enabled=").unwrap_or(value);
            value.starts_with('1')
        });
        match self.status(vmid) {
            Ok(GuestStatus::Running) if !enabled => Err(AgentError::NotConfigured),
            Ok(GuestStatus::Running) => self
                .machine(&Place::Guest(vmid))
                .ok_or(AgentError::NotRunning(vmid)),
            Ok(GuestStatus::Paused) => Err(AgentError::Silent),
            Ok(GuestStatus::Stopped | GuestStatus::Unknown) | Err(_) => Err(AgentError::NotRunning(vmid)),
        }
    }

    /// Runs a program in a virtual machine; its number.
    pub async fn agent_exec(&self, vmid: u32, argv: Vec<String>, stdin: Vec<u8>) -> Result<u32, AgentError> {
        let machine = self.agent(vmid)?;
        let program = argv.first().cloned().unwrap_or_default();
        if program.is_empty() {
            return Err(AgentError::Refused("Guest agent command is empty".to_owned()));
        }
        let exec = Exec {
            argv,
            stdin,
            ..Exec::default()
        };
        let mut chunks = machine
            .stream(exec)
            .await
            .map_err(|error| AgentError::Refused(error.to_string()))?;
        let mut first = tokio::time::timeout(FIRST, chunks.recv()).await.ok().flatten();
        if first.as_ref().is_some_and(|chunk| is_missing(&program, chunk)) {
            return Err(AgentError::Refused(format!(
                "Failed to execute child process \u{201c}{program}\u{201d} (No such file or directory)"
            )));
        }
        let pid = self.with(|state| {
            let pid = state.next_pid();
            if state.runs.len() >= RUNS {
                state.runs.retain(|_, run| !run.exited);
            }
            state.runs.insert((vmid, pid), Run::default());
            pid
        });
        let cluster = self.clone();
        tokio::spawn(async move {
            while let Some(chunk) = match first.take() {
                Some(chunk) => Some(chunk),
                None => chunks.recv().await,
            } {
                let known = cluster.with(|state| match state.runs.get_mut(&(vmid, pid)) {
                    Some(run) => {
                        run.take(chunk);
                        true
                    }
                    None => false,
                });
                if !known {
                    return;
                }
            }
            // A machine that dies takes its programs along, and they leave no exit code.
            cluster.with(|state| {
                if let Some(run) = state.runs.get_mut(&(vmid, pid))
                    && !run.exited
                {
                    run.take(Chunk::Exit(137));
                }
            });
        });
        Ok(pid)
    }

    /// What became of a program. Once its end was told it is forgotten, as the real agent does.
    pub fn agent_status(&self, vmid: u32, pid: u32) -> Result<ExecStatus, AgentError> {
        self.agent(vmid)?;
        self.with(|state| {
            let run = state
                .runs
                .get(&(vmid, pid))
                .ok_or_else(|| AgentError::Refused("Invalid parameter 'pid'".to_owned()))?;
            if run.exited {
                state
                    .runs
                    .remove(&(vmid, pid))
                    .ok_or_else(|| AgentError::Refused("Invalid parameter 'pid'".to_owned()))
            } else {
                Ok(Run::default())
            }
        })
    }
}

/// What the machine says of a program that is not there. The real agent refuses such a program at once.
fn is_missing(program: &str, first: &Chunk) -> bool {
    *first == Chunk::Stderr(format!("sh: 1: {program}: not found\n").into_bytes())
}

impl Run {
    fn take(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Stdout(bytes) => self.stdout_truncated |= append(&mut self.stdout, &bytes),
            Chunk::Stderr(bytes) => self.stderr_truncated |= append(&mut self.stderr, &bytes),
            Chunk::Exit(code) => {
                self.exited = true;
                if code > 128 {
                    self.signal = Some(code - 128);
                } else {
                    self.exit_code = Some(code);
                }
            }
        }
    }
}

/// Keeps what fits; whether something did not.
fn append(kept: &mut Vec<u8>, more: &[u8]) -> bool {
    let room = MOST - kept.len().min(MOST);
    kept.extend_from_slice(more.get(..room.min(more.len())).unwrap_or_default());
    more.len() > room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_said() {
        let mut run = Run::default();
        run.take(Chunk::Stdout(vec![b'x'; MOST - 1]));
        assert!(!run.stdout_truncated);
        run.take(Chunk::Stdout(b"ab".to_vec()));
        assert!(run.stdout_truncated && run.stdout.len() == MOST);
        run.take(Chunk::Exit(137));
        assert_eq!((run.exited, run.exit_code, run.signal), (true, None, Some(9)));
    }
}
