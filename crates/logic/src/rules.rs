//! Operator rules: files of clauses, checked when they are loaded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::check::{RuleNames, check_body, is_well_known};
use crate::operators::is_operator;
use crate::parse::parse_clauses;
use crate::predicates::{PREDICATES, builtin, control};
use crate::term::{Clause, Name, Term};

/// The most clauses of all files together.
pub const MAX_CLAUSES: usize = 10_000;

/// What is wrong with a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// The line on which the clause begins, or on which the text cannot be read.
    pub line: u32,
    /// What is wrong, and what to do.
    pub message: String,
}

/// Rules that passed the checker.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(crate) clauses: Vec<RuleClause>,
    pub(crate) names: RuleNames,
}

#[derive(Clone, Debug)]
pub(crate) struct RuleClause {
    pub(crate) head: Term,
    pub(crate) body: Option<Term>,
    pub(crate) file: Arc<str>,
    pub(crate) line: u32,
}

impl Rules {
    /// Reads and checks files: their names and their texts. Every error is reported, not only the first.
    pub fn load<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<Self, Vec<RuleError>> {
        let mut errors = Vec::new();
        let mut read: Vec<(Arc<str>, Clause)> = Vec::new();
        let mut names = HashSet::new();
        for (file, text) in files {
            match parse_clauses(text) {
                Ok(clauses) => {
                    let file: Arc<str> = Arc::from(file);
                    read.extend(clauses.into_iter().map(|clause| (file.clone(), clause)));
                }
                Err(error) => errors.push(RuleError {
                    file: file.to_owned(),
                    line: error.at.line,
                    message: format!("column {}: {}", error.at.column, error.message),
                }),
            }
        }
        if read.len() > MAX_CLAUSES {
            let (file, clause) = &read[MAX_CLAUSES];
            errors.push(RuleError {
                file: file.to_string(),
                line: clause.line,
                message: format!("more than {MAX_CLAUSES} clauses"),
            });
            return Err(errors);
        }
        let mut parts = Vec::new();
        for (file, clause) in read {
            match split(&clause.term) {
                Ok((name, head, body)) => {
                    names.insert((name, head.callable().map_or(0, |(_, arguments)| arguments.len())));
                    parts.push((file, clause.line, clause.variables, head, body));
                }
                Err(message) => errors.push(RuleError {
                    file: file.to_string(),
                    line: clause.line,
                    message,
                }),
            }
        }
        // Bodies are checked when all heads are known, so rules may call each other in any order.
        let mut clauses = Vec::new();
        for (file, line, variables, head, body) in parts {
            let body = match body.map(|body| check_body(&body, &variables, &names)).transpose() {
                Ok(body) => body,
                Err(refusal) => {
                    errors.push(RuleError {
                        file: file.to_string(),
                        line,
                        message: refusal.message,
                    });
                    continue;
                }
            };
            clauses.push(RuleClause {
                head,
                body,
                file,
                line,
            });
        }
        if errors.is_empty() {
            Ok(Self { clauses, names })
        } else {
            errors.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
            Err(errors)
        }
    }

    /// The predicates that the rules define, as `name/arity` and in how many clauses, sorted.
    pub fn predicates(&self) -> Vec<(String, usize)> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for clause in &self.clauses {
            if let Some((name, arguments)) = clause.head.callable() {
                *counts.entry(format!("{name}/{}", arguments.len())).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort();
        counts
    }
}

/// Name, head and body of a clause.
fn split(term: &Term) -> Result<(Name, Term, Option<Term>), String> {
    let (head, body) = match term {
        Term::Compound(name, arguments) if &**name == ":-" => match arguments.as_slice() {
            [head, body] => (head, Some(body.clone())),
            _ => {
                return Err(
                    "directives are not allowed; a file of rules has clauses only: head :- body.".to_owned(),
                );
            }
        },
        Term::Compound(name, _) if &**name == "-->" => {
            return Err("grammar rules are not allowed; write head :- body.".to_owned());
        }
        Term::Compound(name, _) if &**name == "?-" => {
            return Err("a file of rules has no questions; ask them with `interlock logic`".to_owned());
        }
        other => (other, None),
    };
    let Some((name, arguments)) = head.callable() else {
        return Err(
            "the head of a rule must be a name with arguments, for example overloaded(Node)".to_owned(),
        );
    };
    if &**name == ":" {
        return Err("the head of a rule has no module; all rules are in the module `rules`".to_owned());
    }
    let arity = arguments.len();
    let ours = PREDICATES.iter().any(|entry| entry.name == &**name)
        || control(name, arity).is_some()
        || builtin(name, arity).is_some();
    if ours || is_operator(name) || is_well_known(name) || name.starts_with('$') {
        return Err(format!(
            "`{name}` cannot be defined by a rule, because the name is taken; choose another name"
        ));
    }
    Ok((name.clone(), head.clone(), body))
}
