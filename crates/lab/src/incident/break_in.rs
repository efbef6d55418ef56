//! Breaks the world as it breaks in reality, and mends it by hand.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use super::Incident;
use crate::cluster::{Failure, Place};
use crate::homelab::{self, HOMEPAGE_CONFIG, PAPERLESS, PAPERLESS_BAD, PAPERLESS_GOOD, PAPERLESS_PORT};
use crate::lab::{Error, FAILING_NODE, Lab};
use crate::machine::{Exec, Machine};

/// How long the world may take to break.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// More clients than the media server has room for.
const CLIENTS: usize = 64;
/// How full the volume must be before it counts as full, in percent.
const FULL: u64 = 97;

pub(super) async fn inject(incident: Incident, lab: &Lab) -> Result<(), Error> {
    match incident {
        Incident::ServiceCrash => crowd(lab).await,
        Incident::DiskFull => fill(lab).await,
        Incident::WrongHost => {
            lab.want_entry(true);
            Ok(())
        }
        Incident::NodeFailure => Ok(lab.cluster().fail_node(FAILING_NODE, Failure::Disk).await?),
        Incident::RestartLoop => deploy(lab, PAPERLESS_BAD).await,
    }
}

pub(super) async fn clear(incident: Incident, lab: &Lab) -> Result<(), Error> {
    match incident {
        Incident::ServiceCrash => run(&guest(lab, "jellyfin")?, "systemctl restart jellyfin").await,
        Incident::DiskFull => {
            let machine = guest(lab, "influxdb")?;
            set_level(&machine, "info").await?;
            run(
                &machine,
                "rm -f /var/log/influxdb/*.log.*; : > /var/log/influxdb/influxdb.log",
            )
            .await
        }
        Incident::WrongHost => {
            lab.want_entry(false);
            restore(lab, "homepage-docker", HOMEPAGE_CONFIG).await?;
            let node = lab
                .cluster()
                .machine(&Place::Node("delly".to_owned()))
                .ok_or_else(|| Error::Missing("the node delly".to_owned()))?;
            Ok(node
                .write(HOMEPAGE_CONFIG, homelab::OLD_SERVICES.as_bytes())
                .await?)
        }
        Incident::NodeFailure => {
            lab.cluster().heal_node(FAILING_NODE).await?;
            for guest in homelab::topology().guests {
                let away = lab
                    .cluster()
                    .guest(guest.vmid)
                    .await
                    .is_some_and(|now| now.node != guest.node);
                if guest.node == FAILING_NODE && away {
                    lab.cluster().migrate_guest(guest.vmid, FAILING_NODE).await?;
                }
            }
            Ok(())
        }
        Incident::RestartLoop => deploy(lab, PAPERLESS_GOOD).await,
    }
}

fn guest(lab: &Lab, name: &str) -> Result<Machine, Error> {
    lab.guest(name)
        .ok_or_else(|| Error::Missing(format!("the guest {name}")))
}

/// Opens more connections than there is room for, and leaves them open.
async fn crowd(lab: &Lab) -> Result<(), Error> {
    let machine = guest(lab, "jellyfin")?;
    let port = homelab::service_of("jellyfin").map_or(0, |service| service.port);
    // Each asks for a stream and never finishes its request; the crash ends them all.
    let clients = (0..CLIENTS).map(|_| machine.talk(port, b"GET /stream HTTP/1.1\r\n", 1024));
    let _ = timeout(PATIENCE, join_all(clients)).await;
    until("the media server to crash", || async {
        machine
            .talk(port, b"GET /health HTTP/1.0\r\n\r\n", 64)
            .await
            .is_err()
    })
    .await
}

/// Leaves the log level at debug until the volume is full.
async fn fill(lab: &Lab) -> Result<(), Error> {
    let machine = guest(lab, "influxdb")?;
    set_level(&machine, "debug").await?;
    until("the log volume to fill", || async {
        machine.usage().await.is_ok_and(|usage| {
            usage
                .iter()
                .filter(|volume| volume.path.ends_with("var/log/influxdb"))
                .any(|volume| volume.used * 100 / volume.total.max(1) >= FULL)
        })
    })
    .await
}

async fn set_level(machine: &Machine, level: &str) -> Result<(), Error> {
    let service =
        homelab::service_of("influxdb").ok_or_else(|| Error::Missing("the service influxdb".to_owned()))?;
    let config = service
        .config()
        .replace("level = \"info\"", &format!("level = {level:?}"));
    Ok(machine.write(&service.config_path(), config.as_bytes()).await?)
}

/// Puts a file of a guest back to what it was at first.
async fn restore(lab: &Lab, name: &str, path: &str) -> Result<(), Error> {
    let machine = guest(lab, name)?;
    let topology = homelab::topology();
    let file = topology
        .guests
        .iter()
        .find(|guest| guest.name == name)
        .and_then(|guest| guest.spec.files.iter().find(|file| file.path.as_os_str() == path))
        .ok_or_else(|| Error::Missing(format!("the file {path}")))?;
    Ok(machine.write(path, &file.content).await?)
}

async fn deploy(lab: &Lab, image: &str) -> Result<(), Error> {
    let engine = lab
        .engines()
        .iter()
        .find(|engine| {
            engine
                .containers()
                .iter()
                .any(|container| container.name == PAPERLESS)
        })
        .ok_or_else(|| Error::Missing(format!("the container {PAPERLESS}")))?;
    engine.deploy(PAPERLESS, image).await?;
    if image == PAPERLESS_BAD {
        until("the container to restart", || async {
            engine
                .containers()
                .iter()
                .any(|container| container.name == PAPERLESS && container.restart_count >= 2)
        })
        .await
    } else {
        until("the container to answer", || async {
            match engine.machine(PAPERLESS) {
                Some(machine) => machine
                    .talk(PAPERLESS_PORT, b"GET /health HTTP/1.0\r\n\r\n", 64)
                    .await
                    .is_ok(),
                None => false,
            }
        })
        .await
    }
}

async fn run(machine: &Machine, command: &str) -> Result<(), Error> {
    let exec = Exec {
        argv: ["sh", "-c", command].map(str::to_owned).to_vec(),
        timeout: Some(PATIENCE),
        ..Exec::default()
    };
    let done = machine.exec(exec).await?;
    if done.code == 0 {
        Ok(())
    } else {
        Err(Error::Command {
            command: command.to_owned(),
            message: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        })
    }
}

async fn until<Looked: Future<Output = bool>>(
    what: &str,
    mut is_so: impl FnMut() -> Looked,
) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        if Instant::now() > deadline {
            return Err(Error::Stuck(what.to_owned()));
        }
        sleep(LOOK).await;
    }
    Ok(())
}
