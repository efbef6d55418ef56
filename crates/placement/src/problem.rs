//! The input as the solver sees it: units to assign to hosts, linear limits, and a cost for each choice.
//!
//! Guests of an affinity group become one unit. Whatever decides by one guest and one host alone (state, pins, forbidden
//! hosts, storages, a guest that no host could hold) is settled here, in the list of hosts a unit may use.

use std::collections::{BTreeMap, BTreeSet};

use crate::input::{Cluster, GuestSpec, HostSpec, HostState, Resource};

/// The amounts of every [`Resource`], in the order of [`Resource::ALL`].
pub(crate) type Amounts = [i64; 4];

/// Stands for "not limited". Sums of everything an input may hold stay far below it.
pub(crate) const UNLIMITED: i64 = i64::MAX / 4;

/// One rule of an input that could be dropped to see whether it takes part in a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rule {
    /// No host has more than its amount of this resource used.
    Capacity(Resource),
    /// A host in maintenance or down runs no guests.
    State(usize),
    /// A guest runs only on the hosts it is pinned to.
    Pin(usize),
    /// A guest does not run on the hosts that are forbidden to it.
    Forbidden(usize),
    /// A guest runs only where its storages are reachable.
    Storage(usize),
    /// The members of a group are spread over hosts.
    Hosts(usize),
    /// The members of a group are spread over racks.
    Racks(usize),
    /// The members of an affinity group share a host.
    Together(usize),
}

/// An anti-affinity group of the input, whether it was named by `ha_group` or listed.
#[derive(Debug, Clone)]
pub(crate) struct ApartGroup {
    pub(crate) name: String,
    pub(crate) guests: Vec<usize>,
    pub(crate) max_per_host: u32,
    pub(crate) max_per_rack: Option<u32>,
}

/// Every anti-affinity group, in a fixed order.
pub(crate) fn apart_groups(cluster: &Cluster) -> Vec<ApartGroup> {
    let spec = cluster.spec();
    let default_rack = spec.use_rack_constraints.then_some(1);
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, guest) in spec.vms.iter().enumerate() {
        if let Some(group) = &guest.ha_group {
            named.entry(group).or_default().push(index);
        }
    }
    let named = named.into_iter().map(|(name, guests)| ApartGroup {
        name: name.to_owned(),
        guests,
        max_per_host: 1,
        max_per_rack: default_rack,
    });
    let listed = spec.anti_affinity.iter().map(|group| ApartGroup {
        name: group.name.clone(),
        guests: group
            .vmids
            .iter()
            .filter_map(|vmid| cluster.guest_index(*vmid))
            .collect(),
        max_per_host: group.max_per_host,
        max_per_rack: group.max_per_rack.or(default_rack),
    });
    named.chain(listed).collect()
}

/// Every rule of an input, in the order in which conflicts name them.
pub(crate) fn rules(cluster: &Cluster, groups: &[ApartGroup]) -> Vec<Rule> {
    let spec = cluster.spec();
    let mut rules = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        rules.push(Rule::Hosts(index));
        if group.max_per_rack.is_some() {
            rules.push(Rule::Racks(index));
        }
    }
    rules.extend((0..spec.affinity.len()).map(Rule::Together));
    for (index, guest) in spec.vms.iter().enumerate() {
        for (rule, present) in [
            (Rule::Pin(index), !guest.pinned_to.is_empty()),
            (Rule::Forbidden(index), !guest.forbidden.is_empty()),
            (Rule::Storage(index), !guest.storages.is_empty()),
        ] {
            if present {
                rules.push(rule);
            }
        }
    }
    rules.extend(Resource::ALL.map(Rule::Capacity));
    let states = spec
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, h)| h.state != HostState::Up);
    rules.extend(states.map(|(index, _)| Rule::State(index)));
    rules
}

/// What one host offers to guests.
pub(crate) fn offered(host: &HostSpec) -> Amounts {
    let scale = |amount: u64, percent: u32| {
        i64::try_from(u128::from(amount) * u128::from(percent) / 100).unwrap_or(UNLIMITED)
    };
    let optional = |amount: Option<u64>| amount.map_or(UNLIMITED, |a| scale(a, 100));
    [
        scale(
            host.ram_mib.saturating_sub(host.ram_reserved_mib),
            host.ram_overcommit_percent,
        ),
        scale(host.cpu_mc, host.cpu_overcommit_percent),
        optional(host.disk_gib),
        optional(host.net_mbps),
    ]
}

/// What one guest uses.
pub(crate) fn used(guest: &GuestSpec) -> Amounts {
    [guest.ram_mib, guest.cpu_mc, guest.disk_gib, guest.net_mbps]
        .map(|amount| i64::try_from(amount).unwrap_or(UNLIMITED))
}

/// A limit on how many members of a group may share a host or a rack.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    /// The host or rack that each host belongs to.
    pub(crate) domain_of: Vec<usize>,
    pub(crate) domains: usize,
    pub(crate) max: u32,
}

