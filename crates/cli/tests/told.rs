//! What people are told must be so: healthy means that work is taken, a suggestion works, a count is the count.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::io::Read as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use support::server::Server;
use support::{Home, READS, Ran, WRITES, until};

/// A home whose model wants to make a file, at a level that asks a human first.
fn writing(control: &str) -> Home {
    let home = Home::empty();
    let file = home.work("made");
    home.write("config/interlock/script.yaml", &WRITES.replace("FILE", &file));
    home.write(
        "config/interlock/interlock.yaml",
        &format!(
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\ncontrol:\n  level: controlled\n{control}"
        ),
    );
    home
}

/// The server with its data on a disk of eight megabytes, in namespaces of an ordinary user; nothing where there are none.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test of the binary has to start it"
)]
fn on_a_small_disk(home: &Home) -> Option<Child> {
    let script = r#"
mount -t tmpfs -o size=8m disk "$XDG_DATA_HOME" || exit 77
(
    while [ ! -e "$HOME/fill" ]; do sleep 0.1; done
    dd if=/dev/zero of="$XDG_DATA_HOME/filler" bs=4096 2>/dev/null
    while [ -e "$HOME/fill" ]; do sleep 0.1; done
    rm "$XDG_DATA_HOME/filler"
) &
exec "$0" --json serve --listen 127.0.0.1:0
"#;
    let namespaces = |rest: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .args(rest);
        command
    };
    let there = namespaces(&["mount -t tmpfs none /mnt"])
        .stderr(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no user and mount namespaces with `unshare` here");
        return None;
    }
    let child = namespaces(&[script, env!("CARGO_BIN_EXE_interlock")])
        .env_clear()
        .env("HOME", home.path(""))
        .env("XDG_CONFIG_HOME", home.path("config"))
        .env("XDG_DATA_HOME", home.path("data"))
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Some(child)
}

#[test]
fn a_server_whose_disk_is_full_does_not_say_that_it_is_healthy() {
    let home = Home::with_script("replies: [{ text: Fine., repeat: forever }]");
    let Some(child) = on_a_small_disk(&home) else {
        return;
    };
    let server = Server::started(child);
    let status = |path: &str| server.send("GET", path, &[], None).0;
    let store = || {
        let (_, overview) = server.get("/api/v1/overview");
        let checks = overview["health"]["checks"].as_array().unwrap().clone();
        let store = checks.into_iter().find(|check| check["name"] == "store").unwrap();
        (overview["health"]["status"].clone(), store)
    };
    until("the server to be ready", || {
        (status("/ready") == 200).then_some(())
    });
    let question = json!({ "message": "is all well?" });
    assert_eq!(server.post("/api/v1/chats", &question).0 / 100, 2);

    home.write("fill", "");
    until("the disk to be full", || {
        (server.post("/api/v1/chats", &question).0 == 503).then_some(())
    });
    until("it to say so", || (status("/ready") == 503).then_some(()));
    let (overall, check) = store();
    assert_eq!(
        (&overall, &check["ok"]),
        (&json!("unhealthy"), &json!(false)),
        "{check}"
    );
    let detail = check["detail"].as_str().unwrap();
    assert!(
        detail.contains("full") && detail.contains("free some space"),
        "{detail}"
    );
    assert_eq!(status("/health"), 503);

    std::fs::remove_file(home.path("fill")).unwrap();
    until("it to be well again", || (status("/ready") == 200).then_some(()));
    assert_eq!(store().0, json!("healthy"));
    assert_eq!(server.post("/api/v1/chats", &question).0 / 100, 2);
}

#[test]
fn what_waits_is_counted_the_same_everywhere_and_decided_from_elsewhere_by_the_beginning_of_its_id() {
    let home = writing("");
    let server = Server::start(&home, &[]);
    let (status, asked) = server.post("/api/v1/chats", &json!({ "message": "make the file" }));
    assert_eq!(status / 100, 2, "{asked}");
    let session = asked["session"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/sessions/{session}");
    let held = until("the hold", || {
        let (_, detail) = server.get(&path);
        (detail["status"] == "held" || detail["session"]["status"] == "held").then_some(detail)
    });
    let counts = |value: &Value| {
        value["open_holds"]
            .as_u64()
            .or(value["session"]["open_holds"].as_u64())
    };
    let (_, list) = server.get("/api/v1/sessions");
    assert_eq!(counts(&held), Some(1), "{held}");
    assert_eq!(counts(&list["sessions"][0]), Some(1), "{list}");
    assert_eq!(server.get("/api/v1/overview").1["open_holds"], 1);

    // From another machine: the list says what would run and how long it waits, and a shortened id is enough.
    let remote = |arguments: &[&str]| elsewhere(&home, &server.url, &server.token, arguments);
    let list = remote(&["approvals"]);
    let line = list
        .stdout
        .lines()
        .nth(1)
        .unwrap_or_else(|| panic!("{list}"))
        .to_owned();
    assert!(line.contains("touch") && line.contains(" min"), "{list}");
    let short = line.split_whitespace().next().unwrap().to_owned();
    assert!(short.len() < "hold_".len() + 32, "{list}");
    let shown = remote(&["approvals", "show", &short, "--json"]);
    assert_eq!(shown.exit, Some(0), "{shown}");
    let hash = shown.json()["plan_hash"].as_str().unwrap().to_owned();
    let wrong = remote(&["approvals", "show", "hold_zz"]);
    assert_eq!(wrong.exit, Some(1), "{wrong}");
    let approved = remote(&["approvals", "approve", &short, "--plan-hash", &hash]);
    assert_eq!(approved.exit, Some(0), "{approved}");
    until("the file", || {
        std::fs::exists(home.work("made")).unwrap().then_some(())
    });
    let stopped = remote(&["cancel", &session[..16]]);
    assert_ne!(
        stopped.exit,
        Some(2),
        "a session is found by the beginning of its id: {stopped}"
    );
}

/// Runs the binary as somebody on another machine: with a token, and without a configuration or a store.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test of the binary has to start it"
)]
fn elsewhere(home: &Home, url: &str, token: &str, arguments: &[&str]) -> Ran {
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_interlock"))
        .args(["--server", url])
        .args(arguments)
        .env_clear()
        .env("HOME", home.path("work"))
        .env("INTERLOCK_TOKEN", token)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    support::ended(child)
}

