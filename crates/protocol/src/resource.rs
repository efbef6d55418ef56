//! Canonical resource ids: `kind:uid` for what stands alone, `kind:host:uid` for what lives on something.
//!
//! There is one spelling per resource. Nothing is trimmed, lower-cased or completed on the way in: a text that
//! is not already canonical is refused, so that two spellings can never be taken for two resources.

use std::fmt;
use std::str::FromStr;

/// The longest host part, in bytes.
pub const MAX_HOST_BYTES: usize = 128;
/// The longest uid, in bytes: room for a Kubernetes `namespace/name`.
pub const MAX_UID_BYTES: usize = 320;

/// Why a text is no resource id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The kind is none that Interlock knows.
    #[error("`{0}` is not a known kind of resource")]
    UnknownKind(String),
    /// There is no colon at all.
    #[error("a resource id is `kind:uid` or `kind:host:uid`; this has no `:`")]
    NoKind,
    /// A kind that lives on something came without its host.
    #[error("a `{0}` lives on a host: its id is `{0}:host:uid`")]
    HostMissing(ResourceKind),
    /// A kind that stands alone came with a host, or an id has more parts than three.
    #[error("a `{kind}` has an id of {expected} parts; this has {found}")]
    TooManyParts {
        /// The kind.
        kind: ResourceKind,
        /// How many parts its ids have.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A part is empty.
    #[error("the {0} is empty")]
    Empty(Part),
    /// A part is too long.
    #[error("the {part} has {bytes} bytes; {most} is the most")]
    TooLong {
        /// Which part.
        part: Part,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// A character that a part does not take.
    #[error("the {part} may not contain {character:?}")]
    Character {
        /// Which part.
        part: Part,
        /// The character.
        character: char,
    },
    /// A part that begins with punctuation: it would read as a flag or a path where it is used.
    #[error("the {part} must begin with a letter or a digit, not {character:?}")]
    Start {
        /// Which part.
        part: Part,
        /// The character.
        character: char,
    },
    /// `//`, `.` or `..` between slashes, or a slash at the end.
    #[error("the uid has an empty or relative path segment")]
    Segment,
}

/// A part of a resource id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What it lives on.
    Host,
    /// What its provider calls it.
    Uid,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Uid => "uid",
        })
    }
}

/// Whether ids of a kind have a host part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `kind:uid`.
    Global,
    /// `kind:host:uid`.
    Hosted,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal $scope:ident),+ $(,)?) => {
        /// What a resource is.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub enum ResourceKind {
            $($(#[$doc])* #[serde(rename = $word)] $name,)+
        }

        impl ResourceKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The stable word for this kind, as it begins an id.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }

            /// Whether ids of this kind have a host part.
            pub const fn scope(self) -> Scope {
                match self {
                    $(Self::$name => Scope::$scope,)+
                }
            }
        }
    };
}

kinds! {
    /// A Proxmox VE node.
    Node = "node" Global,
    /// A Proxmox VE cluster.
    Cluster = "cluster" Global,
    /// A machine that an outpost or an address makes known, with no hypervisor of its own.
    Host = "host" Global,
    /// A machine that runs Docker.
    DockerHost = "docker_host" Global,
    /// A Kubernetes cluster.
    KubernetesCluster = "kubernetes_cluster" Global,
    /// A Proxmox Mail Gateway.
    MailGateway = "mail_gateway" Global,
    /// A server of MCP tools.
    ToolServer = "tool_server" Global,
    /// An alert.
    Alert = "alert" Global,
    /// Something remembered.
    Note = "note" Global,
    /// A virtual machine; its host is the node.
    Vm = "vm" Hosted,
    /// A system container; its host is the node.
    Lxc = "lxc" Hosted,
    /// A storage; its host is the node, or the cluster for a shared one.
    Storage = "storage" Hosted,
    /// A service unit; its host is the machine or guest that runs it.
    Service = "service" Hosted,
    /// A container; its host is the Docker host.
    DockerContainer = "docker_container" Hosted,
    /// A Swarm service; its host is the Docker host that manages it.
    DockerService = "docker_service" Hosted,
    /// An image on a Docker host.
    DockerImage = "docker_image" Hosted,
    /// A volume on a Docker host.
    DockerVolume = "docker_volume" Hosted,
    /// A network of a Docker host.
    DockerNetwork = "docker_network" Hosted,
    /// A Kubernetes node; the host is its cluster, as for all Kubernetes kinds below.
    KubernetesNode = "kubernetes_node" Hosted,
    /// A namespace.
    KubernetesNamespace = "kubernetes_namespace" Hosted,
    /// A pod: `namespace/name`.
    KubernetesPod = "kubernetes_pod" Hosted,
    /// A deployment: `namespace/name`.
    KubernetesDeployment = "kubernetes_deployment" Hosted,
    /// A stateful set: `namespace/name`.
    KubernetesStatefulSet = "kubernetes_stateful_set" Hosted,
    /// A daemon set: `namespace/name`.
    KubernetesDaemonSet = "kubernetes_daemon_set" Hosted,
    /// A job: `namespace/name`.
    KubernetesJob = "kubernetes_job" Hosted,
    /// A service in front of pods: `namespace/name`.
    KubernetesService = "kubernetes_service" Hosted,
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ResourceKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == text)
            // A hostile text may be long; the message need not be.
            .ok_or_else(|| Error::UnknownKind(text.chars().take(64).collect()))
    }
}

