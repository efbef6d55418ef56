//! The record from end to end, with the real binary: a store that was cut off, a key that was replaced, checkpoints that are
//! sent elsewhere, files that are written.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Home, READS, Ran, ended};

const STORE: &str = "data/interlock/interlock.db";

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// A home in which one question was answered; and the session.
fn answered() -> (Home, String) {
    let home = Home::with_script(READS);
    let session = ask(&home);
    (home, session)
}

fn ask(home: &Home) -> String {
    let ran = home.run(&["run", "--json", "what fills the disk?"]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    text(&ran.json(), "session_id").to_owned()
}

fn public_key(home: &Home) -> String {
    text(&home.run(&["record", "key", "--json"]).json(), "public_key").to_owned()
}

#[track_caller]
fn exits(ran: &Ran, code: i32, says: &[&str]) {
    assert_eq!(ran.exit, Some(code), "{ran}");
    for words in says {
        assert!(
            ran.stdout.contains(words) || ran.stderr.contains(words),
            "no `{words}` in\n{ran}"
        );
    }
}

/// An older copy of the store is put in its place. The mark beside the key says so; so does a checkpoint that was kept
/// elsewhere, where there is no mark.
#[test]
fn a_store_that_was_cut_off_is_refused_and_found() {
    let (home, _) = answered();
    let (store, copy) = (home.path(STORE), home.path("copy.db"));
    std::fs::copy(&store, &copy).unwrap();
    ask(&home);
    let head = home.run(&["record", "head", "--json"]);
    let shipped = home.work("shipped.jsonl");
    std::fs::write(&shipped, &head.stdout).unwrap();
    exits(
        &home.run(&["audit", "verify", "--checkpoint", &shipped]),
        0,
        &[
            "1 checkpoints from elsewhere",
            "the mark beside the signing key is of",
        ],
    );
    std::fs::copy(&copy, &store).unwrap();
    exits(
        &home.run(&["run", "again"]),
        2,
        &["is missing", "interlock record adopt", "record.marks"],
    );
    exits(&home.run(&["audit", "verify"]), 1, &["changed:", "  mark "]);
    // Stopping writes does not depend on it.
    exits(&home.run(&["kill-switch", "on"]), 0, &["no write begins"]);
    // On a machine without the mark, the checkpoint that was kept elsewhere says the same.
    std::fs::copy(&copy, &store).unwrap();
    std::fs::rename(home.path("config/interlock/record.marks"), home.path("gone")).unwrap();
    exits(
        &home.run(&["audit", "verify"]),
        0,
        &["this machine keeps no mark of this store"],
    );
    let ran = home.run(&["audit", "verify", "--checkpoint", &shipped]);
    exits(&ran, 1, &["shipped.jsonl: checkpoint", "seal", "is missing"]);
    let form = home.run(&["audit", "verify", "--json", "--checkpoint", &shipped]);
    assert_eq!(form.json()["intact"], false, "{form}");
    assert!(form.json()["shipped"][0]["fault"].is_string(), "{form}");
    let seal = text(&head.json(), "seal_hash").to_owned();
    exits(
        &home.run(&["audit", "verify", "--head", &seal]),
        1,
        &["no audit entry and no seal has the hash"],
    );
    // With the mark again: somebody says that the backup is the one to go on with.
    std::fs::rename(home.path("gone"), home.path("config/interlock/record.marks")).unwrap();
    exits(
        &home.run(&["record", "adopt"]),
        0,
        &["the store was refused: ", "it is signed as it is from now on"],
    );
    exits(&home.run(&["record", "adopt"]), 0, &["there is nothing to adopt"]);
    exits(&home.run(&["audit", "verify"]), 0, &["intact"]);
    let entries = home.run(&["audit", "--action", "record.", "--json"]).json_lines();
    assert!(
        text(&entries[0]["details"], "why").contains("is missing"),
        "{entries:?}"
    );
    ask(&home);
}

/// What `--checkpoint` takes: a line, many lines, a document over several lines, a folder, what a syslog server wrote. What
/// holds no checkpoint is an error, not a pass.
#[test]
fn checkpoints_are_read_in_every_form_in_which_they_are_kept() {
    let (home, _) = answered();
    let one = home.run(&["record", "head", "--json"]).json();
    ask(&home);
    let two = home.run(&["record", "head", "--json"]).json();
    let pretty = serde_json::to_string_pretty(&one).unwrap();
    let folder = home.path("work/kept");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a"), format!("{one}\n{two}\n")).unwrap();
    std::fs::write(folder.join("b"), "nothing of ours\n").unwrap();
    for (name, content, count) in [
        ("line", format!("{one}"), 1),
        ("lines", format!("{one}\n{two}\n"), 2),
        ("pretty", pretty, 1),
        (
            "syslog",
            format!("<109>1 2026-01-01T00:00:00Z - interlock - checkpoint - {one}\nother\n"),
            1,
        ),
        ("cut", format!("{one}\n{}", &two.to_string()[..99]), 1),
        // In the middle of a file it was not cut off while it was written.
        ("damaged", format!("{}\n{two}\n", &one.to_string()[..99]), 1),
        ("kept", String::new(), 2),
        ("nothing", "{}\nx\n".to_owned(), 0),
        ("empty", String::new(), 0),
    ] {
        let path = home.work(name);
        if !Path::new(&path).is_dir() {
            std::fs::write(&path, content).unwrap();
        }
        let ran = home.run(&["audit", "verify", "--json", "--checkpoint", &path]);
        if count == 0 {
            exits(&ran, 2, &["holds no checkpoint"]);
        } else if name == "damaged" {
            assert_eq!(ran.exit, Some(1), "{name}: {ran}");
            let lines = &ran.json()["shipped_lines"];
            assert_eq!(
                lines["damaged"],
                serde_json::json!([format!("{path}:1")]),
                "{ran}"
            );
            exits(
                &home.run(&["audit", "verify", "--checkpoint", &path]),
                1,
                &["damaged:1: this checkpoint is damaged and was not compared"],
            );
        } else {
            assert_eq!(ran.exit, Some(0), "{name}: {ran}");
            assert_eq!(ran.json()["shipped"].as_array().unwrap().len(), count, "{name}");
        }
    }
    // A checkpoint of another server is not taken for one of this.
    let (other, _) = answered();
    let foreign = home.work("foreign");
    std::fs::write(&foreign, other.run(&["record", "head", "--json"]).stdout).unwrap();
    exits(
        &home.run(&["audit", "verify", "--checkpoint", &foreign]),
        1,
        &["which is not trusted"],
    );
    let missing = home.work("missing");
    exits(
        &home.run(&["audit", "verify", "--checkpoint", &missing]),
        2,
        &["cannot be read"],
    );
}

/// The rotation that the manual describes: afterwards everything that was signed before still counts, and what is signed from
/// then on is checked with the new key alone.
#[test]
fn a_key_is_replaced_as_the_manual_says() {
    let (home, before) = answered();
    let earlier = public_key(&home);
    let next = home.path("config/interlock/next.key").display().to_string();
    let made = home.run(&["record", "key", "--new", &next, "--json"]);
    let later = text(&made.json(), "public_key").to_owned();
    let model = "models:\n  demo:\n    provider: scripted\n    script: script.yaml\n";
    // Without the earlier key the store is not opened, and the message names the key that is missing.
    let configure = |previous: &str| {
        home.write(
            "config/interlock/interlock.yaml",
            &format!("{model}record:\n  key: {{ file: next.key }}\n  previous_keys: [{previous}]\n"),
        );
    };
    configure("");
    exits(
        &home.run(&["run", "again"]),
        2,
        &[&earlier, "record.previous_keys"],
    );
    configure(&format!("\"{earlier}\""));
    // The printed command works at once, before anything else was done.
    let file = home.work("incident.bundle");
    let written = home.run(&["bundle", &before, "--output", &file]);
    exits(&written, 0, &[&format!("interlock verify {file} --key {later}")]);
    let elsewhere = Home::empty();
    exits(
        &elsewhere.run(&["verify", &file, "--key", &later]),
        0,
        &["VERIFIED: "],
    );
    exits(
        &elsewhere.run(&["verify", &file, "--key", &earlier]),
        1,
        &["NOT VERIFIED", &later],
    );
    exits(&home.run(&["audit", "verify"]), 0, &["intact"]);
    // The mark of the earlier key still counts: the store cannot be cut off across a rotation.
    ask(&home);
    exits(&home.run(&["audit", "verify"]), 0, &["intact", "the mark beside"]);
    let trace = home.work("trace.json");
    exits(&home.run(&["trace", &before, "--export", &trace]), 0, &[]);
    exits(
        &elsewhere.run(&["trace", "--replay", &trace, "--key", &later]),
        0,
        &[],
    );
}

/// Checking never makes a key, and says what to name instead.
#[test]
fn a_check_creates_no_key() {
    let (home, session) = answered();
    let trace = home.work("trace.json");
    exits(&home.run(&["trace", &session, "--export", &trace]), 0, &[]);
    let copy = home.work("copy.db");
    std::fs::copy(home.path(STORE), &copy).unwrap();
    let elsewhere = Home::empty();
    let store = format!("sqlite:{copy}");
    for arguments in [
        &["trace", "--replay", trace.as_str()][..],
        &["--store", store.as_str(), "audit", "verify"],
    ] {
        exits(&elsewhere.run(arguments), 2, &["--key"]);
    }
    let left: Vec<PathBuf> = elsewhere
        .path("config/interlock")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    let key = public_key(&home);
    exits(
        &elsewhere.run(&["--store", &store, "audit", "verify", "--key", &key]),
        0,
        &["intact"],
    );
}

/// All writes are stopped also where the key is gone; the next start with the key signs it.
/// A store whose schema was changed is refused by what it is called, and `audit verify` says everything that was changed in it.
#[test]
fn a_changed_schema_is_refused_and_found() {
    let (home, session) = answered();
    let conn = rusqlite::Connection::open(home.path(STORE)).unwrap();
    exits(&home.run(&["audit", "verify"]), 0, &["intact"]);
    conn.execute_batch(
        "DROP TRIGGER audit_stays; DROP INDEX sessions_open; CREATE TRIGGER evil AFTER INSERT ON audit BEGIN SELECT 1; END",
    )
    .unwrap();
    let all = [
        "index sessions_open: it is missing from the schema",
        "trigger audit_stays: it is missing from the schema",
        "trigger evil: it was added to the schema outside Interlock",
    ];
    exits(&home.run(&["audit", "verify"]), 1, &all);
    exits(&home.run(&["audit", "verify", "--log-only"]), 1, &all);
    let named = [
        "the index `sessions_open` is missing from the database",
        "interlock audit verify",
    ];
    exits(&home.run(&["show", &session]), 2, &named);
    exits(&home.run(&["run", "what fills the disk?"]), 2, &named);
    exits(&home.run(&["record", "adopt"]), 2, &named);
    exits(&home.run(&["kill-switch", "on"]), 0, &[]);
    // Without this table there is nothing that could be checked.
    conn.execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE seals")
        .unwrap();
    exits(
        &home.run(&["audit", "verify"]),
        1,
        &["is missing from the database"],
    );
}

#[test]
fn writes_are_stopped_without_the_key() {
    let (home, _) = answered();
    let key = home.path("config/interlock/record.key");
    for damage in ["gone", "damaged", "another"] {
        let kept = std::fs::read(&key).unwrap();
        match damage {
            "gone" => std::fs::remove_file(&key).unwrap(),
            "damaged" => std::fs::write(&key, "x").unwrap(),
            _ => {
                std::fs::remove_file(&key).unwrap();
                home.run(&["record", "key", "--new", &key.display().to_string()]);
            }
        }
        exits(
            &home.run(&["kill-switch", "on"]),
            0,
            &["no write begins", "what is done now is signed later"],
        );
        let _ = std::fs::remove_file(&key);
        std::fs::write(&key, kept).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        exits(&home.run(&["kill-switch", "status"]), 0, &["no write begins"]);
        exits(&home.run(&["audit", "verify"]), 0, &["intact"]);
        exits(&home.run(&["kill-switch", "off"]), 0, &["decided as usual"]);
    }
}

/// A session whose rows are not those that were signed is shown as that, and so is every run of it.
#[test]
fn a_changed_session_is_shown_as_changed() {
    let (home, session) = answered();
    exits(
        &home.run(&["trace", &session, "--check"]),
        0,
        &["every decision is the same"],
    );
    let conn = rusqlite::Connection::open(home.path(STORE)).unwrap();
    assert!(
        conn.execute("UPDATE evidence SET body = body || ' '", [])
            .unwrap()
            > 0,
        "nothing was read"
    );
    drop(conn);
    let ran = home.run(&["show", &session]);
    exits(
        &ran,
        0,
        &["What was done and read\n  ✗ The record of this session was changed outside Interlock (evidence)."],
    );
    let form = home.run(&["show", &session, "--json"]).json();
    assert_eq!(form["head"]["record"]["state"], "altered", "{form}");
    exits(
        &home.run(&["trace", &session, "--check"]),
        1,
        &["does not prove what it says"],
    );
    // Whoever only looks is told first.
    let ran = home.run(&["trace", &session]);
    exits(
        &ran,
        1,
        &["✗ The record of this session was changed outside Interlock (evidence)."],
    );
    assert!(ran.stdout.starts_with('✗'), "{ran}");
    let file = home.work("altered.json");
    for arguments in [
        &["trace", &session, "--json"][..],
        &["trace", &session, "--export", &file],
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.exit, Some(1), "{ran}");
        assert!(ran.stderr.contains("was changed outside Interlock"), "{ran}");
    }
    exits(&home.run(&["bundle", &session]), 1, &["no bundle was made"]);
    exits(&home.run(&["audit", "verify"]), 1, &[&session]);
}

