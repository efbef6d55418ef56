//! Secrets in everything that the program prints and writes, with the real binary. With masking, none is anywhere; without it,
//! each output shows one: so the search is shown to work for each.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use interlock_mask::Kind;
use serde_json::{Value, json};
use support::server::Server;
use support::{Home, Ran};

/// The secrets, by where they come in. None is a part of another.
const SECRETS: &[(&str, &str)] = &[
    ("question", "ghp_Q1aZ2sX3dC4fV5gB6hN7jM8kL9qW0eR1tY2u"),
    ("model text", "ghp_T1zZ9xX8cC7vV6bB5nN4mM3aA2sS1dD0fF9g"),
    ("model argument", "ghp_A7pP6oO5iI4uU3yY2tT1rR9eE8wW7qQ6lL5k"),
    ("result of a tool", "ghp_R3kK4jJ5hH6gG7fF8dD9sS0aA1pP2oO3iI4u"),
    ("edit of a person", "ghp_E2wW3eE4rR5tT6yY7uU8iI9oO1pP2aA3sS4d"),
    ("reason of a denial", "ghp_D5qQ4wW3eE2rR1tT9yY8uU7iI6oO5pP4aA3s"),
];

fn secret(name: &str) -> &'static str {
    SECRETS.iter().find(|(known, _)| *known == name).unwrap().1
}

/// Which of the secrets a text holds. A part of one is enough.
fn found(text: &str) -> BTreeSet<&'static str> {
    let holds = |value: &str| {
        value.as_bytes()[4..].windows(10).any(|part| {
            let part = std::str::from_utf8(part).unwrap();
            text.contains(part)
        })
    };
    SECRETS
        .iter()
        .filter(|(_, value)| holds(value))
        .map(|(name, _)| *name)
        .collect()
}

/// A home whose model repeats secrets, reads some and wants to write some. `mask` is its configuration of masking.
fn home(mask: &str) -> Home {
    let home = Home::empty();
    let file = home.work("settings");
    std::fs::write(&file, format!("token {}\n", secret("result of a tool"))).unwrap();
    // A write with a masked argument would be refused, so the model's own plan holds none.
    let command = format!("touch {}", home.work("made"));
    let script = json!({ "replies": [
        { "calls": [{ "tool": "infra_query", "arguments": { "action": "search", "query": "localhost" } }] },
        { "text": format!("I use {} now.", secret("model text")), "calls": [
            { "tool": "infra_read", "arguments": {
                "action": "exec", "target_host": "localhost", "command": format!("cat {file}") } },
            { "tool": "infra_read", "arguments": {
                "action": "exec", "target_host": "localhost",
                "command": format!("grep -c {} {file}", secret("model argument")) } },
        ] },
        { "calls": [{ "tool": "infra_control", "arguments": {
            "action": "command", "target_host": "localhost", "command": command } }] },
        { "text": format!("It is {}.", secret("model text")) },
    ]});
    home.write("config/interlock/script.yaml", &script.to_string());
    home.write(
        "config/interlock/interlock.yaml",
        &format!(
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\ncontrol:\n  level: controlled\n{mask}\
             record:\n  ship:\n    every: 1s\n    file: {}\n",
            home.work("shipped.jsonl")
        ),
    );
    home
}

fn said(ran: &Ran) -> String {
    ran.to_string()
}

/// Waits until a file has a line. Bounded, so that a failure says what is there.
fn first_line(file: &Path) -> String {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.contains('\n') {
            return text;
        }
        assert!(Instant::now() < until, "nothing was shipped");
        std::thread::yield_now();
    }
}

