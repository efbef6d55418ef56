//! Questions about the live state in Prolog: deductive power without authority to change anything.
//!
//! Data walks one way. Typed [`Facts`] are checked and become a snapshot; operator [`Rules`] are parsed and checked; both
//! together are [`Knowledge`], which never changes. A question is parsed into a term, **every goal in it** is checked against
//! the one table of predicates ([`PREDICATES`]), and only the checked tree ([`Goal`]) can run. The engine resolves it within
//! [`Limits`] and returns an [`Answer`] that names its snapshot and the age of its facts, or an [`Explanation`] with the facts
//! and rules that the answer rests on. [`Logic`] replaces the snapshot while questions run.
//!
//! This crate must never read a file, open a connection, start a process or change a fact. It has no code for any of these:
//! the engine has no predicate that does more than look at terms and build terms in memory of its own, which is dropped
//! with the question. It looks at the clock only to stop in time; the time of a question comes in as a value.
//!
//! # Why the engine is our own
//!
//! `scryer-prolog` 0.10 and SWI-Prolog 9.0 were measured first; `docs/logic.md` has the numbers. Both answer point goals fast
//! enough. Scryer adds 6.4 minutes of processor time to every debug build, and both are general systems:
//! files, streams, processes and code loading are a part of them and have to be walled off by a worker process, a sandbox and
//! the checker together. The engine here is the language that the checker allows and nothing else. There is nothing to wall
//! off, limits are exact, a snapshot is replaced in milliseconds, and explanations come from the engine itself. SWI-Prolog,
//! where it is installed, is the oracle of the tests.

mod answer;
mod check;
mod engine;
mod facts;
mod knowledge;
mod lexer;
mod operators;
mod parse;
mod predicates;
mod rules;
mod term;
mod write;

pub use answer::{Answer, Because, Explanation, Stopped};
pub use check::{Code, Goal, Refusal};
pub use engine::{Ground, Limits, Proof, Stop};
pub use facts::{
    AlertFact, DependencyFact, Facts, FactsError, GuestFact, Health, Id, LinkFact, MAX_FACTS, MAX_NAME_BYTES,
    NodeFact,
};
pub use knowledge::{Knowledge, Logic, SnapshotInfo};
pub use parse::{
    MAX_DEPTH, MAX_GOAL_BYTES, MAX_RULES_BYTES, MAX_VARIABLES, ParseError, Position, parse_clauses,
    parse_goal,
};
pub use predicates::{PREDICATES, Predicate, Topic};
pub use rules::{MAX_CLAUSES, RuleError, Rules};
pub use term::{Clause, Name, Term};
pub use write::{write_atom, write_term};
