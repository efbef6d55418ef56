//! Lower bounds on the cost of any placement that keeps every rule, computed without search.
//!
//! Each bound relaxes the problem, so it never exceeds the true optimum. When a placement costs exactly the bound, the
//! bound is the proof that the placement is optimal.
//!
//! **Evictions.** What stays at home on a host must fit. The cheapest set of guests whose departure frees the excess is a
//! knapsack; its continuous relaxation is a bound.
//!
//! **Packing.** For a size `t`, say that a guest of size `r` needs `⌊r/t⌋` slots. Guests that fit into room `c` need at most
//! `⌊c/t⌋` slots together, because floors add up to no more than the floor of the sum. Let `f` be the room on a host when
//! everything that has its home there stays. If the set `E` leaves, the host gains `⌊(f + ΣE)/t⌋` slots while `E` itself
//! needs `Σ⌊e/t⌋` of them elsewhere. The net gain is `⌊((f mod t) + Σ(e mod t))/t⌋` beyond `⌊f/t⌋`: only the remainders
//! count. If the guests without a home need `D` slots more than there are, departures must gain `D` slots, and the
//! cheapest way to do so over all hosts is a bound. `t = 1` is the bound by volume.

use std::collections::BTreeMap;

use crate::input::Resource;
use crate::problem::{Amounts, Problem, UNLIMITED, add};

/// At most this many sizes are tried for the packing bound.
const MAX_SIZES: usize = 160;

/// What a bound says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// No placement keeps every rule.
    Infeasible,
    /// Every placement that keeps every rule costs at least this.
    Cost { cost: i64, by: Argument },
}

/// Which argument gave the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Guests without an allowed home must move whatever happens.
    Homeless,
    /// Hosts whose own guests do not fit.
    Evictions,
    /// The free room is too fragmented for the guests that need a place.
    Packing { resource: Resource, size: i64 },
}

/// A unit under given limits.
struct View {
    min_cost: i64,
    home: Option<usize>,
    leave_cost: i64,
    allowed: Vec<usize>,
}

fn view(problem: &Problem, caps: &[Amounts], index: usize) -> Option<View> {
    let unit = &problem.units[index];
    let allowed: Vec<usize> = unit
        .allowed
        .iter()
        .copied()
        .filter(|h| {
            unit.demand
                .iter()
                .zip(&caps[*h])
                .all(|(demand, cap)| demand <= cap)
        })
        .collect();
    let min_cost = allowed.iter().map(|h| unit.cost[*h]).min()?;
    let mut cheapest = allowed.iter().filter(|h| unit.cost[**h] == min_cost);
    let home = match (cheapest.next(), cheapest.next()) {
        (Some(home), None) => Some(*home),
        _ => None,
    };
    let next = allowed
        .iter()
        .map(|h| unit.cost[*h])
        .filter(|c| *c > min_cost)
        .min();
    let leave_cost = next.map_or(UNLIMITED, |next| next - min_cost);
    Some(View {
        min_cost,
        home,
        leave_cost,
        allowed,
    })
}

