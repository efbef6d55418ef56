//! An approval of a change to a file is for the content that the file had when the plan was made.

use interlock_protocol::{ContentHash, ControlLevel, ErrorCode};
use serde_json::{Value, json};

use super::fixture::*;
use crate::*;

#[expect(
    clippy::unnecessary_wraps,
    reason = "the cases are about what is known of a file, or nothing"
)]
fn content(text: &str) -> Option<FileBefore> {
    Some(FileBefore::Content(ContentHash::of(text)))
}

/// Tells the gate what the file of a call is, as the engine does before it asks.
fn note(stage: &mut Stage, tool: &str, arguments: &Value, before: Option<FileBefore>) -> bool {
    let call = call(tool, arguments.clone());
    let place = stage.gate.file_asked(&stage.session, &call, &[], stage.now);
    let asked = place.is_some();
    if let Some(place) = place {
        stage.gate.note_file(&mut stage.session, place, before);
    }
    asked
}

fn edit(action: &str) -> Value {
    let mut arguments =
        json!({"action": action, "target_resource_id": "lxc:delly:105", "path": "/etc/app.conf"});
    match action {
        "patch" => arguments["edits"] = json!([{"find": "a", "replace": "b"}]),
        _ => arguments["content"] = json!("b"),
    }
    arguments
}

fn approved(stage: &mut Stage, hold: &mut Hold) -> Result<Permit, Box<Refusal>> {
    let by = user("anna");
    let (token, mut record) = hold.open_for(by.clone(), [1; 32], stage.now);
    let situation = stage.situation();
    let mut approval = Approval {
        by: &by,
        token: &token,
        record: &mut record,
    };
    let (world, session) = (&mut stage.world, &mut stage.session);
    stage.gate.approve(world, session, hold, &mut approval, situation)
}

#[test]
fn which_calls_lose_the_content_of_a_file() {
    for (tool, arguments, asked) in [
        ("infra_file_edit", edit("write"), true),
        ("infra_file_edit", edit("patch"), true),
        ("infra_file_edit", edit("append"), false),
        ("infra_file_edit", edit("read"), false),
        (
            "write_file",
            json!({"path": "/etc/app.conf", "content": "b", "target_resource_id": "lxc:delly:105"}),
            true,
        ),
        (
            "delete_file",
            json!({"path": "/etc/app.conf", "target_resource_id": "lxc:delly:105"}),
            true,
        ),
        ("infra_control", restart("lxc:delly:105"), false),
        (
            "infra_file_edit",
            json!({"action": "write", "target_resource_id": "lxc:delly:999", "path": "/x"}),
            false,
        ),
    ] {
        let mut stage = Stage::discovered();
        assert_eq!(
            note(&mut stage, tool, &arguments, None),
            asked,
            "{tool} {arguments}"
        );
    }
}

#[test]
fn an_approved_change_runs_only_on_the_content_that_was_approved() {
    let (old, new, gone) = (content("old"), content("new"), Some(FileBefore::Absent));
    for (then, now, runs) in [
        (old, old, true),
        (gone, gone, true),
        (None, None, true),
        (old, new, false),
        (old, gone, false),
        (gone, new, false),
        // What cannot be compared is not the same.
        (old, None, false),
        (None, old, false),
    ] {
        for action in ["write", "patch"] {
            let mut stage = Stage::at_level(ControlLevel::Controlled).discover(vec![jellyfin()]);
            let arguments = edit(action);
            note(&mut stage, "infra_file_edit", &arguments, then);
            let mut hold = stage.held("infra_file_edit", arguments.clone());
            assert_eq!(hold.plan.before, then);
            assert_eq!(hold.plan.hash(), hold.plan_hash);
            let shown = hold
                .plan
                .rows()
                .into_iter()
                .find(|(name, _)| name == "file before");
            assert_eq!(
                shown.map(|(_, text)| text),
                then.map(|then| format!("the file {then}"))
            );
            note(&mut stage, "infra_file_edit", &arguments, now);
            match approved(&mut stage, &mut hold) {
                Ok(permit) => {
                    assert!(runs, "{action}: {then:?}, {now:?}");
                    assert_eq!(permit.plan().before, now);
                }
                Err(refusal) => {
                    assert!(!runs, "{action}: {then:?}, {now:?}: {refusal:?}");
                    assert_eq!(
                        (refusal.rule, refusal.code),
                        (Rule::LiveState, ErrorCode::StrictResolution)
                    );
                    assert!(
                        refusal
                            .message
                            .starts_with("`/etc/app.conf` is not as it was when the plan was made."),
                        "{}",
                        refusal.message
                    );
                    let changes = refusal.details["changes"].to_string();
                    assert!(changes.contains("file_before"), "{changes}");
                }
            }
        }
    }
}

#[test]
fn plans_of_earlier_versions_keep_their_form_and_their_hash() {
    let mut stage = Stage::at_level(ControlLevel::Controlled).discover(vec![jellyfin()]);
    let hold = stage.held("infra_file_edit", edit("write"));
    let written = serde_json::to_value(&hold.plan).unwrap();
    assert_eq!(written.get("before"), None);
    let mut other = hold.plan;
    other.before = Some(FileBefore::Absent);
    let absent = other.hash();
    other.before = content("x");
    assert_ne!(absent, hold.plan_hash);
    assert_ne!(other.hash(), absent);
    let back: Plan = serde_json::from_value(serde_json::to_value(&other).unwrap()).unwrap();
    assert_eq!(back, other);
}
