//! Fast search without proof: place what needs a place, eject what is in the way, bring home what need not have moved.
//!
//! It works for any number of hosts, finds the first placement that the exact search improves, and serves alone where exact
//! search is hopeless. It is deterministic for a seed and a number of steps.

use crate::problem::{Amounts, Problem, UNLIMITED, add, subtract};
use crate::random::Random;

const NOWHERE: usize = usize::MAX;

/// When to stop: polled before each step.
pub(crate) trait Stop {
    fn stop(&mut self) -> bool;
}

impl<F: FnMut() -> bool> Stop for F {
    fn stop(&mut self) -> bool {
        self()
    }
}

/// An assignment of some units, with what it uses.
#[derive(Clone)]
pub(crate) struct State<'a> {
    problem: &'a Problem,
    caps: &'a [Amounts],
    at: Vec<usize>,
    loads: Vec<Amounts>,
    counts: Vec<Vec<u32>>,
    on: Vec<Vec<usize>>,
    cost: i64,
    penalty: Vec<i64>,
    size: Vec<i64>,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem, caps: &'a [Amounts]) -> Self {
        let mut totals = [0_i64; 4];
        for cap in caps {
            for (total, cap) in totals.iter_mut().zip(cap) {
                *total = (*total + *cap).min(UNLIMITED);
            }
        }
        let share = |demand: &Amounts| -> i64 {
            let parts = demand.iter().zip(&totals).map(|(d, total)| {
                i64::try_from(i128::from(*d) * 1_000_000 / i128::from((*total).max(1))).unwrap_or(0)
            });
            parts.max().unwrap_or(0).max(1)
        };
        Self {
            problem,
            caps,
            at: vec![NOWHERE; problem.units.len()],
            loads: vec![[0; 4]; problem.hosts],
            counts: problem.spreads.iter().map(|s| vec![0; s.domains]).collect(),
            on: vec![Vec::new(); problem.hosts],
            cost: 0,
            penalty: vec![1; problem.units.len()],
            size: problem.units.iter().map(|u| share(&u.demand)).collect(),
        }
    }

    fn put(&mut self, unit: usize, host: usize) {
        let data = &self.problem.units[unit];
        add(&mut self.loads[host], &data.demand);
        for (spread, count) in &data.spreads {
            self.counts[*spread][self.problem.spreads[*spread].domain_of[host]] += count;
        }
        self.on[host].push(unit);
        self.at[unit] = host;
        self.cost += data.cost[host];
    }

    fn take(&mut self, unit: usize) {
        let host = self.at[unit];
        let data = &self.problem.units[unit];
        subtract(&mut self.loads[host], &data.demand);
        for (spread, count) in &data.spreads {
            self.counts[*spread][self.problem.spreads[*spread].domain_of[host]] -= count;
        }
        self.on[host].retain(|u| *u != unit);
        self.at[unit] = NOWHERE;
        self.cost -= data.cost[host];
    }

    fn room(&self, unit: usize, host: usize) -> bool {
        let demand = &self.problem.units[unit].demand;
        (0..4).all(|d| self.loads[host][d] + demand[d] <= self.caps[host][d])
    }

    fn apart(&self, unit: usize, host: usize) -> bool {
        self.problem.units[unit].spreads.iter().all(|(spread, count)| {
            let data = &self.problem.spreads[*spread];
            self.counts[*spread][data.domain_of[host]] + count <= data.max
        })
    }

    fn fits(&self, unit: usize, host: usize) -> bool {
        self.room(unit, host) && self.apart(unit, host)
    }

    /// How full a host would be with a unit, in millionths of its tightest resource.
    fn fullness(&self, unit: usize, host: usize) -> i64 {
        let demand = &self.problem.units[unit].demand;
        (0..4)
            .filter(|d| self.caps[host][*d] < UNLIMITED)
            .map(|d| {
                let used = i128::from(self.loads[host][d] + demand[d]) * 1_000_000;
                i64::try_from(used / i128::from(self.caps[host][d].max(1))).unwrap_or(i64::MAX)
            })
            .max()
            .unwrap_or(0)
    }

    /// The cheapest host that has room, and the fullest of these.
    fn best_fit(&self, unit: usize, random: &mut Random, spread_out: bool) -> Option<usize> {
        let data = &self.problem.units[unit];
        let fitting = data.allowed.iter().copied().filter(|h| self.fits(unit, *h));
        fitting.min_by_key(|h| {
            let fullness = self.fullness(unit, *h);
            (
                data.cost[*h],
                if spread_out { fullness } else { -fullness },
                random.next(),
            )
        })
    }

    /// The units to remove so that `unit` fits on `host`, with a score that is lower for less harm.
    fn ejection(
        &self,
        unit: usize,
        host: usize,
        keep: usize,
        random: &mut Random,
    ) -> Option<(i64, Vec<usize>)> {
        let movable = |u: usize| u != keep && self.problem.units[u].allowed.len() > 1;
        let harm = |u: usize| {
            let data = &self.problem.units[u];
            let away = data.cost[self.at[u]] > data.min_cost;
            let leave = if away || data.home.is_none() {
                0
            } else {
                data.leave_cost.min(1_000)
            };
            self.penalty[u] * (4 + 8 * self.size[u] / self.size[unit]) + 16 * leave
        };
        let data = &self.problem.units[unit];
        let mut out: Vec<usize> = Vec::new();
        let mut score = 0;
        let mut free: Amounts =
            std::array::from_fn(|d| self.caps[host][d] - self.loads[host][d] - data.demand[d]);
        for (index, count) in &data.spreads {
            let spread = &self.problem.spreads[*index];
            let domain = spread.domain_of[host];
            let leaving = |out: &[usize]| -> u32 {
                let counted = out.iter().filter(|u| spread.domain_of[self.at[**u]] == domain);
                counted
                    .filter_map(|u| self.problem.units[*u].spreads.iter().find(|(s, _)| s == index))
                    .map(|(_, c)| c)
                    .sum()
            };
            while self.counts[*index][domain] + count > spread.max + leaving(&out) {
                let members = (0..self.problem.hosts)
                    .filter(|h| spread.domain_of[*h] == domain)
                    .flat_map(|h| &self.on[h]);
                let next = members
                    .copied()
                    .filter(|u| movable(*u) && !out.contains(u))
                    .filter(|u| self.problem.units[*u].spreads.iter().any(|(s, _)| s == index))
                    .min_by_key(|u| (harm(*u), random.next()))?;
                score += harm(next);
                if self.at[next] == host {
                    add(&mut free, &self.problem.units[next].demand);
                }
                out.push(next);
            }
        }
        while free.iter().any(|f| *f < 0) {
            let covers = |u: usize| (0..4).all(|d| free[d] + self.problem.units[u].demand[d] >= 0);
            let helps = |u: usize| (0..4).any(|d| free[d] < 0 && self.problem.units[u].demand[d] > 0);
            let candidates = || {
                self.on[host]
                    .iter()
                    .copied()
                    .filter(|u| movable(*u) && !out.contains(u) && helps(*u))
            };
            let one = candidates()
                .filter(|u| covers(*u))
                .min_by_key(|u| (harm(*u), random.next()));
            let next = match one {
                Some(next) => next,
                None => candidates().max_by_key(|u| (self.size[*u] * 64 / harm(*u).max(1), random.next()))?,
            };
            score += harm(next);
            add(&mut free, &self.problem.units[next].demand);
            out.push(next);
            if out.len() > 6 {
                return None;
            }
        }
        Some((score, out))
    }

    /// Finds a host for each unit of the pool, ejecting others where nothing is free. Gives up past `limit`.
    fn settle(
        &mut self,
        mut pool: Vec<usize>,
        limit: i64,
        steps: usize,
        random: &mut Random,
        stop: &mut dyn Stop,
    ) -> bool {
        for _ in 0..steps {
            if pool.is_empty() {
                return true;
            }
            if stop.stop() {
                return false;
            }
            let pending: i64 = pool.iter().map(|u| self.problem.units[*u].min_cost).sum();
            if self.cost + pending > limit {
                return false;
            }
            let Some(position) = (0..pool.len()).max_by_key(|p| (self.size[pool[*p]], random.next())) else {
                return true;
            };
            let unit = pool.swap_remove(position);
            let spread_out = random.below(4) == 0;
            if let Some(host) = self.best_fit(unit, random, spread_out) {
                self.put(unit, host);
                continue;
            }
            self.penalty[unit] = (self.penalty[unit] + 1).min(1 << 20);
            let problem = self.problem;
            let data = &problem.units[unit];
            let mut best: Option<(i64, usize, Vec<usize>)> = None;
            for host in &data.allowed {
                if let Some((score, out)) = self.ejection(unit, *host, unit, random) {
                    let score = score + 16 * (data.cost[*host] - data.min_cost).min(1_000);
                    let score = score * 8 + i64::try_from(random.below(16)).unwrap_or(0);
                    if best.as_ref().is_none_or(|(known, _, _)| score < *known) {
                        best = Some((score, *host, out));
                    }
                }
            }
            let Some((_, host, out)) = best else {
                return false;
            };
            for other in &out {
                self.take(*other);
            }
            self.put(unit, host);
            pool.extend(out);
        }
        pool.is_empty()
    }
}

