//! Changing guests and nodes: for a plan that may run, on the resource of that plan.

use interlock_gate::Started;
use interlock_protocol::{ResourceId, ResourceKind};

use super::guest::{Guest, GuestKind};
use super::{Proxmox, Upid};
use crate::Error;
use crate::http::segment;
use crate::meant::changes;

/// What to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Starts a guest.
    Start,
    /// Pulls the plug of a guest.
    Stop,
    /// Lets a guest or a node go down in order.
    Shutdown,
    /// Restarts a guest or a node.
    Reboot,
    /// Deletes a guest that does not run.
    Delete,
    /// Moves a guest to this node: a running machine as it runs, a running container by a restart.
    Migrate {
        /// The node.
        target: &'a str,
        /// Whether it runs.
        running: bool,
    },
}

impl Proxmox {
    /// Changes the guest or node that the plan is about. The task that does it, where there is one.
    pub async fn change(&self, started: &Started, change: Change<'_>) -> Result<Option<Upid>, Error> {
        let id = started.plan().resource().ok_or_else(|| {
            Error::Unsupported("the plan names no resource, so that there is nothing to change".to_owned())
        })?;
        changes(started)?;
        if let Some(guest) = Guest::of(id) {
            return self.change_guest(&guest, change).await.map(Some);
        }
        self.change_node(id, change).await
    }

    async fn change_guest(&self, guest: &Guest, change: Change<'_>) -> Result<Upid, Error> {
        let path = guest.path();
        let data = match change {
            Change::Start => self.post(&format!("{path}/status/start"), &[]).await,
            Change::Stop => self.post(&format!("{path}/status/stop"), &[]).await,
            Change::Shutdown => self.post(&format!("{path}/status/shutdown"), &[]).await,
            Change::Reboot => self.post(&format!("{path}/status/reboot"), &[]).await,
            Change::Delete => self.delete(&path).await,
            Change::Migrate { target, running } => {
                let how = match guest.kind {
                    GuestKind::Vm => "online",
                    GuestKind::Lxc => "restart",
                };
                let flag = if running { "1" } else { "0" };
                self.post(&format!("{path}/migrate"), &[("target", target), (how, flag)])
                    .await
            }
        }?;
        Upid::of(self.name(), &data)
    }

    async fn change_node(&self, id: &ResourceId, change: Change<'_>) -> Result<Option<Upid>, Error> {
        let command = match (id.kind(), change) {
            (ResourceKind::Node, Change::Shutdown) => "shutdown",
            (ResourceKind::Node, Change::Reboot) => "reboot",
            (
                _,
                Change::Start
                | Change::Stop
                | Change::Shutdown
                | Change::Reboot
                | Change::Delete
                | Change::Migrate { .. },
            ) => {
                return Err(Error::Unsupported(format!("Proxmox cannot do this to `{id}`")));
            }
        };
        let path = format!("/nodes/{}/status", segment(id.uid()));
        // A node goes down without a task to follow.
        self.post(&path, &[("command", command)]).await.map(|_| None)
    }
}