/// Plays the story, and gives back everything that was printed and written, by its name.
fn sinks(home: &Home) -> Vec<(&'static str, String)> {
    let question = format!("is {} in use?", secret("question"));
    let asked = home.run(&["-vv", "run", "--json", &question]);
    let session = asked.json()["session_id"].as_str().unwrap().to_owned();
    let hold = asked.json()["holds"][0]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let edited = format!(
        "command=touch {} {}",
        home.work("other"),
        secret("edit of a person")
    );
    let edited = home.run(&["approvals", "edit", &hold, "--set", &edited, "--json"]);
    let hold = match edited.exit {
        Some(0) => edited.json()["hold_id"].as_str().unwrap().to_owned(),
        _ => hold,
    };
    let waits = said(&home.run(&["approvals"]));
    let shown = said(&home.run(&["approvals", "show", &hold]));
    let shown_json = said(&home.run(&["approvals", "show", &hold, "--json"]));
    let server = Server::start(home, &["--no-workers"]);
    let shipped = first_line(Path::new(&home.work("shipped.jsonl")));
    drop(server);
    let reason = format!("no {}", secret("reason of a denial"));
    let denied = said(&home.run(&["approvals", "deny", &hold, "--reason", &reason, "--no-run"]));
    let resumed = said(&home.run(&["-vv", "--log-format", "json", "resume", &session]));
    let trace = home.work("trace.json");
    let exported = said(&home.run(&["trace", &session, "--export", &trace]));
    let bundle = home.work("session.bundle");
    let bundled = said(&home.run(&["bundle", &session, "--output", &bundle]));
    let key = home.run(&["record", "key", "--json"]).json()["public_key"]
        .as_str()
        .unwrap()
        .to_owned();
    vec![
        ("run --json, log as text", said(&asked)),
        ("approvals", waits),
        ("approvals show", shown),
        ("approvals show --json", shown_json),
        ("approvals deny", denied),
        ("resume, log as JSON", resumed),
        ("approvals edit --json", said(&edited)),
        ("file of record.ship", shipped),
        ("show", said(&home.run(&["show", &session]))),
        ("show --json", said(&home.run(&["show", &session, "--json"]))),
        ("sessions", said(&home.run(&["sessions"]))),
        ("sessions --json", said(&home.run(&["sessions", "--json"]))),
        ("trace", said(&home.run(&["trace", &session]))),
        ("trace --json", said(&home.run(&["trace", &session, "--json"]))),
        ("trace --export", exported),
        ("file of trace --export", std::fs::read_to_string(&trace).unwrap()),
        ("bundle", bundled),
        ("file of bundle", std::fs::read_to_string(&bundle).unwrap()),
        ("verify", said(&home.run(&["verify", &bundle, "--key", &key]))),
        (
            "verify --json",
            said(&home.run(&["verify", &bundle, "--key", &key, "--json"])),
        ),
        ("audit", said(&home.run(&["audit"]))),
        ("audit --json", said(&home.run(&["audit", "--json"]))),
    ]
}

#[test]
fn a_secret_is_in_nothing_that_the_program_prints_or_writes() {
    let sinks = sinks(&home(""));
    for (sink, words) in [
        ("show", "masked"),
        ("show --json", "masked"),
        ("trace --json", "masked"),
        ("file of bundle", "masked"),
        ("file of record.ship", "signature"),
        ("audit", "hold.edit_refused"),
    ] {
        let text = &sinks.iter().find(|(name, _)| *name == sink).unwrap().1;
        assert!(text.contains(words), "`{words}` is not in {sink}:\n{text}");
    }
    for (sink, text) in &sinks {
        assert_eq!(found(text), BTreeSet::new(), "{sink}:\n{text}");
    }
}

/// What shows no text of a session at all, and why.
const BLIND: &[(&str, &str)] = &[
    (
        "file of record.ship",
        "a checkpoint is numbers, hashes and a signature",
    ),
    ("trace --export", "says where the file is"),
    ("bundle", "says where the file is"),
    (
        "approvals deny",
        "says which hold was denied, and what to run next",
    ),
    ("audit", "who did what and when; the facts are in --json"),
    ("verify --json", "counts, hashes and faults"),
];

