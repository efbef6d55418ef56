//! The conversation with a model: who said what, each thing once, and what of it fits.
//!
//! Roles are kept apart. What a tool returned is a tool message and never becomes a person's words again; what a person
//! asks now stands last when its run begins. Of earlier runs a model is shown the question, the answer and, where its
//! wire has a place for them, the calls with their results; what does not fit goes first from the oldest results.

use interlock_model::{AssistantCall, Message, Thought};
use serde::{Deserialize, Serialize};

/// How many entries of the present run are never shortened.
const FRESH: usize = 4;
/// The longest result that is kept whole when room is short, in bytes.
const BRIEF: usize = 400;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// The instructions. One per execution, first.
    System {
        /// The text.
        text: String,
    },
    /// What a person asks, or the alert says.
    User {
        /// The text.
        text: String,
    },
    /// What the model said.
    Assistant {
        /// The text, as it wrote it.
        text: String,
        /// What it thought, as its provider wants it back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thinking: Vec<Thought>,
        /// What it called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<AssistantCall>,
        /// Whether it is the answer that was given.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
    },
    /// What a tool answered.
    Tool {
        /// The id of the call.
        call: String,
        /// The tool's name on the wire.
        name: String,
        /// The answer, as the dialect writes it.
        text: String,
        /// Whether the call was refused or failed.
        failed: bool,
        /// What stands for it when there is no room: what it was and where it is kept.
        brief: String,
    },
    /// What code tells the model: that a reply had no valid form, that an answer must wait.
    Note {
        /// The text.
        text: String,
    },
}

impl Entry {
    /// The role, as the store names it.
    pub const fn role(&self) -> &'static str {
        match self {
            Self::System { .. } => "system",
            Self::User { .. } | Self::Note { .. } => "user",
            Self::Assistant { .. } => "assistant",
            Self::Tool { .. } => "tool",
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::System { text } | Self::User { text } | Self::Note { text } => text.len(),
            Self::Assistant {
                text,
                thinking,
                calls,
                ..
            } => {
                let thoughts: usize = thinking
                    .iter()
                    .map(|thought| thought.text.len() + thought.signature.as_ref().map_or(0, String::len))
                    .sum();
                let calls: usize = calls.iter().map(|call| 64 + weight(&call.arguments)).sum();
                text.len() + thoughts + calls
            }
            Self::Tool { text, .. } => text.len() + 32,
        }
    }
}

fn weight(arguments: &serde_json::Map<String, serde_json::Value>) -> usize {
    arguments
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(16, str::len))
        .sum()
}

/// How a dialect shows a tool's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// In messages of their own.
    Messages,
    /// As the next words of the user: the wire has no other place.
    Text,
}

/// The conversation of one execution.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    entries: Vec<Entry>,
    /// Where the present run begins.
    run: usize,
}

/// Why a request cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the conversation needs about {needed} tokens and the model takes {room}: start a new chat, ask about less, or set \
     `context_tokens` of the model if it takes more"
)]
pub struct TooLong {
    /// About how many tokens it needs at the least.
    pub needed: usize,
    /// How many there is room for.
    pub room: usize,
}

/// About how many tokens so many bytes are.
pub(crate) const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

impl History {
    /// Adds an entry.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// From here on everything belongs to the present run.
    pub fn begin_run(&mut self) {
        self.run = self.entries.len();
    }

    /// The present run begins with the last thing that a person asked.
    pub fn begin_run_at_last_question(&mut self) {
        let asked = |entry: &Entry| matches!(entry, Entry::User { .. });
        self.run = self.entries.iter().rposition(asked).unwrap_or(0);
    }

