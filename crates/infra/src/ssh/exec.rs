//! One command over an open connection, watched to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_protocol::Capture;
use russh::{Channel, ChannelMsg, client};
use tokio_util::sync::CancellationToken;

use super::Ssh;
use super::connection::Link;
use crate::Error;
use crate::output::{Exit, Limits, Output, exit_of};

/// How much longer than its command a channel may stay open.
const SLACK: Duration = Duration::from_secs(5);
/// How long a channel may take to open.
const OPEN: Duration = Duration::from_secs(10);
/// Standard error, as SSH numbers it.
const STDERR: u32 = 1;

pub(super) async fn run(
    ssh: &Ssh,
    line: &str,
    stdin: Option<&[u8]>,
    limits: Limits,
    cancel: &CancellationToken,
) -> Result<Output, Error> {
    let began = Instant::now();
    let opened = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Error::Cancelled),
        opened = channel(ssh) => opened?,
    };
    let (open, channel) = opened;
    // On this very connection, before anything is said on it.
    ssh.check_identity(&open.host_key)?;
    let output = watch(ssh, channel, line, stdin, limits, cancel, began).await;
    if let Err(Error::Unreachable { .. }) = &output {
        ssh.forget(&open).await;
    }
    output
}

/// A channel; over a new connection where the old one turns out to be gone. Nothing was run yet.
async fn channel(ssh: &Ssh) -> Result<(Arc<Link>, Channel<client::Msg>), Error> {
    let mut last = None;
    for _ in 0..2 {
        let link = ssh.open().await?;
        match tokio::time::timeout(OPEN, link.handle.channel_open_session()).await {
            Ok(Ok(channel)) => return Ok((link, channel)),
            Ok(Err(error)) => last = Some(ssh.unreachable(error.to_string())),
            Err(_) => last = Some(ssh.timed_out(OPEN)),
        }
        ssh.forget(&link).await;
    }
    Err(last.unwrap_or(Error::Cancelled))
}

async fn watch(
    ssh: &Ssh,
    channel: Channel<client::Msg>,
    line: &str,
    stdin: Option<&[u8]>,
    limits: Limits,
    cancel: &CancellationToken,
    began: Instant,
) -> Result<Output, Error> {
    let broken = |error: russh::Error| ssh.unreachable(error.to_string());
    channel.exec(true, line).await.map_err(broken)?;
    let mut stdout = Capture::new(limits.output_bytes);
    let mut stderr = Capture::new(limits.output_bytes);
    let mut exit = None;
    let (mut reading, writing) = channel.split();
    let input = async {
        if let Some(bytes) = stdin {
            // Whoever does not read its input says so by its exit.
            let _ = writing.data(bytes).await;
        }
        let _ = writing.eof().await;
        std::future::pending::<()>().await;
    };
    tokio::pin!(input);
    let deadline = tokio::time::sleep(limits.wall + SLACK);
    tokio::pin!(deadline);
    let cut = loop {
        let message = tokio::select! {
            biased;
            () = cancel.cancelled() => break Some(Exit::Cancelled),
            () = &mut deadline => break Some(Exit::TimedOut),
            message = reading.wait() => message,
            () = &mut input => continue,
        };
        match message {
            Some(ChannelMsg::Data { data }) => stdout.push(&data),
            Some(ChannelMsg::ExtendedData { data, ext: STDERR }) => stderr.push(&data),
            Some(ChannelMsg::ExitStatus { exit_status }) => {
                exit = Some(exit_of(
                    i32::try_from(exit_status).ok(),
                    limits.wall,
                    began.elapsed(),
                ));
            }
            Some(ChannelMsg::ExitSignal { .. }) => exit = Some(Exit::Signal),
            Some(ChannelMsg::Failure) => {
                return Err(Error::Refused {
                    connection: ssh.inner.connection.clone(),
                    status: None,
                    message: "its SSH server runs no commands for this user".to_owned(),
                });
            }
            Some(_) => {}
            None => break None,
        }
        if stdout.total().max(stderr.total()) > limits.drain_bytes {
            break Some(Exit::OutputLimit);
        }
    };
    if cut.is_some() {
        // `timeout` passes it on to everything that the command started. A server that takes no signals ends nothing now;
        // then the command ends when its time is over.
        let _ = writing.signal(russh::Sig::TERM).await;
        let _ = writing.close().await;
    }
    // A channel that closed without an exit lost its connection on the way.
    let exit = cut.or(exit).ok_or_else(|| {
        ssh.unreachable("the connection was lost while the command ran; whether it took effect is not known")
    })?;
    Ok(Output {
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        exit,
        duration: began.elapsed(),
        sandbox: None,
    })
}
