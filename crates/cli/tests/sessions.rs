//! Sessions from end to end, with the real binary and a model that plays a script.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use serde_json::Value;
use support::{Home, READS, WRITES, ended};

/// A home whose model makes a file, at a level that asks a human first.
fn writing() -> (Home, String) {
    let home = Home::empty();
    let file = home.work("made");
    let home = home.also_script(&WRITES.replace("FILE", &file));
    (home, file)
}

trait AlsoScript {
    fn also_script(self, replies: &str) -> Self;
}

impl AlsoScript for Home {
    fn also_script(self, replies: &str) -> Self {
        self.write("config/interlock/script.yaml", replies);
        self.write(
            "config/interlock/interlock.yaml",
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\ncontrol:\n  level: controlled\n",
        );
        self
    }
}

/// The only hold that waits.
fn waiting(home: &Home) -> Value {
    let list = home.run(&["approvals", "--json"]);
    let mut holds = list.json_lines();
    assert_eq!(holds.len(), 1, "{list}");
    holds.remove(0)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The session that is worked on, once one is.
fn in_progress(home: &Home) -> String {
    for _ in 0..200 {
        let sessions = home
            .run(&["sessions", "--json", "--status", "in_progress"])
            .json_lines();
        if let Some(session) = sessions.first() {
            return text(session, "session_id").to_owned();
        }
    }
    panic!("nobody works on anything")
}

#[test]
fn a_question_is_answered_with_its_steps_beside_it() {
    let home = Home::with_script(READS);
    let ran = home.run(&["run", "what fills the disk?"]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    insta::assert_snapshot!("run", home.steady(&ran.to_string()));
    insta::assert_snapshot!("sessions", home.steady(&home.run(&["sessions"]).to_string()));
    let session = home.run(&["sessions", "--json"]).json_lines().remove(0);
    let id = text(&session, "session_id");
    insta::assert_snapshot!("show", home.steady(&home.run(&["show", &id[4..16]]).to_string()));
    let shown = home.run(&["show", id, "--json", "--events", "--messages"]).json();
    assert!(shown["events"].as_array().unwrap().len() > 10);
    assert!(shown["messages"].as_array().unwrap().len() > 4);
}

#[test]
fn programs_get_one_document_and_nothing_else() {
    let home = Home::with_script(READS);
    let ran = home.run_with(&["run", "-", "--json"], "what fills the disk?");
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""), "{ran}");
    insta::assert_snapshot!("run_json", home.steady(&ran.stdout));
}

