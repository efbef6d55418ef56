//! The independent checker: whether a placement keeps every rule, and whether a plan is safe at every moment.
//!
//! It shares no code with the solver and the planner. It reads the input's own names and numbers, adds them up in the
//! plainest way, and trusts nothing that the other modules computed.

use std::collections::{BTreeMap, BTreeSet};

use crate::input::{Cluster, ClusterSpec, GuestId, GuestSpec, HostSpec, HostState, Resource};
use crate::plan::{Action, MovePlan, Placement, PlanStep};

/// One thing that is wrong with a placement, a plan or a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A guest without a host.
    #[error("guest {vmid} has no host in the placement")]
    Missing {
        /// The guest.
        vmid: GuestId,
    },
    /// A guest that the input does not have.
    #[error("guest {vmid} is not in the input")]
    UnknownGuest {
        /// The guest.
        vmid: GuestId,
    },
    /// A host that the input does not have.
    #[error("guest {vmid}: host {host} is not in the input")]
    UnknownHost {
        /// The guest.
        vmid: GuestId,
        /// The host.
        host: String,
    },
    /// A host that may not run guests.
    #[error("guest {vmid}: host {host} is not up")]
    NotUp {
        /// The guest.
        vmid: GuestId,
        /// The host.
        host: String,
    },
    /// A host that a rule of the guest excludes.
    #[error("guest {vmid} may not run on {host}: {rule}")]
    NotAllowed {
        /// The guest.
        vmid: GuestId,
        /// The host.
        host: String,
        /// The rule.
        rule: &'static str,
    },
    /// More of a resource is used than a host offers.
    #[error("host {host} is overcommitted{}: {} of {} used, {} available", .wave.map(|w| format!(" in wave {w}")).unwrap_or_default(), .resource.amount(*.used), .resource.label(), .resource.amount(*.available))]
    Overcommitted {
        /// The host.
        host: String,
        /// The resource.
        resource: Resource,
        /// How much is used.
        used: u64,
        /// How much it offers.
        available: u64,
        /// The wave in which it happens, from 1; `None` for a placement or a single step.
        wave: Option<usize>,
    },
    /// Too many members of a group in one place.
    #[error("group {group}: {count} guests share {place}; at most {max} may")]
    NotApart {
        /// The group.
        group: String,
        /// The host or rack.
        place: String,
        /// How many are there.
        count: usize,
        /// How many may be.
        max: u32,
    },
    /// The members of an affinity group are not on one host.
    #[error("group {group}: its guests are on several hosts ({hosts})")]
    NotTogether {
        /// The group.
        group: String,
        /// The hosts.
        hosts: String,
    },
    /// A step says that a guest is somewhere else than it is.
    #[error("guest {vmid}: the step expects it {}, but it is {}", whereabouts(.expected.as_ref()), whereabouts(.actual.as_ref()))]
    WrongSource {
        /// The guest.
        vmid: GuestId,
        /// Where the step expects it.
        expected: Option<String>,
        /// Where it is.
        actual: Option<String>,
    },
    /// A running guest is started, or a stopped one migrated.
    #[error("guest {vmid}: {action} does not apply, because the guest {}", if *.running { "runs" } else { "does not run" })]
    WrongAction {
        /// The guest.
        vmid: GuestId,
        /// The action of the step.
        action: Action,
        /// Whether the guest runs.
        running: bool,
    },
    /// A step that leads nowhere.
    #[error("guest {vmid} is already on {host}")]
    NoMove {
        /// The guest.
        vmid: GuestId,
        /// The host.
        host: String,
    },
    /// A guest in two steps that run in parallel.
    #[error("guest {vmid} is in two steps that run at the same time")]
    TwiceAtOnce {
        /// The guest.
        vmid: GuestId,
    },
    /// The plan ends with a guest elsewhere than the placement says.
    #[error("guest {vmid} ends {}; the placement says {expected}", whereabouts(.actual.as_ref()))]
    WrongEnd {
        /// The guest.
        vmid: GuestId,
        /// Where the placement has it.
        expected: String,
        /// Where the plan leaves it.
        actual: Option<String>,
    },
    /// A step brings too many members of a group together and does not say so.
    #[error(
        "guest {vmid}: moving to {host} breaks the rule of group {group} for a while, and the step does not say so"
    )]
    UnannouncedSuspension {
        /// The guest.
        vmid: GuestId,
        /// The host.
        host: String,
        /// The group.
        group: String,
    },
}

