//! Lists and details over a hundred thousand sessions, asked over HTTP: how long does an answer take.
//!
//! `cargo run --release -p interlock-server --example list-load`. Ends with 1 if 99 of 100 answers of a list or a detail
//! did not come within 50 ms.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a load run that cannot go on ends with the reason"
)]

#[path = "../../store/benches/fill/mod.rs"]
mod fill;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/live/site.rs"]
mod site;
#[path = "../../store/tests/store/support.rs"]
mod support;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fill::{Outcome, SESSIONS, fill_all};
use interlock_config::Config;
use interlock_server::install_metrics;
use site::Site;

/// The longest that 99 of 100 answers may take.
const P99: Duration = Duration::from_millis(50);
/// How often each is asked, and by how many at the same time.
const TIMES: usize = 400;
const AT_ONCE: usize = 2;

#[tokio::main]
async fn main() -> ExitCode {
    // The client wants one, also for what is not encrypted; where there is one already, that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let roomy = |config: &mut Config| config.server.limits.requests_per_minute = 1_000_000;
    let mut site = Site::start_with(install_metrics(), roomy).await;
    let began = Instant::now();
    fill_all(&site.store).await.expect("sessions to look through");
    println!("{SESSIONS} sessions in {:.1?}", began.elapsed());
    let some = support::session_id(54_321);
    let questions = [
        "/sessions".to_owned(),
        "/sessions?page=4".to_owned(),
        "/sessions?page=4000".to_owned(),
        "/sessions?sort=title&order=asc".to_owned(),
        "/sessions?sort=duration&page_size=100".to_owned(),
        "/sessions?status=failed".to_owned(),
        "/sessions?alert_type=disk-full&status=completed".to_owned(),
        "/sessions?search=node%20123%20is".to_owned(),
        "/sessions?search=the%20log%20volume%20of%20node".to_owned(),
        "/sessions/filters".to_owned(),
        "/overview".to_owned(),
        "/decisions".to_owned(),
        "/approvals".to_owned(),
        format!("/sessions/{some}"),
        format!("/sessions/{some}/timeline"),
        format!("/sessions/{some}/trace"),
    ];
    let mut good = true;
    for question in questions {
        match ask(&site, &question).await {
            Ok(in_time) => good &= in_time,
            Err(error) => {
                println!("{question:<56} {error}");
                good = false;
            }
        }
    }
    site.stop().await;
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Asks again and again; whether it was quick enough.
async fn ask(site: &Site, question: &str) -> Outcome<bool> {
    let url = format!("http://{}/api/v1{question}", site.address);
    let askers: Vec<_> = (0..AT_ONCE)
        .map(|_| tokio::spawn(one_after_another(url.clone(), site.token.clone())))
        .collect();
    let (mut took, mut bytes) = (Vec::new(), 0);
    for asker in askers {
        let (times, length) = asker.await??;
        took.extend(times);
        bytes = length;
    }
    took.sort_unstable();
    let of_hundred = |part: usize| took[(took.len() * part).div_ceil(100) - 1];
    println!(
        "{question:<56} p50 {:>9.2?}  p99 {:>9.2?}  {:>5} kB",
        of_hundred(50),
        of_hundred(99),
        bytes / 1000
    );
    Ok(of_hundred(99) < P99)
}

async fn one_after_another(url: String, token: String) -> Outcome<(Vec<Duration>, usize)> {
    let client = reqwest::Client::new();
    let (mut took, mut bytes) = (Vec::new(), 0);
    for _ in 0..TIMES / AT_ONCE {
        let asked = Instant::now();
        let answer = client.get(&url).bearer_auth(&token).send().await?;
        bytes = answer.error_for_status()?.bytes().await?.len();
        took.push(asked.elapsed());
    }
    Ok((took, bytes))
}
