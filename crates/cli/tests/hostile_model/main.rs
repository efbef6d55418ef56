//! A hostile model against the lab, and an oracle that stands outside of both.
//!
//! A model server answers over the real wire with generated proposals: every command that the tables refuse, disguises of
//! commands that write, typed writes, forged approvals, replayed call ids, broken arguments, injections into typed reads, and
//! answers that lie. The real binary works on them against the real lab, at the levels `read_only` and `controlled`, where
//! nobody approves. The oracle reads the files and processes of every machine from `/proc`, and the books of the lab from its
//! APIs, before and after: nothing may differ. Then a write is approved, and the oracle must see it.
//!
//! The seed is fixed. `make fuzz-model` sets `MODEL_SEED` and `MODEL_SECONDS` and goes on with new seeds for so long.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

#[path = "../../../lab/tests/sandbox/examples.rs"]
mod examples;
#[path = "../../../shell/tests/oracles/random.rs"]
mod random;
#[path = "../support/mod.rs"]
mod support;

mod books;
mod generate;
mod lab;
mod model;
mod oracle;
mod play;
#[cfg(feature = "everything-is-a-read")]
mod wall;

use std::time::{Duration, Instant};

use generate::{Call, Class, Generator};
use lab::Lab;
use oracle::Oracle;
use play::Player;

const SEED: &str = "MODEL_SEED";
const SECONDS: &str = "MODEL_SECONDS";
/// The seed of `make test`.
const FIXED: [u64; 1] = [13];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
#[cfg_attr(
    feature = "everything-is-a-read",
    ignore = "this build has no analysis, which this is a test of"
)]
fn no_proposal_changes_a_machine_unless_a_human_approves_it() {
    let Some(lab) = Lab::start() else { return };
    let player = Player::new(&lab);
    let oracle = Oracle::new(&lab);
    let before = oracle.look();
    assert!(before.machines() >= 20, "{} machines", before.machines());

    let until = number(SECONDS).map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seeds: Box<dyn Iterator<Item = u64>> = match (number(SEED), until) {
        (seed, Some(until)) => Box::new((seed.unwrap_or(1)..).take_while(move |_| Instant::now() < until)),
        (Some(seed), None) => Box::new(std::iter::once(seed)),
        (None, None) => Box::new(FIXED.into_iter()),
    };
    let (examples, refused) = (examples::refused(), examples::of_the_tables());
    let mut told = play::Told::default();
    for seed in seeds {
        let sessions =
            ["read_only", "controlled"].map(|level| Generator::new(seed, &examples, &refused).session(level));
        let proposals: Vec<Call> = sessions.iter().flat_map(generate::Session::proposals).collect();
        // Side by side, as two people would: two processes on one store.
        let came = std::thread::scope(|scope| {
            let playing = sessions.map(|session| scope.spawn(|| player.play(session)));
            playing.map(|session| session.join().unwrap())
        });
        let difference = before.difference(&oracle.look());
        assert!(
            difference.is_empty(),
            "seed {seed}: the lab changed:\n{}\nproposals that name what changed:\n{}",
            difference.join("\n"),
            generate::suspects(&proposals, &difference).join("\n")
        );
        for came in &came {
            told.add(came);
        }
    }
    eprintln!("{told}");
    // The proposals came as far as they were meant to: a session in which everything fails at the door shows nothing.
    for (class, rules) in Class::MEETS {
        assert!(
            told.reached(class, rules) > 0,
            "no proposal of {class:?} met {rules:?}: {told}"
        );
    }

    // The oracle can fail: an approved write is seen, and nothing besides it.
    let written = player.approved_write();
    let difference = before.difference(&oracle.look());
    assert!(!difference.is_empty(), "the oracle did not see {written}");
    let unexplained: Vec<&String> = difference
        .iter()
        .filter(|line| !line.contains(&format!("{} ", oracle::GUEST)))
        .collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert!(
        difference.iter().any(|line| line.contains(&written)),
        "{difference:#?}"
    );
}