#[test]
fn a_certificate_that_is_not_trusted_is_named_and_not_a_server_that_is_down() {
    let Some((certificate, key)) = certificate() else {
        return;
    };
    let home = Home::with_script("replies: [{ text: Fine. }]");
    home.write("config/interlock/cert.pem", &certificate);
    home.write("config/interlock/key.pem", &key);
    let config = std::fs::read_to_string(home.path("config/interlock/interlock.yaml")).unwrap();
    home.write(
        "config/interlock/interlock.yaml",
        &format!("{config}server:\n  tls: {{ certificate: cert.pem, key: key.pem }}\n"),
    );
    let mut child = home.start(&["--json", "serve", "--no-workers", "--listen", "127.0.0.1:0"]);
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    let url = loop {
        use std::io::BufRead as _;
        assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended: {said}");
        if let Ok(document) = serde_json::from_str::<Value>(&said) {
            break document["url"].as_str().unwrap().to_owned();
        }
    };
    let refused = elsewhere(&home, &url, "ilk_x", &["approvals"]);
    // Nobody listens there any more: only then is that the question.
    child.kill().unwrap();
    child.wait().unwrap();
    let _ = out.read_to_end(&mut Vec::new());
    let down = elsewhere(&home, &url, "ilk_x", &["approvals"]);
    assert_eq!((refused.exit, down.exit), (Some(1), Some(1)), "{refused}\n{down}");
    assert!(refused.stderr.contains("the certificate of"), "{refused}");
    assert!(!refused.stderr.contains("interlock serve"), "{refused}");
    assert!(
        down.stderr.contains("is `interlock serve` running there?"),
        "{down}"
    );
}

/// A certificate that nobody issued; nothing where this system has no `openssl`.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test makes its own certificate"
)]
fn certificate() -> Option<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args([
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
        ])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: this system has no `openssl` to make a certificate with");
        return None;
    }
    let read = |path| std::fs::read_to_string(path).unwrap();
    Some((read(certificate), read(key)))
}

#[test]
fn a_list_without_hits_does_not_say_that_there_is_nothing() {
    let home = Home::with_script(READS);
    let empty = home.run(&["sessions"]);
    assert!(
        empty.stdout.contains("no sessions") && empty.stdout.contains("interlock run"),
        "{empty}"
    );
    assert_eq!(home.run(&["run", "is the disk full?"]).exit, Some(0));
    for narrowed in [
        &["--search", "unicorn"][..],
        &["--status", "failed"],
        &["--type", "disk_full"],
        &["--search", "unicorn", "--limit", "3"],
    ] {
        let none = home.run(&[&["sessions"], narrowed].concat());
        assert!(none.stdout.contains("no session matches"), "{none}");
        assert!(!none.stdout.contains("ask something"), "{none}");
    }
    let found = home.run(&["sessions", "--search", "disk"]);
    assert!(found.stdout.contains("is the disk full?"), "{found}");
}

#[test]
fn under_four_eyes_nothing_is_suggested_that_is_refused() {
    let home = writing("  four_eyes: true\n");
    // The person at the shell asked, so they would be refused: they are told that another person must decide.
    let alone = home.run(&["run", "make the file"]);
    assert!(alone.stderr.contains("another person must decide"), "{alone}");
    assert_eq!(
        home.run(&["user", "add", "zoe", "--role", "approver"]).exit,
        Some(0)
    );
    let held = home.run(&["run", "make the file"]);
    assert_eq!(held.exit, Some(1), "{held}");
    for line in held
        .stderr
        .lines()
        .filter(|line| line.contains("approvals approve"))
    {
        assert!(line.contains("--server URL"), "{held}");
    }
    assert!(held.stderr.contains("four eyes"), "{held}");
}

