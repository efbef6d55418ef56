//! Exact search: either a placement within the limits, or the certainty that there is none.
//!
//! Every unit that has a home starts there. The search places the units that have none, one at a time, the one with the fewest
//! possible hosts first. Placing a unit may overfill a host; then one of the units that are still free to leave it must leave,
//! and the search branches on which. A branch is given up when the packing argument of [`crate::bound`] shows that the rest
//! does not fit within the remaining cost, or when the same situation was given up before.
//!
//! **Complete.** Take any placement within the limits. Follow the branches that place units where it has them and evict units
//! that it has elsewhere. Whenever a host is overfilled along that path, one of the units that may still leave is elsewhere in
//! that placement, because the placement itself fits. So the path ends in a placement that differs from the given one only by
//! units that stayed home for less cost.

use std::collections::HashSet;

use crate::local::Stop;
use crate::problem::{Amounts, Problem, UNLIMITED, add, subtract};

/// At most this many sizes of each resource are used to prune.
const MAX_SIZES: usize = 24;
/// Beyond this many evictions the packing argument is not tried: it would cost more than it saves.
const MAX_EVICTIONS: usize = 24;
/// After this many trials, sizes that never pruned are no longer tried.
const TRIALS: u32 = 1_000;
/// How many failed situations are remembered.
const MAX_REMEMBERED: usize = 1 << 20;

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A host for every unit.
    Placement(Vec<usize>),
    /// There is none.
    Nothing,
    /// The search was stopped.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// At home, and may still be evicted.
    Loose,
    /// Where it is for good, in this branch.
    Fixed,
    /// Without a host.
    Pool,
}

/// Where a limit may have been exceeded.
#[derive(Debug, Clone, Copy)]
enum Check {
    Host(usize),
    Domain(usize, usize),
}

/// Searches for a placement with `cost <= limit`. Units that `free` leaves out stay where `near` has them.
pub(crate) fn search(
    problem: &Problem,
    caps: &[Amounts],
    limit: i64,
    near: &[usize],
    free: Option<&[bool]>,
    stop: &mut dyn Stop,
) -> Found {
    let Some(mut search) = Search::new(problem, caps, limit, near, free, stop) else {
        return Found::Nothing;
    };
    let hosts = (0..problem.hosts).map(Check::Host);
    let domains = problem
        .spreads
        .iter()
        .enumerate()
        .flat_map(|(s, spread)| (0..spread.domains).map(move |d| Check::Domain(s, d)));
    let everything: Vec<Check> = hosts.chain(domains).collect();
    match search.descend(&everything) {
        Verdict::Found => Found::Placement(search.at),
        Verdict::Nothing => Found::Nothing,
        Verdict::Stopped => Found::Unknown,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Found,
    Nothing,
    Stopped,
}

struct Search<'a> {
    problem: &'a Problem,
    caps: &'a [Amounts],
    stop: &'a mut dyn Stop,
    status: Vec<Status>,
    at: Vec<usize>,
    loads: Vec<Amounts>,
    counts: Vec<Vec<u32>>,
    /// The units that started on each host.
    homes: Vec<Vec<usize>>,
    pool: Vec<usize>,
    /// What may still be spent beyond what is charged.
    budget: i64,
    /// What each unit was charged beyond its lowest cost when it was evicted.
    charged: Vec<i64>,
    cheapest_leave: i64,
    /// The sizes for the packing argument, by resource, and whether they ever pruned. The one that pruned last comes first.
    sizes: Vec<(usize, i64, bool)>,
    /// How often the packing argument was tried.
    trials: u32,
    /// Units with equal numbers may be exchanged.
    class: Vec<u64>,
    usable: Vec<bool>,
    /// The resources that some host limits.
    limited: [bool; 4],
    key: u128,
    failed: HashSet<u128>,
}

