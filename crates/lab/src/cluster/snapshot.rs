//! Snapshots and backups. They are kept as entries: the disk itself does not go back in time.

use super::power::word;
use super::state::{Backup, GuestStatus};
use super::upid::{TaskKind, Upid};
use super::{Cluster, Error, Located, now, numbers};
use crate::topology::GuestKind;

impl Cluster {
    /// Makes a snapshot of a guest, as a task.
    pub fn snapshot(&self, vmid: u32, name: &str, description: &str, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        self.check_quorum()?;
        if snapshot_of(&located, name).is_some() {
            return Err(Error::Refused(format!("snapshot name '{name}' already used")));
        }
        let kind = pick(located.kind, TaskKind::VzSnapshot, TaskKind::QmSnapshot);
        let (cluster, node) = (self.clone(), located.node);
        let (name, description) = (name.to_owned(), description.to_owned());
        Ok(
            self.begin(&node, kind, &vmid.to_string(), user, |progress| async move {
                let turn = cluster.turn(vmid)?;
                let _turn = turn.lock().await;
                cluster.check_lock(vmid)?;
                progress.pass(300).await?;
                cluster.edit(vmid, |located| {
                    let mut lines = located.config.now.clone();
                    lines.set("snaptime", &now().to_string());
                    if !description.is_empty() {
                        lines.set("description", &description);
                    }
                    located.config.snapshots.push((name.clone(), lines));
                    located.config.now.set("parent", &name);
                    Ok(())
                })
            }),
        )
    }

    /// Takes the configuration of a guest back to a snapshot, as a task.
    pub fn rollback(&self, vmid: u32, name: &str, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        self.check_quorum()?;
        let missing = format!("snapshot '{name}' does not exist");
        snapshot_of(&located, name).ok_or_else(|| Error::Refused(missing.clone()))?;
        let kind = pick(located.kind, TaskKind::VzRollback, TaskKind::QmRollback);
        let (cluster, node, name) = (self.clone(), located.node, name.to_owned());
        Ok(
            self.begin(&node, kind, &vmid.to_string(), user, |progress| async move {
                let turn = cluster.turn(vmid)?;
                let _turn = turn.lock().await;
                cluster.check_lock(vmid)?;
                if cluster.status(vmid).map_err(|error| error.to_string())? != GuestStatus::Stopped {
                    cluster.halt_guest(vmid, crate::machine::Stop::Kill).await;
                }
                progress.pass(300).await?;
                cluster.edit(vmid, |located| {
                    let mut lines = snapshot_of(located, &name).ok_or(missing)?.clone();
                    lines.remove("snaptime");
                    lines.remove("description");
                    lines.set("parent", &name);
                    located.config.now = lines;
                    Ok(())
                })
            }),
        )
    }

    /// Deletes a snapshot of a guest, as a task.
    pub fn delete_snapshot(&self, vmid: u32, name: &str, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        self.check_quorum()?;
        snapshot_of(&located, name)
            .ok_or_else(|| Error::Refused(format!("snapshot '{name}' does not exist")))?;
        let kind = pick(located.kind, TaskKind::VzDelSnapshot, TaskKind::QmDelSnapshot);
        let (cluster, node, name) = (self.clone(), located.node, name.to_owned());
        Ok(
            self.begin(&node, kind, &vmid.to_string(), user, |progress| async move {
                let turn = cluster.turn(vmid)?;
                let _turn = turn.lock().await;
                cluster.check_lock(vmid)?;
                progress.pass(300).await?;
                cluster.edit(vmid, |located| {
                    let parent =
                        snapshot_of(located, &name).and_then(|lines| lines.get("parent").map(str::to_owned));
                    located.config.snapshots.retain(|(known, _)| *known != name);
                    let children = located.config.snapshots.iter_mut().map(|(_, lines)| lines);
                    for lines in children.chain([&mut located.config.now]) {
                        if lines.get("parent") == Some(name.as_str()) {
                            match &parent {
                                Some(parent) => lines.set("parent", parent),
                                None => lines.remove("parent"),
                            }
                        }
                    }
                    Ok(())
                })
            }),
        )
    }

    /// Backs a guest up into a storage, as a task.
    pub async fn back_up(&self, vmid: u32, storage: &str, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        self.check_quorum()?;
        let known = self
            .inner
            .storages
            .iter()
            .find(|known| known.name == storage)
            .ok_or_else(|| Error::Refused(format!("storage '{storage}' does not exist")))?;
        if !known.content.split(',').any(|content| content == "backup") {
            return Err(Error::Refused(format!(
                "storage '{storage}' is not configured for backups"
            )));
        }
        let size = self.guest(vmid).await.map_or(0, |guest| guest.disk_used);
        let (cluster, node, storage) = (self.clone(), located.node.clone(), storage.to_owned());
        Ok(self.begin(
            &node,
            TaskKind::VzDump,
            &vmid.to_string(),
            user,
            |progress| async move {
                let turn = cluster.turn(vmid)?;
                let _turn = turn.lock().await;
                cluster.check_lock(vmid)?;
                cluster.lock(vmid, Some("backup"))?;
                progress.say(format!(
                    "INFO: Starting Backup of {} {vmid} ({})",
                    word(located.kind),
                    pick(located.kind, "lxc", "qemu")
                ));
                let passed = progress.pass(500).await;
                cluster.lock(vmid, None)?;
                passed?;
                let backup = backup(vmid, located.kind, storage, numbers::part(0.4, size));
                progress.say(format!("INFO: creating vzdump archive '{}'", backup.file));
                progress.say(format!("INFO: Finished Backup of {} {vmid}", word(located.kind)));
                cluster.with(|state| state.backups.push(backup));
                Ok(())
            },
        ))
    }

    fn edit(&self, vmid: u32, how: impl FnOnce(&mut Located) -> Result<(), String>) -> Result<(), String> {
        let mut located = self.locate(vmid).map_err(|error| error.to_string())?;
        how(&mut located)?;
        self.configure(vmid, &located.config)
            .map_err(|error| error.to_string())
    }
}

fn backup(vmid: u32, kind: GuestKind, storage: String, size: u64) -> Backup {
    let time = now();
    let stamp = jiff::Timestamp::from_second(time)
        .map(|at| at.strftime("%Y_%m_%d-%H_%M_%S").to_string())
        .unwrap_or_default();
    let file = match kind {
        GuestKind::Lxc => format!("backup/vzdump-lxc-{vmid}-{stamp}.tar.zst"),
        GuestKind::Vm => format!("backup/vzdump-qemu-{vmid}-{stamp}.vma.zst"),
    };
    Backup {
        storage,
        file,
        vmid,
        kind,
        size,
        time,
    }
}

const fn pick<T: Copy>(kind: GuestKind, lxc: T, vm: T) -> T {
    match kind {
        GuestKind::Lxc => lxc,
        GuestKind::Vm => vm,
    }
}

fn snapshot_of<'a>(located: &'a Located, name: &str) -> Option<&'a super::Lines> {
    located
        .config
        .snapshots
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, lines)| lines)
}
