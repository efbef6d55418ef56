//! The stages: bound, fast search, exact search, neighbourhoods; first for cost, then for balance.

use std::time::{Duration, Instant};

use crate::bound::{Argument, Bound, lower_bound};
use crate::exact::{self, Found};
use crate::local::{self, Stop};
use crate::problem::{Amounts, Problem};
use crate::random::Random;

/// Models with more choices than this are not given to exact search as a whole.
const MAX_CHOICES: usize = 60_000;
/// No placement may cost more than this: stands for "any cost".
const ANY_COST: i64 = i64::MAX / 4;

/// How long to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time for everything. The search uses nine tenths of it; the rest is for the plan.
    pub time: Duration,
    /// The part of the time that balance may use once the fewest moves are proven.
    pub balance_time: Duration,
    /// A limit that does not depend on the speed of the machine. With it, and enough time, the answer depends on the input
    /// and the seed alone.
    pub steps: Option<u64>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Whether the search without proof may be tried before exact search. Only tests switch it off.
    #[doc(hidden)]
    pub local: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            balance_time: Duration::from_secs(1),
            steps: None,
            seed: 1,
            local: true,
        }
    }
}

/// Counts steps and looks at the clock.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    started: Instant,
    deadline: Instant,
    left: u64,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let started = Instant::now();
        Self {
            started,
            deadline: started + limits.time,
            left: limits.steps.unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn out(&self) -> bool {
        self.left == 0 || Instant::now() >= self.deadline
    }

    /// The same meter with an earlier deadline.
    pub(crate) fn within(&self, time: Duration) -> Self {
        Self {
            deadline: self.deadline.min(Instant::now() + time),
            ..self.clone()
        }
    }

    /// Runs something that may take at most so many steps of this meter.
    fn lend<T>(&mut self, steps: u64, run: impl FnOnce(&mut dyn Stop) -> T) -> T {
        let mut part = Part {
            left: steps.min(self.left),
            deadline: self.deadline,
            spent: 0,
        };
        let result = run(&mut part);
        self.left = self.left.saturating_sub(part.spent);
        result
    }
}

struct Part {
    left: u64,
    deadline: Instant,
    spent: u64,
}

impl Stop for Part {
    fn stop(&mut self) -> bool {
        if self.left == 0 || Instant::now() >= self.deadline {
            return true;
        }
        self.left -= 1;
        self.spent += 1;
        false
    }
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) value: i64,
    pub(crate) bound: i64,
    /// The argument of the bound; `None` if exact search excluded everything below it.
    pub(crate) by: Option<Argument>,
    pub(crate) at: Duration,
}

impl Stage {
    pub(crate) fn proven(&self) -> bool {
        self.value == self.bound
    }
}

/// What the search found.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Placed {
        at: Vec<usize>,
        cost: Stage,
        balance: Stage,
    },
    Infeasible,
    /// Time ran out before a first placement.
    Unknown,
}

/// A step towards the answer, for callers that show progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The cost of the best placement so far.
    pub cost: i64,
    /// The bound on the cost so far.
    pub cost_bound: i64,
    /// The balance of the best placement so far, in hundredths of a percent.
    pub balance: i64,
    /// The time since the start.
    pub elapsed: Duration,
}

/// Whether a placement exists at all; `None` if the meter ran out.
pub(crate) fn feasible(problem: &Problem, meter: &mut Meter, seed: u64) -> Option<bool> {
    if lower_bound(problem, &problem.caps) == Bound::Infeasible {
        return Some(false);
    }
    let mut random = Random::new(seed);
    let quick = 200 + 4 * problem.units.len();
    if let Some(at) = first_placement(problem, &problem.caps, 4, quick, &mut random, meter)
        && at.len() == problem.units.len()
    {
        return Some(true);
    }
    match meter.lend(u64::MAX, |stop| {
        exact::search(problem, &problem.caps, ANY_COST, &[], None, stop)
    }) {
        Found::Placement(_) => Some(true),
        Found::Nothing => Some(false),
        Found::Unknown => None,
    }
}

fn first_placement(
    problem: &Problem,
    caps: &[Amounts],
    attempts: usize,
    steps: usize,
    random: &mut Random,
    meter: &mut Meter,
) -> Option<Vec<usize>> {
    for attempt in 0..attempts {
        let steps = steps << attempt.min(8);
        let found = meter.lend(u64::MAX, |stop| {
            local::construct(problem, caps, ANY_COST, steps, random, stop)
        });
        if found.is_some() {
            return found;
        }
        if meter.out() {
            return None;
        }
    }
    None
}

