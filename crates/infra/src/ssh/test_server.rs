//! An SSH server for tests that really runs what it is told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use russh::keys::{Algorithm, PrivateKey, PublicKey};
use russh::server::{self, Auth, Msg, Server as _, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelMsg};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub(crate) const PASSWORD: &str = "correct horse";

/// A server that runs until the test ends.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) key: PublicKey,
    pub(crate) seen: Arc<Seen>,
}

/// What the server saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) commands: Mutex<Vec<String>>,
    pub(crate) connections: Mutex<usize>,
    /// Everyone is sent away in the middle of a command.
    pub(crate) breaks: Mutex<bool>,
}

impl Running {
    /// The line of a `known_hosts` file for it.
    pub(crate) fn known(&self) -> String {
        let key = self.key.to_openssh().unwrap();
        format!("[{}]:{} {key}\n", self.address.ip(), self.address.port())
    }
}

/// Starts a server; programs in `path` are found before others.
pub(crate) async fn start(path: Option<&Path>, allowed: Option<PublicKey>) -> Running {
    let key = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).unwrap();
    let public = key.public_key().clone();
    let config = Arc::new(server::Config {
        keys: vec![key],
        auth_rejection_time: std::time::Duration::ZERO,
        ..server::Config::default()
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let mut server = Server {
        seen: Arc::clone(&seen),
        path: path.map(Path::to_owned),
        allowed,
    };
    tokio::spawn(async move { server.run_on_socket(config, &listener).await });
    Running {
        address,
        key: public,
        seen,
    }
}

struct Server {
    seen: Arc<Seen>,
    path: Option<PathBuf>,
    allowed: Option<PublicKey>,
}

impl server::Server for Server {
    type Handler = Handler;

    fn new_client(&mut self, _: Option<SocketAddr>) -> Handler {
        *self.seen.connections.lock().unwrap() += 1;
        Handler {
            seen: Arc::clone(&self.seen),
            path: self.path.clone(),
            allowed: self.allowed.clone(),
            channels: HashMap::new(),
        }
    }
}

struct Handler {
    seen: Arc<Seen>,
    path: Option<PathBuf>,
    allowed: Option<PublicKey>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl server::Handler for Handler {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        Ok(if user == "root" && password == PASSWORD {
            Auth::Accept
        } else {
            Auth::reject()
        })
    }

    async fn auth_publickey(&mut self, _: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        let allowed = self
            .allowed
            .as_ref()
            .is_some_and(|allowed| allowed.key_data() == key.public_key.key_data());
        Ok(if allowed { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: server::ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8_lossy(command).into_owned();
        self.seen.commands.lock().unwrap().push(command.clone());
        if *self.seen.breaks.lock().unwrap() {
            return Err(russh::Error::Disconnect);
        }
        session.channel_success(id)?;
        if let Some(channel) = self.channels.remove(&id) {
            tokio::spawn(run(channel, command, self.path.clone()));
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the other side of the wire, in a test, really runs what it is told"
)]
async fn run(channel: Channel<Msg>, command: String, path: Option<PathBuf>) {
    let usual = std::env::var("PATH").unwrap_or_default();
    let path = path.map_or(usual.clone(), |path| format!("{}:{usual}", path.display()));
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", &command])
        .env_clear()
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut reading, writing) = channel.split();
    let mut stdin = child.stdin.take();
    let mut stdout = child.stdout.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let input = async {
        while let Some(message) = reading.wait().await {
            match message {
                ChannelMsg::Data { data } => {
                    if let Some(stdin) = &mut stdin {
                        let _ = stdin.write_all(&data).await;
                    }
                }
                ChannelMsg::Eof => stdin = None,
                ChannelMsg::Close => return,
                _ => {}
            }
        }
    };
    let output = async {
        let mut chunk = vec![0; 8192];
        while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
            let _ = writing.data(&chunk[..count]).await;
        }
        let mut all = Vec::new();
        let _ = stderr.read_to_end(&mut all).await;
        let _ = writing.extended_data(1, all.as_slice()).await;
        let code = child.wait().await.unwrap().code();
        let _ = writing
            .exit_status(code.and_then(|code| u32::try_from(code).ok()).unwrap_or(255))
            .await;
        let _ = writing.eof().await;
        let _ = writing.close().await;
    };
    tokio::select! {
        () = input => {}
        () = output => {}
    }
}
