//! How late `/health` and the kill switch answer while ten alerts of 1 MB are masked that are made to be slow.
//!
//! `cargo run --release -p interlock-server --example mask-load`. Ends with 1 if an answer took longer than 100 ms.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a load run that cannot go on ends with the reason"
)]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/live/site.rs"]
mod site;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use interlock_protocol::Role;
use interlock_server::install_metrics;
use serde_json::json;
use site::Site;

/// The longest that an answer may take.
const LONGEST: Duration = Duration::from_millis(100);
const ALERTS: usize = 10;
const BYTES: usize = 1_000_000;

/// Texts that were slow to mask once, and one of all words that wake a rule.
const SLOW: [&str; 5] = [
    "-----BEGIN PRIVATE KEY-----\n",
    "token: ",
    "password=",
    "{\"password\":{\"a\":[",
    "password: |\n  token= Authorization: Bearer secret: apiVersion: v1 kind: Secret data: -----BEGIN ghp_ AKIA eyJ \n",
];

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let site = Site::start_with(install_metrics(), |config| {
        config.server.limits.requests_per_minute = 1_000_000;
        config.server.limits.anonymous_per_minute = 1_000_000;
        config.server.limits.body_bytes = 4 << 20;
    })
    .await;
    site.user("olga", Role::Admin).await;
    let token = site.new_token("tok_olga", "olga", "operate").await;
    let client = reqwest::Client::new();
    let url = |path: &str| format!("http://{}{path}", site.address);
    let mut good = true;
    for slow in SLOW {
        let text: String = slow.chars().cycle().take(BYTES).collect();
        let began = Instant::now();
        let alerts: Vec<_> = (0..ALERTS)
            .map(|number| {
                let body = json!({ "data": format!("{number} {text}") }).to_string();
                let request = client
                    .post(url("/api/v1/alerts"))
                    .bearer_auth(&token)
                    .header("content-type", "application/json")
                    .body(body);
                tokio::spawn(async move { request.send().await.expect("an answer").status() })
            })
            .collect();
        let (mut health, mut stop, mut asked) = (Duration::ZERO, Duration::ZERO, 0);
        while alerts.iter().any(|alert| !alert.is_finished()) {
            let at = Instant::now();
            let answer = client.get(url("/health")).send().await.expect("an answer");
            health = health.max(at.elapsed());
            assert!(answer.status().is_success(), "{}", answer.status());
            let at = Instant::now();
            let answer = client
                .post(url("/api/v1/writes/stop"))
                .bearer_auth(&token)
                .header("content-type", "application/json")
                .body(json!({ "reason": "a measurement" }).to_string())
                .send()
                .await
                .expect("an answer");
            stop = stop.max(at.elapsed());
            assert!(answer.status().is_success(), "{}", answer.status());
            asked += 1;
        }
        let took = began.elapsed();
        for alert in alerts {
            let status = alert.await.expect("a task");
            assert_eq!(status.as_u16(), 202, "an alert was not taken");
        }
        println!(
            "{:<40} masked in {took:>8.1?}; asked {asked:>5} times: /health at most {health:>8.2?}, the kill switch {stop:>8.2?}",
            format!("{:?}", slow.chars().take(30).collect::<String>()),
        );
        good &= health <= LONGEST && stop <= LONGEST;
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
