//! One client of an SSH server: signs in, runs commands.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use russh::server::{Auth, ChannelOpenHandle, Handle, Handler, Msg, VerifiedPublicKey};
use russh::{Channel, ChannelId, Pty, Sig};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::access::Access;
use crate::cluster::{Cluster, Place};
use crate::machine::{Chunk, Exec};

/// How long a command waits for the first of its input.
const FIRST_INPUT: Duration = Duration::from_millis(250);
/// How long it waits for the rest, once some came.
const MORE_INPUT: Duration = Duration::from_secs(10);
/// More input than this is not taken.
const MOST_INPUT: usize = 16 << 20;
/// The number of the stream for complaints.
const STDERR: u32 = 1;

/// A client.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) cluster: Cluster,
    pub(super) node: String,
    access: Access,
    channels: HashMap<ChannelId, Open>,
}

/// A channel that is open.
#[derive(Debug, Default)]
struct Open {
    env: BTreeMap<String, String>,
    input: Option<mpsc::Sender<Vec<u8>>>,
    running: Option<DropGuard>,
}

impl Clone for Session {
    /// For another client: it has no channels yet.
    fn clone(&self) -> Self {
        Self::new(self.cluster.clone(), self.node.clone(), self.access.clone())
    }
}

impl Session {
    pub(super) fn new(cluster: Cluster, node: String, access: Access) -> Self {
        Self {
            cluster,
            node,
            access,
            channels: HashMap::new(),
        }
    }
}

const fn verdict(right: bool) -> Auth {
    if right {
        Auth::Accept
    } else {
        Auth::Reject {
            proceed_with_methods: None,
            partial_success: false,
        }
    }
}

impl Handler for Session {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        Ok(verdict(self.access.is_password(user, password)))
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        Ok(verdict(self.access.is_key(user, key.public_key)))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), Open::default());
        reply.accept().await;
        Ok(())
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        value: &str,
        session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        // As a real server: only what says which language is wanted.
        let language = name == "LANG" || name.starts_with("LC_");
        match self.channels.get_mut(&channel).filter(|_| language) {
            Some(open) => {
                open.env.insert(name.to_owned(), value.to_owned());
                session.channel_success(channel)
            }
            None => session.channel_failure(channel),
        }
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        let Some(open) = self
            .channels
            .get_mut(&channel)
            .filter(|open| open.running.is_none())
        else {
            return session.channel_failure(channel);
        };
        session.channel_success(channel)?;
        let (sender, input) = mpsc::channel(16);
        let stop = CancellationToken::new();
        open.input = Some(sender);
        open.running = Some(stop.clone().drop_guard());
        let job = Job {
            cluster: self.cluster.clone(),
            node: self.node.clone(),
            command: String::from_utf8_lossy(command).into_owned(),
            env: std::mem::take(&mut open.env),
            output: session.handle(),
            channel,
        };
        tokio::spawn(async move {
            tokio::select! {
                () = job.run(input) => {}
                () = stop.cancelled() => {}
            }
        });
        Ok(())
    }

    async fn data(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        _session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        let sender = self.channels.get(&channel).and_then(|open| open.input.clone());
        if let Some(sender) = sender {
            // Nobody takes it once the command has begun.
            let _ = sender.send(data.to_vec()).await;
        }
        Ok(())
    }

    async fn channel_eof(
        &mut self,
        channel: ChannelId,
        _session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        if let Some(open) = self.channels.get_mut(&channel) {
            open.input = None;
        }
        Ok(())
    }

    async fn channel_close(
        &mut self,
        channel: ChannelId,
        _session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        self.channels.remove(&channel);
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        _columns: u32,
        _rows: u32,
        _width: u32,
        _height: u32,
        _modes: &[(Pty, u32)],
        session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn shell_request(
        &mut self,
        channel: ChannelId,
        session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        session.channel_success(channel)?;
        let words = "This node has no interactive shell: give a command, as in `ssh root@node uptime`.\r\n";
        session.extended_data(channel, STDERR, words.as_bytes().to_vec())?;
        session.exit_status_request(channel, 1)?;
        session.eof(channel)?;
        session.close(channel)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        session: &mut russh::server::Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }
}

/// A command that runs. When it is dropped the program is killed.
struct Job {
    cluster: Cluster,
    node: String,
    command: String,
    env: BTreeMap<String, String>,
    output: Handle,
    channel: ChannelId,
}

/// How a command ended.
enum End {
    Code(u32),
    Signal(Sig),
}

impl Job {
    async fn run(self, input: mpsc::Receiver<Vec<u8>>) {
        let end = self.pump(input).await;
        let _ = self.output.eof(self.channel).await;
        let _ = match end {
            End::Code(code) => self.output.exit_status_request(self.channel, code).await,
            End::Signal(signal) => {
                let empty = String::new();
                self.output
                    .exit_signal_request(self.channel, signal, false, empty.clone(), empty)
                    .await
            }
        };
        let _ = self.output.close(self.channel).await;
    }

    async fn pump(&self, input: mpsc::Receiver<Vec<u8>>) -> End {
        let Some(machine) = self.cluster.machine(&Place::Node(self.node.clone())) else {
            return self.give_up("the node is down").await;
        };
        let exec = Exec {
            argv: ["sh", "-c", &self.command].map(str::to_owned).to_vec(),
            stdin: collect(input).await,
            env: self.env.clone(),
            ..Exec::default()
        };
        let mut chunks = match machine.stream(exec).await {
            Ok(chunks) => chunks,
            Err(error) => return self.give_up(&error.to_string()).await,
        };
        while let Some(chunk) = chunks.recv().await {
            let sent = match chunk {
                Chunk::Stdout(bytes) => self.output.data(self.channel, bytes).await.is_ok(),
                Chunk::Stderr(bytes) => {
                    let sent = self.output.extended_data(self.channel, STDERR, bytes).await;
                    sent.is_ok()
                }
                Chunk::Exit(code) => return end(code),
            };
            if !sent {
                break;
            }
        }
        End::Code(255)
    }

    async fn give_up(&self, why: &str) -> End {
        let words = format!("{why}\n").into_bytes();
        let _ = self.output.extended_data(self.channel, STDERR, words).await;
        End::Code(255)
    }
}

/// The input of a command, to its end. Who sends none and leaves it open is not waited for.
async fn collect(mut input: mpsc::Receiver<Vec<u8>>) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let patience = if all.is_empty() { FIRST_INPUT } else { MORE_INPUT };
        match tokio::time::timeout(patience, input.recv()).await {
            Ok(Some(bytes)) if all.len() < MOST_INPUT => all.extend(bytes),
            Ok(_) | Err(_) => return all,
        }
    }
}

/// A code of 128 and the number of a signal is that signal.
fn end(code: i32) -> End {
    let signal = match code.wrapping_sub(128) {
        1 => Sig::HUP,
        2 => Sig::INT,
        3 => Sig::QUIT,
        4 => Sig::ILL,
        6 => Sig::ABRT,
        8 => Sig::FPE,
        9 => Sig::KILL,
        10 => Sig::USR1,
        11 => Sig::SEGV,
        13 => Sig::PIPE,
        14 => Sig::ALRM,
        15 => Sig::TERM,
        _ => return End::Code(u32::try_from(code).unwrap_or(255)),
    };
    End::Signal(signal)
}
