//! Breadth first over every reachable state of a small world: three resources on two hosts, two executions, every
//! kind of call, success, failure and time-out, holds in all their fates, the kill switch, and time.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use interlock_protocol::{ContentHash, ControlLevel, Expectation, ResourceId, SessionId, ToolKind, UserId};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::json;

use super::model::{Call, Ending, Model, Seen, Stage, WrongToken};
use crate::answer::Conclusion;
use crate::catalogue::Catalogue;
use crate::context::{ContextLimits, Keep, ResolvedResource};
use crate::gate::{Gate, Options};
use crate::governance::Governance;
use crate::invariants::{Actor, Violation};
use crate::plan;
use crate::sandbox::RequireSandbox;
use crate::session::{Execution, Session, SessionOptions};
use crate::settle::Moment;
use crate::state::State;
use crate::world::KillSwitch;

/// Longer than every deadline, hold, permit and entry of the small world: one wait makes all of them old.
const WAIT: SignedDuration = SignedDuration::from_mins(11);
/// How many violations a report carries.
const MOST_VIOLATIONS: usize = 20;

/// The calls of the small world, by their place in its list.
const LIST: usize = 0;
const GET_CHILD: usize = 1;
const READ_CHILD: usize = 2;
const RESTART_CHILD: usize = 3;
const EDIT_HOST: usize = 4;
const RESTART_OTHER: usize = 5;
const DELETE_CHILD: usize = 6;
const UNKNOWN: usize = 7;

/// What to explore.
pub struct GateOptions<'a> {
    /// How many executions act at most, 1 or 2.
    pub executions: usize,
    /// Where to stop, if there are more states than this.
    pub max_states: usize,
    /// Told now and then how many states were found.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

impl Default for GateOptions<'_> {
    fn default() -> Self {
        Self {
            executions: 2,
            max_states: 5_000_000,
            progress: None,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateReport {
    /// How many states can be reached.
    pub states: u64,
    /// How many steps lead from one to another, or back to itself.
    pub transitions: u64,
    /// Whether every reachable state was visited.
    pub complete: bool,
    /// The invariants that did not hold, at most twenty.
    pub violations: Vec<Violation>,
    /// States from which code alone cannot reach a final answer, at most twenty.
    pub dead_ends: Vec<String>,
}

impl GateReport {
    const EMPTY: Self = Self {
        states: 0,
        transitions: 0,
        complete: true,
        violations: Vec::new(),
        dead_ends: Vec::new(),
    };

    fn note(&mut self, found: Vec<Violation>) {
        for violation in found {
            let known = self
                .violations
                .iter()
                .any(|known| known.invariant == violation.invariant);
            if !known && self.violations.len() < MOST_VIOLATIONS {
                self.violations.push(violation);
            }
        }
    }
}

/// One step in the small world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A proposal whose call, if it is permitted, runs to this end at once.
    Run(usize, usize, Ending),
    /// A proposal whose call, if it is permitted, stays in flight.
    Propose(usize, usize),
    Begin(usize),
    End(usize, Ending),
    Lose(usize),
    Approve(usize),
    ApproveWrongly(usize),
    Deny(usize),
    Edit(usize, usize),
    ExpireHolds,
    Wait,
    ObserveDue(Seen),
    Answer(usize),
    Conclude(usize),
    Reset,
    ToggleKillSwitch,
}

/// Who acts in the small world. Both are explored to the end; together they meet what one large world would, in a
/// fraction of its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cast {
    /// One execution that explores, is routed, reads early and writes freely.
    Alone,
    /// Two that compete for a resource, one of which needs a human.
    Competing,
}

struct SmallWorld {
    actors: Vec<Actor>,
    calls: Vec<Call>,
    /// Which calls each actor proposes, and whether they stay in flight.
    repertoire: Vec<Vec<(usize, bool)>>,
    resources: Vec<ResolvedResource>,
    fingerprints: HashMap<ContentHash, u8>,
}

