//! Another configuration without a restart, through the real binary: all of it or nothing, and everybody is told which.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::server::Server;
use support::{Home, READS, Ran, WRITES, until};

const MODEL: &str = "models:\n  demo:\n    provider: scripted\n    script: script.yaml\n";
const FILE: &str = "config/interlock/interlock.yaml";

/// A server, and what it writes to its log.
struct Place {
    home: Home,
    server: Server,
    log: Arc<Mutex<String>>,
}

impl Place {
    fn start(config: &str) -> Self {
        Self::with_script(READS, config)
    }

    fn with_script(script: &str, config: &str) -> Self {
        let home = Home::empty();
        home.write("config/interlock/script.yaml", script);
        home.write(FILE, &format!("{MODEL}{config}"));
        let mut server = Server::start(&home, &[]);
        let log: Arc<Mutex<String>> = Arc::default();
        let mut stderr = server.child.stderr.take().unwrap();
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]);
                written.lock().unwrap().push_str(&text);
            }
        });
        Self { home, server, log }
    }

    fn file(&self) -> PathBuf {
        self.home.path(FILE)
    }

    /// Writes another configuration, as an editor does that replaces the file.
    fn configure(&self, config: &str) {
        self.home
            .write("config/interlock/next.yaml", &format!("{MODEL}{config}"));
        std::fs::rename(self.home.path("config/interlock/next.yaml"), self.file()).unwrap();
    }

    fn reload(&self) -> (u16, Value) {
        self.server.post("/api/v1/reload", &json!({}))
    }

    fn command(&self, arguments: &[&str]) -> Ran {
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_interlock"));
        support::ended(
            self.home
                .start_with(program, arguments, &[("INTERLOCK_TOKEN", &self.server.token)]),
        )
    }

    fn hang_up(&self) {
        let pid = rustix::process::Pid::from_child(&self.server.child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    fn overview(&self) -> Value {
        let (status, overview) = self.server.get("/api/v1/overview");
        assert_eq!(status, 200, "{overview}");
        overview
    }

    fn level(&self) -> String {
        self.overview()["level"].as_str().unwrap().to_owned()
    }

    fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.server.get("/metrics");
        let text = text.as_str().unwrap().to_owned();
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// The entries of the audit log about reloads, the oldest first.
    fn audit(&self) -> Vec<Value> {
        let (status, found) = self.server.get("/api/v1/audit?action=configuration.&limit=200");
        assert_eq!(status, 200, "{found}");
        let mut entries = found["entries"].as_array().unwrap().clone();
        entries.reverse();
        entries
    }
}

#[test]
fn a_reload_is_taken_from_the_api_the_command_and_the_signal_and_is_in_the_audit_log() {
    let place = Place::start("control: { level: read_only }\n");
    let hash = place.overview()["configuration"]["hash"].clone();
    place.configure("control: { level: controlled }\n");
    assert_eq!(place.level(), "read_only", "nothing is taken before a reload");

    let (status, reloaded) = place.reload();
    assert_eq!(status, 200, "{reloaded}");
    assert_eq!(reloaded["changed"], json!(["control.level"]));
    assert_eq!(reloaded["before"], hash);
    assert_eq!(place.overview()["configuration"]["hash"], reloaded["now"]);
    assert_eq!(place.level(), "controlled");

    place.configure("control: { level: autonomous, four_eyes: true }\n");
    let ran = place.command(&["reload"]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_eq!(ran.stdout, "reloaded: changed control.four_eyes, control.level\n");
    assert_eq!(place.level(), "autonomous");
    let ran = place.command(&["reload", "--json", "--server", &place.server.url]);
    assert_eq!((ran.exit, &ran.json()["changed"]), (Some(0), &json!([])), "{ran}");

    place.configure("control: { level: read_only }\n");
    place.hang_up();
    until("the level to change", || {
        (place.level() == "read_only").then_some(())
    });

    let entries = place.audit();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["details"]["channel"].as_str().unwrap(),
            )
        })
        .collect();
    let reloaded = "configuration.reloaded";
    assert_eq!(
        told,
        [
            (reloaded, "token"),
            (reloaded, "token"),
            (reloaded, "token"),
            (reloaded, "signal")
        ]
    );
    assert!(
        entries[0]["actor"].is_string() && entries[3]["actor"].is_null(),
        "{entries:?}"
    );
    for pair in entries.windows(2) {
        assert_eq!(
            pair[0]["details"]["now"], pair[1]["details"]["before"],
            "{pair:?}"
        );
    }
    assert_eq!(place.metric("interlock_config_last_reload_successful"), Some(1.0));
    assert_eq!(
        place.metric("interlock_config_reload_total{outcome=\"reloaded\"}"),
        Some(4.0)
    );
}

