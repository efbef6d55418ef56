//! Terms: what Prolog text says, as a tree.

use std::sync::Arc;

/// The name of an atom or a functor.
pub type Name = Arc<str>;

/// The empty list.
pub(crate) const NIL: &str = "[]";

/// A term. The nesting is bounded by what made it: the parser, or the conversion of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A variable, by its number in the clause.
    Var(u32),
    /// An atom.
    Atom(Name),
    /// An integer of 64 bits.
    Int(i64),
    /// A finite floating-point number.
    Float(f64),
    /// A functor with at least one argument. Never a list cell: [`Term::compound`] turns those into lists.
    Compound(Name, Vec<Term>),
    /// A list with at least one element, and its tail if that is not the empty list. The tail is never a list.
    List(Vec<Term>, Option<Box<Term>>),
}

impl Term {
    /// An atom.
    pub fn atom(name: &str) -> Self {
        Self::Atom(Name::from(name))
    }

    /// A compound term. A list cell becomes a list, and a functor without arguments an atom.
    pub fn compound(name: impl Into<Name>, mut arguments: Vec<Self>) -> Self {
        let name = name.into();
        if arguments.is_empty() {
            return Self::Atom(name);
        }
        if &*name == "." && arguments.len() == 2 {
            let tail = arguments.pop();
            return Self::list(arguments, tail);
        }
        Self::Compound(name, arguments)
    }

    /// A list with a tail; without one it ends in the empty list.
    pub fn list(mut items: Vec<Self>, tail: Option<Self>) -> Self {
        let mut rest = tail;
        if let Some(Self::List(more, end)) = rest {
            items.extend(more);
            rest = end.map(|end| *end);
        }
        if rest.as_ref().is_some_and(Self::is_nil) {
            rest = None;
        }
        if items.is_empty() {
            return rest.unwrap_or_else(|| Self::atom(NIL));
        }
        Self::List(items, rest.map(Box::new))
    }

    /// Whether it is the empty list.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Atom(name) if &**name == NIL)
    }

    /// Name and arguments, if it can be a goal.
    pub fn callable(&self) -> Option<(&Name, &[Self])> {
        match self {
            Self::Atom(name) => Some((name, &[])),
            Self::Compound(name, arguments) => Some((name, arguments)),
            _ => None,
        }
    }
}

/// A term with the names of its variables, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The term.
    pub term: Term,
    /// The names of its variables, by number. A variable without a name was written `_`.
    pub variables: Vec<Option<String>>,
    /// The line on which it begins, from 1.
    pub line: u32,
}
