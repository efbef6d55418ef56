//! How long placements take, on generated data centres with fixed seeds.
//!
//! `PLACEMENT_EXPORT=FOLDER` also writes the instances as JSON, for `scripts/bench-placement-cpsat`.

#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

#[path = "../tests/instances/mod.rs"]
mod instances;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use instances::{Shape, data_centre};
use interlock_placement::{Answer, Cluster, HostState, Options, Status, check_plan, place};

/// What must hold for an answer, given how long it took.
type Target = fn(&Answer, Duration) -> bool;

struct Group {
    name: &'static str,
    wanted: &'static str,
    shape: Shape,
    change: fn(Cluster) -> Cluster,
    met: Target,
}

fn proven_within(answer: &Answer, limit: u64) -> bool {
    answer
        .cost
        .as_ref()
        .is_some_and(|cost| cost.proven && cost.elapsed_ms <= limit)
}

fn shape(hosts: usize, guests: usize, fill: u64, cpu_fill: u64) -> Shape {
    Shape {
        hosts,
        guests,
        fill,
        cpu_fill,
        first: HostState::Down,
    }
}

fn unchanged(cluster: Cluster) -> Cluster {
    cluster
}

/// Another six hosts fail: what is left is too small.
fn too_small(cluster: Cluster) -> Cluster {
    let mut spec = cluster.into_spec();
    spec.hosts
        .iter_mut()
        .take(6)
        .for_each(|h| h.state = HostState::Down);
    Cluster::new(spec).unwrap()
}

/// One group with one guest more than hosts are up.
fn too_many_replicas(cluster: Cluster) -> Cluster {
    let mut spec = cluster.into_spec();
    let up = spec.hosts.iter().filter(|h| h.state == HostState::Up).count();
    for (index, guest) in spec.vms.iter_mut().enumerate() {
        guest.ha_group = (index <= up).then(|| "db".to_owned());
    }
    Cluster::new(spec).unwrap()
}

/// Every guest is a bit more than a third of a host: two fit on each, although three would by volume of all hosts.
fn fragmented(cluster: Cluster) -> Cluster {
    let mut spec = cluster.into_spec();
    let up = spec.hosts.iter().filter(|h| h.state == HostState::Up).count();
    spec.vms.truncate(2 * up + 1);
    let third = spec.hosts[0].ram_mib / 3;
    for guest in &mut spec.vms {
        guest.ram_mib = third + 1 + u64::from(guest.vmid.0) % 7;
        guest.cpu_mc = 1;
        guest.ha_group = None;
    }
    Cluster::new(spec).unwrap()
}

/// Guests with one storage, which only two hosts reach.
fn out_of_reach(cluster: Cluster) -> Cluster {
    let mut spec = cluster.into_spec();
    let storage: BTreeSet<String> = ["local-nvme".to_owned()].into();
    spec.hosts[1].storages.clone_from(&storage);
    spec.hosts[2].storages.clone_from(&storage);
    let room = spec.hosts[1].ram_mib * 2;
    let mut taken = 0;
    for guest in &mut spec.vms {
        if taken <= room {
            taken += guest.ram_mib;
            guest.storages.clone_from(&storage);
        }
    }
    Cluster::new(spec).unwrap()
}

fn answered_in_a_second(answer: &Answer, total: Duration) -> bool {
    answer.status == Status::Infeasible && answer.conflict.is_some() && total < Duration::from_secs(1)
}

fn main() {
    let groups = [
        Group {
            name: "14 hosts, 60 guests, one host failed",
            wanted: "fewest moves proven in 100 ms",
            shape: shape(14, 60, 85, 70),
            change: unchanged,
            met: |answer, _| proven_within(answer, 100),
        },
        Group {
            name: "20 hosts, 120 guests, tight (97 % RAM, 95 % CPU)",
            wanted: "fewest moves proven in 1.5 s",
            shape: shape(20, 120, 97, 95),
            change: unchanged,
            met: |answer, _| proven_within(answer, 1_500),
        },
        Group {
            name: "40 hosts, 400 guests (96 % RAM, 90 % CPU)",
            wanted: "proven in 3 s, or within 5 % of the bound in 10 s",
            shape: shape(40, 400, 96, 90),
            change: unchanged,
            met: |answer, _| {
                let near = answer
                    .cost
                    .as_ref()
                    .is_some_and(|c| c.value * 100 <= c.bound * 105);
                proven_within(answer, 3_000) || near
            },
        },
        Group {
            name: "40 hosts, 400 guests, very tight (98 % RAM, 96 % CPU)",
            wanted: "no target; shows where the proof ends",
            shape: shape(40, 400, 98, 96),
            change: unchanged,
            met: |_, _| true,
        },
        Group {
            name: "100 hosts, 1,500 guests (95 % RAM, 85 % CPU)",
            wanted: "a valid, ordered plan in 10 s",
            shape: shape(100, 1_500, 95, 85),
            change: unchanged,
            met: |answer, total| answer.plan.is_some() && total <= Duration::from_secs(10),
        },
        Group {
            name: "infeasible: too small",
            wanted: "answered in 1 s",
            shape: shape(40, 400, 96, 90),
            change: too_small,
            met: answered_in_a_second,
        },
        Group {
            name: "infeasible: too many replicas",
            wanted: "answered in 1 s",
            shape: shape(40, 400, 80, 70),
            change: too_many_replicas,
            met: answered_in_a_second,
        },
        Group {
            name: "infeasible: fragmented",
            wanted: "answered in 1 s",
            shape: shape(20, 120, 80, 70),
            change: fragmented,
            met: answered_in_a_second,
        },
        Group {
            name: "infeasible: storage out of reach",
            wanted: "answered in 1 s",
            shape: shape(40, 400, 80, 70),
            change: out_of_reach,
            met: answered_in_a_second,
        },
    ];
    let export = std::env::var_os("PLACEMENT_EXPORT").map(PathBuf::from);
    for (number, group) in groups.iter().enumerate() {
        println!("\n{}: {}", group.name, group.wanted);
        for seed in 1..=5 {
            let cluster = (group.change)(data_centre(seed, group.shape));
            if let Some(folder) = &export {
                let text = serde_json::to_string(cluster.spec()).unwrap();
                std::fs::write(folder.join(format!("{number}-{seed}.json")), text).unwrap();
            }
            run(group, seed, &cluster);
        }
    }
}

fn run(group: &Group, seed: u64, cluster: &Cluster) {
    let started = Instant::now();
    let answer = place(cluster, &Options::default()).unwrap();
    let total = started.elapsed();
    let met = if (group.met)(&answer, total) {
        "met"
    } else {
        "MISSED"
    };
    print!("  seed {seed}: {met:6} {:?}", answer.status);
    if let (Some(cost), Some(balance)) = (&answer.cost, &answer.balance) {
        let plan = answer.plan.as_ref();
        let waves = plan.map_or(0, |p| p.waves.len());
        let valid = plan.is_some_and(|p| check_plan(cluster, &answer.assignment, p).is_empty());
        print!(
            ", {} moves (bound {}, {} ms), fullest host {} % (bound {}.{:02} %), {waves} waves{}",
            answer.moves,
            cost.bound,
            cost.elapsed_ms,
            answer.max_ram_percent,
            balance.bound / 100,
            balance.bound % 100,
            if valid { "" } else { ", no plan" },
        );
    }
    if let Some(conflict) = &answer.conflict {
        let words: String = conflict.words.chars().take(120).collect();
        print!(", minimal {}: {words}", conflict.minimal);
    }
    println!(", {} ms in all", total.as_millis());
}
