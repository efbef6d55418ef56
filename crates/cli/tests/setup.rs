//! Configuration, doctor, models, tools, and readers that leave.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use support::{Home, READS, ended};

#[test]
fn a_wrong_configuration_is_explained_and_ends_with_2() {
    let home = Home::with_script(READS);
    home.write(
        "config/interlock/interlock.yaml",
        "models:\n  demo:\n    provider: scripted\n    scrpt: script.yaml\ncontrol:\n  level: reckless\n",
    );
    let cases: &[&[&str]] = &[
        &["config", "check"],
        &["config", "check", "--json"],
        &["run", "question"],
        &["config", "check", "nowhere.yaml"],
    ];
    let texts: Vec<String> = cases
        .iter()
        .map(|arguments| {
            let ran = home.run(arguments);
            assert_eq!(ran.exit, Some(2), "{ran}");
            home.steady(&ran.to_string())
        })
        .collect();
    insta::assert_snapshot!("config_wrong", texts.join("\n"));
    let stopped = format!("sqlite:{}", home.work("a.db"));
    let ran = home.run(&["kill-switch", "on", "--store", &stopped]);
    assert_eq!(
        ran.exit,
        Some(0),
        "what stops everything needs no configuration: {ran}"
    );
}

#[test]
fn a_right_configuration_is_shown_without_secrets() {
    let home = Home::with_script(READS);
    insta::assert_snapshot!(
        "config_check",
        home.steady(&home.run(&["config", "check"]).to_string())
    );
    let shown = home.run(&["config", "show"]).json();
    assert_eq!(shown["models"]["demo"]["provider"], "scripted");
    let schema = home.run(&["config", "schema"]).json();
    assert_eq!(schema["title"], "interlock.yaml");
}

#[test]
fn the_doctor_says_what_it_found_and_what_to_do() {
    let home = Home::with_script(READS);
    let ran = home.run(&["doctor", "--json"]);
    let report = ran.json();
    assert_eq!((ran.exit, &report["ok"]), (Some(0), &true.into()), "{ran}");
    let names: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "configuration",
            "store",
            "record key",
            "integrity",
            "privacy",
            "disk",
            "queue",
            "kill switch",
            "model demo",
            "sandbox",
            "kernel",
            "process",
            "clock"
        ]
    );
    home.write("config/interlock/interlock.yaml", "modles: {}\n");
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(ran.stdout.contains("fail  configuration"), "{ran}");

    let home = Home::with_script(READS);
    home.write("data/not-a-database", &"no database ".repeat(100));
    let place = format!("sqlite:{}", home.path("data/not-a-database").display());
    let ran = home.run(&["doctor", "--store", &place]);
    assert!(ran.exit == Some(1) && ran.stdout.contains("fail  store"), "{ran}");
}

#[test]
fn models_and_tools_are_listed_and_shown() {
    let home = Home::with_script("replies:\n  - text: One, two.\n    repeat: forever\n");
    insta::assert_snapshot!("model_list", home.run(&["model", "list"]));
    let checked = home.run(&["model", "check", "demo", "--json"]);
    assert_eq!(
        (checked.exit, &checked.json()["answers"]),
        (Some(1), &true.into()),
        "{checked}"
    );
    let tools = home.run(&["tools", "--json"]).json_lines();
    assert!(tools.iter().any(|tool| tool["name"] == "infra_read"));
    let tool = home.run(&["tools", "infra_read"]);
    assert!(tool.stdout.contains("additionalProperties"), "{tool}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let home = Home::with_script(READS);
    for number in 0..3 {
        home.run(&[
            "alert",
            "submit",
            "--type",
            "t",
            "--no-wait",
            &format!("number {number}"),
        ]);
    }
    let mut child = home.start(&["sessions", "--json", "--limit", "10000"]);
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));

    let mut child = home.start(&["run", "question"]);
    drop(child.stdout.take());
    drop(child.stderr.take());
    let ran = ended(child);
    assert!(ran.exit.is_some(), "no signal, no panic");
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let commands: &[&[&str]] = &[
        &["run"],
        &["chat"],
        &["sessions"],
        &["show"],
        &["trace"],
        &["alert"],
        &["alert", "submit"],
        &["approvals"],
        &["approvals", "show"],
        &["approvals", "approve"],
        &["approvals", "deny"],
        &["cancel"],
        &["resume"],
        &["kill-switch"],
        &["model"],
        &["model", "list"],
        &["model", "check"],
        &["tools"],
        &["config"],
        &["config", "check"],
        &["config", "schema"],
        &["config", "show"],
        &["doctor"],
    ];
    let home = Home::empty();
    for command in commands {
        let ran = home.run(&[*command, &["--help"]].concat());
        assert_eq!(ran.exit, Some(0), "{command:?}\n{ran}");
        assert!(ran.stdout.contains("Example"), "{command:?}\n{ran}");
        assert!(ran.stdout.contains("--json"), "{command:?}\n{ran}");
    }
    insta::assert_snapshot!("help_run", home.run(&["run", "--help"]));
    insta::assert_snapshot!("help_approvals", home.run(&["approvals", "--help"]));
}

/// Answers every request with the same status and body, until the test ends.
fn provider(status: &'static str, kind: &'static str, body: String) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0_usize);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut sent = vec![0; length];
            let _ = reader.read_exact(&mut sent);
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

/// A model that repeats what it was sent, and a provider whose error holds a token: neither is printed.
#[test]
fn what_a_provider_says_is_masked_when_it_is_checked() {
    let (password, token) = ("Zk93kfQ7xPz20aLm", "ghp_Q1aZ2sX3dC4fV5gB6hN7jM8kL9qW0eR1tY2u");
    let said = format!("the password is {password}, and {token}");
    let chunk = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": said }, "finish_reason": "stop" }] });
    let echo = provider(
        "200 OK",
        "text/event-stream",
        format!("data: {chunk}\n\ndata: [DONE]\n\n"),
    );
    let error = serde_json::json!({ "error": { "message": said } });
    let fails = provider("403 Forbidden", "application/json", error.to_string());
    let home = Home::empty();
    let entry = |(name, address): (&str, String)| {
        home.write(name, &format!("http://bob:{password}@{address}/v1"));
        format!(
            "  {name}:\n    provider: openai\n    model: m\n    base_url: ${{file:{}}}\n",
            home.path(name).display()
        )
    };
    let entries: String = [("echo", echo), ("fails", fails)].map(entry).concat();
    home.write("config/interlock/interlock.yaml", &format!("models:\n{entries}"));
    for arguments in [
        &["model", "check", "echo"] as &[&str],
        &["model", "check", "echo", "--json"],
        &["model", "check", "fails"],
        &["model", "check", "fails", "--json"],
        &["doctor", "--online"],
        &["doctor", "--online", "--json"],
    ] {
        let ran = home.run(arguments).to_string();
        assert!(ran.contains("[masked:"), "{arguments:?}: {ran}");
        assert!(
            !ran.contains(password) && !ran.contains(&token[4..]),
            "{arguments:?}: {ran}"
        );
    }
}
