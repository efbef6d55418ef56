//! Which method a request is for, and what it takes to call it.

use axum::http::Method;
use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::auth::Who;
use super::params::Params;
use super::{agent, cluster, disks, guest, guest_write, logs, node, rrd, storage, tasks};
use crate::cluster::{Cluster, Health, Power, folder_of};
use crate::topology::GuestKind;

/// A request to a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) who: &'a Who,
    pub(super) params: &'a Params,
}

/// A guest that is where the request says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) node: &'a str,
    pub(super) kind: GuestKind,
    pub(super) vmid: u32,
}

enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

/// Answers a request.
pub(super) async fn dispatch(
    cluster: &Cluster,
    who: &Who,
    method: &Method,
    path: &[&str],
    params: &Params,
) -> Result<Answer, Refusal> {
    let missing = || Refusal::NotImplemented {
        method: method.to_string(),
        path: format!("/{}", path.join("/")),
    };
    let verb = match *method {
        Method::GET | Method::HEAD => Verb::Get,
        Method::POST => Verb::Post,
        Method::PUT => Verb::Put,
        Method::DELETE => Verb::Delete,
        _ => return Err(missing()),
    };
    let ask = Ask { cluster, who, params };
    check_privilege(who, &verb, path)?;
    let answer = match path {
        ["nodes", name, rest @ ..] if !rest.is_empty() => {
            check_node(cluster, name)?;
            of_node(ask, verb, name, rest).await?
        }
        _ => of_cluster(ask, &verb, path).await?,
    };
    answer.ok_or_else(missing)
}

/// What a method needs, besides being signed in.
fn check_privilege(who: &Who, verb: &Verb, path: &[&str]) -> Result<(), Refusal> {
    let needed = match (verb, path) {
        (_, ["nodes", _, "qemu", vmid, "agent", ..]) => Some((format!("/vms/{vmid}"), "VM.Monitor")),
        (Verb::Get, ["nodes", node, "syslog" | "journal"]) => Some((format!("/nodes/{node}"), "Sys.Syslog")),
        (Verb::Get, ["nodes", _, "qemu" | "lxc", vmid, "migrate"]) => {
            Some((format!("/vms/{vmid}"), "VM.Migrate"))
        }
        (Verb::Get, _) => None,
        (_, ["nodes", _, "qemu" | "lxc", vmid, rest @ ..]) => {
            Some((format!("/vms/{vmid}"), guest_privilege(verb, rest)))
        }
        (_, ["nodes", _, "vzdump"]) => Some(("/".to_owned(), "VM.Backup")),
        (_, ["nodes", node, ..]) => Some((format!("/nodes/{node}"), "Sys.Modify")),
        (_, _) => Some(("/".to_owned(), "Sys.Modify")),
    };
    match needed {
        Some((path, privilege)) if !who.role.has(privilege) => Err(Refusal::Forbidden { path, privilege }),
        Some(_) | None => Ok(()),
    }
}

const fn guest_privilege(verb: &Verb, path: &[&str]) -> &'static str {
    match (verb, path) {
        (Verb::Delete, []) => "VM.Allocate",
        (_, [word, ..]) => match word.as_bytes() {
            b"status" => "VM.PowerMgmt",
            b"migrate" => "VM.Migrate",
            b"snapshot" => "VM.Snapshot",
            _ => "VM.Config.Options",
        },
        (_, []) => "VM.Config.Options",
    }
}

/// Another node is asked by the one that was called: what cannot be reached, cannot answer.
fn check_node(cluster: &Cluster, name: &str) -> Result<(), Refusal> {
    match cluster.health(name) {
        Some(Health::Online | Health::DiskFailing) => Ok(()),
        Some(Health::Offline) => Err(Refusal::NoRoute),
        None => Err(Refusal::Failed(format!(
            "hostname lookup '{name}' failed - failed to get address info for: {name}: Name or service not known"
        ))),
    }
}

async fn of_cluster(ask: Ask<'_>, verb: &Verb, path: &[&str]) -> Result<Option<Answer>, Refusal> {
    let Verb::Get = verb else { return Ok(None) };
    let value = match path {
        ["version"] => node::version(),
        ["cluster", "resources"] => cluster::resources(ask).await?,
        ["cluster", "status"] => cluster::status(ask).await,
        ["cluster", "tasks"] => tasks::recent(ask.cluster),
        ["cluster", "nextid"] => cluster::next_id(ask).await?,
        ["cluster", "log"] => cluster::log(ask)?,
        ["cluster", "ha", "resources" | "groups"] | ["cluster", "replication" | "backup"] => json!([]),
        ["cluster", "ha", "status", "current"] => cluster::ha_status(ask),
        ["cluster", "backup-info", "not-backed-up"] => cluster::not_backed_up(ask).await,
        ["nodes"] => node::list(ask).await,
        ["storage"] => storage::configured(ask).await,
        _ => return Ok(None),
    };
    Ok(Some(value.into()))
}