#[test]
fn without_masking_every_output_shows_a_secret() {
    let off: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| **kind != Kind::Configured)
        .map(|kind| kind.as_str())
        .collect();
    let sinks = sinks(&home(&format!("mask:\n  off: {}\n", Value::from(off))));
    let blind: BTreeSet<&str> = sinks
        .iter()
        .filter(|(_, text)| found(text).is_empty())
        .map(|(sink, _)| *sink)
        .collect();
    assert_eq!(blind, BLIND.iter().map(|(sink, _)| *sink).collect());
    let all: BTreeSet<&str> = sinks.iter().flat_map(|(_, text)| found(text)).collect();
    assert_eq!(all, SECRETS.iter().map(|(name, _)| *name).collect());
    // A checkpoint has nothing in it that could hold a text.
    let (_, shipped) = sinks
        .iter()
        .find(|(sink, _)| *sink == "file of record.ship")
        .unwrap();
    let checkpoint: Value = serde_json::from_str(shipped.lines().next().unwrap()).unwrap();
    let members: BTreeSet<&str> = checkpoint
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        members,
        [
            "at",
            "audit_hash",
            "audit_number",
            "number",
            "public_key",
            "seal_hash",
            "seal_number",
            "signature"
        ]
        .into()
    );
}

/// Runs the binary with this in its environment.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test of the binary has to start it"
)]
fn run_with_variable(home: &Home, (name, value): (&str, &str), arguments: &[&str]) -> Ran {
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_interlock"))
        .args(arguments)
        .env_clear()
        .env("HOME", home.path(""))
        .env("XDG_CONFIG_HOME", home.path("config"))
        .env("XDG_DATA_HOME", home.path("data"))
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env(name, value)
        .current_dir(home.path("work"))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    support::ended(child)
}

/// A value from the environment is in no error about the configuration, in no check and in no line of the log, in whatever key
/// it stands and in whatever case a library writes it.
#[test]
fn a_value_from_the_environment_is_repeated_nowhere() {
    let value = "Zq7-Sup3rS3cret-Qz9";
    let model = |more: &str| {
        format!(
            "models:\n  demo:\n    provider: openai\n    model: m\n    retries: {{ attempts: 1 }}\n{more}"
        )
    };
    let cases = [
        (
            "the host of an address",
            model("    base_url: http://${SECRET}.invalid/v1\n"),
        ),
        (
            "the path of an address",
            model("    base_url: http://127.0.0.1:1/${SECRET}\n"),
        ),
        (
            "a user in an address",
            model("    base_url: http://${SECRET}:x@127.0.0.1:1/v1\n"),
        ),
        ("no address", model("    base_url: ${SECRET}\n")),
        (
            "a provider",
            "models:\n  demo:\n    provider: ${SECRET}\n".to_owned(),
        ),
        ("a number", "queue:\n  workers: ${SECRET}\n".to_owned()),
        ("a level", "control:\n  level: ${SECRET}\n".to_owned()),
        (
            "a duration",
            "record:\n  ship:\n    every: ${SECRET}\n    file: x\n".to_owned(),
        ),
        ("a store", "store: ${SECRET}\n".to_owned()),
        (
            "a path of a store",
            "store: sqlite:/nowhere/${SECRET}/x.db\n".to_owned(),
        ),
        ("a listener", "server:\n  listen: ${SECRET}\n".to_owned()),
        (
            "a pattern",
            "mask:\n  custom:\n    - name: x\n      pattern: \"(${SECRET}\"\n".to_owned(),
        ),
        (
            "the name of a model",
            format!("{}defaults:\n  model: ${{SECRET}}\n", model("")),
        ),
        ("a fallback", model("    fallback: [\"${SECRET}\"]\n")),
        (
            "a script",
            "models:\n  demo:\n    provider: scripted\n    script: ${SECRET}.yaml\n".to_owned(),
        ),
        (
            "a header",
            model("    base_url: http://127.0.0.1:1\n    headers: { x-key: \"${SECRET}\" }\n"),
        ),
    ];
    let commands: &[&[&str]] = &[
        &["config", "check"],
        &["config", "check", "--json"],
        &["config", "show"],
        &["doctor"],
        &["doctor", "--json"],
        &["model", "list", "--json"],
        &["-vv", "run", "--json", "is all well?"],
        &["-vv", "--log-format", "json", "run", "is all well?"],
        &["sessions", "--json"],
    ];
    for (what, config) in cases {
        let home = Home::empty();
        home.write("config/interlock/interlock.yaml", &config);
        for command in commands {
            let ran = run_with_variable(&home, ("SECRET", value), command);
            let told = ran.to_string().to_ascii_lowercase();
            assert!(
                !told.contains(&value.to_ascii_lowercase()),
                "{what}: {command:?}:\n{ran}"
            );
        }
        for entry in std::fs::read_dir(home.path("data")).unwrap().flatten() {
            let Ok(files) = std::fs::read_dir(entry.path()) else {
                continue;
            };
            for file in files.flatten().filter(|file| file.path().is_file()) {
                let bytes = std::fs::read(file.path()).unwrap();
                let kept = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
                assert!(
                    !kept.contains(&value.to_ascii_lowercase()),
                    "{what}: {:?}",
                    file.path()
                );
            }
        }
    }
}

