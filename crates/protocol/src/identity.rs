//! Which machine a resource is: facts that another machine under the same name and address does not share.
//!
//! An id such as `host:box` is a name in a configuration. An [`Identity`] says what that name stood for when it was
//! discovered: the address, the SSH host key, the certificate, the machine id, the cluster and the object in it. A plan
//! carries the identity of its target, so that what was approved for one machine cannot run on another.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::word::words;

/// The longest value of a fact, in bytes. A longer one is replaced by its hash.
const MOST_BYTES: usize = 512;

words! {
    /// What a fact of an identity is.
    IdentityFact {
        /// The address that is connected to: `10.0.0.5:22`, `https://pve.lan:8006`.
        Endpoint = "endpoint",
        /// The address of the SSH server that commands go through, where that is another one.
        SshEndpoint = "ssh_endpoint",
        /// The fingerprints of the accepted SSH host keys, sorted, with a comma between them.
        SshHostKey = "ssh_host_key",
        /// The SHA-256 of the one accepted certificate.
        TlsCertificate = "tls_certificate",
        /// The SHA-256 of the accepted certificate authorities.
        TlsAuthority = "tls_authority",
        /// `/etc/machine-id`.
        MachineId = "machine_id",
        /// The name of a Proxmox cluster.
        Cluster = "cluster",
        /// What tells a guest from a later one with the same number: its SMBIOS UUID, creation time or MAC address.
        Guest = "guest",
        /// The id of a Docker engine.
        DockerEngine = "docker_engine",
        /// The uid of a Kubernetes cluster: that of its namespace `kube-system`.
        KubernetesCluster = "kubernetes_cluster",
        /// The uid of an object in a Kubernetes cluster.
        ObjectUid = "object_uid",
    }
}

impl IdentityFact {
    /// The name for people, as it stands before the value.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Endpoint => "address",
            Self::SshEndpoint => "SSH address",
            Self::SshHostKey => "SSH key",
            Self::TlsCertificate => "certificate SHA-256",
            Self::TlsAuthority => "certificate authority SHA-256",
            Self::MachineId => "machine id",
            Self::Cluster => "cluster",
            Self::Guest => "guest",
            Self::DockerEngine => "Docker engine",
            Self::KubernetesCluster => "Kubernetes cluster",
            Self::ObjectUid => "object uid",
        }
    }
}

/// Which machine a resource is. Empty where nothing is known that could tell it from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(BTreeMap<IdentityFact, String>);

/// A fact that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityChange {
    /// Which.
    pub fact: IdentityFact,
    /// What it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

impl fmt::Display for IdentityChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        write!(
            f,
            "{} was {} and is {}",
            self.fact.label(),
            shown(&self.was),
            shown(&self.now)
        )
    }
}

impl Identity {
    /// The same with one more fact. An empty value is none.
    #[must_use]
    pub fn with(mut self, fact: IdentityFact, value: impl Into<String>) -> Self {
        self.insert(fact, value);
        self
    }

    /// Adds a fact. An empty value is none.
    pub fn insert(&mut self, fact: IdentityFact, value: impl Into<String>) {
        let value = value.into();
        if value.is_empty() {
            return;
        }
        let value = if value.len() > MOST_BYTES {
            crate::ContentHash::of(&value).to_string()
        } else {
            value
        };
        self.0.insert(fact, value);
    }

    /// A fact.
    pub fn get(&self, fact: IdentityFact) -> Option<&str> {
        self.0.get(&fact).map(String::as_str)
    }

