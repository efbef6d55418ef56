//! Looking at one guest.

use serde_json::{Value, json};

use super::answer::Refusal;
use super::cluster::{guest_numbers, status_word};
use super::routes::{Ask, Target};
use crate::cluster::{GuestStatus, GuestView, Health, Lines, Located};
use crate::topology::GuestKind;

/// Keys whose values the real API gives as numbers.
const NUMBERS: [&str; 9] = [
    "cores",
    "sockets",
    "memory",
    "swap",
    "onboot",
    "unprivileged",
    "protection",
    "numa",
    "snaptime",
];

fn entry(guest: &GuestView) -> Value {
    let mut value = json!({ "name": guest.name, "status": status_word(guest.status), "cpus": guest.cores });
    if let Some(fields) = value.as_object_mut() {
        fields.extend(guest_numbers(guest));
        // The real one has never made up its mind about this.
        match guest.kind {
            GuestKind::Lxc => {
                fields.insert("vmid".to_owned(), json!(guest.vmid.to_string()));
                fields.insert("type".to_owned(), json!("lxc"));
                fields.insert("swap".to_owned(), json!(0));
                fields.insert("maxswap".to_owned(), json!(512_u64 << 20));
            }
            GuestKind::Vm => {
                fields.insert("vmid".to_owned(), json!(guest.vmid));
            }
        }
        if guest.uptime > 0 {
            fields.insert("pid".to_owned(), json!(guest.pid));
        }
        if !guest.tags.is_empty() {
            fields.insert("tags".to_owned(), json!(guest.tags.join(";")));
        }
        if let Some(lock) = &guest.lock {
            fields.insert("lock".to_owned(), json!(lock));
        }
    }
    value
}

pub(super) async fn list(ask: Ask<'_>, node: &str, kind: GuestKind) -> Value {
    let guests = ask.cluster.guests().await;
    guests
        .iter()
        .filter(|guest| guest.node == node && guest.kind == kind)
        .map(entry)
        .collect()
}

pub(super) async fn current(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let guest = ask
        .cluster
        .guest(target.vmid)
        .await
        .ok_or_else(|| Refusal::Failed(format!("there is no guest {}", target.vmid)))?;
    let mut value = entry(&guest);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("ha".to_owned(), json!({ "managed": 0 }));
        if guest.kind == GuestKind::Vm {
            let qmp = match guest.status {
                GuestStatus::Running => "running",
                GuestStatus::Paused => "paused",
                GuestStatus::Stopped | GuestStatus::Unknown => "stopped",
            };
            fields.insert("qmpstatus".to_owned(), json!(qmp));
            let located = ask.cluster.locate(target.vmid)?;
            if located
                .config
                .now
                .get("agent")
                .is_some_and(|agent| agent.contains('1'))
            {
                fields.insert("agent".to_owned(), json!(1));
            }
        }
    }
    Ok(value)
}

fn typed(key: &str, value: &str) -> Value {
    let number = NUMBERS
        .contains(&key)
        .then(|| value.parse::<u64>().ok())
        .flatten();
    number.map_or_else(|| json!(value), |number| json!(number))
}

fn lines<'a>(located: &'a Located, snapshot: Option<&str>) -> Result<&'a Lines, Refusal> {
    let Some(name) = snapshot else {
        return Ok(&located.config.now);
    };
    let found = located.config.snapshots.iter().find(|(known, _)| known == name);
    found
        .map(|(_, lines)| lines)
        .ok_or_else(|| Refusal::Failed(format!("snapshot '{name}' does not exist")))
}

pub(super) fn config(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params.only(&["current", "snapshot"])?;
    let located = ask.cluster.locate(target.vmid)?;
    let lines = lines(&located, ask.params.get("snapshot"))?;
    let mut fields: serde_json::Map<String, Value> = lines
        .iter()
        .map(|(key, value)| {
            // Virtual machines have the memory as a string since it may be a list of properties.
            let value = if key == "memory" && target.kind == GuestKind::Vm {
                json!(value)
            } else {
                typed(key, value)
            };
            (key.to_owned(), value)
        })
        .collect();
    fields.insert("digest".to_owned(), json!(located.config.digest()));
    Ok(Value::Object(fields))
}