/// Explores the gate. Without a catalogue that loads there is nothing to explore, and the report says so.
pub fn gate(options: GateOptions<'_>) -> GateReport {
    match real_gate() {
        Ok(gate) => explore(&gate, options),
        Err(why) => GateReport {
            complete: false,
            dead_ends: vec![why],
            ..GateReport::EMPTY
        },
    }
}

pub(crate) fn real_gate() -> Result<Gate, String> {
    gate_with(None)
}

/// The tool of another family: each call needs a human, and nothing but its own row says so.
const ATTENDED: &str = r#"
[[tool]]
name = "attended_page"
description = "Fetch a page."
category = "network"
risk = "medium"
kind = "read"
requires_approval = true
rate_limit_per_hour = 60
state = false
[tool.parameters]
type = "object"
required = ["url"]
additionalProperties = false
[tool.parameters.properties]
url = { type = "string", pattern = "^https?://", maxLength = 2048 }
"#;

fn gate_with(family: Option<&str>) -> Result<Gate, String> {
    let mut catalogue = Catalogue::built_in().map_err(|error| error.to_string())?;
    if let Some(family) = family {
        catalogue.add_toml(family).map_err(|error| error.to_string())?;
    }
    let options = Options {
        repetition_threshold: 0,
        ..Options::default()
    };
    Ok(Gate::new(Arc::new(catalogue), options))
}

/// The same, where commands on some resources need a sandbox, with a tool that needs a human.
pub(crate) fn guarded_gate() -> Result<Gate, String> {
    let mut gate = gate_with(Some(ATTENDED))?;
    gate.options.read_sandbox = RequireSandbox::Tagged([super::hostile::GUARDED.to_owned()].into());
    Ok(gate)
}

pub(crate) fn explore(gate: &Gate, mut options: GateOptions<'_>) -> GateReport {
    let mut report = GateReport::EMPTY;
    let casts: &[Cast] = if options.executions < 2 {
        &[Cast::Alone]
    } else {
        &[Cast::Alone, Cast::Competing]
    };
    for cast in casts {
        explore_cast(gate, *cast, &mut options, &mut report);
    }
    report
}

fn explore_cast(gate: &Gate, cast: Cast, options: &mut GateOptions<'_>, report: &mut GateReport) {
    let Some((small, start)) = small_world(gate, cast) else {
        report.complete = false;
        return;
    };
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut queue = VecDeque::new();
    seen.insert(small.key(&start));
    queue.push_back(start);
    while let Some(model) = queue.pop_front() {
        report.states += 1;
        if report.states.is_multiple_of(10_000)
            && let Some(progress) = &mut options.progress
        {
            progress(report.states);
        }
        for step in small.steps(&model) {
            let mut next = model.fork();
            if !small.apply(&mut next, step) && report.dead_ends.len() < MOST_VIOLATIONS {
                report
                    .dead_ends
                    .push(format!("{step:?} after {}", small.describe(&model)));
            }
            report.transitions += 1;
            report.note(std::mem::take(&mut next.violations));
            let key = small.key(&next);
            if seen.contains(&key) {
                continue;
            }
            if seen.len() >= options.max_states {
                report.complete = false;
                continue;
            }
            seen.insert(key);
            queue.push_back(next);
        }
    }
}

