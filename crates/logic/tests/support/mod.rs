//! What the tests have in common.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use interlock_logic::{Answer, Facts, Knowledge, Limits, Refusal, Rules, Term};
use jiff::Timestamp;

/// The example cluster of the documentation.
pub(crate) const CLUSTER: &str = include_str!("../cluster.yaml");
/// The example rules of the documentation.
pub(crate) const RULES: &str = include_str!("../rules.pl");

/// 40 seconds after the facts were taken.
pub(crate) fn now() -> Timestamp {
    "2026-03-01T03:00:40Z".parse().unwrap()
}

pub(crate) fn cluster() -> Knowledge {
    let facts = Facts::from_yaml(CLUSTER).unwrap();
    let rules = Rules::load([("rules/capacity.pl", RULES)]).unwrap();
    Knowledge::new(&facts, Arc::new(rules), 7, now()).unwrap()
}

pub(crate) fn ask(knowledge: &Knowledge, goal: &str) -> Result<Answer, Refusal> {
    let goal = knowledge.check(goal)?;
    Ok(knowledge.ask(&goal, now(), Limits::default()))
}

/// The answers as lines of Prolog.
pub(crate) fn lines(knowledge: &Knowledge, goal: &str) -> Vec<String> {
    let answer = ask(knowledge, goal).unwrap_or_else(|refusal| panic!("{goal}: {refusal}"));
    assert!(answer.complete, "{goal}: {:?}", answer.stopped);
    answer.lines
}

/// A term with its variables in another form, by the order in which they are met.
pub(crate) fn with_variables(term: &Term, met: &mut Vec<u32>, variable: &dyn Fn(usize) -> Term) -> Term {
    match term {
        Term::Var(number) => {
            let place = met.iter().position(|known| known == number).unwrap_or_else(|| {
                met.push(*number);
                met.len() - 1
            });
            variable(place)
        }
        Term::Compound(name, arguments) => Term::compound(
            name.clone(),
            arguments
                .iter()
                .map(|argument| with_variables(argument, met, variable))
                .collect(),
        ),
        Term::List(items, tail) => {
            let items = items
                .iter()
                .map(|item| with_variables(item, met, variable))
                .collect();
            let tail = tail.as_ref().map(|tail| with_variables(tail, met, variable));
            Term::list(items, tail)
        }
        other => other.clone(),
    }
}
