//! Many who watch, on one server: is anything lost, how late does it come, and what does one more cost.
//!
//! `cargo run --release -p interlock-server --example ws-load`. The clients are a process of their own. Ends with 1 if
//! an event was lost or 99 of 100 did not come within 250 ms.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a load run that cannot go on ends with the reason"
)]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places in a list of times"
)]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/live/site.rs"]
mod site;

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use interlock_config::Config;
use interlock_protocol::SessionId;
use interlock_server::install_metrics;
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use site::{Client, Site};
use tokio::sync::{Barrier, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

/// The longest that 99 of 100 deliveries may take, in milliseconds.
const P99_MS: f64 = 250.0;
/// How long the last events may take to come.
const QUIET: Duration = Duration::from_secs(15);
/// How many clients come at the same time.
const AT_ONCE: usize = 64;

/// A load.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    name: &'static str,
    sessions: u64,
    watchers_each: u64,
    events_per_second: u64,
    seconds: u64,
}

const SCENARIOS: [Scenario; 2] = [
    Scenario {
        name: "2,000 watchers, 20 on each of 100 sessions",
        sessions: 100,
        watchers_each: 20,
        events_per_second: 500,
        seconds: 30,
    },
    Scenario {
        name: "500 watchers on one session",
        sessions: 1,
        watchers_each: 500,
        events_per_second: 20,
        seconds: 10,
    },
];

impl Scenario {
    fn events(&self) -> u64 {
        self.events_per_second * self.seconds
    }

    fn watchers(&self) -> u64 {
        self.sessions * self.watchers_each
    }

    fn per_session(&self) -> u64 {
        self.events() / self.sessions
    }
}

/// What the clients are told.
#[derive(Serialize, Deserialize)]
struct Orders {
    address: String,
    token: String,
    sessions: Vec<SessionId>,
    watchers_each: u64,
    events: u64,
}

/// What they say in the end.
#[derive(Debug, Serialize, Deserialize)]
struct Outcome {
    received: u64,
    out_of_order: u64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

fn main() -> ExitCode {
    raise_limit();
    let clients = std::env::args().nth(1).as_deref() == Some("clients");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if clients {
        runtime.block_on(watch());
        return ExitCode::SUCCESS;
    }
    let mut good = true;
    for (at, scenario) in SCENARIOS.into_iter().enumerate() {
        good &= runtime.block_on(run(scenario, at == 0));
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Every connection is a file.
fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clients must not share the server's memory and time"
)]
async fn run(scenario: Scenario, fresh: bool) -> bool {
    let roomy = |config: &mut Config| {
        config.server.limits.connections = 10_000;
        config.server.limits.requests_per_minute = 1_000_000;
        config.server.limits.streams = 10_000;
        config.server.limits.anonymous_per_minute = 1_000_000;
    };
    let mut site = Site::start_with(install_metrics(), roomy).await;
    let mut sessions = Vec::new();
    for number in 0..scenario.sessions {
        sessions.push(site.session(number + 1).await);
    }
    let before = resident();
    let orders = Orders {
        address: site.address.clone(),
        token: site.token.clone(),
        sessions: sessions.clone(),
        watchers_each: scenario.watchers_each,
        events: scenario.per_session(),
    };
    let mut child = std::process::Command::new(std::env::current_exe().expect("our own path"))
        .arg("clients")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the clients");
    let orders = serde_json::to_string(&orders).expect("orders");
    writeln!(child.stdin.take().expect("their input"), "{orders}").expect("told");
    let mut said = std::io::BufReader::new(child.stdout.take().expect("their output"));
    let mut line = String::new();
    let ready = tokio::task::spawn_blocking(move || {
        said.read_line(&mut line).expect("an answer");
        assert_eq!(line.trim(), "ready", "the clients did not come");
        said
    });
    let mut said = ready.await.expect("clients that are ready");
    sleep(Duration::from_secs(1)).await;
    let idle = resident();
    let took = happen(&site, &sessions, scenario).await;
    let outcome = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        said.read_line(&mut line).expect("an answer");
        serde_json::from_str::<Outcome>(&line).expect("what came of it")
    });
    let outcome = outcome.await.expect("an outcome");
    let _ = child.wait();
    site.stop().await;
    report(scenario, &outcome, fresh.then_some((before, idle)), took)
}

/// Lets it happen, at the rate of the scenario; how long that took.
async fn happen(site: &Site, sessions: &[SessionId], scenario: Scenario) -> Duration {
    let begun = Instant::now();
    let each = (scenario.events_per_second / 100).max(1);
    let mut tick = interval(Duration::from_nanos(
        1_000_000_000 * each / scenario.events_per_second,
    ));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut keeping = tokio::task::JoinSet::new();
    let mut session = sessions.iter().cycle();
    let mut kept = 0;
    while kept < scenario.events() {
        tick.tick().await;
        for _ in 0..each.min(scenario.events() - kept) {
            let (store, session) = (site.store.clone(), session.next().expect("a session").clone());
            keeping.spawn(async move {
                site::append(&store, &session, 1, "what a model said about a container").await;
            });
            kept += 1;
        }
        while keeping.try_join_next().is_some() {}
    }
    keeping.join_all().await;
    begun.elapsed()
}