impl<'a> Search<'a> {
    fn new(
        problem: &'a Problem,
        caps: &'a [Amounts],
        limit: i64,
        near: &[usize],
        free: Option<&[bool]>,
        stop: &'a mut dyn Stop,
    ) -> Option<Self> {
        let count = problem.units.len();
        let mut usable = vec![false; problem.hosts];
        problem
            .units
            .iter()
            .flat_map(|u| &u.allowed)
            .for_each(|h| usable[*h] = true);
        let mut search = Self {
            problem,
            caps,
            stop,
            status: vec![Status::Pool; count],
            at: vec![0; count],
            loads: vec![[0; 4]; problem.hosts],
            counts: problem.spreads.iter().map(|s| vec![0; s.domains]).collect(),
            homes: vec![Vec::new(); problem.hosts],
            pool: Vec::new(),
            budget: limit,
            charged: vec![0; count],
            cheapest_leave: i64::MAX,
            sizes: sizes(problem),
            trials: 0,
            class: classes(problem),
            usable,
            limited: std::array::from_fn(|d| problem.caps.iter().any(|cap| cap[d] < UNLIMITED)),
            key: 0,
            failed: HashSet::new(),
        };
        for (index, unit) in problem.units.iter().enumerate() {
            if free.is_some_and(|free| !free[index]) {
                search.budget -= unit.cost[near[index]];
                search.occupy(index, near[index]);
                search.set_status(index, Status::Fixed);
                continue;
            }
            search.budget -= unit.min_cost;
            if let Some(home) = unit.home {
                search.occupy(index, home);
                let movable = unit.leave_cost < UNLIMITED;
                search.set_status(index, if movable { Status::Loose } else { Status::Fixed });
                search.homes[home].push(index);
                search.cheapest_leave = search.cheapest_leave.min(unit.leave_cost);
            } else {
                search.set_status(index, Status::Pool);
                search.pool.push(index);
            }
        }
        (search.budget >= 0).then_some(search)
    }

    fn set_status(&mut self, unit: usize, status: Status) {
        self.status[unit] = status;
        self.key = self.key.wrapping_add(self.mark(unit));
    }

    fn change(&mut self, unit: usize, status: Status, charged: i64) {
        self.key = self.key.wrapping_sub(self.mark(unit));
        self.charged[unit] = charged;
        self.set_status(unit, status);
    }

    /// What a unit adds to the description of a situation. A fixed unit without a group shows in its host's load alone.
    fn mark(&self, unit: usize) -> u128 {
        let class = self.class[unit];
        match self.status[unit] {
            Status::Loose => mix(1, class, 0),
            Status::Pool => mix(2, class, u64::from(self.charged[unit] > 0)),
            Status::Fixed if self.problem.units[unit].spreads.is_empty() => 0,
            Status::Fixed => mix(3, class, self.at[unit] as u64),
        }
    }

    fn situation(&self) -> u128 {
        let budget = mix(4, self.budget.unsigned_abs(), 0);
        let loads = self.loads.iter().enumerate().flat_map(|(host, load)| {
            load.iter()
                .enumerate()
                .map(move |(d, amount)| mix(5 + d as u64, host as u64, amount.unsigned_abs()))
        });
        loads.fold(self.key.wrapping_add(budget), u128::wrapping_add)
    }

    fn occupy(&mut self, unit: usize, host: usize) {
        let data = &self.problem.units[unit];
        add(&mut self.loads[host], &data.demand);
        for (spread, count) in &data.spreads {
            self.counts[*spread][self.problem.spreads[*spread].domain_of[host]] += count;
        }
        self.at[unit] = host;
    }

    fn vacate(&mut self, unit: usize) {
        let host = self.at[unit];
        let data = &self.problem.units[unit];
        subtract(&mut self.loads[host], &data.demand);
        for (spread, count) in &data.spreads {
            self.counts[*spread][self.problem.spreads[*spread].domain_of[host]] -= count;
        }
    }