async fn of_node(ask: Ask<'_>, verb: Verb, node: &str, path: &[&str]) -> Result<Option<Answer>, Refusal> {
    let cluster = ask.cluster;
    let value: Value = match (&verb, path) {
        (_, [kind @ ("qemu" | "lxc"), vmid, rest @ ..]) => {
            let kind = if *kind == "lxc" {
                GuestKind::Lxc
            } else {
                GuestKind::Vm
            };
            let target = find(cluster, node, kind, vmid)?;
            return of_guest(ask, verb, target, rest).await;
        }
        (Verb::Get, ["qemu"]) => guest::list(ask, node, GuestKind::Vm).await,
        (Verb::Get, ["lxc"]) => guest::list(ask, node, GuestKind::Lxc).await,
        (Verb::Get, ["status"]) => node::status(ask, node).await?,
        (Verb::Get, ["version"]) => node::version(),
        (Verb::Get, ["time"]) => node::time(),
        (Verb::Get, ["network"]) => node::network(ask, node).await,
        (Verb::Get, ["services"]) => node::services(ask, node).await,
        (Verb::Get, ["ceph", "status"]) => {
            return Err(Refusal::Failed(
                "binary not installed: /usr/bin/ceph-mon".to_owned(),
            ));
        }
        (Verb::Get, ["replication"]) => json!([]),
        (Verb::Get, ["tasks"]) => return tasks::list(ask, node).map(Some),
        (Verb::Get, ["tasks", upid, "status"]) => tasks::status(cluster, upid)?,
        (Verb::Get, ["tasks", upid, "log"]) => return tasks::log(ask, upid).map(Some),
        (Verb::Delete, ["tasks", upid]) => tasks::stop(cluster, upid)?,
        (Verb::Get, ["storage"]) => storage::list(ask, node).await,
        (Verb::Get, ["storage", name, "status"]) => storage::status(ask, node, name).await?,
        (Verb::Get, ["storage", name, "content"]) => storage::content(ask, node, name).await?,
        (Verb::Get, ["disks", "list"]) => disks::list(ask, node).await,
        (Verb::Get, ["disks", "smart"]) => disks::smart(ask, node)?,
        (Verb::Get, ["syslog"]) => return logs::syslog(ask, node).await.map(Some),
        (Verb::Get, ["journal"]) => logs::journal(ask, node).await?,
        (Verb::Get, ["rrddata"]) => rrd::node(ask, node).await?,
        (Verb::Post, ["vzdump"]) => guest_write::back_up(ask, node).await?,
        _ => return Ok(None),
    };
    Ok(Some(value.into()))
}

async fn of_guest(
    ask: Ask<'_>,
    verb: Verb,
    target: Target<'_>,
    path: &[&str],
) -> Result<Option<Answer>, Refusal> {
    let value = match (&verb, path, target.kind) {
        (Verb::Get, ["status", "current"], _) => guest::current(ask, target).await?,
        (Verb::Post, ["status", word], kind) => match power(word, kind) {
            Some(power) => guest_write::power(ask, target, power)?,
            None => return Ok(None),
        },
        (Verb::Get, ["config"], _) => guest::config(ask, target)?,
        (Verb::Get, ["pending"], _) => guest::pending(ask, target)?,
        (Verb::Put, ["config"], _) => guest_write::configure(ask, target)?,
        (Verb::Post, ["config"], GuestKind::Vm) => guest_write::configure_later(ask, target)?,
        (Verb::Get, ["snapshot"], _) => guest::snapshots(ask, target)?,
        (Verb::Post, ["snapshot"], _) => guest_write::snapshot(ask, target)?,
        (Verb::Post, ["snapshot", name, "rollback"], _) => guest_write::rollback(ask, target, name)?,
        (Verb::Delete, ["snapshot", name], _) => guest_write::delete_snapshot(ask, target, name)?,
        (Verb::Get, ["migrate"], _) => guest::migration(ask, target)?,
        (Verb::Post, ["migrate"], _) => guest_write::migrate(ask, target)?,
        (Verb::Delete, [], _) => guest_write::destroy(ask, target)?,
        (Verb::Get, ["rrddata"], _) => rrd::guest(ask, target).await?,
        (Verb::Get, ["interfaces"], GuestKind::Lxc) => guest::interfaces(ask, target).await?,
        (Verb::Get, ["agent", "exec-status"], GuestKind::Vm) => agent::status(ask, target)?,
        (Verb::Get, ["agent", "file-read"], GuestKind::Vm) => agent::file_read(ask, target).await?,
        (Verb::Get, ["agent", word], GuestKind::Vm) => match agent::look(ask, target, word).await? {
            Some(value) => value,
            None => return Ok(None),
        },
        (Verb::Post, ["agent", "ping"], GuestKind::Vm) => agent::ping(ask, target)?,
        (Verb::Post, ["agent", "exec"], GuestKind::Vm) => agent::exec(ask, target).await?,
        (Verb::Post, ["agent", "file-write"], GuestKind::Vm) => agent::file_write(ask, target).await?,
        _ => return Ok(None),
    };
    Ok(Some(value.into()))
}

