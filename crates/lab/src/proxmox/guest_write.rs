//! Changing one guest.

use serde_json::{Value, json};

use super::answer::Refusal;
use super::routes::{Ask, Target};
use crate::cluster::{Error, GuestConfig, Migration, Power, Upid};
use crate::topology::GuestKind;

fn upid(upid: &Upid) -> Value {
    json!(upid.to_string())
}

pub(super) fn power(ask: Ask<'_>, target: Target<'_>, power: Power) -> Result<Value, Refusal> {
    ask.params.only(&[
        "timeout",
        "forceStop",
        "skiplock",
        "debug",
        "overrule-shutdown",
        "keepActive",
        "todisk",
        "nocheck",
    ])?;
    ask.params.integer("timeout")?;
    Ok(upid(&ask.cluster.power(target.vmid, power, &ask.who.name)?))
}

pub(super) fn migrate(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params.only(&[
        "target",
        "online",
        "restart",
        "timeout",
        "with-local-disks",
        "targetstorage",
        "target-storage",
        "force",
        "bwlimit",
    ])?;
    let name = ask.params.required("target")?;
    if name == target.node {
        return Err(Refusal::parameter("target", "target is local node."));
    }
    let migration = Migration {
        target: name.to_owned(),
        online: ask.params.flag("online")?,
        restart: ask.params.flag("restart")?,
        with_local_disks: ask.params.flag("with-local-disks")?,
    };
    Ok(upid(&ask.cluster.migrate(
        target.vmid,
        migration,
        &ask.who.name,
    )?))
}

pub(super) fn destroy(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params
        .only(&["purge", "force", "destroy-unreferenced-disks", "skiplock"])?;
    let force = ask.params.flag("force")? && target.kind == GuestKind::Lxc;
    Ok(upid(&ask.cluster.destroy(target.vmid, force, &ask.who.name)?))
}

/// Configures at once.
pub(super) fn configure(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.cluster.configure(target.vmid, &changed(ask, target)?)?;
    Ok(Value::Null)
}

/// Configures as a task, as virtual machines can.
pub(super) fn configure_later(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let config = changed(ask, target)?;
    Ok(upid(&ask.cluster.configure_later(
        target.vmid,
        config,
        &ask.who.name,
    )?))
}

/// The configuration with keys set and deleted, if nobody else did meanwhile.
fn changed(ask: Ask<'_>, target: Target<'_>) -> Result<GuestConfig, Refusal> {
    ask.cluster.check_quorum()?;
    let mut config = ask.cluster.locate(target.vmid)?.config;
    if ask
        .params
        .get("digest")
        .is_some_and(|digest| digest != config.digest())
    {
        return Err(Refusal::Failed(
            "detected modified configuration - file changed by other user? Try again.".to_owned(),
        ));
    }
    for word in ask
        .params
        .all("delete")
        .iter()
        .flat_map(|list| list.split([',', ';', ' ']))
    {
        config.now.remove(word.trim());
    }
    for (key, value) in ask.params.iter() {
        match key {
            "digest" | "delete" | "revert" | "skiplock" | "force" => {}
            key if is_known(key) => {
                check_value(key, value)?;
                config.now.set(key, value);
            }
            key => {
                return Err(Refusal::parameter(
                    key,
                    "property is not defined in schema and the schema does not allow additional properties",
                ));
            }
        }
    }
    Ok(config)
}

/// Whether guests have such a key.
fn is_known(key: &str) -> bool {
    const KEYS: [&str; 30] = [
        "agent",
        "arch",
        "balloon",
        "boot",
        "cores",
        "cpu",
        "cpulimit",
        "cpuunits",
        "description",
        "features",
        "hookscript",
        "hostname",
        "memory",
        "name",
        "nameserver",
        "numa",
        "onboot",
        "ostype",
        "protection",
        "rootfs",
        "scsihw",
        "searchdomain",
        "smbios1",
        "sockets",
        "startup",
        "swap",
        "tags",
        "template",
        "timezone",
        "unprivileged",
    ];
    let numbered = [
        "net", "mp", "scsi", "virtio", "sata", "ide", "ipconfig", "unused", "dev",
    ];
    let is_numbered = |prefix: &str| {
        key.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    KEYS.contains(&key) || numbered.into_iter().any(is_numbered)
}

fn check_value(key: &str, value: &str) -> Result<(), Refusal> {
    let number = ["cores", "sockets", "memory", "swap", "balloon", "cpuunits"].contains(&key);
    match (number, value.parse::<u64>()) {
        (true, Err(_)) => Err(Refusal::parameter(
            key,
            format!("type check ('integer') failed - got '{value}'"),
        )),
        (true, Ok(0)) if key != "swap" && key != "balloon" => Err(Refusal::parameter(
            key,
            "value must have a minimum value of 1".to_owned(),
        )),
        (true | false, _) => Ok(()),
    }
}

pub(super) fn snapshot(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    ask.params.only(&["snapname", "description", "vmstate"])?;
    let name = ask.params.required("snapname")?;
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let fits = name.len() <= 40
        && name.len() > 1
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if !starts || !fits || name == "current" {
        return Err(Refusal::parameter(
            "snapname",
            format!("invalid format - invalid configuration ID '{name}'"),
        ));
    }
    let description = ask.params.get("description").unwrap_or("");
    let user = &ask.who.name;
    Ok(upid(&ask.cluster.snapshot(
        target.vmid,
        name,
        description,
        user,
    )?))
}

pub(super) fn rollback(ask: Ask<'_>, target: Target<'_>, name: &str) -> Result<Value, Refusal> {
    Ok(upid(&ask.cluster.rollback(target.vmid, name, &ask.who.name)?))
}

pub(super) fn delete_snapshot(ask: Ask<'_>, target: Target<'_>, name: &str) -> Result<Value, Refusal> {
    Ok(upid(&ask.cluster.delete_snapshot(
        target.vmid,
        name,
        &ask.who.name,
    )?))
}

pub(super) async fn back_up(ask: Ask<'_>, node: &str) -> Result<Value, Refusal> {
    let wrong = || Refusal::parameter("vmid", "type check ('integer') failed");
    let vmid: u32 = ask.params.required("vmid")?.parse().map_err(|_| wrong())?;
    let storage = ask.params.required("storage")?;
    match ask.cluster.locate(vmid) {
        Ok(located) if located.node == node => {}
        Ok(_) | Err(_) => return Err(Error::Refused(format!("unable to find VM '{vmid}'")).into()),
    }
    Ok(upid(&ask.cluster.back_up(vmid, storage, &ask.who.name).await?))
}
