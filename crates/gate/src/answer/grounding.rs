//! Weighing an answer: what receipts and evidence back, what they do not, and what is made up.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use interlock_protocol::{Evidence, EvidenceId, Expectation, Observation, Outcome, ResourceId, Verification};
use jiff::Timestamp;
use serde_json::Value;

use super::phantom::{Category, Claim, Found, change_in, verb_fits};
use super::text::{Sentence, Word, sentences};
use super::words::RUNNING;
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
    /// An id of a resource that was not discovered.
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

/// How many resources one sentence names at most.
const MOST_NAMED: usize = 64;

pub(crate) struct Grounded {
    pub(crate) spans: Vec<Span>,
    /// The claim for which the whole answer is replaced.
    pub(crate) phantom: Option<Claim>,
}

/// One piece of evidence, read once.
struct Ground<'a> {
    id: &'a EvidenceId,
    resource: Option<&'a ResourceId>,
    taken_at: Timestamp,
    /// The states that code made out of it.
    states: Vec<&'static str>,
}

/// All that was read, by word and by number: looking something up costs the same however much was read.
#[derive(Default)]
struct Grounds<'a> {
    each: Vec<Ground<'a>>,
    words: HashMap<String, Vec<usize>>,
    /// Sorted, each with the evidence that holds it.
    numbers: Vec<(f64, usize)>,
    /// Every sentence, as its words.
    quotes: HashSet<String>,
}

impl<'a> Grounds<'a> {
    fn read(evidence: &[&'a Evidence]) -> Self {
        let mut grounds = Self::default();
        for evidence in evidence {
            grounds.add(evidence);
        }
        grounds
            .numbers
            .sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        grounds.numbers.dedup();
        grounds
    }

    fn with_word(&self, word: &str) -> impl Iterator<Item = &Ground<'a>> {
        self.words
            .get(word)
            .into_iter()
            .flatten()
            .map(|at| &self.each[*at])
    }

    fn with_number(&self, number: f64, slack: f64) -> impl Iterator<Item = &Ground<'a>> {
        let from = self.numbers.partition_point(|(seen, _)| *seen < number - slack);
        self.numbers[from..]
            .iter()
            .take_while(move |(seen, _)| *seen <= number + slack)
            .map(|(_, at)| &self.each[*at])
    }

    fn quoted(&self, sentence: &Sentence) -> bool {
        sentence.fenced && self.quotes.contains(&joined(sentence))
    }
}

fn joined(sentence: &Sentence) -> String {
    let words: Vec<&str> = sentence.words.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

/// The names of everything known, lower case, made once.
pub(crate) struct Names<'a> {
    by_name: HashMap<String, Vec<&'a ResourceId>>,
    of: HashMap<&'a ResourceId, Vec<String>>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(known: &[&'a ResolvedResource]) -> Self {
        let mut names = Self {
            by_name: HashMap::new(),
            of: HashMap::new(),
        };
        for resource in known {
            let id = resource.id.to_string();
            for name in [&resource.name, &id].into_iter().chain(&resource.aliases) {
                let name = name.to_lowercase();
                let ids = names.by_name.entry(name.clone()).or_default();
                if !ids.contains(&&resource.id) {
                    ids.push(&resource.id);
                    names.of.entry(&resource.id).or_default().push(name);
                }
            }
        }
        names
    }

    /// What a word names.
    fn named(&self, word: &str) -> &[&'a ResourceId] {
        let word = word.strip_prefix('@').unwrap_or(word);
        self.by_name.get(word).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn names(&self, word: &str) -> bool {
        !self.named(word).is_empty()
    }
}

pub(crate) fn ground(
    sentences: &[Sentence],
    claims: &[Found],
    evidence: &[&Evidence],
    writes: &[WriteRecord],
    known: &Names<'_>,
) -> Grounded {
    let grounds = Grounds::read(evidence);
    let mut spans = Vec::new();
    let mut scenes = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let mut named: Vec<&ResourceId> = Vec::new();
        for word in &sentence.words {
            for id in known.named(&word.text) {
                if named.len() < MOST_NAMED && !named.contains(id) {
                    named.push(id);
                }
            }
        }
        let from = spans.len();
        for word in &sentence.words {
            spans.extend(span_of(word, &grounds, &named, known));
        }
        scenes.push(Scene {
            sentence,
            named,
            spans: from..spans.len(),
        });
    }
    let scale = Scale {
        grounds: &grounds,
        writes,
        names: known,
        spans: &spans,
    };
    let mut phantom = None;
    let mut unsupported: Vec<Span> = Vec::new();
    // Sentences that claim an action that no receipt and no reading shows: nothing in them is marked as shown.
    let mut unearned: Vec<Range<usize>> = Vec::new();
    for found in claims {
        let scene = found.sentence.and_then(|at| scenes.get(at));
        match scale.weigh(found, scene) {
            Weight::Backed => {}
            Weight::Unsupported => {
                let at = found.claim.span.clone();
                if found.claim.category == Category::Action {
                    unearned.push(at.clone());
                }
                if unsupported.last().is_none_or(|last| last.at != at) {
                    unsupported.push(Span {
                        at,
                        kind: SpanKind::Claim,
                        evidence: Vec::new(),
                    });
                }
            }
            Weight::MadeUp => {
                phantom = Some(found.claim.clone());
                break;
            }
        }
    }
    spans.retain(|span| {
        let inside = |at: &Range<usize>| at.start <= span.at.start && span.at.end <= at.end;
        span.evidence.is_empty() || !unearned.iter().any(inside)
    });
    spans.extend(unsupported);
    spans.sort_by_key(|span| (span.at.start, span.at.end));
    Grounded { spans, phantom }
}