pub(crate) struct Search<'a> {
    problem: &'a Problem,
    limits: &'a Limits,
    random: Random,
    observer: &'a mut dyn FnMut(Progress),
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        problem: &'a Problem,
        limits: &'a Limits,
        observer: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            problem,
            limits,
            random: Random::new(limits.seed),
            observer,
        }
    }

    /// Both stages.
    pub(crate) fn run(&mut self, meter: &mut Meter) -> Outcome {
        let problem = self.problem;
        let (mut bound, mut by) = match lower_bound(problem, &problem.caps) {
            Bound::Infeasible => return Outcome::Infeasible,
            Bound::Cost { cost, by } => (cost, Some(by)),
        };
        let mut at = match self.first(meter) {
            Found::Placement(at) => at,
            Found::Nothing => return Outcome::Infeasible,
            Found::Unknown => return Outcome::Unknown,
        };
        self.cheapen(&mut at, &mut bound, &mut by, meter);
        let cost = Stage {
            value: problem.cost(&at),
            bound,
            by,
            at: meter.elapsed(),
        };
        let mut rest = meter.within(self.limits.balance_time);
        let balance = self.balance(&mut at, cost.value, &mut rest);
        Outcome::Placed { at, cost, balance }
    }

    fn report(&mut self, at: &[usize], cost_bound: i64, meter: &Meter) {
        let (cost, balance) = (self.problem.cost(at), self.problem.balance(at));
        (self.observer)(Progress {
            cost,
            cost_bound,
            balance,
            elapsed: meter.elapsed(),
        });
    }

    fn first(&mut self, meter: &mut Meter) -> Found {
        let problem = self.problem;
        let mut steps = 200 + 4 * problem.units.len();
        let mut polls = 2_000;
        while !meter.out() {
            if self.limits.local
                && let Some(at) = first_placement(problem, &problem.caps, 4, steps, &mut self.random, meter)
            {
                return Found::Placement(at);
            }
            if exact::choices(problem) <= MAX_CHOICES {
                let found = meter.lend(polls, |stop| {
                    exact::search(problem, &problem.caps, ANY_COST, &[], None, stop)
                });
                if found != Found::Unknown {
                    return found;
                }
            }
            steps *= 2;
            polls *= 4;
        }
        Found::Unknown
    }

    /// Lowers the cost and raises its bound until they meet or the meter runs out.
    fn cheapen(
        &mut self,
        at: &mut Vec<usize>,
        bound: &mut i64,
        by: &mut Option<Argument>,
        meter: &mut Meter,
    ) {
        let problem = self.problem;
        let whole = exact::choices(problem) <= MAX_CHOICES;
        let mut steps = 4_000;
        let mut polls = 4_000;
        self.report(at, *bound, meter);
        while problem.cost(at) > *bound && !meter.out() {
            if self.limits.local {
                let before = problem.cost(at);
                let random = &mut self.random;
                meter.lend(steps, |stop| {
                    local::improve(problem, &problem.caps, at, *bound, random, stop);
                });
                if problem.cost(at) < before {
                    self.report(at, *bound, meter);
                } else if whole {
                    // Local search has found what it finds easily: the time is better spent on the proof.
                    steps /= 2;
                }
            }
            if whole {
                // From below: each refusal raises the bound, a placement ends the stage.
                let mut limit = *bound;
                while limit < problem.cost(at) && !meter.out() {
                    match meter.lend(polls, |stop| {
                        exact::search(problem, &problem.caps, limit, at, None, stop)
                    }) {
                        Found::Placement(found) => {
                            *at = found;
                            self.report(at, *bound, meter);
                        }
                        Found::Nothing => {
                            (*bound, *by) = (limit + 1, None);
                            self.report(at, *bound, meter);
                        }
                        Found::Unknown => break,
                    }
                    limit = *bound;
                }
                let cost = problem.cost(at);
                if cost - 1 > *bound {
                    match meter.lend(polls, |stop| {
                        exact::search(problem, &problem.caps, cost - 1, at, None, stop)
                    }) {
                        Found::Placement(found) => {
                            *at = found;
                            self.report(at, *bound, meter);
                        }
                        Found::Nothing => (*bound, *by) = (cost, None),
                        Found::Unknown => {}
                    }
                }
            }
            if problem.cost(at) > *bound {
                self.neighbourhoods(at, *bound, meter);
            }
            steps = (steps * 2).min(1 << 20);
            polls *= 4;
        }
    }

    /// Frees the guests of a few hosts and searches among their placements exactly.
    fn neighbourhoods(&mut self, at: &mut Vec<usize>, bound: i64, meter: &mut Meter) {
        let problem = self.problem;
        for _ in 0..12 {
            let cost = problem.cost(at);
            if cost <= bound || meter.out() {
                return;
            }
            let away: Vec<usize> = (0..problem.units.len())
                .filter(|u| problem.units[*u].cost[at[*u]] > problem.units[*u].min_cost)
                .collect();
            if away.is_empty() {
                return;
            }
            // The homes of some guests that moved, where they are now, and a few hosts at random.
            let mut hosts = vec![false; problem.hosts];
            for _ in 0..2 {
                let unit = away[self.random.below(away.len())];
                hosts[at[unit]] = true;
                if let Some(home) = problem.units[unit].home {
                    hosts[home] = true;
                }
            }
            for _ in 0..3 {
                let host = self.random.below(problem.hosts);
                hosts[host] = true;
            }
            let free: Vec<bool> = at.iter().map(|h| hosts[*h]).collect();
            let found = meter.lend(1_500, |stop| {
                exact::search(problem, &problem.caps, cost - 1, at, Some(&free), stop)
            });
            if let Found::Placement(found) = found {
                *at = found;
                self.report(at, bound, meter);
            }
        }
    }

    /// Lowers the balance at a fixed cost and raises its bound.
    fn balance(&mut self, at: &mut Vec<usize>, cost: i64, meter: &mut Meter) -> Stage {
        let problem = self.problem;
        let mut best = problem.balance(at);
        let (mut bound, mut by) = balance_bound(problem, cost, best);
        let mut polls = 1_000;
        let mut steps = 400 + 2 * problem.units.len();
        // Between `bound` and `floor` nothing was found, and nothing was excluded either.
        let mut floor = bound;
        while bound < best && !meter.out() {
            let target = floor + (best - 1 - floor) / 2;
            let caps = problem.caps_at(target);
            match self.balanced(&caps, at, cost, (steps, polls), meter) {
                Found::Placement(found) => {
                    *at = found;
                    best = problem.balance(at);
                    let cost_bound = cost;
                    self.report(at, cost_bound, meter);
                }
                Found::Nothing => {
                    (bound, by) = (target + 1, None);
                    floor = floor.max(bound);
                }
                Found::Unknown => floor = target + 1,
            }
            if floor >= best {
                floor = bound;
                polls *= 4;
                steps *= 2;
            }
        }
        Stage {
            value: best,
            bound,
            by,
            at: meter.elapsed(),
        }
    }

    fn balanced(
        &mut self,
        caps: &[Amounts],
        at: &[usize],
        cost: i64,
        (steps, polls): (usize, u64),
        meter: &mut Meter,
    ) -> Found {
        let problem = self.problem;
        match lower_bound(problem, caps) {
            Bound::Infeasible => return Found::Nothing,
            Bound::Cost { cost: least, .. } if least > cost => return Found::Nothing,
            Bound::Cost { .. } => {}
        }
        if self.limits.local {
            for _ in 0..3 {
                let random = &mut self.random;
                let found = meter.lend(u64::MAX, |stop| {
                    local::tighten(problem, caps, at, cost, steps, random, stop)
                });
                if let Some(found) = found {
                    return Found::Placement(found);
                }
            }
        }
        if exact::choices(problem) > MAX_CHOICES {
            return Found::Unknown;
        }
        meter.lend(polls, |stop| exact::search(problem, caps, cost, at, None, stop))
    }
}

/// The lowest balance that the bounds do not exclude at this cost.
fn balance_bound(problem: &Problem, cost: i64, best: i64) -> (i64, Option<Argument>) {
    let (mut low, mut high) = (0, best);
    let mut by = Argument::Homeless;
    while low < high {
        let middle = low + (high - low) / 2;
        match lower_bound(problem, &problem.caps_at(middle)) {
            Bound::Cost {
                cost: least,
                by: argument,
            } if least <= cost => {
                high = middle;
                by = argument;
            }
            _ => low = middle + 1,
        }
    }
    (low, Some(by))
}