#[test]
fn a_write_waits_for_a_human_and_then_happens_once() {
    let (home, file) = writing();
    let ran = home.run(&["run", "make the file"]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    insta::assert_snapshot!("run_held", home.steady(&ran.to_string()));
    assert!(
        !std::path::Path::new(&file).exists(),
        "nothing runs before a human says so"
    );

    insta::assert_snapshot!("approvals", home.steady(&home.run(&["approvals"]).to_string()));
    let hold = waiting(&home);
    let id = text(&hold, "hold_id");
    insta::assert_snapshot!(
        "approvals_show",
        home.steady(&home.run(&["approvals", "show", id]).to_string())
    );

    let blind = home.run(&["approvals", "approve", id]);
    assert_eq!(blind.exit, Some(2), "a script must say what it saw: {blind}");
    let other = "0".repeat(64);
    let wrong = home.run(&["approvals", "approve", id, "--plan-hash", &other]);
    assert_eq!(wrong.exit, Some(1), "{wrong}");
    assert!(!std::path::Path::new(&file).exists());

    let ran = home.run(&[
        "approvals",
        "approve",
        id,
        "--plan-hash",
        text(&hold, "plan_hash"),
        "--json",
    ]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    let report = ran.json();
    assert_eq!(report["status"], "completed", "{ran}");
    assert!(std::path::Path::new(&file).exists());
    let writes: Vec<&Value> = report["receipts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|receipt| receipt["kind"] == "write")
        .collect();
    assert_eq!(writes.len(), 1, "{ran}");
    assert_eq!(writes[0]["hold"], hold["hold_id"]);
    assert_eq!(writes[0]["plan_hash"], hold["plan_hash"]);

    std::fs::remove_file(&file).unwrap();
    let again = home.run(&[
        "approvals",
        "approve",
        id,
        "--plan-hash",
        text(&hold, "plan_hash"),
    ]);
    assert_eq!(again.exit, Some(1), "{again}");
    insta::assert_snapshot!("approved_already", home.steady(&again.to_string()));
    assert!(!std::path::Path::new(&file).exists(), "an approval runs once");
}

#[test]
fn a_no_is_told_to_the_model_and_nothing_runs() {
    let (home, file) = writing();
    assert_eq!(home.run(&["run", "make the file"]).exit, Some(1));
    let hold = waiting(&home);
    let ran = home.run(&[
        "approvals",
        "deny",
        text(&hold, "hold_id"),
        "--reason",
        "not today",
    ]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    insta::assert_snapshot!("denied", home.steady(&ran.to_string()));
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn a_read_only_session_refuses_the_write() {
    let (home, file) = writing();
    let ran = home.run(&["run", "--level", "read_only", "--json", "make the file"]);
    let report = ran.json();
    assert_eq!(report["refused"][0]["rule"], "control_level", "{ran}");
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn a_trace_is_replayed_in_another_process() {
    let (home, _) = writing();
    home.run(&["run", "make the file"]);
    let hold = waiting(&home);
    home.run(&[
        "approvals",
        "approve",
        text(&hold, "hold_id"),
        "--plan-hash",
        text(&hold, "plan_hash"),
    ]);
    let session = text(&hold, "session_id");
    let file = home.work("trace.json");
    let ran = home.run(&["trace", session, "--export", &file]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    let people = home.run(&["trace", session]);
    insta::assert_snapshot!(
        "trace",
        home.steady(&people.to_string()).replace(session, "[session]")
    );

    let elsewhere = Home::empty();
    let key = home.run(&["record", "key", "--json"]).json();
    let key = text(&key, "public_key");
    let replayed = elsewhere.run(&["trace", "--replay", &file]);
    assert!(
        replayed.exit == Some(2) && replayed.stderr.contains("--key"),
        "a signature counts only by a key that was named: {replayed}"
    );
    let replayed = elsewhere.run(&["trace", "--replay", &file, "--key", key]);
    assert_eq!(replayed.exit, Some(0), "{replayed}");
    insta::assert_snapshot!("replayed", elsewhere.steady(&replayed.to_string()));
    let checked = home.run(&["trace", session, "--check", "--json"]);
    assert_eq!(
        (checked.exit, &checked.json()["same"]),
        (Some(0), &true.into()),
        "{checked}"
    );

    // What no reader looks at is noticed too: added, doubled, spaced and reordered parts.
    let original = std::fs::read_to_string(&file).unwrap();
    for (old, new) in [
        ("{\"version\"", "{\"unknown\":1,\"version\""),
        ("\"steps\":[{", "\"steps\":[{\"unknown\":1,"),
        ("\"ask\":\"open\"", "\"ask\":\"begin\",\"ask\":\"open\""),
        ("{\"version\"", "{ \"version\""),
    ] {
        assert!(original.contains(old), "{old}");
        std::fs::write(&file, original.replacen(old, new, 1)).unwrap();
        let forged = elsewhere.run(&["trace", "--replay", &file, "--key", key]);
        assert_eq!(forged.exit, Some(1), "{new}: {forged}");
    }
    let mut trace: Value = serde_json::from_str(&original).unwrap();
    let steps = trace["steps"].as_array_mut().unwrap();
    let refused = steps
        .iter_mut()
        .find(|step| step["input"]["ask"] == "decide")
        .unwrap();
    refused["outcome"] = serde_json::json!({ "answer": "answer_allowed" });
    std::fs::write(&file, trace.to_string()).unwrap();
    let forged = elsewhere.run(&["trace", "--replay", &file, "--key", key, "--json"]);
    assert_eq!(
        (forged.exit, &forged.json()["same"]),
        (Some(1), &false.into()),
        "{forged}"
    );
}

#[test]
fn a_conversation_goes_on_over_several_lines() {
    let home = Home::with_script(
        "replies:\n  - when: { contains: first }\n    text: One.\n  - when: { contains: second }\n    text: Two.\n",
    );
    let lines =
        "the first question\n\nthe second question\n/tols\n/tools\n/chats\n/trace\n/quit\nnever asked\n";
    let ran = home.run_with(&["chat"], lines);
    insta::assert_snapshot!("chat", home.steady(&ran.to_string()));
    assert_eq!(home.run(&["sessions", "--json"]).json_lines().len(), 1);

    let session = home.run(&["sessions", "--json"]).json_lines().remove(0);
    let resumed = home.run_with(
        &["chat", "--json", "--resume", text(&session, "session_id")],
        "/cancel\n",
    );
    assert_eq!(resumed.exit, Some(0), "{resumed}");
}

#[test]
fn a_tool_called_by_hand_passes_the_same_gate() {
    let (home, file) = writing();
    let lines = format!(
        "/tool infra_query {{\"action\": \"search\", \"query\": \"localhost\"}}\n\
         /tool infra_read {{\"action\": \"exec\", \"target_host\": \"localhost\", \"command\": \"touch {file}\"}}\n\
         /tool infra_control {{\"action\": \"command\", \"target_host\": \"localhost\", \"command\": \"touch {file}\"}}\n"
    );
    let ran = home.run_with(&["chat"], &format!("{lines}/deny not by hand\n"));
    assert!(ran.stderr.contains("This waits for a human"), "{ran}");
    assert!(ran.stderr.contains("it was refused"), "{ran}");
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn a_conversation_may_begin_with_a_tool() {
    let home = Home::with_script("replies:\n  - text: Hello.\n");
    let lines = "/tool infra_query {\"action\": \"search\", \"query\": \"localhost\"}\nhello\n";
    let ran = home.run_with(&["chat"], lines);
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert!(ran.stdout.ends_with("Hello.\n"), "{ran}");
    assert_eq!(home.run(&["sessions", "--json"]).json_lines().len(), 1);
}

#[test]
fn what_is_not_there_is_said_with_what_to_do() {
    let home = Home::with_script(READS);
    let cases: &[(&str, &[&str])] = &[
        ("unknown_session", &["show", "ses_ffff"]),
        ("unknown_run", &["trace", "run_ffff"]),
        ("unknown_hold", &["approvals", "show", "hold_ffff"]),
        ("unknown_model", &["run", "--model", "none", "question"]),
        ("unknown_tool", &["tools", "infra_red"]),
        ("unknown_alert_type_key", &["sessions", "--status", "done"]),
        ("bad_store", &["sessions", "--store", "mysql:x"]),
        ("empty_question", &["run", " "]),
    ];
    let texts: Vec<String> = cases
        .iter()
        .map(|(name, arguments)| format!("{name}\n{}", home.steady(&home.run(arguments).to_string())))
        .collect();
    insta::assert_snapshot!("not_there", texts.join("\n"));
}

#[test]
fn an_alert_is_worked_on_here_or_left_in_the_queue() {
    let home = Home::with_script(READS);
    let queued = home.run(&[
        "alert",
        "submit",
        "--type",
        "disk",
        "--no-wait",
        "--key",
        "k1",
        "--json",
        "97 %",
    ]);
    assert_eq!(
        (queued.exit, &queued.json()["status"]),
        (Some(0), &"pending".into()),
        "{queued}"
    );
    let same = home.run_with(
        &["alert", "submit", "--type", "disk", "--key", "k1", "--json", "-"],
        "97 %",
    );
    assert_eq!(same.json()["session_id"], queued.json()["session_id"], "{same}");
    assert_eq!(
        (same.exit, &same.json()["status"]),
        (Some(0), &"completed".into()),
        "{same}"
    );
}

#[test]
fn a_session_is_stopped_from_another_process() {
    let home = Home::with_script("replies:\n  - text: Never.\n    delay: 60s\n");
    let child = home.start(&["run", "--json", "question"]);
    let session = in_progress(&home);
    let cancelled = home.run(&["cancel", &session]);
    assert_eq!(cancelled.exit, Some(0), "{cancelled}");
    let ran = ended(child);
    assert_eq!(
        (ran.exit, &ran.json()["status"]),
        (Some(1), &"cancelled".into()),
        "{ran}"
    );
    assert_eq!(home.run(&["cancel", &session]).exit, Some(1));
}

#[test]
fn a_plan_of_a_changed_session_is_not_shown_as_one() {
    let (home, file) = writing();
    home.run(&["run", "make the file"]);
    let hold = waiting(&home);
    let id = text(&hold, "hold_id");
    let conn = rusqlite::Connection::open(home.path("data/interlock/interlock.db")).unwrap();
    assert!(
        conn.execute("UPDATE messages SET content = content || ' '", [])
            .unwrap()
            > 0
    );
    drop(conn);
    for command in [
        vec!["approvals", "show", id],
        vec![
            "approvals",
            "approve",
            id,
            "--plan-hash",
            text(&hold, "plan_hash"),
        ],
    ] {
        let ran = home.run(&command);
        assert_ne!(ran.exit, Some(0), "{ran}");
        assert!(
            ran.stderr.contains("was changed outside Interlock (messages)"),
            "{ran}"
        );
    }
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn an_interrupt_stops_what_runs_and_keeps_what_happened() {
    let home = Home::with_script(&READS.replace("df -h /", "sleep 60"));
    let child = home.start(&["run", "--json", "question"]);
    in_progress(&home);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = ended(child);
    assert_eq!(
        (ran.exit, &ran.json()["status"]),
        (Some(1), &"cancelled".into()),
        "{ran}"
    );
}

#[test]
fn a_session_whose_process_was_killed_is_carried_on() {
    let home =
        Home::with_script(&READS.replace("  - text: Let me look.", "  - text: Let me look.\n    delay: 2s"));
    let config = "models:\n  demo:\n    provider: scripted\n    script: script.yaml\nqueue:\n  heartbeat: 1s\n  orphan_after: 3s\n";
    home.write("config/interlock/interlock.yaml", config);
    let mut child = home.start(&["run", "question"]);
    let session = in_progress(&home);
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = home.run(&["resume", &session, "--json"]);
    assert_eq!(
        (ran.exit, &ran.json()["status"]),
        (Some(0), &"completed".into()),
        "{ran}"
    );
    assert_eq!(home.run(&["trace", &session, "--check"]).exit, Some(0));
    let again = home.run(&["resume", &session]);
    assert_eq!(again.exit, Some(1), "{again}");
}

#[test]
fn a_session_that_waits_for_a_human_can_be_stopped() {
    let (home, file) = writing();
    home.run(&["run", "make the file"]);
    let hold = waiting(&home);
    let cancelled = home.run(&["cancel", text(&hold, "session_id"), "--json"]);
    assert_eq!(
        (cancelled.exit, &cancelled.json()["status"]),
        (Some(0), &"cancelled".into()),
        "{cancelled}"
    );
    let late = home.run(&[
        "approvals",
        "approve",
        text(&hold, "hold_id"),
        "--plan-hash",
        text(&hold, "plan_hash"),
    ]);
    assert_eq!(late.exit, Some(1), "{late}");
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn the_kill_switch_stops_what_was_approved() {
    let (home, file) = writing();
    home.run(&["run", "make the file"]);
    let hold = waiting(&home);
    assert_eq!(home.run(&["kill-switch", "on"]).stdout, "on: no write begins\n");
    home.run(&[
        "approvals",
        "approve",
        text(&hold, "hold_id"),
        "--plan-hash",
        text(&hold, "plan_hash"),
    ]);
    assert!(!std::path::Path::new(&file).exists());
    assert_eq!(
        home.run(&["kill-switch", "off", "--json"]).json()["engaged"],
        false
    );
}

/// What was done to a hold, oldest first: who, and what.
fn deeds(home: &Home, hold: &str) -> Vec<(String, String)> {
    let mut deeds: Vec<(String, String)> = home
        .run(&["audit", "--subject", hold, "--json"])
        .json_lines()
        .iter()
        .map(|entry| (text(entry, "actor").to_owned(), text(entry, "action").to_owned()))
        .collect();
    deeds.reverse();
    deeds
}

#[test]
fn whoever_is_at_the_shell_decides_as_that_and_as_no_user_of_the_server() {
    let (home, _) = writing();
    let name = home.user();
    // A user of the server who has the same name as the one at the shell, and never signed in.
    let added = home.run(&["user", "add", &name, "--role", "approver"]);
    assert_eq!(added.exit, Some(0), "{added}");
    let posing = home.run(&["user", "add", &format!("local:{name}"), "--role", "approver"]);
    assert_eq!(posing.exit, Some(2), "{posing}");
    let local = format!("local:{name}");
    let by = |action: &str| (local.clone(), action.to_owned());
    home.run(&["run", "make the file"]);
    let hold = waiting(&home);
    let first = text(&hold, "hold_id");
    let command = format!(
        "command={}",
        serde_json::json!(format!("touch {}", home.work("other")))
    );
    let edited = home.run(&["approvals", "edit", first, "--set", &command, "--json"]);
    assert_eq!(edited.exit, Some(0), "{edited}");
    let second = text(&edited.json(), "hold_id").to_owned();
    let denied = home.run(&["approvals", "deny", &second, "--no-run", "--json"]);
    assert_eq!(denied.exit, Some(0), "{denied}");
    assert_eq!(denied.json()["decided_by"], local.as_str(), "{denied}");
    assert_eq!(deeds(&home, first), [by("hold.edited")]);
    assert_eq!(deeds(&home, &second), [by("hold.denied")]);
}

/// The one at the shell could be the one who asked: nobody can tell, so they decide where it can be told.
#[test]
fn with_four_eyes_nobody_decides_at_the_shell_where_people_are_known() {
    let (home, file) = writing();
    let config = "config/interlock/interlock.yaml";
    let before = std::fs::read_to_string(home.path(config)).unwrap();
    home.write(config, &format!("{before}  four_eyes: true\n"));
    home.run(&["run", "make the file"]);
    let hold = waiting(&home);
    let (id, hash) = (text(&hold, "hold_id"), text(&hold, "plan_hash"));
    // Nobody is known yet: the one at the shell asked, and is kept from approving it.
    let own = home.run(&["approvals", "approve", id, "--plan-hash", hash]);
    assert_eq!(own.exit, Some(1), "{own}");
    assert!(
        own.stderr.contains("The owner of a session may not approve it."),
        "{own}"
    );
    let refused = (
        format!("local:{}", home.user()),
        "hold.approval_refused".to_owned(),
    );
    assert_eq!(deeds(&home, id), std::slice::from_ref(&refused));
    home.run(&["user", "add", "zoe", "--role", "approver"]);
    for decision in [
        &["approvals", "approve", id, "--plan-hash", hash][..],
        &["approvals", "deny", id, "--reason", "no"],
        &["approvals", "edit", id, "--set", "command=true"],
    ] {
        let ran = home.run(decision);
        assert_eq!(ran.exit, Some(1), "{decision:?}: {ran}");
        assert!(
            ran.stderr.contains("the person who decides must be signed in"),
            "{ran}"
        );
    }
    let not_signed_in = |action: &str| (refused.0.clone(), action.to_owned());
    let expected = [
        refused.clone(),
        not_signed_in("hold.approval_refused"),
        not_signed_in("hold.decision_refused"),
        not_signed_in("hold.decision_refused"),
    ];
    assert_eq!(deeds(&home, id), expected, "every refusal is in the audit log");
    assert_eq!(text(&waiting(&home), "hold_id"), id);
    assert!(!std::path::Path::new(&file).exists());
}

/// Everything that comes from outside, with what a terminal acts on in it.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\u{8}\u{202e}\u{200b}";

/// Nothing that a terminal acts on, hides or turns around.
fn harmless(what: &str, ran: &support::Ran) {
    for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        let bad: Vec<char> = text
            .chars()
            .filter(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{200b}'))
            .collect();
        assert!(bad.is_empty(), "{what}, {stream}: {bad:?}\n{ran}");
    }
}

#[test]
fn no_escape_sequence_reaches_a_terminal_wherever_it_comes_from() {
    let quoted = |text: String| {
        let json = serde_json::to_string(&text).unwrap();
        interlock_protocol::visible::json(&json).into_owned()
    };
    let answer = quoted(format!("fine{HOSTILE}\nWhat was done and read\n  • See above."));
    let command = quoted(format!("echo '{HOSTILE}'"));
    let query = quoted(format!("web{HOSTILE}"));
    let thinking = quoted(format!("hm{HOSTILE}"));
    let home = Home::with_script(&format!(
        "replies:\n  - thinking: {thinking}\n    calls: [{{tool: infra_query, arguments: {{action: search, query: {query}}}}}]\n  \
         - calls: [{{tool: infra_read, arguments: {{action: exec, target_resource_id: \"host:x\", command: {command}}}}}]\n  \
         - repeat: forever\n    text: {answer}\n",
    ));
    let question = format!("what is there{HOSTILE}?");
    let ran = home.run(&["run", &question]);
    harmless("run", &ran);
    // The head is first, and every line of the model's text is behind the edge.
    let mut lines = ran.stdout.lines();
    assert_eq!(lines.next(), Some("What was done and read"), "{ran}");
    assert!(lines.any(|line| line == "The model's answer"), "{ran}");
    assert!(lines.all(|line| line.starts_with('│')), "{ran}");
    harmless("run --json", &home.run(&["run", "--json", &question]));
    let list = home.run(&["sessions", "--json"]);
    harmless("sessions --json", &list);
    harmless("sessions", &home.run(&["sessions"]));
    let id = text(&list.json_lines()[0], "session_id").to_owned();
    for arguments in [
        vec!["show", id.as_str()],
        vec!["show", id.as_str(), "--events", "--messages"],
        vec!["show", id.as_str(), "--json", "--events", "--messages"],
        vec!["trace", id.as_str()],
        vec!["trace", id.as_str(), "--json"],
        vec!["classify", HOSTILE],
        vec!["classify", "--json", HOSTILE],
        vec!["show", HOSTILE],
        vec!["show", "--json", HOSTILE],
        vec!["sessions", "--search", HOSTILE],
        vec!["run", "--model", HOSTILE, "x"],
        vec!["approvals", "show", HOSTILE],
        vec!["config", "check", "--config", HOSTILE],
        vec!["trace", "--replay", HOSTILE],
    ] {
        harmless(&format!("{arguments:?}"), &home.run(&arguments));
    }
    harmless(
        "chat",
        &home.run_with(&["chat"], &format!("{question}\n/nothing{HOSTILE}\n")),
    );
}
