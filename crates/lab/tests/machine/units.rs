//! Units: the supervisor, its journal, `systemctl` and `journalctl`.

use interlock_lab::machine::Machine;

use super::support::{file, get, lab, out, service, sh, spec, text, until};

async fn journal(machine: &Machine, unit: &str) -> String {
    out(machine, &format!("journalctl -u {unit} -o cat --no-pager")).await
}

fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("`{part}` is missing, or not in its place, in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[tokio::test]
async fn a_service_crashes_says_why_and_comes_back() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("media");
    spec.files = service(
        "jellyfin",
        "Restart=on-failure\nRestartSec=100ms",
        "listen = 8096\nmax_sessions = 4\npage = \"Jellyfin\"",
    );
    let machine = lab.machines.start(&spec).await.unwrap();
    until("listens", || async {
        get(&machine, 8096, "/").await.contains("<title>Jellyfin</title>")
    })
    .await;
    let flood = "for i in 1 2 3 4 5 6 7 8 9; do exec 3<>/dev/tcp/127.0.0.1/8096; sleep 5 <&3 & done; true";
    super::support::run(&machine, &["bash", "-c", flood]).await;
    until("crashed and came back", || async {
        out(&machine, "systemctl show -p NRestarts,ActiveState jellyfin").await
            == "NRestarts=1\nActiveState=active\n"
    })
    .await;
    until("listens", || async {
        get(&machine, 8096, "/health").await.contains("\"status\":\"ok\"")
    })
    .await;
    in_order(
        &journal(&machine, "jellyfin").await,
        &[
            "Started jellyfin server.",
            "ERROR session table full: 4 of 4 in use, new session refused",
            "FATAL session table corrupted after overflow, aborting",
            "jellyfin.service: Main process exited, code=killed, status=6/ABRT",
            "jellyfin.service: Failed with result 'signal'.",
            "jellyfin.service: Scheduled restart job, restart counter is at 1.",
            "Started jellyfin server.",
        ],
    );
}

#[tokio::test]
async fn a_service_that_fails_at_once_hits_the_limit() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("loop");
    spec.files = service(
        "app",
        "Restart=always\nRestartSec=10ms",
        "listen = 80\nrequires = [\"TOKEN\"]",
    );
    let machine = lab.machines.start(&spec).await.unwrap();
    until("failed", || async {
        out(&machine, "systemctl show -P ActiveState app").await == "failed\n"
    })
    .await;
    assert_eq!(
        out(&machine, "systemctl show -P Result app").await,
        "start-limit-hit\n"
    );
    assert_eq!(
        out(&machine, "systemctl show --value -p ExecMainStatus app").await,
        "78\n"
    );
    in_order(
        &journal(&machine, "app").await,
        &[
            "FATAL required environment variable TOKEN is not set",
            "app.service: Main process exited, code=exited, status=78/CONFIG",
            "restart counter is at 4.",
            "app.service: Start request repeated too quickly.",
            "app.service: Failed with result 'start-limit-hit'.",
            "Failed to start app server.",
        ],
    );
    let fix = "sed -i 's/^Restart=always/Environment=TOKEN=x/' /etc/systemd/system/app.service \
               && systemctl daemon-reload && systemctl reset-failed app && systemctl start app";
    out(&machine, fix).await;
    until("serves", || async {
        get(&machine, 80, "/health").await.contains("200 OK")
    })
    .await;
}

