//! Nodes that break and are mended.

use super::{Cluster, Error, Health, now};
use crate::machine::{Machine, Stop};

/// How a node breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Its disk is dying; it is still up.
    Disk,
    /// It is gone, with everything on it.
    Offline,
}

impl Cluster {
    /// Breaks a node.
    pub async fn fail_node(&self, name: &str, failure: Failure) -> Result<(), Error> {
        match failure {
            Failure::Disk => self.fail_disk(name).await,
            Failure::Offline => self.cut_off(name).await,
        }
    }

    /// Mends a node. Guests that went down with it stay down, as after a power cut without `onboot`.
    pub async fn heal_node(&self, name: &str) -> Result<(), Error> {
        let was = self.health(name).ok_or_else(|| Error::NoNode(name.to_owned()))?;
        if was == Health::Offline {
            self.boot_node(name).await?;
            self.with(|state| {
                if let Some(node) = state.nodes.get_mut(name) {
                    node.booted_at = now();
                }
            });
        }
        self.set_health(name, Health::Online);
        self.with(|state| {
            state.record(
                name,
                "root@pam",
                "pmxcfs",
                6,
                "[status] notice: members changed".to_owned(),
            );
        });
        Ok(())
    }

    async fn fail_disk(&self, name: &str) -> Result<(), Error> {
        let machine = self.with(|state| state.nodes.get(name).map(|node| node.machine.clone()));
        let machine = machine.ok_or_else(|| Error::NoNode(name.to_owned()))?;
        let machine = machine.ok_or_else(|| Error::Offline(name.to_owned()))?;
        self.set_health(name, Health::DiskFailing);
        log_errors(&machine, name).await?;
        self.with(|state| {
            let message = "Device: /dev/nvme0, SMART overall-health self-assessment test result: FAILED!";
            state.record(name, "root@pam", "smartd", 2, message.to_owned());
        });
        Ok(())
    }

    async fn cut_off(&self, name: &str) -> Result<(), Error> {
        let machine = self
            .with(|state| state.nodes.get_mut(name).map(|node| node.machine.take()))
            .ok_or_else(|| Error::NoNode(name.to_owned()))?;
        self.set_health(name, Health::Offline);
        let lost: Vec<u32> = self
            .inner
            .folder
            .all()
            .into_iter()
            .filter(|(_, located)| located.node == name)
            .map(|(vmid, _)| vmid)
            .collect();
        for vmid in lost {
            self.halt_guest(vmid, Stop::Kill).await;
        }
        if let Some(machine) = machine {
            machine.stop(Stop::Kill).await;
        }
        let witness = self.with(|state| {
            let up = |node: &super::state::NodeState| node.health != Health::Offline;
            state
                .nodes
                .iter()
                .find(|(_, node)| up(node))
                .map(|(name, _)| name.clone())
        });
        if let Some(witness) = witness {
            let message = format!("[TOTEM ] A processor failed, forming new configuration: {name} left");
            self.with(|state| state.record(&witness, "root@pam", "corosync", 4, message));
        }
        Ok(())
    }

    pub(super) async fn boot_node(&self, name: &str) -> Result<(), Error> {
        let spec = self
            .with(|state| state.nodes.get(name).map(|node| node.spec.clone()))
            .ok_or_else(|| Error::NoNode(name.to_owned()))?;
        let machine = self.inner.machines.start(&spec).await?;
        self.with(|state| {
            if let Some(node) = state.nodes.get_mut(name) {
                node.machine = Some(machine);
            }
        });
        Ok(())
    }

    fn set_health(&self, name: &str, health: Health) {
        self.with(|state| {
            if let Some(node) = state.nodes.get_mut(name) {
                node.health = health;
                node.health_since = now();
            }
        });
        self.write_members();
    }

    /// How many nodes there are, and how many of them can be reached.
    pub fn members(&self) -> (usize, usize) {
        self.with(|state| {
            let online = state
                .nodes
                .values()
                .filter(|node| node.health != Health::Offline)
                .count();
            (state.nodes.len(), online)
        })
    }

    /// Whether enough nodes can be reached to decide anything.
    pub fn quorate(&self) -> bool {
        let (all, online) = self.members();
        online * 2 > all
    }

    /// Nothing that all nodes must agree on can be done without a majority of them.
    pub(crate) fn check_quorum(&self) -> Result<(), Error> {
        if self.quorate() {
            Ok(())
        } else {
            Err(Error::Refused("cluster not ready - no quorum?".to_owned()))
        }
    }

    /// Writes `.members`, which every node shows.
    pub(super) fn write_members(&self) {
        let text = self.with(|state| {
            let list: serde_json::Map<String, serde_json::Value> = state
                .nodes
                .iter()
                .enumerate()
                .map(|(index, (name, node))| {
                    let online = u8::from(node.health != Health::Offline);
                    let address = node.spec.address.map(|address| address.to_string());
                    let entry = serde_json::json!({ "id": index + 1, "online": online, "ip": address });
                    (name.clone(), entry)
                })
                .collect();
            serde_json::json!({
                "cluster": { "name": self.inner.name, "version": state.nodes.len(), "nodes": state.nodes.len() },
                "nodelist": list,
            })
        });
        // Only people read it; what the cluster does never depends on it.
        if let Err(error) = self.inner.folder.put(".members", &format!("{text:#}\n")) {
            tracing::warn!(%error, "`.members` was not written");
        }
    }
}

/// Writes what a kernel says about a dying disk into the journal of the node, and into its `kern.log`.
async fn log_errors(machine: &Machine, host: &str) -> Result<(), Error> {
    const JOURNAL: &str = "/var/log/journal/system.journal";
    const KERNEL_LOG: &str = "/var/log/kern.log";
    let mut lines: Vec<String> = [2_218_304, 2_218_312, 2_218_320, 50_331_648]
        .map(|sector| {
            format!(
                "blk_update_request: I/O error, dev nvme0n1, sector {sector} op 0x0:(READ) flags 0x80700 phys_seg 4 prio class 2"
            )
        })
        .to_vec();
    lines.push("nvme nvme0: I/O 214 QID 3 timeout, aborting".to_owned());
    lines.push("Buffer I/O error on dev nvme0n1, logical block 277288, async page read".to_owned());
    let mut journal = machine.read(JOURNAL).await.unwrap_or_default();
    let mut kernel_log = machine.read(KERNEL_LOG).await.unwrap_or_default();
    let boot = last_boot(&journal);
    let now = jiff::Timestamp::now();
    let stamp = now.strftime("%b %e %H:%M:%S").to_string();
    for (count, line) in (0_i64..).zip(&lines) {
        let entry = serde_json::json!({
            "time": now.as_microsecond() + count, "boot": boot, "unit": "", "identifier": "kernel", "pid": 0,
            "priority": 3, "message": line,
        });
        journal.extend(format!("{entry}\n").into_bytes());
        kernel_log.extend(format!("{stamp} {host} kernel: {line}\n").into_bytes());
    }
    machine.write(JOURNAL, &journal).await?;
    machine.write(KERNEL_LOG, &kernel_log).await?;
    Ok(())
}

/// The start of the machine that the last line of its journal belongs to.
fn last_boot(journal: &[u8]) -> String {
    journal
        .rsplit(|byte| *byte == b'\n')
        .find_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .and_then(|entry| Some(entry.get("boot")?.as_str()?.to_owned()))
        .unwrap_or_default()
}
