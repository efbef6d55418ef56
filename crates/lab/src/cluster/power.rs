//! Starting and stopping guests.

use std::time::Duration;

use super::state::GuestStatus;
use super::tasks::Progress;
use super::upid::{TaskKind, Upid};
use super::{Cluster, Error, Health, Located, now};
use crate::machine::Stop;
use crate::topology::GuestKind;

/// How long a guest has to shut down before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be done to the power of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// It begins to run.
    Start,
    /// It is killed.
    Stop,
    /// It is asked to end.
    Shutdown,
    /// It is asked to stop, and starts again.
    Reboot,
    /// It is killed, and starts again; virtual machines only.
    Reset,
    /// It stands still; virtual machines only.
    Suspend,
    /// It goes on; virtual machines only.
    Resume,
}

impl Power {
    /// The kind of task that it is, where such guests have it.
    const fn task(self, kind: GuestKind) -> Option<TaskKind> {
        match (self, kind) {
            (Self::Start, GuestKind::Lxc) => Some(TaskKind::VzStart),
            (Self::Stop, GuestKind::Lxc) => Some(TaskKind::VzStop),
            (Self::Shutdown, GuestKind::Lxc) => Some(TaskKind::VzShutdown),
            (Self::Reboot, GuestKind::Lxc) => Some(TaskKind::VzReboot),
            (Self::Reset | Self::Suspend | Self::Resume, GuestKind::Lxc) => None,
            (Self::Start, GuestKind::Vm) => Some(TaskKind::QmStart),
            (Self::Stop, GuestKind::Vm) => Some(TaskKind::QmStop),
            (Self::Shutdown, GuestKind::Vm) => Some(TaskKind::QmShutdown),
            (Self::Reboot, GuestKind::Vm) => Some(TaskKind::QmReboot),
            (Self::Reset, GuestKind::Vm) => Some(TaskKind::QmReset),
            (Self::Suspend, GuestKind::Vm) => Some(TaskKind::QmSuspend),
            (Self::Resume, GuestKind::Vm) => Some(TaskKind::QmResume),
        }
    }
}

/// The word for a guest in messages.
pub(super) const fn word(kind: GuestKind) -> &'static str {
    match kind {
        GuestKind::Lxc => "CT",
        GuestKind::Vm => "VM",
    }
}

impl Cluster {
    /// Does something to the power of a guest, as a task.
    pub fn power(&self, vmid: u32, power: Power, user: &str) -> Result<Upid, Error> {
        let located = self.reachable(vmid)?;
        let kind = located.kind;
        let Some(task) = power.task(kind) else {
            return Err(Error::Refused("not implemented for containers".to_owned()));
        };
        self.check_state(vmid, kind, power)?;
        if power == Power::Start {
            self.check_quorum()?;
        }
        let cluster = self.clone();
        let upid = self.begin(
            &located.node,
            task,
            &vmid.to_string(),
            user,
            |progress| async move {
                let turn = cluster.turn(vmid)?;
                let _turn = turn.lock().await;
                cluster.check_lock(vmid)?;
                cluster.do_power(vmid, kind, power, &progress).await
            },
        );
        Ok(upid)
    }

    /// Starts a guest and waits until it runs.
    pub async fn start_guest(&self, vmid: u32) -> Result<(), Error> {
        self.wait(&self.power(vmid, Power::Start, "root@pam")?).await
    }

    /// Kills a guest and waits for its end.
    pub async fn stop_guest(&self, vmid: u32) -> Result<(), Error> {
        self.wait(&self.power(vmid, Power::Stop, "root@pam")?).await
    }

    /// Asks a guest to end and waits for it.
    pub async fn shutdown_guest(&self, vmid: u32) -> Result<(), Error> {
        self.wait(&self.power(vmid, Power::Shutdown, "root@pam")?).await
    }

    /// Reboots a guest and waits until it runs again.
    pub async fn reboot_guest(&self, vmid: u32) -> Result<(), Error> {
        self.wait(&self.power(vmid, Power::Reboot, "root@pam")?).await
    }

    /// How a guest is, whatever its node.
    pub fn status(&self, vmid: u32) -> Result<GuestStatus, Error> {
        self.with(|state| state.guests.get(&vmid).map(super::state::GuestState::status))
            .ok_or(Error::NoGuest(vmid))
    }

    /// Where a guest is, if its node can be reached.
    pub(super) fn reachable(&self, vmid: u32) -> Result<Located, Error> {
        let located = self.locate(vmid)?;
        match self.health(&located.node) {
            Some(Health::Online | Health::DiskFailing) => Ok(located),
            Some(Health::Offline) => Err(Error::Offline(located.node)),
            None => Err(Error::NoNode(located.node)),
        }
    }

