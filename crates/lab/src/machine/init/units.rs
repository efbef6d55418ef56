//! The supervisor: starts services, notices their end, starts them again or gives up, and says so in the journal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
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
type Refused = (u8, String);

/// The longest line of a service that is kept whole.
const LINE_BYTES: u64 = 48 << 10;

/// All services of a machine.
#[derive(Debug)]
pub(crate) struct Units {
    root: Root,
    journal: Arc<Journal>,
    services: Mutex<BTreeMap<String, Service>>,
    changed: Condvar,
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Service>> {
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
    fn known<'a>(&self, services: &'a mut BTreeMap<String, Service>, name: &str) -> Option<&'a mut Service> {
        if !services.get(name).is_some_and(|service| service.file.is_some()) {
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
            "start-limit-hit".clone_into(&mut service.result);
            service.become_(Activity::Failed);
            return false;
        }
        service.starts.push(now);
        service.generation += 1;
        service.stopping = false;
        "success".clone_into(&mut service.result);
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

    fn spawn(
        &self,
        init: &Init,
        name: &str,
        file: &UnitFile,
        invocation: &str,
    ) -> std::io::Result<process::Started> {
        let mut env = file.environment.clone();
        if let Some(path) = &file.environment_file {
            let optional = path.strip_prefix('-');
            match self
                .root
                .at(optional.unwrap_or(path))
                .and_then(fs::read_to_string)
            {
                Ok(text) => env.extend(environment(&text)),
                Err(_) if optional.is_some() => {}
                Err(cause) => return Err(cause),
            }
        }
        env.insert("JOURNAL_STREAM".to_owned(), "8:1".to_owned());
        let argv: Vec<String> = file.start.iter().map(|word| expand(word, &env)).collect();
        let folder = file.folder.as_deref().map(Path::new);
        let mut command = init.command(&argv, &env, folder, ("INVOCATION_ID", invocation))?;
        let (reader, writer) = std::io::pipe()?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        let started = init.processes.spawn(command)?;
        let identifier = file.identifier.clone().unwrap_or_else(|| identifier(name, &argv));
        let (journal, name, pid) = (Arc::clone(&self.journal), name.to_owned(), started.pid);
        thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = std::io::Read::take(&mut reader, LINE_BYTES).read_until(b'\n', &mut line);
                if !read.is_ok_and(|length| length > 0) {
                    return;
                }
                let text = String::from_utf8_lossy(&line);
                let (priority, text) = priority(text.trim_end());
                journal.append(&name, &identifier, pid.as_raw_nonzero().get(), priority, text);
            }
        });
        Ok(started)
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
            service.result = if killed { "timeout" } else { "success" }.to_owned();
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
            }
            .to_owned();
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
            self.start_later(init, name, service.generation, file.restart_after);
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

    fn start_later(&self, init: &Arc<Init>, name: &str, generation: u64, after: Duration) {
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
                    "success".clone_into(&mut service.result);
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

fn failed_job(name: &str) -> String {
    format!(
        "Job for {name} failed because the control process exited with error code.\n\
         See \"systemctl status {name}\" and \"journalctl -xeu {name}\" for details."
    )
}

/// Who a service is in the journal.
fn identifier(name: &str, argv: &[String]) -> String {
    let program = argv
        .first()
        .and_then(|program| program.rsplit('/').next())
        .unwrap_or(name);
    if program == "lab-service" {
        name.trim_end_matches(".service").to_owned()
    } else {
        program.to_owned()
    }
}

/// `<3>text` is more severe than `text`.
fn priority(line: &str) -> (u8, &str) {
    let told = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    match told.and_then(|(level, text)| Some((level.parse::<u8>().ok().filter(|level| *level < 8)?, text))) {
        Some(known) => known,
        None => (journal::INFO, line),
    }
}

fn environment(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        .collect()
}

/// `$NAME` and `${NAME}`.
fn expand(word: &str, env: &BTreeMap<String, String>) -> String {
    let mut text = word.to_owned();
    for (name, value) in env {
        text = text.replace(&format!("${{{name}}}"), value);
        if text == format!("${name}") {
            value.clone_into(&mut text);
        }
    }
    text
}
