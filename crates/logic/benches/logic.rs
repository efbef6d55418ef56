//! How long questions take, and how long new facts take until they can be asked, at 10,000 facts.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark may panic and prints"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_logic::{
    AlertFact, DependencyFact, Facts, GuestFact, Health, Id, Knowledge, Limits, LinkFact, Logic, NodeFact,
    Rules,
};
use jiff::Timestamp;

/// 500 nodes with links and metrics, 1,500 guests with dependencies, alerts: somewhat more than 10,000 facts.
fn facts(now: Timestamp) -> Facts {
    let node = |number: i64| format!("node{number}");
    Facts {
        taken_at: Some(now),
        nodes: (0..500)
            .map(|number| NodeFact {
                name: node(number),
                health: if number % 50 == 49 {
                    Health::Critical
                } else {
                    Health::Nominal
                },
                metrics: [
                    ("cpu_percent", number % 100),
                    ("ram_free_mib", number * 10),
                    ("disk_percent", number % 90),
                ]
                .map(|(name, value)| (name.to_owned(), value.into()))
                .into(),
            })
            .collect(),
        links: (0..500)
            .flat_map(|number| [(number, (number + 1) % 500), (number, (number + 37) % 500)])
            .map(|(a, b)| LinkFact {
                a: node(a),
                b: node(b),
                cost: (1 + a % 5).into(),
                up: true,
            })
            .collect(),
        guests: (0..1500)
            .map(|number| GuestFact {
                id: Id::Number(1000 + number),
                name: Some(format!("guest{number}")),
                node: node(number % 500),
            })
            .collect(),
        dependencies: (0..1500)
            .map(|number| DependencyFact {
                resource: Id::Number(1000 + number),
                needs: Id::Number(1000 + (number * 7 + 1) % 1500),
            })
            .collect(),
        alerts: (0..200)
            .map(|number| AlertFact {
                resource: Id::Name(node(number)),
                condition: "high_cpu".to_owned(),
                at: now,
            })
            .collect(),
    }
}

/// The median of several runs.
fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn main() {
    let now: Timestamp = "2026-03-01T03:00:00Z".parse().unwrap();
    let facts = facts(now);
    let logic = Logic::new(&facts, Rules::default(), now).unwrap();
    let count = logic.current().info().facts;
    println!("logic, {count} facts");
    let point = "under 1 ms";
    let goals: &[(&str, &str, u32)] = &[
        ("node_health(node250, Health)", point, 1000),
        ("node_metric(node499, cpu_percent, V)", point, 1000),
        ("current_vm_host(2400, Node)", point, 1000),
        ("live_link(node10, X, Cost)", point, 1000),
        ("active_alerts(node100, L)", point, 1000),
        ("current_vm_host(G, node7)", point, 1000),
        ("node_health(ghost, Health)", point, 1000),
        ("node_metric(N, cpu_percent, V), V >= 99", "", 0),
        ("aggregate_all(count, current_vm_host(_, _), N)", "", 0),
        ("can_reach(node0, node250)", "", 0),
        ("shortest_path(node0, node250, P, C)", "", 0),
        ("blast_radius(node1, L)", "", 0),
    ];
    let mut met = true;
    let limits = Limits {
        answers: 2000,
        ..Limits::default()
    };
    for (text, wanted, most) in goals {
        let knowledge = logic.current();
        // What a user waits for: reading, checking, answering, and the answer in words.
        let time = median(51, || {
            let goal = knowledge.check(text).unwrap();
            let answer = knowledge.ask(&goal, now, limits);
            assert!(answer.complete, "{text}: {:?}", answer.stopped);
        });
        let ok = *most == 0 || time < Duration::from_micros(u64::from(*most));
        met &= ok;
        println!(
            "  {text:50} {:>10.1} µs  {wanted}{}",
            time.as_secs_f64() * 1e6,
            if ok { "" } else { "  MISSED" }
        );
    }
    let time = median(11, || {
        logic.replace(&facts, now).unwrap();
    });
    let ok = time < Duration::from_secs(2);
    met &= ok;
    println!(
        "  {:50} {:>10.1} ms  under 2 s{}",
        "new snapshot",
        time.as_secs_f64() * 1e3,
        if ok { "" } else { "  MISSED" }
    );
    let knowledge = Knowledge::new(&facts, Arc::new(Rules::default()), 1, now).unwrap();
    println!("  facts as text: {} bytes", knowledge.facts_as_text().len());
    assert!(met, "a number was missed");
}