    fn descend(&mut self, checks: &[Check]) -> Verdict {
        if self.stop.stop() {
            return Verdict::Stopped;
        }
        if self.hopeless() {
            return Verdict::Nothing;
        }
        if let Some(leavers) = checks.iter().find_map(|check| self.leavers(*check)) {
            return self.evict_one(&leavers, checks);
        }
        if self.pool.is_empty() {
            return Verdict::Found;
        }
        let rooms = self.rooms();
        let (position, options) = self.scarcest(&rooms);
        if options == 0 {
            return Verdict::Nothing;
        }
        let situation = self.situation();
        if self.failed.contains(&situation) {
            return Verdict::Nothing;
        }
        let verdict = self.place_one(position, &rooms);
        if verdict == Verdict::Nothing && self.failed.len() < MAX_REMEMBERED {
            self.failed.insert(situation);
        }
        verdict
    }

    /// If the limit is exceeded, the units of which at least one must leave.
    fn leavers(&self, check: Check) -> Option<Vec<usize>> {
        let loose =
            |u: &usize| self.status[*u] == Status::Loose && self.problem.units[*u].leave_cost <= self.budget;
        let mut leavers: Vec<usize> = match check {
            Check::Host(host) => {
                let dimension = (0..4).find(|d| self.loads[host][*d] > self.caps[host][*d])?;
                let excess = self.loads[host][dimension] - self.caps[host][dimension];
                let demand = |u: &usize| self.problem.units[*u].demand[dimension];
                let mut found: Vec<usize> = self.homes[host]
                    .iter()
                    .copied()
                    .filter(loose)
                    .filter(|u| demand(u) > 0)
                    .collect();
                // The smallest that suffices first, then the largest that do not.
                found.sort_by_key(|u| {
                    if demand(u) >= excess {
                        (0, demand(u))
                    } else {
                        (1, -demand(u))
                    }
                });
                found
            }
            Check::Domain(index, domain) => {
                let spread = &self.problem.spreads[index];
                if self.counts[index][domain] <= spread.max {
                    return None;
                }
                let hosts = (0..self.problem.hosts).filter(|h| spread.domain_of[*h] == domain);
                hosts
                    .flat_map(|h| self.homes[h].iter().copied())
                    .filter(loose)
                    .filter(|u| self.problem.units[*u].spreads.iter().any(|(s, _)| *s == index))
                    .collect()
            }
        };
        leavers.sort_by_key(|u| self.problem.units[*u].leave_cost);
        Some(leavers)
    }

    fn evict_one(&mut self, leavers: &[usize], checks: &[Check]) -> Verdict {
        let mut verdict = Verdict::Nothing;
        let mut staying = 0;
        for unit in leavers {
            let leave_cost = self.problem.units[*unit].leave_cost;
            self.vacate(*unit);
            self.change(*unit, Status::Pool, leave_cost);
            self.pool.push(*unit);
            self.budget -= leave_cost;
            verdict = self.descend(checks);
            if verdict == Verdict::Found {
                return verdict;
            }
            self.budget += leave_cost;
            self.pool.retain(|u| u != unit);
            self.change(*unit, Status::Loose, 0);
            let home = self.problem.units[*unit].home.unwrap_or(self.at[*unit]);
            self.occupy(*unit, home);
            if verdict == Verdict::Stopped {
                break;
            }
            // From here on, this one stays: the placements in which it leaves were all tried.
            self.change(*unit, Status::Fixed, 0);
            staying += 1;
        }
        for unit in &leavers[..staying] {
            self.change(*unit, Status::Loose, 0);
        }
        verdict
    }

    /// The room that evictions within the budget could add to a host, at most.
    fn releasable(&self, host: usize) -> Amounts {
        let mut most = [0_i64; 4];
        if self.budget < self.cheapest_leave {
            return most;
        }
        let evictions = usize::try_from(self.budget / self.cheapest_leave.max(1)).unwrap_or(usize::MAX);
        let loose = || {
            self.homes[host]
                .iter()
                .filter(|u| self.status[**u] == Status::Loose)
        };
        for (dimension, most) in most.iter_mut().enumerate().filter(|(d, _)| self.limited[*d]) {
            let mut demands: Vec<i64> = loose()
                .map(|u| self.problem.units[*u].demand[dimension])
                .collect();
            if demands.len() > evictions {
                demands.sort_unstable_by(|a, b| b.cmp(a));
                demands.truncate(evictions);
            }
            *most = demands.iter().sum();
        }
        most
    }

