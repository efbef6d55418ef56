//! Which cluster this is, and which guest a number stands for.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use interlock_protocol::{Identity, IdentityFact, ResourceId, ResourceKind};
use serde_json::Value;

use super::Proxmox;
use super::discover::cluster_name;
use super::guest::{Guest, GuestKind};
use crate::{Error, Resource};

/// What was found to tell guests apart when they were last asked.
pub(super) type Guests = BTreeMap<Guest, (Instant, String)>;

/// How long discovery believes that a number still is the same guest. What runs something asks again.
const GUESTS_FOR: Duration = Duration::from_mins(2);
/// How long one guest may take in a discovery.
const GUEST_TIME: Duration = Duration::from_secs(3);
const AT_ONCE: usize = 8;

impl Proxmox {
    /// Which machine this node, guest or storage is now.
    pub async fn identity(&self, id: &ResourceId) -> Result<Identity, Error> {
        let guest = Guest::of(id);
        let config = async {
            match &guest {
                Some(guest) => self.guest_config(guest).await.map(Some),
                None => Ok(None),
            }
        };
        let (status, config) = tokio::join!(self.cluster_status(), config);
        let status = known(status)?.unwrap_or(Value::Null);
        let mut identity = self.cluster_identity(&status);
        identity.extend(&self.shell_identity(id));
        if let (Some(guest), Some(config)) = (&guest, known(config)?.flatten()) {
            identity.insert(
                IdentityFact::Guest,
                told_apart(guest.kind, &config).unwrap_or_default(),
            );
        }
        Ok(identity)
    }

    /// The address, what its certificate is known by, and the name of the cluster.
    pub(super) fn cluster_identity(&self, status: &Value) -> Identity {
        let identity = self.inner.http.identity();
        match cluster_name(status) {
            Some(name) => identity.with(IdentityFact::Cluster, name),
            None => identity,
        }
    }

    /// The SSH server that commands for a node or a container go through.
    fn shell_identity(&self, id: &ResourceId) -> Identity {
        let node = match id.kind() {
            ResourceKind::Node => Some(id.uid()),
            ResourceKind::Lxc => id.host(),
            _ => None,
        };
        node.and_then(|node| self.ssh(node).ok())
            .map(|ssh| ssh.identity(IdentityFact::SshEndpoint))
            .unwrap_or_default()
    }

    /// Adds to what was discovered which machine each is.
    pub(super) async fn add_identities(&self, found: &mut [Resource], status: &Value) {
        let unknown: Vec<Guest> = found
            .iter()
            .filter_map(|resource| Guest::of(&resource.id))
            .filter(|guest| !self.asked_lately(guest))
            .collect();
        let asked: Vec<(Guest, String)> = stream::iter(unknown)
            .map(|guest| async move {
                let config = tokio::time::timeout(GUEST_TIME, self.guest_config(&guest)).await;
                let config = config.ok().and_then(Result::ok)?;
                let told = told_apart(guest.kind, &config).unwrap_or_default();
                Some((guest, told))
            })
            .buffer_unordered(AT_ONCE)
            .filter_map(|asked| async move { asked })
            .collect()
            .await;
        let now = Instant::now();
        self.inner
            .guests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(asked.into_iter().map(|(guest, told)| (guest, (now, told))));
        let cluster = self.cluster_identity(status);
        for resource in found {
            let mut identity = cluster.clone();
            identity.extend(&self.shell_identity(&resource.id));
            let guest = Guest::of(&resource.id).and_then(|guest| self.known_guest(&guest));
            identity.insert(IdentityFact::Guest, guest.unwrap_or_default());
            resource.identity = identity;
        }
    }

    fn asked_lately(&self, guest: &Guest) -> bool {
        let guests = self.inner.guests.lock().unwrap_or_else(PoisonError::into_inner);
        guests.get(guest).is_some_and(|(at, _)| at.elapsed() < GUESTS_FOR)
    }

    /// What told a guest apart when it last answered; empty where nothing does. A guest that is slow to answer once is not
    /// another one: what runs something asks again.
    fn known_guest(&self, guest: &Guest) -> Option<String> {
        let guests = self.inner.guests.lock().unwrap_or_else(PoisonError::into_inner);
        guests.get(guest).map(|(_, told)| told.clone())
    }
}

/// What was asked, where it is there and the user may see it.
fn known<Answer>(answer: Result<Answer, Error>) -> Result<Option<Answer>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error @ (Error::Unreachable { .. } | Error::TimedOut { .. })) => Err(error),
        Err(_) => Ok(None),
    }
}

/// What tells a guest from an earlier or later one with the same number: the UUID of a machine, else when it was made; the
/// MAC address of a container, which is drawn when it is made.
fn told_apart(kind: GuestKind, config: &Value) -> Option<String> {
    let text = |name: &str| config.get(name).and_then(Value::as_str);
    match kind {
        GuestKind::Vm => {
            let uuid = text("smbios1").and_then(|line| part(line, "uuid"));
            let made = || text("meta").and_then(|line| part(line, "ctime"));
            uuid.map(|uuid| format!("uuid {}", uuid.to_lowercase()))
                .or_else(|| made().map(|at| format!("created {at}")))
        }
        GuestKind::Lxc => {
            let mac = text("net0").and_then(|line| part(line, "hwaddr"));
            mac.map(|mac| format!("MAC {}", mac.to_lowercase()))
        }
    }
}

/// The value of a key in `a=1,b=2`.
fn part<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(',')
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn guests_with_one_number_are_told_apart() {
        let cases = [
            (
                GuestKind::Vm,
                json!({"smbios1": "uuid=AB-1,manufacturer=x", "meta": "creation-qemu=9,ctime=17"}),
                Some("uuid ab-1"),
            ),
            (
                GuestKind::Vm,
                json!({"meta": "creation-qemu=9,ctime=17"}),
                Some("created 17"),
            ),
            (GuestKind::Vm, json!({}), None),
            (
                GuestKind::Lxc,
                json!({"net0": "name=eth0,hwaddr=BC:24:11:00:00:01,ip=dhcp"}),
                Some("MAC bc:24:11:00:00:01"),
            ),
            (GuestKind::Lxc, json!({"net0": 7}), None),
        ];
        for (kind, config, expected) in cases {
            assert_eq!(told_apart(kind, &config).as_deref(), expected, "{config}");
        }
    }
}