    /// What was said.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The instructions.
    pub fn system(&self) -> &str {
        self.entries
            .iter()
            .find_map(|entry| match entry {
                Entry::System { text } => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// The messages for a model that takes `room` tokens beside the instructions and the tools.
    pub fn messages(&self, results: Results, room: usize) -> Result<Vec<Message>, TooLong> {
        let whole: usize = self.shown(results).map(|(_, entry)| entry.bytes()).sum();
        if tokens(whole) <= room {
            return Ok(self
                .shown(results)
                .map(|(_, entry)| message(entry, results))
                .collect());
        }
        let shown = self
            .shown(results)
            .map(|(at, entry)| (at, entry.clone()))
            .collect();
        self.shortened(shown, results, room)
    }

    /// What a model is shown if there is room: everything of the present run, and of earlier ones what the wire has a
    /// place for.
    fn shown(&self, results: Results) -> impl Iterator<Item = (usize, &Entry)> {
        self.entries
            .iter()
            .enumerate()
            .filter(move |(at, entry)| match entry {
                Entry::System { .. } => false,
                Entry::User { .. } => true,
                Entry::Note { .. } => *at >= self.run,
                Entry::Assistant { answer, .. } => *at >= self.run || *answer || results == Results::Messages,
                Entry::Tool { .. } => *at >= self.run || results == Results::Messages,
            })
    }

    /// Makes room: the oldest results first, then whole earlier runs, then the results of the present run that are not
    /// the newest. Errors are short and stay.
    fn shortened(
        &self,
        mut shown: Vec<(usize, Entry)>,
        results: Results,
        room: usize,
    ) -> Result<Vec<Message>, TooLong> {
        let size = |shown: &[(usize, Entry)]| tokens(shown.iter().map(|(_, entry)| entry.bytes()).sum());
        let fresh = self.entries.len().saturating_sub(FRESH).max(self.run);
        for until in [self.run, fresh] {
            for at in 0..shown.len() {
                if size(&shown) <= room {
                    return Ok(shown.iter().map(|(_, entry)| message(entry, results)).collect());
                }
                let (place, entry) = &mut shown[at];
                if *place < until {
                    shorten(entry);
                }
            }
            if until == self.run {
                // Whole earlier runs, the oldest first, so that no call is left without its result.
                while size(&shown) > room {
                    let Some(next) = shown
                        .iter()
                        .skip(1)
                        .position(|(place, entry)| matches!(entry, Entry::User { .. }) || *place >= self.run)
                        .filter(|_| shown.first().is_some_and(|(place, _)| *place < self.run))
                    else {
                        break;
                    };
                    shown.drain(..=next);
                }
            }
        }
        let newest = shown
            .iter()
            .filter(|(place, entry)| *place >= fresh && matches!(entry, Entry::Tool { .. }));
        let most = room * 4 / (newest.count() + 2);
        for (place, entry) in &mut shown {
            if *place >= fresh {
                cut(entry, most);
            }
        }
        let needed = size(&shown);
        if needed <= room {
            Ok(shown.iter().map(|(_, entry)| message(entry, results)).collect())
        } else {
            Err(TooLong { needed, room })
        }
    }
}

fn shorten(entry: &mut Entry) {
    match entry {
        Entry::Tool {
            text, failed, brief, ..
        } if !*failed && text.len() > BRIEF => {
            text.clone_from(brief);
        }
        Entry::Assistant { thinking, .. } => {
            // Thoughts that a provider signed must go back as they are or not at all.
            thinking.clear();
        }
        Entry::System { .. } | Entry::User { .. } | Entry::Note { .. } | Entry::Tool { .. } => {}
    }
}

/// Keeps the beginning and the end of a result that with the others of its reply would fill the model.
fn cut(entry: &mut Entry, most: usize) {
    let Entry::Tool { text, .. } = entry else {
        return;
    };
    let most = most.max(BRIEF);
    if text.len() > most {
        let head = text.floor_char_boundary(most * 2 / 3);
        let tail = text.ceil_char_boundary(text.len() - most / 3);
        *text = format!(
            "{} … ({} bytes left out to fit the model) … {}",
            &text[..head],
            tail - head,
            &text[tail..]
        );
    }
}

fn message(entry: &Entry, results: Results) -> Message {
    match entry {
        Entry::System { text } | Entry::User { text } | Entry::Note { text } => Message::user(text),
        Entry::Assistant {
            text,
            thinking,
            calls,
            ..
        } => match results {
            Results::Messages => Message::Assistant {
                text: text.clone(),
                thinking: thinking.clone(),
                calls: calls.clone(),
            },
            Results::Text => Message::assistant(text),
        },
        Entry::Tool {
            call,
            name,
            text,
            failed,
            ..
        } => match results {
            Results::Messages => Message::Tool {
                call: call.clone(),
                name: name.clone(),
                text: text.clone(),
                failed: *failed,
            },
            Results::Text => Message::user(text),
        },
    }
}

#[cfg(test)]
mod tests;