/// An orderly stop sends what was signed since the last time.
#[test]
fn a_server_that_stops_sends_the_last_checkpoint() {
    let (home, _) = answered();
    let shipped = home.work("shipped.jsonl");
    let server = serving_every(&home, "1h", &format!("    file: {shipped}\n"));
    assert_eq!(lines(Path::new(&shipped), 1).len(), 1);
    exits(&home.run(&["user", "add", "zoe", "--role", "viewer"]), 0, &[]);
    let head = home.run(&["record", "head", "--json"]).json();
    let number = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(number, rustix::process::Signal::TERM).unwrap();
    let stopped = ended(server);
    assert_eq!(stopped.exit, Some(0), "{stopped}");
    let sent = lines(Path::new(&shipped), 2);
    let last: Value = serde_json::from_str(sent.last().unwrap()).unwrap();
    assert!(
        last["audit_number"].as_u64() >= head["audit_number"].as_u64(),
        "{last} {head}"
    );
    assert_eq!(sent.len(), 2, "{sent:?}");
}

/// What is exported goes into a file of that name, and nowhere else.
#[test]
fn an_export_follows_no_link() {
    let (home, session) = answered();
    let victim = home.path("work/victim");
    std::fs::write(&victim, "precious").unwrap();
    let link = home.path("work/link");
    symlink(&victim, &link).unwrap();
    let dangling = home.path("work/dangling");
    symlink(home.path("work/nothing"), &dangling).unwrap();
    let hard = home.path("work/hard");
    std::fs::hard_link(&victim, &hard).unwrap();
    let shown = |path: &Path| path.display().to_string();
    for target in [&link, &dangling] {
        for arguments in [
            ["trace", &session, "--export", &shown(target)],
            ["bundle", &session, "--output", &shown(target)],
        ] {
            exits(&home.run(&arguments), 2, &["symbolic link"]);
        }
    }
    // A second name of another file is replaced, not written through.
    exits(&home.run(&["trace", &session, "--export", &shown(&hard)]), 0, &[]);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!home.path("work/nothing").exists());
    // Whatever swaps the name while it is written: the file is replaced by its name.
    let racing = home.path("work/racing");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let swapping = std::thread::scope(|scope| {
        let (stop, racing, victim) = (&stop, &racing, &victim);
        scope.spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = std::fs::remove_file(racing);
                let _ = symlink(victim, racing);
            }
        });
        for _ in 0..5 {
            home.run(&["trace", &session, "--export", &shown(racing)]);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        std::fs::read_to_string(victim).unwrap()
    });
    assert_eq!(swapping, "precious");
    let left: Vec<String> = home
        .path("work")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".interlock-"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// A server that keeps what was posted to it.
