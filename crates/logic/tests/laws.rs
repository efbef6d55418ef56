//! Laws: what is written is read back, and no goal passes the checker with something in it that must not run.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic, and the functions that tests share are test code too"
)]

#[path = "support/hostile.rs"]
mod hostile;
#[path = "support/judge.rs"]
mod judge;
mod support;

use std::time::Duration;

use hostile::Random;
use interlock_logic::{Limits, Term, parse_goal, write_term};
use proptest::prelude::*;
use support::with_variables;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-zA-Z0-9_]{0,6}",
        prop::sample::select(vec![
            "+", "-", "*", "/", ":-", "-->", "?-", ",", ";", "->", "*->", "|", "\\+", "\\", "=", "is", "mod",
            "^", "**", ":", "[]", "{}", "!", ".", "/*", "%", "", " ", "A", "_", "'", "\"", "\\'", "a b", "é",
            "Ω", "\u{0}", "\n", "\u{202e}", "日本", "0", "$", "..", "<", "0'a",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ]
}

fn term() -> impl Strategy<Value = Term> {
    let leaf = prop_oneof![
        (0..4_u32).prop_map(Term::Var),
        name().prop_map(|name| Term::atom(&name)),
        any::<i64>().prop_map(Term::Int),
        (-5..5_i64).prop_map(Term::Int),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(Term::Float),
        (-3.0..3.0).prop_map(Term::Float),
    ];
    leaf.prop_recursive(6, 60, 4, |inner| {
        prop_oneof![
            (name(), prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(name, arguments)| Term::compound(name, arguments)),
            (
                prop::sample::select(vec![
                    "+", "-", "*", ",", ";", "->", ":-", ":", "=", "^", "**", "is", "mod", "<", "|"
                ]),
                inner.clone(),
                inner.clone()
            )
                .prop_map(|(name, a, b)| Term::compound(name, vec![a, b])),
            (
                prop::sample::select(vec!["-", "+", "\\", "\\+", ":-", "?-"]),
                inner.clone()
            )
                .prop_map(|(name, a)| Term::compound(name, vec![a])),
            (
                prop::collection::vec(inner.clone(), 1..4),
                prop::option::of(inner)
            )
                .prop_map(|(items, tail)| Term::list(items, tail)),
        ]
    })
}

/// Numbers the variables in the order in which the parser meets them.
fn renumbered(term: &Term) -> Term {
    with_variables(term, &mut Vec::new(), &|place| {
        Term::Var(u32::try_from(place).unwrap())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(term in term()) {
        let names: Vec<Option<String>> = ["A", "B", "_C", "Dd"].iter().map(|name| Some((*name).to_owned())).collect();
        let text = write_term(&term, &names);
        let read = parse_goal(&text).map_err(|error| TestCaseError::fail(format!("{text}\n{error}")))?;
        prop_assert_eq!(&read.term, &renumbered(&term), "{}", text);
        // Nothing that is invisible or reorders text is in it.
        prop_assert!(!text.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)), "{}", text.escape_debug());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        if let Ok(clause) = parse_goal(&text) {
            let written = write_term(&clause.term, &clause.variables);
            prop_assert_eq!(parse_goal(&written).map(|again| again.term), Ok(clause.term), "{}", written);
        }
    }
}

#[test]
fn hostile_goals_change_nothing() {
    const GOALS: u64 = 3000;
    let knowledge = support::cluster();
    let limits = Limits {
        inferences: 2000,
        memory_bytes: 4 << 20,
        answers: 5,
        time: Duration::from_secs(10),
    };
    let facts = knowledge.facts_as_text();
    let mut random = Random::new(20_260_301);
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..GOALS {
        let text = hostile::goal(&mut random);
        match knowledge.check(&text) {
            Err(refusal) => {
                refused += 1;
                assert!(!refusal.message.is_empty());
            }
            Ok(goal) => {
                answered += 1;
                // The judge reads the text that was printed, with what it means.
                let read = parse_goal(goal.text()).unwrap_or_else(|error| panic!("{}: {error}", goal.text()));
                assert_eq!(judge::forbidden(&read.term), None, "{text}");
                let answer = knowledge.ask(&goal, support::now(), limits);
                assert_eq!(answer.goal, goal.text());
            }
        }
    }
    assert_eq!(knowledge.facts_as_text(), facts);
    assert_eq!(
        support::lines(&knowledge, "aggregate_all(count, known_node(_), N)"),
        ["N = 5"]
    );
    // The generator tries both: goals that pass, and goals that do not.
    assert!(
        answered > 300 && refused > 1000,
        "{answered} answered, {refused} refused"
    );
}