fn small_world(gate: &Gate, cast: Cast) -> Option<(SmallWorld, Model<'_>)> {
    let resource = |id: &str, name: &str| Some(ResolvedResource::new(id.parse().ok()?, name));
    let child = resource("lxc:alpha:101", "jellyfin")?;
    let resources = vec![
        resource("node:alpha", "alpha")?,
        child.clone(),
        resource("node:beta", "beta")?,
    ];
    let control = |action: &str, target: &str| json!({"action": action, "target_resource_id": target});
    let read = json!({"action": "file", "target_resource_id": "lxc:alpha:101", "path": "/etc/hostname"});
    let edit =
        json!({"action": "append", "target_resource_id": "node:alpha", "path": "/tmp/x", "content": "x"});
    let get = json!({"action": "get", "resource_id": "lxc:alpha:101"});
    let calls = vec![
        Call::new("infra_query", json!({"action": "list"}), resources.clone(), false)?,
        Call::new("infra_query", get, vec![child], true)?,
        Call::new("infra_read", read, Vec::new(), false)?,
        Call::new(
            "infra_control",
            control("restart", "lxc:alpha:101"),
            Vec::new(),
            false,
        )?,
        Call::new("infra_file_edit", edit, Vec::new(), false)?,
        Call::new(
            "infra_control",
            control("restart", "node:beta"),
            Vec::new(),
            false,
        )?,
        Call::new(
            "infra_control",
            control("delete", "lxc:alpha:101"),
            Vec::new(),
            false,
        )?,
        Call::new("no_such_tool", json!({}), Vec::new(), false)?,
    ];
    let limits = ContextLimits {
        ttl: SignedDuration::from_mins(10),
        explicit_window: SignedDuration::from_mins(10),
        ..ContextLimits::default()
    };
    let options = SessionOptions {
        level: ControlLevel::Autonomous,
        limits,
        ..SessionOptions::default()
    };
    let session = Session::new(SessionId::from_bytes([1; 16]), options);
    let fingerprints = calls
        .iter()
        .zip(0u8..)
        .map(|(call, index)| (plan::fingerprint(&call.tool, &call.arguments), index))
        .collect();
    let names: &[&str] = match cast {
        Cast::Alone => &["exe_1"],
        Cast::Competing => &["exe_1", "exe_2"],
    };
    let actors = names
        .iter()
        .map(|name| Some((0, Model::execution(name)?)))
        .collect::<Option<_>>()?;
    let repertoire = match cast {
        Cast::Alone => vec![vec![
            (LIST, false),
            (GET_CHILD, false),
            (READ_CHILD, true),
            (RESTART_CHILD, true),
            (EDIT_HOST, false),
            (UNKNOWN, false),
        ]],
        Cast::Competing => vec![
            vec![(LIST, false), (READ_CHILD, false), (RESTART_CHILD, true)],
            vec![(READ_CHILD, false), (RESTART_OTHER, false), (DELETE_CHILD, true)],
        ],
    };
    let start = Model::new(
        gate,
        vec![session],
        Timestamp::UNIX_EPOCH,
        UserId::new("approver").ok()?,
    );
    Some((
        SmallWorld {
            actors,
            calls,
            repertoire,
            resources,
            fingerprints,
        },
        start,
    ))
}

impl SmallWorld {
    fn steps(&self, model: &Model<'_>) -> Vec<Step> {
        let mut steps = vec![Step::ToggleKillSwitch, Step::Reset, Step::Wait];
        if model.holds.iter().any(|open| model.now >= open.hold.expires_at) {
            steps.push(Step::ExpireHolds);
        }
        if !model.gate.due_readings(&model.sessions[0], model.now).is_empty() {
            let all = [Seen::Expected, Seen::Else, Seen::Changing, Seen::Nothing];
            steps.extend(all.map(Step::ObserveDue));
        }
        for (actor, repertoire) in self.repertoire.iter().enumerate().take(self.actors.len()) {
            if model.sessions[0].state(&self.actors[actor].1) == State::Concluded {
                continue;
            }
            steps.extend([Step::Answer(actor), Step::Conclude(actor)]);
            for &(call, stays) in repertoire {
                self.proposals(model, actor, call, stays, &mut steps);
            }
        }
        for (at, flight) in model.flights.iter().enumerate() {
            steps.push(Step::Lose(at));
            match &flight.stage {
                Stage::Waiting(_) => steps.push(Step::Begin(at)),
                Stage::Running(started) => {
                    steps.extend([Step::End(at, Ending::Failed), Step::End(at, Ending::TimedOut)]);
                    let seen = readings(started.plan().kind);
                    steps.extend(seen.iter().map(|seen| Step::End(at, Ending::Succeeded(*seen))));
                }
            }
        }
        for (at, open) in model.holds.iter().enumerate() {
            let another = if open.call == self.calls[RESTART_OTHER] {
                DELETE_CHILD
            } else {
                RESTART_OTHER
            };
            steps.extend([
                Step::Approve(at),
                Step::ApproveWrongly(at),
                Step::Deny(at),
                Step::Edit(at, another),
            ]);
        }
        steps
    }