#[tokio::test]
async fn systemctl_exits_as_the_real_one() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("codes");
    spec.files = service("up", "ExecReload=/bin/true", "listen = 80");
    spec.files
        .extend(service("broken", "", "listen = 81\nfails = \"database is gone\""));
    spec.files.push(file(
        "/etc/systemd/system/off.service",
        "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n",
    ));
    spec.files.push(file(
        "/etc/systemd/system/once.service",
        "[Service]\nType=oneshot\nExecStart=/bin/false\n",
    ));
    spec.files.push(file(
        "/etc/systemd/system/absent.service",
        "[Service]\nExecStart=/no/such/program\n",
    ));
    let machine = lab.machines.start(&spec).await.unwrap();
    until("broken", || async {
        sh(&machine, "systemctl is-failed broken").await.code == 0
    })
    .await;
    let cases = [
        ("systemctl is-active up", 0, "active\n"),
        ("systemctl is-active off", 3, "inactive\n"),
        ("systemctl is-active nothing", 3, "inactive\n"),
        ("systemctl is-active broken", 3, "failed\n"),
        ("systemctl is-failed up", 1, "active\n"),
        ("systemctl is-enabled up", 0, "enabled\n"),
        ("systemctl is-enabled off", 1, "disabled\n"),
        ("systemctl is-enabled once", 0, "static\n"),
        ("systemctl is-enabled nothing", 1, ""),
        ("systemctl -q is-active up", 0, ""),
        ("systemctl start nothing", 5, ""),
        ("systemctl stop nothing", 5, ""),
        ("systemctl start once", 1, ""),
        ("systemctl start up", 0, ""),
        ("systemctl reload up", 0, ""),
        ("systemctl reload broken", 1, ""),
        ("systemctl frobnicate", 1, ""),
        (
            "systemctl start absent; sleep 0.1; systemctl show -P ExecMainStatus absent",
            0,
            "203\n",
        ),
        ("systemctl enable off && systemctl is-enabled off", 0, "enabled\n"),
        ("systemctl start off && systemctl is-active off", 0, "active\n"),
        (
            "systemctl disable --now off; systemctl is-active off",
            3,
            "inactive\n",
        ),
        ("systemctl restart up && systemctl is-active up", 0, "active\n"),
        ("systemctl stop up && systemctl is-active up", 3, "inactive\n"),
        ("systemctl status nothing", 4, ""),
        (
            "systemctl list-units --failed --no-legend --plain | cut -d' ' -f1",
            0,
            "absent.service\nbroken.service\nonce.service\n",
        ),
        ("systemctl is-system-running", 1, "degraded\n"),
        (
            "systemctl cat off | head -1",
            0,
            "# /etc/systemd/system/off.service\n",
        ),
    ];
    for (line, code, expected) in cases {
        let done = sh(&machine, line).await;
        assert_eq!(
            (done.code, text(&done.stdout).as_str()),
            (code, expected),
            "{line}: {}",
            text(&done.stderr)
        );
    }
    let status = sh(&machine, "systemctl status broken").await;
    assert_eq!(status.code, 3);
    in_order(
        &text(&status.stdout),
        &[
            "× broken.service - broken server",
            "Active: failed (Result: exit-code) since ",
            "(code=exited, status=1/FAILURE)",
            "FATAL database is gone",
        ],
    );
}

#[tokio::test]
async fn systemctl_prints_what_our_tools_read() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("shown");
    spec.files = service("up", "", "listen = 80");
    let machine = lab.machines.start(&spec).await.unwrap();
    let shown = out(
        &machine,
        "systemctl show --no-pager --timestamp=us+utc \
         --property=LoadState,ActiveState,SubState,ActiveEnterTimestamp -- up.service",
    )
    .await;
    let (states, entered) = shown.trim_end().split_once("ActiveEnterTimestamp=").unwrap();
    assert_eq!(states, "LoadState=loaded\nActiveState=active\nSubState=running\n");
    let (_, moment) = entered.split_once(' ').unwrap();
    let (day, time) = moment.strip_suffix(" UTC").unwrap().split_once(' ').unwrap();
    let entered: jiff::Timestamp = format!("{day}T{time}Z").parse().unwrap();
    assert!(jiff::Timestamp::now().duration_since(entered).as_secs() < 60);
    assert_eq!(time.len(), "05:28:26.123456".len());
    let listed = out(
        &machine,
        "systemctl list-units --type=service --all --plain --no-legend --no-pager",
    )
    .await;
    let words: Vec<&str> = listed.split_whitespace().collect();
    assert_eq!(
        words,
        ["up.service", "loaded", "active", "running", "up", "server"]
    );
    assert_eq!(
        out(&machine, "test -d /run/systemd/system && command -v systemctl").await,
        "/usr/local/bin/systemctl\n"
    );
    assert_eq!(
        out(&machine, "/usr/bin/systemctl is-active up || true").await,
        "active\n"
    );
}

