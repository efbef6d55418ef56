//! Guests: how they are named, and what they are doing.

use interlock_protocol::{Observation, ResourceId, ResourceKind, RunIdentity, RunState};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::Proxmox;
use super::facts::Fields;
use crate::Error;
use crate::http::segment;

/// What a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuestKind {
    /// A virtual machine.
    Vm,
    /// A system container.
    Lxc,
}

impl GuestKind {
    /// The word in paths and answers.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Vm => "qemu",
            Self::Lxc => "lxc",
        }
    }

    pub(super) const fn resource(self) -> ResourceKind {
        match self {
            Self::Vm => ResourceKind::Vm,
            Self::Lxc => ResourceKind::Lxc,
        }
    }
}

/// A guest on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guest {
    /// What it is.
    pub kind: GuestKind,
    /// The node that it is on.
    pub node: String,
    /// Its number.
    pub vmid: u32,
}

impl Guest {
    /// The guest that an id names: `lxc:delly:141`.
    pub fn of(id: &ResourceId) -> Option<Self> {
        let kind = match id.kind() {
            ResourceKind::Vm => GuestKind::Vm,
            ResourceKind::Lxc => GuestKind::Lxc,
            _ => return None,
        };
        Some(Self {
            kind,
            node: id.host()?.to_owned(),
            vmid: id.uid().parse().ok()?,
        })
    }

    /// Its id.
    pub fn id(&self) -> Result<ResourceId, interlock_protocol::resource::Error> {
        ResourceId::hosted(self.kind.resource(), &self.node, &self.vmid.to_string())
    }

    pub(super) fn path(&self) -> String {
        format!(
            "/nodes/{}/{}/{}",
            segment(&self.node),
            self.kind.word(),
            self.vmid
        )
    }
}

/// What a guest is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestStatus {
    /// What it is doing.
    pub state: RunState,
    /// Since when it runs.
    pub started_at: Option<Timestamp>,
    /// What holds it: `migrate`, `backup`, `snapshot`…
    pub lock: Option<String>,
    /// Everything that Proxmox says.
    pub data: Value,
}

impl GuestStatus {
    pub(super) fn read(data: Value, now: Timestamp) -> Self {
        let fields = Fields(&data);
        let state = state_of(fields);
        let started_at = fields
            .whole("uptime")
            .filter(|_| !matches!(state, RunState::Stopped | RunState::Unknown))
            .and_then(|uptime| i64::try_from(uptime).ok())
            .and_then(|uptime| now.checked_sub(SignedDuration::from_secs(uptime)).ok());
        Self {
            state,
            started_at,
            lock: fields.text("lock").map(str::to_owned),
            data,
        }
    }

    /// It as an observation. The process that runs it names the run, and its node counts the seconds.
    pub fn observation(&self) -> Observation {
        let fields = Fields(&self.data);
        let up = !matches!(self.state, RunState::Stopped | RunState::Unknown);
        Observation::Guest {
            state: self.state,
            started_at: self.started_at,
            run: RunIdentity {
                id: fields
                    .whole("pid")
                    .filter(|pid| up && *pid > 0)
                    .map(|pid| format!("pid {pid}")),
                seconds: fields.whole("uptime").filter(|_| up),
            },
        }
    }
}

/// What a row about a guest says that it is doing.
pub(super) fn state_of(fields: Fields<'_>) -> RunState {
    match fields.text("lock") {
        Some("migrate") => return RunState::Migrating,
        Some("suspended") => return RunState::Paused,
        _ => {}
    }
    match fields.text("qmpstatus") {
        Some("paused" | "suspended") => return RunState::Paused,
        Some("prelaunch" | "inmigrate") => return RunState::Starting,
        Some("shutdown") => return RunState::Stopping,
        Some("internal-error" | "io-error" | "guest-panicked") => return RunState::Failed,
        _ => {}
    }
    match fields.text("status") {
        Some("running") => RunState::Running,
        Some("stopped") => RunState::Stopped,
        Some("paused" | "suspended" | "frozen") => RunState::Paused,
        _ => RunState::Unknown,
    }
}

impl Proxmox {
    /// What a guest is doing now.
    pub async fn guest_status(&self, guest: &Guest) -> Result<GuestStatus, Error> {
        // Before it was asked: else it would seem to have started later than it did.
        let asked = Timestamp::now();
        let data = self.get(&format!("{}/status/current", guest.path())).await?;
        Ok(GuestStatus::read(data, asked))
    }

    /// How a guest is built, with pending changes left out.
    pub async fn guest_config(&self, guest: &Guest) -> Result<Value, Error> {
        let mut data = self.get(&format!("{}/config", guest.path())).await?;
        if let Value::Object(fields) = &mut data {
            fields.retain(|name, _| name != "cipassword");
        }
        Ok(data)
    }

    /// Its snapshots.
    pub async fn guest_snapshots(&self, guest: &Guest) -> Result<Value, Error> {
        self.get(&format!("{}/snapshot", guest.path())).await
    }

    /// How it did: `hour`, `day`, `week`, `month` or `year`.
    pub async fn guest_history(&self, guest: &Guest, timeframe: &str) -> Result<Value, Error> {
        let query = [("timeframe", timeframe), ("cf", "AVERAGE")];
        self.get_with(&format!("{}/rrddata", guest.path()), &query).await
    }

    /// Its addresses, with those that every machine has for itself left out.
    pub async fn guest_addresses(&self, guest: &Guest) -> Result<Vec<String>, Error> {
        let data = match guest.kind {
            GuestKind::Lxc => self.get(&format!("{}/interfaces", guest.path())).await?,
            GuestKind::Vm => {
                let path = format!("{}/agent/network-get-interfaces", guest.path());
                let mut data = self.get(&path).await?;
                data.get_mut("result").map(Value::take).unwrap_or(data)
            }
        };
        Ok(addresses(&data))
    }

    /// The guest with this number, wherever it is now. `None` where the cluster has none.
    pub async fn guest_numbered(&self, vmid: u32) -> Result<Option<Guest>, Error> {
        let guests = self.guests().await?;
        Ok(guests.into_iter().find(|guest| guest.vmid == vmid))
    }
}

fn addresses(data: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for interface in super::facts::rows(data) {
        if interface.text("name") == Some("lo") {
            continue;
        }
        // A container says `192.0.2.41/24` per interface, an agent has a list of objects.
        for key in ["inet", "inet6"] {
            found.extend(interface.text(key).map(str::to_owned));
        }
        let list = interface.0.get("ip-addresses").unwrap_or(&Value::Null);
        for row in super::facts::rows(list) {
            found.extend(row.text("ip-address").map(str::to_owned));
        }
    }
    let mut found: Vec<String> = found
        .into_iter()
        .map(|address| address.split('/').next().unwrap_or_default().to_owned())
        .filter(|address| {
            address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|parsed| !parsed.is_loopback() && !address.starts_with("fe80"))
        })
        .collect();
    found.dedup();
    found
}