    fn proposals(&self, model: &Model<'_>, actor: usize, call: usize, stays: bool, steps: &mut Vec<Step>) {
        let kind = model
            .gate
            .catalogue()
            .classify(self.calls[call].tool.as_str(), &self.calls[call].arguments);
        if stays {
            // One call of a kind in flight is enough to meet every order of events.
            let flying = |flight: &super::model::Flight| {
                flight.actor == self.actors[actor] && flight.call == self.calls[call]
            };
            if !model.flights.iter().any(flying) {
                steps.push(Step::Propose(actor, call));
            }
            return;
        }
        steps.push(Step::Run(actor, call, Ending::Failed));
        steps.extend(
            readings(kind)
                .iter()
                .map(|seen| Step::Run(actor, call, Ending::Succeeded(*seen))),
        );
    }

    /// Makes a step. False: code could not conclude an execution, which it always must be able to.
    fn apply(&self, model: &mut Model<'_>, step: Step) -> bool {
        match step {
            Step::Propose(actor, call) => {
                model.propose(&self.actors[actor], &self.calls[call], Governance::Absent);
            }
            Step::Run(actor, call, ending) => {
                let before = model.flights.len();
                model.propose(&self.actors[actor], &self.calls[call], Governance::Absent);
                if model.flights.len() > before {
                    model.begin(before);
                }
                if model.flights.len() > before {
                    model.end(before, ending);
                }
            }
            Step::Begin(at) => model.begin(at),
            Step::End(at, ending) => model.end(at, ending),
            Step::Lose(at) => model.lose(at),
            Step::Approve(at) => model.approve(at, Governance::Absent),
            Step::ApproveWrongly(at) => model.approve_wrongly(at, WrongToken::Guessed),
            Step::Deny(at) => model.deny(at),
            Step::Edit(at, call) => model.edit(at, &self.calls[call]),
            Step::ExpireHolds => model.expire_holds(),
            Step::Wait => {
                model.wait(WAIT);
                // Nothing that was discovered is used during the wait, and all of it is too old after it.
                model.ledger.forget_discoveries();
            }
            Step::ObserveDue(seen) => {
                if let Some(actor) = self.actors.first() {
                    model.observe(actor, Moment::Deadline, seen);
                }
            }
            Step::Answer(actor) => {
                model.answer(&self.actors[actor], None, Conclusion::Offered);
            }
            Step::Conclude(actor) => return model.conclude(&self.actors[actor]),
            Step::Reset => model.reset(0, Keep::Nothing),
            Step::ToggleKillSwitch => model.toggle_kill_switch(),
        }
        true
    }

    fn describe(&self, model: &Model<'_>) -> String {
        let state = |actor: &Actor| format!("{}: {}", actor.1, model.sessions[0].state(&actor.1));
        self.actors.iter().map(state).collect::<Vec<_>>().join(", ")
    }

