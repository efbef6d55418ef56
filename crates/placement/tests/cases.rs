//! What people read: refused inputs, conflicts, plans and pictures, as snapshots.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod instances;

use std::fmt::Write as _;
use std::time::Duration;

use instances::{guest, host, spec};
use interlock_placement::{
    Action, AffinitySpec, AntiAffinitySpec, Change, Charset, Cluster, ClusterSpec, GuestId, HostState,
    Options, Parallel, PlanStep, Status, check_plan, check_step, order, picture, place,
};

/// Spoils an input.
type Spoil = fn(&mut ClusterSpec);

fn solve(spec: ClusterSpec) -> (Cluster, interlock_placement::Answer) {
    let cluster = Cluster::new(spec).unwrap();
    let answer = place(&cluster, &Options::default()).unwrap();
    (cluster, answer)
}

fn names<const N: usize>(names: [&str; N]) -> std::collections::BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn bad_inputs_are_named() {
    let base = || {
        spec(
            vec![host("pve1", 1000, 1000), host("pve2", 1000, 1000)],
            vec![guest(101, 10, 10, Some("pve1"))],
        )
    };
    let cases: [(&str, Spoil); 16] = [
        ("no hosts", |s| s.hosts.clear()),
        ("a host twice", |s| s.hosts[1].name = "pve1".to_owned()),
        ("a guest twice", |s| s.vms.push(guest(101, 1, 1, None))),
        ("an unknown current host", |s| {
            s.vms[0].host = Some("pve9".to_owned());
        }),
        ("an unknown pin", |s| s.vms[0].pinned_to = names(["pve7"])),
        ("an unknown forbidden host", |s| {
            s.vms[0].forbidden = names(["pve8"]);
        }),
        ("a guest without memory", |s| s.vms[0].ram_mib = 0),
        ("a host without memory", |s| s.hosts[0].ram_mib = 0),
        ("a huge guest", |s| s.vms[0].ram_mib = u64::MAX),
        ("a huge host", |s| s.hosts[0].cpu_mc = u64::MAX),
        ("a huge overcommit factor", |s| {
            s.hosts[0].ram_overcommit_percent = u32::MAX;
        }),
        ("more reserved than there is", |s| {
            s.hosts[0].ram_reserved_mib = 1001;
        }),
        ("a name with a line break", |s| {
            s.hosts[1].name = "pve\n2".to_owned();
        }),
        ("a group of an unknown guest", |s| {
            s.affinity.push(AffinitySpec {
                name: "app".to_owned(),
                vmids: [GuestId(5)].into(),
            });
        }),
        ("an empty group", |s| {
            let (name, vmids) = ("db".to_owned(), [].into());
            s.anti_affinity.push(AntiAffinitySpec {
                name,
                vmids,
                max_per_host: 1,
                max_per_rack: None,
            });
        }),
        ("a guest in two affinity groups", |s| {
            for name in ["a", "b"] {
                s.affinity.push(AffinitySpec {
                    name: name.to_owned(),
                    vmids: [GuestId(101)].into(),
                });
            }
        }),
    ];
    let mut text = String::new();
    for (name, change) in cases {
        let mut spec = base();
        change(&mut spec);
        let _ = writeln!(text, "{name}\n  {}", Cluster::new(spec).unwrap_err());
    }
    for (name, json) in [
        ("an unknown field", r#"{"hosts":[],"vms":[],"colour":"red"}"#),
        (
            "a fraction",
            r#"{"hosts":[{"name":"a","ram_mib":1.5,"cpu_mc":1}],"vms":[]}"#,
        ),
        (
            "a negative amount",
            r#"{"hosts":[{"name":"a","ram_mib":-1,"cpu_mc":1}],"vms":[]}"#,
        ),
        ("no JSON", "hosts"),
    ] {
        let _ = writeln!(text, "{name}\n  {}", Cluster::from_json(json).unwrap_err());
    }
    insta::assert_snapshot!(text);
}

fn db(mut spec: ClusterSpec, count: usize) -> ClusterSpec {
    spec.vms
        .iter_mut()
        .take(count)
        .for_each(|g| g.ha_group = Some("db".to_owned()));
    spec
}

/// Three hosts of 64 GiB and 16 cores; guests of the given GiB, all on pve1.
fn three(sizes: &[u64]) -> ClusterSpec {
    let hosts = ["pve1", "pve2", "pve3"]
        .map(|name| host(name, 64 * 1024, 16_000))
        .into();
    let vms = (101..)
        .zip(sizes)
        .map(|(vmid, gib)| guest(vmid, gib * 1024, 1_000, Some("pve1")))
        .collect();
    spec(hosts, vms)
}

#[test]
fn conflicts_in_words() {
    let cases: Vec<(&str, ClusterSpec)> = vec![
        ("too few hosts are up", {
            let mut s = db(three(&[4, 4, 4]), 3);
            s.hosts[2].state = HostState::Down;
            s
        }),
        ("too few hosts at all", {
            let mut s = db(three(&[4, 4, 4, 4]), 4);
            s.hosts[1].state = HostState::Up;
            s
        }),
        ("too few racks", {
            let mut s = db(three(&[4, 4, 4]), 3);
            s.use_rack_constraints = true;
            for (host, rack) in s.hosts.iter_mut().zip(["r1", "r1", "r2"]) {
                host.rack = Some(rack.to_owned());
            }
            s
        }),
        ("a guest that is too large", three(&[80])),
        ("too much in total", three(&[40, 40, 40, 40, 40])),
        ("too much with a host in maintenance", {
            let mut s = three(&[60, 60, 60]);
            s.hosts[2].state = HostState::Maintenance;
            s
        }),
        ("fragmented", three(&[40, 40, 40, 30])),
        ("too much CPU", {
            let mut s = three(&[1, 1]);
            s.vms.iter_mut().for_each(|g| g.cpu_mc = 30_000);
            s
        }),
        ("pinned to a host that is down", {
            let mut s = three(&[4]);
            s.hosts[2].state = HostState::Down;
            s.vms[0].pinned_to = names(["pve3"]);
            s
        }),
        ("pinned and forbidden", {
            let mut s = three(&[4]);
            s.vms[0].pinned_to = names(["pve3"]);
            s.vms[0].forbidden = names(["pve3"]);
            s
        }),
        ("storage out of reach", {
            let mut s = three(&[4]);
            s.vms[0].storages = names(["ceph"]);
            s
        }),
        ("storage only on a host that is down", {
            let mut s = three(&[4]);
            s.hosts[1].storages = names(["ceph"]);
            s.hosts[1].state = HostState::Down;
            s.vms[0].storages = names(["ceph"]);
            s
        }),
        ("together and apart", {
            let mut s = db(three(&[4, 4]), 2);
            s.affinity.push(AffinitySpec {
                name: "app".to_owned(),
                vmids: [GuestId(101), GuestId(102)].into(),
            });
            s
        }),
        ("together and too large", {
            let mut s = three(&[40, 40]);
            s.affinity.push(AffinitySpec {
                name: "app".to_owned(),
                vmids: [GuestId(101), GuestId(102)].into(),
            });
            s
        }),
        ("a group on two pinned hosts", {
            let mut s = db(three(&[4, 4, 4]), 3);
            s.vms
                .iter_mut()
                .for_each(|g| g.pinned_to = names(["pve1", "pve2"]));
            s
        }),
        ("nothing is up", {
            let mut s = three(&[4]);
            s.hosts.iter_mut().for_each(|h| h.state = HostState::Down);
            s
        }),
    ];
    let mut text = String::new();
    for (name, spec) in cases {
        let (_, answer) = solve(spec);
        assert_eq!(answer.status, Status::Infeasible, "{name}");
        let conflict = answer.conflict.unwrap();
        assert!(conflict.minimal, "{name}");
        let _ = writeln!(text, "{name}\n  {}", conflict.words);
        for rule in conflict.rules {
            let _ = writeln!(text, "    - {rule}");
        }
    }
    insta::assert_snapshot!(text);
}

/// Hosts of 10 GiB with one guest each, which a pin sends to the next host.
fn ring(sizes: &[u64], free: &[u64]) -> ClusterSpec {
    let hosts: Vec<_> = (1..=sizes.len()).map(|n| format!("pve{n}")).collect();
    let mut all: Vec<_> = hosts.iter().map(|name| host(name, 10, 1_000)).collect();
    all.extend(
        (1..)
            .zip(free)
            .map(|(n, room)| host(&format!("spare{n}"), *room, 1_000)),
    );
    let vms = (0..sizes.len())
        .map(|index| {
            let mut g = guest(
                101 + u32::try_from(index).unwrap(),
                sizes[index],
                10,
                Some(&hosts[index]),
            );
            g.pinned_to = [hosts[(index + 1) % hosts.len()].clone()].into();
            g
        })
        .collect();
    spec(all, vms)
}

#[test]
fn a_swap_that_fits_needs_no_third_host() {
    let (_, answer) = solve(ring(&[5, 5], &[10]));
    assert!(answer.plan.unwrap().steps().all(|step| !step.stopover));
}

#[test]
fn a_swap_that_does_not_fit_goes_through_a_third_host() {
    let mut spec = ring(&[7, 6], &[8]);
    // The guest that may stop over is not confined to its goal: all the others are forbidden to it but the spare.
    for guest in &mut spec.vms {
        let goal = guest.pinned_to.pop_first().unwrap();
        guest.forbidden = guest.host.iter().cloned().collect();
        guest.pinned_to = [goal, "spare1".to_owned()].into();
    }
    let cluster = Cluster::new(spec).unwrap();
    let placement = [
        (GuestId(101), "pve2".to_owned()),
        (GuestId(102), "pve1".to_owned()),
    ]
    .into();
    let plan = order(&cluster, &placement, Parallel::default()).unwrap();
    assert_eq!(check_plan(&cluster, &placement, &plan), []);
    insta::assert_json_snapshot!(plan);
}

#[test]
fn a_ring_without_room_says_so() {
    let cluster = Cluster::new(ring(&[7, 6], &[])).unwrap();
    let answer = place(&cluster, &Options::default()).unwrap();
    assert_eq!((answer.status, &answer.plan), (Status::Optimal, &None));
    insta::assert_snapshot!(answer.plan_problem.unwrap());
}

#[test]
fn the_order_is_found_where_the_first_possible_move_is_a_trap() {
    // 104 could move to pve2 at once, and would then block 103, which must leave pve3 before 102 can go there.
    let mut s = spec(
        vec![
            host("pve1", 20, 1_000),
            host("pve2", 20, 1_000),
            host("pve3", 12, 1_000),
        ],
        vec![
            guest(102, 10, 10, Some("pve2")),
            guest(103, 6, 10, Some("pve3")),
            guest(104, 10, 10, Some("pve1")),
            guest(105, 4, 10, Some("pve3")),
        ],
    );
    for (guest, goal) in s.vms.iter_mut().zip(["pve3", "pve2", "pve2", "pve2"]) {
        guest.pinned_to = names([goal]);
    }
    let (cluster, answer) = solve(s);
    let plan = answer.plan.unwrap_or_else(|| panic!("{:?}", answer.plan_problem));
    assert_eq!(check_plan(&cluster, &answer.assignment, &plan), []);
}

#[test]
fn a_group_is_kept_apart_on_the_way_if_any_order_does() {
    // 101 and 102 swap hosts. With a spare host nobody has to meet; without, the plan says that they do.
    for (spare, suspends) in [(true, false), (false, true)] {
        let mut hosts = vec![host("pve1", 100, 1_000), host("pve2", 100, 1_000)];
        if spare {
            hosts.push(host("pve3", 100, 1_000));
        }
        let vms = vec![guest(101, 10, 10, Some("pve1")), guest(102, 10, 10, Some("pve2"))];
        let cluster = Cluster::new(db(spec(hosts, vms), 2)).unwrap();
        let placement = [
            (GuestId(101), "pve2".to_owned()),
            (GuestId(102), "pve1".to_owned()),
        ]
        .into();
        let plan = order(&cluster, &placement, Parallel::default()).unwrap();
        assert_eq!(
            plan.steps().any(|step| !step.suspends.is_empty()),
            suspends,
            "{plan:#?}"
        );
        assert_eq!(check_plan(&cluster, &placement, &plan), []);
        let mut silent = plan.clone();
        silent
            .waves
            .iter_mut()
            .flatten()
            .for_each(|step| step.suspends.clear());
        assert_eq!(check_plan(&cluster, &placement, &silent).is_empty(), !suspends);
    }
}

#[test]
fn a_drained_host_migrates_and_a_failed_host_starts() {
    let cluster = Cluster::new(three(&[4, 8])).unwrap();
    for (change, action) in [
        (Change::Drain("pve1".to_owned()), Action::Migrate),
        (Change::Fail("pve1".to_owned()), Action::Start),
    ] {
        let answer = place(&cluster.what_if(&[change]).unwrap(), &Options::default()).unwrap();
        assert_eq!(answer.moves, 2);
        assert!(
            answer
                .actions
                .iter()
                .all(|a| a.action == action && a.target != "pve1"),
            "{answer:?}"
        );
        assert!(
            answer
                .actions
                .iter()
                .all(|a| a.from.is_some() == (action == Action::Migrate))
        );
    }
}

#[test]
fn an_added_host_makes_a_placement_possible() {
    let cluster = Cluster::new(three(&[40, 40, 40, 40])).unwrap();
    assert_eq!(
        place(&cluster, &Options::default()).unwrap().status,
        Status::Infeasible
    );
    let more = cluster
        .what_if(&[Change::Add(Box::new(host("pve4", 64 * 1024, 16_000)))])
        .unwrap();
    assert_eq!(place(&more, &Options::default()).unwrap().status, Status::Optimal);
    let wrong = cluster.what_if(&[Change::Drain("pve9".to_owned())]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "invalid placement input: unknown host pve9; the hosts are pve1, pve2, pve3"
    );
    assert!(
        cluster
            .what_if(&[Change::Add(Box::new(host("pve1", 1, 1)))])
            .is_err()
    );
}

#[test]
fn a_step_is_judged_against_the_live_state() {
    let live = |change: Spoil| {
        let mut s = three(&[4, 30]);
        s.vms.push(guest(103, 60 * 1024, 1_000, Some("pve3")));
        change(&mut s);
        Cluster::new(s).unwrap()
    };
    let migrate = |vmid, from: &str, target: &str| PlanStep {
        action: Action::Migrate,
        vmid: GuestId(vmid),
        from: Some(from.to_owned()),
        target: target.to_owned(),
        stopover: false,
        suspends: Vec::new(),
    };
    let step = migrate(102, "pve1", "pve2");
    let other = migrate(103, "pve3", "pve2");
    let cases: [(&str, Spoil, &[PlanStep]); 8] = [
        ("as planned", |_| {}, &[]),
        (
            "another step fills the target meanwhile",
            |_| {},
            std::slice::from_ref(&other),
        ),
        (
            "the target went into maintenance",
            |s| s.hosts[1].state = HostState::Maintenance,
            &[],
        ),
        ("the target failed", |s| s.hosts[1].state = HostState::Down, &[]),
        ("the source failed", |s| s.hosts[0].state = HostState::Down, &[]),
        (
            "the guest was moved by someone else",
            |s| s.vms[1].host = Some("pve3".to_owned()),
            &[],
        ),
        (
            "the guest is there already",
            |s| s.vms[1].host = Some("pve2".to_owned()),
            &[],
        ),
        ("the guest grew", |s| s.vms[1].ram_mib = 65 * 1024, &[]),
    ];
    let mut text = String::new();
    for (name, change, in_progress) in cases {
        let wrong = check_step(&live(change), in_progress, &step);
        let _ = writeln!(text, "{name}");
        let found = if wrong.is_empty() {
            vec!["accepted".to_owned()]
        } else {
            wrong.iter().map(ToString::to_string).collect()
        };
        for line in found {
            let _ = writeln!(text, "  {line}");
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_bound_is_stated_when_time_runs_out() {
    let shape = instances::Shape {
        hosts: 40,
        guests: 400,
        fill: 98,
        cpu_fill: 96,
        first: HostState::Down,
    };
    let cluster = instances::data_centre(1, shape);
    let mut options = Options::default();
    options.limits.steps = Some(2_000);
    options.limits.time = Duration::from_mins(1);
    let answer = place(&cluster, &options).unwrap();
    assert_eq!(answer.status, Status::Feasible);
    let cost = answer.cost.unwrap();
    assert!(cost.bound < cost.value && !cost.proven, "{cost:?}");
    assert_eq!(answer.bound, cost.bound);
}

#[test]
fn pictures() {
    let mut s = three(&[4, 8, 16, 20]);
    s.hosts[1].name = "a-host-with-a-long-name".to_owned();
    s.vms[0].name = Some("db-primary".to_owned());
    s.vms.push(guest(105, 30 * 1024, 1_000, Some("pve3")));
    let cluster = Cluster::new(s).unwrap();
    let drained = cluster.what_if(&[Change::Drain("pve1".to_owned())]).unwrap();
    let failed = cluster.what_if(&[Change::Fail("pve1".to_owned())]).unwrap();
    let mut text = String::new();
    for (name, cluster, width, charset) in [
        ("nothing to do", &cluster, 80, Charset::Unicode),
        ("drained, 80 columns", &drained, 80, Charset::Unicode),
        ("failed, 60 columns, ASCII", &failed, 60, Charset::Ascii),
        ("failed, narrow", &failed, 20, Charset::Ascii),
    ] {
        let answer = place(cluster, &Options::default()).unwrap();
        let _ = writeln!(text, "== {name}\n{}", picture(cluster, &answer, width, charset));
    }
    insta::assert_snapshot!(text);
}
