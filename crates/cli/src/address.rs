//! Where the server of a store is reached: it writes that down when it starts, for commands that print links.

use std::net::SocketAddr;
use std::time::Duration;

use interlock_store::{Error, Store};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The setting under which it is kept.
const KEY: &str = "server_address";
/// How long a server that is there takes to answer, at most.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Serialize, Deserialize)]
struct Kept {
    url: String,
    address: SocketAddr,
}

/// A server began, or is reached otherwise now.
pub(crate) async fn keep(store: &Store, url: String, address: SocketAddr) -> Result<(), Error> {
    let text = serde_json::to_string(&Kept { url, address }).unwrap_or_default();
    store.set_setting(KEY, text).await
}

/// It goes.
pub(crate) async fn forget(store: &Store) -> Result<(), Error> {
    store.set_setting(KEY, "").await
}

/// How the server of this store is reached, if one answers where the last one said that it listens.
pub(crate) async fn find(store: &Store) -> Result<Option<String>, Error> {
    let kept = store.setting(KEY).await?;
    let Some(kept) = kept.and_then(|text| serde_json::from_str::<Kept>(&text).ok()) else {
        return Ok(None);
    };
    let answers = matches!(
        timeout(PATIENCE, TcpStream::connect(kept.address)).await,
        Ok(Ok(_))
    );
    Ok(answers.then_some(kept.url))
}
