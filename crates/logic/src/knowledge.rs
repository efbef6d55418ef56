//! What questions are asked of, and how it is replaced.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use jiff::Timestamp;
use serde::Serialize;

use crate::answer::{Answer, Explanation};
use crate::check::{Goal, Refusal, check_goal};
use crate::engine::{Base, Limits, Origin};
use crate::facts::{Facts, FactsError, Id, clauses};
use crate::parse::{ParseError, parse_clauses};
use crate::rules::Rules;
use crate::term::{Clause, Term};
use crate::write::write_term;

/// Which facts an answer rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotInfo {
    /// Its number: 1 for the first, one more for each one after it.
    pub version: u64,
    /// The SHA-256 of its facts. Equal facts have equal hashes.
    pub hash: String,
    /// When it was so.
    pub taken_at: Timestamp,
    /// How many facts there are.
    pub facts: usize,
}

/// One snapshot with the rules, ready for questions. Immutable: every question gets memory of its own.
#[derive(Debug)]
pub struct Knowledge {
    pub(crate) base: Base,
    pub(crate) info: SnapshotInfo,
    pub(crate) resources: BTreeSet<Id>,
    pub(crate) names: HashMap<String, Vec<Id>>,
    rules: Arc<Rules>,
    facts: Vec<Term>,
}

static LIBRARY: LazyLock<Result<Vec<Clause>, ParseError>> =
    LazyLock::new(|| parse_clauses(include_str!("library.pl")));

impl Knowledge {
    /// Puts facts and rules together.
    pub fn new(facts: &Facts, rules: Arc<Rules>, version: u64, now: Timestamp) -> Result<Self, FactsError> {
        let prepared = clauses(facts)?;
        let mut base = Base::new();
        for fact in &prepared.terms {
            base.add(fact, None, Origin::Fact);
        }
        // A test reads the library; it is a part of the program.
        for clause in LIBRARY.as_deref().unwrap_or_default() {
            match &clause.term {
                Term::Compound(name, parts) if &**name == ":-" && parts.len() == 2 => {
                    base.add(&parts[0], Some(&parts[1]), Origin::Library);
                }
                head => base.add(head, None, Origin::Library),
            }
        }
        for rule in &rules.clauses {
            let origin = Origin::Rule {
                file: rule.file.clone(),
                line: rule.line,
            };
            base.add(&rule.head, rule.body.as_ref(), origin);
        }
        Ok(Self {
            base: base.finish(),
            info: SnapshotInfo {
                version,
                hash: prepared.hash,
                taken_at: facts.taken_at.unwrap_or(now),
                facts: prepared.terms.len(),
            },
            resources: prepared.resources,
            names: prepared.names,
            rules,
            facts: prepared.terms,
        })
    }

    /// Reads and checks a goal.
    pub fn check(&self, text: &str) -> Result<Goal, Refusal> {
        check_goal(text, &self.rules.names)
    }

    /// Answers a goal.
    pub fn ask(&self, goal: &Goal, now: Timestamp, limits: Limits) -> Answer {
        Answer::find(self, goal, now, limits)
    }

    /// Answers a goal, with what its first answer rests on.
    pub fn explain(&self, goal: &Goal, now: Timestamp, limits: Limits) -> Explanation {
        Explanation::find(self, goal, now, limits)
    }

    /// Which snapshot this is.
    pub fn info(&self) -> &SnapshotInfo {
        &self.info
    }

    /// The operator rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The facts as Prolog text: one clause on each line.
    pub fn facts_as_text(&self) -> String {
        let mut text = String::new();
        for fact in &self.facts {
            text.push_str(&write_term(fact, &[]));
            text.push_str(".\n");
        }
        text
    }

    /// The rules of Interlock as Prolog text.
    pub const fn library() -> &'static str {
        include_str!("library.pl")
    }
}

/// The current knowledge, for many threads. New facts are prepared beside the old ones and then take their place at once;
/// questions that run go on with what they began with.
#[derive(Debug)]
pub struct Logic {
    rules: Arc<Rules>,
    current: RwLock<Arc<Knowledge>>,
    versions: AtomicU64,
}

impl Logic {
    /// Starts with facts.
    pub fn new(facts: &Facts, rules: Rules, now: Timestamp) -> Result<Self, FactsError> {
        let rules = Arc::new(rules);
        let first = Knowledge::new(facts, rules.clone(), 1, now)?;
        Ok(Self {
            rules,
            current: RwLock::new(Arc::new(first)),
            versions: AtomicU64::new(1),
        })
    }

    /// What questions are asked of now.
    pub fn current(&self) -> Arc<Knowledge> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the facts. If they cannot be used, the old ones stay.
    pub fn replace(&self, facts: &Facts, now: Timestamp) -> Result<SnapshotInfo, FactsError> {
        let version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
        let next = Arc::new(Knowledge::new(facts, self.rules.clone(), version, now)?);
        let info = next.info.clone();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        // Two replacements can overlap; the later one stays.
        if current.info.version < version {
            *current = next;
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_can_be_read() {
        let library = LIBRARY.as_ref().unwrap();
        assert!(library.len() > 50, "{} clauses", library.len());
    }

    /// The library calls nothing that does not exist: a missing predicate would only show when a goal meets it.
    #[test]
    fn the_library_calls_only_what_exists() {
        let mut names = crate::check::RuleNames::default();
        let library = LIBRARY.as_ref().unwrap();
        let split = |term: &Term| match term {
            Term::Compound(name, parts) if &**name == ":-" => (parts[0].clone(), Some(parts[1].clone())),
            head => (head.clone(), None),
        };
        for clause in library {
            let (head, _) = split(&clause.term);
            let (name, arguments) = head.callable().unwrap();
            names.insert((name.clone(), arguments.len()));
        }
        for clause in library {
            if let (_, Some(body)) = split(&clause.term) {
                crate::check::check_body(&body, &clause.variables, &names).unwrap();
            }
        }
        // Every predicate of the table that is not built in is a fact or is defined.
        let facts = [
            "known_node",
            "node_health",
            "node_metric",
            "link",
            "alert",
            "current_vm_host",
            "guest_name",
            "dependency",
            "resource",
        ];
        for entry in crate::PREDICATES {
            let defined = crate::predicates::control(entry.name, entry.arity).is_some()
                || crate::predicates::builtin(entry.name, entry.arity).is_some()
                || facts.contains(&entry.name)
                || names.contains(&(crate::Name::from(entry.name), entry.arity));
            assert!(defined, "{}/{}", entry.name, entry.arity);
        }
    }
}
