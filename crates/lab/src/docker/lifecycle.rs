//! What can be done to containers: start, stop, kill, remove, rename, deploy; and to their host: power.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use crate::docker::container::Container;
use crate::docker::core::{Core, check_name};
use crate::docker::{ContainerState, Error};
use crate::machine::{Exec, Stop};

/// How long a container gets to end after it was asked, unless somebody says otherwise.
pub(super) const GRACE: Duration = Duration::from_secs(10);
/// How long the end of a killed machine may take to be seen.
const SEEN: Duration = Duration::from_secs(10);

/// Whether something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Changed,
    AlreadySo,
}

impl Core {
    /// Starts all containers, as at the start of the lab.
    pub(super) async fn start_all(self: &Arc<Self>) {
        let ids: Vec<String> = self.state().containers.keys().cloned().collect();
        join_all(ids.iter().map(|id| self.start(id))).await;
    }

    pub(super) async fn start(self: &Arc<Self>, name: &str) -> Result<Done, Error> {
        let container = self.find(name)?;
        let _turn = container.turn.lock().await;
        if self.find(&container.id)?.active() {
            return Ok(Done::AlreadySo);
        }
        self.change(&container.id, |one| {
            one.stopped = false;
            one.restarts = 0;
            one.backoff = Duration::ZERO;
        });
        self.launch(&container.id).await?;
        Ok(Done::Changed)
    }

    pub(super) async fn stop(&self, name: &str, grace: Duration) -> Result<Done, Error> {
        let container = self.find(name)?;
        let _turn = container.turn.lock().await;
        let container = self.find(&container.id)?;
        if !container.active() {
            return Ok(Done::AlreadySo);
        }
        self.end(&container, Stop::Ask(grace)).await;
        self.tell(&container, "stop");
        Ok(Done::Changed)
    }

    pub(super) async fn restart(self: &Arc<Self>, name: &str, grace: Duration) -> Result<(), Error> {
        let container = self.find(name)?;
        self.stop(&container.id, grace).await?;
        self.start(&container.id).await?;
        self.tell(&container, "restart");
        Ok(())
    }

    pub(super) async fn kill(&self, name: &str, signal: &str) -> Result<(), Error> {
        let container = self.find(name)?;
        let Some(machine) = container
            .machine
            .clone()
            .filter(|_| container.state == ContainerState::Running)
        else {
            return Err(Error::Conflict(format!(
                "cannot kill container: {name}: container {} is not running",
                container.id
            )));
        };
        match signal.trim_start_matches("SIG") {
            "KILL" | "9" => {
                let _turn = container.turn.lock().await;
                self.end(&container, Stop::Kill).await;
            }
            "TERM" | "15" | "INT" | "2" | "QUIT" | "3" => {
                let _turn = container.turn.lock().await;
                self.end(&container, Stop::Ask(GRACE)).await;
            }
            other if !other.is_empty() && other.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                let argv = ["kill", "-s", other, "1"].map(str::to_owned).to_vec();
                machine
                    .exec(Exec {
                        argv,
                        timeout: Some(GRACE),
                        ..Exec::default()
                    })
                    .await?;
            }
            _ => return Err(Error::Invalid(format!("Invalid signal: {signal}"))),
        }
        self.tell(&container, "kill");
        Ok(())
    }

    /// Ends a container for somebody, and waits until that is seen. Whoever calls holds its turn.
    async fn end(&self, container: &Container, how: Stop) {
        let restarting = self.change(&container.id, |one| {
            one.stopped = true;
            let restarting = one.state == ContainerState::Restarting;
            if restarting {
                one.run += 1;
                one.set(ContainerState::Exited);
            }
            restarting
        });
        if restarting != Some(false) {
            return;
        }
        let mut changed = container.changed.subscribe();
        if let Some(machine) = &container.machine {
            machine.stop(how).await;
        }
        let ended = changed.wait_for(|state| *state != ContainerState::Running);
        let _ = tokio::time::timeout(SEEN, ended).await;
    }

    pub(super) async fn remove(&self, name: &str, force: bool) -> Result<(), Error> {
        let container = self.find(name)?;
        let _turn = container.turn.lock().await;
        let container = self.find(&container.id)?;
        if container.active() && !force {
            return Err(Error::Conflict(format!(
                "cannot remove container \"/{}\": container is {}: stop the container before removing or force remove",
                container.name,
                container.state.as_str()
            )));
        }
        if container.active() {
            self.end(&container, Stop::Kill).await;
        }
        self.state().containers.remove(&container.id);
        self.machines.discard(&container.spec.name).await?;
        self.tell(&container, "destroy");
        Ok(())
    }

    pub(super) fn rename(&self, name: &str, to: &str) -> Result<(), Error> {
        let to = to.trim_start_matches('/');
        check_name(to)?;
        let container = self.find(name)?;
        let mut state = self.state();
        if state.containers.values().any(|one| one.name == to) {
            return Err(Error::Conflict(format!(
                "Error when allocating new name: Conflict. The container name \"/{to}\" is already in use"
            )));
        }
        if let Some(one) = state.containers.get_mut(&container.id) {
            to.clone_into(&mut one.name);
        }
        drop(state);
        self.tell(&container, "rename");
        Ok(())
    }

    pub(super) async fn deploy(self: &Arc<Self>, name: &str, image: &str) -> Result<(), Error> {
        let old = self.find(name)?;
        self.pull(image)?;
        self.remove(&old.id, true).await?;
        let new = self.create(Some(&old.name), image, old.asked)?;
        self.start(&new.id).await?;
        Ok(())
    }

    pub(super) async fn power_off(&self) {
        let containers: Vec<Container> = {
            let mut state = self.state();
            state.up = false;
            state.containers.values().cloned().collect()
        };
        join_all(containers.iter().map(|container| async move {
            let _turn = container.turn.lock().await;
            let stopped = container.stopped;
            let active = container.active();
            if active {
                self.end(container, Stop::Kill).await;
            }
            // The power cut stopped it, not a person: it comes back with the host.
            self.change(&container.id, |one| {
                one.stopped = stopped;
                one.was_running = active;
            });
        }))
        .await;
    }

    pub(super) async fn power_on(self: &Arc<Self>) {
        let ids: Vec<String> = {
            let mut state = self.state();
            state.up = true;
            let comes_back = |one: &&Container| {
                one.settings
                    .restart
                    .starts_with_host(one.was_running, one.stopped)
            };
            state
                .containers
                .values()
                .filter(comes_back)
                .map(|one| one.id.clone())
                .collect()
        };
        join_all(ids.iter().map(|id| self.start(id))).await;
    }
}
