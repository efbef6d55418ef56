//! Laws that hold for every input.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod instances;

use std::collections::BTreeMap;
use std::time::Duration;

use instances::{Numbers, Shape, data_centre, small};
use interlock_placement::{
    Action, Answer, Change, Charset, Cluster, GuestId, HostState, Limits, MovePlan, Options, PlanStep,
    Status, Violation, check_placement, check_plan, check_step, picture, place,
};
use proptest::prelude::*;

/// Clusters of every kind: small ones with all rules, larger ones with a failed or draining host.
fn cluster(seed: u64) -> Cluster {
    let mut numbers = Numbers::new(seed);
    if numbers.chance(50) {
        return Cluster::new(small(seed)).unwrap();
    }
    let hosts = 3 + numbers.index(6);
    let shape = Shape {
        hosts,
        guests: hosts * (2 + numbers.index(4)),
        fill: 70 + numbers.below(28),
        cpu_fill: 60 + numbers.below(38),
        first: numbers.pick(&[HostState::Down, HostState::Maintenance, HostState::Up]),
    };
    let cluster = data_centre(seed, shape);
    if numbers.chance(50) {
        cluster.what_if(&[Change::Drain("pve2".to_owned())]).unwrap()
    } else {
        cluster
    }
}

fn options(seed: u64) -> Options {
    // Steps decide when the search ends, so that the answer does not depend on the machine.
    let limits = Limits {
        time: Duration::from_mins(10),
        balance_time: Duration::from_mins(10),
        steps: Some(20_000),
        seed,
        ..Limits::default()
    };
    Options {
        limits,
        ..Options::default()
    }
}

fn without_times(mut answer: Answer) -> Answer {
    answer.elapsed_ms = 0;
    for value in [&mut answer.cost, &mut answer.balance].into_iter().flatten() {
        value.elapsed_ms = 0;
    }
    answer
}

/// Adds up what each host holds at each moment of a plan, with both ends of a migration holding the guest, and names the
/// hosts that a step pushes beyond what they offer.
fn overcommitted(cluster: &Cluster, plan: &MovePlan) -> Vec<String> {
    let spec = cluster.spec();
    let down = |name: &str| {
        spec.hosts
            .iter()
            .any(|h| h.name == name && h.state == HostState::Down)
    };
    let mut at: BTreeMap<GuestId, String> = spec
        .vms
        .iter()
        .filter_map(|g| Some((g.vmid, g.host.clone()?)))
        .filter(|(_, host)| !down(host))
        .collect();
    let mut wrong = Vec::new();
    for wave in &plan.waves {
        for host in &spec.hosts {
            if wave.iter().all(|step| step.target != host.name) {
                continue;
            }
            let (mut ram, mut cpu) = (0, 0);
            for guest in &spec.vms {
                let holds = at.get(&guest.vmid) == Some(&host.name)
                    || wave
                        .iter()
                        .any(|step| step.vmid == guest.vmid && step.target == host.name);
                if holds {
                    ram += guest.ram_mib;
                    cpu += guest.cpu_mc;
                }
            }
            let offers = |amount: u64, percent: u32| amount * u64::from(percent) / 100;
            if ram > offers(host.ram_mib - host.ram_reserved_mib, host.ram_overcommit_percent)
                || cpu > offers(host.cpu_mc, host.cpu_overcommit_percent)
            {
                wrong.push(host.name.clone());
            }
        }
        at.extend(wave.iter().map(|step| (step.vmid, step.target.clone())));
    }
    wrong
}