fn power(word: &str, kind: GuestKind) -> Option<Power> {
    match (word, kind) {
        ("start", _) => Some(Power::Start),
        ("stop", _) => Some(Power::Stop),
        ("shutdown", _) => Some(Power::Shutdown),
        ("reboot", _) => Some(Power::Reboot),
        ("reset", GuestKind::Vm) => Some(Power::Reset),
        ("suspend", GuestKind::Vm) => Some(Power::Suspend),
        ("resume", GuestKind::Vm) => Some(Power::Resume),
        _ => None,
    }
}

/// The guest, which must be on this node.
fn find<'a>(cluster: &Cluster, node: &'a str, kind: GuestKind, vmid: &str) -> Result<Target<'a>, Refusal> {
    let number = vmid
        .parse()
        .map_err(|_| Refusal::parameter("vmid", format!("type check ('integer') failed - got '{vmid}'")))?;
    match cluster.locate(number) {
        Ok(located) if located.node == node && located.kind == kind => Ok(Target {
            node,
            kind,
            vmid: number,
        }),
        Ok(_) | Err(_) => Err(Refusal::Failed(format!(
            "Configuration file 'nodes/{node}/{}/{number}.conf' does not exist",
            folder_of(kind)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxmox::auth::Role;

    type Refused = Option<(&'static str, &'static str)>;

    #[test]
    fn who_may_only_look_may_not_touch() {
        let auditor = Who {
            name: "audit@pve!readonly".to_owned(),
            role: Role::Auditor,
        };
        let cases: [(Verb, &str, Refused); 12] = [
            (Verb::Get, "cluster/resources", None),
            (Verb::Get, "nodes/delly/lxc/141/config", None),
            (
                Verb::Get,
                "nodes/delly/syslog",
                Some(("/nodes/delly", "Sys.Syslog")),
            ),
            (
                Verb::Post,
                "nodes/delly/lxc/141/status/start",
                Some(("/vms/141", "VM.PowerMgmt")),
            ),
            (
                Verb::Post,
                "nodes/delly/qemu/203/migrate",
                Some(("/vms/203", "VM.Migrate")),
            ),
            (
                Verb::Post,
                "nodes/delly/lxc/141/snapshot",
                Some(("/vms/141", "VM.Snapshot")),
            ),
            (
                Verb::Delete,
                "nodes/delly/lxc/141/snapshot/a",
                Some(("/vms/141", "VM.Snapshot")),
            ),
            (
                Verb::Put,
                "nodes/delly/lxc/141/config",
                Some(("/vms/141", "VM.Config.Options")),
            ),
            (
                Verb::Delete,
                "nodes/delly/lxc/141",
                Some(("/vms/141", "VM.Allocate")),
            ),
            (
                Verb::Get,
                "nodes/delly/qemu/203/agent/exec-status",
                Some(("/vms/203", "VM.Monitor")),
            ),
            (
                Verb::Delete,
                "nodes/delly/tasks/UPID",
                Some(("/nodes/delly", "Sys.Modify")),
            ),
            (Verb::Post, "nodes/delly/vzdump", Some(("/", "VM.Backup"))),
        ];
        for (verb, path, refused) in cases {
            let segments: Vec<&str> = path.split('/').collect();
            let expected = refused.map_or(Ok(()), |(path, privilege)| {
                Err(Refusal::Forbidden {
                    path: path.to_owned(),
                    privilege,
                })
            });
            assert_eq!(check_privilege(&auditor, &verb, &segments), expected, "{path}");
        }
    }
}
