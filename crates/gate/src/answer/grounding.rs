//! Weighing an answer: what receipts and evidence back, what they do not, and what is made up.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use interlock_protocol::{Evidence, EvidenceId, Expectation, Observation, Outcome, ResourceId, Verification};
use jiff::Timestamp;
use serde_json::Value;

use super::phantom::{Category, Claim, Found, change_in, verb_fits};
use super::provenance::{EvidenceRules, Provenance};
use super::text::{Sentence, Word, sentences};
use super::words::RUNNING;
use crate::catalogue::Catalogue;
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
    /// Whether no reading is about anything that the answer names.
    pub(crate) unread: bool,
}

/// One piece of evidence, read once.
struct Ground<'a> {
    id: &'a EvidenceId,
    resource: Option<&'a ResourceId>,
    /// The resource that its command asks about, if it asks about one.
    asked: Option<&'a ResourceId>,
    taken_at: Timestamp,
    /// What of it was observed.
    provenance: Provenance,
    /// The states that code made out of it.
    states: Vec<&'static str>,
    /// The units that code looked at, and their states.
    units: Vec<(String, &'static str)>,
}

impl Ground<'_> {
    fn reads(&self, id: &ResourceId) -> bool {
        self.resource == Some(id) || self.asked == Some(id)
    }
}

/// Where a word stands: in which reading, and in which line or object of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    ground: usize,
    passage: usize,
}

/// All that was read, by word and by number: looking something up costs the same however much was read.
struct Grounds<'a> {
    rules: EvidenceRules,
    each: Vec<Ground<'a>>,
    words: HashMap<String, Vec<Spot>>,
    /// Sorted, each with the place that holds it.
    numbers: Vec<(f64, Spot)>,
    /// Every sentence, as its words.
    quotes: HashSet<String>,
    /// Each line and each object, with the one that it stands in.
    passages: Vec<Option<usize>>,
    /// The passages that name a resource.
    naming: HashMap<&'a ResourceId, HashSet<usize>>,
    /// The readings that name a resource, or were taken of what runs on it.
    mentions: HashMap<&'a ResourceId, HashSet<usize>>,
}

impl<'a> Grounds<'a> {
    fn read(weighing: &Weighing<'_, 'a>, known: &Names<'a>) -> Self {
        let mut grounds = Self {
            rules: weighing.rules,
            each: Vec::new(),
            words: HashMap::new(),
            numbers: Vec::new(),
            quotes: HashSet::new(),
            passages: Vec::new(),
            naming: HashMap::new(),
            mentions: HashMap::new(),
        };
        for evidence in weighing.evidence {
            let provenance = match weighing.rules {
                EvidenceRules::ByWord => Provenance::unquestioned(),
                EvidenceRules::ByReading => Provenance::of(evidence, weighing.catalogue),
            };
            grounds.add(evidence, provenance, known);
        }
        grounds
            .numbers
            .sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        grounds.numbers.dedup();
        if weighing.rules == EvidenceRules::ByReading {
            grounds.find_names(known);
        }
        grounds
    }

    /// Notes which lines, objects and readings name which resource.
    fn find_names(&mut self, known: &Names<'a>) {
        for (&id, names) in &known.of {
            let mut naming = HashSet::new();
            let mut mentions = HashSet::new();
            for spot in names.iter().filter_map(|name| self.words.get(name)).flatten() {
                naming.insert(spot.passage);
                mentions.insert(spot.ground);
            }
            for (at, ground) in self
                .each
                .iter()
                .enumerate()
                .filter(|(_, ground)| ground.provenance.backs)
            {
                let below = |of: &ResourceId| {
                    of.host()
                        .is_some_and(|host| names.iter().any(|name| name == host))
                };
                if ground.reads(id) || ground.resource.is_some_and(below) {
                    mentions.insert(at);
                }
            }
            self.naming.insert(id, naming);
            self.mentions.insert(id, mentions);
        }
    }

