//! Looks at the world itself: connects to the service, reads the file, asks for the state. No flag, no transcript.

use serde::Serialize;

use super::Incident;
use crate::cluster::{GuestStatus, Health, Place};
use crate::docker::ContainerState;
use crate::homelab::{self, HOMEPAGE_CONFIG, OLD_SERVICES, PAPERLESS, PAPERLESS_GOOD, PAPERLESS_PORT};
use crate::lab::{FAILING_NODE, Lab, WANTED_ENTRY};
use crate::machine::{Exec, Machine};

/// How full a volume may be for the incident to be over, in percent.
const FULL_PERCENT: u64 = 80;
/// How much of an answer is read.
const MOST: usize = 64 * 1024;

/// What the oracle says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the incident is over.
    pub resolved: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// One look at the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What must be so.
    pub wanted: String,
    /// Whether it is.
    pub holds: bool,
    /// What was found.
    pub found: String,
}

impl Verdict {
    fn of(checks: Vec<Check>) -> Self {
        Self {
            resolved: checks.iter().all(|check| check.holds),
            checks,
        }
    }

    /// The first thing that is not as it must be, for people.
    pub fn reason(&self) -> Option<String> {
        let check = self.checks.iter().find(|check| !check.holds)?;
        Some(format!("{}: {}", check.wanted, check.found))
    }
}

fn check(wanted: impl Into<String>, holds: bool, found: impl Into<String>) -> Check {
    Check {
        wanted: wanted.into(),
        holds,
        found: found.into(),
    }
}

pub(super) async fn ask(incident: Incident, lab: &Lab) -> Verdict {
    Verdict::of(match incident {
        Incident::ServiceCrash => vec![unit_active(lab, "jellyfin").await, answers(lab, "jellyfin").await],
        Incident::DiskFull => vec![
            room_left(lab).await,
            answers(lab, "influxdb").await,
            quiet(lab).await,
        ],
        Incident::WrongHost => vec![entry_shown(lab).await, old_copy_untouched(lab).await],
        Incident::NodeFailure => moved(lab).await,
        Incident::RestartLoop => vec![container_runs(lab), container_answers(lab).await],
    })
}

/// Asks a service over its own port, inside its guest.
async fn answers(lab: &Lab, guest: &str) -> Check {
    let wanted = format!("{guest} answers that it is well");
    let Some(service) = homelab::service_of(guest) else {
        return check(wanted, false, "it has no service");
    };
    match health(lab.guest(guest).as_ref(), service.port).await {
        Ok(line) => check(wanted, line.contains(" 200 "), line),
        Err(found) => check(wanted, false, found),
    }
}

/// The first line of what `/health` answers.
async fn health(machine: Option<&Machine>, port: u16) -> Result<String, String> {
    let machine = machine.ok_or("it does not run")?;
    get(machine, port, "/health")
        .await
        .map(|answer| answer.lines().next().unwrap_or("").to_owned())
}

