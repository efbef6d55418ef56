//! Weighing an answer: what receipts and evidence back, what they do not, and what is made up.

use std::ops::Range;

use interlock_protocol::{Evidence, EvidenceId, Observation, Outcome, ResourceId, Verification};
use serde_json::Value;

use super::phantom::{Category, Claim, object_of, verb_fits};
use super::text::{Sentence, Word, sentences};
use crate::context::ResolvedResource;
use crate::plan::Plan;
use crate::session::WriteRecord;

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A number.
    Number,
    /// A state.
    State,
    /// A resource.
    Resource,
    /// A whole sentence that claims something.
    Claim,
}

/// A part of an answer, and the evidence that backs it. None: it is unsupported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it stands in the answer, in bytes.
    pub at: Range<usize>,
    /// What it is.
    pub kind: SpanKind,
    /// What backs it.
    pub evidence: Vec<EvidenceId>,
}

/// The words for states that are matched with evidence.
const STATES: &[&str] = &[
    "running",
    "stopped",
    "paused",
    "active",
    "inactive",
    "failed",
    "healthy",
    "unhealthy",
    "online",
    "offline",
    "degraded",
    "mounted",
    "ready",
    "exited",
    "starting",
    "stopping",
    "enabled",
    "disabled",
    "unreachable",
];

/// How many pieces of evidence back one span at most.
const MOST_LINKS: usize = 5;

pub(crate) struct Grounded {
    pub(crate) spans: Vec<Span>,
    /// The claim for which the whole answer is replaced.
    pub(crate) phantom: Option<Claim>,
}

/// One piece of evidence, read once.
struct Ground<'a> {
    id: &'a EvidenceId,
    resource: Option<&'a ResourceId>,
    words: Vec<String>,
    numbers: Vec<f64>,
}

pub(crate) fn ground(
    answer: &str,
    claims: &[Claim],
    evidence: &[&Evidence],
    writes: &[WriteRecord],
    known: &[&ResolvedResource],
) -> Grounded {
    let grounds: Vec<Ground<'_>> = evidence.iter().map(|evidence| read(evidence)).collect();
    let mut spans = Vec::new();
    for sentence in sentences(answer) {
        let named = named_resources(&sentence, known);
        for word in &sentence.words {
            spans.extend(span_of(word, &grounds, &named, known));
        }
    }
    let mut phantom = None;
    for claim in claims {
        match weigh(claim, answer, &spans, &grounds, writes, known) {
            Weight::Backed => {}
            Weight::Unsupported => {
                spans.push(Span {
                    at: claim.span.clone(),
                    kind: SpanKind::Claim,
                    evidence: Vec::new(),
                });
            }
            Weight::MadeUp => phantom = phantom.or_else(|| Some(claim.clone())),
        }
    }
    spans.sort_by_key(|span| (span.at.start, span.at.end));
    Grounded { spans, phantom }
}

enum Weight {
    Backed,
    Unsupported,
    MadeUp,
}