/// A pattern for one source masks what that source returns, wherever it is kept, shown and sent, and nothing else.
#[test]
fn a_pattern_for_one_source_masks_that_source_everywhere() {
    let home = Home::empty();
    let file = home.work("tickets");
    std::fs::write(&file, "open: TICKET-48151623\n").unwrap();
    let script = json!({ "replies": [
        { "calls": [{ "tool": "infra_query", "arguments": { "action": "search", "query": "localhost" } }] },
        { "calls": [{ "tool": "infra_read", "arguments": {
            "action": "exec", "target_host": "localhost", "command": format!("cat {file}") } }] },
        { "text": "One ticket is open." },
    ]});
    home.write("config/interlock/script.yaml", &script.to_string());
    let config = |pattern: &str| {
        format!(
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\nmask:\n  tools:\n    infra_read:\n      \
             groups: [all]\n      custom:\n        - name: ticket\n          pattern: '{pattern}'\n"
        )
    };
    home.write("config/interlock/interlock.yaml", &config("TICKET-[0-9]+"));
    let asked = home.run(&["run", "--json", "is TICKET-42424242 open?"]);
    assert_eq!(asked.exit, Some(0), "{asked}");
    let session = asked.json()["session_id"].as_str().unwrap().to_owned();
    let trace = home.run(&["trace", &session, "--json"]).stdout;
    let request = home.work("trace.json");
    assert_eq!(home.run(&["trace", &session, "--export", &request]).exit, Some(0));
    let exported = std::fs::read_to_string(&request).unwrap();
    let shown = home.run(&["show", &session, "--json"]).stdout;
    let mut store = Vec::new();
    for name in ["interlock.db", "interlock.db-wal"] {
        store.extend(std::fs::read(home.path("data/interlock").join(name)).unwrap_or_default());
    }
    for (sink, text) in [
        ("trace", trace.as_bytes()),
        (
            "exported trace, with the requests to the model",
            exported.as_bytes(),
        ),
        ("show", shown.as_bytes()),
        ("store", &store),
    ] {
        let text = String::from_utf8_lossy(text);
        assert!(!text.contains("48151623"), "{sink} holds what the tool returned");
    }
    for (sink, text) in [
        ("exported trace", exported.as_str()),
        ("store", &String::from_utf8_lossy(&store)),
    ] {
        assert!(text.contains("[masked:ticket]"), "{sink}");
        // What a person asked is another source.
        assert!(text.contains("TICKET-42424242"), "{sink}");
    }

    home.write("config/interlock/interlock.yaml", &config("TICKET-("));
    for command in [
        &["config", "check"][..],
        &["run", "is all well?"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["work"],
    ] {
        let ran = home.run(command);
        assert_eq!(ran.exit, Some(2), "{command:?}: {ran}");
        let told = format!("{}{}", ran.stdout, ran.stderr);
        for words in ["mask.tools.infra_read", "`ticket` does not compile"] {
            assert!(told.contains(words), "{command:?}: no `{words}` in\n{ran}");
        }
    }
}

/// Texts with many secrets, each longer than `bytes`. A secret is `CANARY` and a number; in some of the texts only what stands
/// far before it shows that it is one.
fn long_texts(bytes: usize) -> Vec<String> {
    let many = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < bytes {
            text += &line(number);
            number += 1;
        }
        text
    };
    let canary = |number: usize| format!("CANARY{number:06}xQ7zK2mW9pL4");
    // Letters that base64 has, so that it looks like the body of a key.
    let body = many(&|number| format!("{:A<64}\n", canary(number)));
    let member = |number: usize| format!(r#"{{"name":"API_TOKEN","value":"{}"}},"#, canary(number));
    let secret = |number: usize| {
        format!(
            "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: s{number}\n  data:\n    a: {0}\n    b: {0}\n",
            canary(number)
        )
    };
    vec![
        // A key without an end, and one with an end.
        format!("-----BEGIN PRIVATE KEY-----\n{body}"),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"),
        many(&|number| format!("DB_PASSWORD_{number}={}\n", canary(number))),
        format!("[{}0]", many(&member)),
        format!("apiVersion: v1\nkind: List\nitems:\n{}", many(&secret)),
        many(&|number| format!("token={}\n", canary(number).repeat(40))),
    ]
}

/// What is too long is masked before it is cut, whatever reads it: a cut in front of a secret would leave out what shows that it
/// is one.
fn session_of_long_outputs(mask: &str) -> (String, usize) {
    const ROOM: usize = 2000;
    let home = Home::empty();
    let mut calls = Vec::new();
    for times in [1, 2, 3, 5, 10] {
        for (number, text) in long_texts(ROOM * times).into_iter().enumerate() {
            let file = home.work(&format!("text-{number}-{times}"));
            std::fs::write(&file, text).unwrap();
            let read = |action: &str, rest: Value| {
                let mut arguments = json!({ "action": action, "target_host": "localhost" });
                arguments
                    .as_object_mut()
                    .unwrap()
                    .extend(rest.as_object().unwrap().clone());
                json!({ "tool": "infra_read", "arguments": arguments })
            };
            calls.extend([
                read("exec", json!({ "command": format!("cat {file}") })),
                // Written to the other stream, and failed.
                read("exec", json!({ "command": format!("cat {file} /no/such/file") })),
                read("file", json!({ "path": file })),
                read("tail", json!({ "path": file, "lines": 10_000 })),
                json!({ "tool": "read_file", "arguments": { "path": file } }),
            ]);
        }
    }
    let count = calls.len();
    let mut replies = vec![
        json!({ "calls": [{ "tool": "infra_query", "arguments": { "action": "search", "query": "localhost" } }] }),
    ];
    replies.extend(calls.chunks(10).map(|calls| json!({ "calls": calls })));
    replies.push(json!({ "text": "Done." }));
    home.write(
        "config/interlock/script.yaml",
        &json!({ "replies": replies }).to_string(),
    );
    home.write(
        "config/interlock/interlock.yaml",
        &format!(
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\ntools:\n  output_bytes: {ROOM}\n\
             defaults:\n  max_iterations: 100\n{mask}"
        ),
    );
    let asked = home.run(&["run", "--json", "look"]);
    let session = asked.json()["session_id"].as_str().unwrap().to_owned();
    let bundle = home.work("session.bundle");
    said(&home.run(&["bundle", &session, "--output", &bundle]));
    let kept = std::fs::read_to_string(&bundle).unwrap()
        + &said(&home.run(&["show", &session, "--messages", "--json"]));
    (kept, count)
}

#[test]
fn a_long_output_is_masked_before_it_is_cut() {
    let (kept, count) = session_of_long_outputs("");
    // A key is one short mark; what else is too long is cut.
    let cut = kept.matches("bytes left out").count();
    assert!(cut > count, "{cut} cuts in {count} outputs");
    let at = kept.find("CANARY").map(|at| {
        let (from, to) = (
            kept.floor_char_boundary(at.saturating_sub(500)),
            kept.ceil_char_boundary(at + 100),
        );
        &kept[from..to]
    });
    assert_eq!(at, None);
}

#[test]
fn without_masking_a_long_output_shows_secrets() {
    let off: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| **kind != Kind::Configured)
        .map(|kind| kind.as_str())
        .collect();
    let (kept, count) = session_of_long_outputs(&format!("mask:\n  off: {}\n", Value::from(off)));
    assert!(kept.matches("CANARY").count() > count);
}