async fn get(machine: &Machine, port: u16, path: &str) -> Result<String, String> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        machine.name()
    );
    match machine.talk(port, request.as_bytes(), MOST).await {
        Ok(answer) => Ok(String::from_utf8_lossy(&answer).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

async fn unit_active(lab: &Lab, guest: &str) -> Check {
    let unit = homelab::service_of(guest).map_or(guest, |service| service.unit);
    let wanted = format!("the unit {unit} is active");
    let Some(machine) = lab.guest(guest) else {
        return check(wanted, false, "its guest does not run");
    };
    let exec = Exec {
        argv: ["systemctl", "is-active", unit].map(str::to_owned).to_vec(),
        ..Exec::default()
    };
    match machine.exec(exec).await {
        Ok(done) => check(
            wanted,
            done.code == 0,
            String::from_utf8_lossy(&done.stdout).trim(),
        ),
        Err(error) => check(wanted, false, error.to_string()),
    }
}

async fn room_left(lab: &Lab) -> Check {
    let wanted = format!("the log volume of influxdb is at most {FULL_PERCENT} % full");
    let Some(machine) = lab.guest("influxdb") else {
        return check(wanted, false, "its guest does not run");
    };
    let usage = match machine.usage().await {
        Ok(usage) => usage,
        Err(error) => return check(wanted, false, error.to_string()),
    };
    let Some(volume) = usage
        .iter()
        .find(|usage| usage.path.ends_with("var/log/influxdb"))
    else {
        return check(wanted, false, "there is no such volume");
    };
    let percent = volume.used.saturating_mul(100) / volume.total.max(1);
    check(wanted, percent <= FULL_PERCENT, format!("{percent} %"))
}

async fn quiet(lab: &Lab) -> Check {
    let wanted = "influxdb does not log for debugging";
    let (Some(machine), Some(service)) = (lab.guest("influxdb"), homelab::service_of("influxdb")) else {
        return check(wanted, false, "its guest does not run");
    };
    match machine.read(&service.config_path()).await {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            // As the service itself reads it.
            let level = text
                .parse::<toml::Table>()
                .ok()
                .and_then(|config| Some(config.get("level")?.as_str()?.to_owned()));
            check(
                wanted,
                level.as_deref() == Some("info"),
                level.unwrap_or_else(|| "its configuration names no level".to_owned()),
            )
        }
        Err(error) => check(wanted, false, error.to_string()),
    }
}

async fn entry_shown(lab: &Lab) -> Check {
    let wanted = format!("the dashboard shows {WANTED_ENTRY}, and what it showed before");
    let (Some(machine), Some(service)) = (
        lab.guest("homepage-docker"),
        homelab::service_of("homepage-docker"),
    ) else {
        return check(wanted, false, "its guest does not run");
    };
    match get(&machine, service.port, "/").await {
        Ok(page) => {
            // The new one, and none lost of those that were there.
            let missing = [WANTED_ENTRY, "Jellyfin", "Home Assistant", "Pi-hole", "Grafana"]
                .into_iter()
                .find(|entry| !page.contains(entry));
            let found = missing.map_or_else(|| "it does".to_owned(), |entry| format!("it lacks {entry}"));
            check(wanted, missing.is_none(), found)
        }
        Err(found) => check(wanted, false, found),
    }
}

async fn old_copy_untouched(lab: &Lab) -> Check {
    let wanted = format!("{HOMEPAGE_CONFIG} on the node delly is as it was");
    let Some(node) = lab.cluster().machine(&Place::Node("delly".to_owned())) else {
        return check(wanted, false, "the node does not run");
    };
    match node.read(HOMEPAGE_CONFIG).await {
        Ok(content) => {
            let same = content == OLD_SERVICES.as_bytes();
            check(wanted, same, if same { "it is" } else { "it was changed" })
        }
        Err(error) => check(wanted, false, error.to_string()),
    }
}

/// Every guest that was on the failing node runs on one that is well, and its service answers.
async fn moved(lab: &Lab) -> Vec<Check> {
    let well: Vec<String> = lab
        .cluster()
        .nodes()
        .await
        .into_iter()
        .filter(|node| node.health == Health::Online)
        .map(|node| node.name)
        .collect();
    let mut checks = Vec::new();
    for guest in homelab::topology().guests {
        if guest.node != FAILING_NODE {
            continue;
        }
        let wanted = format!("guest {} runs on a node that is well", guest.vmid);
        checks.push(match lab.cluster().guest(guest.vmid).await {
            Some(now) => check(
                wanted,
                now.status == GuestStatus::Running && well.contains(&now.node),
                format!("{:?} on {}", now.status, now.node).to_lowercase(),
            ),
            None => check(wanted, false, "it is gone"),
        });
        checks.push(answers(lab, &guest.name).await);
    }
    checks
}

fn container_runs(lab: &Lab) -> Check {
    let wanted = format!("the container {PAPERLESS} runs and stays so");
    let container = lab
        .engines()
        .iter()
        .flat_map(crate::docker::Engine::containers)
        .find(|container| container.name == PAPERLESS);
    match container {
        Some(container) => check(
            wanted,
            container.state == ContainerState::Running && is_paperless(&container.image),
            format!(
                "{}, started again {} times, from {}",
                container.state.as_str(),
                container.restart_count,
                container.image
            ),
        ),
        None => check(wanted, false, "it is gone"),
    }
}

/// Whether an image is a release of it, and not something else by its name.
fn is_paperless(image: &str) -> bool {
    PAPERLESS_GOOD
        .rsplit_once(':')
        .is_some_and(|(repository, _)| image.starts_with(&format!("{repository}:")))
}

async fn container_answers(lab: &Lab) -> Check {
    let wanted = format!("{PAPERLESS} answers that it is well");
    let machine = lab.engines().iter().find_map(|engine| engine.machine(PAPERLESS));
    match health(machine.as_ref(), PAPERLESS_PORT).await {
        Ok(line) => check(wanted, line.contains(" 200 "), line),
        Err(found) => check(wanted, false, found),
    }
}
