//! `/cluster/…`: what concerns all nodes.

use serde_json::{Map, Value, json};

use super::answer::Refusal;
use super::routes::Ask;
use crate::cluster::{GuestStatus, GuestView, Health, NodeView, StorageView, now};
use crate::topology::GuestKind;

/// The word for a kind of guest in the API.
pub(super) const fn kind_word(kind: GuestKind) -> &'static str {
    match kind {
        GuestKind::Lxc => "lxc",
        GuestKind::Vm => "qemu",
    }
}

/// The word for how a guest is.
pub(super) const fn status_word(status: GuestStatus) -> &'static str {
    match status {
        GuestStatus::Running | GuestStatus::Paused => "running",
        GuestStatus::Stopped => "stopped",
        GuestStatus::Unknown => "unknown",
    }
}

/// The disk of a virtual machine cannot be looked into from outside, nor that of a container that does not run.
pub(super) const fn disk_used(guest: &GuestView) -> u64 {
    match (guest.kind, guest.status) {
        (GuestKind::Lxc, GuestStatus::Running) => guest.disk_used,
        (GuestKind::Lxc | GuestKind::Vm, _) => 0,
    }
}

pub(super) async fn resources(ask: Ask<'_>) -> Result<Value, Refusal> {
    ask.params.only(&["type"])?;
    let (vms, nodes, storages, networks) = match ask.params.get("type") {
        None => (true, true, true, true),
        Some("vm") => (true, false, false, false),
        Some("node") => (false, true, false, false),
        Some("storage") => (false, false, true, false),
        Some("sdn") => (false, false, false, true),
        Some(other) => {
            return Err(Refusal::parameter(
                "type",
                format!("value '{other}' does not have a value in the enumeration 'vm, storage, node, sdn'"),
            ));
        }
    };
    let mut all = Vec::new();
    if vms {
        all.extend(ask.cluster.guests().await.iter().map(guest_resource));
    }
    let views = ask.cluster.nodes().await;
    if nodes {
        all.extend(views.iter().map(node_resource));
    }
    if storages {
        all.extend(ask.cluster.storages().await.iter().map(storage_resource));
    }
    if networks {
        all.extend(views.iter().filter(|node| node.health != Health::Offline).map(|node| {
            json!({
                "id": format!("sdn/{}/localnetwork", node.name), "node": node.name, "sdn": "localnetwork",
                "status": "ok", "type": "sdn",
            })
        }));
    }
    Ok(Value::Array(all))
}

fn guest_resource(guest: &GuestView) -> Value {
    let kind = kind_word(guest.kind);
    let mut value = json!({
        "id": format!("{kind}/{}", guest.vmid), "type": kind, "vmid": guest.vmid, "name": guest.name,
        "node": guest.node, "status": status_word(guest.status), "template": 0,
    });
    let Some(fields) = value.as_object_mut() else {
        return value;
    };
    if guest.status != GuestStatus::Unknown {
        fields.extend(guest_numbers(guest));
        fields.insert("maxcpu".to_owned(), json!(guest.cores));
    }
    if !guest.tags.is_empty() {
        fields.insert("tags".to_owned(), json!(guest.tags.join(";")));
    }
    if let Some(lock) = &guest.lock {
        fields.insert("lock".to_owned(), json!(lock));
    }
    value
}

