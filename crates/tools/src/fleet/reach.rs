//! Where a plan runs, and what came of what ran there.

use std::time::Duration;

use interlock_exec::{Stderr, UnitName, argv_of, pipeline_of};
use interlock_gate::{Plan, Started};
use interlock_infra::{Errors, Exit, Form, Job, Limits, Output, Probe, Stage};
use interlock_protocol::{
    AnalysisWall, Captured, ErrorCode, MOST_TAKEN, Observation, ResourceId, SandboxWall, SocketKind,
    ToolKind, WallKind, Walls,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::Failure;
use crate::local::arguments;
use crate::local::unit::Unit;
use crate::sockets;
use crate::{Done, LocalHost, Reading};

/// From here on an exit code says that a shell could not run the command.
const COULD_NOT_RUN: i32 = 126;
/// How old the graph may be in which a name is looked up.
const NAMES_FOR: Duration = Duration::from_secs(30);

/// Where a plan runs.
pub(super) enum Place<'a> {
    /// On this machine.
    Here(&'a LocalHost),
    /// Inside something that is connected.
    There(ResourceId),
}

impl Fleet {
    /// Where a plan runs: its target, or this machine where it names none.
    pub(super) fn place(&self, plan: &Plan) -> Result<Place<'_>, Failure> {
        let local = self.inner.local.as_ref();
        if let Some(target) = &plan.target {
            return Ok(match local.filter(|local| *local.id() == target.id) {
                Some(local) => Place::Here(local),
                None => Place::There(target.id.clone()),
            });
        }
        let named = ["target_resource_id", "target_host", "resource_id"]
            .iter()
            .find_map(|name| arguments::text(plan, name));
        match (named, local) {
            (None, Some(local)) => Ok(Place::Here(local)),
            (None, None) => Err(Failure::invalid(
                "name the resource: the machine that Interlock runs on is none of them here",
            )),
            // Names were looked up before the call was decided on. One that stood for nothing then stands for nothing now:
            // looking again would run where nothing was decided.
            (Some(name), _) => Err(nothing_named(name)),
        }
    }

    /// The one resource that goes by this name.
    pub(super) async fn named(&self, name: &str) -> Result<ResourceId, Failure> {
        let graph = self.inner.infra.graph(NAMES_FOR).await;
        match graph.named(name).as_slice() {
            [] => Err(nothing_named(name)),
            [one] => Ok(one.id.clone()),
            several => {
                let ids: Vec<String> = several.iter().map(|resource| resource.id.to_string()).collect();
                Err(Failure::invalid(format!(
                    "`{name}` may be any of {}; name one by its id",
                    ids.join(", ")
                ))
                .detail("candidates", ids))
            }
        }
    }

    pub(super) fn limits(plan: &Plan) -> Limits {
        Limits {
            wall: Duration::from_secs(plan.timeout_seconds.into()),
            output_bytes: MOST_TAKEN,
            ..Limits::default()
        }
    }

    /// Runs a command of our own where a plan is about.
    pub(super) async fn raw(
        &self,
        started: &Started,
        id: &ResourceId,
        argv: &[String],
        stdin: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Output, Failure> {
        let job = Job {
            argv,
            stdin,
            sockets: &[],
            stages: &[],
            form: Form::Fixed,
            limits: Self::limits(started.plan()),
        };
        Ok(self.inner.infra.run(started, id, job, cancel).await?)
    }

    /// Runs the command of a plan, which a model wrote, and says what came of it.
    pub(super) async fn run_command(
        &self,
        started: &Started,
        id: &ResourceId,
        command: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let sockets = sockets::needed(command);
        let job = Job {
            argv: &argv(command),
            stdin: None,
            sockets: &sockets,
            stages: &stages(command, &sockets),
            form: Form::Free,
            limits: Self::limits(started.plan()),
        };
        let mut done = self.run_there(started, id, job, cancel).await?;
        if let Some(walls) = done.reading.as_mut().and_then(|reading| reading.walls.as_mut()) {
            walls.sandbox = sockets::held(command, walls.sandbox.clone());
        }
        Ok(done)
    }

    /// Runs a command of our own where a plan is about, and says what came of it.
    pub(super) async fn run_fixed(
        &self,
        started: &Started,
        id: &ResourceId,
        argv: &[String],
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let job = Job {
            argv,
            stdin: None,
            sockets: &[],
            stages: &[],
            form: Form::Fixed,
            limits: Self::limits(started.plan()),
        };
        self.run_there(started, id, job, cancel).await
    }

    async fn run_there(
        &self,
        started: &Started,
        id: &ResourceId,
        job: Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let output = self.inner.infra.run(started, id, job, cancel).await?;
        let plan = started.plan();
        let mut data = data_of(&output);
        if let Some(note) = sandbox_note(&output, job.argv) {
            data["note"] = note.into();
        }
        let code = ended(&output, plan, &data)?;
        let mut done = Done::succeeded(data.clone(), format!("the command ended with exit code {code}"));
        done.exit_code = Some(code);
        done.output_hash = Some(output.hash());
        Ok(match plan.kind {
            ToolKind::Resolve | ToolKind::Read => {
                let reading = reading(id, taken_at, data, Vec::new());
                done.with_reading(reading.with_walls(walls_of(job.form, &output)))
            }
            ToolKind::Write => done,
        })
    }

    /// What a unit there is doing, by our own question.
    pub(super) async fn unit_there(&self, id: &ResourceId, name: &UnitName) -> Result<Unit, Failure> {
        let probe = interlock_infra::UnitName::new(name.as_str())
            .map(Probe::Unit)
            .ok_or_else(|| Failure::invalid("`unit` is no name of a unit"))?;
        let output = self.inner.infra.probe(id, &probe).await?;
        if !output.is_success() {
            return Err(
                Failure::failed("its service manager did not say what the unit is doing")
                    .detail("stderr", output.stderr.text()),
            );
        }
        Ok(Unit::parse(&output.stdout.text()))
    }
}

/// The walls that a reading passed, by who wrote its command and what it ran in.
pub(super) fn walls_of(form: Form, output: &Output) -> Option<Walls> {
    let analysis = match form {
        Form::Free => AnalysisWall::Read,
        Form::Fixed => AnalysisWall::FixedForm,
    };
    output.sandbox.clone().map(|sandbox| Walls { analysis, sandbox })
}

/// What a sandbox may have changed about what a command saw, where it could mislead.
fn sandbox_note(output: &Output, argv: &[String]) -> Option<&'static str> {
    let Some(SandboxWall::Enforced {
        by: WallKind::Unshare,
        sockets,
        ..
    }) = &output.sandbox
    else {
        return None;
    };
    let network = sockets.contains(&SocketKind::Network);
    let looks = argv
        .iter()
        .any(|word| (word.contains("/proc/") && word.contains("net")) || word.contains("netstat"));
    (!network && looks).then_some(
        "the command ran in a network of its own: /proc/net shows that one, and not the machine's; `ss` and `ip` show the \
         machine's",
    )
}

