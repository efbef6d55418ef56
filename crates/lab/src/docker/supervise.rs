//! Looks after running containers: takes down what they print, checks their health, sees their end, starts them again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::docker::container::{Container, Health};
use crate::docker::core::Core;
use crate::docker::log::{Log, Stream};
use crate::docker::spec::HealthSpec;
use crate::docker::{ContainerState, Error};
use crate::machine::{Chunk, Exec, Machine};

const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_mins(1);
/// Who ran this long begins with the shortest wait again.
const STEADY: Duration = Duration::from_secs(10);
/// How long the last lines of a program may take to arrive after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Core {
    /// Starts the machine of a container and looks after it. Whoever calls holds its turn.
    ///
    /// Boxed, because a run's end launches the next one.
    pub(super) fn launch<'a>(self: &'a Arc<Self>, id: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.launch_now(id))
    }

    async fn launch_now(self: &Arc<Self>, id: &str) -> Result<(), Error> {
        let container = self.find(id)?;
        if !self.state().up {
            return Err(Error::Conflict("the host is down".to_owned()));
        }
        let machine = match self.machines.start(&container.spec).await {
            Ok(machine) => machine,
            Err(error) => {
                self.change(id, |one| {
                    one.exit_code = 127;
                    one.error = error.to_string();
                    one.finished = Some(Timestamp::now());
                    one.set(ContainerState::Exited);
                });
                return Err(error.into());
            }
        };
        let run = self.change(id, |one| {
            one.run += 1;
            one.machine = Some(machine.clone());
            one.started = Some(Timestamp::now());
            one.exit_code = 0;
            one.error.clear();
            one.failing = 0;
            one.health = one.settings.health.as_ref().map(|_| Health::Starting);
            one.set(ContainerState::Running);
            one.run
        });
        let Some(run) = run else {
            machine.stop(crate::machine::Stop::Kill).await;
            return Err(Error::NoContainer(id.to_owned()));
        };
        self.tell(&container, "start");
        let (core, id) = (Arc::clone(self), id.to_owned());
        let alive = self.alive.clone();
        tokio::spawn(async move {
            alive
                .run_until_cancelled(core.look_after(&id, run, machine))
                .await
        });
        Ok(())
    }

    /// From the start of one run to the start of the next, if there is one.
    async fn look_after(self: Arc<Self>, id: &str, run: u64, machine: Machine) {
        let Ok(container) = self.find(id) else { return };
        let mut pump = tokio::spawn(take_down(machine.clone(), Arc::clone(&container.log)));
        let health = container.settings.health.clone().map(|spec| {
            let (core, id, machine) = (Arc::clone(&self), id.to_owned(), machine.clone());
            tokio::spawn(async move { core.check_health(&id, run, &machine, &spec).await })
        });
        let code = machine.ended().await.unwrap_or(137);
        if let Some(task) = health {
            task.abort();
        }
        if tokio::time::timeout(LAST_WORDS, &mut pump).await.is_err() {
            pump.abort();
        }
        let Some((container, wait)) = self.ended(id, run, code) else {
            return;
        };
        self.tell(&container, "die");
        let Some(wait) = wait else { return };
        tokio::time::sleep(wait).await;
        let _turn = container.turn.lock().await;
        let due = self.change(id, |one| {
            let due = one.run == run && one.state == ContainerState::Restarting;
            one.restarts += u32::from(due);
            due
        });
        if due == Some(true)
            && let Err(error) = self.launch(id).await
        {
            tracing::warn!(container = container.name, %error, "a container could not be started again");
        }
    }

    /// Takes note of the end of a run; how long to wait until the next one, if there is to be one.
    fn ended(&self, id: &str, run: u64, code: i32) -> Option<(Container, Option<Duration>)> {
        let up = self.state().up;
        self.change(id, |one| {
            if one.run != run {
                return None;
            }
            let now = Timestamp::now();
            let ran = one
                .started
                .and_then(|began| Duration::try_from(now.duration_since(began)).ok());
            one.machine = None;
            one.finished = Some(now);
            one.exit_code = code;
            one.health = one.settings.health.as_ref().map(|_| Health::Unhealthy);
            let again = up && !one.stopped && one.settings.restart.restarts(code, one.restarts);
            one.backoff = match ran {
                Some(ran) if ran < STEADY && one.backoff >= FIRST_BACKOFF => {
                    (one.backoff * 2).min(LONGEST_BACKOFF)
                }
                _ => FIRST_BACKOFF,
            };
            one.set(if again {
                ContainerState::Restarting
            } else {
                ContainerState::Exited
            });
            Some((one.clone(), again.then_some(one.backoff)))
        })
        .flatten()
    }

    async fn check_health(&self, id: &str, run: u64, machine: &Machine, spec: &HealthSpec) {
        loop {
            tokio::time::sleep(spec.interval.max(Duration::from_millis(100))).await;
            let exec = Exec {
                argv: spec.test.clone(),
                timeout: Some(spec.timeout),
                ..Exec::default()
            };
            let passed = machine.exec(exec).await.is_ok_and(|finished| finished.code == 0);
            let news = self.change(id, |one| {
                if one.run != run {
                    return None;
                }
                let before = one.health;
                one.failing = if passed { 0 } else { one.failing.saturating_add(1) };
                if passed {
                    one.health = Some(Health::Healthy);
                } else if one.failing >= spec.retries.max(1) {
                    one.health = Some(Health::Unhealthy);
                }
                (one.health != before).then(|| one.clone())
            });
            if let Some(container) = news.flatten()
                && let Some(health) = container.health
            {
                self.tell(&container, &format!("health_status: {}", health.as_str()));
            }
        }
    }
}

async fn take_down(machine: Machine, log: Arc<Log>) {
    let mut output = machine.output();
    while let Some(chunk) = output.recv().await {
        match chunk {
            Chunk::Stdout(text) => log.push(Stream::Stdout, &text),
            Chunk::Stderr(text) => log.push(Stream::Stderr, &text),
            Chunk::Exit(_) => break,
        }
    }
}
