//! What came of running a tool.

use interlock_gate::{Ended, ResolvedResource};
use interlock_protocol::{ContentHash, Identity, Observation, Outcome, ResourceId, ToolResponse, Walls};
use jiff::Timestamp;
use serde_json::Value;

/// What came of running a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The answer for the model. Not masked yet.
    pub response: ToolResponse,
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code, where a process ran and ended.
    pub exit_code: Option<i32>,
    /// The hash of the whole output, where there was any.
    pub output_hash: Option<ContentHash>,
    /// One line for people, with no word of the output and none of the command.
    pub summary: String,
    /// What was read, where something was.
    pub reading: Option<Reading>,
    /// What was discovered.
    pub discovered: Vec<ResolvedResource>,
    /// Which machine the call reached, where it has a target.
    pub identity: Identity,
}

impl Done {
    /// It worked, with this result.
    pub fn succeeded(data: Value, summary: impl Into<String>) -> Self {
        Self {
            response: ToolResponse::success(data),
            outcome: Outcome::Succeeded,
            exit_code: None,
            output_hash: None,
            summary: summary.into(),
            reading: None,
            discovered: Vec::new(),
            identity: Identity::default(),
        }
    }

    /// The same, with what was read.
    #[must_use]
    pub fn with_reading(mut self, reading: Reading) -> Self {
        self.reading = Some(reading);
        self
    }

    /// The same, with what was discovered.
    #[must_use]
    pub fn with_discovered(mut self, discovered: Vec<ResolvedResource>) -> Self {
        self.discovered = discovered;
        self
    }

    /// How it ended, for the receipt.
    pub fn ended(&self, finished_at: Timestamp) -> Ended {
        Ended {
            outcome: self.outcome,
            finished_at: Some(finished_at),
            exit_code: self.exit_code,
            output_hash: self.output_hash,
            summary: self.summary.clone(),
        }
    }
}

/// What was read from a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The resource.
    pub resource: Option<ResourceId>,
    /// When the reading began: what it shows is not older.
    pub taken_at: Timestamp,
    /// What was returned. Not masked yet.
    pub data: Value,
    /// What code makes out of it.
    pub observations: Vec<Observation>,
    /// The walls that it passed, where a command ran for it.
    pub walls: Option<Walls>,
}

impl Reading {
    /// The same, with the walls that it passed.
    #[must_use]
    pub fn with_walls(mut self, walls: Option<Walls>) -> Self {
        self.walls = walls;
        self
    }
}