#[tokio::test]
async fn journalctl_filters() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("logs");
    for name in ["one", "two"] {
        let unit = format!(
            "[Service]\nExecStart=/bin/sh -c 'echo {name} says hello; echo \"<3>{name} is broken\"; exec sleep 1000'\n"
        );
        spec.files
            .push(file(&format!("/etc/systemd/system/{name}.service"), &unit));
    }
    let machine = lab.machines.start(&spec).await.unwrap();
    for name in ["one", "two"] {
        out(&machine, &format!("systemctl start {name}")).await;
        until("said", || async {
            journal(&machine, name).await.contains("is broken")
        })
        .await;
    }
    let hello_of_one = "Started one.service.\none says hello\none is broken\n";
    let cases = [
        ("journalctl -u one -o cat --no-pager", hello_of_one),
        ("journalctl --unit=one.service -o cat", hello_of_one),
        (
            "journalctl -u one -u two -p err -o cat",
            "one is broken\ntwo is broken\n",
        ),
        ("journalctl -p 3..3 -o cat -r", "two is broken\none is broken\n"),
        ("journalctl -u one -n 1 -o cat", "one is broken\n"),
        ("journalctl -u one -n1 -o cat", "one is broken\n"),
        ("journalctl -xeu one -o cat", hello_of_one),
        ("journalctl -u one -g HELLO -o cat", "-- No entries --\n"),
        ("journalctl -u one -g hello -o cat", "one says hello\n"),
        ("journalctl -u one --since '10 min ago' -o cat", hello_of_one),
        (
            "journalctl -u one --since -10m --until now -b -o cat",
            hello_of_one,
        ),
        ("journalctl -u one --since today -q -o cat", hello_of_one),
        ("journalctl -u one --until yesterday", "-- No entries --\n"),
        ("journalctl -u one --until @1000", "-- No entries --\n"),
        ("journalctl -u one --until '2020-01-01 00:00:00' -q", ""),
        ("journalctl -k", "-- No entries --\n"),
        ("journalctl -u three", "-- No entries --\n"),
        (
            "journalctl -u one -o short -p err | cut -d' ' -f4- | sed 's/\\[.*\\]//'",
            "logs sh: one is broken\n",
        ),
        (
            "journalctl -u one -o json -n 1 | grep -o '\"PRIORITY\":\"[0-9]\"'",
            "\"PRIORITY\":\"3\"\n",
        ),
        ("journalctl --list-boots | wc -l", "1\n"),
        (
            "journalctl --disk-usage | cut -d' ' -f1-3",
            "Archived and active\n",
        ),
    ];
    for (line, expected) in cases {
        let done = sh(&machine, line).await;
        assert_eq!(
            (done.code, text(&done.stdout).as_str()),
            (0, expected),
            "{line}: {}",
            text(&done.stderr)
        );
    }
    for line in [
        "journalctl --since 'when it broke'",
        "journalctl -p loud",
        "journalctl --frob",
        "journalctl -o xml",
    ] {
        assert_eq!(sh(&machine, line).await.code, 1, "{line}");
    }
}

#[tokio::test]
async fn journalctl_follows() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("follow");
    spec.files = service("up", "", "listen = 80");
    let machine = lab.machines.start(&spec).await.unwrap();
    let mut chunks = machine
        .stream(interlock_lab::machine::Exec {
            argv: ["journalctl", "-fu", "up"]
                .iter()
                .map(ToString::to_string)
                .collect(),
            ..interlock_lab::machine::Exec::default()
        })
        .await
        .unwrap();
    until("serves", || async {
        get(&machine, 80, "/unheard-of").await.contains("404 Not Found")
    })
    .await;
    let mut all = String::new();
    while !all.contains("GET /unheard-of\" 404") {
        match chunks.recv().await {
            Some(interlock_lab::machine::Chunk::Stdout(bytes)) => all.push_str(&text(&bytes)),
            other => panic!("{other:?} after {all}"),
        }
    }
}

#[tokio::test]
async fn a_page_shows_its_entries_as_they_are() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("home");
    spec.files = service(
        "homepage",
        "",
        "listen = 3000\nentries = \"/etc/homepage/services.yaml\"",
    );
    spec.files.push(file(
        "/etc/homepage/services.yaml",
        "- Media:\n    - Jellyfin:\n        href: http://old\n",
    ));
    let machine = lab.machines.start(&spec).await.unwrap();
    until("shows", || async {
        get(&machine, 3000, "/").await.contains("href: http://old")
    })
    .await;
    machine
        .write(
            "/etc/homepage/services.yaml",
            b"- Media:\n    - Jellyfin:\n        href: http://new\n",
        )
        .await
        .unwrap();
    assert!(get(&machine, 3000, "/").await.contains("href: http://new"));
    machine
        .write("/etc/homepage/services.yaml", b"a: 1\n  b: 2\n")
        .await
        .unwrap();
    let broken = get(&machine, 3000, "/").await;
    assert!(
        broken.contains("500 Internal Server Error") && broken.contains("line 2"),
        "{broken}"
    );
    let metrics = get(&machine, 3000, "/metrics").await;
    assert!(
        metrics.contains("\nup 1\n") && metrics.contains("\nsessions 1\n"),
        "{metrics}"
    );
}
