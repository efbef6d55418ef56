//! The whole question and the whole answer.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bound::Argument;
use crate::check::{Violation, check_plan};
use crate::conflict::{self, Conflict};
use crate::input::{Cluster, GuestId, Resource};
use crate::plan::{Action, MovePlan, Parallel, Placement, order};
use crate::problem::{Problem, apart_groups, offered, running_on};
use crate::search::{Limits, Meter, Outcome, Progress, Search, Stage};

/// How to search and plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// How long to search.
    pub limits: Limits,
    /// How much of the plan may run in parallel.
    pub parallel: Parallel,
}

/// What the search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// No placement has a lower cost, and none of the same cost is better balanced. Both are proven.
    Optimal,
    /// A placement that keeps every rule. How far it may be from the best is stated.
    Feasible,
    /// No placement keeps every rule. This is proven.
    Infeasible,
    /// Time ran out before a placement or a proof was found.
    Timeout,
}

/// One guest that gets a new host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// Whether it is migrated or started.
    pub action: Action,
    /// The guest.
    pub vmid: GuestId,
    /// Where it runs now, if it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where it will run.
    pub target: String,
}

/// A value of the objective, with the best that is possible as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// The value of this placement.
    pub value: u64,
    /// No placement has a lower value.
    pub bound: u64,
    /// Whether the value is the bound: the placement is proven best in this respect.
    pub proven: bool,
    /// Why no placement has a value below the bound.
    pub proof: String,
    /// When the search for this value ended, in milliseconds from the start.
    pub elapsed_ms: u64,
}

/// A share in hundredths of a percent, written as a percentage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "f64")]
pub struct Percent(pub u64);

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Two decimal places of a number this small survive the conversion.
        #[expect(
            clippy::cast_precision_loss,
            reason = "a display value; nothing is decided by it"
        )]
        serializer.serialize_f64(self.0 as f64 / 100.0)
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// What the search came to.
    pub status: Status,
    /// The host of each guest. Empty if there is no placement.
    pub assignment: Placement,
    /// The guests that get a new host, by identifier. The plan says in which order.
    pub actions: Vec<Move>,
    /// How many guests get a new host: migrations and starts.
    pub moves: u64,
    /// How many of them are migrated.
    pub migrations: u64,
    /// How many of them are started.
    pub starts: u64,
    /// The largest share of its RAM that guests use on one host.
    pub max_ram_percent: Percent,
    /// The lowest possible cost, as far as is known. With the default weights, the fewest moves.
    pub bound: u64,
    /// The cost of the moves, and its proof.
    pub cost: Option<Value>,
    /// The balance, in hundredths of a percent, and its proof.
    pub balance: Option<Value>,
    /// The order of the moves, if there is one.
    pub plan: Option<MovePlan>,
    /// Why there is no order.
    pub plan_problem: Option<String>,
    /// Why there is no placement.
    pub conflict: Option<Conflict>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

/// The independent checker refused what the solver or the planner produced. This is a defect of this crate; nothing of the
/// answer may be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the placement solver produced an invalid plan, which was discarded: {}", list(.0))]
pub struct Refused(pub Vec<Violation>);