fn weigh(
    claim: &Claim,
    answer: &str,
    spans: &[Span],
    grounds: &[Ground<'_>],
    writes: &[WriteRecord],
    known: &[&ResolvedResource],
) -> Weight {
    let inside = |kind: SpanKind| {
        spans.iter().filter(move |span| {
            span.kind == kind && claim.span.start <= span.at.start && span.at.end <= claim.span.end
        })
    };
    let nothing_happened = grounds.is_empty() && writes.is_empty();
    match claim.category {
        Category::FakeToolCall => Weight::MadeUp,
        Category::Action => weigh_action(claim, answer, grounds, writes, known),
        Category::Metric => {
            let mut numbers = inside(SpanKind::Number).peekable();
            let measured = numbers.peek().is_some() && numbers.all(|span| !span.evidence.is_empty());
            backed_or(measured, nothing_happened)
        }
        Category::State => {
            let mut states = inside(SpanKind::State).peekable();
            // "The logs show …" without a word for a state is about whatever was read.
            let seen = if states.peek().is_some() {
                states.all(|span| !span.evidence.is_empty()) || verified_state(claim, answer, writes)
            } else {
                !grounds.is_empty()
            };
            backed_or(seen, nothing_happened)
        }
    }
}

const fn backed_or(backed: bool, nothing_happened: bool) -> Weight {
    match (backed, nothing_happened) {
        (true, _) => Weight::Backed,
        (false, true) => Weight::MadeUp,
        (false, false) => Weight::Unsupported,
    }
}

/// A state that a verified write brought about is backed by its verification.
fn verified_state(claim: &Claim, answer: &str, writes: &[WriteRecord]) -> bool {
    let text = answer.get(claim.span.clone()).unwrap_or("").to_lowercase();
    writes.iter().any(|write| {
        write.verification == Some(Verification::Verified)
            && write
                .plan
                .target
                .as_ref()
                .is_some_and(|target| text.contains(&target.name.to_lowercase()))
    })
}

fn weigh_action(
    claim: &Claim,
    answer: &str,
    grounds: &[Ground<'_>],
    writes: &[WriteRecord],
    known: &[&ResolvedResource],
) -> Weight {
    let verb = claim.verb.unwrap_or("");
    let sentence = sentences(answer.get(claim.span.clone()).unwrap_or(""));
    let named: Vec<&ResourceId> = sentence
        .iter()
        .flat_map(|sentence| named_resources(sentence, known))
        .collect();
    let object = sentence.iter().find_map(|sentence| object_of(sentence, verb));
    let mut fitting = writes
        .iter()
        .filter(|write| {
            let plan = &write.plan;
            touches(plan, object.as_deref())
                && verb_fits(
                    verb,
                    plan.action.as_deref().unwrap_or(""),
                    plan.command.as_deref().unwrap_or(""),
                )
                && (named.is_empty() || plan.resource().is_some_and(|id| named.contains(&id)))
        })
        .peekable();
    if fitting.peek().is_none() {
        // Someone else may have done it, and a reading may say so.
        let reported = claim.phrase.starts_with("has been")
            && grounds.iter().any(|ground| {
                ground.words.iter().any(|word| word == verb)
                    && (named.is_empty() || ground.resource.is_some_and(|id| named.contains(&id)))
            });
        return if reported { Weight::Backed } else { Weight::MadeUp };
    }
    let mut weight = Weight::MadeUp;
    for write in fitting {
        match (write.receipt.outcome, write.verification) {
            (Outcome::Succeeded, Some(Verification::Verified | Verification::Observed)) => {
                return Weight::Backed;
            }
            (_, Some(Verification::Verified)) => return Weight::Backed,
            (_, Some(Verification::Failed)) => {}
            (_, Some(Verification::Observed | Verification::Inconclusive) | None) => {
                weight = Weight::Unsupported;
            }
        }
    }
    weight
}

/// Arguments that name something inside the target, which a sentence may name instead of it.
const NAMING: &[&str] = &[
    "unit",
    "path",
    "image",
    "name",
    "command",
    "container",
    "alert_id",
];

/// Whether a plan is about what a sentence calls `object`: its target, or something that an argument names.
fn touches(plan: &Plan, object: Option<&str>) -> bool {
    let Some(object) = object else { return true };
    let names = |text: &str| {
        let text = text.to_lowercase();
        text == object
            || text
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == object)
    };
    let target = plan.target.as_ref().is_some_and(|target| {
        names(&target.name) || target.id.uid() == object || target.id.to_string().to_lowercase() == object
    });
    target
        || NAMING
            .iter()
            .filter_map(|key| plan.arguments.get(*key))
            .filter_map(Value::as_str)
            .any(names)
}

fn named_resources<'a>(sentence: &Sentence, known: &[&'a ResolvedResource]) -> Vec<&'a ResourceId> {
    known
        .iter()
        .filter(|resource| sentence.words.iter().any(|word| names(resource, &word.text)))
        .map(|resource| &resource.id)
        .collect()
}

fn names(resource: &ResolvedResource, word: &str) -> bool {
    let word = word.strip_prefix('@').unwrap_or(word);
    resource.name.to_lowercase() == word
        || resource.aliases.iter().any(|alias| alias.to_lowercase() == word)
        || resource.id.to_string().to_lowercase() == word
}