    pub(super) fn turn(&self, vmid: u32) -> Result<std::sync::Arc<tokio::sync::Mutex<()>>, String> {
        self.with(|state| state.guests.get(&vmid).map(|guest| guest.turn.clone()))
            .ok_or_else(|| Error::NoGuest(vmid).to_string())
    }

    /// A lock in the configuration stays until somebody unlocks it.
    pub(super) fn check_lock(&self, vmid: u32) -> Result<(), String> {
        let located = self.locate(vmid).map_err(|error| error.to_string())?;
        match located.config.now.get("lock") {
            Some(lock) => Err(format!("{} is locked ({lock})", word(located.kind))),
            None => Ok(()),
        }
    }

    /// What a real node refuses at once. The rest is the task's to find out.
    fn check_state(&self, vmid: u32, kind: GuestKind, power: Power) -> Result<(), Error> {
        let running = self.status(vmid)? != GuestStatus::Stopped;
        let needs_running = match (kind, power) {
            (GuestKind::Lxc, Power::Start) if running => {
                return Err(Error::Refused(format!("CT {vmid} already running")));
            }
            (_, Power::Start) | (GuestKind::Vm, Power::Stop | Power::Shutdown) => false,
            (GuestKind::Lxc | GuestKind::Vm, _) => true,
        };
        if needs_running && !running {
            return Err(Error::Refused(format!("{} {vmid} not running", word(kind))));
        }
        Ok(())
    }

    async fn do_power(
        &self,
        vmid: u32,
        kind: GuestKind,
        power: Power,
        progress: &Progress,
    ) -> Result<(), String> {
        let status = self.status(vmid).map_err(|error| error.to_string())?;
        match power {
            Power::Start if status != GuestStatus::Stopped => {
                return Err(format!("{} {vmid} already running", word(kind)));
            }
            Power::Start => {
                progress.pass(400).await?;
                self.boot_guest(vmid).await.map_err(|error| error.to_string())?;
            }
            Power::Stop | Power::Shutdown if status == GuestStatus::Stopped => {}
            Power::Stop => {
                progress.pass(300).await?;
                self.halt_guest(vmid, Stop::Kill).await;
            }
            Power::Shutdown => {
                progress.pass(300).await?;
                self.halt_guest(vmid, Stop::Ask(PATIENCE)).await;
            }
            Power::Reboot | Power::Reset => {
                let how = match power {
                    Power::Reset => Stop::Kill,
                    _ => Stop::Ask(PATIENCE),
                };
                progress.pass(300).await?;
                self.halt_guest(vmid, how).await;
                progress.pass(300).await?;
                self.boot_guest(vmid).await.map_err(|error| error.to_string())?;
            }
            Power::Suspend | Power::Resume => {
                progress.pass(300).await?;
                self.with(|state| {
                    if let Some(guest) = state.guests.get_mut(&vmid) {
                        guest.paused = power == Power::Suspend && guest.machine.is_some();
                    }
                });
            }
        }
        Ok(())
    }

    /// Starts the machine of a guest.
    pub(super) async fn boot_guest(&self, vmid: u32) -> Result<(), Error> {
        let spec = self
            .with(|state| state.guests.get(&vmid).map(|guest| guest.spec.clone()))
            .ok_or(Error::NoGuest(vmid))?;
        let machine = self.inner.machines.start(&spec).await?;
        let generation = self.with(|state| {
            let guest = state.guests.get_mut(&vmid)?;
            guest.generation += 1;
            guest.paused = false;
            // What ran when the lab began has been running for longer.
            if !guest.history.last().is_some_and(|(_, running)| *running) {
                guest.history.push((now(), true));
            }
            guest.machine = Some(machine.clone());
            Some(guest.generation)
        });
        match generation {
            Some(generation) => self.notice_end(vmid, generation, machine),
            None => machine.stop(Stop::Kill).await,
        }
        Ok(())
    }

    /// A guest that ends by itself is stopped.
    fn notice_end(&self, vmid: u32, generation: u64, machine: crate::machine::Machine) {
        let inner = std::sync::Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            machine.ended().await;
            if let Some(inner) = inner.upgrade() {
                Self { inner }.forget_machine(vmid, generation);
            }
        });
    }

    fn forget_machine(&self, vmid: u32, generation: u64) {
        self.with(|state| {
            if let Some(guest) = state.guests.get_mut(&vmid)
                && guest.generation == generation
                && guest.machine.take().is_some()
            {
                guest.paused = false;
                guest.history.push((now(), false));
            }
        });
    }

    /// Ends the machine of a guest.
    pub(super) async fn halt_guest(&self, vmid: u32, how: Stop) {
        let found = self.with(|state| {
            let guest = state.guests.get(&vmid)?;
            Some((guest.machine.clone()?, guest.generation))
        });
        if let Some((machine, generation)) = found {
            machine.stop(how).await;
            self.forget_machine(vmid, generation);
        }
    }
}
