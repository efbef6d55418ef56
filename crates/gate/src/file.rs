//! The content of a file that a plan replaces, changes or removes: part of the plan, so that an approval is for that content and no other.
//!
//! What the file holds is a fact from outside ([`Gate::note_file`]), asked for each time before the gate decides.

use interlock_protocol::{ContentHash, Expectation, Observation, ResourceId, ToolCall, ToolKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::gate::Gate;
use crate::refusal::About;
use crate::resolution::{self, NameEntry};
use crate::rules;
use crate::session::Session;
use crate::state::State;

/// What a file was when a plan was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileBefore {
    /// There was no such file.
    Absent,
    /// It had the content with this hash.
    Content(ContentHash),
}

impl FileBefore {
    /// What an observation says about the file at `path`.
    pub fn seen(observations: &[Observation], path: &str) -> Option<Self> {
        observations.iter().find_map(|observation| match observation {
            Observation::File { path: seen, hash } if seen == path => {
                Some(hash.map_or(Self::Absent, Self::Content))
            }
            _ => None,
        })
    }
}

impl std::fmt::Display for FileBefore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("does not exist"),
            Self::Content(hash) => write!(f, "has the content {hash}"),
        }
    }
}

/// A file of a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePlace {
    /// Where it is.
    pub resource: ResourceId,
    /// Its path.
    pub path: String,
}

/// The file whose old content is lost by what is expected. An addition keeps it.
pub(crate) fn replaced(expectation: &Expectation) -> Option<&str> {
    match expectation {
        Expectation::FileHash { path, .. }
        | Expectation::FilePatched { path }
        | Expectation::FileAbsent { path } => Some(path),
        _ => None,
    }
}

impl Gate {
    /// Which file a call would replace, change or remove. Nothing for every other call.
    pub fn file_asked(
        &self,
        session: &Session,
        call: &ToolCall,
        names: &[NameEntry],
        now: Timestamp,
    ) -> Option<FilePlace> {
        let tool = self.catalogue.get(call.tool.as_str())?;
        let action = tool.action(&call.arguments);
        if action.kind != ToolKind::Write {
            return None;
        }
        let about = About {
            tool: Some(call.tool.clone()),
            action: None,
            kind: Some(action.kind),
            state: State::Reading,
        };
        // On a copy: asking is not using.
        let mut context = session.context.fork();
        let known = resolution::Names {
            context: &mut context,
            directory: names,
            now,
        };
        let strict = self.options.strict_resolution;
        let resolved = resolution::resolve(strict, known, tool, action, &call.arguments, &about).ok()?;
        let expectation =
            rules::expectation(action, action.kind, &call.arguments, &resolved, &about).ok()??;
        Some(FilePlace {
            resource: resolved.id()?.clone(),
            path: replaced(&expectation)?.to_owned(),
        })
    }

    /// Learns what a file is. Replaces what was known of it; nothing where it could not be read.
    pub fn note_file(&self, session: &mut Session, place: FilePlace, before: Option<FileBefore>) {
        match before {
            Some(before) => session.files.insert(place, before),
            None => session.files.remove(&place),
        };
    }
}

impl Session {
    /// What a plan that expects this of a resource finds there.
    pub(crate) fn file_before(
        &self,
        resource: Option<&ResourceId>,
        expectation: Option<&Expectation>,
    ) -> Option<FileBefore> {
        let place = FilePlace {
            resource: resource?.clone(),
            path: replaced(expectation?)?.to_owned(),
        };
        self.files.get(&place).copied()
    }
}