fn list(violations: &[Violation]) -> String {
    violations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Finds where guests should run, and in which order to move them there. Every placement and plan that it returns has passed
/// the independent checker.
pub fn place(cluster: &Cluster, options: &Options) -> Result<Answer, Refused> {
    place_with(cluster, options, &mut |_| {})
}

/// Like [`place`], and tells the observer about each better placement on the way.
pub fn place_with(
    cluster: &Cluster,
    options: &Options,
    observer: &mut dyn FnMut(Progress),
) -> Result<Answer, Refused> {
    let meter = Meter::new(&options.limits);
    let groups = apart_groups(cluster);
    let problem = Problem::compile(cluster, &groups, &|_| true);
    // The rest of the time is for the plan and its check.
    let mut searching = meter.within(options.limits.time * 9 / 10);
    let outcome = Search::new(&problem, &options.limits, observer).run(&mut searching);
    let mut answer = Answer {
        status: Status::Timeout,
        assignment: Placement::new(),
        actions: Vec::new(),
        moves: 0,
        migrations: 0,
        starts: 0,
        max_ram_percent: Percent(0),
        bound: 0,
        cost: None,
        balance: None,
        plan: None,
        plan_problem: None,
        conflict: None,
        notes: notes(cluster),
        elapsed_ms: 0,
    };
    match outcome {
        Outcome::Unknown => {
            answer
                .notes
                .push("Time ran out before a placement was found. Allow more time.".to_owned());
        }
        Outcome::Infeasible => {
            answer.status = Status::Infeasible;
            let mut rest = meter.within(CONFLICT_TIME);
            answer.conflict = Some(conflict::explain(
                cluster,
                &groups,
                &mut rest,
                options.limits.seed,
            ));
        }
        Outcome::Placed { at, cost, balance } => {
            let proven = cost.proven() && balance.proven();
            answer.status = if proven { Status::Optimal } else { Status::Feasible };
            let spec = cluster.spec();
            for (unit, host) in problem.units.iter().zip(&at) {
                for guest in &unit.guests {
                    answer
                        .assignment
                        .insert(spec.vms[*guest].vmid, spec.hosts[*host].name.clone());
                }
            }
            fill_in(&mut answer, cluster, &cost, &balance);
            match order(cluster, &answer.assignment, options.parallel) {
                Ok(plan) => {
                    let wrong = check_plan(cluster, &answer.assignment, &plan);
                    if !wrong.is_empty() {
                        return Err(Refused(wrong));
                    }
                    answer.plan = Some(plan);
                }
                Err(no_order) => {
                    let wrong = crate::check::check_placement(cluster, &answer.assignment);
                    if !wrong.is_empty() {
                        return Err(Refused(wrong));
                    }
                    answer.plan_problem = Some(no_order.words);
                }
            }
        }
    }
    answer.elapsed_ms = milliseconds(meter.elapsed());
    Ok(answer)
}

/// A conflict is explained within this time, whatever the search took.
const CONFLICT_TIME: Duration = Duration::from_millis(800);

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn notes(cluster: &Cluster) -> Vec<String> {
    let spec = cluster.spec();
    let racks_matter =
        spec.use_rack_constraints || spec.anti_affinity.iter().any(|g| g.max_per_rack.is_some());
    let without: Vec<&str> = spec
        .hosts
        .iter()
        .filter(|h| h.rack.is_none())
        .map(|h| h.name.as_str())
        .collect();
    if racks_matter && !without.is_empty() {
        let names = without.join(", ");
        return vec![format!(
            "No rack is given for {names}; each of them counts as a rack of its own."
        )];
    }
    Vec::new()
}

fn fill_in(answer: &mut Answer, cluster: &Cluster, cost: &Stage, balance: &Stage) {
    let spec = cluster.spec();
    let mut guests: Vec<_> = spec.vms.iter().collect();
    guests.sort_by_key(|g| g.vmid);
    for guest in guests {
        let Some(target) = answer.assignment.get(&guest.vmid) else {
            continue;
        };
        let from = running_on(cluster, guest).map(|host| spec.hosts[host].name.clone());
        if from.as_ref() != Some(target) {
            let action = if from.is_some() {
                Action::Migrate
            } else {
                Action::Start
            };
            answer.actions.push(Move {
                action,
                vmid: guest.vmid,
                from,
                target: target.clone(),
            });
        }
    }
    answer.moves = answer.actions.len() as u64;
    answer.migrations = answer
        .actions
        .iter()
        .filter(|a| a.action == Action::Migrate)
        .count() as u64;
    answer.starts = answer.moves - answer.migrations;
    answer.max_ram_percent = max_ram_percent(cluster, &answer.assignment);
    answer.bound = cost.bound.unsigned_abs();
    answer.cost = Some(value(cost, "costs less"));
    answer.balance = Some(value(balance, "at this cost is better balanced"));
}

/// The largest share of its RAM that guests use on one host, rounded up.
pub fn max_ram_percent(cluster: &Cluster, placement: &Placement) -> Percent {
    let spec = cluster.spec();
    let share = |host: &crate::input::HostSpec| {
        let guests = spec
            .vms
            .iter()
            .filter(|g| placement.get(&g.vmid) == Some(&host.name));
        let used: u128 = guests.map(|g| u128::from(g.ram_mib)).sum();
        let offered = u128::from(offered(host)[0].unsigned_abs()).max(1);
        u64::try_from((used * 10_000).div_ceil(offered)).unwrap_or(u64::MAX)
    };
    Percent(spec.hosts.iter().map(share).max().unwrap_or(0))
}

fn value(stage: &Stage, better: &str) -> Value {
    let proof = match stage.by {
        None => format!("exact search: no placement below the bound {better}"),
        Some(Argument::Homeless) => {
            "counting: guests whose host is gone, draining or forbidden must move in every placement, and nothing else \
             raises the bound"
                .to_owned()
        }
        Some(Argument::Evictions) => {
            "counting: the guests of some hosts break a limit or a group's rule there, so some must leave in every placement"
                .to_owned()
        }
        Some(Argument::Packing { resource, size }) => packing_words(resource, size),
    };
    Value {
        value: stage.value.unsigned_abs(),
        bound: stage.bound.unsigned_abs(),
        proven: stage.proven(),
        proof,
        elapsed_ms: milliseconds(stage.at),
    }
}

fn packing_words(resource: Resource, size: i64) -> String {
    let size = resource.amount(size.unsigned_abs());
    format!(
        "packing: counted in pieces of {size}, the free {} of all hosts is too fragmented for the guests that need a place, so \
         more guests must move in every placement",
        resource.label()
    )
}
