//! Stops services, starts them again, and makes them read their files again.

use std::process::Stdio;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Init;
use super::launch::expand;
use super::process::{self, Ended};
use super::service::{Activity, Service};
use super::units::{Refused, Units, failed_job};
use crate::machine::journal;

impl Units {
    /// Stops a service, and waits until it did.
    pub(crate) fn stop(&self, name: &str) -> Result<(), Refused> {
        let mut services = self.lock();
        let Some(service) = self.known(&mut services, name) else {
            return Err((5, format!("Failed to stop {name}: Unit {name} not loaded.")));
        };
        let Some((file, _)) = service.file.clone() else {
            return Ok(());
        };
        match service.activity {
            Activity::Inactive | Activity::Failed => return Ok(()),
            Activity::Restarting | Activity::Exited => {
                service.generation += 1;
                service.become_(Activity::Inactive);
                self.journal
                    .say(name, journal::INFO, &format!("Stopped {}.", file.description));
                return Ok(());
            }
            Activity::Running | Activity::Starting | Activity::Stopping => {}
        }
        service.stopping = true;
        service.become_(Activity::Stopping);
        self.journal
            .say(name, journal::INFO, &format!("Stopping {}...", file.description));
        process::signal_marked(&service.mark, Signal::TERM);
        let (mark, generation) = (service.mark.clone(), service.generation);
        let deadline = Instant::now() + file.stop_within;
        let mut killed = false;
        loop {
            let stops = services.get(name).is_some_and(|service| {
                service.generation == generation && service.activity == Activity::Stopping
            });
            if !stops {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() && !killed {
                killed = true;
                let text = format!("{name}: State 'stop-sigterm' timed out. Killing.");
                self.journal.say(name, journal::WARNING, &text);
                process::signal_marked(&mark, Signal::KILL);
            }
            let patience = if killed { Duration::from_millis(100) } else { left };
            services = self
                .changed
                .wait_timeout(services, patience)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Stops a service if it runs, and starts it.
    pub(crate) fn restart(&self, init: &Arc<Init>, name: &str) -> Result<(), Refused> {
        self.stop(name)
            .map_err(|_| (5, format!("Failed to restart {name}: Unit {name} not found.")))?;
        self.start(init, name)
    }

    /// Runs what a service has for reading its configuration again.
    pub(crate) fn reload(&self, init: &Arc<Init>, name: &str) -> Result<(), Refused> {
        let refused = |why: &str| Err((1, format!("Failed to reload {name}: {why}")));
        let (file, pid, mark) = {
            let mut services = self.lock();
            match self.known(&mut services, name) {
                None => return Err((5, format!("Failed to reload {name}: Unit {name} not found."))),
                Some(Service {
                    file: Some((file, _)),
                    pid: Some(pid),
                    mark,
                    activity: Activity::Running,
                    ..
                }) => (file.clone(), *pid, mark.clone()),
                Some(_) => return refused(&format!("Unit {name} is not active.")),
            }
        };
        if file.reload.is_empty() {
            return refused(&format!("Job type reload is not applicable for unit {name}."));
        }
        let mut env = file.environment.clone();
        env.insert("MAINPID".to_owned(), pid.as_raw_nonzero().to_string());
        let argv: Vec<String> = file.reload.iter().map(|word| expand(word, &env)).collect();
        let mark = mark.strip_prefix("INVOCATION_ID=").unwrap_or_default();
        let ended = init
            .command(&argv, &env, None, ("INVOCATION_ID", mark))
            .and_then(|mut command| {
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                init.processes.spawn(command)
            })
            .ok()
            .and_then(|started| started.ended.recv_timeout(Duration::from_secs(30)).ok());
        if ended == Some(Ended::Code(0)) {
            self.journal
                .say(name, journal::INFO, &format!("Reloaded {}.", file.description));
            Ok(())
        } else {
            Err((1, failed_job(name)))
        }
    }

    /// Forgets that services failed.
    pub(crate) fn reset_failed(&self, name: Option<&str>) {
        for (known, service) in self.lock().iter_mut() {
            if name.is_none_or(|name| name == known) {
                service.starts.clear();
                service.restarts = 0;
                if service.activity == Activity::Failed {
                    service.result = "success";
                    service.become_(Activity::Inactive);
                }
            }
        }
    }

    /// Stops everything, until then at the latest.
    pub(crate) fn stop_all(&self, deadline: Instant) {
        let marks: Vec<String> = {
            let mut services = self.lock();
            for service in services.values_mut() {
                service.stopping = true;
                if service.activity == Activity::Restarting {
                    service.generation += 1;
                    service.become_(Activity::Inactive);
                }
            }
            let running = services.iter().filter(|(_, service)| service.pid.is_some());
            running
                .map(|(name, service)| {
                    let description = service
                        .file
                        .as_ref()
                        .map_or(name.as_str(), |(file, _)| &file.description);
                    self.journal
                        .say(name, journal::INFO, &format!("Stopping {description}..."));
                    service.mark.clone()
                })
                .collect()
        };
        for mark in &marks {
            process::signal_marked(mark, Signal::TERM);
        }
        let mut services = self.lock();
        while services.values().any(|service| service.pid.is_some()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            services = self
                .changed
                .wait_timeout(services, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}