fn webhook(answers: bool) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/checkpoints", listener.local_addr().unwrap());
    let (posted, received) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Kept open: whoever waits for an answer waits.
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if !answers {
                silent.push(stream);
                continue;
            }
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream
                .write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
                .unwrap();
            if posted.send(String::from_utf8(body).unwrap()).is_err() {
                break;
            }
        }
    });
    (url, received)
}

/// Starts a server that sends checkpoints; gives back the process.
fn serving(home: &Home, ship: &str) -> std::process::Child {
    serving_every(home, "1s", ship)
}

fn serving_every(home: &Home, every: &str, ship: &str) -> std::process::Child {
    home.write(
        "config/interlock/interlock.yaml",
        &format!(
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\nrecord:\n  ship:\n    every: {every}\n{ship}"
        ),
    );
    let mut server = home.start(&["--json", "serve", "--no-workers", "--listen", "127.0.0.1:0"]);
    let mut out = BufReader::new(server.stdout.take().unwrap());
    let mut said = String::new();
    while serde_json::from_str::<Value>(&said).is_err() {
        assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    server
}

fn stop(mut server: std::process::Child) -> String {
    server.kill().unwrap();
    ended(server).stderr
}

/// Waits until the file has so many lines. Bounded, so that a failure says what is there.
fn lines(file: &Path, wanted: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= wanted {
            return lines;
        }
        assert!(
            Instant::now() < until,
            "{wanted} lines wanted, there are {lines:?}"
        );
        std::thread::yield_now();
    }
}