#[test]
fn a_log_of_json_lines_has_nothing_else_in_it() {
    let home = Home::with_script(READS);
    home.write("broken.yaml", "models: [\n");
    let broken = home.path("broken.yaml").display().to_string();
    let cases: &[(&[&str], i32)] = &[
        (&["run", "is the disk full?"], 0),
        (&["-vv", "run", "is the disk full?"], 0),
        (&["show", "ses_nothing"], 1),
        (&["config", "check", &broken], 2),
        (&["--config", &broken, "run", "x"], 2),
        (&["--config", &broken, "tools"], 2),
        (&["classify"], 2),
        (&["run", "--no-such-flag"], 2),
        (&["no-such-command"], 2),
        (&["trace", "--replay", "/nothing/there"], 2),
        (&["approvals", "show", "hold_nothing"], 1),
        (&["doctor"], 0),
        (&["mask", "--tool", "any_tool"], 0),
        (&["mask", "--explain"], 0),
        (&["--json", "run", "--no-such-flag"], 2),
        (&["audit", "verify"], 0),
        (&["--server", "http://127.0.0.1:1", "approvals"], 2),
    ];
    for (arguments, exit) in cases {
        let ran = home.run_with(
            &[&["--log-format", "json"], *arguments].concat(),
            "password: hunter2\n",
        );
        // What a doctor finds is for the machine to say.
        assert!(
            ran.exit == Some(*exit) || arguments[0] == "doctor",
            "{arguments:?}: {ran}"
        );
        for line in ran.stderr.lines() {
            let document: Result<Value, _> = serde_json::from_str(line);
            let message = document
                .as_ref()
                .ok()
                .and_then(|document| document["fields"].as_object());
            assert!(
                message.is_some(),
                "{arguments:?}: `{line}` is no line of the log\n{ran}"
            );
        }
    }
}

#[test]
fn a_sign_in_that_failed_is_written_down_with_the_name_that_was_tried() {
    let home = Home::with_script("replies: [{ text: Fine. }]");
    let server = Server::start(&home, &["--no-workers"]);
    for (name, password) in [("admin", "guess"), ("zoe", "guess"), ("<b>\u{202e}x", "guess")] {
        let tried = json!({ "user": name, "password": password });
        let (status, _, body) = server.send("POST", "/api/v1/auth/sign-in", &[], Some(&tried));
        assert!(matches!(status, 400 | 401), "{status} {body}");
    }
    let audit = home.run(&["audit", "--json"]).json_lines();
    let failed: Vec<&Value> = audit
        .iter()
        .filter(|entry| entry.to_string().contains("sign_in.failed"))
        .collect();
    // A name that nobody has may be a password in the wrong field: its beginning is enough.
    for name in ["admin", "z… (3 characters, no such user)"] {
        assert!(
            failed.iter().any(|entry| entry.to_string().contains(name)),
            "{name}: {failed:#?}"
        );
    }
    let people = home.run(&["audit"]);
    assert!(
        people.stdout.contains("admin") && people.stdout.contains("z…"),
        "{people}"
    );
    assert!(!people.stdout.contains('\u{202e}'), "{people}");
}

#[test]
fn wrong_usage_is_a_document_too_where_programs_ask_for_one() {
    let home = Home::empty();
    for arguments in [
        &["--json", "run", "--no-such-flag"][..],
        &["no-such-command", "--json"],
        &["approvals", "approve", "--json"],
        &["run", "--level", "everything", "--json", "x"],
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.exit, Some(2), "{ran}");
        assert_eq!(
            ran.json()["error"]["code"],
            "wrong_usage_or_configuration",
            "{ran}"
        );
        assert!(
            !ran.json()["error"]["message"].as_str().unwrap().is_empty(),
            "{ran}"
        );
        assert!(ran.stderr.starts_with("error: "), "{ran}");
    }
    // What belongs to the command that is asked about is no option of ours.
    let quoted = home.run(&["run", "--no-such-flag", "--", "--json"]);
    assert_eq!(quoted.stdout, "", "{quoted}");
}

#[test]
fn a_store_that_is_not_there_is_not_shown_as_an_empty_one() {
    let home = Home::empty();
    let missing = home.path("work/typo/interlock.db");
    let store = format!("sqlite:{}", missing.display());
    for looking in [
        &["sessions"][..],
        &["show", "ses_1"],
        &["approvals"],
        &["approvals", "show", "hold_1"],
        &["audit"],
        &["audit", "verify"],
        &["bundle", "ses_1"],
    ] {
        let ran = home.run(&[looking, &["--store", &store]].concat());
        assert!(matches!(ran.exit, Some(1 | 2)), "{looking:?} {ran}");
        assert!(
            ran.stderr.contains(missing.to_str().unwrap()),
            "{looking:?} {ran}"
        );
        assert!(!missing.parent().unwrap().exists(), "{looking:?} created it");
        let key = home.path("config/interlock/record.key");
        assert!(!key.exists(), "{looking:?} created a key for it");
    }
}