    fn with_word(&self, word: &str) -> impl Iterator<Item = &Ground<'a>> {
        let spots = self.words.get(word).map_or(&[][..], Vec::as_slice);
        self.grounds_of(spots.iter().copied())
    }

    fn with_number(&self, number: f64, slack: f64) -> impl Iterator<Item = &Ground<'a>> {
        self.grounds_of(self.number_spots(number, slack))
    }

    fn grounds_of(&self, spots: impl Iterator<Item = Spot>) -> impl Iterator<Item = &Ground<'a>> {
        let mut last = None;
        spots
            .filter(move |spot| last.replace(spot.ground) != Some(spot.ground))
            .map(|spot| &self.each[spot.ground])
    }

    fn number_spots(&self, number: f64, slack: f64) -> impl Iterator<Item = Spot> {
        let from = self.numbers.partition_point(|(seen, _)| *seen < number - slack);
        self.numbers[from..]
            .iter()
            .take_while(move |(seen, _)| *seen <= number + slack)
            .map(|(_, spot)| *spot)
    }

    /// Where a number or a state of an answer stands.
    fn spots(&self, word: &str) -> Vec<Spot> {
        match number(word) {
            Some((number, decimals)) => self.number_spots(number, slack(decimals)).collect(),
            None => self.words.get(word).cloned().unwrap_or_default(),
        }
    }

    /// Whether a place in the readings is about a resource: its reading is, or its line or object names it.
    fn is_about(&self, spot: Spot, id: &ResourceId) -> bool {
        let named = || {
            let naming = self.naming.get(id);
            std::iter::successors(Some(spot.passage), |at| self.passages[*at])
                .any(|at| naming.is_some_and(|naming| naming.contains(&at)))
        };
        self.each[spot.ground].reads(id) || named()
    }

    /// Whether any reading is about one of these resources; of none, whether there is a reading.
    fn any_about(&self, named: &[&ResourceId]) -> bool {
        match self.rules {
            EvidenceRules::ByWord => !self.each.is_empty(),
            EvidenceRules::ByReading if named.is_empty() => {
                self.each.iter().any(|ground| ground.provenance.backs)
            }
            EvidenceRules::ByReading => named
                .iter()
                .any(|id| self.mentions.get(id).is_some_and(|grounds| !grounds.is_empty())),
        }
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

    fn names_of(&self, id: &ResourceId) -> impl Iterator<Item = &str> {
        self.of.get(id).into_iter().flatten().map(String::as_str)
    }

    /// The one resource that the operands of a command name, by a name or, below the machine that it ran on, by the end of its id.
    fn asked(&self, operands: &[String], ran_on: Option<&ResourceId>) -> Option<&'a ResourceId> {
        let mut found: Vec<&'a ResourceId> = Vec::new();
        for operand in operands {
            let below = self.of.keys().copied().filter(|id| {
                id.uid().eq_ignore_ascii_case(operand)
                    && ran_on.is_some_and(|machine| {
                        id.host()
                            .is_some_and(|host| self.names_of(machine).any(|name| name == host))
                    })
            });
            for id in self.named(operand).iter().copied().chain(below) {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        match found.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}

/// What an answer is weighed with.
pub(crate) struct Weighing<'w, 'a> {
    pub(crate) evidence: &'w [&'a Evidence],
    pub(crate) writes: &'w [WriteRecord],
    pub(crate) catalogue: &'w Catalogue,
    pub(crate) rules: EvidenceRules,
}

pub(crate) fn ground<'a>(
    sentences: &[Sentence],
    claims: &[Found],
    weighing: &Weighing<'_, 'a>,
    known: &Names<'a>,
) -> Grounded {
    let grounds = Grounds::read(weighing, known);
    let writes = weighing.writes;
    let mut spans = Vec::new();
    let mut scenes = Vec::with_capacity(sentences.len());
    let mut all_named: Vec<&ResourceId> = Vec::new();
    let mut lookups = Lookups::default();
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
        match weighing.rules {
            EvidenceRules::ByWord => {
                for word in &sentence.words {
                    spans.extend(span_of(word, &grounds, &named, known));
                }
            }
            EvidenceRules::ByReading => {
                spans.extend(spans_of(sentence, &grounds, &named, known, &mut lookups));
            }
        }
        let room = MOST_NAMED.saturating_sub(all_named.len());
        all_named.extend(named.iter().take(room));
        scenes.push(Scene {
            sentence,
            named,
            spans: from..spans.len(),
        });
    }
    let unread = weighing.rules == EvidenceRules::ByReading && !grounds.any_about(&all_named);
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
    Grounded {
        spans,
        phantom,
        unread,
    }
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
        let nothing_happened = self.nothing_happened(scene);
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
                    self.grounds.any_about(&scene.named)
                };
                backed_or(seen, nothing_happened)
            }
        }
    }

    /// Whether nothing was read of what a sentence names, and nothing was written to it.
    fn nothing_happened(&self, scene: &Scene<'_>) -> bool {
        let written = match self.grounds.rules {
            EvidenceRules::ByWord => !self.writes.is_empty(),
            EvidenceRules::ByReading => self.writes.iter().any(|write| {
                about(write, &scene.named) || scene.named.iter().any(|id| self.argument(&write.plan, id))
            }),
        };
        !written && !self.grounds.any_about(&scene.named)
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
        match (reported, plain && self.grounds.any_about(named)) {
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
        let found = grounds
            .with_number(number, slack(decimals))
            .filter(about)
            .take(MOST_LINKS);
        return span(SpanKind::Number, found.map(link).collect());
    }
    if STATES.contains(&word.text.as_str()) {
        let found = grounds.with_word(&word.text).filter(about).take(MOST_LINKS);
        return span(SpanKind::State, found.map(link).collect());
    }
    None
}