/// The numbers that every view of a guest has.
pub(super) fn guest_numbers(guest: &GuestView) -> Map<String, Value> {
    let value = json!({
        "cpu": guest.cpu, "mem": guest.memory_used, "maxmem": guest.memory_bytes, "disk": disk_used(guest),
        "maxdisk": guest.disk_bytes, "netin": guest.net_in, "netout": guest.net_out,
        "diskread": guest.disk_read, "diskwrite": guest.disk_write, "uptime": guest.uptime,
    });
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn node_resource(node: &NodeView) -> Value {
    let id = format!("node/{}", node.name);
    match node.health {
        Health::Offline => json!({ "id": id, "type": "node", "node": node.name, "status": "offline" }),
        Health::Online | Health::DiskFailing => json!({
            "id": id, "type": "node", "node": node.name, "status": "online", "cpu": node.cpu,
            "maxcpu": node.cpus, "mem": node.memory_used, "maxmem": node.memory_bytes, "disk": node.disk_used,
            "maxdisk": node.disk_bytes, "uptime": now() - node.booted_at, "level": "", "cgroup-mode": 2,
        }),
    }
}

fn storage_resource(view: &StorageView) -> Value {
    let storage = &view.storage;
    let mut value = json!({
        "id": format!("storage/{}/{}", view.node, storage.name), "type": "storage", "storage": storage.name,
        "node": view.node, "status": if view.available { "available" } else { "unknown" },
        "plugintype": storage.kind, "content": storage.content, "shared": u8::from(storage.shared),
    });
    if let Some(fields) = value.as_object_mut().filter(|_| view.available) {
        fields.insert("disk".to_owned(), json!(view.used));
        fields.insert("maxdisk".to_owned(), json!(storage.total_bytes));
    }
    value
}

pub(super) async fn status(ask: Ask<'_>) -> Value {
    let nodes = ask.cluster.nodes().await;
    let cluster = json!({
        "id": "cluster", "type": "cluster", "name": ask.cluster.name(), "nodes": nodes.len(),
        "quorate": u8::from(ask.cluster.quorate()), "version": nodes.len(),
    });
    let local = nodes.iter().position(|node| node.health != Health::Offline);
    let members = nodes.iter().enumerate().map(|(index, node)| {
        let online = node.health != Health::Offline;
        json!({
            "id": format!("node/{}", node.name), "type": "node", "name": node.name, "nodeid": index + 1,
            "ip": node.address.map(|address| address.to_string()), "online": u8::from(online),
            "local": u8::from(Some(index) == local), "level": if online { "" } else { "c" },
        })
    });
    std::iter::once(cluster).chain(members).collect()
}

pub(super) async fn next_id(ask: Ask<'_>) -> Result<Value, Refusal> {
    let used: Vec<u32> = ask
        .cluster
        .guests()
        .await
        .iter()
        .map(|guest| guest.vmid)
        .collect();
    let wanted = ask.params.integer("vmid")?;
    if let Some(wanted) = wanted {
        return if used.iter().any(|vmid| u64::from(*vmid) == wanted) {
            Err(Refusal::parameter("vmid", format!("VM {wanted} already exists")))
        } else {
            Ok(json!(wanted.to_string()))
        };
    }
    let free = (100..1_000_000_000).find(|vmid| !used.contains(vmid));
    Ok(json!(free.map(|vmid| vmid.to_string())))
}

pub(super) fn log(ask: Ask<'_>) -> Result<Value, Refusal> {
    let most = ask.params.integer("max")?.unwrap_or(50);
    let lines = ask.cluster.log();
    Ok(lines
        .iter()
        .rev()
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .map(|line| {
            json!({
                "uid": line.uid, "id": format!("{}:{}", line.uid, line.node), "time": line.time,
                "node": line.node, "user": line.user, "tag": line.tag, "pri": line.priority, "pid": 1041,
                "msg": line.message,
            })
        })
        .collect())
}

pub(super) fn ha_status(ask: Ask<'_>) -> Value {
    let quorate = ask.cluster.quorate();
    let words = if quorate { "OK" } else { "No quorum on node!" };
    json!([{ "id": "quorum", "type": "quorum", "node": "", "status": words, "quorate": u8::from(quorate) }])
}

pub(super) async fn not_backed_up(ask: Ask<'_>) -> Value {
    let kept = ask.cluster.backups();
    let guests = ask.cluster.guests().await;
    guests
        .iter()
        .filter(|guest| !kept.iter().any(|backup| backup.vmid == guest.vmid))
        .map(|guest| json!({ "vmid": guest.vmid, "name": guest.name, "type": kind_word(guest.kind) }))
        .collect()
}
