//! Sends the signed end of the audit log to places outside the store, on a schedule: whoever cuts the log afterwards is
//! found out.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use interlock_config::Ship;
use interlock_store::{Checkpoint, Store};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long one place may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Facility "log audit" (13), severity "notice" (5), as RFC 5424 counts.
const PRIORITY: u8 = 13 * 8 + 5;

/// Sends the newest checkpoint to every place, whenever there is a new one; and once more when it is to end. A reload may change
/// the places.
pub(crate) async fn run(store: Store, mut places: watch::Receiver<Option<Ship>>, end: CancellationToken) {
    loop {
        let ship = places.borrow_and_update().clone();
        let sending = async {
            match &ship {
                Some(ship) => send_regularly(&store, ship, &end).await,
                None => end.cancelled().await,
            }
        };
        tokio::select! {
            () = sending => return,
            () = changed(&mut places) => {}
        }
    }
}

/// Until a reload changes the places. Never, if none can any more.
async fn changed(places: &mut watch::Receiver<Option<Ship>>) {
    if places.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn send_regularly(store: &Store, ship: &Ship, end: &CancellationToken) {
    let mut sent = Sent::default();
    let mut clock = tokio::time::interval(ship.every.get());
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut is_last = false;
    while !is_last {
        tokio::select! {
            _ = clock.tick() => {}
            () = end.cancelled() => is_last = true,
        }
        match store.last_checkpoint().await {
            Ok(Some(checkpoint)) => sent.send(ship, &checkpoint).await,
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the end of the audit log cannot be read, so it is not sent");
            }
        }
    }
}

/// The number of the last checkpoint that each place has.
#[derive(Default)]
struct Sent {
    file: u64,
    webhook: u64,
    syslog: u64,
}

impl Sent {
    /// To all places at once: one that is slow or gone does not keep the others waiting.
    async fn send(&mut self, ship: &Ship, checkpoint: &Checkpoint) {
        let number = checkpoint.number;
        let Ok(line) = serde_json::to_string(checkpoint) else {
            return;
        };
        let file = ship.file.as_deref().filter(|_| self.file < number);
        let webhook = ship.webhook.as_deref().filter(|_| self.webhook < number);
        let syslog = ship.syslog.as_deref().filter(|_| self.syslog < number);
        let (to_file, to_webhook, to_syslog) = tokio::join!(
            async {
                match file {
                    Some(file) => Some(append(file, &line).await),
                    None => None,
                }
            },
            async {
                match webhook {
                    Some(url) => Some(post(url, line.clone()).await),
                    None => None,
                }
            },
            async {
                match syslog {
                    Some(address) => Some(log(address, &line, checkpoint).await),
                    None => None,
                }
            },
        );
        for (place, sent, last) in [
            ("file", to_file, &mut self.file),
            ("webhook", to_webhook, &mut self.webhook),
            ("syslog", to_syslog, &mut self.syslog),
        ] {
            if let Some(sent) = sent {
                note(place, sent, last, number);
            }
        }
    }
}

fn note(place: &'static str, sent: Result<(), String>, last: &mut u64, number: u64) {
    match sent {
        Ok(()) => *last = number,
        Err(why) => tracing::warn!(
            place,
            why,
            "the signed end of the audit log was not sent; the next attempt follows on schedule"
        ),
    }
}

/// A link is not followed. The file may be on another machine, so it may hang.
async fn append(file: &Path, line: &str) -> Result<(), String> {
    let (file, line) = (file.to_owned(), format!("{line}\n"));
    let appending = tokio::task::spawn_blocking(move || {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(file)
            .and_then(|mut file| {
                file.write_all(line.as_bytes())?;
                file.sync_data()
            })
    });
    match tokio::time::timeout(PATIENCE, appending).await {
        Ok(Ok(appended)) => appended.map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("timeout".to_owned()),
    }
}

async fn post(url: &str, line: String) -> Result<(), String> {
    // Whoever was first has chosen: any provider of cryptography will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client
        .post(url)
        .header("content-type", "application/json")
        .body(line)
        .send()
        .await
        .map_err(|error| error.without_url().to_string())?;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(format!("the server answered {}", answer.status()))
    }
}

/// RFC 5424 over UDP.
async fn log(address: &str, line: &str, checkpoint: &Checkpoint) -> Result<(), String> {
    let message = format!(
        "<{PRIORITY}>1 {:.3} - interlock - checkpoint - {line}",
        checkpoint.at
    );
    let sending = async {
        let target = tokio::net::lookup_host(address)
            .await?
            .next()
            .ok_or_else(|| std::io::Error::other("the host has no address"))?;
        let local = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        UdpSocket::bind(local)
            .await?
            .send_to(message.as_bytes(), target)
            .await
    };
    match tokio::time::timeout(PATIENCE, sending).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("timeout".to_owned()),
    }
}