fn report(scenario: Scenario, outcome: &Outcome, memory: Option<(u64, u64)>, took: Duration) -> bool {
    let expected = scenario.per_session() * scenario.watchers();
    let lost = expected.saturating_sub(outcome.received);
    println!("{}", scenario.name);
    let rows = [
        (
            "events",
            format!("{} in {:.1} s", scenario.events(), took.as_secs_f64()),
        ),
        ("deliveries expected", expected.to_string()),
        ("deliveries received", outcome.received.to_string()),
        ("lost", lost.to_string()),
        ("out of order", outcome.out_of_order.to_string()),
        ("delivery p50", format!("{:.1} ms", outcome.p50_ms)),
        ("delivery p99", format!("{:.1} ms", outcome.p99_ms)),
        ("delivery max", format!("{:.1} ms", outcome.max_ms)),
    ];
    let row = |name: &str, value: &str| println!("  {name:<26}{value:>16}");
    for (name, value) in &rows {
        row(name, value);
    }
    // What an earlier load used is still with the process: only the first shows what a watcher costs.
    if let Some((before, idle)) = memory {
        let each = idle.saturating_sub(before) / scenario.watchers();
        let resident = format!("{}, {} MB", before / 1_000_000, idle / 1_000_000);
        row("resident before, idle", &resident);
        row("memory of an idle watcher", &format!("{each} B"));
    }
    let good = lost == 0 && outcome.out_of_order == 0 && outcome.p99_ms < P99_MS;
    println!("  {}", if good { "good" } else { "NOT GOOD" });
    good
}

/// The memory of this process in RAM, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The clients.
async fn watch() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("orders");
    let orders: Arc<Orders> = Arc::new(serde_json::from_str(&line).expect("orders"));
    let watchers = orders.sessions.len() * usize::try_from(orders.watchers_each).expect("a number");
    let (coming, ready) = (
        Arc::new(Semaphore::new(AT_ONCE)),
        Arc::new(Barrier::new(watchers + 1)),
    );
    let mut all = tokio::task::JoinSet::new();
    for session in &orders.sessions {
        for _ in 0..orders.watchers_each {
            all.spawn(one(
                orders.clone(),
                session.clone(),
                coming.clone(),
                ready.clone(),
            ));
        }
    }
    ready.wait().await;
    println!("ready");
    let mut late: Vec<f64> = Vec::new();
    let mut out_of_order = 0;
    for (times, wrong) in all.join_all().await {
        late.extend(times);
        out_of_order += wrong;
    }
    late.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = (late.len() as f64 * part) as usize;
        late.get(place.min(late.len().saturating_sub(1)))
            .copied()
            .unwrap_or(f64::MAX)
    };
    let outcome = Outcome {
        received: late.len() as u64,
        out_of_order,
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        max_ms: at(1.0),
    };
    println!("{}", serde_json::to_string(&outcome).expect("an outcome"));
}

/// What a client looks at in an event.
#[derive(Deserialize)]
struct Seen {
    position: u64,
    at: Timestamp,
}

/// One client: how late each event came, in milliseconds, and how many were not the next.
async fn one(
    orders: Arc<Orders>,
    session: SessionId,
    coming: Arc<Semaphore>,
    ready: Arc<Barrier>,
) -> (Vec<f64>, u64) {
    let mut client = {
        let _turn = coming.acquire().await.expect("a turn");
        let bearer = format!("Bearer {}", orders.token);
        let mut client = Client::connect(&orders.address, &[("authorization", &bearer)])
            .await
            .expect("a connection");
        client.next().await;
        client
    };
    let mut last = client.subscribe(&format!("session:{session}"), None).await;
    ready.wait().await;
    let (mut late, mut wrong) = (Vec::new(), 0);
    // The first may take as long as the others take to get ready.
    let mut patience = QUIET * 4;
    while (late.len() as u64) < orders.events {
        let Ok(Some(Ok(message))) = timeout(patience, client.0.next()).await else {
            break;
        };
        let Message::Text(text) = message else {
            continue;
        };
        let now = Timestamp::now();
        let Ok(seen) = serde_json::from_str::<Seen>(&text) else {
            eprintln!("not an event: {text}");
            break;
        };
        wrong += u64::from(seen.position != last + 1);
        last = seen.position;
        late.push(now.duration_since(seen.at).as_secs_f64() * 1000.0);
        patience = QUIET;
    }
    (late, wrong)
}
