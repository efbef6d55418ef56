//! What came of a process, for the model and for the receipt.

use std::time::Duration;

use interlock_exec::{Exit, Output, Program, Sandbox};
use interlock_gate::Started;
use interlock_protocol::{AnalysisWall, Captured, ContentHash, ErrorCode, ToolKind, Walls};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::LocalHost;
use crate::Done;
use crate::Failure;

/// From here on an exit code says that a shell could not run the command.
const COULD_NOT_RUN: i32 = 126;

impl LocalHost {
    /// Runs a program for a plan and says what came of it. `analysis` is why a read was taken for one.
    pub(super) async fn run_program(
        &self,
        started: &Started,
        program: Program,
        analysis: AnalysisWall,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let taken_at = Timestamp::now();
        let limits = self.limits(Duration::from_secs(plan.timeout_seconds.into()));
        let output = self.inner.runner.run(started, program, limits, cancel).await?;
        let data = data_of(&output);
        let hash = hash_of(&output);
        let failed = |code: ErrorCode, message: String| {
            Err(Failure::new(code, message)
                .details(data.clone())
                .output_hash(hash))
        };
        match (output.exit, plan.kind) {
            // Not to find what it looks for is an answer of a read, by a code of its own choice.
            (Exit::Code(0), _) | (Exit::Code(1..COULD_NOT_RUN), ToolKind::Resolve | ToolKind::Read) => {}
            (Exit::Code(code), _) => {
                return failed(
                    ErrorCode::ExecutionFailed,
                    format!("the command ended with exit code {code}"),
                )
                .map_err(|failure: Failure| failure.exit_code(Some(code)));
            }
            (Exit::Signal(signal), _) => {
                return failed(
                    ErrorCode::ExecutionFailed,
                    format!("the command was ended by signal {signal}"),
                );
            }
            (Exit::TimedOut, _) => {
                return failed(
                    ErrorCode::Timeout,
                    format!("the command did not end within {} seconds", plan.timeout_seconds),
                );
            }
            (Exit::Cancelled, _) => {
                return failed(ErrorCode::Cancelled, "the command was cancelled".to_owned());
            }
            (Exit::OutputLimit, _) => {
                return failed(
                    ErrorCode::ExecutionFailed,
                    "the command printed without end and was killed; narrow it down".to_owned(),
                );
            }
        }
        let code = match output.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled | Exit::OutputLimit => None,
        };
        let summary = format!("the command ended with exit code {}", code.unwrap_or(0));
        let mut done = Done::succeeded(data.clone(), summary);
        done.exit_code = code;
        done.output_hash = Some(hash);
        Ok(match plan.kind {
            ToolKind::Resolve | ToolKind::Read => {
                let walls = Walls {
                    analysis,
                    sandbox: output.sandbox.wall(),
                };
                let reading = self.reading(taken_at, data, Vec::new());
                done.with_reading(reading.with_walls(Some(walls)))
            }
            ToolKind::Write => done,
        })
    }
}

fn data_of(output: &Output) -> Value {
    let (exit_code, signal) = match output.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::TimedOut | Exit::Cancelled | Exit::OutputLimit => (None, None),
    };
    let mut data = json!({
        "stdout": output.stdout.text(),
        "stderr": output.stderr.text(),
        "exit_code": exit_code,
        "truncated": output.stdout.is_truncated() || output.stderr.is_truncated(),
        "stdout_bytes": output.stdout.total,
        "stderr_bytes": output.stderr.total,
        "duration_ms": u64::try_from(output.duration.as_millis()).unwrap_or(u64::MAX),
    });
    if let Some(signal) = signal {
        data["signal"] = signal.into();
    }
    if !is_text(&output.stdout) || !is_text(&output.stderr) {
        data["not_text"] = "bytes that are no UTF-8 are shown as �".into();
    }
    if let Sandbox::None { reason } = &output.sandbox {
        data["without_sandbox"] = reason.as_str().into();
    }
    data
}

fn is_text(captured: &Captured) -> bool {
    // A cut may go through a character; that is no sign of binary data.
    captured.is_truncated() || std::str::from_utf8(&captured.bytes).is_ok()
}

/// One hash for both streams: of the first alone if the second is empty, else of the two hashes.
fn hash_of(output: &Output) -> ContentHash {
    if output.stderr.total == 0 {
        return output.stdout.hash;
    }
    let both = [
        output.stdout.hash.as_bytes().as_slice(),
        output.stderr.hash.as_bytes(),
    ];
    ContentHash::of(both.concat())
}