/// The signed end goes to a file, to a web address and to a syslog server, again whenever it has moved; and each of them is
/// what `audit verify --checkpoint` takes.
#[test]
fn checkpoints_are_sent_to_every_place_on_schedule() {
    let (home, _) = answered();
    let (url, posted) = webhook(true);
    let syslog = UdpSocket::bind("127.0.0.1:0").unwrap();
    syslog.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let server = serving(
        &home,
        &format!(
            "    file: {}\n    webhook: {url}\n    syslog: {}\n",
            home.work("shipped.jsonl"),
            syslog.local_addr().unwrap()
        ),
    );
    let receive = || {
        let mut bytes = [0; 4096];
        let length = syslog.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let patience = Duration::from_mins(1);
    let mut files = Vec::new();
    for round in 1..=2 {
        let posted = posted.recv_timeout(patience).unwrap();
        let logged = receive();
        assert!(logged.starts_with("<109>1 20"), "{logged}");
        assert!(logged.contains(" - interlock - checkpoint - {"), "{logged}");
        let appended = lines(Path::new(&home.work("shipped.jsonl")), round);
        for (place, content) in [
            ("posted", posted),
            ("logged", logged),
            ("filed", appended.join("\n")),
        ] {
            let file = home.work(&format!("{place}-{round}"));
            std::fs::write(&file, content).unwrap();
            files.push(file);
        }
        // The log moves: that is sent with the next round.
        exits(
            &home.run(&["user", "add", &format!("zoe{round}"), "--role", "viewer"]),
            0,
            &[],
        );
    }
    drop(stop(server));
    for file in &files {
        exits(
            &home.run(&["audit", "verify", "--checkpoint", file]),
            0,
            &["intact"],
        );
    }
    // Private, and not through a link.
    let mode = std::fs::metadata(home.work("shipped.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A peer that is gone and one that never answers keep neither the others nor the server waiting, and what failed is said.
#[test]
fn a_dead_or_slow_peer_stops_nothing() {
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/x", listener.local_addr().unwrap())
    };
    let (silent, _received) = webhook(false);
    for (url, reported) in [(gone, true), (silent, false)] {
        let (home, _) = answered();
        let shipped = PathBuf::from(home.work("shipped.jsonl"));
        let server = serving(
            &home,
            &format!("    file: {}\n    webhook: {url}\n", shipped.display()),
        );
        lines(&shipped, 1);
        // The server itself goes on while the peer is waited for.
        exits(&home.run(&["user", "add", "zoe", "--role", "viewer"]), 0, &[]);
        if reported {
            lines(&shipped, 2);
        }
        let said = stop(server);
        // One that never answers is given up after a while, which this test does not wait for.
        let failed = said.contains("was not sent; the next attempt follows on schedule");
        assert!(failed || !reported, "{said}");
    }
}

/// The signing key of the golden bundle. Everybody knows it.
const GOLDEN_SECRET: &str = "interlock-record-key:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";

/// The keys of every kind of line, without what depends on tools and machines.
fn form(bundle: &str) -> std::collections::BTreeSet<String> {
    fn walk(value: &Value, path: &str, form: &mut std::collections::BTreeSet<String>) {
        const OPEN: &[&str] = &[
            "arguments",
            "data",
            "details",
            "identity",
            "walls",
            "names",
            "rules",
        ];
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let path = format!("{path}.{name}");
                    form.insert(path.clone());
                    if !OPEN.contains(&name.as_str()) {
                        walk(value, &path, form);
                    }
                }
            }
            Value::Array(items) => items
                .iter()
                .for_each(|item| walk(item, &format!("{path}[]"), form)),
            _ => {}
        }
    }
    let mut form = std::collections::BTreeSet::new();
    for line in bundle.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["line"].as_str() {
            Some("catalogue") => {}
            Some(kind) => walk(&line["content"], kind, &mut form),
            None => walk(&line, "header", &mut form),
        }
    }
    form
}

