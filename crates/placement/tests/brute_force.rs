//! The answers equal those of trying every placement, on 1,000 generated clusters of up to 4 hosts and 8 guests.

mod instances;

use std::collections::BTreeMap;
use std::time::Duration;

use interlock_placement::{
    Cluster, ClusterSpec, GuestSpec, HostSpec, HostState, Limits, Options, Placement, Status,
    check_placement, check_plan, place,
};

/// Cost and balance of the best placement, computed from the input alone by trying everything.
fn best(spec: &ClusterSpec) -> Option<(u64, u64)> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut best = None;
    extend(spec, &mut chosen, &mut best);
    best
}

fn extend(spec: &ClusterSpec, chosen: &mut Vec<usize>, best: &mut Option<(u64, u64)>) {
    if chosen.len() == spec.vms.len() {
        let score = (cost(spec, chosen), balance(spec, chosen));
        if best.is_none_or(|known| score < known) && keeps_groups(spec, chosen) {
            *best = Some(score);
        }
        return;
    }
    for host in 0..spec.hosts.len() {
        chosen.push(host);
        if may(&spec.vms[chosen.len() - 1], &spec.hosts[host]) && within(spec, chosen, host) {
            extend(spec, chosen, best);
        }
        chosen.pop();
    }
}

fn may(guest: &GuestSpec, host: &HostSpec) -> bool {
    host.state == HostState::Up
        && (guest.pinned_to.is_empty() || guest.pinned_to.contains(&host.name))
        && !guest.forbidden.contains(&host.name)
        && guest.storages.iter().all(|s| host.storages.contains(s))
}

fn ram(host: &HostSpec) -> u64 {
    (host.ram_mib - host.ram_reserved_mib) * u64::from(host.ram_overcommit_percent) / 100
}

fn cpu(host: &HostSpec) -> u64 {
    host.cpu_mc * u64::from(host.cpu_overcommit_percent) / 100
}

fn sum(spec: &ClusterSpec, chosen: &[usize], host: usize, amount: fn(&GuestSpec) -> u64) -> u64 {
    spec.vms
        .iter()
        .zip(chosen)
        .filter(|(_, h)| **h == host)
        .map(|(g, _)| amount(g))
        .sum()
}

fn within(spec: &ClusterSpec, chosen: &[usize], index: usize) -> bool {
    let host = &spec.hosts[index];
    sum(spec, chosen, index, |g| g.ram_mib) <= ram(host)
        && sum(spec, chosen, index, |g| g.cpu_mc) <= cpu(host)
        && host
            .disk_gib
            .is_none_or(|disk| sum(spec, chosen, index, |g| g.disk_gib) <= disk)
        && host
            .net_mbps
            .is_none_or(|net| sum(spec, chosen, index, |g| g.net_mbps) <= net)
}

fn keeps_groups(spec: &ClusterSpec, chosen: &[usize]) -> bool {
    let at: BTreeMap<_, usize> = spec
        .vms
        .iter()
        .map(|g| g.vmid)
        .zip(chosen.iter().copied())
        .collect();
    let together = spec.affinity.iter().all(|group| {
        let hosts: Vec<usize> = group.vmids.iter().map(|v| at[v]).collect();
        hosts.iter().all(|h| *h == hosts[0])
    });
    let mut groups: Vec<(Vec<usize>, u32, Option<u32>)> = Vec::new();
    for name in ["db", "web"] {
        let members = spec.vms.iter().filter(|g| g.ha_group.as_deref() == Some(name));
        groups.push((members.map(|g| at[&g.vmid]).collect(), 1, None));
    }
    for group in &spec.anti_affinity {
        groups.push((
            group.vmids.iter().map(|v| at[v]).collect(),
            group.max_per_host,
            group.max_per_rack,
        ));
    }
    let rack = |host: usize| {
        spec.hosts[host]
            .rack
            .clone()
            .unwrap_or_else(|| format!("alone-{host}"))
    };
    together
        && groups.iter().all(|(hosts, per_host, per_rack)| {
            let per_rack = per_rack.or(spec.use_rack_constraints.then_some(1));
            hosts.iter().all(|host| {
                let same_host = hosts.iter().filter(|h| *h == host).count();
                let same_rack = hosts.iter().filter(|h| rack(**h) == rack(*host)).count();
                same_host <= *per_host as usize && per_rack.is_none_or(|max| same_rack <= max as usize)
            })
        })
}

