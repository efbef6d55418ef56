//! The approval token is nowhere but with its approver. A canary is put into every place where it could be and found there
//! first, so that finding no token means something.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use interlock_engine::Live;
use interlock_protocol::{ControlLevel, SessionId};
use tokio::sync::broadcast::Receiver;
use tracing_subscriber::fmt::MakeWriter;

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, has, operator, user};

const CANARY: &str = "canary-4b1d9c";

/// Where the log goes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Everything that somebody else could see, by where.
async fn places(
    lab: &Lab,
    session: &SessionId,
    log: &Log,
    live: &mut Receiver<Live>,
    heard: &mut String,
) -> Vec<(&'static str, Vec<u8>)> {
    while let Ok(happened) = live.try_recv() {
        let text = match happened {
            Live::Event(event) => serde_json::to_string(&event).unwrap(),
            other => format!("{other:?}"),
        };
        heard.push_str(&text);
    }
    let events = serde_json::to_vec(&lab.events(session).await).unwrap();
    let timeline = serde_json::to_vec(&lab.store.timeline(session).await.unwrap()).unwrap();
    let messages = serde_json::to_vec(&lab.store.snapshot(session).await.unwrap().messages).unwrap();
    let logged = log.0.lock().unwrap().clone();
    let requests = format!("{:?}", lab.requests(session).await).into_bytes();
    vec![
        ("event", events),
        ("live event", heard.clone().into_bytes()),
        ("log", logged),
        ("trace", lab.traces(session).await.into_bytes()),
        ("message", messages),
        ("request to the model", requests),
        ("timeline", timeline),
        ("database", lab.bytes()),
    ]
}

/// A secret in every form in which it could be written.
fn forms(token: &[u8; 32]) -> Vec<Vec<u8>> {
    let hex = token.iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let list = format!("{token:?}");
    vec![
        token.to_vec(),
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
        STANDARD.encode(token).into_bytes(),
        STANDARD_NO_PAD.encode(token).into_bytes(),
        URL_SAFE.encode(token).into_bytes(),
        URL_SAFE_NO_PAD.encode(token).into_bytes(),
        list.replace(' ', "").into_bytes(),
        list.into_bytes(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_is_in_no_place_in_which_a_canary_is_found() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // For the whole process: the store writes in a thread of its own.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    // What a model proposes is in events, as they are kept and as they are told, in messages, requests, the timeline, the
    // trace and the database.
    let command = format!("touch /srv/{CANARY}");
    let script = RESTART.replace("touch /srv/flag", &command);
    let lab = Lab::new(Wish::script(&script).level(ControlLevel::Controlled));
    let mut live = lab.engine.watch();
    let mut heard = String::new();
    let (session, _) = lab.ask("put the flag there").await;
    let first = lab.hold().await;
    let opened = lab.engine.open_hold_by(&first, &operator()).await.unwrap();
    let mut tokens = vec![*opened.token.reveal()];
    lab.engine
        .edit_by(&first, &user("otto"), opened.hold.plan.arguments.clone())
        .await
        .unwrap();
    let hold = lab.hold().await;
    tracing::trace!("{CANARY}");
    for _ in 0..2 {
        let opened = lab.engine.open_hold_by(&hold, &operator()).await.unwrap();
        // Whoever writes it to a log by mistake writes nothing.
        tracing::error!(opened = ?opened, "opened");
        tokens.push(*opened.token.reveal());
        let wrong = lab
            .engine
            .approve_with_by(&hold, &user("otto"), &opened.token)
            .await;
        tracing::error!(error = ?wrong.unwrap_err(), "not approved");
    }
    let token = interlock_gate::ApprovalToken::from_bytes(*tokens.last().unwrap());
    lab.engine
        .approve_with_by(&hold, &operator(), &token)
        .await
        .unwrap();
    lab.engine.work_on(&session).await.unwrap();
    assert_eq!(lab.folder.effects(), [command]);
    let places = places(&lab, &session, &log, &mut live, &mut heard).await;
    for (place, bytes) in &places {
        assert!(has(bytes, CANARY.as_bytes()), "the canary is not in the {place}");
        for token in &tokens {
            for form in forms(token) {
                assert!(!has(bytes, &form), "a token is in the {place}");
            }
        }
    }
    // Each form of a token is found in each place where one is put.
    for (place, bytes) in &places {
        for form in forms(&tokens[0]) {
            let mut with = bytes.clone();
            with.extend(&form);
            assert!(has(&with, &form), "{place}");
        }
    }
    lab.prove(&session).await;
}
