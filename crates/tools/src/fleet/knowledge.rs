//! What was learned before.

use std::sync::Arc;

use interlock_gate::Started;
use interlock_infra::{Error as InfraError, Resource, Source};
use interlock_protocol::{ContentHash, Observation, ResourceId, ResourceKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::reading;
use crate::Failure;
use crate::local::arguments;
use crate::{BoxFuture, Done, Reading};

/// How many notes are given back.
const MOST: usize = 50;
/// What all notes are together, as a resource.
const ALL: &str = "knowledge";

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its id, as in `note:<id>`.
    pub id: String,
    /// The resource that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What it says.
    pub text: String,
    /// When it was written.
    pub written_at: Timestamp,
    /// The session that wrote it.
    pub session: String,
}

/// Where notes are kept.
pub trait Notes: Send + Sync {
    /// Keeps a note. One with an id that is there already is the same note.
    fn remember(&self, note: Note) -> BoxFuture<'_, Result<(), String>>;

    /// The notes that have these words, the best first; all of them, newest first, for an empty query.
    fn recall<'a>(
        &'a self,
        query: &'a str,
        about: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Note>, String>>;
}

/// Makes the notes known as the resource `note:knowledge`, so that remembering has a target that can be discovered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Knowledge;

impl Source for Knowledge {
    fn connection(&self) -> &'static str {
        ALL
    }

    fn kind(&self) -> &'static str {
        "knowledge"
    }

    fn discover(&self) -> interlock_infra::BoxFuture<'_, Result<Vec<Resource>, InfraError>> {
        Box::pin(async {
            Ok(id()
                .map(|id| Resource {
                    id,
                    name: ALL.to_owned(),
                    aliases: vec!["notes".to_owned()],
                    parent: None,
                    state: None,
                    identity: interlock_protocol::Identity::default(),
                    source: ALL.to_owned(),
                    facts: serde_json::Map::new(),
                })
                .into_iter()
                .collect())
        })
    }
}

fn id() -> Option<ResourceId> {
    ResourceId::global(ResourceKind::Note, ALL).ok()
}

impl Fleet {
    /// The notes that are kept, by our own question.
    pub(super) async fn observe_notes(&self) -> Option<Reading> {
        let notes = self.inner.notes.as_ref()?;
        recall(&**notes, "", None).await.ok()?.reading
    }

    pub(super) async fn knowledge(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let notes: &Arc<dyn Notes> = self
            .inner
            .notes
            .as_ref()
            .ok_or_else(|| Failure::failed("nothing keeps notes here"))?;
        let about = arguments::text(plan, "about").filter(|about| !about.is_empty());
        match plan.action.as_deref() {
            Some("recall") => {
                let query = arguments::text(plan, "query").unwrap_or("");
                recall(&**notes, query, about).await
            }
            Some("list") => recall(&**notes, "", about).await,
            Some("remember") => {
                let text = arguments::needed(plan, "text")?;
                let note = Note {
                    id: note_id(started, text),
                    about: about.map(str::to_owned),
                    text: text.to_owned(),
                    written_at: started.at(),
                    session: plan.session.to_string(),
                };
                let data = json!({"id": note.id, "about": note.about});
                notes.remember(note).await.map_err(Failure::failed)?;
                Ok(Done::succeeded(data, "a note was kept"))
            }
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }
}

async fn recall(notes: &dyn Notes, query: &str, about: Option<&str>) -> Result<Done, Failure> {
    let taken_at = Timestamp::now();
    let found = notes.recall(query, about, MOST).await.map_err(Failure::failed)?;
    let summary = format!("recalled {} notes", found.len());
    let observed = found
        .iter()
        .map(|note| Observation::Note {
            text: ContentHash::of(&note.text),
        })
        .collect();
    let data = json!({"notes": found, "truncated": found.len() == MOST});
    let done = Done::succeeded(data.clone(), summary);
    Ok(match id() {
        Some(id) => done.with_reading(reading(&id, taken_at, data, observed)),
        None => done,
    })
}

/// One id for one writing of one text: a call that is kept twice is kept once.
fn note_id(started: &Started, text: &str) -> String {
    let day = started.at().strftime("%Y-%m-%d");
    let hash = ContentHash::of(format!("{}\n{text}", started.permit())).to_string();
    format!("{day}.{}", &hash[..12])
}