fn cost(spec: &ClusterSpec, chosen: &[usize]) -> u64 {
    let weights = spec.objective.moves;
    let one = |(guest, host): (&GuestSpec, &usize)| {
        let current = guest
            .host
            .as_ref()
            .and_then(|name| spec.hosts.iter().position(|h| h.name == *name));
        match current.filter(|h| spec.hosts[*h].state != HostState::Down) {
            None => weights.start,
            Some(current) if current == *host => 0,
            Some(_) => {
                weights.migration * guest.move_weight + weights.migrated_gib * guest.ram_mib.div_ceil(1024)
            }
        }
    };
    spec.vms.iter().zip(chosen).map(one).sum()
}

fn balance(spec: &ClusterSpec, chosen: &[usize]) -> u64 {
    let weights = spec.objective.balance;
    let share = |used: u64, cap: u64, weight: u32| match (used, weight) {
        (0, _) | (_, 0) => 0,
        _ => (used * 100 * u64::from(weight)).div_ceil(cap),
    };
    let host = |h: usize| {
        let by_ram = share(
            sum(spec, chosen, h, |g| g.ram_mib),
            ram(&spec.hosts[h]),
            weights.ram,
        );
        let by_cpu = share(
            sum(spec, chosen, h, |g| g.cpu_mc),
            cpu(&spec.hosts[h]),
            weights.cpu,
        );
        by_ram.max(by_cpu)
    };
    (0..spec.hosts.len()).map(host).max().unwrap_or(0)
}

fn options(local: bool) -> Options {
    let limits = Limits {
        time: Duration::from_mins(1),
        balance_time: Duration::from_mins(1),
        local,
        ..Limits::default()
    };
    Options {
        limits,
        ..Options::default()
    }
}

#[test]
fn equals_trying_every_placement() {
    let (mut feasible, mut infeasible) = (0, 0);
    for seed in 1..=1_000 {
        let spec = instances::small(seed);
        let expected = best(&spec);
        let cluster = Cluster::new(spec).unwrap();
        for local in [true, false] {
            let answer = place(&cluster, &options(local)).unwrap();
            let Some((cost, balance)) = expected else {
                assert_eq!(answer.status, Status::Infeasible, "seed {seed}, local {local}");
                assert!(
                    answer.conflict.as_ref().unwrap().minimal,
                    "seed {seed}: {:?}",
                    answer.conflict
                );
                continue;
            };
            assert_eq!(
                answer.status,
                Status::Optimal,
                "seed {seed}, local {local}: {answer:#?}"
            );
            let found = (answer.cost.as_ref().unwrap(), answer.balance.as_ref().unwrap());
            assert_eq!(
                (found.0.value, found.1.value),
                (cost, balance),
                "seed {seed}, local {local}"
            );
            assert_eq!(
                (found.0.bound, found.1.bound),
                (cost, balance),
                "seed {seed}, local {local}"
            );
            assert_eq!(check_placement(&cluster, &answer.assignment), [], "seed {seed}");
            match &answer.plan {
                Some(plan) => assert_eq!(check_plan(&cluster, &answer.assignment, plan), [], "seed {seed}"),
                None => assert!(answer.plan_problem.is_some(), "seed {seed}"),
            }
        }
        if expected.is_some() {
            feasible += 1;
        } else {
            infeasible += 1;
        }
    }
    // The generator must not drift to one side.
    assert!(
        feasible > 300 && infeasible > 200,
        "{feasible} feasible, {infeasible} infeasible"
    );
}

#[test]
fn the_checker_agrees_with_trying_every_placement() {
    // The checker accepts exactly the placements that the plain rules accept: every placement of small clusters is tried.
    for seed in 1..=60 {
        let mut spec = instances::small(seed);
        spec.vms.truncate(5);
        let kept: Vec<_> = spec.vms.iter().map(|g| g.vmid).collect();
        spec.affinity.retain(|g| g.vmids.iter().all(|v| kept.contains(v)));
        spec.anti_affinity
            .retain(|g| g.vmids.iter().all(|v| kept.contains(v)));
        let cluster = Cluster::new(spec.clone()).unwrap();
        let hosts = spec.hosts.len();
        for number in 0..hosts.pow(u32::try_from(spec.vms.len()).unwrap()) {
            let mut rest = number;
            let chosen: Vec<usize> = spec
                .vms
                .iter()
                .map(|_| {
                    let host = rest % hosts;
                    rest /= hosts;
                    host
                })
                .collect();
            let good = spec.vms.iter().zip(&chosen).all(|(g, h)| may(g, &spec.hosts[*h]))
                && (0..hosts).all(|h| within(&spec, &chosen, h))
                && keeps_groups(&spec, &chosen);
            let placement: Placement = spec
                .vms
                .iter()
                .zip(&chosen)
                .map(|(g, h)| (g.vmid, spec.hosts[*h].name.clone()))
                .collect();
            assert_eq!(
                check_placement(&cluster, &placement).is_empty(),
                good,
                "seed {seed}, {placement:?}"
            );
        }
    }
}