fn whereabouts(host: Option<&String>) -> String {
    host.map_or_else(|| "stopped".to_owned(), |host| format!("on {host}"))
}

/// Everything that is wrong with a placement. Empty means that it keeps every rule.
pub fn check_placement(cluster: &Cluster, placement: &Placement) -> Vec<Violation> {
    let spec = cluster.spec();
    let mut wrong = Vec::new();
    let known: BTreeSet<GuestId> = spec.vms.iter().map(|g| g.vmid).collect();
    for vmid in placement.keys().filter(|vmid| !known.contains(vmid)) {
        wrong.push(Violation::UnknownGuest { vmid: *vmid });
    }
    for guest in &spec.vms {
        match placement.get(&guest.vmid) {
            None => wrong.push(Violation::Missing { vmid: guest.vmid }),
            Some(host) => wrong.extend(wrong_host(spec, guest, host)),
        }
    }
    for host in &spec.hosts {
        let guests = spec
            .vms
            .iter()
            .filter(|g| placement.get(&g.vmid) == Some(&host.name));
        wrong.extend(overcommitted(host, guests, None));
    }
    for (group, max_per_host, max_per_rack, members) in groups(spec) {
        let places = |place: &dyn Fn(&str) -> String, max: u32| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for host in members.iter().filter_map(|vmid| placement.get(vmid)) {
                *counts.entry(place(host)).or_default() += 1;
            }
            let group = group.clone();
            counts
                .into_iter()
                .filter(move |(_, count)| *count > max as usize)
                .map(move |(place, count)| Violation::NotApart {
                    group: group.clone(),
                    place,
                    count,
                    max,
                })
        };
        wrong.extend(places(&|host| format!("host {host}"), max_per_host).collect::<Vec<_>>());
        if let Some(max) = max_per_rack {
            wrong.extend(places(&|host| rack_of(spec, host), max).collect::<Vec<_>>());
        }
    }
    for group in &spec.affinity {
        let hosts: BTreeSet<&str> = group
            .vmids
            .iter()
            .filter_map(|vmid| placement.get(vmid))
            .map(String::as_str)
            .collect();
        if hosts.len() > 1 {
            let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
            wrong.push(Violation::NotTogether {
                group: group.name.clone(),
                hosts,
            });
        }
    }
    wrong
}

/// Everything that is wrong with a plan that is to lead from where guests run now to a placement. Empty means that every
/// step is possible when it comes, no host is overcommitted by a step at any moment, and the placement is reached and keeps
/// every rule.
pub fn check_plan(cluster: &Cluster, placement: &Placement, plan: &MovePlan) -> Vec<Violation> {
    let spec = cluster.spec();
    let mut wrong = check_placement(cluster, placement);
    let mut at: BTreeMap<GuestId, String> = whereabouts_now(spec);
    for (index, wave) in plan.waves.iter().enumerate() {
        wrong.extend(check_wave(spec, &at, wave, Some(index + 1)));
        for step in wave {
            at.insert(step.vmid, step.target.clone());
        }
    }
    for guest in &spec.vms {
        let (expected, actual) = (placement.get(&guest.vmid), at.get(&guest.vmid));
        if let Some(expected) = expected.filter(|expected| Some(*expected) != actual) {
            let (expected, actual) = (expected.clone(), actual.cloned());
            wrong.push(Violation::WrongEnd {
                vmid: guest.vmid,
                expected,
                actual,
            });
        }
    }
    wrong
}

