//! Runs generated hostile goals: `hostile-goals [COUNT] [SEED]`. Fails if one passes that must not, or if anything changes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for developers"
)]
#![allow(unreachable_pub, missing_docs, reason = "modules of the tests")]

#[path = "../tests/support/hostile.rs"]
mod hostile;
#[path = "../tests/support/judge.rs"]
mod judge;

use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_logic::{Facts, Knowledge, Limits, Rules, parse_goal};

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(100_000, |count| count.parse().unwrap());
    let seed: u64 = arguments.next().map_or(1, |seed| seed.parse().unwrap());
    let facts = Facts::from_yaml(include_str!("../tests/cluster.yaml")).unwrap();
    let rules = Rules::load([("rules.pl", include_str!("../tests/rules.pl"))]).unwrap();
    let now = "2026-03-01T03:00:40Z".parse().unwrap();
    let knowledge = Knowledge::new(&facts, Arc::new(rules), 1, now).unwrap();
    let limits = Limits {
        inferences: 20_000,
        memory_bytes: 16 << 20,
        answers: 10,
        time: Duration::from_secs(5),
    };
    let (before, files) = (knowledge.facts_as_text(), open_files());
    let mut random = hostile::Random::new(seed);
    let (mut answered, mut refused, mut stopped) = (0_u64, 0_u64, 0_u64);
    let begun = Instant::now();
    for _ in 0..count {
        let text = hostile::goal(&mut random);
        let Ok(goal) = knowledge.check(&text) else {
            refused += 1;
            continue;
        };
        let read = parse_goal(goal.text()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        if let Some(what) = judge::forbidden(&read.term) {
            panic!("{text:?} passed with {what}");
        }
        let answer = knowledge.ask(&goal, now, limits);
        answered += 1;
        stopped += u64::from(!answer.complete);
    }
    assert_eq!(knowledge.facts_as_text(), before, "a fact changed");
    assert_eq!(open_files(), files, "a file was opened");
    let canary = knowledge.check("aggregate_all(count, known_node(_), N)").unwrap();
    assert_eq!(knowledge.ask(&canary, now, limits).lines, ["N = 5"]);
    println!(
        "{count} goals in {:.1} s: {refused} refused, {answered} answered ({stopped} stopped at a limit); no fact changed, no file opened",
        begun.elapsed().as_secs_f64()
    );
}