/// How far a number in a reading may be from one that was written with so many decimals.
fn slack(decimals: i32) -> f64 {
    0.5 * 10f64.powi(-decimals) + 1e-9
}

/// What was looked up already: an answer may say the same word of the same resource thousands of times.
#[derive(Default)]
struct Lookups<'k> {
    /// The readings that hold a word.
    readings: HashMap<String, Vec<usize>>,
    /// The readings that hold it where they are about one of these.
    about: HashMap<(String, &'k [&'k ResourceId]), Vec<usize>>,
}

impl<'k> Lookups<'k> {
    fn holding(&mut self, word: &str, grounds: &Grounds<'_>) -> Vec<usize> {
        if let Some(found) = self.readings.get(word) {
            return found.clone();
        }
        let mut found: Vec<usize> = grounds.spots(word).iter().map(|spot| spot.ground).collect();
        found.sort_unstable();
        found.dedup();
        self.readings.insert(word.to_owned(), found.clone());
        found
    }

    fn about(&mut self, word: &str, subject: &'k [&'k ResourceId], grounds: &Grounds<'_>) -> Vec<usize> {
        let key = (word.to_owned(), subject);
        if let Some(found) = self.about.get(&key) {
            return found.clone();
        }
        let mut found: Vec<usize> = grounds
            .spots(word)
            .iter()
            .filter(|spot| subject.iter().any(|id| grounds.is_about(**spot, id)))
            .map(|spot| spot.ground)
            .collect();
        found.sort_unstable();
        found.dedup();
        self.about.insert(key, found.clone());
        found
    }
}