    fn possible(&self, unit: usize, host: usize, room: &Amounts) -> bool {
        let data = &self.problem.units[unit];
        if data.cost[host] - data.min_cost - self.charged[unit] > self.budget
            || (self.charged[unit] > 0 && data.home == Some(host))
            || (0..4).any(|d| data.demand[d] > room[d])
        {
            return false;
        }
        data.spreads.iter().all(|(index, count)| {
            let spread = &self.problem.spreads[*index];
            let domain = spread.domain_of[host];
            self.counts[*index][domain] + count <= spread.max || {
                let hosts = (0..self.problem.hosts).filter(|h| spread.domain_of[*h] == domain);
                hosts.flat_map(|h| &self.homes[h]).any(|u| {
                    self.status[*u] == Status::Loose
                        && self.problem.units[*u].leave_cost <= self.budget
                        && self.problem.units[*u].spreads.iter().any(|(s, _)| s == index)
                })
            }
        })
    }

    fn rooms(&self) -> Vec<Amounts> {
        (0..self.problem.hosts)
            .map(|host| {
                let released = self.releasable(host);
                std::array::from_fn(|d| self.caps[host][d] - self.loads[host][d] + released[d])
            })
            .collect()
    }

    /// The position in the pool of the unit with the fewest possible hosts, and of these the largest, with their number.
    fn scarcest(&self, rooms: &[Amounts]) -> (usize, usize) {
        let mut best = (usize::MAX, 0);
        for (position, unit) in self.pool.iter().enumerate() {
            let data = &self.problem.units[*unit];
            let possible = data
                .allowed
                .iter()
                .filter(|h| self.possible(*unit, **h, &rooms[**h]));
            // More options than the best known are all the same.
            let options = possible.take(best.0.saturating_add(1)).count();
            let known = &self.problem.units[self.pool[best.1]].demand;
            if options < best.0 || (options == best.0 && data.demand > *known) {
                best = (options, position);
            }
        }
        (best.1, best.0)
    }

    fn place_one(&mut self, position: usize, rooms: &[Amounts]) -> Verdict {
        let unit = self.pool.swap_remove(position);
        let data = &self.problem.units[unit];
        let mut options: Vec<(i64, i64, i64, usize)> = data
            .allowed
            .iter()
            .filter(|h| self.possible(unit, **h, &rooms[**h]))
            .map(|h| {
                let over: i64 = (0..4)
                    .map(|d| (self.loads[*h][d] + data.demand[d] - self.caps[*h][d]).max(0))
                    .sum();
                let left = self.caps[*h][0] - self.loads[*h][0] - data.demand[0];
                (data.cost[*h], over, left, *h)
            })
            .collect();
        options.sort_unstable();
        let mut verdict = Verdict::Nothing;
        for (cost, _, _, host) in options {
            let extra = cost - data.min_cost - self.charged[unit];
            self.budget -= extra;
            self.key = self.key.wrapping_sub(self.mark(unit));
            self.occupy(unit, host);
            self.set_status(unit, Status::Fixed);
            let mut checks = vec![Check::Host(host)];
            checks.extend(
                data.spreads
                    .iter()
                    .map(|(s, _)| Check::Domain(*s, self.problem.spreads[*s].domain_of[host])),
            );
            verdict = self.descend(&checks);
            if verdict == Verdict::Found {
                return verdict;
            }
            self.key = self.key.wrapping_sub(self.mark(unit));
            self.vacate(unit);
            self.set_status(unit, Status::Pool);
            self.budget += extra;
            if verdict == Verdict::Stopped {
                break;
            }
        }
        self.pool.push(unit);
        let last = self.pool.len() - 1;
        self.pool.swap(position.min(last), last);
        verdict
    }