/// Looks for a placement that costs at most `limit`.
pub(crate) fn construct(
    problem: &Problem,
    caps: &[Amounts],
    limit: i64,
    steps: usize,
    random: &mut Random,
    stop: &mut dyn Stop,
) -> Option<Vec<usize>> {
    let mut state = State::new(problem, caps);
    let mut pool = Vec::new();
    let mut order: Vec<usize> = (0..problem.units.len()).collect();
    // Small units first: where a host is too full, the few largest leave.
    order.sort_by_key(|u| state.size[*u]);
    for unit in order {
        match problem.units[unit].home {
            Some(home) if state.fits(unit, home) => state.put(unit, home),
            _ => pool.push(unit),
        }
    }
    state.settle(pool, limit, steps, random, stop).then_some(state.at)
}

/// Looks for a cheaper placement by sending units home and finding new places for what was in the way, until `good_enough`
/// is reached or `stop` says so.
pub(crate) fn improve(
    problem: &Problem,
    caps: &[Amounts],
    at: &mut Vec<usize>,
    good_enough: i64,
    random: &mut Random,
    stop: &mut dyn Stop,
) {
    let mut current = State::new(problem, caps);
    at.iter()
        .enumerate()
        .for_each(|(unit, host)| current.put(unit, *host));
    let mut best = current.cost;
    while best > good_enough && !stop.stop() {
        let mut away: Vec<usize> = (0..problem.units.len())
            .filter(|u| problem.units[*u].cost[current.at[*u]] > problem.units[*u].min_cost)
            .collect();
        if away.is_empty() {
            return;
        }
        random.shuffle(&mut away);
        let mut trial = current.clone();
        let returning = 1 + random.below(3.min(away.len()));
        let mut pool = Vec::new();
        for unit in &away[..returning] {
            if trial.at[*unit] == NOWHERE {
                continue;
            }
            trial.take(*unit);
            let data = &problem.units[*unit];
            let home = data.allowed.iter().copied().min_by_key(|h| data.cost[*h]);
            let Some(home) = home else { continue };
            match trial.ejection(*unit, home, *unit, random) {
                Some((_, out)) => {
                    for other in out {
                        trial.take(other);
                        pool.push(other);
                    }
                    trial.put(*unit, home);
                }
                None => pool.push(*unit),
            }
        }
        // Units that moved anyway may move elsewhere at no cost: shake some of them too.
        for _ in 0..random.below(4) {
            let floating = random.below(problem.units.len());
            let data = &problem.units[floating];
            if trial.at[floating] != NOWHERE
                && data.cost[trial.at[floating]] == data.min_cost
                && data.home.is_none()
            {
                trial.take(floating);
                pool.push(floating);
            }
        }
        let sideways = random.below(8) == 0;
        let limit = if sideways {
            current.cost
        } else {
            current.cost.min(best) - 1 + i64::from(random.below(3) == 0)
        };
        if trial.settle(pool, limit, 120, random, stop) && trial.cost <= limit {
            current = trial;
            if current.cost < best {
                best = current.cost;
                at.clone_from(&current.at);
            }
        }
    }
}