/// The numbers and states of a sentence, each with the readings that show it of the resource that the sentence says it of.
fn spans_of<'k>(
    sentence: &Sentence,
    grounds: &Grounds<'_>,
    named: &[&ResourceId],
    known: &'k Names<'_>,
    lookups: &mut Lookups<'k>,
) -> Vec<Span> {
    let is_uid = |word: &str| named.iter().any(|id| id.uid().eq_ignore_ascii_case(word));
    let checked = |word: &Word| {
        let text = word.text.as_str();
        if known.names(text) || is_uid(text) {
            None
        } else if text.parse::<ResourceId>().is_ok() {
            Some(SpanKind::Resource)
        } else if number(text).is_some() {
            Some(SpanKind::Number)
        } else if STATES.contains(&text) {
            Some(SpanKind::State)
        } else {
            None
        }
    };
    let kinds: Vec<Option<SpanKind>> = sentence.words.iter().map(checked).collect();
    let units = units_in(sentence, grounds);
    // Where code knows the state of a unit that the sentence names, that state counts and no other word.
    let fits = |at: &usize, word: &str, kind: SpanKind| {
        let seen = units.get(at).map_or(&[][..], Vec::as_slice);
        kind != SpanKind::State || seen.is_empty() || seen.iter().any(|state| same_state(state, word))
    };
    let mut subjects = subjects(sentence, &kinds, known).into_iter();
    let mut facts: Vec<(&Word, SpanKind, Vec<usize>)> = Vec::new();
    for (word, kind) in sentence.words.iter().zip(&kinds) {
        let Some(kind) = *kind else { continue };
        let subjects = subjects.next().unwrap_or_default();
        let text = word.text.as_str();
        let mut backing: Vec<usize> = Vec::new();
        if subjects.is_empty() && kind != SpanKind::Resource {
            backing = lookups.holding(text, grounds);
            backing.retain(|at| fits(at, text, kind));
        } else if kind != SpanKind::Resource {
            for subject in subjects.iter() {
                let mut found = lookups.about(text, subject, grounds);
                found.retain(|at| fits(at, text, kind));
                if found.is_empty() {
                    backing.clear();
                    break;
                }
                backing.extend(found);
            }
        }
        facts.push((word, kind, backing));
    }
    if named.is_empty() {
        let best = best_reading(&facts);
        for (_, _, backing) in &mut facts {
            backing.retain(|at| best.contains(at));
        }
    }
    facts
        .into_iter()
        .map(|(word, kind, backing)| {
            let mut seen: Vec<usize> = Vec::new();
            for at in backing {
                if seen.len() < MOST_LINKS && !seen.contains(&at) {
                    seen.push(at);
                }
            }
            Span {
                at: word.span.clone(),
                kind,
                evidence: seen.into_iter().map(|at| grounds.each[at].id.clone()).collect(),
            }
        })
        .collect()
}

