//! What a service of the lab is told in its file.

use serde::Deserialize;

/// How much a service says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    #[default]
    Info,
    Debug,
}

/// A service of the lab.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    pub(super) name: String,
    #[serde(default = "first_version")]
    pub(super) version: String,
    /// The port that it listens on.
    pub(super) listen: u16,
    /// The title of its page; left out, its name.
    pub(super) page: Option<String>,
    /// Its log; left out, its standard output.
    pub(super) log: Option<String>,
    #[serde(default)]
    pub(super) level: Level,
    #[serde(default = "some_bytes")]
    pub(super) debug_bytes_per_second: u64,
    /// When its log is put aside; left out, never.
    pub(super) rotate_bytes: Option<u64>,
    /// How many connections it bears.
    pub(super) max_sessions: Option<usize>,
    /// A file that it writes to every second.
    pub(super) data: Option<String>,
    /// A YAML file that its page shows.
    pub(super) entries: Option<String>,
    /// It fails at its start, and says this.
    pub(super) fails: Option<String>,
    /// Variables that it needs.
    #[serde(default)]
    pub(super) requires: Vec<String>,
}

fn first_version() -> String {
    "1.0.0".to_owned()
}

fn some_bytes() -> u64 {
    4096
}