/// What must not be taken: how the file is made so, and what is said about it.
type Broken = (&'static str, fn(&Place) -> bool, &'static str);

const BROKEN: &[Broken] = &[
    (
        "a half written file",
        |place| write(place, "control: { level: auto"),
        "interlock.yaml:1:",
    ),
    ("an empty file", |place| write(place, " \n"), "it is empty"),
    (
        "an unknown key",
        |place| write(place, "colour: red\n"),
        "interlock.yaml:1:1: `colour`",
    ),
    (
        "a key that this version does not implement",
        |place| write(place, "policies: [a.cedar]\n"),
        "not supported by this version",
    ),
    (
        "a wrong reference",
        |place| write(place, "defaults: { model: nobody }\n"),
        "`defaults.model`",
    ),
    (
        "a pattern that does not compile",
        |place| write(place, "mask: { custom: [{ name: x, pattern: '(' }] }\n"),
        "mask.custom",
    ),
    (
        "a key that needs a restart",
        |place| write(place, "control: { level: autonomous }\nstore: sqlite:other.db\n"),
        "interlock.yaml:2:1: `store`: cannot change while the server runs",
    ),
    (
        "a certificate that is not there",
        |place| write(place, "server: { tls: { certificate: no.pem, key: no.key } }\n"),
        "no.pem",
    ),
    (
        "a folder",
        |place| {
            std::fs::remove_file(place.file()).unwrap();
            std::fs::create_dir(place.file()).unwrap();
            true
        },
        "it is a folder",
    ),
    (
        "nothing at all",
        |place| {
            std::fs::remove_dir(place.file()).unwrap();
            true
        },
        "No such file",
    ),
    (
        "a link that leads nowhere",
        |place| {
            std::os::unix::fs::symlink("nowhere.yaml", place.file()).unwrap();
            true
        },
        "No such file",
    ),
    (
        "a named pipe",
        |place| {
            std::fs::remove_file(place.file()).unwrap();
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, place.file(), kind, 0o600.into(), 0).unwrap();
            true
        },
        "it is no regular file",
    ),
    (
        "a hundred megabytes",
        |place| {
            std::fs::remove_file(place.file()).unwrap();
            let file = std::fs::File::create(place.file()).unwrap();
            file.set_len(100 * 1024 * 1024).unwrap();
            true
        },
        "interlock.yaml",
    ),
    (
        "bytes that are no text",
        |place| {
            std::fs::write(place.file(), b"control: { level: \xff\xfe }\n").unwrap();
            true
        },
        "interlock.yaml",
    ),
    (
        "a file that may not be read",
        |place| {
            write(place, "control: { level: autonomous }\n");
            std::fs::set_permissions(place.file(), std::fs::Permissions::from_mode(0o0)).unwrap();
            let readable = std::fs::File::open(place.file()).is_ok();
            if readable {
                eprintln!("SKIPPED: an unreadable file, because this user may read every file");
                std::fs::set_permissions(place.file(), std::fs::Permissions::from_mode(0o600)).unwrap();
            }
            !readable
        },
        "Permission denied",
    ),
];

fn write(place: &Place, text: &str) -> bool {
    std::fs::write(place.file(), text).unwrap();
    true
}

