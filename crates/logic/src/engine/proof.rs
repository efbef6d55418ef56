//! What an answer rests on, recorded while it is found.

use crate::engine::base::Origin;
use crate::engine::cell::Cell;
use crate::term::Term;

/// Why a goal holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// It is a fact of the snapshot.
    Fact,
    /// It follows by one of the rules of Interlock.
    Library,
    /// It follows by an operator rule.
    Rule {
        /// The file of the rule.
        file: String,
        /// Its line.
        line: u32,
    },
    /// It is true of these values: a comparison or a calculation.
    Computed,
    /// Nothing makes this goal true.
    Absent,
    /// All answers of a goal were collected.
    Collected,
}

/// A goal that holds, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// Why it holds.
    pub ground: Ground,
    /// The goal, with the values that were found.
    pub goal: Term,
    /// What it rests on.
    pub because: Vec<Proof>,
}

/// Which node of a proof a goal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// None: the goal stands in the question itself.
    Question,
    /// A node, by number.
    Node(u32),
    /// It is not recorded.
    Unrecorded,
}

/// A node while it is recorded. The goal lies in the heap, where it gets its values later.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) parent: Parent,
    pub(crate) goal: Cell,
    pub(crate) ground: NodeGround,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeGround {
    Clause(Origin),
    Computed,
    Absent,
    /// The proofs of all answers.
    Collected(Vec<Proof>),
}

impl NodeGround {
    pub(crate) fn ground(&self) -> Ground {
        match self {
            Self::Clause(Origin::Fact) => Ground::Fact,
            Self::Clause(Origin::Library) => Ground::Library,
            Self::Clause(Origin::Rule { file, line }) => Ground::Rule {
                file: file.to_string(),
                line: *line,
            },
            Self::Computed => Ground::Computed,
            Self::Absent => Ground::Absent,
            Self::Collected(_) => Ground::Collected,
        }
    }
}