    /// All facts, in order.
    pub fn facts(&self) -> impl Iterator<Item = (IdentityFact, &str)> {
        self.0.iter().map(|(fact, value)| (*fact, value.as_str()))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the facts of another that this one does not have.
    pub fn extend(&mut self, other: &Self) {
        for (fact, value) in other.facts() {
            self.0.entry(fact).or_insert_with(|| value.to_owned());
        }
    }

    /// Every fact that `now` does not have, has otherwise, or has in addition.
    pub fn changes(&self, now: &Self) -> Vec<IdentityChange> {
        IdentityFact::ALL
            .iter()
            .filter(|fact| self.get(**fact) != now.get(**fact))
            .map(|fact| self.change(*fact, now))
            .collect()
    }

    /// The facts of this identity that a live look contradicts. A live look may know fewer facts than discovery did; one
    /// that shares none of them shows another machine, or nothing, and contradicts all.
    pub fn contradictions(&self, live: &Self) -> Vec<IdentityChange> {
        if self.is_empty() {
            return Vec::new();
        }
        let shared: Vec<IdentityFact> = self
            .0
            .keys()
            .copied()
            .filter(|fact| live.get(*fact).is_some())
            .collect();
        if shared.is_empty() {
            return self.0.keys().map(|fact| self.change(*fact, live)).collect();
        }
        shared
            .into_iter()
            .filter(|fact| self.get(*fact) != live.get(*fact))
            .map(|fact| self.change(fact, live))
            .collect()
    }

    /// The same without one fact.
    #[must_use]
    pub fn without(mut self, fact: IdentityFact) -> Self {
        self.0.remove(&fact);
        self
    }

    fn change(&self, fact: IdentityFact, now: &Self) -> IdentityChange {
        IdentityChange {
            fact,
            was: self.get(fact).map(str::to_owned),
            now: now.get(fact).map(str::to_owned),
        }
    }

    /// One text for each value: what a hash is taken of.
    pub fn canonical(&self) -> String {
        use fmt::Write as _;
        let mut text = String::new();
        for (fact, value) in self.facts() {
            // Length first, so that no value can pose as another fact. Writing into a String cannot fail.
            let _ = write!(text, "{fact}:{}:{value};", value.len());
        }
        text
    }
}

impl fmt::Display for Identity {
    /// `at 10.0.0.5:22, SSH key SHA256:…`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (fact, value)) in self.facts().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match fact {
                IdentityFact::Endpoint => write!(f, "at {value}")?,
                other => write!(f, "{} {value}", other.label())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(endpoint: &str, key: &str) -> Identity {
        Identity::default()
            .with(IdentityFact::Endpoint, endpoint)
            .with(IdentityFact::SshHostKey, key)
    }

    #[test]
    fn people_read_the_address_first() {
        assert_eq!(
            host("10.0.0.5:22", "SHA256:abc").to_string(),
            "at 10.0.0.5:22, SSH key SHA256:abc"
        );
        assert_eq!(Identity::default().to_string(), "");
    }

    #[test]
    fn another_machine_contradicts_and_a_partial_look_does_not() {
        let was = host("10.0.0.5:22", "SHA256:abc").with(IdentityFact::MachineId, "m1");
        let cases: &[(Identity, usize, usize)] = &[
            (was.clone(), 0, 0),
            // A live look that does not ask for the machine id.
            (host("10.0.0.5:22", "SHA256:abc"), 1, 0),
            (host("10.0.0.6:22", "SHA256:abc"), 2, 1),
            (host("10.0.0.6:22", "SHA256:def"), 3, 2),
            (Identity::default(), 3, 3),
            (Identity::default().with(IdentityFact::DockerEngine, "e"), 4, 3),
        ];
        for (now, changes, contradictions) in cases {
            assert_eq!(was.changes(now).len(), *changes, "{now}");
            assert_eq!(was.contradictions(now).len(), *contradictions, "{now}");
        }
        assert!(Identity::default().contradictions(&was).is_empty());
    }

    fn any_identity() -> impl Strategy<Value = Identity> {
        prop::collection::btree_map(
            prop::sample::select(IdentityFact::ALL),
            "[a-z0-9:;,.]{1,12}",
            0..5,
        )
        .prop_map(Identity)
    }

    proptest! {
        #[test]
        fn the_canonical_text_tells_identities_apart(one in any_identity(), other in any_identity()) {
            prop_assert_eq!(one.canonical() == other.canonical(), one == other);
            prop_assert_eq!(one.changes(&other).is_empty(), one == other);
        }

        #[test]
        fn an_identity_survives_json(one in any_identity()) {
            let json = serde_json::to_string(&one).unwrap();
            prop_assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), one);
        }
    }
}
