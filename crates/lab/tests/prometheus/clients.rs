//! Somebody else's clients: `promtool`, `amtool`, and the Python package prometheus-api-client.
//!
//! A client that is not installed is skipped, and the test says so.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests start the real clients"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use interlock_lab::prometheus::{Clock, Labels, Profile, Rule, Sample};
use jiff::Timestamp;

use crate::world::{Served, serve};

/// Real time, because the clients ask by theirs.
async fn world() -> (Served, Timestamp) {
    let rule = Rule::new("GuestDown", "pve_up == 0")
        .unwrap()
        .label("severity", "critical")
        .annotation("summary", "down");
    let served = serve(vec![rule], Clock::default()).await;
    let now = Timestamp::now();
    let tsdb = served.prometheus.tsdb();
    for (id, value) in [("lxc/141", 1.0), ("qemu/100", 0.0)] {
        let labels = Labels::metric("pve_up", [("id", id)]);
        tsdb.backfill_day(&labels, now, value, &Profile::Flat).unwrap();
    }
    let counter = Labels::metric(
        "container_cpu_usage_seconds_total",
        [("name", "web"), ("instance", "docker1")],
    );
    tsdb.backfill_day(
        &counter,
        now,
        1e6,
        &Profile::Counter {
            per_second: 0.5,
            swing: 0.0,
        },
    )
    .unwrap();
    tsdb.append(Sample {
        labels: Labels::metric("up", [("instance", "a"), ("job", "node")]),
        at: now,
        value: 1.0,
    })
    .unwrap();
    served.prometheus.evaluate(now);
    (served, now)
}

async fn run(program: impl Into<PathBuf>, arguments: Vec<String>) -> Option<Output> {
    let program = program.into();
    let name = program.display().to_string();
    let ran = tokio::task::spawn_blocking(move || Command::new(program).args(arguments).output())
        .await
        .unwrap();
    match ran {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIPPED: {name} is not installed, so nothing was checked with it");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_reads_the_metrics() {
    let (served, now) = world().await;
    let url = served.url("");
    let (start, end) = (now.as_second() - 120, now.as_second());
    let cases = [
        (
            format!("query instant {url} pve_up==0"),
            "pve_up{id=\"qemu/100\"} => 0",
        ),
        (
            format!("query instant {url} rate(container_cpu_usage_seconds_total[5m])"),
            // A rate is a quotient: 0.5, or as near to it as a float is.
            "{instance=\"docker1\", name=\"web\"} => 0.",
        ),
        (
            format!("query range --start={start} --end={end} --step=60s {url} sum(pve_up)"),
            "{} =>",
        ),
        (
            format!("query series --match=pve_up {url}"),
            "{__name__=\"pve_up\", id=\"lxc/141\"}",
        ),
        (format!("query labels {url} id"), "lxc/141"),
    ];
    for (line, expected) in cases {
        let Some(output) = run("promtool", words(&line)).await else {
            return;
        };
        assert!(output.status.success(), "{line}: {}", text(&output));
        assert!(text(&output).contains(expected), "{line}: {}", text(&output));
    }
    let Some(output) = run("promtool", words(&format!("query instant {url} up{{"))).await else {
        return;
    };
    assert!(!output.status.success());
    assert!(text(&output).contains("bad_data"), "{}", text(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn amtool_reads_alerts_and_sets_silences() {
    let (served, _) = world().await;
    let url = served.alertmanager_url("");
    let tool = async |line: &str| {
        let mut arguments = vec![format!("--alertmanager.url={url}")];
        arguments.extend(words(line));
        run("amtool", arguments).await
    };
    let Some(output) = tool("alert query alertname=GuestDown").await else {
        return;
    };
    assert!(
        output.status.success() && text(&output).contains("GuestDown"),
        "{}",
        text(&output)
    );
    let made = tool("silence add --author=op --comment=work --duration=1h alertname=GuestDown")
        .await
        .unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let id = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let listed = tool("silence query").await.unwrap();
    assert!(text(&listed).contains(&id), "{}", text(&listed));
    let active = tool("alert query").await.unwrap();
    assert!(
        !text(&active).contains("GuestDown"),
        "it is silenced: {}",
        text(&active)
    );
    let ended = tool(&format!("silence expire {id}")).await.unwrap();
    assert!(ended.status.success(), "{}", text(&ended));
    let added = tool("alert add alertname=Manual instance=x --annotation=summary=hello")
        .await
        .unwrap();
    assert!(added.status.success(), "{}", text(&added));
    let active = tool("alert query -o extended").await.unwrap();
    assert!(
        text(&active).contains("GuestDown") && text(&active).contains("Manual"),
        "{}",
        text(&active)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_reads_the_metrics() {
    let (served, _) = world().await;
    let Some(python) = python().await else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/prometheus_client.py");
    let arguments = vec![script.display().to_string(), served.url("")];
    let output = run(python, arguments).await.unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all read\n");
}

/// A Python with the client in the user's cache, made once.
async fn python() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let folder = cache.join("interlock/python/prometheus-api-client");
    let (python, done) = (folder.join("bin/python"), folder.join("installed"));
    if done.exists() {
        return Some(python);
    }
    let made = run(
        "python3",
        vec!["-m".to_owned(), "venv".to_owned(), folder.display().to_string()],
    )
    .await?;
    if !made.status.success() {
        eprintln!(
            "SKIPPED: no virtual environment for Python can be made: {}",
            text(&made)
        );
        return None;
    }
    let installed = run(
        python.clone(),
        words("-m pip install --quiet prometheus-api-client"),
    )
    .await?;
    if !installed.status.success() {
        eprintln!(
            "SKIPPED: prometheus-api-client cannot be installed: {}",
            text(&installed)
        );
        return None;
    }
    std::fs::write(done, "").unwrap();
    Some(python)
}