/// Something discovered, by its one canonical name: `node:delly`, `lxc:delly:141`.
///
/// Case counts, because providers' names do. Neither host nor uid takes a colon.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResourceId {
    kind: ResourceKind,
    host: Option<String>,
    uid: String,
}

impl ResourceId {
    /// The id of something that stands alone.
    pub fn global(kind: ResourceKind, uid: &str) -> Result<Self, Error> {
        match kind.scope() {
            Scope::Global => {
                check_uid(uid)?;
                Ok(Self {
                    kind,
                    host: None,
                    uid: uid.to_owned(),
                })
            }
            Scope::Hosted => Err(Error::HostMissing(kind)),
        }
    }

    /// The id of something that lives on a host.
    pub fn hosted(kind: ResourceKind, host: &str, uid: &str) -> Result<Self, Error> {
        match kind.scope() {
            Scope::Hosted => {
                check_host(host)?;
                check_uid(uid)?;
                Ok(Self {
                    kind,
                    host: Some(host.to_owned()),
                    uid: uid.to_owned(),
                })
            }
            Scope::Global => Err(Error::TooManyParts {
                kind,
                expected: 2,
                found: 3,
            }),
        }
    }

    /// What it is.
    pub const fn kind(&self) -> ResourceKind {
        self.kind
    }

    /// The name of what it lives on.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// What its provider calls it.
    pub fn uid(&self) -> &str {
        &self.uid
    }
}

impl FromStr for ResourceId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (kind, rest) = text.split_once(':').ok_or(Error::NoKind)?;
        let kind: ResourceKind = kind.parse()?;
        let found = 2 + rest.matches(':').count();
        match kind.scope() {
            Scope::Global if found > 2 => Err(Error::TooManyParts {
                kind,
                expected: 2,
                found,
            }),
            Scope::Hosted if found > 3 => Err(Error::TooManyParts {
                kind,
                expected: 3,
                found,
            }),
            Scope::Global => Self::global(kind, rest),
            Scope::Hosted => {
                let (host, uid) = rest.split_once(':').ok_or(Error::HostMissing(kind))?;
                Self::hosted(kind, host, uid)
            }
        }
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "{}:{host}:{}", self.kind, self.uid),
            None => write!(f, "{}:{}", self.kind, self.uid),
        }
    }
}

impl TryFrom<String> for ResourceId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<ResourceId> for String {
    fn from(id: ResourceId) -> Self {
        id.to_string()
    }
}

fn check_host(text: &str) -> Result<(), Error> {
    check_part(Part::Host, text, MAX_HOST_BYTES, |c| matches!(c, '.' | '_' | '-'))
}

fn check_uid(text: &str) -> Result<(), Error> {
    check_part(Part::Uid, text, MAX_UID_BYTES, |c| {
        matches!(c, '.' | '_' | '-' | '@' | '/' | '+')
    })?;
    if text.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(Error::Segment);
    }
    Ok(())
}