fn span_of(
    word: &Word,
    grounds: &[Ground<'_>],
    named: &[&ResourceId],
    known: &[&ResolvedResource],
) -> Option<Span> {
    let about = |ground: &&Ground<'_>| {
        named.is_empty() || ground.resource.is_none_or(|resource| named.contains(&resource))
    };
    let link = |found: Vec<&EvidenceId>| found.into_iter().take(MOST_LINKS).cloned().collect::<Vec<_>>();
    if let Some(resource) = known.iter().find(|resource| names(resource, &word.text)) {
        let found = grounds
            .iter()
            .filter(|ground| {
                ground.resource == Some(&resource.id) || ground.words.iter().any(|seen| names(resource, seen))
            })
            .map(|ground| ground.id)
            .collect();
        return Some(Span {
            at: word.span.clone(),
            kind: SpanKind::Resource,
            evidence: link(found),
        });
    }
    if word.text.parse::<ResourceId>().is_ok() {
        return Some(Span {
            at: word.span.clone(),
            kind: SpanKind::Resource,
            evidence: Vec::new(),
        });
    }
    if let Some((number, decimals)) = number(&word.text) {
        let slack = 0.5 * 10f64.powi(-decimals) + 1e-9;
        let found = grounds
            .iter()
            .filter(about)
            .filter(|ground| ground.numbers.iter().any(|seen| (seen - number).abs() <= slack))
            .map(|ground| ground.id)
            .collect();
        return Some(Span {
            at: word.span.clone(),
            kind: SpanKind::Number,
            evidence: link(found),
        });
    }
    if STATES.contains(&word.text.as_str()) {
        let found = grounds
            .iter()
            .filter(about)
            .filter(|ground| ground.words.contains(&word.text))
            .map(|ground| ground.id)
            .collect();
        return Some(Span {
            at: word.span.clone(),
            kind: SpanKind::State,
            evidence: link(found),
        });
    }
    None
}

/// A number with at most a unit behind it, and how many decimals it was written with.
fn number(word: &str) -> Option<(f64, i32)> {
    let digits = word
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .unwrap_or(word.len());
    let (digits, unit) = word.split_at(digits);
    if !unit.is_empty() && !unit.chars().all(|c| c.is_ascii_alphabetic() || c == '%') {
        return None;
    }
    let plain = digits.trim_end_matches('.').replace(',', "");
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Some((plain.parse().ok()?, i32::try_from(decimals).ok()?))
}

fn read(evidence: &Evidence) -> Ground<'_> {
    let mut ground = Ground {
        id: &evidence.id,
        resource: evidence.resource.as_ref(),
        words: Vec::new(),
        numbers: Vec::new(),
    };
    collect(&evidence.data, &mut ground);
    for observation in &evidence.observations {
        match observation {
            Observation::Guest { state, .. } | Observation::Container { state, .. } => {
                ground.words.push(state.as_str().to_owned());
            }
            Observation::Unit { unit, activity, .. } => {
                ground.words.push(unit.to_lowercase());
                ground.words.push(activity.as_str().to_owned());
            }
            Observation::Alert { state } => ground.words.push(state.as_str().to_owned()),
            Observation::Replicas { ready, wanted } => {
                ground.numbers.push(f64::from(*ready));
                ground.numbers.push(f64::from(*wanted));
            }
            Observation::Property { value, .. } => collect(value, &mut ground),
            Observation::File { .. } | Observation::Present | Observation::Absent => {}
        }
    }
    ground
}

fn collect(value: &Value, ground: &mut Ground<'_>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => ground.numbers.extend(number.as_f64()),
        Value::String(text) => {
            for sentence in sentences(text) {
                for word in sentence.words {
                    ground
                        .numbers
                        .extend(number(&word.text).map(|(number, _)| number));
                    ground.words.push(word.text);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, ground)),
        Value::Object(members) => {
            for (key, value) in members {
                ground.words.push(key.to_lowercase());
                collect(value, ground);
            }
        }
    }
}
