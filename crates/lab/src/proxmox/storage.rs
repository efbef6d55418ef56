//! Storages, as a node sees them.

use serde_json::{Value, json};

use super::answer::Refusal;
use super::cluster::kind_word;
use super::routes::Ask;
use crate::cluster::StorageView;
use crate::topology::GuestKind;

/// `/storage`: as they are configured.
pub(super) async fn configured(ask: Ask<'_>) -> Value {
    let mut seen = Vec::new();
    let views = ask.cluster.storages().await;
    views
        .iter()
        .filter(|view| {
            let first = !seen.contains(&view.storage.name);
            seen.push(view.storage.name.clone());
            first
        })
        .map(|view| {
            json!({
                "storage": view.storage.name, "type": view.storage.kind, "content": view.storage.content,
                "shared": u8::from(view.storage.shared), "digest": "0".repeat(40),
            })
        })
        .collect()
}

async fn of_node(ask: Ask<'_>, node: &str) -> Vec<StorageView> {
    let mut views = ask.cluster.storages().await;
    views.retain(|view| view.node == node);
    views
}

async fn find(ask: Ask<'_>, node: &str, name: &str) -> Result<StorageView, Refusal> {
    of_node(ask, node)
        .await
        .into_iter()
        .find(|view| view.storage.name == name)
        .ok_or_else(|| Refusal::Failed(format!("storage '{name}' does not exist")))
}

fn numbers(view: &StorageView) -> Value {
    let storage = &view.storage;
    let free = storage.total_bytes.saturating_sub(view.used);
    json!({
        "type": storage.kind, "content": storage.content, "shared": u8::from(storage.shared), "active": 1,
        "enabled": 1, "total": storage.total_bytes, "used": view.used, "avail": free,
    })
}

pub(super) async fn list(ask: Ask<'_>, node: &str) -> Value {
    of_node(ask, node)
        .await
        .iter()
        .map(|view| {
            let mut value = numbers(view);
            if let Some(fields) = value.as_object_mut() {
                fields.insert("storage".to_owned(), json!(view.storage.name));
                let fraction = crate::cluster::fraction(view.used, view.storage.total_bytes);
                fields.insert("used_fraction".to_owned(), json!(fraction));
            }
            value
        })
        .collect()
}

pub(super) async fn status(ask: Ask<'_>, node: &str, name: &str) -> Result<Value, Refusal> {
    Ok(numbers(&find(ask, node, name).await?))
}

pub(super) async fn content(ask: Ask<'_>, node: &str, name: &str) -> Result<Value, Refusal> {
    let view = find(ask, node, name).await?;
    let mut entries = Vec::new();
    for guest in ask.cluster.guests().await {
        let here = guest.storage == name && (view.storage.shared || guest.node == node);
        let located = ask.cluster.locate(guest.vmid).ok().filter(|_| here);
        let volume = located.and_then(|located| {
            let (storage, volume) = located.config.volume(guest.kind)?;
            Some(format!("{storage}:{volume}"))
        });
        if let Some(volume) = volume {
            let content = match guest.kind {
                GuestKind::Lxc => "rootdir",
                GuestKind::Vm => "images",
            };
            entries.push(json!({
                "volid": volume, "vmid": guest.vmid, "content": content, "format": "raw",
                "size": guest.disk_bytes, "ctime": 1_748_000_000,
            }));
        }
    }
    for backup in ask
        .cluster
        .backups()
        .iter()
        .filter(|backup| backup.storage == name)
    {
        let format = match backup.kind {
            GuestKind::Lxc => "tar.zst",
            GuestKind::Vm => "vma.zst",
        };
        entries.push(json!({
            "volid": format!("{name}:{}", backup.file), "vmid": backup.vmid, "content": "backup",
            "subtype": kind_word(backup.kind), "format": format, "size": backup.size, "ctime": backup.time,
        }));
    }
    let wanted = ask.params.get("content");
    let vmid = ask.params.integer("vmid")?;
    entries.retain(|entry| {
        wanted.is_none_or(|wanted| entry["content"] == wanted)
            && vmid.is_none_or(|vmid| entry["vmid"].as_u64() == Some(vmid))
    });
    Ok(Value::Array(entries))
}
