//! Programs run in a container for somebody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::create::variables;
use super::logs::{content_type, frame};
use super::{Answer, Fault, ok};
use crate::docker::ContainerState;
use crate::docker::core::{Core, Program};
use crate::docker::log::Stream;
use crate::docker::wire::{self, Call};
use crate::machine::{Chunk, Exec};

const MOST_EXECS: usize = 1_000;
const MOST_STDIN: u64 = 4 << 20;
/// What is typed in must come to its end within this.
const STDIN_TIME: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_hours(1);

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Create {
    cmd: Vec<String>,
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    tty: bool,
    attach_stdin: bool,
}

pub(super) fn create(core: &Arc<Core>, id: &str, call: &Call) -> Answer {
    let container = core.find(id)?;
    let body: Create = call.json().map_err(|error| Fault::bad(error.to_string()))?;
    if body.cmd.is_empty() {
        return Err(Fault::bad("No exec command specified"));
    }
    if container.state != ContainerState::Running {
        let message = match container.state {
            ContainerState::Restarting => {
                format!(
                    "Container {} is restarting, wait until the container is running",
                    container.id
                )
            }
            _ => format!("container {} is not running", container.id),
        };
        return Err(Fault::new(StatusCode::CONFLICT, message));
    }
    let env = variables(body.env.unwrap_or_default())?;
    let exec_id = core.make_id("exec");
    let exec = Program {
        container: container.id,
        argv: body.cmd,
        env,
        folder: body.working_dir.filter(|folder| !folder.is_empty()),
        tty: body.tty,
        stdin: body.attach_stdin,
        running: false,
        exit_code: None,
    };
    let mut state = core.state();
    if state.execs.len() >= MOST_EXECS {
        state.execs.retain(|_, exec| exec.running);
    }
    if state.execs.len() >= MOST_EXECS {
        return Err(Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "too many programs run at once",
        ));
    }
    state.execs.insert(exec_id.clone(), exec);
    drop(state);
    Ok(wire::json(StatusCode::CREATED, &json!({ "Id": exec_id })))
}

fn find(core: &Core, id: &str) -> Result<Program, Fault> {
    let missing = || Fault::new(StatusCode::NOT_FOUND, format!("No such exec instance: {id}"));
    core.state().execs.get(id).cloned().ok_or_else(missing)
}

pub(super) fn inspect(core: &Arc<Core>, id: &str) -> Answer {
    let exec = find(core, id)?;
    ok(&json!({
        "ID": id,
        "Running": exec.running,
        "ExitCode": exec.exit_code,
        "ProcessConfig": {
            "tty": exec.tty,
            "entrypoint": exec.argv.first(),
            "arguments": exec.argv.get(1..).unwrap_or_default(),
            "privileged": false,
        },
        "OpenStdin": exec.stdin,
        "OpenStderr": true,
        "OpenStdout": true,
        "CanRemove": false,
        "ContainerID": exec.container,
        "DetachKeys": "",
        "Pid": 0,
    }))
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Start {
    detach: bool,
}

pub(super) async fn start(core: &Arc<Core>, id: &str, call: Call) -> Answer {
    let exec = find(core, id)?;
    let body: Start = if call.body.is_empty() {
        Start::default()
    } else {
        call.json().map_err(|error| Fault::bad(error.to_string()))?
    };
    if exec.running || exec.exit_code.is_some() {
        let message = format!("exec {id} has already been started");
        return Err(Fault::new(StatusCode::CONFLICT, message));
    }
    let Some(upgrade) = call.upgrade.filter(|_| !body.detach) else {
        let mut chunks = run(core, id, &exec, Vec::new()).await?;
        if body.detach {
            tokio::spawn(async move { while chunks.recv().await.is_some() {} });
            return Ok(wire::empty(StatusCode::OK));
        }
        let body = stream::unfold(chunks, |mut chunks| async {
            let bytes = chunks.recv().await?;
            Some((Ok::<_, std::convert::Infallible>(bytes), chunks))
        });
        return Ok(wire::typed(
            StatusCode::OK,
            content_type(exec.tty),
            Body::from_stream(body),
        ));
    };
    let (core, id, tty) = (Arc::clone(core), id.to_owned(), exec.tty);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            hijacked(&core, &id, &exec, TokioIo::new(upgraded)).await;
        }
    });
    Ok(upgraded(tty))
}

fn upgraded(tty: bool) -> Response {
    let mut response = wire::typed(StatusCode::SWITCHING_PROTOCOLS, content_type(tty), Body::empty());
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    response
        .headers_mut()
        .insert(header::UPGRADE, HeaderValue::from_static("tcp"));
    response
}

/// Talks over the raw connection: what comes is the program's input, what goes are frames.
async fn hijacked(core: &Arc<Core>, id: &str, exec: &Program, connection: TokioIo<hyper::upgrade::Upgraded>) {
    let (read, mut write) = tokio::io::split(connection);
    let mut stdin = Vec::new();
    if exec.stdin {
        let mut read = read.take(MOST_STDIN);
        let _ = tokio::time::timeout(STDIN_TIME, read.read_to_end(&mut stdin)).await;
    }
    match run(core, id, exec, stdin).await {
        Ok(mut chunks) => {
            while let Some(bytes) = chunks.recv().await {
                if write.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        }
        Err(fault) => {
            let mut bytes = BytesMut::new();
            frame(
                Stream::Stderr,
                format!("{}\n", fault.message).as_bytes(),
                &mut bytes,
            );
            let _ = write.write_all(&bytes).await;
        }
    }
    let _ = write.shutdown().await;
}

/// Runs the program; the frames of what it prints. Dropping them kills it.
async fn run(
    core: &Arc<Core>,
    id: &str,
    exec: &Program,
    stdin: Vec<u8>,
) -> Result<mpsc::Receiver<Bytes>, Fault> {
    let container = core.find(&exec.container)?;
    let machine = container.machine.ok_or_else(|| {
        Fault::new(
            StatusCode::CONFLICT,
            format!("container {} is not running", container.id),
        )
    })?;
    let mut env: BTreeMap<String, String> = container.settings.env;
    env.extend(exec.env.clone());
    let program = Exec {
        argv: exec.argv.clone(),
        stdin,
        env,
        folder: exec.folder.clone().map(Into::into),
        timeout: Some(LONGEST),
    };
    let set = |core: &Core, id: &str, running: bool, code: Option<i32>| {
        if let Some(exec) = core.state().execs.get_mut(id) {
            exec.running = running;
            exec.exit_code = code;
        }
    };
    set(core, id, true, None);
    let mut output = match machine.stream(program).await {
        Ok(output) => output,
        Err(error) => {
            set(core, id, false, Some(126));
            return Err(crate::docker::Error::from(error).into());
        }
    };
    let (give, take) = mpsc::channel(16);
    let (core, id, tty) = (Arc::clone(core), id.to_owned(), exec.tty);
    tokio::spawn(async move {
        let mut exit_code = 137;
        while let Some(chunk) = output.recv().await {
            let (stream, text) = match chunk {
                Chunk::Stdout(text) => (Stream::Stdout, text),
                Chunk::Stderr(text) => (Stream::Stderr, text),
                Chunk::Exit(ended) => {
                    exit_code = ended;
                    break;
                }
            };
            let mut bytes = BytesMut::new();
            if tty {
                bytes.extend_from_slice(&text);
            } else {
                frame(stream, &text, &mut bytes);
            }
            if give.send(bytes.freeze()).await.is_err() {
                break;
            }
        }
        set(&core, &id, false, Some(exit_code));
    });
    Ok(take)
}