#[test]
fn what_cannot_be_used_changes_nothing_and_everybody_is_told_until_a_reload_succeeds() {
    let place = Place::start("control: { level: controlled }\n");
    let config = || place.server.get("/api/v1/config").1["config"].clone();
    let before = config();
    let mut refused = 0;
    for (name, make, said) in BROKEN {
        if !make(&place) {
            continue;
        }
        refused += 1;
        let (status, problem) = place.reload();
        assert_eq!(status, 422, "{name}: {problem}");
        assert_eq!(problem["code"], "CONFIGURATION_REFUSED", "{name}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{name}: {detail}");
        assert_eq!(config(), before, "{name}");
        let overview = place.overview();
        assert_eq!(overview["level"], "controlled", "{name}");
        assert!(
            overview["configuration"]["reason"]
                .as_str()
                .unwrap()
                .contains(said),
            "{name}: {overview}"
        );
        let checks = overview["health"]["checks"].as_array().unwrap();
        let check = checks
            .iter()
            .find(|check| check["name"] == "configuration")
            .unwrap();
        assert_eq!(check["ok"], false, "{name}");
        assert_eq!(overview["health"]["status"], "degraded", "{name}");
        let (status, ready) = place.server.get("/ready");
        assert_eq!(status, 200, "{name}: what is in use works");
        assert!(
            ready["warning"]
                .as_str()
                .unwrap()
                .contains("not the configuration in use"),
            "{name}"
        );
        assert_eq!(
            place.metric("interlock_config_last_reload_successful"),
            Some(0.0),
            "{name}"
        );
    }
    // The command says it with the file and the line, and the signal in the log.
    if place.file().exists() {
        std::fs::remove_file(place.file()).unwrap();
    }
    place.configure("control: { level: nonsense }\n");
    let ran = place.command(&["reload", "--server", &place.server.url]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(
        ran.stderr.contains("interlock.yaml:5:19: `control.level`"),
        "{ran}"
    );
    place.hang_up();
    until("the log to say it", || {
        let log = place.log.lock().unwrap();
        (log.matches("the configuration was not reloaded").count() == refused + 2).then_some(())
    });
    let entries = place.audit();
    assert_eq!(entries.len(), refused + 2);
    assert!(
        entries
            .iter()
            .all(|entry| entry["action"] == "configuration.reload_refused")
    );

    // A link to a good file is a good file.
    std::fs::remove_file(place.file()).unwrap();
    place.home.write(
        "config/interlock/real.yaml",
        &format!("{MODEL}control: {{ level: read_only }}\n"),
    );
    std::os::unix::fs::symlink("real.yaml", place.file()).unwrap();
    let (status, reloaded) = place.reload();
    assert_eq!(status, 200, "{reloaded}");
    let overview = place.overview();
    assert_eq!(overview["level"], "read_only");
    assert!(overview["configuration"]["reason"].is_null(), "{overview}");
    assert!(place.server.get("/ready").1["warning"].is_null());
    assert_eq!(place.metric("interlock_config_last_reload_successful"), Some(1.0));
}

#[test]
fn no_value_from_outside_is_in_what_a_reload_says() {
    let place = Place::start("");
    let secret = "canary-7f3a9c5e1b2d";
    place.home.write("config/interlock/token.txt", secret);
    for (config, fine) in [
        ("gate: { egress: ['${file:token.txt}'] }\n", true),
        ("gate: { strict_resolution: '${file:token.txt}' }\n", false),
    ] {
        place.configure(config);
        let (status, said) = place.reload();
        assert_eq!(status == 200, fine, "{said}");
        let ran = place.command(&["reload"]);
        let overview = place.overview();
        for text in [
            said.to_string(),
            ran.to_string(),
            overview.to_string(),
            json!(place.audit()).to_string(),
        ] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    assert!(!place.log.lock().unwrap().contains(secret));
}

#[test]
fn only_an_admin_reloads_and_a_refusal_is_counted() {
    let place = Place::start("");
    let (status, _, problem) = place.server.send("POST", "/api/v1/reload", &[], Some(&json!({})));
    assert_eq!(status, 401, "{problem}");
    let scopes = json!({ "name": "few", "scopes": ["read", "operate", "approve"] });
    let (status, made) = place.server.post("/api/v1/me/tokens", &scopes);
    assert!(status < 300, "{made}");
    let authorization = format!("Bearer {}", made["secret"].as_str().unwrap());
    let headers = [("authorization", authorization.as_str())];
    let (status, _, problem) = place
        .server
        .send("POST", "/api/v1/reload", &headers, Some(&json!({})));
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("FORBIDDEN")),
        "{problem}"
    );
    assert_eq!(place.metric("interlock_request_refused_total"), Some(1.0));
    assert!(place.audit().is_empty());
}