/// Ways to spoil a plan, each of which makes it wrong whatever the plan is.
fn spoil(plan: &MovePlan, cluster: &Cluster, kind: usize, which: usize) -> Option<MovePlan> {
    let mut plan = plan.clone();
    let last: Vec<(usize, usize)> = plan
        .waves
        .iter()
        .enumerate()
        .flat_map(|(w, wave)| wave.iter().enumerate().map(move |(s, step)| (w, s, step)))
        .filter(|(_, _, step)| !step.stopover)
        .map(|(w, s, _)| (w, s))
        .collect();
    let (wave, index) = *last.get(which % last.len().max(1))?;
    let step = plan.waves[wave][index].clone();
    match kind {
        0 => drop(plan.waves[wave].remove(index)),
        1 => plan.waves[wave].push(step),
        2 => {
            let other = cluster.spec().hosts.iter().find(|h| h.name != step.target)?;
            plan.waves[wave][index].target.clone_from(&other.name);
        }
        3 => "no-such-host".clone_into(&mut plan.waves[wave][index].target),
        4 => plan.waves[wave][index].from = Some(step.target.clone()),
        5 => {
            plan.waves[wave][index].action = match step.action {
                Action::Migrate => Action::Start,
                Action::Start => Action::Migrate,
            };
        }
        _ => plan.waves[wave][index].vmid = GuestId(999_999_999),
    }
    Some(plan)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_checker_accepts_what_is_produced_and_refuses_what_is_spoiled(seed in any::<u64>(), which in any::<usize>()) {
        let cluster = cluster(seed);
        let answer = place(&cluster, &options(seed)).expect("the checker accepts the solver's own plan");
        match answer.status {
            Status::Infeasible => {
                let conflict = answer.conflict.expect("a conflict is named");
                prop_assert!(!conflict.words.is_empty() && !conflict.rules.is_empty());
            }
            Status::Timeout => {}
            Status::Optimal | Status::Feasible => {
                prop_assert_eq!(check_placement(&cluster, &answer.assignment), []);
                let cost = answer.cost.as_ref().unwrap();
                let balance = answer.balance.as_ref().unwrap();
                prop_assert!(cost.bound <= cost.value && balance.bound <= balance.value);
                prop_assert_eq!(answer.status == Status::Optimal, cost.proven && balance.proven);
                prop_assert_eq!(answer.plan.is_none(), answer.plan_problem.is_some());
                if let Some(plan) = &answer.plan {
                    prop_assert_eq!(check_plan(&cluster, &answer.assignment, plan), []);
                    prop_assert_eq!(overcommitted(&cluster, plan), Vec::<String>::new());
                    for kind in 0..7 {
                        if let Some(spoiled) = spoil(plan, &cluster, kind, which) {
                            prop_assert_ne!(check_plan(&cluster, &answer.assignment, &spoiled), [], "kind {}", kind);
                        }
                    }
                    let mut short = plan.clone();
                    if short.waves.pop().is_some() {
                        prop_assert_ne!(check_plan(&cluster, &answer.assignment, &short), []);
                    }
                    // All at once: refused if and only if a host would hold too much, or an order was needed for a group.
                    let once = MovePlan { waves: vec![plan.steps().filter(|s| !s.stopover).cloned().collect()] };
                    if plan.steps().all(|s| !s.stopover) && !once.waves[0].is_empty() {
                        let refused = check_plan(&cluster, &answer.assignment, &once);
                        let about_room = refused.iter().any(|v| matches!(v, Violation::Overcommitted { resource, .. }
                            if matches!(resource, interlock_placement::Resource::Ram | interlock_placement::Resource::Cpu)));
                        prop_assert_eq!(about_room, !overcommitted(&cluster, &once).is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn the_answer_depends_on_the_input_and_the_seed_alone(seed in any::<u64>()) {
        let cluster = cluster(seed);
        let first = without_times(place(&cluster, &options(seed)).unwrap());
        let second = without_times(place(&cluster, &options(seed)).unwrap());
        prop_assert_eq!(first, second);
    }

    #[test]
    fn each_step_passes_against_the_live_state_in_its_turn(seed in any::<u64>()) {
        let cluster = cluster(seed);
        let answer = place(&cluster, &options(seed)).unwrap();
        let mut live = cluster.spec().clone();
        for wave in answer.plan.iter().flat_map(|p| &p.waves) {
            let now = Cluster::new(live.clone()).unwrap();
            let mut in_progress: Vec<PlanStep> = Vec::new();
            for step in wave {
                prop_assert_eq!(check_step(&now, &in_progress, step), []);
                in_progress.push(step.clone());
            }
            for step in wave {
                let guest = live.vms.iter_mut().find(|g| g.vmid == step.vmid).unwrap();
                guest.host = Some(step.target.clone());
            }
        }
        // Once everything is where it should be, nothing has to move.
        if answer.plan.is_some() {
            let after = place(&Cluster::new(live).unwrap(), &options(seed)).unwrap();
            prop_assert_eq!((after.moves, after.starts), (0, 0));
        }
    }

    #[test]
    fn a_picture_is_never_wider_than_asked(seed in any::<u64>(), width in 0_usize..160) {
        let cluster = cluster(seed);
        let answer = place(&cluster, &options(seed)).unwrap();
        for charset in [Charset::Unicode, Charset::Ascii] {
            let text = picture(&cluster, &answer, width, charset);
            for line in text.lines() {
                prop_assert!(line.chars().count() <= width.max(interlock_placement::MIN_WIDTH), "{}", line);
            }
            prop_assert!(charset == Charset::Unicode || text.is_ascii());
        }
    }

    #[test]
    fn text_that_is_no_input_is_an_error_and_never_a_panic(text in "\\PC{0,200}") {
        let _ = Cluster::from_json(&text);
        let _ = Cluster::from_yaml(&text);
    }
}
