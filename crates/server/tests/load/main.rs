//! Masking takes none of the threads that answer requests: while ten alerts stand still in the middle of being masked, the
//! one thread that answers goes on answering.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../live/site.rs"]
mod site;

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;

use interlock_protocol::Role;
use serde_json::json;
use site::{PATIENCE, Site};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// Holds everybody who begins to mask something long, until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    held: Vec<ThreadId>,
    open: bool,
}

impl Gate {
    /// Who waits.
    fn held(&self) -> Vec<ThreadId> {
        self.0.0.lock().unwrap().held.clone()
    }

    fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }
}

impl<S: Subscriber> Layer<S> for Gate {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "interlock_engine::masking" {
            return;
        }
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.held.push(std::thread::current().id());
        changed.notify_all();
        let wait = changed.wait_timeout_while(state, PATIENCE, |state| !state.open);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }
}

#[test]
fn health_and_the_kill_switch_answer_while_alerts_are_masked() {
    // The second call in one process finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let gate = Gate::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(gate.clone())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let site = Site::start().await;
        site.user("olga", Role::Admin).await;
        let token = site.new_token("tok_olga", "olga", "operate").await;
        let client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        let post = |path: &str, body: String| {
            client
                .post(format!("http://{}{path}", site.address))
                .bearer_auth(&token)
                .header("content-type", "application/json")
                .body(body)
                .send()
        };
        let data = "password=x ".repeat(2000);
        let alerts: Vec<_> = (0..10)
            .map(|number| {
                let answer = post(
                    "/api/v1/alerts",
                    json!({ "data": format!("{number} {data}") }).to_string(),
                );
                tokio::spawn(async move { answer.await.unwrap().status().as_u16() })
            })
            .collect();
        // As many as may be masked at once.
        while gate.held().is_empty() {
            assert!(
                alerts.iter().all(|alert| !alert.is_finished()),
                "not masked at all"
            );
            tokio::task::yield_now().await;
        }
        for round in 0..20 {
            let health = client
                .get(format!("http://{}/health", site.address))
                .send()
                .await
                .unwrap();
            assert_eq!(health.status(), 200, "{round}");
            let stopped = post("/api/v1/writes/stop", json!({ "reason": "a test" }).to_string())
                .await
                .unwrap();
            assert_eq!(stopped.status(), 200, "{round}");
        }
        let held = gate.held();
        assert!(
            !held.contains(&std::thread::current().id()),
            "masked on the thread that answers"
        );
        assert!(alerts.iter().all(|alert| !alert.is_finished()));
        gate.open();
        for alert in alerts {
            assert_eq!(alert.await.unwrap(), 202);
        }
        assert_eq!(gate.held().len(), 10);
    });
}
