//! The supervisor: starts services, notices their end, starts them again or gives up, and says so in the journal.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use super::Init;
use super::bus::About;
use super::process::{self, Ended};
use super::service::{Activity, Service, exit_name};
use super::unit_file::{Restart, Type, UnitFile};
use crate::machine::journal::{self, Journal};
use crate::machine::places::{self, Root};

/// What could not be done, with the exit code of `systemctl`.
pub(super) type Refused = (u8, String);

/// All services of a machine.
#[derive(Debug)]
pub(crate) struct Units {
    pub(super) root: Root,
    pub(super) journal: Arc<Journal>,
    pub(super) services: Mutex<BTreeMap<String, Service>>,
    pub(super) changed: Condvar,
}

impl Units {
    pub(super) fn new(root: &Root, journal: Journal) -> Self {
        let units = Self {
            root: root.clone(),
            journal: Arc::new(journal),
            services: Mutex::default(),
            changed: Condvar::new(),
        };
        units.load_all();
        units
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Service>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all unit files again.
    pub(crate) fn load_all(&self) {
        let mut services = self.lock();
        let found = self.root.at(places::UNITS).and_then(fs::read_dir);
        let mut names: Vec<String> = found
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".service"))
            .collect();
        names.extend(services.keys().cloned());
        for name in names {
            let file = self.read(&name);
            services.entry(name).or_default().file = file;
        }
        services.retain(|_, service| service.file.is_some() || service.activity != Activity::Inactive);
    }

    fn read(&self, name: &str) -> Option<(UnitFile, SystemTime)> {
        let path = self.root.at(Path::new(places::UNITS).join(name)).ok()?;
        let text = fs::read_to_string(&path).ok()?;
        let changed = fs::metadata(&path).and_then(|found| found.modified()).ok()?;
        Some((UnitFile::parse(name, &text), changed))
    }

    /// Reads the file of a unit that was not known yet.
    pub(super) fn known<'a>(
        &self,
        services: &'a mut BTreeMap<String, Service>,
        name: &str,
    ) -> Option<&'a mut Service> {
        if services.get(name).is_none_or(|service| service.file.is_none()) {
            let file = self.read(name)?;
            services.entry(name.to_owned()).or_default().file = Some(file);
        }
        services.get_mut(name)
    }

    /// Starts what is enabled.
    pub(crate) fn start_enabled(&self, init: &Arc<Init>) {
        let wanted = self.root.at(places::WANTED).and_then(fs::read_dir);
        let mut names: Vec<String> = wanted
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".service"))
            .collect();
        names.sort();
        // Only as many steps as there are units: a circle of them ends.
        let mut ordered: Vec<String> = Vec::new();
        while !names.is_empty() {
            let services = self.lock();
            let waits = |name: &String| {
                let after = services.get(name).and_then(|service| service.file.as_ref());
                after.is_some_and(|(file, _)| {
                    file.after
                        .iter()
                        .any(|other| other != name && names.contains(other))
                })
            };
            let next = names.iter().position(|name| !waits(name)).unwrap_or(0);
            ordered.push(names.remove(next));
        }
        for name in ordered {
            // That it failed is in the journal.
            let _ = self.start(init, &name);
        }
    }

    /// Starts a service.
    pub(crate) fn start(&self, init: &Arc<Init>, name: &str) -> Result<(), Refused> {
        let generation = {
            let mut services = self.lock();
            let Some(service) = self.known(&mut services, name) else {
                return Err((5, format!("Failed to start {name}: Unit {name} not found.")));
            };
            if service.activity == Activity::Running {
                return Ok(());
            }
            let started = self.launch(init, name, service);
            self.changed.notify_all();
            if !started {
                return Err((1, failed_job(name)));
            }
            if service.activity != Activity::Starting {
                return Ok(());
            }
            service.generation
        };
        self.wait_for_oneshot(name, generation)
    }

    fn wait_for_oneshot(&self, name: &str, generation: u64) -> Result<(), Refused> {
        let mut services = self.lock();
        loop {
            match services.get(name) {
                Some(service)
                    if service.generation == generation && service.activity == Activity::Starting => {}
                Some(service) if service.activity == Activity::Failed => return Err((1, failed_job(name))),
                _ => return Ok(()),
            }
            services = self
                .changed
                .wait(services)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Starts the process of a service, unless that was tried too often.
    fn launch(&self, init: &Arc<Init>, name: &str, service: &mut Service) -> bool {
        let Some((file, _)) = service.file.clone() else {
            return false;
        };
        let now = Instant::now();
        service
            .starts
            .retain(|at| now.duration_since(*at) < file.interval);
        if service.starts.len() >= file.burst {
            self.journal.say(
                name,
                journal::WARNING,
                &format!("{name}: Start request repeated too quickly."),
            );
            self.journal.say(
                name,
                journal::WARNING,
                &format!("{name}: Failed with result 'start-limit-hit'."),
            );
            self.journal.say(
                name,
                journal::ERROR,
                &format!("Failed to start {}.", file.description),
            );
            service.result = "start-limit-hit";
            service.become_(Activity::Failed);
            return false;
        }
        service.starts.push(now);
        service.generation += 1;
        service.stopping = false;
        service.result = "success";
        let invocation = format!(
            "{:016x}{:016x}",
            jiff::Timestamp::now().as_microsecond(),
            service.generation
        );
        service.mark = format!("INVOCATION_ID={invocation}");
        // Before it says anything itself.
        let text = match file.kind {
            Type::Oneshot => format!("Starting {}...", file.description),
            Type::Simple => format!("Started {}.", file.description),
        };
        self.journal.say(name, journal::INFO, &text);
        let started = self.spawn(init, name, &file, &invocation);
        match started {
            Ok(started) => {
                service.pid = Some(started.pid);
                service.become_(match file.kind {
                    Type::Oneshot => Activity::Starting,
                    Type::Simple => Activity::Running,
                });
                let (init, name, generation) = (Arc::clone(init), name.to_owned(), service.generation);
                thread::spawn(move || {
                    if let Ok(ended) = started.ended.recv() {
                        init.units.ended(&init, &name, generation, ended);
                    }
                });
            }
            Err(cause) => {
                let program = file.start.first().map_or("", String::as_str);
                let why = match cause.kind() {
                    std::io::ErrorKind::NotFound => "No such file or directory".to_owned(),
                    std::io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
                    _ => cause.to_string(),
                };
                let text = format!("{name}: Unable to locate executable '{program}': {why}");
                self.journal.say(name, journal::ERROR, &text);
                let text = format!("{name}: Failed at step EXEC spawning {program}: {why}");
                self.journal.say(name, journal::ERROR, &text);
                self.over(init, name, service, Ended::Code(203));
            }
        }
        true
    }

    /// A main process ended.
    fn ended(&self, init: &Arc<Init>, name: &str, generation: u64, ended: Ended) {
        let mut services = self.lock();
        if let Some(service) = services
            .get_mut(name)
            .filter(|service| service.generation == generation)
        {
            process::signal_marked(&service.mark, Signal::KILL);
            self.over(init, name, service, ended);
        }
        self.changed.notify_all();
    }

    fn over(&self, init: &Arc<Init>, name: &str, service: &mut Service, ended: Ended) {
        let Some((file, _)) = service.file.clone() else {
            service.become_(Activity::Inactive);
            return;
        };
        service.last = Some((ended, service.pid.take()));
        let clean = matches!(ended, Ended::Code(0) | Ended::Signal(1 | 2 | 13 | 15));
        if !clean {
            let (code, status) = match ended {
                Ended::Code(code) => ("exited", format!("{code}/{}", exit_name(code))),
                Ended::Signal(signal) => ("killed", format!("{signal}/{}", process::signal_name(signal))),
            };
            let text = format!("{name}: Main process exited, code={code}, status={status}");
            self.journal.say(name, journal::NOTICE, &text);
        }
        if service.stopping {
            let killed = ended == Ended::Signal(9);
            service.result = if killed { "timeout" } else { "success" };
            self.quiet(name, service, killed);
            self.journal
                .say(name, journal::INFO, &format!("Stopped {}.", file.description));
            return;
        }
        if !clean {
            service.result = if matches!(ended, Ended::Code(_)) {
                "exit-code"
            } else {
                "signal"
            };
        }
        if file.kind == Type::Oneshot && clean && file.stays {
            service.become_(Activity::Exited);
            self.journal
                .say(name, journal::INFO, &format!("Finished {}.", file.description));
            return;
        }
        self.quiet(name, service, !clean);
        let again = match file.restart {
            Restart::No => false,
            Restart::OnSuccess => clean,
            Restart::OnFailure => !clean,
            Restart::OnAbnormal => !clean && matches!(ended, Ended::Signal(_)),
            Restart::Always => true,
        };
        if again {
            service.become_(Activity::Restarting);
            Self::start_later(init, name, service.generation, file.restart_after);
        } else if file.kind == Type::Oneshot {
            let (priority, word) = if clean {
                (journal::INFO, "Finished")
            } else {
                (journal::ERROR, "Failed to start")
            };
            self.journal
                .say(name, priority, &format!("{word} {}.", file.description));
        }
    }

    fn quiet(&self, name: &str, service: &mut Service, failed: bool) {
        if failed {
            let text = format!("{name}: Failed with result '{}'.", service.result);
            self.journal.say(name, journal::WARNING, &text);
            service.become_(Activity::Failed);
        } else {
            self.journal
                .say(name, journal::INFO, &format!("{name}: Deactivated successfully."));
            service.become_(Activity::Inactive);
        }
    }

    fn start_later(init: &Arc<Init>, name: &str, generation: u64, after: Duration) {
        let (init, name) = (Arc::clone(init), name.to_owned());
        thread::spawn(move || {
            thread::sleep(after);
            let units = &init.units;
            let mut services = units.lock();
            let waiting = |service: &&mut Service| {
                service.generation == generation && service.activity == Activity::Restarting
            };
            if let Some(service) = services.get_mut(&name).filter(waiting) {
                service.restarts += 1;
                let text = format!(
                    "{name}: Scheduled restart job, restart counter is at {}.",
                    service.restarts
                );
                units.journal.say(&name, journal::INFO, &text);
                units.launch(&init, &name, service);
            }
            units.changed.notify_all();
        });
    }

    /// What a unit is doing.
    pub(crate) fn about(&self, name: &str) -> About {
        let mut services = self.lock();
        match self.known(&mut services, name) {
            Some(service) => {
                let path = Path::new(places::UNITS).join(name);
                let changed = self
                    .root
                    .at(&path)
                    .and_then(fs::metadata)
                    .and_then(|found| found.modified())
                    .ok();
                service.about(name, &path, changed)
            }
            None => About {
                name: name.to_owned(),
                description: name.to_owned(),
                load: "not-found".to_owned(),
                active: "inactive".to_owned(),
                sub: "dead".to_owned(),
                result: "success".to_owned(),
                ..About::default()
            },
        }
    }

    /// What all units are doing.
    pub(crate) fn list(&self) -> Vec<About> {
        let names: Vec<String> = self.lock().keys().cloned().collect();
        names.iter().map(|name| self.about(name)).collect()
    }
}

pub(super) fn failed_job(name: &str) -> String {
    format!(
        "Job for {name} failed because the control process exited with error code.\n\
         See \"systemctl status {name}\" and \"journalctl -xeu {name}\" for details."
    )
}
