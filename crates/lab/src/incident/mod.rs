//! Incidents: what breaks, how it shows, what mends it, and an oracle that looks at the world.

mod break_in;
mod oracle;

use serde::Serialize;

use crate::lab::{Error, Lab};

pub use oracle::{Check, Verdict};

/// Something that goes wrong in the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Incident {
    /// A service died, and its log says why.
    ServiceCrash,
    /// Logs filled a disk.
    DiskFull,
    /// A change belongs into a container; the same path exists on its host.
    WrongHost,
    /// A node is dying, and its guests must move.
    NodeFailure,
    /// A container restarts without end after a bad release.
    RestartLoop,
}

impl Incident {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::ServiceCrash,
        Self::DiskFull,
        Self::WrongHost,
        Self::NodeFailure,
        Self::RestartLoop,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServiceCrash => "service-crash",
            Self::DiskFull => "disk-full",
            Self::WrongHost => "wrong-host",
            Self::NodeFailure => "node-failure",
            Self::RestartLoop => "restart-loop",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|incident| incident.name() == name)
    }

    /// What happens, for people.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::ServiceCrash => "The media server in container 150 died; its log says why.",
            Self::DiskFull => "The log volume of the InfluxDB container is full of debug logs.",
            Self::WrongHost => {
                "The dashboard lacks an entry. Its file is in container 141, and an old copy on the node."
            }
            Self::NodeFailure => "The disk of node minipc is dying, and its guests must move.",
            Self::RestartLoop => "Paperless restarts without end since its last release.",
        }
    }

    /// Why it happens.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::ServiceCrash => {
                "More clients than its session table has room for; it aborts and is not started again."
            }
            Self::DiskFull => {
                "The log level was left at debug: megabytes each second until the volume was full."
            }
            Self::WrongHost => "InfluxDB was never entered into the dashboard's services.yaml.",
            Self::NodeFailure => "The NVMe disk of the node fails its self-test; reads end in I/O errors.",
            Self::RestartLoop => {
                "Release 2.13.0 needs a newer PostgreSQL than there is, and refuses to start."
            }
        }
    }

    /// What mends it.
    pub const fn fix(self) -> &'static str {
        match self {
            Self::ServiceCrash => "Restart the unit jellyfin in lxc:delly:150.",
            Self::DiskFull => "Set the log level back to info and delete the rotated logs.",
            Self::WrongHost => "Add InfluxDB to /opt/homepage/config/services.yaml inside lxc:delly:141.",
            Self::NodeFailure => "Migrate guests 110 and 203 to nodes that are well.",
            Self::RestartLoop => "Put the container back to release 2.12.1.",
        }
    }

    /// The alert that announces it.
    pub const fn alert(self) -> &'static str {
        match self {
            Self::ServiceCrash => "ServiceDown",
            Self::DiskFull => "FilesystemFull",
            Self::WrongHost => "DashboardEntryMissing",
            Self::NodeFailure => "DiskFailing",
            Self::RestartLoop => "ContainerRestartLoop",
        }
    }

    /// What the scripted model says to it: someone who means well and makes the usual mistakes.
    pub const fn script(self) -> &'static str {
        match self {
            Self::ServiceCrash => include_str!("../../scripts/service-crash.yaml"),
            Self::DiskFull => include_str!("../../scripts/disk-full.yaml"),
            Self::WrongHost => include_str!("../../scripts/wrong-host.yaml"),
            Self::NodeFailure => include_str!("../../scripts/node-failure.yaml"),
            Self::RestartLoop => include_str!("../../scripts/restart-loop.yaml"),
        }
    }

    /// Breaks the world.
    pub async fn inject(self, lab: &Lab) -> Result<(), Error> {
        break_in::inject(self, lab).await
    }

    /// Mends the world, whatever was done to it.
    pub async fn clear(self, lab: &Lab) -> Result<(), Error> {
        break_in::clear(self, lab).await
    }

    /// Looks at the world: is it over?
    pub async fn verdict(self, lab: &Lab) -> Verdict {
        oracle::ask(self, lab).await
    }
}

/// An incident, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    name: &'static str,
    summary: &'static str,
    cause: &'static str,
    fix: &'static str,
    alert: &'static str,
}

impl From<Incident> for Described {
    fn from(incident: Incident) -> Self {
        Self {
            name: incident.name(),
            summary: incident.summary(),
            cause: incident.cause(),
            fix: incident.fix(),
            alert: incident.alert(),
        }
    }
}
