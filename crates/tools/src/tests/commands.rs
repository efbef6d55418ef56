//! Commands on this machine.

use std::fs;

use interlock_protocol::{
    AnalysisWall, ErrorCode, Observation, Outcome, ResourceId, SandboxWall, Verification, WallKind,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::stage::{Stage, outcomes};

#[tokio::test]
async fn a_read_command_runs_and_is_evidence_about_this_machine() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("words", "one\ntwo\n");
    for (command, stdout, exit_code) in [
        (format!("cat {path}"), "one\ntwo\n", 0),
        (format!("cat {path} | grep two"), "two\n", 0),
        (format!("grep three {path}"), "", 1),
        (format!("wc -l < {path}"), "2\n", 0),
    ] {
        let arguments = stage.read("exec", json!({"command": command}));
        let done = stage.run("infra_read", arguments).await;
        let data = done.response.outcome().unwrap();
        assert_eq!(
            (data["stdout"].as_str(), done.exit_code, done.outcome),
            (Some(stdout), Some(exit_code), Outcome::Succeeded),
            "{command}"
        );
        assert_eq!(data["truncated"], false);
        let reading = done.reading.unwrap();
        assert_eq!(reading.resource.as_ref(), Some(stage.host.id()));
        assert_eq!(reading.observations, [Observation::Present]);
        // The reading says what held the command, and does not claim what did not.
        let walls = reading.walls.unwrap();
        assert_eq!(walls.analysis, AnalysisWall::Read);
        assert_eq!(walls.sandbox.is_enforced(), data.get("without_sandbox").is_none());
    }
}

/// A repository whose configuration names a program that git runs while it reads.
fn repository(stage: &Stage) -> (String, std::path::PathBuf) {
    let folder = stage.folder().join("repository");
    for part in ["objects", "refs/heads"] {
        std::fs::create_dir_all(folder.join(".git").join(part)).unwrap();
    }
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let marker = folder.join("marker");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch {}; echo x\"\n",
        marker.display()
    );
    std::fs::write(folder.join(".git/config"), config).unwrap();
    (folder.display().to_string(), marker)
}

#[tokio::test]
async fn code_that_a_repository_names_runs_in_the_sandbox_or_not_at_all() {
    if !["/usr/bin/git", "/bin/git", "/usr/local/bin/git"]
        .iter()
        .any(|git| std::path::Path::new(git).exists())
    {
        println!("skipped: git in the sandbox (git is not installed)");
        return;
    }
    let mut stage = Stage::discovered().await;
    let (folder, marker) = repository(&stage);
    let offered = stage
        .inventory
        .read_target(&interlock_gate::Where::Here)
        .await
        .sandbox;
    if !matches!(&offered, SandboxWall::Enforced { missing, .. } if missing.is_empty()) {
        println!("skipped: git in the sandbox ({})", offered.phrase());
        return;
    }
    let arguments = stage.read(
        "exec",
        json!({"command": format!("git -C {folder} status --short")}),
    );
    let done = stage.run("infra_read", arguments).await;
    let data = done.response.outcome().unwrap();
    assert_eq!(done.exit_code, Some(0), "{data}");
    assert!(!marker.exists(), "{data}");
    let walls = done.reading.unwrap().walls.unwrap();
    assert!(walls.sandbox.is_enforced(), "{walls:?}");
}

#[tokio::test]
async fn a_plan_for_what_runs_code_named_by_data_requires_the_sandbox() {
    let mut stage = Stage::discovered().await;
    let arguments = stage.read("exec", json!({"command": "git status"}));
    let enforced = SandboxWall::Enforced {
        by: WallKind::LandlockSeccomp,
        sockets: Vec::new(),
        missing: Vec::new(),
    };
    let target = interlock_gate::ReadTarget {
        sandbox: enforced,
        tags: std::collections::BTreeSet::new(),
    };
    let place = interlock_gate::Where::In(stage.host.id().clone());
    let parts = &mut *stage;
    parts.gate.note_sandbox(&mut parts.session, place, target);
    let permit = stage.permit("infra_read", arguments);
    assert!(permit.plan().sandbox_required);
}

#[tokio::test]
async fn a_reading_says_which_walls_it_passed() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("words", "one\n");
    let arguments = stage.read("exec", json!({"command": format!("cat {path}")}));
    let done = stage.run("infra_read", arguments).await;
    let data = done.response.outcome().unwrap().clone();
    let walls = done.reading.unwrap().walls.unwrap();
    assert_eq!(walls.analysis, AnalysisWall::Read);
    match walls.sandbox {
        SandboxWall::Enforced { by, sockets, .. } => {
            assert_eq!((by, sockets), (WallKind::LandlockSeccomp, Vec::new()));
        }
        SandboxWall::None { reason } => assert_eq!(data["without_sandbox"], reason),
    }
    let arguments = stage.read("file", json!({"path": path}));
    let typed = stage.run("infra_read", arguments).await;
    assert_eq!(typed.reading.unwrap().walls, None);
}

#[tokio::test]
async fn what_cannot_run_is_a_failure_that_says_why() {
    let mut stage = Stage::discovered().await;
    let folder = stage.path("");
    let command = stage.read(
        "exec",
        json!({"command": format!("cat {folder} | nl | cat /no/such")}),
    );
    let data = stage.data("infra_read", command).await;
    assert_eq!(data["exit_code"], 1);
    assert!(data["stderr"].as_str().unwrap().contains("/no/such"), "{data}");
}

