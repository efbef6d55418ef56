//! A container: what it was made from, and what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use crate::docker::log::Log;
use crate::docker::spec::{HealthSpec, PortSpec, RestartPolicy};
use crate::docker::{ContainerState, ContainerView};
use crate::machine::{Machine, Spec};

/// How health is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Starting,
    Healthy,
    Unhealthy,
}

impl Health {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// What a container was made with.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) ports: Vec<PortSpec>,
    pub(super) volumes: Vec<(String, String)>,
    pub(super) restart: RestartPolicy,
    pub(super) health: Option<HealthSpec>,
    pub(super) tty: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Container {
    pub(super) id: String,
    pub(super) name: String,
    /// The image as it was asked for, and its id.
    pub(super) image: String,
    pub(super) image_id: String,
    pub(super) settings: Settings,
    /// What it was asked for, without what its image gave.
    pub(super) asked: Settings,
    pub(super) spec: Spec,
    pub(super) created: Timestamp,
    pub(super) state: ContainerState,
    /// Counts runs and everything that makes a run obsolete: who waits to restart an older one must not.
    pub(super) run: u64,
    pub(super) started: Option<Timestamp>,
    pub(super) finished: Option<Timestamp>,
    pub(super) exit_code: i32,
    pub(super) error: String,
    pub(super) restarts: u32,
    /// Somebody stopped it: it is not started again by itself.
    pub(super) stopped: bool,
    /// It ran when its host went down.
    pub(super) was_running: bool,
    pub(super) backoff: Duration,
    pub(super) health: Option<Health>,
    pub(super) failing: u32,
    pub(super) machine: Option<Machine>,
    pub(super) log: Arc<Log>,
    /// Told at each change of state.
    pub(super) changed: Arc<watch::Sender<ContainerState>>,
    /// Held while it is started, stopped or removed, so that these come one after another.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
}

impl Container {
    pub(super) fn new(
        id: String,
        name: String,
        image: (String, String),
        (asked, settings): (Settings, Settings),
        spec: Spec,
    ) -> Self {
        Self {
            id,
            name,
            image: image.0,
            image_id: image.1,
            settings,
            asked,
            spec,
            created: Timestamp::now(),
            state: ContainerState::Created,
            run: 0,
            started: None,
            finished: None,
            exit_code: 0,
            error: String::new(),
            restarts: 0,
            stopped: false,
            was_running: false,
            backoff: Duration::ZERO,
            health: None,
            failing: 0,
            machine: None,
            log: Arc::default(),
            changed: Arc::new(watch::Sender::new(ContainerState::Created)),
            turn: Arc::default(),
        }
    }

    pub(super) fn set(&mut self, state: ContainerState) {
        self.state = state;
        self.changed.send_replace(state);
    }

    pub(super) const fn active(&self) -> bool {
        matches!(self.state, ContainerState::Running | ContainerState::Restarting)
    }

    pub(super) fn short_id(&self) -> &str {
        self.id.get(..12).unwrap_or(&self.id)
    }

    pub(super) fn view(&self) -> ContainerView {
        ContainerView {
            name: self.name.clone(),
            id: self.id.clone(),
            image: self.image.clone(),
            state: self.state,
            restart_count: self.restarts,
            started_at: self.started,
            exit_code: self.exit_code,
        }
    }

    /// What `docker ps` says about it: `Up 3 hours (healthy)`.
    pub(super) fn status(&self) -> String {
        let ago = |at: Option<Timestamp>| at.map_or_else(|| "a moment".to_owned(), since);
        match self.state {
            ContainerState::Created => "Created".to_owned(),
            ContainerState::Running => {
                let health = match self.health {
                    None => String::new(),
                    Some(Health::Starting) => " (health: starting)".to_owned(),
                    Some(known) => format!(" ({})", known.as_str()),
                };
                format!("Up {}{health}", ago(self.started))
            }
            ContainerState::Restarting => {
                format!("Restarting ({}) {} ago", self.exit_code, ago(self.finished))
            }
            ContainerState::Exited => format!("Exited ({}) {} ago", self.exit_code, ago(self.finished)),
        }
    }
}

/// How long ago, in the words of Docker.
pub(super) fn since(at: Timestamp) -> String {
    let seconds = Timestamp::now().as_second().saturating_sub(at.as_second()).max(0);
    let (minutes, hours) = (seconds / 60, (seconds + 1800) / 3600);
    match seconds {
        0 => "Less than a second".to_owned(),
        1 => "1 second".to_owned(),
        2..60 => format!("{seconds} seconds"),
        60..120 => "About a minute".to_owned(),
        120..3600 if minutes < 46 => format!("{minutes} minutes"),
        _ if hours == 1 => "About an hour".to_owned(),
        _ if hours < 48 => format!("{hours} hours"),
        _ if hours < 24 * 14 => format!("{} days", hours / 24),
        _ if hours < 24 * 60 => format!("{} weeks", hours / 24 / 7),
        _ if hours < 24 * 365 * 2 => format!("{} months", hours / 24 / 30),
        _ => format!("{} years", hours / 24 / 365),
    }
}