/// Everything that is wrong with running one step now, while the steps of `in_progress` run. `live` is the cluster as it is
/// now; the guests of `in_progress` are still listed on their old hosts in it, if they are listed at all.
pub fn check_step(live: &Cluster, in_progress: &[PlanStep], step: &PlanStep) -> Vec<Violation> {
    let spec = live.spec();
    let mut wave = in_progress.to_vec();
    wave.push(step.clone());
    let all = check_wave(spec, &whereabouts_now(spec), &wave, None);
    // What is wrong with the steps in progress alone is no reason against this one.
    let before = check_wave(spec, &whereabouts_now(spec), in_progress, None);
    all.into_iter()
        .filter(|violation| !before.contains(violation))
        .collect()
}

fn whereabouts_now(spec: &ClusterSpec) -> BTreeMap<GuestId, String> {
    let down: BTreeSet<&str> = spec
        .hosts
        .iter()
        .filter(|h| h.state == HostState::Down)
        .map(|h| h.name.as_str())
        .collect();
    let running = spec.vms.iter().filter_map(|g| Some((g.vmid, g.host.clone()?)));
    running
        .filter(|(_, host)| !down.contains(host.as_str()))
        .collect()
}

fn check_wave(
    spec: &ClusterSpec,
    at: &BTreeMap<GuestId, String>,
    wave: &[PlanStep],
    number: Option<usize>,
) -> Vec<Violation> {
    let mut wrong = Vec::new();
    let mut moved: BTreeSet<GuestId> = BTreeSet::new();
    for step in wave {
        let vmid = step.vmid;
        let Some(guest) = spec.vms.iter().find(|g| g.vmid == vmid) else {
            wrong.push(Violation::UnknownGuest { vmid });
            continue;
        };
        if !moved.insert(vmid) {
            wrong.push(Violation::TwiceAtOnce { vmid });
        }
        let actual = at.get(&vmid);
        if step.from.as_ref() != actual {
            wrong.push(Violation::WrongSource {
                vmid,
                expected: step.from.clone(),
                actual: actual.cloned(),
            });
        }
        let running = actual.is_some();
        if (step.action == Action::Migrate) != running {
            wrong.push(Violation::WrongAction {
                vmid,
                action: step.action,
                running,
            });
        }
        if actual == Some(&step.target) {
            wrong.push(Violation::NoMove {
                vmid,
                host: step.target.clone(),
            });
        }
        wrong.extend(wrong_host(spec, guest, &step.target));
    }
    let targets: BTreeSet<&str> = wave.iter().map(|step| step.target.as_str()).collect();
    for host in spec.hosts.iter().filter(|h| targets.contains(h.name.as_str())) {
        let arriving = |vmid: GuestId| wave.iter().any(|s| s.vmid == vmid && s.target == host.name);
        let present = |vmid: GuestId| at.get(&vmid) == Some(&host.name);
        let guests = spec.vms.iter().filter(|g| present(g.vmid) || arriving(g.vmid));
        wrong.extend(overcommitted(host, guests, number));
    }
    for (index, step) in wave.iter().enumerate() {
        for (group, max_per_host, max_per_rack, members) in groups(spec) {
            if !members.contains(&step.vmid) || step.suspends.contains(&group) {
                continue;
            }
            let rack = rack_of(spec, &step.target);
            let others = |same: &dyn Fn(&str) -> bool| {
                let here = |vmid: &GuestId| {
                    let present = at.get(vmid).is_some_and(|host| same(host));
                    let arriving = wave[..index].iter().any(|s| s.vmid == *vmid && same(&s.target));
                    *vmid != step.vmid && (present || arriving)
                };
                members.iter().filter(|vmid| here(vmid)).count()
            };
            let on_host = others(&|host| host == step.target) + 1 > max_per_host as usize;
            let in_rack = max_per_rack
                .is_some_and(|max| others(&|host| rack_of(spec, host) == rack) + 1 > max as usize);
            if on_host || in_rack {
                let (vmid, host) = (step.vmid, step.target.clone());
                wrong.push(Violation::UnannouncedSuspension { vmid, host, group });
            }
        }
    }
    wrong
}

