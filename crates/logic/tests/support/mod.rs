//! What the tests have in common.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use interlock_logic::{Answer, Facts, Knowledge, Limits, Refusal, Rules};
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
