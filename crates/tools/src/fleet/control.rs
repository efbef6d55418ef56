//! Changing guests, services and hosts.

use std::time::Duration;

use interlock_exec::UnitName;
use interlock_gate::Started;
use interlock_infra::proxmox::{Change, Guest, Proxmox, TaskEnd, Upid};
use interlock_protocol::{ErrorCode, ResourceId, ResourceKind, RunState};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::{Place, reading, words};
use crate::Done;
use crate::Failure;
use crate::local::arguments;

/// How many lines of a task's log are given back.
const LOG_LINES: u32 = 50;
/// How much of a plan's time is kept for saying what came of it.
const KEPT: Duration = Duration::from_secs(2);

impl Fleet {
    pub(super) async fn control(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let id = match self.place(plan)? {
            Place::Here(local) => return local.control(started, cancel).await,
            Place::There(id) => id,
        };
        match plan.action.as_deref() {
            Some("command") => {
                let command = plan
                    .command
                    .as_deref()
                    .ok_or_else(|| Failure::missing("command"))?;
                self.run_command(started, &id, command, cancel).await
            }
            Some("service_start") => self.service(started, &id, "start", cancel).await,
            Some("service_stop") => self.service(started, &id, "stop", cancel).await,
            Some("service_restart") => self.service(started, &id, "restart", cancel).await,
            Some(action @ ("start" | "stop" | "shutdown" | "restart" | "delete" | "migrate")) => {
                self.whole(started, &id, action, cancel).await
            }
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    async fn service(
        &self,
        started: &Started,
        id: &ResourceId,
        verb: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let name = UnitName::new(arguments::needed(started.plan(), "unit")?)?;
        let argv = words(["systemctl", "--no-ask-password", verb, "--", name.as_str()]);
        let done = self
            .run_fixed(started, id, &argv, cancel)
            .await
            .map_err(|failure| failure.summary(format!("its service manager did not {verb} the unit")))?;
        let taken_at = Timestamp::now();
        // What it is doing now is for people: only a later, separate reading verifies.
        Ok(match self.unit_there(id, &name).await {
            Ok(seen) => done.with_reading(reading(id, taken_at, seen.data(&name), seen.observations(&name))),
            Err(_) => done,
        })
    }

    /// Changes a resource as a whole.
    async fn whole(
        &self,
        started: &Started,
        id: &ResourceId,
        action: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        match id.kind() {
            ResourceKind::Vm | ResourceKind::Lxc | ResourceKind::Node => {
                self.proxmox_change(started, id, action, cancel).await
            }
            ResourceKind::Host => self.host_change(started, id, action, cancel).await,
            ResourceKind::DockerContainer => self.container_change(started, id, action, cancel).await,
            ResourceKind::DockerHost | ResourceKind::MailGateway => {
                let graph = self.inner.infra.graph(Duration::from_mins(1)).await;
                let below = graph.get(id).and_then(|known| known.parent.clone());
                let hint = below.map_or_else(String::new, |below| {
                    format!("; `{below}` is what it runs on, and can be changed")
                });
                Err(Failure::invalid(format!(
                    "`{id}` is no machine of its own, so that it cannot {action}{hint}"
                )))
            }
            _ => Err(Failure::invalid(format!(
                "`{action}` is not for a `{}`",
                id.kind()
            ))),
        }
    }

    async fn host_change(
        &self,
        started: &Started,
        id: &ResourceId,
        action: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let verb = match action {
            "restart" => "reboot",
            "shutdown" => "poweroff",
            _ => {
                return Err(Failure::invalid(format!(
                    "`{action}` is for guests; `{id}` is a host"
                )));
            }
        };
        let argv = words(["systemctl", "--no-ask-password", verb]);
        self.run_fixed(started, id, &argv, cancel).await
    }

    async fn proxmox_change(
        &self,
        started: &Started,
        id: &ResourceId,
        action: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let proxmox = self.inner.infra.proxmox_of(id).await?;
        let change = match action {
            "start" => Change::Start,
            "stop" => Change::Stop,
            "shutdown" => Change::Shutdown,
            "restart" => Change::Reboot,
            "delete" => Change::Delete,
            _ => self.migration(started, id, &proxmox).await?,
        };
        let Some(task) = proxmox.change(started, change).await? else {
            let data = json!({"resource_id": id, "action": action, "accepted": true});
            return Ok(Done::succeeded(data, format!("Proxmox took the {action}")));
        };
        let within = Duration::from_secs(started.plan().timeout_seconds.into()).saturating_sub(KEPT);
        let end = proxmox
            .wait_task(&task, within, cancel)
            .await
            .map_err(|error| Failure::from(error).detail("task", task.to_string()))?;
        self.task_done(&proxmox, id, action, &task, end).await
    }

    /// Where a guest moves to: a node that is there, by its own name.
    async fn migration<'a>(
        &self,
        started: &'a Started,
        id: &ResourceId,
        proxmox: &Proxmox,
    ) -> Result<Change<'a>, Failure> {
        let target = arguments::needed(started.plan(), "target_node")?;
        let guest = Guest::of(id).ok_or_else(|| Failure::invalid("only guests migrate"))?;
        let graph = self.inner.infra.graph(Duration::from_secs(10)).await;
        let nodes: Vec<&str> = graph
            .resources()
            .iter()
            .filter(|known| known.id.kind() == ResourceKind::Node && known.source == proxmox.name())
            .map(|node| node.id.uid())
            .collect();
        if !nodes.contains(&target) {
            return Err(Failure::invalid(format!(
                "`target_node` is no node of this cluster; its nodes are {}",
                nodes.join(", ")
            ))
            .detail("nodes", nodes));
        }
        if target == guest.node {
            return Err(Failure::invalid(format!("`{id}` is on `{target}` already")));
        }
        let status = proxmox.guest_status(&guest).await?;
        Ok(Change::Migrate {
            target,
            running: status.state == RunState::Running,
        })
    }

    async fn task_done(
        &self,
        proxmox: &Proxmox,
        id: &ResourceId,
        action: &str,
        task: &Upid,
        end: TaskEnd,
    ) -> Result<Done, Failure> {
        let log = proxmox.task_log(task, LOG_LINES).await.unwrap_or_default();
        let mut data = json!({
            "resource_id": id,
            "action": action,
            "task": task.to_string(),
            "log": log,
        });
        match end {
            TaskEnd::Done => {}
            TaskEnd::Warnings(warnings) => data["warnings"] = Value::String(warnings),
            TaskEnd::Failed(reason) => {
                return Err(Failure::new(
                    ErrorCode::ExecutionFailed,
                    format!("Proxmox did not {action} it: {reason}"),
                )
                .details(data)
                .summary(format!("a Proxmox task to {action} a resource failed")));
            }
        }
        let done = Done::succeeded(data, format!("a Proxmox task to {action} a resource ended well"));
        // For people: only a later, separate reading verifies.
        Ok(match self.look(id).await {
            Ok(look) => done.with_reading(look.reading(id)),
            Err(_) => done,
        })
    }
}
