//! Moving guests between nodes, and destroying them.

use super::power::word;
use super::state::GuestStatus;
use super::tasks::Progress;
use super::upid::{TaskKind, Upid};
use super::{Cluster, Error, Health, Located};
use crate::machine::Stop;
use crate::topology::GuestKind;

/// How a guest moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// Where to.
    pub target: String,
    /// A virtual machine keeps running meanwhile.
    pub online: bool,
    /// A container is stopped, and started again there.
    pub restart: bool,
    /// Disks on storages that are not shared are copied while it runs.
    pub with_local_disks: bool,
}

impl Cluster {
    /// Moves a guest, as a task.
    pub fn migrate(&self, vmid: u32, migration: Migration, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        self.check_quorum()?;
        if self.health(&migration.target).is_none() {
            return Err(Error::NoNode(migration.target));
        }
        if migration.target == located.node {
            return Err(Error::Refused("target is local node.".to_owned()));
        }
        let running = self.status(vmid)? != GuestStatus::Stopped;
        match located.kind {
            GuestKind::Lxc if running && !migration.online && !migration.restart => {
                return Err(Error::Refused(
                    "can't migrate running container without --online or --restart".to_owned(),
                ));
            }
            GuestKind::Vm if running && !migration.online => {
                return Err(Error::Refused(
                    "can't migrate running VM without --online".to_owned(),
                ));
            }
            GuestKind::Lxc | GuestKind::Vm => {}
        }
        let kind = match located.kind {
            GuestKind::Lxc => TaskKind::VzMigrate,
            GuestKind::Vm => TaskKind::QmMigrate,
        };
        let cluster = self.clone();
        let node = located.node.clone();
        let upid = self.begin(&node, kind, &vmid.to_string(), user, |progress| async move {
            let turn = cluster.turn(vmid)?;
            let _turn = turn.lock().await;
            cluster.check_lock(vmid)?;
            cluster.lock(vmid, Some("migrate"))?;
            let result = cluster.do_migrate(vmid, &located, &migration, &progress).await;
            cluster.lock(vmid, None)?;
            result
        });
        Ok(upid)
    }

    /// Moves a guest, running or not, and waits for it.
    pub async fn migrate_guest(&self, vmid: u32, target: &str) -> Result<(), Error> {
        let kind = self.locate(vmid)?.kind;
        let migration = Migration {
            target: target.to_owned(),
            online: kind == GuestKind::Vm,
            restart: kind == GuestKind::Lxc,
            with_local_disks: true,
        };
        self.wait(&self.migrate(vmid, migration, "root@pam")?).await
    }

    /// Sets or takes away the lock of a guest.
    pub(super) fn lock(&self, vmid: u32, lock: Option<&str>) -> Result<(), String> {
        let mut located = self.locate(vmid).map_err(|error| error.to_string())?;
        match lock {
            Some(lock) => located.config.now.set("lock", lock),
            None => located.config.now.remove("lock"),
        }
        self.configure(vmid, &located.config)
            .map_err(|error| error.to_string())
    }

    /// Whether all nodes share the disk of a guest.
    pub(crate) fn is_shared(&self, located: &Located) -> bool {
        let storage = located.config.volume(located.kind).map(|(storage, _)| storage);
        self.inner
            .storages
            .iter()
            .any(|known| known.shared && Some(known.name.as_str()) == storage)
    }

    async fn do_migrate(
        &self,
        vmid: u32,
        located: &Located,
        migration: &Migration,
        progress: &Progress,
    ) -> Result<(), String> {
        let target = &migration.target;
        let what = word(located.kind);
        let running = self.status(vmid).map_err(|error| error.to_string())? != GuestStatus::Stopped;
        progress.say(format!("starting migration of {what} {vmid} to node '{target}'"));
        if self.health(target) == Some(Health::Offline) {
            progress.say("ssh: connect to host port 22: No route to host");
            return Err("Can't connect to destination address using public key".to_owned());
        }
        if located.kind == GuestKind::Lxc && running && !migration.restart {
            return Err("lxc live migration is currently not implemented".to_owned());
        }
        let shared = self.is_shared(located);
        let volume = located
            .config
            .volume(located.kind)
            .map(|(storage, name)| format!("{storage}:{name}"))
            .unwrap_or_default();
        if located.kind == GuestKind::Vm && running && !shared && !migration.with_local_disks {
            progress.say(format!("found local disk '{volume}' (attached)"));
            return Err(
                "migration aborted: can't live migrate attached local disks without with-local-disks option"
                    .to_owned(),
            );
        }
        if running && located.kind == GuestKind::Lxc {
            progress.say(format!("shutdown CT {vmid}"));
        }
        progress.pass(200).await?;
        if !shared {
            progress.say(format!("copying local disk '{volume}' to '{target}'"));
            progress.pass(250).await?;
        }
        // From here on nothing interrupts it: the guest is on one node or on the other.
        self.halt_guest(vmid, Stop::Ask(std::time::Duration::from_secs(5)))
            .await;
        self.inner
            .folder
            .move_to(vmid, target)
            .map_err(|error| format!("failed to move config to node '{target}' - rename failed: {error}"))?;
        if running {
            progress.say(match located.kind {
                GuestKind::Lxc => format!("start container on target node '{target}'"),
                GuestKind::Vm => format!("start remote VM on node '{target}'"),
            });
            self.boot_guest(vmid).await.map_err(|error| error.to_string())?;
        }
        progress.say("migration finished successfully");
        Ok(())
    }

    /// Destroys a guest and its disk, as a task. It is killed first if `force` says so.
    pub fn destroy(&self, vmid: u32, force: bool, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        self.check_quorum()?;
        let what = word(located.kind);
        if located.config.now.get("protection") == Some("1") {
            return Err(Error::Refused(format!(
                "can't remove {what} {vmid} - protection mode enabled"
            )));
        }
        if self.status(vmid)? != GuestStatus::Stopped && !force {
            return Err(Error::Refused(match located.kind {
                GuestKind::Lxc => format!("unable to destroy CT {vmid} - container is running"),
                GuestKind::Vm => format!("VM {vmid} is running - destroy failed"),
            }));
        }
        let kind = match located.kind {
            GuestKind::Lxc => TaskKind::VzDestroy,
            GuestKind::Vm => TaskKind::QmDestroy,
        };
        let cluster = self.clone();
        let node = located.node.clone();
        let upid = self.begin(&node, kind, &vmid.to_string(), user, |progress| async move {
            let turn = cluster.turn(vmid)?;
            let _turn = turn.lock().await;
            cluster.check_lock(vmid)?;
            progress.pass(300).await?;
            cluster.halt_guest(vmid, Stop::Kill).await;
            cluster.do_destroy(vmid, &located, &progress).await
        });
        Ok(upid)
    }

    async fn do_destroy(&self, vmid: u32, located: &Located, progress: &Progress) -> Result<(), String> {
        if let Some((_, volume)) = located.config.volume(located.kind) {
            progress.say(format!("Logical volume \"{volume}\" successfully removed."));
        }
        self.inner
            .folder
            .remove(vmid)
            .map_err(|error| format!("unable to remove the configuration: {error}"))?;
        let guest = self.with(|state| state.guests.remove(&vmid));
        if let Some(guest) = guest {
            self.inner
                .machines
                .discard(&guest.spec.name)
                .await
                .map_err(|error| error.to_string())?;
        }
        progress.say("purging references from related configurations..");
        Ok(())
    }
}
