//! Permits that were used up, from a real gate, and programs to run for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use interlock_gate::{
    Catalogue, Decision, Ended, Gate, Options, Report, ResolvedResource, Session, SessionOptions, Situation,
    Started, World,
};
use interlock_protocol::{
    CallId, ControlLevel, ExecutionId, Outcome, ResourceId, SessionId, ToolCall, ToolKind, ToolName,
};
use jiff::Timestamp;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::{Error, Exit, Limits, Output, Program, Protected, Runner, SandboxPolicy};

/// Far longer than anything here takes: a test that waits this long has failed.
pub(super) const LONG: Duration = Duration::from_secs(30);

/// A permit for a call of this kind, used up.
pub(super) fn started(kind: ToolKind) -> Started {
    let host: ResourceId = "host:here".parse().unwrap();
    let gate = Gate::new(Arc::new(Catalogue::built_in().unwrap()), Options::default());
    let mut world = World::default();
    let mut session = Session::new(
        SessionId::new("ses_1").unwrap(),
        SessionOptions {
            level: ControlLevel::Autonomous,
            ..SessionOptions::default()
        },
    );
    let execution = ExecutionId::new("exe_1").unwrap();
    let mut begin = |session: &mut Session, tool: &str, arguments: Value| -> Started {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let call = ToolCall {
            id: CallId::new("call_1").unwrap(),
            tool: ToolName::new(tool).unwrap(),
            arguments,
        };
        let now = Timestamp::now();
        match gate.decide(&mut world, session, &execution, call, Situation::at(now)) {
            Decision::Allow(permit) => permit.begin(world.kill_switch, now).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let search = begin(&mut session, "infra_query", json!({"action": "search"}));
    if kind == ToolKind::Resolve {
        return search;
    }
    let receipt = search.finish(Ended {
        outcome: Outcome::Succeeded,
        finished_at: None,
        exit_code: None,
        output_hash: None,
        summary: "found".to_owned(),
    });
    let report = Report {
        receipt: &receipt,
        evidence: None,
        discovered: vec![ResolvedResource::new(host, "here")],
    };
    gate.settle(&mut World::default(), &mut session, report, Timestamp::now())
        .unwrap();
    let (tool, action, command) = match kind {
        ToolKind::Resolve | ToolKind::Read => ("infra_read", "exec", "uptime"),
        ToolKind::Write => ("infra_control", "command", "touch /tmp/x"),
    };
    begin(
        &mut session,
        tool,
        json!({"action": action, "command": command, "target_resource_id": "host:here"}),
    )
}

pub(super) fn runner() -> Runner {
    Runner::new(Protected::default(), SandboxPolicy::WhereAvailable)
}

/// Runs a script for a permit of this kind, with nothing protected and default limits.
pub(super) async fn run(kind: ToolKind, script: &str) -> Output {
    run_in(&runner(), kind, Program::shell(script), limits())
        .await
        .unwrap()
}

pub(super) async fn run_in(
    runner: &Runner,
    kind: ToolKind,
    program: Program,
    limits: Limits,
) -> Result<Output, Error> {
    let started = started(kind);
    let output = runner
        .run(&started, program, limits, &CancellationToken::new())
        .await;
    if let Err(error @ Error::NoConfine { .. }) = &output {
        panic!("{error}; run `cargo build --package interlock-confine` before these tests");
    }
    output
}

pub(super) fn is_installed(program: &str) -> bool {
    let found = ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists());
    if !found {
        eprintln!("skipped: `{program}` is not installed");
    }
    found
}

pub(super) fn limits() -> Limits {
    Limits {
        wall: LONG,
        ..Limits::default()
    }
}

pub(super) fn code(output: &Output) -> i32 {
    match output.exit {
        Exit::Code(code) => code,
        other => panic!("{other:?}"),
    }
}

/// A pipe with a name, through which a process says that it runs, and which closes when the last that holds it is gone.
pub(super) struct Lifeline {
    path: PathBuf,
    receiver: pipe::Receiver,
    _folder: tempfile::TempDir,
}

impl Lifeline {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lifeline");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let receiver = pipe::OpenOptions::new().open_receiver(&path).unwrap();
        Self {
            path,
            receiver,
            _folder: folder,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until a process has written these bytes.
    pub(super) async fn says(&mut self, text: &str) {
        let mut bytes = vec![0; text.len()];
        tokio::time::timeout(LONG, self.receiver.read_exact(&mut bytes))
            .await
            .expect("the process says that it runs")
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), text);
    }

    /// Waits until nobody holds the other end any more.
    pub(super) async fn is_cut(&mut self) {
        let mut rest = Vec::new();
        tokio::time::timeout(LONG, self.receiver.read_to_end(&mut rest))
            .await
            .expect("every process of the group is gone")
            .unwrap();
    }
}
