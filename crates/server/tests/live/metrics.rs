//! The metrics: readable, described, and only for those who may.

use std::collections::{BTreeMap, BTreeSet};

use interlock_config::MetricsAccess;
use interlock_server::install_metrics;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{Site, append};

async fn get(site: &Site, token: Option<&str>) -> (u16, String) {
    let mut socket = TcpStream::connect(&site.address).await.unwrap();
    let authorization = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let request = format!(
        "GET /metrics HTTP/1.1\r\nhost: {}\r\n{authorization}connection: close\r\n\r\n",
        site.address
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}

/// A scrape, read strictly: each family has its help and its type before its first sample.
#[derive(Default)]
struct Scrape {
    help: BTreeMap<String, String>,
    types: BTreeMap<String, String>,
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

impl Scrape {
    fn parse(text: &str) -> Self {
        let mut scrape = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, what) = help.split_once(' ').unwrap();
                assert_eq!(
                    scrape.help.insert(name.to_owned(), what.to_owned()),
                    None,
                    "{line}"
                );
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(
                    scrape.types.insert(name.to_owned(), kind.to_owned()),
                    None,
                    "{line}"
                );
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = match series.split_once('{') {
                    None => (series, BTreeMap::new()),
                    Some((name, labels)) => (name, Self::labels(labels.strip_suffix('}').unwrap())),
                };
                let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
                let family = scrape
                    .family(name)
                    .unwrap_or_else(|| panic!("{line} has no type before it"));
                assert!(scrape.help.contains_key(&family), "{line} has no help");
                scrape.samples.push((name.to_owned(), labels, value));
            }
        }
        scrape
    }

    fn labels(text: &str) -> BTreeMap<String, String> {
        let pairs = text.split("\",").filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) = pair.split_once("=\"").unwrap_or_else(|| panic!("{text}"));
                assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{text}");
                (name.to_owned(), value.trim_end_matches('"').to_owned())
            })
            .collect()
    }

    fn family(&self, name: &str) -> Option<String> {
        let parts = ["", "_bucket", "_sum", "_count"];
        let family = parts
            .iter()
            .filter_map(|part| name.strip_suffix(part))
            .find(|name| self.types.contains_key(*name));
        family.map(str::to_owned)
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |has: &BTreeMap<String, String>| {
            labels
                .iter()
                .all(|(key, value)| has.get(*key).is_some_and(|v| v == value))
        };
        self.samples
            .iter()
            .find(|(of, has, _)| of == name && fits(has))
            .map(|(_, _, value)| *value)
    }
}

#[tokio::test]
async fn what_is_scraped_is_readable_described_and_true() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let mut client = site.connect().await;
    client.subscribe("sessions", None).await;
    client.subscribe(&format!("session:{session}"), None).await;
    append(&site.store, &session, 2, "x").await;
    client.positions(&format!("session:{session}"), 2).await;
    let question = site
        .engine
        .submit(interlock_engine::Submission::question("how is it?"))
        .await
        .unwrap();
    site.engine.work_on(&question).await.unwrap();
    // The second scrape counts the first.
    assert_eq!(get(&site, Some(&site.token)).await.0, 200);
    let (status, text) = get(&site, Some(&site.token)).await;
    assert_eq!(status, 200);
    let scrape = Scrape::parse(&text);
    let exact = [
        ("interlock_ws_connections", vec![], 1.0),
        ("interlock_subscriptions", vec![], 2.0),
        ("interlock_open_holds", vec![], 0.0),
        ("interlock_queue_sessions", vec![("status", "pending")], 1.0),
        ("interlock_queue_sessions", vec![("status", "completed")], 1.0),
        ("interlock_queue_sessions", vec![("status", "held")], 0.0),
        ("interlock_session_total", vec![("status", "completed")], 1.0),
        ("interlock_ws_frames_total", vec![("direction", "in")], 2.0),
        ("interlock_model_call_seconds_count", vec![], 1.0),
    ];
    for (name, labels, expected) in exact {
        assert_eq!(
            scrape.value(name, &labels),
            Some(expected),
            "{name} {labels:?}\n{text}"
        );
    }
    let there = [
        ("interlock_hub_position", vec![], 3.0),
        ("interlock_process_resident_memory_bytes", vec![], 1e6),
        ("interlock_process_start_time_seconds", vec![], 1.6e9),
        (
            "interlock_http_requests_total",
            vec![("method", "GET"), ("route", "/metrics"), ("status", "200")],
            1.0,
        ),
        (
            "interlock_http_request_seconds_bucket",
            vec![("route", "/metrics"), ("le", "+Inf")],
            1.0,
        ),
        (
            "interlock_build_info",
            vec![("version", env!("CARGO_PKG_VERSION"))],
            1.0,
        ),
    ];
    for (name, labels, least) in there {
        let value = scrape.value(name, &labels);
        assert!(value >= Some(least), "{name} {labels:?}: {value:?}\n{text}");
    }
    let names: BTreeSet<&str> = scrape.types.keys().map(String::as_str).collect();
    assert!(
        names.iter().all(|name| name.starts_with("interlock_")),
        "{names:?}"
    );
    assert!(!text.contains(&site.token) && !text.contains(session.as_str()));
    lint(&text);
}

/// What the makers of the format say about it, where their program is there.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test asks another program for its opinion"
)]
fn lint(text: &str) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        eprintln!("SKIPPED: promtool is not installed");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
async fn the_configuration_says_who_may_read_them() {
    let metrics = install_metrics();
    for (access, anybody) in [(MetricsAccess::Private, 401), (MetricsAccess::Public, 200)] {
        let site = Site::start_with(metrics.clone(), |config| config.server.metrics = access).await;
        let may_not = site.new_token("tok_operate", "viewer", "operate").await;
        let limited = if access == MetricsAccess::Public { 200 } else { 403 };
        let cases = [
            (None, anybody),
            (Some(&site.token), 200),
            (Some(&may_not), limited),
        ];
        for (token, expected) in cases {
            let (status, _) = get(&site, token.map(String::as_str)).await;
            assert_eq!(status, expected, "{access:?}");
        }
    }
}