/// The best bound on the cost under the given limits.
pub(crate) fn lower_bound(problem: &Problem, caps: &[Amounts]) -> Bound {
    let Some(views) = (0..problem.units.len())
        .map(|u| view(problem, caps, u))
        .collect::<Option<Vec<_>>>()
    else {
        return Bound::Infeasible;
    };
    if !spreads_possible(problem, &views) || !volumes_possible(problem, caps, &views) {
        return Bound::Infeasible;
    }
    let base: i64 = views.iter().map(|v| v.min_cost).sum();
    // Every cost above the base is a multiple of this, so a bound may be rounded up to one.
    let extras = problem
        .units
        .iter()
        .zip(&views)
        .flat_map(|(unit, view)| view.allowed.iter().map(|h| unit.cost[*h] - view.min_cost));
    let step = extras.fold(0, gcd).max(1);
    let mut homes: Vec<Vec<usize>> = vec![Vec::new(); problem.hosts];
    for (index, view) in views.iter().enumerate() {
        if let Some(home) = view.home {
            homes[home].push(index);
        }
    }
    let mut kept = vec![[0_i64; 4]; problem.hosts];
    for (host, units) in homes.iter().enumerate() {
        for unit in units {
            add(&mut kept[host], &problem.units[*unit].demand);
        }
    }

    let mut evictions = vec![0_i64; problem.hosts];
    for host in 0..problem.hosts {
        match eviction_bound(problem, &caps[host], host, &homes[host], &kept[host], &views) {
            Some(cost) => evictions[host] = round_up(cost, step),
            None => return Bound::Infeasible,
        }
    }
    let per_host: i64 = evictions.iter().sum();
    let per_rack = match rack_evictions(problem, &homes, &views) {
        Some(cost) => round_up(cost, step),
        None => return Bound::Infeasible,
    };
    let extra = per_host.max(per_rack);
    let by = if extra > 0 {
        Argument::Evictions
    } else {
        Argument::Homeless
    };
    let mut best = Bound::Cost {
        cost: base + extra,
        by,
    };

    let usable: Vec<bool> = {
        let mut usable = vec![false; problem.hosts];
        views
            .iter()
            .flat_map(|v| &v.allowed)
            .for_each(|h| usable[*h] = true);
        usable
    };
    for (dimension, resource) in Resource::ALL.into_iter().enumerate() {
        if (0..problem.hosts).any(|h| usable[h] && caps[h][dimension] == UNLIMITED) {
            continue;
        }
        for size in sizes(problem, dimension) {
            let packing = Packing {
                problem,
                caps,
                views: &views,
                homes: &homes,
                kept: &kept,
                usable: &usable,
            };
            let Some(extra) = packing.bound(dimension, size, &evictions, step) else {
                return Bound::Infeasible;
            };
            if let Bound::Cost { cost, .. } = best
                && base + extra > cost
            {
                best = Bound::Cost {
                    cost: base + extra,
                    by: Argument::Packing { resource, size },
                };
            }
        }
    }
    best
}

fn round_up(value: i64, step: i64) -> i64 {
    (value + step - 1) / step * step
}

pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The sizes for which the packing bound is tried: each size that a guest has, and just over its half and third.
fn sizes(problem: &Problem, dimension: usize) -> Vec<i64> {
    let mut sizes: Vec<i64> = problem
        .units
        .iter()
        .map(|u| u.demand[dimension])
        .filter(|d| *d > 0)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let parts: Vec<i64> = sizes.iter().flat_map(|s| [s / 2 + 1, s / 3 + 1]).collect();
    if sizes.len() > MAX_SIZES {
        let every = sizes.len().div_ceil(MAX_SIZES);
        sizes = sizes.into_iter().step_by(every).collect();
    }
    if sizes.len() + parts.len() <= MAX_SIZES {
        sizes.extend(parts);
    }
    sizes.push(1);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The lowest cost at which departures free `need`, relaxed to fractions; `None` if everything together frees less.
/// The items are `(freed, cost)`, cheapest per amount first.
fn cheapest_release(items: &[(i64, i64)], need: i64) -> Option<i64> {
    let (mut left, mut cost) = (need, 0_i64);
    for (freed, price) in items {
        if left <= 0 {
            break;
        }
        if *freed >= left {
            let part = (i128::from(*price) * i128::from(left) + i128::from(*freed) - 1) / i128::from(*freed);
            return Some(cost + i64::try_from(part).unwrap_or(*price));
        }
        left -= freed;
        cost += price;
    }
    (left <= 0).then_some(cost)
}

fn by_price(items: &mut [(i64, i64)]) {
    items.sort_by(|a, b| {
        let (left, right) = (
            i128::from(a.1) * i128::from(b.0),
            i128::from(b.1) * i128::from(a.0),
        );
        left.cmp(&right).then(b.0.cmp(&a.0))
    });
}

fn eviction_bound(
    problem: &Problem,
    cap: &Amounts,
    host: usize,
    units: &[usize],
    kept: &Amounts,
    views: &[View],
) -> Option<i64> {
    let mut bound = 0;
    for dimension in 0..4 {
        let excess = kept[dimension] - cap[dimension];
        if excess > 0 {
            let mut items: Vec<(i64, i64)> = units
                .iter()
                .map(|u| (problem.units[*u].demand[dimension], views[*u].leave_cost))
                .filter(|(freed, cost)| *freed > 0 && *cost < UNLIMITED)
                .collect();
            by_price(&mut items);
            bound = bound.max(cheapest_release(&items, excess)?);
        }
    }
    for (index, spread) in problem.spreads.iter().enumerate() {
        if spread.domains == problem.hosts && spread.domain_of[host] == host {
            bound = bound.max(spread_excess(problem, index, units, views)?);
        }
    }
    Some(bound)
}

/// The lowest cost at which enough of these units leave so that a spread holds among the rest.
fn spread_excess(problem: &Problem, spread: usize, units: &[usize], views: &[View]) -> Option<i64> {
    let mut items: Vec<(i64, i64)> = Vec::new();
    let mut present = 0;
    for index in units {
        let counts = problem.units[*index].spreads.iter().find(|(s, _)| *s == spread);
        if let Some((_, count)) = counts {
            present += i64::from(*count);
            if views[*index].leave_cost < UNLIMITED {
                items.push((i64::from(*count), views[*index].leave_cost));
            }
        }
    }
    let excess = present - i64::from(problem.spreads[spread].max);
    if excess <= 0 {
        return Some(0);
    }
    by_price(&mut items);
    cheapest_release(&items, excess)
}

fn rack_evictions(problem: &Problem, homes: &[Vec<usize>], views: &[View]) -> Option<i64> {
    let mut per_domain: BTreeMap<(Vec<usize>, usize), i64> = BTreeMap::new();
    for (index, spread) in problem.spreads.iter().enumerate() {
        for domain in 0..spread.domains {
            let members: Vec<usize> = (0..problem.hosts)
                .filter(|h| spread.domain_of[*h] == domain)
                .flat_map(|h| homes[h].iter().copied())
                .filter(|u| problem.units[*u].spreads.iter().any(|(s, _)| *s == index))
                .collect();
            let cost = spread_excess(problem, index, &members, views)?;
            if cost > 0 {
                let entry = per_domain.entry((spread.domain_of.clone(), domain)).or_default();
                *entry = cost.max(*entry);
            }
        }
    }
    let mut per_layout: BTreeMap<&Vec<usize>, i64> = BTreeMap::new();
    for ((layout, _), cost) in &per_domain {
        *per_layout.entry(layout).or_default() += cost;
    }
    Some(per_layout.values().copied().max().unwrap_or(0))
}

struct Packing<'a> {
    problem: &'a Problem,
    caps: &'a [Amounts],
    views: &'a [View],
    homes: &'a [Vec<usize>],
    kept: &'a [Amounts],
    usable: &'a [bool],
}