/// What people see, what they may do and how often: the server's own part.
#[test]
fn limits_names_and_access_follow_a_reload_on_connections_that_are_open() {
    let place = Place::start("server: { metrics: private }\n");
    let anonymous = |path: &str, host: &str| place.server.send("GET", path, &[("x-other", host)], None).0;
    assert_eq!(anonymous("/metrics", ""), 401);
    place.configure(
        "server: { metrics: public, public_url: 'https://interlock.example', trusted_proxies: [127.0.0.1], \
         limits: { body_bytes: 1024 } }\n",
    );
    let (status, reloaded) = place.reload();
    assert_eq!(status, 200, "{reloaded}");
    assert_eq!(anonymous("/metrics", ""), 200);
    let forwarded = [
        ("x-forwarded-host", "interlock.example"),
        ("x-forwarded-proto", "https"),
    ];
    assert_eq!(
        place.server.send("GET", "/api/v1/health", &forwarded, None).0,
        200
    );
    let long = json!({ "message": "x".repeat(4096) });
    let (status, problem) = place.server.post("/api/v1/chats", &long);
    assert_eq!(status, 413, "{problem}");
    // Whoever prints links prints the new address.
    let added = place.home.run(&["user", "add", "zoe", "--role", "viewer"]);
    assert_eq!(added.exit, Some(0), "{added}");
    let kept = until("the new address", || {
        let ran = place.home.run(&["user", "link", "zoe", "--json"]);
        ran.stdout
            .contains("https://interlock.example/")
            .then_some(ran.stdout)
    });
    assert!(kept.contains("interlock.example"), "{kept}");
}

#[test]
fn a_held_write_that_is_approved_after_a_reload_to_read_only_does_not_run() {
    let home = Home::empty();
    let file = home.work("made");
    drop(home);
    let place = Place::with_script(&WRITES.replace("FILE", &file), "control: { level: controlled }\n");
    let (status, asked) = place
        .server
        .post("/api/v1/chats", &json!({ "message": "make the file" }));
    assert!(status < 300, "{asked}");
    let (hold, hash) = until("the hold", || {
        let (_, list) = place.server.get("/api/v1/approvals?status=open");
        let text = |name: &str| list["approvals"][0][name].as_str().map(str::to_owned);
        text("id").zip(text("plan_hash"))
    });
    place.configure("control: { level: read_only }\n");
    assert_eq!(place.reload().0, 200);
    let server = ["--server", place.server.url.as_str()];
    let ran = place.command(
        &[
            &["approvals", "approve", &hold, "--plan-hash", &hash],
            &server[..],
        ]
        .concat(),
    );
    assert_eq!(ran.exit, Some(0), "{ran}");
    let refused = until("the end of the session", || {
        let (_, list) = place.server.get("/api/v1/sessions");
        let session = &list["sessions"][0];
        let ended = session["status"] != "held"
            && session["status"] != "in_progress"
            && session["status"] != "pending";
        ended.then(|| session.clone())
    });
    assert!(!std::path::Path::new(&file).exists(), "{ran} {refused}");
}

fn count(place: &Place, what: &str) -> usize {
    let folder = format!("/proc/{}/{what}", place.server.child.id());
    std::fs::read_dir(folder).unwrap().count()
}