/// A sentence, the resources that it names, and which spans are its.
struct Scene<'a> {
    sentence: &'a Sentence,
    named: Vec<&'a ResourceId>,
    spans: Range<usize>,
}

/// From worst to best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    MadeUp,
    Unsupported,
    Backed,
}

struct Scale<'a> {
    grounds: &'a Grounds<'a>,
    writes: &'a [WriteRecord],
    names: &'a Names<'a>,
    spans: &'a [Span],
}

impl Scale<'_> {
    fn weigh(&self, found: &Found, scene: Option<&Scene<'_>>) -> Weight {
        let Some(scene) = scene else {
            return Weight::MadeUp;
        };
        // What an output said, shown as such.
        if self.grounds.quoted(scene.sentence) {
            return Weight::Backed;
        }
        let inside = |kind: SpanKind| {
            self.spans[scene.spans.clone()]
                .iter()
                .filter(move |span| span.kind == kind)
        };
        let nothing_happened = self.grounds.each.is_empty() && self.writes.is_empty();
        match found.claim.category {
            Category::FakeToolCall => Weight::MadeUp,
            Category::Action => self.weigh_action(found, scene),
            Category::Metric => {
                let mut numbers = inside(SpanKind::Number).peekable();
                let measured = numbers.peek().is_some() && numbers.all(|span| !span.evidence.is_empty());
                backed_or(measured, nothing_happened)
            }
            Category::State => {
                let mut states = inside(SpanKind::State).peekable();
                // "The logs show …" without a word for a state is about whatever was read.
                let seen = if states.peek().is_some() {
                    let linked = states.all(|span| !span.evidence.is_empty());
                    self.written_state(scene).unwrap_or(linked)
                } else {
                    !self.grounds.each.is_empty()
                };
                backed_or(seen, nothing_happened)
            }
        }
    }

    /// Whether the state in a sentence is the one that the last verified write brought about. What was read later
    /// may say otherwise. None: no write settles it.
    fn written_state(&self, scene: &Scene<'_>) -> Option<bool> {
        let words = || scene.sentence.words.iter().map(|word| word.text.as_str());
        let write = self.writes.iter().rev().find(|write| {
            write.verification == Some(Verification::Verified)
                && write.plan.target.as_ref().is_some_and(|target| {
                    scene.named.contains(&&target.id) || {
                        let name = target.name.to_lowercase();
                        words().any(|word| word == name)
                    }
                })
        })?;
        let brought = brought_about(write.plan.expectation.as_ref()?)?;
        let later = |state: &str| {
            self.grounds.with_word(state).any(|ground| {
                ground.resource == write.plan.resource()
                    && write.receipt.finished_at.is_some_and(|at| ground.taken_at > at)
                    && (ground.states.is_empty() || ground.states.iter().any(|seen| same_state(seen, state)))
            })
        };
        Some(
            words()
                .filter(|word| STATES.contains(word))
                .all(|state| same_state(brought, state) || later(state)),
        )
    }

    fn weigh_action(&self, found: &Found, scene: &Scene<'_>) -> Weight {
        let verb = found.claim.verb.unwrap_or("");
        if RUNNING.contains(&verb) {
            return self.weigh_run(verb, scene);
        }
        let resources: Vec<&str> = found
            .objects
            .iter()
            .map(String::as_str)
            .filter(|object| self.names.names(object))
            .collect();
        if resources.is_empty() {
            let object = found.objects.first().map(String::as_str);
            return self.weigh_one(found, verb, object, &scene.named);
        }
        // Each of them must have been acted on.
        resources
            .into_iter()
            .map(|object| self.weigh_one(found, verb, None, self.names.named(object)))
            .min()
            .unwrap_or(Weight::MadeUp)
    }

    /// What was run may have been a reading, unless the sentence says that it changes something.
    fn weigh_run(&self, verb: &str, scene: &Scene<'_>) -> Weight {
        if let Some(change) = change_in(scene.sentence, verb) {
            return self
                .writes
                .iter()
                .filter(|write| about(write, &scene.named))
                .filter_map(|write| {
                    let command = has_word(write.plan.command.as_deref().unwrap_or(""), change);
                    let action = has_word(write.plan.action.as_deref().unwrap_or(""), change);
                    // That a command ran is known once it was observed.
                    let ran = command
                        && write.receipt.outcome == Outcome::Succeeded
                        && write.verification == Some(Verification::Observed);
                    match (ran, command || action) {
                        (true, _) => Some(Weight::Backed),
                        (false, true) => Some(weight_of(write, false)),
                        (false, false) => None,
                    }
                })
                .max()
                .unwrap_or(Weight::MadeUp);
        }
        let read = self.grounds.each.iter().any(|ground| {
            scene.named.is_empty() || ground.resource.is_none_or(|id| scene.named.contains(&id))
        });
        let wrote = self.writes.iter().any(|write| about(write, &scene.named));
        if read || wrote {
            Weight::Backed
        } else if self.grounds.each.is_empty() && self.writes.is_empty() && self.names.by_name.is_empty() {
            Weight::MadeUp
        } else {
            Weight::Unsupported
        }
    }

    fn weigh_one(&self, found: &Found, verb: &str, object: Option<&str>, named: &[&ResourceId]) -> Weight {
        let best = self
            .writes
            .iter()
            .filter(|write| {
                let plan = &write.plan;
                touches(plan, object)
                    && verb_fits(
                        verb,
                        plan.action.as_deref().unwrap_or(""),
                        plan.command.as_deref().unwrap_or(""),
                    )
                    && (about(write, named)
                        || (object.is_none() && named.iter().any(|id| self.argument(plan, id))))
            })
            .map(|write| weight_of(write, found.success))
            .max();
        if let Some(best) = best {
            return best;
        }
        if !found.told {
            return Weight::MadeUp;
        }
        // Someone else may have done it, and a reading may say so.
        let reported = self
            .grounds
            .with_word(verb)
            .any(|ground| named.is_empty() || ground.resource.is_some_and(|id| named.contains(&id)));
        let plain = found.claim.phrase.starts_with("was ");
        match (reported, plain && !self.grounds.each.is_empty()) {
            (true, _) => Weight::Backed,
            (false, true) => Weight::Unsupported,
            (false, false) => Weight::MadeUp,
        }
    }

    /// Whether an argument names what a known resource is called: the unit on a guest, say.
    fn argument(&self, plan: &Plan, id: &ResourceId) -> bool {
        let own = self.names.of.get(id).into_iter().flatten();
        plan.resource() != Some(id)
            && own
                .filter(|name| !name.contains(':'))
                .any(|name| argument_names(plan, name))
    }
}