impl Packing<'_> {
    /// The lowest extra cost, or `None` if no departures gain enough slots.
    fn bound(&self, dimension: usize, size: i64, evictions: &[i64], step: i64) -> Option<i64> {
        let hosts = || (0..self.problem.hosts).filter(|h| self.usable[*h]);
        let room = |h: usize| self.caps[h][dimension] - self.kept[h][dimension];
        let slots: i64 = hosts().map(|h| room(h).div_euclid(size)).sum();
        let wanted: i64 = self
            .problem
            .units
            .iter()
            .zip(self.views)
            .filter(|(_, view)| view.home.is_none())
            .map(|(unit, _)| unit.demand[dimension] / size)
            .sum();
        let missing = wanted - slots;
        if missing <= 0 {
            return Some(evictions.iter().sum());
        }
        let missing = usize::try_from(missing).ok()?;
        if missing > self.problem.units.len() {
            return None;
        }
        // `cheapest[gain]`: the lowest cost at which the hosts seen so far gain at least that many slots.
        let mut cheapest: Vec<Option<i64>> = vec![None; missing + 1];
        cheapest[0] = Some(0);
        for host in hosts() {
            let start = room(host).rem_euclid(size);
            let mut items: Vec<(i64, i64)> = self.homes[host]
                .iter()
                .map(|u| {
                    (
                        self.problem.units[*u].demand[dimension] % size,
                        self.views[*u].leave_cost,
                    )
                })
                .filter(|(freed, cost)| *freed > 0 && *cost < UNLIMITED)
                .collect();
            by_price(&mut items);
            let most = (start + items.iter().map(|(freed, _)| freed).sum::<i64>()) / size;
            let most = usize::try_from(most).unwrap_or(0).min(missing);
            let prices: Vec<i64> = (0..=most)
                .map_while(|gain| {
                    let need = i64::try_from(gain).ok()? * size - start;
                    let price = if gain == 0 {
                        0
                    } else {
                        cheapest_release(&items, need)?
                    };
                    Some(round_up(price, step).max(evictions[host]))
                })
                .collect();
            let mut next: Vec<Option<i64>> = vec![None; missing + 1];
            for (gained, cost) in cheapest.iter().enumerate() {
                let Some(cost) = cost else { continue };
                for (gain, price) in prices.iter().enumerate() {
                    let slot = &mut next[(gained + gain).min(missing)];
                    let total = cost + price;
                    if slot.is_none_or(|known| total < known) {
                        *slot = Some(total);
                    }
                }
            }
            cheapest = next;
        }
        cheapest[missing]
    }
}

/// Whether each spread on its own could hold: a matching of its units to hosts or racks.
fn spreads_possible(problem: &Problem, views: &[View]) -> bool {
    (0..problem.spreads.len()).all(|index| {
        let spread = &problem.spreads[index];
        let members: Vec<usize> = (0..problem.units.len())
            .filter(|u| problem.units[*u].spreads.iter().any(|(s, _)| *s == index))
            .collect();
        let reach: Vec<Vec<usize>> = members
            .iter()
            .map(|u| {
                let mut domains: Vec<usize> =
                    views[*u].allowed.iter().map(|h| spread.domain_of[*h]).collect();
                domains.sort_unstable();
                domains.dedup();
                domains
            })
            .collect();
        let max = usize::try_from(spread.max).unwrap_or(usize::MAX);
        let mut taken: Vec<Vec<usize>> = vec![Vec::new(); spread.domains];
        (0..members.len()).all(|m| augment(m, &reach, &mut taken, max, &mut vec![false; spread.domains]))
    })
}

fn augment(
    member: usize,
    reach: &[Vec<usize>],
    taken: &mut [Vec<usize>],
    max: usize,
    seen: &mut [bool],
) -> bool {
    for domain in &reach[member] {
        if std::mem::replace(&mut seen[*domain], true) {
            continue;
        }
        if taken[*domain].len() < max {
            taken[*domain].push(member);
            return true;
        }
        for position in 0..taken[*domain].len() {
            let other = taken[*domain][position];
            if augment(other, reach, taken, max, seen) {
                taken[*domain][position] = member;
                return true;
            }
        }
    }
    false
}

/// Whether the guests that are confined to a set of hosts fit there by volume, for each such set.
fn volumes_possible(problem: &Problem, caps: &[Amounts], views: &[View]) -> bool {
    let mut confined: BTreeMap<&[usize], Amounts> = BTreeMap::new();
    for (unit, view) in problem.units.iter().zip(views) {
        add(confined.entry(&view.allowed).or_default(), &unit.demand);
    }
    if confined.len() > 64 {
        confined.retain(|hosts, _| hosts.len() <= 4);
    }
    confined.keys().all(|hosts| {
        (0..4).all(|dimension| {
            let room: i128 = hosts.iter().map(|h| i128::from(caps[*h][dimension])).sum();
            let inside = confined
                .iter()
                .filter(|(set, _)| set.iter().all(|h| hosts.binary_search(h).is_ok()));
            inside
                .map(|(_, demand)| i128::from(demand[dimension]))
                .sum::<i128>()
                <= room
        })
    })
}