fn wrong_host(spec: &ClusterSpec, guest: &GuestSpec, name: &str) -> Vec<Violation> {
    let vmid = guest.vmid;
    let Some(host) = spec.hosts.iter().find(|h| h.name == name) else {
        return vec![Violation::UnknownHost {
            vmid,
            host: name.to_owned(),
        }];
    };
    let mut wrong = Vec::new();
    if host.state != HostState::Up {
        wrong.push(Violation::NotUp {
            vmid,
            host: name.to_owned(),
        });
    }
    let mut refuse = |rule| {
        wrong.push(Violation::NotAllowed {
            vmid,
            host: name.to_owned(),
            rule,
        });
    };
    if !guest.pinned_to.is_empty() && !guest.pinned_to.contains(name) {
        refuse("it is pinned to other hosts");
    }
    if guest.forbidden.contains(name) {
        refuse("the host is forbidden to it");
    }
    if guest
        .storages
        .iter()
        .any(|storage| !host.storages.contains(storage))
    {
        refuse("the host does not reach its storage");
    }
    wrong
}

fn overcommitted<'a>(
    host: &HostSpec,
    guests: impl Iterator<Item = &'a GuestSpec>,
    wave: Option<usize>,
) -> Vec<Violation> {
    let mut used: [u128; 4] = [0; 4];
    for guest in guests {
        used[0] += u128::from(guest.ram_mib);
        used[1] += u128::from(guest.cpu_mc);
        used[2] += u128::from(guest.disk_gib);
        used[3] += u128::from(guest.net_mbps);
    }
    let percent = |amount: u64, percent: u32| Some(u128::from(amount) * u128::from(percent) / 100);
    let available = [
        percent(
            host.ram_mib - host.ram_reserved_mib.min(host.ram_mib),
            host.ram_overcommit_percent,
        ),
        percent(host.cpu_mc, host.cpu_overcommit_percent),
        host.disk_gib.map(u128::from),
        host.net_mbps.map(u128::from),
    ];
    let rows = Resource::ALL.into_iter().zip(used).zip(available);
    rows.filter_map(|((resource, used), available)| {
        let available = available?;
        (used > available).then(|| Violation::Overcommitted {
            host: host.name.clone(),
            resource,
            used: u64::try_from(used).unwrap_or(u64::MAX),
            available: u64::try_from(available).unwrap_or(u64::MAX),
            wave,
        })
    })
    .collect()
}

fn rack_of(spec: &ClusterSpec, host: &str) -> String {
    let rack = spec
        .hosts
        .iter()
        .find(|h| h.name == host)
        .and_then(|h| h.rack.clone());
    rack.map_or_else(|| format!("host {host}"), |rack| format!("rack {rack}"))
}

type Group = (String, u32, Option<u32>, BTreeSet<GuestId>);

fn groups(spec: &ClusterSpec) -> Vec<Group> {
    let racks = if spec.use_rack_constraints { Some(1) } else { None };
    let mut all: Vec<Group> = Vec::new();
    let names: BTreeSet<&String> = spec.vms.iter().filter_map(|g| g.ha_group.as_ref()).collect();
    for name in names {
        let members = spec
            .vms
            .iter()
            .filter(|g| g.ha_group.as_ref() == Some(name))
            .map(|g| g.vmid)
            .collect();
        all.push((name.clone(), 1, racks, members));
    }
    for group in &spec.anti_affinity {
        all.push((
            group.name.clone(),
            group.max_per_host,
            group.max_per_rack.or(racks),
            group.vmids.clone(),
        ));
    }
    all
}