/// The programs of a plain pipeline, if one of them needs a kind of socket that not all of them need.
fn stages(command: &str, shared: &[SocketKind]) -> Vec<Stage> {
    let Some(pipeline) = pipeline_of(command).filter(|pipeline| pipeline.len() > 1) else {
        return Vec::new();
    };
    let stages: Vec<Stage> = pipeline
        .into_iter()
        .map(|simple| Stage {
            sockets: sockets::needed(&simple.text),
            argv: simple.words,
            errors: match simple.stderr {
                Stderr::Kept => Errors::Kept,
                Stderr::Null => Errors::Dropped,
                Stderr::Output => Errors::Joined,
            },
        })
        .collect();
    if stages.iter().all(|stage| stage.sockets == shared) {
        return Vec::new();
    }
    stages
}

/// A command line as an argument vector: its words if it is plain, else for a shell to read.
fn argv(command: &str) -> Vec<String> {
    argv_of(command).unwrap_or_else(|| ["sh", "-c", command].map(str::to_owned).to_vec())
}

pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// The exit code of a command that ended as its plan may end; else why that is a failure.
fn ended(output: &Output, plan: &Plan, data: &Value) -> Result<i32, Failure> {
    let failed = |code: ErrorCode, message: String| {
        Err(Failure::new(code, message)
            .details(data.clone())
            .output_hash(output.hash()))
    };
    match (output.exit, plan.kind) {
        // Not to find what it looks for is an answer of a read, by a code of its own choice.
        (Exit::Code(0), _) => Ok(0),
        (Exit::Code(code @ 1..COULD_NOT_RUN), ToolKind::Resolve | ToolKind::Read) => Ok(code),
        (Exit::Code(code), _) => failed(
            ErrorCode::ExecutionFailed,
            format!("the command ended with exit code {code}"),
        )
        .map_err(|failure: Failure| failure.exit_code(Some(code))),
        (Exit::Signal, _) => failed(
            ErrorCode::ExecutionFailed,
            "the command was ended by a signal".to_owned(),
        ),
        (Exit::TimedOut, _) => failed(
            ErrorCode::Timeout,
            format!("the command did not end within {} seconds", plan.timeout_seconds),
        ),
        (Exit::Cancelled, _) => failed(ErrorCode::Cancelled, "the command was cancelled".to_owned()),
        (Exit::OutputLimit, _) => failed(
            ErrorCode::ExecutionFailed,
            "the command printed without end and was ended; narrow it down".to_owned(),
        ),
    }
}

pub(super) fn data_of(output: &Output) -> Value {
    let exit_code = match output.exit {
        Exit::Code(code) => Some(code),
        Exit::Signal | Exit::TimedOut | Exit::Cancelled | Exit::OutputLimit => None,
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
    if !is_text(&output.stdout) || !is_text(&output.stderr) {
        data["not_text"] = "bytes that are no UTF-8 are shown as �".into();
    }
    data
}

fn is_text(stream: &Captured) -> bool {
    // A cut may go through a character; that is no sign of binary data.
    stream.is_truncated() || std::str::from_utf8(&stream.bytes).is_ok()
}

/// What was read from a resource that is there.
pub(super) fn reading(
    id: &ResourceId,
    taken_at: Timestamp,
    data: Value,
    mut observations: Vec<Observation>,
) -> Reading {
    observations.insert(0, Observation::Present);
    Reading {
        resource: Some(id.clone()),
        taken_at,
        data,
        observations,
        walls: None,
    }
}

pub(super) fn nothing_named(name: &str) -> Failure {
    let hint = "the action `list` of infra_query shows what there is";
    Failure::new(
        ErrorCode::NotFound,
        format!("nothing that is connected is named `{name}`; {hint}"),
    )
    .detail("resource_id", name)
}