const fn backed_or(backed: bool, nothing_happened: bool) -> Weight {
    match (backed, nothing_happened) {
        (true, _) => Weight::Backed,
        (false, true) => Weight::MadeUp,
        (false, false) => Weight::Unsupported,
    }
}

fn about(write: &WriteRecord, named: &[&ResourceId]) -> bool {
    named.is_empty() || write.plan.resource().is_some_and(|id| named.contains(&id))
}

/// What a write that fits a claim is worth. One that failed never backs success. Only a verified effect backs a claim about an
/// effect. A free-form write that was *observed* shows less: it ran, and its resource was read afterwards.
const fn weight_of(write: &WriteRecord, success: bool) -> Weight {
    match (write.receipt.outcome, write.verification) {
        (Outcome::Succeeded, Some(Verification::Verified)) => Weight::Backed,
        (Outcome::Succeeded, Some(Verification::Observed | Verification::Inconclusive) | None) => {
            Weight::Unsupported
        }
        // It ended badly, and yet what was wanted came about.
        (_, Some(Verification::Verified)) if !success => Weight::Unsupported,
        (_, _) => Weight::MadeUp,
    }
}

/// The state that a write leaves behind, where its expectation says one of the whole resource.
fn brought_about(expectation: &Expectation) -> Option<&'static str> {
    match expectation {
        Expectation::GuestState { state } | Expectation::ContainerState { state } => Some(state.as_str()),
        Expectation::GuestRestarted
        | Expectation::ContainerRestarted
        | Expectation::ContainerImage { .. }
        | Expectation::ContainerUpdated => Some("running"),
        Expectation::UnitActivity { activity, .. } => Some(activity.as_str()),
        Expectation::UnitRestarted { .. } => Some("active"),
        Expectation::AlertState { state } => Some(state.as_str()),
        Expectation::FileHash { .. }
        | Expectation::FilePatched { .. }
        | Expectation::FileAbsent { .. }
        | Expectation::FileAppended { .. }
        | Expectation::RolledOut
        | Expectation::Replaced
        | Expectation::NoteKept { .. }
        | Expectation::ReadyReplicas { .. }
        | Expectation::Property { .. }
        | Expectation::Present
        | Expectation::Absent
        | Expectation::FreeForm => None,
    }
}

