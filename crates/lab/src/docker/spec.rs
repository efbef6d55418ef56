//! What a Docker host is made of at first.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;

use crate::machine::{File, Spec};

/// A Docker host to build.
#[derive(Debug, Clone, Default)]
pub struct HostSpec {
    /// What it is called.
    pub name: String,
    /// Its containers. They run at first.
    pub containers: Vec<ContainerSpec>,
    /// The images that it has.
    pub images: Vec<ImageSpec>,
    /// The images that it can pull.
    pub registry: Registry,
}

/// The images that can be pulled.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// All of them.
    pub images: Vec<ImageSpec>,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    /// Where it is from: `ghcr.io/example/web`.
    pub repository: String,
    /// Its tag.
    pub tag: String,
    /// Its id, `sha256:` and 64 digits. Left empty, it follows from the rest.
    pub id: String,
    /// Its size.
    pub size: u64,
    /// When it was built.
    pub created: Timestamp,
    /// The files that containers made from it have.
    pub files: Vec<File>,
    /// What containers made from it run.
    pub argv: Vec<String>,
    /// Variables of containers made from it.
    pub env: BTreeMap<String, String>,
}

impl ImageSpec {
    /// `repository:tag`.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }
}

/// A container.
#[derive(Debug, Clone, Default)]
pub struct ContainerSpec {
    /// What it is called.
    pub name: String,
    /// The image that it is made from: `repository:tag`, one of its host's images.
    pub image: String,
    /// Its machine without what the image gives. A name left empty is made up from the host's and the container's.
    pub machine: Spec,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// When it is started again.
    pub restart: RestartPolicy,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Named volumes: what they are called, and where they are in the container.
    pub volumes: Vec<(String, String)>,
    /// How its health is checked.
    pub health: Option<HealthSpec>,
}

/// A port of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortSpec {
    /// The port in the container.
    pub container: u16,
    /// The port of the host that leads to it.
    pub host: Option<u16>,
}

/// How health is checked: a program in the container that ends with 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthSpec {
    /// The program and its arguments.
    pub test: Vec<String>,
    /// How often.
    pub interval: Duration,
    /// How long it may take.
    pub timeout: Duration,
    /// How many failures in a row make it unhealthy.
    pub retries: u32,
}

/// When a container is started again after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestartPolicy {
    /// Never.
    #[default]
    No,
    /// When it failed; at most this often, if a number is given.
    OnFailure(Option<u32>),
    /// Always.
    Always,
    /// Always, except that a stopped one stays stopped when the host starts again.
    UnlessStopped,
}

impl RestartPolicy {
    /// The name of it, without the number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::OnFailure(_) => "on-failure",
            Self::Always => "always",
            Self::UnlessStopped => "unless-stopped",
        }
    }

    /// How often at most; 0 is no limit.
    pub const fn maximum(self) -> u32 {
        match self {
            Self::OnFailure(Some(most)) => most,
            Self::OnFailure(None) | Self::No | Self::Always | Self::UnlessStopped => 0,
        }
    }

    /// Whether a container that ended with this, after so many restarts, is started again.
    pub(super) const fn restarts(self, code: i32, count: u32) -> bool {
        match self {
            Self::No => false,
            Self::Always | Self::UnlessStopped => true,
            Self::OnFailure(None) => code != 0,
            Self::OnFailure(Some(most)) => code != 0 && count < most,
        }
    }

    /// Whether a container starts with its host, given that it was running, or was stopped by somebody.
    pub(super) const fn starts_with_host(self, was_running: bool, stopped: bool) -> bool {
        match self {
            Self::No => false,
            Self::Always => true,
            Self::UnlessStopped => !stopped,
            Self::OnFailure(_) => was_running && !stopped,
        }
    }
}

/// A restart policy that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid restart policy: {0}")]
pub struct PolicyError(pub String);

impl FromStr for RestartPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let wrong = || PolicyError(format!("unknown policy '{text}'"));
        match text.split_once(':') {
            None => match text {
                "" | "no" => Ok(Self::No),
                "on-failure" => Ok(Self::OnFailure(None)),
                "always" => Ok(Self::Always),
                "unless-stopped" => Ok(Self::UnlessStopped),
                _ => Err(wrong()),
            },
            Some(("on-failure", most)) => {
                let most: u32 = most.parse().map_err(|_| wrong())?;
                Ok(Self::OnFailure((most > 0).then_some(most)))
            }
            Some(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for RestartPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnFailure(Some(most)) => write!(out, "on-failure:{most}"),
            other => out.write_str(other.name()),
        }
    }
}