/// What people see of each call of a session is what its rows say: made again from them, the timeline is the same.
fn timeline_is_derived(data: &str, session: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let file = Path::new(data).join("interlock.db");
        let store =
            interlock_store::Store::open(&interlock_store::Options::sqlite(file).read_only()).unwrap();
        let session = session.parse().unwrap();
        let mut shown = store.timeline(&session).await.unwrap();
        shown.retain(|entry| entry.kind == "llm_tool_call");
        let derived = interlock_engine::derived_timeline(&store, &session)
            .await
            .unwrap();
        assert!(shown.len() > 2, "{shown:#?}");
        assert_eq!(shown, derived);
    });
}

/// The demo, bundled, has the form of the golden bundle; and the golden bundle is verified by the binary.
#[test]
fn the_demo_has_the_form_of_the_golden_bundle() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/golden/demo.bundle");
    let home = Home::empty();
    let data = home.path("config/interlock");
    home.write("config/interlock/record.key", GOLDEN_SECRET);
    std::fs::set_permissions(
        data.join("record.key"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let key = public_key(&home);
    let data = data.display().to_string();
    let ran = home.run(&[
        "demo", "--once", "--yes", "--json", "--speed", "8", "--data", &data,
    ]);
    let played = ran.json();
    let file = home.work("demo.bundle");
    if played["isolation"]["isolation"] == "namespaces" {
        assert_eq!(ran.exit, Some(0), "{ran}");
        let session = text(&played["session"], "session_id").to_owned();
        let store = format!("sqlite:{data}/interlock.db");
        exits(
            &home.run(&["--store", &store, "bundle", &session, "--output", &file]),
            0,
            &[],
        );
        exits(&home.run(&["verify", &file, "--key", &key]), 0, &["VERIFIED: "]);
        timeline_is_derived(&data, &session);
        let made = std::fs::read_to_string(&file).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &made).unwrap();
        }
        let (now, then) = (form(&made), form(&std::fs::read_to_string(&golden).unwrap()));
        let added: Vec<_> = now.difference(&then).collect();
        let gone: Vec<_> = then.difference(&now).collect();
        assert!(
            added.is_empty() && gone.is_empty(),
            "the form of a bundle changed: new {added:?}, gone {gone:?}. If that is meant, say so in CHANGELOG.md and write the \
             golden bundle again: UPDATE_GOLDEN=1 cargo nextest run -p interlock --test record golden, then \
             INSTA_UPDATE=always cargo nextest run -p interlock-engine golden"
        );
    } else {
        eprintln!("SKIPPED: no namespaces here, so the demo is not played ({played})");
    }
    let golden = golden.display().to_string();
    exits(
        &Home::empty().run(&["verify", &golden, "--key", &key]),
        0,
        &["VERIFIED: "],
    );
}