/// Looks for a placement within tighter limits, near one that is known, that costs at most `limit`.
pub(crate) fn tighten(
    problem: &Problem,
    caps: &[Amounts],
    at: &[usize],
    limit: i64,
    steps: usize,
    random: &mut Random,
    stop: &mut dyn Stop,
) -> Option<Vec<usize>> {
    let mut state = State::new(problem, caps);
    at.iter()
        .enumerate()
        .for_each(|(unit, host)| state.put(unit, *host));
    let mut pool = Vec::new();
    for (host, cap) in caps.iter().enumerate() {
        while (0..4).any(|d| state.loads[host][d] > cap[d]) {
            let over = |u: usize| {
                (0..4)
                    .map(|d| (state.loads[host][d] - problem.units[u].demand[d] - cap[d]).max(0))
                    .sum::<i64>()
            };
            let leaving = |u: usize| {
                let unit = &problem.units[u];
                if unit.home == Some(host) {
                    unit.leave_cost
                } else {
                    0
                }
            };
            let movable = state.on[host]
                .iter()
                .copied()
                .filter(|u| problem.units[*u].allowed.len() > 1);
            let next = movable.min_by_key(|u| (leaving(*u), over(*u), state.size[*u], random.next()))?;
            state.take(next);
            pool.push(next);
        }
    }
    (state.settle(pool, limit, steps, random, stop) && state.cost <= limit).then_some(state.at)
}
