//! The guest agent of a virtual machine.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Refusal;
use super::routes::{Ask, Target};
use crate::cluster::{AgentError, ExecStatus};
use crate::machine::{Exec, Machine};

/// How much of a file is read.
const MOST: usize = 16 << 20;
/// How much can be written into a file at once.
const MOST_WRITTEN: usize = 60 << 10;

/// What became of a program, as the agent says it.
pub(crate) fn exec_status(status: &ExecStatus) -> Value {
    let mut fields = serde_json::Map::new();
    fields.insert("exited".to_owned(), json!(u8::from(status.exited)));
    if let Some(code) = status.exit_code {
        fields.insert("exitcode".to_owned(), json!(code));
    }
    if let Some(signal) = status.signal {
        fields.insert("signal".to_owned(), json!(signal));
    }
    for (name, truncated, bytes, is_truncated) in [
        (
            "out-data",
            "out-truncated",
            &status.stdout,
            status.stdout_truncated,
        ),
        (
            "err-data",
            "err-truncated",
            &status.stderr,
            status.stderr_truncated,
        ),
    ] {
        if !bytes.is_empty() {
            fields.insert(name.to_owned(), json!(String::from_utf8_lossy(bytes)));
            if is_truncated {
                fields.insert(truncated.to_owned(), json!(1));
            }
        }
    }
    Value::Object(fields)
}

pub(super) fn ping(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.cluster.agent(target.vmid)?;
    Ok(json!({ "result": {} }))
}

pub(super) async fn exec(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params.only(&["command", "input-data"])?;
    ask.params.required("command")?;
    let argv = ask.params.all("command").to_vec();
    let input = ask.params.get("input-data").unwrap_or("").as_bytes().to_vec();
    let pid = ask.cluster.agent_exec(target.vmid, argv, input).await?;
    Ok(json!({ "pid": pid }))
}

pub(super) fn status(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params.required("pid")?;
    let pid = ask.params.integer("pid")?.and_then(|pid| u32::try_from(pid).ok());
    let pid = pid.ok_or_else(|| Refusal::parameter("pid", "value is too large"))?;
    Ok(exec_status(&ask.cluster.agent_status(target.vmid, pid)?))
}

pub(super) async fn file_read(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let machine = ask.cluster.agent(target.vmid)?;
    let path = ask.params.required("file")?;
    let content = machine
        .read(path)
        .await
        .map_err(|error| refused(&format!("failed to open file '{path}' (mode: 'r'): {error}")))?;
    let kept = content.get(..MOST.min(content.len())).unwrap_or_default();
    let mut value = json!({ "content": String::from_utf8_lossy(kept), "bytes-read": kept.len() });
    if let Some(fields) = value.as_object_mut().filter(|_| kept.len() < content.len()) {
        fields.insert("truncated".to_owned(), json!(1));
    }
    Ok(value)
}

pub(super) async fn file_write(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params.only(&["file", "content", "encode"])?;
    let machine = ask.cluster.agent(target.vmid)?;
    let (path, content) = (ask.params.required("file")?, ask.params.required("content")?);
    if content.len() > MOST_WRITTEN {
        return Err(Refusal::parameter(
            "content",
            format!("value may only be {MOST_WRITTEN} characters long"),
        ));
    }
    machine
        .write(path, content.as_bytes())
        .await
        .map_err(|error| refused(&format!("failed to open file '{path}' (mode: 'w'): {error}")))?;
    Ok(Value::Null)
}

fn refused(why: &str) -> Refusal {
    AgentError::Refused(why.to_owned()).into()
}

/// The commands of the agent that only look.
pub(super) async fn look(ask: Ask<'_>, target: Target<'_>, word: &str) -> Result<Option<Value>, Refusal> {
    let result = match word {
        "get-osinfo" => os_info(&ask.cluster.agent(target.vmid)?).await?,
        "get-host-name" => {
            let machine = ask.cluster.agent(target.vmid)?;
            json!({ "host-name": run(&machine, &["hostname"]).await?.trim() })
        }
        "network-get-interfaces" => {
            ask.cluster.agent(target.vmid)?;
            interfaces(ask, target).await?
        }
        "get-fsinfo" => file_systems(&ask.cluster.agent(target.vmid)?).await?,
        _ => return Ok(None),
    };
    Ok(Some(json!({ "result": result })))
}

async fn run(machine: &Machine, argv: &[&str]) -> Result<String, Refusal> {
    let exec = Exec {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        timeout: Some(Duration::from_secs(10)),
        ..Exec::default()
    };
    let finished = machine.exec(exec).await?;
    Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
}

async fn os_info(machine: &Machine) -> Result<Value, Refusal> {
    let release = machine.read("/etc/os-release").await.unwrap_or_default();
    let release = String::from_utf8_lossy(&release).into_owned();
    let field = |name: &str| {
        let line = release
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map_or_else(String::new, |value| value.trim_matches('"').to_owned())
    };
    let kernel = run(machine, &["uname", "-r"]).await?;
    Ok(json!({
        "id": field("ID"), "name": field("NAME"), "pretty-name": field("PRETTY_NAME"),
        "version": field("VERSION"), "version-id": field("VERSION_ID"), "machine": "x86_64",
        "kernel-release": kernel.trim(), "kernel-version": "#1 SMP PREEMPT_DYNAMIC",
    }))
}

async fn interfaces(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let guest = ask.cluster.guest(target.vmid).await;
    let config = ask.cluster.locate(target.vmid)?.config;
    let mac = config
        .now
        .get("net0")
        .and_then(|net| net.split(',').next()?.split_once('='))
        .map_or_else(String::new, |(_, mac)| mac.to_lowercase());
    let mut list = vec![json!({
        "name": "lo", "hardware-address": "00:00:00:00:00:00",
        "ip-addresses": [{ "ip-address": "127.0.0.1", "ip-address-type": "ipv4", "prefix": 8 }],
    })];
    if let Some(address) = guest.and_then(|guest| guest.address) {
        list.push(json!({
            "name": "eth0", "hardware-address": mac,
            "ip-addresses": [{ "ip-address": address.to_string(), "ip-address-type": "ipv4", "prefix": 24 }],
        }));
    }
    Ok(Value::Array(list))
}

async fn file_systems(machine: &Machine) -> Result<Value, Refusal> {
    let usages = machine.usage().await?;
    Ok(usages
        .iter()
        .enumerate()
        .map(|(index, usage)| {
            json!({
                "mountpoint": usage.path, "name": format!("sda{}", index + 1), "type": "ext4",
                "total-bytes": usage.total, "used-bytes": usage.used, "disk": [],
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_program_is_said_as_the_agent_does() {
        let done = ExecStatus {
            exited: true,
            exit_code: Some(3),
            stdout: b"out\n".to_vec(),
            ..ExecStatus::default()
        };
        let killed = ExecStatus {
            exited: true,
            signal: Some(9),
            stderr: b"e".to_vec(),
            stderr_truncated: true,
            ..ExecStatus::default()
        };
        let cases = [
            (ExecStatus::default(), json!({ "exited": 0 })),
            (done, json!({ "exited": 1, "exitcode": 3, "out-data": "out\n" })),
            (
                killed,
                json!({ "exited": 1, "signal": 9, "err-data": "e", "err-truncated": 1 }),
            ),
        ];
        for (status, expected) in cases {
            assert_eq!(exec_status(&status), expected);
        }
    }
}
