//! What of a reading was observed, and what the model wrote itself.

use std::collections::HashSet;

use interlock_protocol::{Evidence, Source};
use interlock_shell::{Printed, printed};
use serde_json::Value;

use super::text::sentences;
use crate::catalogue::Catalogue;

/// Which rules readings are weighed by. No operator sets it: a record is replayed with the rules that it was made with.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceRules {
    /// A word that stands in any reading is backed. Records of earlier versions.
    #[default]
    ByWord,
    /// A word is backed by a reading of the resource that it is said of, and only if the model did not write it into the call.
    ByReading,
}

/// What of one reading was observed.
#[derive(Default)]
pub(super) struct Provenance {
    /// Whether anything in it can back a claim.
    pub(super) backs: bool,
    /// What the model wrote: it may come back in the result.
    said: Own,
    /// What the model asked to be chosen by (`--state=failed`): it counts in a line that says more than that.
    chosen: Own,
    /// The operands of its command.
    pub(super) asked: Vec<String>,
}

/// Words and numbers of the model.
#[derive(Default)]
struct Own {
    words: HashSet<String>,
    numbers: Vec<f64>,
}

impl Own {
    fn take(&mut self, text: &str) {
        for word in sentences(text).into_iter().flat_map(|sentence| sentence.words) {
            self.one(&word.text);
        }
    }

    /// The same, and every part of a word: `nginx:active` can come back as two words.
    fn take_apart(&mut self, text: &str) {
        self.take(text);
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|part| !part.is_empty())
            .for_each(|part| self.one(part));
    }

    fn one(&mut self, word: &str) {
        self.numbers
            .extend(super::grounding::number(word).map(|(number, _)| number));
        self.words.insert(word.to_owned());
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
            || super::grounding::number(word)
                .is_some_and(|(number, _)| self.numbers.iter().any(|own| (own - number).abs() < 1e-9))
    }
}

impl Provenance {
    /// A reading in which every word counts.
    pub(super) fn unquestioned() -> Self {
        Self {
            backs: true,
            ..Self::default()
        }
    }

    pub(super) fn of(evidence: &Evidence, catalogue: &Catalogue) -> Self {
        let arguments = match &evidence.source {
            Some(Source::Code) => return Self::unquestioned(),
            // What the model wrote is not known, so neither is what was observed.
            None => return Self::default(),
            Some(Source::Call { arguments }) => arguments,
        };
        let tool = catalogue.get(evidence.tool.as_str());
        let command = tool.and_then(|tool| tool.action(arguments).command.clone());
        let schema = tool.map(|tool| &tool.definition().parameters);
        let mut provenance = Self::unquestioned();
        for (name, value) in arguments {
            match value {
                Value::String(text) if command.as_ref() == Some(name) => provenance.runs(&printed(text)),
                // One of a few words that code chose.
                Value::String(_) if schema.is_some_and(|schema| is_listed(schema, name)) => {}
                value => provenance.says(value),
            }
        }
        provenance
    }

    fn runs(&mut self, printed: &Printed) {
        self.backs &= printed.is_observed();
        for text in &printed.said {
            self.said.take_apart(text);
        }
        for text in &printed.asked {
            self.said.take(text);
        }
        for text in &printed.chosen {
            self.chosen.take(text);
        }
        self.asked
            .extend(printed.asked.iter().map(|word| word.to_lowercase()));
    }

    fn says(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.said.numbers.extend(number.as_f64()),
            Value::String(text) => self.said.take(text),
            Value::Array(items) => items.iter().for_each(|item| self.says(item)),
            Value::Object(members) => {
                for (key, value) in members {
                    self.said.take(key);
                    self.says(value);
                }
            }
        }
    }

    /// Which of the words of one line were observed.
    pub(super) fn observed<'w>(&self, line: &'w [&str]) -> Vec<&'w str> {
        if !self.backs {
            return Vec::new();
        }
        let more = line
            .iter()
            .any(|word| !self.said.has(word) && !self.chosen.has(word));
        line.iter()
            .copied()
            .filter(|word| !self.said.has(word) && (more || !self.chosen.has(word)))
            .collect()
    }

    pub(super) fn observed_number(&self, number: f64) -> bool {
        self.backs && !self.said.numbers.iter().any(|own| (own - number).abs() < 1e-9)
    }
}

/// Whether the schema of a tool lists every value that an argument can have.
fn is_listed(schema: &Value, argument: &str) -> bool {
    schema
        .get("properties")
        .and_then(|properties| properties.get(argument))
        .is_some_and(|property| property.get("enum").is_some())
}