fn check_part(part: Part, text: &str, most: usize, punctuation: fn(char) -> bool) -> Result<(), Error> {
    let first = text.chars().next().ok_or(Error::Empty(part))?;
    if text.len() > most {
        return Err(Error::TooLong {
            part,
            bytes: text.len(),
            most,
        });
    }
    if let Some(character) = text
        .chars()
        .find(|&c| !c.is_ascii_alphanumeric() && !punctuation(c))
    {
        return Err(Error::Character { part, character });
    }
    if !first.is_ascii_alphanumeric() {
        return Err(Error::Start {
            part,
            character: first,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn canonical_ids_keep_their_spelling() {
        for text in [
            "node:delly",
            "lxc:delly:141",
            "vm:minipc:203",
            "docker_container:server1:abc123",
            "service:web-1.example.net:getty@tty1.service",
            "kubernetes_pod:prod:kube-system/coredns-7db6d8ff4d-x2x9z",
            "storage:pve-cluster:local-lvm",
            "alert:CPUThrottling_High",
            "note:2026-01-28.1",
        ] {
            let id: ResourceId = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_canonical_is_refused_with_the_cause() {
        use Error::{
            Character, Empty, HostMissing, NoKind, Segment, Start, TooLong, TooManyParts, UnknownKind,
        };
        let long_uid = format!("node:{}", "a".repeat(MAX_UID_BYTES + 1));
        let long_host = format!("lxc:{}:1", "a".repeat(MAX_HOST_BYTES + 1));
        let uid = |character| Character {
            part: Part::Uid,
            character,
        };
        let host = |character| Character {
            part: Part::Host,
            character,
        };
        let cases: &[(&str, Error)] = &[
            ("", NoKind),
            ("delly", NoKind),
            (":", UnknownKind(String::new())),
            (":delly", UnknownKind(String::new())),
            ("node:", Empty(Part::Uid)),
            ("lxc::141", Empty(Part::Host)),
            ("lxc:delly:", Empty(Part::Uid)),
            ("lxc:141", HostMissing(ResourceKind::Lxc)),
            ("lxc:", HostMissing(ResourceKind::Lxc)),
            (
                "node:a:b",
                TooManyParts {
                    kind: ResourceKind::Node,
                    expected: 2,
                    found: 3,
                },
            ),
            (
                "node:a:",
                TooManyParts {
                    kind: ResourceKind::Node,
                    expected: 2,
                    found: 3,
                },
            ),
            (
                "lxc:a:b:c",
                TooManyParts {
                    kind: ResourceKind::Lxc,
                    expected: 3,
                    found: 4,
                },
            ),
            (
                "lxc:a::c",
                TooManyParts {
                    kind: ResourceKind::Lxc,
                    expected: 3,
                    found: 4,
                },
            ),
            ("Node:delly", UnknownKind("Node".into())),
            (" node:delly", UnknownKind(" node".into())),
            ("n\u{43e}de:delly", UnknownKind("n\u{43e}de".into())),
            ("node:d\u{435}lly", uid('\u{435}')),
            ("node:delly ", uid(' ')),
            ("node: delly", uid(' ')),
            ("node:delly\n", uid('\n')),
            ("node:delly\0", uid('\0')),
            ("node:delly\u{200b}", uid('\u{200b}')),
            ("node:delly;reboot", uid(';')),
            ("node:$(id)", uid('$')),
            ("lxc:del ly:1", host(' ')),
            ("lxc:a/b:1", host('/')),
            ("lxc:ｄelly:1", host('ｄ')),
            (
                "node:-rf",
                Start {
                    part: Part::Uid,
                    character: '-',
                },
            ),
            (
                "node:/etc",
                Start {
                    part: Part::Uid,
                    character: '/',
                },
            ),
            (
                "lxc:.hidden:1",
                Start {
                    part: Part::Host,
                    character: '.',
                },
            ),
            ("kubernetes_pod:c:a//b", Segment),
            ("kubernetes_pod:c:a/", Segment),
            ("kubernetes_pod:c:a/../b", Segment),
            (
                &long_uid,
                TooLong {
                    part: Part::Uid,
                    bytes: MAX_UID_BYTES + 1,
                    most: MAX_UID_BYTES,
                },
            ),
            (
                &long_host,
                TooLong {
                    part: Part::Host,
                    bytes: MAX_HOST_BYTES + 1,
                    most: MAX_HOST_BYTES,
                },
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<ResourceId>(), Err(expected.clone()), "{text:?}");
        }
    }

    #[test]
    fn a_kind_has_one_word_for_text_and_json() {
        for &kind in ResourceKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    fn any_id() -> impl Strategy<Value = ResourceId> {
        let host = "[A-Za-z0-9][A-Za-z0-9._-]{0,40}";
        let uid = "[A-Za-z0-9][A-Za-z0-9._@+-]{0,40}(/[A-Za-z0-9][A-Za-z0-9-]{0,20})?";
        (prop::sample::select(ResourceKind::ALL), host, uid).prop_map(|(kind, host, uid)| {
            match kind.scope() {
                Scope::Global => ResourceId::global(kind, &uid),
                Scope::Hosted => ResourceId::hosted(kind, &host, &uid),
            }
            .unwrap()
        })
    }

    proptest! {
        #[test]
        fn an_id_survives_text_and_json(id in any_id()) {
            prop_assert_eq!(id.to_string().parse::<ResourceId>(), Ok(id.clone()));
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(serde_json::from_str::<ResourceId>(&json).unwrap(), id);
        }

        #[test]
        fn whatever_parses_is_already_canonical(text in "(node|vm|lxc|kubernetes_pod|\\PC{0,6}):\\PC{0,30}") {
            if let Ok(id) = text.parse::<ResourceId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }

        #[test]
        fn no_text_makes_parsing_panic(text in any::<String>()) {
            let _ = text.parse::<ResourceId>();
        }
    }
}