    /// What distinguishes two states: everything that a later decision or invariant can depend on, and nothing that
    /// only counts (ids, order numbers, times beyond old or new).
    fn key(&self, model: &Model<'_>) -> Vec<u8> {
        let session = &model.sessions[0];
        let mut key = Vec::with_capacity(96);
        key.push(u8::from(model.world.kill_switch == KillSwitch::Engaged));
        for resource in &self.resources {
            let id = &resource.id;
            key.push(
                u8::from(session.context.get(id, model.now).is_some())
                    | u8::from(session.context.was_explicitly_accessed(id, model.now)) << 1
                    | u8::from(model.ledger.discovered.contains(&(0, id.clone()))) << 2
                    | u8::from(model.ledger.explicit.contains_key(&(0, id.clone()))) << 3,
            );
        }
        for actor in &self.actors {
            self.key_of_execution(model, actor, &mut key);
        }
        for open in &model.holds {
            key.push(1 + self.index_of(&open.call));
            key.push(u8::from(open.actor != self.actors[0]));
            key.push(u8::from(model.now >= open.hold.expires_at));
        }
        key
    }

    fn key_of_execution(&self, model: &Model<'_>, actor: &Actor, key: &mut Vec<u8>) {
        key.push(255);
        let Some(execution) = model.sessions[0].executions.get(&actor.1) else {
            return;
        };
        key.push(1 + execution.state as u8);
        key.push(u8::from(execution.concluding));
        if execution.state == State::Concluded {
            // Only what is still in flight can move anything.
            self.key_of_flights(model, actor, execution, key);
            return;
        }
        match &execution.last {
            None => key.push(0),
            Some(last) => {
                key.push(1 + self.fingerprints.get(&last.fingerprint).copied().unwrap_or(200));
                key.push(last.fate as u8);
                key.push(u8::try_from(last.repeats).unwrap_or(u8::MAX));
            }
        }
        let hold = execution.hold.as_ref();
        key.push(hold.map_or(0, |hold| 1 + u8::from(model.now >= hold.expires_at)));
        key.push(254);
        for pending in &execution.pending {
            key.push(self.index_of_resource(&pending.resource));
            key.push(u8::from(pending.deadline <= model.now));
            key.push(match pending.expectation {
                Expectation::FreeForm => 0,
                Expectation::Absent => 1,
                _ => 2,
            });
        }
        self.key_of_flights(model, actor, execution, key);
        match model.ledger.last.get(actor) {
            None => key.push(0),
            Some(last) => {
                let call = self.calls.iter().position(|call| call.text == last.call);
                key.push(1 + call.and_then(|at| u8::try_from(at).ok()).unwrap_or(100));
                key.push(last.fate as u8);
            }
        }
    }

    fn key_of_flights(&self, model: &Model<'_>, actor: &Actor, execution: &Execution, key: &mut Vec<u8>) {
        key.push(253);
        let mut flying: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        for flight in model.flights.iter().filter(|flight| flight.actor == *actor) {
            let (id, running, old) = match &flight.stage {
                Stage::Waiting(permit) => (permit.id(), 0, u8::from(model.now > permit.expires_at())),
                Stage::Running(started) => (started.permit(), 1, 0),
            };
            let order = execution
                .outstanding
                .get(id)
                .map_or(0, |outstanding| outstanding.order);
            let mut bytes = vec![running, old];
            // Whether the permit came after each write that was not looked at, in every execution.
            for other in model.sessions[0].executions.values() {
                bytes.extend(
                    other
                        .pending
                        .iter()
                        .map(|pending| u8::from(order > pending.order)),
                );
            }
            flying.insert(self.index_of(&flight.call), bytes);
        }
        for (call, bytes) in flying {
            key.push(call);
            key.extend(bytes);
            key.push(252);
        }
    }

    fn index_of(&self, call: &Call) -> u8 {
        let at = self.calls.iter().position(|known| known == call);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(99)
    }

    fn index_of_resource(&self, id: &ResourceId) -> u8 {
        let at = self.resources.iter().position(|known| known.id == *id);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(99)
    }
}

/// What a call of this kind can see.
const fn readings(kind: ToolKind) -> &'static [Seen] {
    match kind {
        ToolKind::Read => &[Seen::Expected, Seen::Else, Seen::Changing],
        ToolKind::Resolve | ToolKind::Write => &[Seen::Nothing],
    }
}