/// The states of the units that a sentence names, by the readings in which code saw them.
fn units_in(sentence: &Sentence, grounds: &Grounds<'_>) -> HashMap<usize, Vec<&'static str>> {
    let mut found: HashMap<usize, Vec<&'static str>> = HashMap::new();
    if grounds.each.iter().all(|ground| ground.units.is_empty()) {
        return found;
    }
    let words: HashSet<&str> = sentence.words.iter().map(|word| word.text.as_str()).collect();
    for (at, ground) in grounds.each.iter().enumerate() {
        for (unit, state) in &ground.units {
            let short = unit.strip_suffix(".service").unwrap_or(unit);
            if words.contains(unit.as_str()) || words.contains(short) {
                found.entry(at).or_default().push(*state);
            }
        }
    }
    found
}

/// The readings that hold the most of what a sentence says: what names no resource is backed by one reading, not by several together.
fn best_reading(facts: &[(&Word, SpanKind, Vec<usize>)]) -> HashSet<usize> {
    let mut holds: HashMap<usize, usize> = HashMap::new();
    for at in facts.iter().flat_map(|(_, _, backing)| backing) {
        *holds.entry(*at).or_default() += 1;
    }
    let most = holds.values().copied().max().unwrap_or(0);
    // One of them, so that nobody takes two halves for a whole.
    holds
        .into_iter()
        .filter(|(_, count)| *count == most && most > 0)
        .map(|(at, _)| at)
        .max()
        .into_iter()
        .collect()
}

/// A name in a sentence, and the resources that go by it.
type Subject<'k> = &'k [&'k ResourceId];

/// Words behind a fact that say where it holds: "active on web".
const PLACES: &[&str] = &["on", "at", "in", "of", "for"];

/// How far behind such a word a name is looked for.
const PLACE_REACH: usize = 4;

/// What each fact is said of: the resources between it and the fact before it, and the one that "on" and the like put behind it; or else
/// those of the fact before, or else the first ones behind it. A machine is not the subject where something that runs on it is.
fn subjects<'k>(
    sentence: &Sentence,
    kinds: &[Option<SpanKind>],
    known: &'k Names<'_>,
) -> Vec<Rc<[Subject<'k>]>> {
    let words = &sentence.words;
    let named = |at: usize| words.get(at).map_or(&[][..], |word| known.named(&word.text));
    let mut found: Vec<Option<Rc<[Subject<'k>]>>> = Vec::new();
    let mut group: Vec<Subject<'k>> = Vec::new();
    let mut last: Option<Rc<[Subject<'k>]>> = None;
    // The place of a fact belongs to it, and not to the next one.
    let mut taken = None;
    for (at, kind) in kinds.iter().enumerate() {
        let ids = named(at);
        if kind.is_none() {
            if !ids.is_empty() && taken != Some(at) && group.len() < MOST_NAMED && !group.contains(&ids) {
                group.push(ids);
            }
            continue;
        }
        let placed = words
            .get(at + 1)
            .is_some_and(|word| PLACES.contains(&word.text.as_str()));
        let place = (at + 2..(at + 2 + PLACE_REACH).min(words.len()))
            .take_while(|behind| placed && kinds[*behind].is_none())
            .find(|behind| !named(*behind).is_empty());
        if let Some(place) = place {
            taken = Some(place);
            group.push(named(place));
        }
        if !group.is_empty() {
            last = Some(narrowed(std::mem::take(&mut group), known).into());
        }
        found.push(last.clone());
    }
    let first: Rc<[Subject<'k>]> = match found.iter().flatten().next() {
        Some(first) => Rc::clone(first),
        None => narrowed(group, known).into(),
    };
    found
        .into_iter()
        .map(|subjects| subjects.unwrap_or_else(|| Rc::clone(&first)))
        .collect()
}

fn narrowed<'k>(group: Vec<Subject<'k>>, known: &Names<'_>) -> Vec<Subject<'k>> {
    let carries = |machine: &[&ResourceId], other: &[&ResourceId]| {
        other.iter().any(|id| {
            let host = id.host();
            machine
                .iter()
                .any(|machine| known.names_of(machine).any(|name| Some(name) == host))
        })
    };
    let narrow: Vec<Subject<'k>> = group
        .iter()
        .copied()
        .filter(|machine| {
            !group
                .iter()
                .any(|other| other != machine && carries(machine, other))
        })
        .collect();
    if narrow.is_empty() { group } else { narrow }
}

/// A number with at most a unit behind it, and how many decimals it was written with.
pub(super) fn number(word: &str) -> Option<(f64, i32)> {
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
    fn add(&mut self, evidence: &'a Evidence, provenance: Provenance, known: &Names<'a>) {
        let at = self.each.len();
        let resource = evidence.resource.as_ref();
        self.each.push(Ground {
            id: &evidence.id,
            resource,
            asked: known.asked(&provenance.asked, resource),
            taken_at: evidence.taken_at,
            provenance,
            states: Vec::new(),
            units: Vec::new(),
        });
        let spot = Spot {
            ground: at,
            passage: self.passage(None),
        };
        self.collect(&evidence.data, spot);
        for observation in &evidence.observations {
            match observation {
                Observation::Guest { state, .. } | Observation::Container { state, .. } => {
                    self.state(state.as_str(), spot);
                }
                Observation::Unit { unit, activity, .. } => {
                    let unit = unit.to_lowercase();
                    self.each[at].units.push((unit.clone(), activity.as_str()));
                    self.word(unit, spot);
                    self.state(activity.as_str(), spot);
                }
                Observation::Alert { state } => self.state(state.as_str(), spot),
                Observation::Replicas { ready, wanted, .. } => {
                    self.numbers.push((f64::from(*ready), spot));
                    self.numbers.push((f64::from(*wanted), spot));
                }
                Observation::Property { value, .. } => self.collect(value, spot),
                Observation::File { .. }
                | Observation::FileAfter { .. }
                | Observation::Identity { .. }
                | Observation::Note { .. }
                | Observation::Present
                | Observation::Absent => {}
            }
        }
    }

    fn passage(&mut self, inside: Option<usize>) -> usize {
        self.passages.push(inside);
        self.passages.len() - 1
    }

    fn inside(&mut self, spot: Spot) -> Spot {
        Spot {
            passage: self.passage(Some(spot.passage)),
            ..spot
        }
    }

    fn state(&mut self, state: &'static str, spot: Spot) {
        self.each[spot.ground].states.push(state);
        self.word(state.to_owned(), spot);
    }

    fn word(&mut self, word: String, spot: Spot) {
        let seen = self.words.entry(word).or_default();
        if seen.last() != Some(&spot) {
            seen.push(spot);
        }
    }

    fn collect(&mut self, value: &Value, spot: Spot) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Some(number) = number.as_f64()
                    && self.each[spot.ground].provenance.observed_number(number)
                {
                    self.numbers.push((number, spot));
                }
            }
            Value::String(text) => match self.rules {
                EvidenceRules::ByWord => self.text(text, spot),
                EvidenceRules::ByReading => {
                    let one = !text.contains('\n');
                    for line in text.lines() {
                        let spot = if one { spot } else { self.inside(spot) };
                        self.line(line, spot);
                    }
                }
            },
            Value::Array(items) => {
                for item in items {
                    self.collect(item, spot);
                }
            }
            Value::Object(members) => self.object(members, spot),
        }
    }

    fn object(&mut self, members: &serde_json::Map<String, Value>, spot: Spot) {
        if self.rules == EvidenceRules::ByWord {
            for (key, value) in members {
                self.word(key.to_lowercase(), spot);
                self.collect(value, spot);
            }
            return;
        }
        let spot = self.inside(spot);
        for (key, value) in members {
            let below = match value {
                Value::Object(_) | Value::Array(_) => self.inside(spot),
                _ => spot,
            };
            // `{"running": false}` does not show that something is running.
            let empty = match value {
                Value::Null => true,
                Value::Bool(set) => !set,
                Value::Number(number) => number.as_f64() == Some(0.0),
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty(),
            };
            let key = key.to_lowercase();
            let observed = !self.each[spot.ground]
                .provenance
                .observed(&[key.as_str()])
                .is_empty();
            if observed && !(empty && STATES.contains(&key.as_str())) {
                self.word(key, below);
            }
            self.collect(value, below);
        }
    }

    fn text(&mut self, text: &str, spot: Spot) {
        for sentence in sentences(text) {
            self.quotes.insert(joined(&sentence));
            for word in sentence.words {
                self.numbers
                    .extend(number(&word.text).map(|(number, _)| (number, spot)));
                self.word(word.text, spot);
            }
        }
    }

    fn line(&mut self, line: &str, spot: Spot) {
        let found = sentences(line);
        let words: Vec<&str> = found
            .iter()
            .flat_map(|sentence| &sentence.words)
            .map(|word| word.text.as_str())
            .collect();
        let observed: HashSet<String> = self.each[spot.ground]
            .provenance
            .observed(&words)
            .into_iter()
            .map(str::to_owned)
            .collect();
        for sentence in &found {
            if sentence.words.iter().any(|word| observed.contains(&word.text)) {
                self.quotes.insert(joined(sentence));
            }
            for word in &sentence.words {
                // `Active: failed` says failed, and `active` is the name of what it says.
                let label = line[word.span.end..].starts_with(':') && STATES.contains(&word.text.as_str());
                if !label && observed.contains(&word.text) {
                    self.numbers
                        .extend(number(&word.text).map(|(number, _)| (number, spot)));
                    self.word(word.text.clone(), spot);
                }
            }
        }
    }
}