    /// The packing argument of [`crate::bound`] for this situation.
    fn hopeless(&mut self) -> bool {
        let evictions = if self.budget < self.cheapest_leave {
            0
        } else {
            usize::try_from(self.budget / self.cheapest_leave.max(1)).unwrap_or(usize::MAX)
        };
        if evictions > MAX_EVICTIONS {
            return false;
        }
        self.trials += 1;
        if self.trials == TRIALS {
            self.sizes.retain(|(_, size, pruned)| *pruned || *size == 1);
        }
        for position in 0..self.sizes.len() {
            let (dimension, size, _) = self.sizes[position];
            let wanted: i64 = self
                .pool
                .iter()
                .map(|u| self.problem.units[*u].demand[dimension] / size)
                .sum();
            let hosts = || (0..self.problem.hosts).filter(|h| self.usable[*h]);
            let room = |h: usize| self.caps[h][dimension] - self.loads[h][dimension];
            let slots: i64 = hosts().map(|h| room(h).div_euclid(size)).sum();
            let missing = wanted - slots;
            if missing <= 0 {
                continue;
            }
            let most = if evictions == 0 {
                0
            } else {
                let mut best = vec![0_i64; evictions + 1];
                for host in hosts() {
                    let gains = self.gains(host, dimension, size, room(host).rem_euclid(size), evictions);
                    for total in (1..=evictions).rev() {
                        for (leaving, gain) in gains.iter().enumerate().take(total + 1).skip(1) {
                            best[total] = best[total].max(best[total - leaving] + gain);
                        }
                    }
                }
                best[evictions]
            };
            if most < missing {
                self.sizes[position].2 = true;
                self.sizes[..=position].rotate_right(1);
                return true;
            }
        }
        false
    }

    /// The slots that a host gains if up to so many of its units leave, by number.
    fn gains(&self, host: usize, dimension: usize, size: i64, start: i64, evictions: usize) -> Vec<i64> {
        let mut remainders: Vec<i64> = self.homes[host]
            .iter()
            .filter(|u| self.status[**u] == Status::Loose)
            .map(|u| self.problem.units[*u].demand[dimension] % size)
            .filter(|r| *r > 0)
            .collect();
        remainders.sort_unstable_by(|a, b| b.cmp(a));
        remainders.truncate(evictions);
        let mut gains = vec![0];
        let mut sum = start;
        for remainder in remainders {
            sum += remainder;
            gains.push(sum / size);
        }
        gains
    }
}

/// The sizes to prune with: those that units have, largest first, for each limited resource.
fn sizes(problem: &Problem) -> Vec<(usize, i64, bool)> {
    let mut all = Vec::new();
    for dimension in 0..4 {
        if (0..problem.hosts).any(|h| problem.caps[h][dimension] == UNLIMITED) {
            continue;
        }
        let mut sizes: Vec<i64> = problem
            .units
            .iter()
            .map(|u| u.demand[dimension])
            .filter(|d| *d > 0)
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.dedup();
        let every = sizes.len().div_ceil(MAX_SIZES).max(1);
        all.extend(
            sizes
                .into_iter()
                .step_by(every)
                .map(|size| (dimension, size, false)),
        );
        all.push((dimension, 1, false));
    }
    all
}

/// Numbers units so that two have the same number if exchanging them changes nothing.
fn classes(problem: &Problem) -> Vec<u64> {
    let mut known: std::collections::HashMap<_, u64> = std::collections::HashMap::new();
    problem
        .units
        .iter()
        .map(|unit| {
            let costs: Vec<i64> = unit.allowed.iter().map(|h| unit.cost[*h]).collect();
            let next = known.len() as u64;
            *known
                .entry((unit.demand, &unit.allowed, costs, &unit.spreads))
                .or_insert(next)
        })
        .collect()
}

/// Spreads three numbers over 128 bits.
fn mix(kind: u64, first: u64, second: u64) -> u128 {
    let half = |salt: u64| {
        let mut z = kind.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
        for part in [first, second] {
            z = (z ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
        }
        z
    };
    u128::from(half(0x2545_f491_4f6c_dd1d)) << 64 | u128::from(half(0x1405_7b7e_f767_814f))
}

/// The size of the search: the number of choices of one unit and one host.
pub(crate) fn choices(problem: &Problem) -> usize {
    problem.units.iter().map(|u| u.allowed.len()).sum()
}