#[tokio::test]
async fn a_write_command_is_observed_by_a_later_read_and_not_before() {
    let mut stage = Stage::discovered().await;
    let path = stage.path("made");
    let arguments = json!({
        "action": "command", "target_resource_id": stage.here(), "command": format!("touch {path}"),
    });
    let (done, settled) = stage.settle("infra_control", arguments).await;
    assert_eq!((done.outcome, done.reading), (Outcome::Succeeded, None));
    assert!(settled.required.is_some() && settled.ended.is_empty());
    assert!(fs::exists(&path).unwrap());
    let look = stage.read("exec", json!({"command": format!("ls {path}")}));
    let (_, settled) = stage.settle("infra_read", look).await;
    assert_eq!(outcomes(&settled), [Verification::Observed]);
}

#[tokio::test]
async fn a_write_command_that_fails_is_a_failure_with_its_output() {
    let mut stage = Stage::discovered().await;
    let arguments = json!({
        "action": "command", "target_resource_id": stage.here(), "command": "mkdir /no/such/folder",
    });
    let done = stage.run("infra_control", arguments).await;
    let error = done.response.error().unwrap();
    assert_eq!(
        (done.outcome, done.exit_code, error.code),
        (Outcome::Failed, Some(1), ErrorCode::ExecutionFailed)
    );
    assert!(error.details["stderr"].as_str().unwrap().contains("/no/such"));
    assert_eq!(stage.observe().await, [Verification::Observed]);
}

#[tokio::test]
async fn an_output_is_taken_over_up_to_a_length_and_its_end_is_not() {
    let mut stage = Stage::discovered().await;
    let long = interlock_protocol::MOST_TAKEN + 4900;
    let path = stage.file("long", "x".repeat(long));
    let command = stage.read("exec", json!({"command": format!("cat {path}")}));
    let data = stage.data("infra_read", command).await;
    assert_eq!(
        (&data["truncated"], &data["stdout_bytes"]),
        (&json!(true), &json!(long))
    );
    assert!(
        data["stdout"]
            .as_str()
            .unwrap()
            .contains("the last 4900 bytes are left out")
    );
}

#[tokio::test]
async fn a_cancelled_command_says_so() {
    let mut stage = Stage::discovered().await;
    let arguments = stage.read("exec", json!({"command": "sleep 30"}));
    let started = stage.begin("infra_read", arguments);
    let cancel = CancellationToken::new();
    let (done, ()) = tokio::join!(stage.toolbox.run(&started, &cancel), async { cancel.cancel() });
    assert_eq!(done.outcome, Outcome::Cancelled);
    assert_eq!(done.response.error().unwrap().code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn services_need_systemd_and_a_well_formed_name() {
    let mut stage = Stage::discovered().await;
    let here = stage.here();
    let (code, _) = stage
        .error(
            "infra_control",
            json!({"action": "service_start", "target_resource_id": here, "unit": "--force"}),
        )
        .await;
    assert_eq!(code, "INVALID_INPUT");
    stage.observe().await;
    if fs::exists("/run/systemd/system").unwrap() {
        eprintln!("skipped: systemd runs this machine");
        return;
    }
    let mut stage = Stage::discovered().await;
    let (code, message) = stage
        .error(
            "infra_control",
            json!({"action": "service_restart", "target_resource_id": here, "unit": "nginx"}),
        )
        .await;
    assert_eq!(code, "EXECUTION_FAILED");
    assert!(message.contains("not run by systemd"), "{message}");
    // Nobody can see whether it took effect, and that is what is said.
    assert_eq!(stage.observe().await, [Verification::Inconclusive]);
}

#[tokio::test]
async fn logs_come_from_the_journal_or_the_answer_says_that_there_is_none() {
    let mut stage = Stage::discovered().await;
    for arguments in [
        stage.read("logs", json!({"lines": 5})),
        stage.read("logs", json!({"unit": "cron", "since": "-1h"})),
    ] {
        let done = stage.run("infra_read", arguments).await;
        match done.response.error() {
            None => assert_eq!(done.exit_code, Some(0)),
            Some(error) => assert!(error.message.contains("journal"), "{}", error.message),
        }
    }
    let arguments = stage.read("logs", json!({"unit": "a b"}));
    assert_eq!(stage.error("infra_read", arguments).await.0, "INVALID_INPUT");
}

#[tokio::test]
async fn nothing_runs_here_for_another_machine() {
    let mut stage = Stage::discovered().await;
    let other: ResourceId = "node:delly".parse().unwrap();
    let resource = interlock_gate::ResolvedResource::new(other, "delly");
    let parts = &mut *stage;
    parts
        .gate
        .mention(&mut parts.session, resource, jiff::Timestamp::now());
    let path = stage.path("made");
    let command = json!({
        "action": "command", "target_resource_id": "node:delly", "command": format!("touch {path}"),
    });
    assert_eq!(stage.error("infra_control", command).await.0, "NOT_FOUND");
    assert!(!fs::exists(&path).unwrap());
    let read = json!({"action": "exec", "target_host": "delly", "command": "uptime"});
    assert_eq!(stage.error("infra_read", read).await.0, "NOT_FOUND");
}