/// What is assigned to one host: a guest, or the guests of an affinity group.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) guests: Vec<usize>,
    pub(crate) demand: Amounts,
    /// The hosts it may use, ascending.
    pub(crate) allowed: Vec<usize>,
    /// The cost of each host, by host.
    pub(crate) cost: Vec<i64>,
    /// The spreads it belongs to, with the number of its guests that count.
    pub(crate) spreads: Vec<(usize, u32)>,
    /// The lowest cost over the allowed hosts.
    pub(crate) min_cost: i64,
    /// The one allowed host with the lowest cost, if it is only one and another would cost more.
    pub(crate) home: Option<usize>,
    /// What it costs at least to be elsewhere than at home.
    pub(crate) leave_cost: i64,
}

/// The whole problem.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) hosts: usize,
    pub(crate) caps: Vec<Amounts>,
    pub(crate) units: Vec<Unit>,
    pub(crate) spreads: Vec<Spread>,
    /// Balance weights, in the order of [`Resource::ALL`].
    pub(crate) weights: [u32; 4],
}

impl Problem {
    /// Builds the problem with the rules that `active` keeps.
    pub(crate) fn compile(cluster: &Cluster, groups: &[ApartGroup], active: &dyn Fn(Rule) -> bool) -> Self {
        let spec = cluster.spec();
        let hosts = spec.hosts.len();
        let mut caps: Vec<Amounts> = spec.hosts.iter().map(offered).collect();
        for (dimension, resource) in Resource::ALL.into_iter().enumerate() {
            if !active(Rule::Capacity(resource)) {
                for cap in &mut caps {
                    cap[dimension] = UNLIMITED;
                }
            }
        }
        let usable: Vec<bool> = (0..hosts)
            .map(|h| spec.hosts[h].state == HostState::Up || !active(Rule::State(h)))
            .collect();

        let mut spreads = Vec::new();
        let mut member_of: Vec<Vec<usize>> = vec![Vec::new(); spec.vms.len()];
        for (index, group) in groups.iter().enumerate() {
            if active(Rule::Hosts(index)) {
                group
                    .guests
                    .iter()
                    .for_each(|g| member_of[*g].push(spreads.len()));
                let domain_of = (0..hosts).collect();
                spreads.push(Spread {
                    domain_of,
                    domains: hosts,
                    max: group.max_per_host,
                });
            }
            if let (Some(max), true) = (group.max_per_rack, active(Rule::Racks(index))) {
                group
                    .guests
                    .iter()
                    .for_each(|g| member_of[*g].push(spreads.len()));
                let (domain_of, domains) = racks(&spec.hosts);
                spreads.push(Spread {
                    domain_of,
                    domains,
                    max,
                });
            }
        }

        let mut sets: Vec<Vec<usize>> = Vec::new();
        let mut grouped: BTreeSet<usize> = BTreeSet::new();
        for (index, group) in spec.affinity.iter().enumerate() {
            if active(Rule::Together(index)) {
                let guests: Vec<usize> = group
                    .vmids
                    .iter()
                    .filter_map(|vmid| cluster.guest_index(*vmid))
                    .collect();
                grouped.extend(&guests);
                sets.push(guests);
            }
        }
        sets.extend(
            (0..spec.vms.len())
                .filter(|g| !grouped.contains(g))
                .map(|g| vec![g]),
        );
        sets.sort();

        let units = sets
            .into_iter()
            .map(|guests| unit(cluster, guests, &caps, &usable, &spreads, &member_of, active))
            .collect();
        Self {
            hosts,
            caps,
            units,
            spreads,
            weights: spec.objective.balance.as_array(),
        }
    }

    /// The limits under which no host is used beyond `balance`, in hundredths of a percent.
    pub(crate) fn caps_at(&self, balance: i64) -> Vec<Amounts> {
        let limit = |cap: i64, weight: u32| -> i64 {
            if weight == 0 || cap == UNLIMITED {
                return cap;
            }
            let allowed = i128::from(cap) * i128::from(balance) / (100 * i128::from(weight));
            cap.min(i64::try_from(allowed).unwrap_or(cap))
        };
        self.caps
            .iter()
            .map(|cap| std::array::from_fn(|dimension| limit(cap[dimension], self.weights[dimension])))
            .collect()
    }

    /// The balance of one host that is used this much.
    pub(crate) fn host_balance(&self, host: usize, load: &Amounts) -> i64 {
        let share = |dimension: usize| -> i64 {
            let (cap, weight) = (self.caps[host][dimension], self.weights[dimension]);
            if weight == 0 || cap == UNLIMITED || load[dimension] == 0 {
                return 0;
            }
            let weighted = i128::from(load[dimension]) * 100 * i128::from(weight);
            let cap = i128::from(cap.max(1));
            i64::try_from((weighted + cap - 1) / cap).unwrap_or(UNLIMITED)
        };
        (0..4).map(share).max().unwrap_or(0)
    }