fn resident_kilobytes(place: &Place) -> usize {
    let path = format!("/proc/{}/status", place.server.child.id());
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn two_hundred_reloads_leave_no_handle_no_thread_and_no_memory_behind() {
    let hosts = |port: u16| {
        format!(
            "infrastructure:\n  prometheus: [{{ name: one, url: 'http://127.0.0.1:{port}' }}]\n  docker: [{{ name: two, url: \
             'tcp://127.0.0.1:{port}' }}]\n"
        )
    };
    let place = Place::start(&hosts(1));
    let turn = |at: u16| {
        place.configure(&format!(
            "{}control: {{ hold_for: {}s }}\n",
            hosts(1 + at % 2),
            60 + at % 7
        ));
        let (status, reloaded) = place.reload();
        assert_eq!(status, 200, "{reloaded}");
        // What is connected is asked, so that connections are made.
        if at.is_multiple_of(10) {
            place.overview();
        }
    };
    for at in 0..30 {
        turn(at);
    }
    let (files, threads, memory) = (
        count(&place, "fd"),
        count(&place, "task"),
        resident_kilobytes(&place),
    );
    for at in 0..200 {
        turn(at);
    }
    // Threads that block on files come and go, and a connection of the test itself may still be closing.
    let (files_after, threads_after) = (count(&place, "fd"), count(&place, "task"));
    assert!(
        files_after <= files + 8,
        "{files} open files became {files_after}"
    );
    assert!(
        threads_after <= threads + 8,
        "{threads} threads became {threads_after}"
    );
    let grown = resident_kilobytes(&place).saturating_sub(memory);
    assert!(grown < 48 * 1024, "memory grew by {grown} kB");
}

#[test]
fn reloads_under_load_lose_no_request_and_no_session_and_happen_one_after_another() {
    const SESSIONS: usize = 12;
    let place = Place::start("queue: { workers: 2, poll: 50ms }\n");
    let (stop, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for path in ["/api/v1/overview", "/api/v1/sessions", "/api/v1/config"] {
                        let (status, said) = place.server.get(path);
                        assert_eq!(status, 200, "{said}");
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let submitting = scope.spawn(|| {
            for at in 0..SESSIONS {
                let question = json!({ "message": format!("question {at}") });
                let (status, said) = place.server.post("/api/v1/chats", &question);
                assert!(status < 300, "{said}");
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        for at in 0..10 {
            place.configure(&format!(
                "queue: {{ workers: {}, poll: 50ms }}\ncontrol: {{ hold_for: {}s }}\n",
                1 + at % 4,
                60 + at
            ));
            std::thread::scope(|together| {
                for _ in 0..4 {
                    together.spawn(|| {
                        let (status, said) = place.reload();
                        assert_eq!(status, 200, "{said}");
                    });
                }
            });
        }
        submitting.join().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(asked.load(Ordering::Relaxed) > 0);
    let sessions = until("every session to end", || {
        let (_, list) = place.server.get("/api/v1/sessions?page_size=100");
        let sessions = list["sessions"].as_array().unwrap().clone();
        let done = sessions
            .iter()
            .filter(|session| session["status"] == "completed")
            .count();
        (done == SESSIONS).then_some(sessions)
    });
    assert_eq!(sessions.len(), SESSIONS);
    // Each began where the one before it ended.
    let entries = place.audit();
    assert_eq!(entries.len(), 40);
    for pair in entries.windows(2) {
        assert_eq!(pair[0]["details"]["now"], pair[1]["details"]["before"]);
    }
}

#[test]
fn a_command_at_a_terminal_still_ends_at_the_signal() {
    let home = Home::with_script(&READS.replace("df -h /", "sleep 60"));
    let child = home.start(&["run", "--json", "question"]);
    let pid = rustix::process::Pid::from_child(&child);
    until("the session", || {
        let ran = home.run(&["sessions", "--json"]);
        (ran.exit == Some(0) && ran.stdout.contains("in_progress")).then_some(())
    });
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    let ran = support::ended(child);
    assert_eq!(
        (ran.exit, &ran.json()["status"]),
        (Some(1), &json!("cancelled")),
        "{ran}"
    );
}

#[test]
fn workers_of_their_own_process_reload_at_the_signal() {
    let home = Home::with_script(READS);
    let mut child = home.start(&["work"]);
    let mut stderr = child.stderr.take().unwrap();
    let log: Arc<Mutex<String>> = Arc::default();
    let written = Arc::clone(&log);
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut bytes) {
            written
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    });
    until("the workers", || {
        log.lock().unwrap().contains("working;").then_some(())
    });
    home.write(FILE, &format!("{MODEL}queue: {{ workers: 3 }}\n"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    until("the reload", || {
        log.lock()
            .unwrap()
            .contains("reloaded: changed queue.workers")
            .then_some(())
    });
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(support::ended(child).exit, Some(0));
}