fn same_state(one: &str, other: &str) -> bool {
    const UP: &[&str] = &["running", "active", "online"];
    const DOWN: &[&str] = &["stopped", "inactive", "offline", "exited"];
    one == other
        || [UP, DOWN]
            .iter()
            .any(|same| same.contains(&one) && same.contains(&other))
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
    let target = plan.target.as_ref().is_some_and(|target| {
        has_word(&target.name, object)
            || target.id.uid() == object
            || target.id.to_string().to_lowercase() == object
    });
    target || argument_names(plan, object)
}

fn argument_names(plan: &Plan, object: &str) -> bool {
    NAMING
        .iter()
        .filter_map(|key| plan.arguments.get(*key))
        .filter_map(Value::as_str)
        .any(|text| has_word(text, object))
}

/// Whether `text` is this lower-case word, or has it among its words. Signs alone are no word.
fn has_word(text: &str, word: &str) -> bool {
    if bare(word).is_empty() {
        return false;
    }
    let text = text.to_lowercase();
    text == word
        || text
            .split(|c: char| !c.is_alphanumeric())
            .any(|part| part == word)
        // A path in a command.
        || text
            .split_whitespace()
            .any(|part| bare(part) == bare(word))
}

/// A word without the quotes, slashes and other signs before and after it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn span_of(word: &Word, grounds: &Grounds<'_>, named: &[&ResourceId], known: &Names<'_>) -> Option<Span> {
    let about = |ground: &&Ground<'_>| {
        named.is_empty() || ground.resource.is_none_or(|resource| named.contains(&resource))
    };
    let span = |kind, mut evidence: Vec<EvidenceId>| {
        evidence.dedup();
        Some(Span {
            at: word.span.clone(),
            kind,
            evidence,
        })
    };
    // A mark beside a name reads as approval of the sentence: a known name has none.
    if known.names(&word.text) {
        return None;
    }
    if word.text.parse::<ResourceId>().is_ok() {
        return span(SpanKind::Resource, Vec::new());
    }
    let link = |ground: &Ground<'_>| ground.id.clone();
    if let Some((number, decimals)) = number(&word.text) {
        let slack = 0.5 * 10f64.powi(-decimals) + 1e-9;
        let found = grounds.with_number(number, slack).filter(about).take(MOST_LINKS);
        return span(SpanKind::Number, found.map(link).collect());
    }
    if STATES.contains(&word.text.as_str()) {
        let found = grounds.with_word(&word.text).filter(about).take(MOST_LINKS);
        return span(SpanKind::State, found.map(link).collect());
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

impl<'a> Grounds<'a> {
    fn add(&mut self, evidence: &'a Evidence) {
        let at = self.each.len();
        self.each.push(Ground {
            id: &evidence.id,
            resource: evidence.resource.as_ref(),
            taken_at: evidence.taken_at,
            states: Vec::new(),
        });
        self.collect(&evidence.data, at);
        for observation in &evidence.observations {
            match observation {
                Observation::Guest { state, .. } | Observation::Container { state, .. } => {
                    self.state(state.as_str(), at);
                }
                Observation::Unit { unit, activity, .. } => {
                    self.word(unit.to_lowercase(), at);
                    self.state(activity.as_str(), at);
                }
                Observation::Alert { state } => self.state(state.as_str(), at),
                Observation::Replicas { ready, wanted, .. } => {
                    self.numbers.push((f64::from(*ready), at));
                    self.numbers.push((f64::from(*wanted), at));
                }
                Observation::Property { value, .. } => self.collect(value, at),
                Observation::File { .. }
                | Observation::FileAfter { .. }
                | Observation::Identity { .. }
                | Observation::Note { .. }
                | Observation::Present
                | Observation::Absent => {}
            }
        }
    }

    fn state(&mut self, state: &'static str, at: usize) {
        self.each[at].states.push(state);
        self.word(state.to_owned(), at);
    }

    fn word(&mut self, word: String, at: usize) {
        let seen = self.words.entry(word).or_default();
        if seen.last() != Some(&at) {
            seen.push(at);
        }
    }

    fn collect(&mut self, value: &Value, at: usize) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.numbers.extend(number.as_f64().map(|number| (number, at))),
            Value::String(text) => {
                for sentence in sentences(text) {
                    self.quotes.insert(joined(&sentence));
                    for word in sentence.words {
                        self.numbers
                            .extend(number(&word.text).map(|(number, _)| (number, at)));
                        self.word(word.text, at);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, at)),
            Value::Object(members) => {
                for (key, value) in members {
                    self.word(key.to_lowercase(), at);
                    self.collect(value, at);
                }
            }
        }
    }
}