/// Everything takes effect at once, so nothing is ever pending.
pub(super) fn pending(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let located = ask.cluster.locate(target.vmid)?;
    let digest = json!({ "key": "digest", "value": located.config.digest() });
    let entries = located.config.now.iter();
    Ok(entries
        .map(|(key, value)| json!({ "key": key, "value": typed(key, value) }))
        .chain([digest])
        .collect())
}

pub(super) fn snapshots(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let located = ask.cluster.locate(target.vmid)?;
    let running = ask.cluster.status(target.vmid)? != GuestStatus::Stopped;
    let entry = |name: &str, lines: &Lines| {
        let mut value = json!({ "name": name, "description": lines.get("description").unwrap_or("") });
        if let Some(fields) = value.as_object_mut() {
            if let Some(parent) = lines.get("parent") {
                fields.insert("parent".to_owned(), json!(parent));
            }
            if let Some(time) = lines.number("snaptime") {
                fields.insert("snaptime".to_owned(), json!(time));
            }
            if target.kind == GuestKind::Vm && lines.get("snaptime").is_some() {
                fields.insert("vmstate".to_owned(), json!(0));
            }
        }
        value
    };
    let mut all: Vec<Value> = located
        .config
        .snapshots
        .iter()
        .map(|(name, lines)| entry(name, lines))
        .collect();
    let mut present = entry("current", &located.config.now);
    if let Some(fields) = present.as_object_mut() {
        fields.insert("description".to_owned(), json!("You are here!"));
        fields.insert("running".to_owned(), json!(u8::from(running)));
        fields.insert("digest".to_owned(), json!(located.config.digest()));
    }
    all.push(present);
    Ok(Value::Array(all))
}

/// Where a guest could go.
pub(super) fn migration(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let located = ask.cluster.locate(target.vmid)?;
    let running = ask.cluster.status(target.vmid)? != GuestStatus::Stopped;
    let others: Vec<String> = ask
        .cluster
        .node_names()
        .into_iter()
        .filter(|name| name != target.node && ask.cluster.health(name) != Some(Health::Offline))
        .collect();
    if target.kind == GuestKind::Lxc {
        return Ok(json!({ "running": u8::from(running), "allowed-nodes": others, "not-allowed-nodes": {} }));
    }
    let volume = located
        .config
        .volume(target.kind)
        .filter(|_| !ask.cluster.is_shared(&located));
    let disks: Vec<Value> = volume
        .into_iter()
        .map(|(storage, name)| {
            json!({ "volid": format!("{storage}:{name}"), "drivename": "scsi0", "cdrom": 0, "replicate": 1 })
        })
        .collect();
    Ok(json!({
        "running": u8::from(running), "allowed_nodes": others, "not_allowed_nodes": {}, "local_disks": disks,
        "local_resources": [], "mapped-resources": [],
    }))
}

pub(super) async fn interfaces(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let guest = ask.cluster.guest(target.vmid).await;
    let guest = guest.filter(|guest| guest.status == GuestStatus::Running);
    // A container that does not run has none, and the real one answers with nothing.
    let Some(guest) = guest else {
        return Ok(Value::Null);
    };
    let located = ask.cluster.locate(target.vmid)?;
    let mac = located
        .config
        .now
        .get("net0")
        .and_then(|net| net.split(',').find_map(|part| part.strip_prefix("hwaddr=")))
        .unwrap_or("00:00:00:00:00:00")
        .to_lowercase();
    let mut list = vec![json!({
        "name": "lo", "hwaddr": "00:00:00:00:00:00", "inet": "127.0.0.1/8", "inet6": "::1/128",
    })];
    if let Some(address) = guest.address {
        list.push(json!({ "name": "eth0", "hwaddr": mac, "inet": format!("{address}/24") }));
    }
    Ok(Value::Array(list))
}