    /// The balance of an assignment of every unit.
    pub(crate) fn balance(&self, at: &[usize]) -> i64 {
        let mut loads = vec![[0_i64; 4]; self.hosts];
        for (unit, host) in self.units.iter().zip(at) {
            add(&mut loads[*host], &unit.demand);
        }
        loads
            .iter()
            .enumerate()
            .map(|(host, load)| self.host_balance(host, load))
            .max()
            .unwrap_or(0)
    }

    /// The cost of an assignment of every unit.
    pub(crate) fn cost(&self, at: &[usize]) -> i64 {
        self.units
            .iter()
            .zip(at)
            .map(|(unit, host)| unit.cost[*host])
            .sum()
    }
}

pub(crate) fn add(load: &mut Amounts, demand: &Amounts) {
    load.iter_mut().zip(demand).for_each(|(l, d)| *l += d);
}

pub(crate) fn subtract(load: &mut Amounts, demand: &Amounts) {
    load.iter_mut().zip(demand).for_each(|(l, d)| *l -= d);
}

/// The rack of each host as a number. A host without a rack is a rack of its own.
fn racks(hosts: &[HostSpec]) -> (Vec<usize>, usize) {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 0;
    let domain_of = hosts
        .iter()
        .map(|host| {
            let mut fresh = || {
                next += 1;
                next - 1
            };
            match &host.rack {
                Some(rack) => *numbers.entry(rack).or_insert_with(fresh),
                None => fresh(),
            }
        })
        .collect();
    (domain_of, next)
}

/// Whether a guest runs now.
pub(crate) fn running_on(cluster: &Cluster, guest: &GuestSpec) -> Option<usize> {
    let host = cluster.host_index(guest.host.as_deref()?)?;
    (cluster.spec().hosts[host].state != HostState::Down).then_some(host)
}

fn guest_cost(cluster: &Cluster, guest: &GuestSpec, host: usize) -> i64 {
    let weights = cluster.spec().objective.moves;
    let cost = match running_on(cluster, guest) {
        None => weights.start,
        Some(current) if current == host => 0,
        Some(_) => {
            weights.migration * guest.move_weight + weights.migrated_gib * guest.ram_mib.div_ceil(1024)
        }
    };
    i64::try_from(cost).unwrap_or(UNLIMITED)
}

fn unit(
    cluster: &Cluster,
    guests: Vec<usize>,
    caps: &[Amounts],
    usable: &[bool],
    spreads: &[Spread],
    member_of: &[Vec<usize>],
    active: &dyn Fn(Rule) -> bool,
) -> Unit {
    let spec = cluster.spec();
    let mut demand = [0; 4];
    let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
    for guest in &guests {
        add(&mut demand, &used(&spec.vms[*guest]));
        member_of[*guest]
            .iter()
            .for_each(|spread| *counts.entry(*spread).or_default() += 1);
    }
    let counts_fit = counts
        .iter()
        .all(|(spread, count)| *count <= spreads[*spread].max);
    let may_use = |host: usize| {
        let (name, reachable) = (&spec.hosts[host].name, &spec.hosts[host].storages);
        guests.iter().all(|index| {
            let guest = &spec.vms[*index];
            (guest.pinned_to.is_empty() || guest.pinned_to.contains(name) || !active(Rule::Pin(*index)))
                && (!guest.forbidden.contains(name) || !active(Rule::Forbidden(*index)))
                && (guest.storages.is_subset(reachable) || !active(Rule::Storage(*index)))
        })
    };
    let allowed: Vec<usize> = (0..spec.hosts.len())
        .filter(|h| counts_fit && usable[*h])
        .filter(|h| demand.iter().zip(&caps[*h]).all(|(d, cap)| d <= cap))
        .filter(|h| may_use(*h))
        .collect();
    let cost: Vec<i64> = (0..spec.hosts.len())
        .map(|h| guests.iter().map(|g| guest_cost(cluster, &spec.vms[*g], h)).sum())
        .collect();
    let min_cost = allowed.iter().map(|h| cost[*h]).min().unwrap_or(0);
    let cheapest: Vec<usize> = allowed.iter().copied().filter(|h| cost[*h] == min_cost).collect();
    let next_cost = allowed.iter().map(|h| cost[*h]).filter(|c| *c > min_cost).min();
    let home = match (cheapest.as_slice(), next_cost) {
        ([home], _) => Some(*home),
        _ => None,
    };
    let leave_cost = next_cost.map_or(UNLIMITED, |next| next - min_cost);
    let spreads = counts.into_iter().collect();
    Unit {
        guests,
        demand,
        allowed,
        cost,
        spreads,
        min_cost,
        home,
        leave_cost,
    }
}
