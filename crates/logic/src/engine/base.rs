//! What questions are asked of: clauses with their indexes. Immutable once it is built.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::cell::{AtomId, Atoms, Cell, Segment, address};
use crate::predicates::{Builtin, Control, PREDICATES, Topic, builtin, control};
use crate::term::{Name, Term};

/// Where a clause comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A fact of the snapshot.
    Fact,
    /// Our own rules about the live state.
    Library,
    /// An operator rule.
    Rule { file: Arc<str>, line: u32 },
}

/// How much of a predicate an explanation shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The goal, and what it rests on.
    Full,
    /// Only what it rests on.
    Inside,
    /// Nothing.
    Hidden,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredClause {
    pub(crate) segment: Segment,
    pub(crate) head: Box<[Cell]>,
    pub(crate) body: Option<Cell>,
    pub(crate) origin: Origin,
}

/// What the first look at an argument tells about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Atom(AtomId),
    Int(i64),
    Float(u64),
    Functor(AtomId, u32),
}

/// Arguments beyond this one are not indexed.
const INDEXED_ARGUMENTS: usize = 3;

#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub(crate) clauses: Vec<StoredClause>,
    /// For each argument, which clauses have which key there. None where a clause has a variable.
    indexes: Vec<Option<HashMap<Key, Vec<u32>>>>,
    pub(crate) shown: Shown,
}

/// The clauses that can match a goal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Candidates<'b> {
    All(u32),
    Some(&'b [u32]),
}

impl Candidates<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::All(count) => count as usize,
            Self::Some(list) => list.len(),
        }
    }

    pub(crate) fn get(self, position: usize) -> usize {
        match self {
            Self::All(_) => position,
            Self::Some(list) => list[position] as usize,
        }
    }
}

impl Procedure {
    fn new(shown: Shown) -> Self {
        Self {
            clauses: Vec::new(),
            indexes: Vec::new(),
            shown,
        }
    }

    fn build_indexes(&mut self) {
        let arity = self.clauses.first().map_or(0, |clause| clause.head.len());
        self.indexes = (0..arity.min(INDEXED_ARGUMENTS))
            .map(|argument| {
                let mut index: HashMap<Key, Vec<u32>> = HashMap::new();
                for (number, clause) in self.clauses.iter().enumerate() {
                    let key = key_of(clause.head[argument], &clause.segment.cells)?;
                    index.entry(key).or_default().push(address(number));
                }
                Some(index)
            })
            .collect();
    }

    /// The fewest clauses that an index gives for these keys.
    pub(crate) fn candidates(&self, mut key: impl FnMut(usize) -> Option<Key>) -> Candidates<'_> {
        let mut best = Candidates::All(address(self.clauses.len()));
        for (argument, index) in self.indexes.iter().enumerate() {
            if best.len() <= 1 {
                break;
            }
            let (Some(index), Some(key)) = (index, key(argument)) else {
                continue;
            };
            let list = index.get(&key).map_or(&[] as &[u32], Vec::as_slice);
            if list.len() < best.len() {
                best = Candidates::Some(list);
            }
        }
        best
    }
}

/// The key of a cell that is not a variable.
pub(crate) fn key_of(cell: Cell, cells: &[Cell]) -> Option<Key> {
    Some(match cell {
        Cell::Atom(id) | Cell::Functor(id, 0) => Key::Atom(id),
        Cell::Int(value) => Key::Int(value),
        Cell::Float(value) => Key::Float(value.to_bits()),
        Cell::Struct(at) => match cells[at as usize] {
            Cell::Functor(name, arity) => Key::Functor(name, arity),
            _ => return None,
        },
        Cell::Ref(_) | Cell::Functor(..) => return None,
    })
}

/// What a goal of a name does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Control(Control),
    Builtin(Builtin),
    Procedure(usize),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    pub(crate) atoms: Atoms,
    operations: HashMap<(AtomId, u32), Operation>,
    pub(crate) procedures: Vec<Procedure>,
}

impl Base {
    /// A base with the built-ins and no clause. Every predicate of the table exists.
    pub(crate) fn new() -> Self {
        let mut base = Self::default();
        for entry in PREDICATES {
            let id = base.atoms.intern(&Name::from(entry.name));
            let arity = address(entry.arity);
            if let Some(kind) = control(entry.name, entry.arity) {
                base.operations.insert((id, arity), Operation::Control(kind));
            } else if let Some(kind) = builtin(entry.name, entry.arity) {
                base.operations.insert((id, arity), Operation::Builtin(kind));
            } else {
                let shown = if entry.topic == Topic::State {
                    Shown::Full
                } else {
                    Shown::Hidden
                };
                base.procedure(&Name::from(entry.name), entry.arity, shown);
            }
        }
        base
    }

    fn procedure(&mut self, name: &Name, arity: usize, shown: Shown) -> usize {
        let id = self.atoms.intern(name);
        let key = (id, address(arity));
        if let Some(Operation::Procedure(number)) = self.operations.get(&key) {
            return *number;
        }
        let number = self.procedures.len();
        self.procedures.push(Procedure::new(shown));
        self.operations.insert(key, Operation::Procedure(number));
        number
    }

    /// Adds a clause. A predicate that is new is shown in explanations, unless its name says that it is a part of the library.
    pub(crate) fn add(&mut self, head: &Term, body: Option<&Term>, origin: Origin) {
        let Some((name, arguments)) = head.callable() else {
            return;
        };
        let shown = if name.starts_with("$$") {
            Shown::Hidden
        } else if name.starts_with('$') {
            Shown::Inside
        } else {
            Shown::Full
        };
        let number = self.procedure(name, arguments.len(), shown);
        let mut segment = Segment::default();
        let mut variables = Vec::new();
        let head = arguments
            .iter()
            .map(|argument| segment.add(argument, &mut variables, &mut self.atoms))
            .collect();
        let body = body.map(|body| segment.add(body, &mut variables, &mut self.atoms));
        self.procedures[number].clauses.push(StoredClause {
            segment,
            head,
            body,
            origin,
        });
    }

    /// Builds the indexes. After this nothing is added.
    pub(crate) fn finish(mut self) -> Self {
        for procedure in &mut self.procedures {
            procedure.build_indexes();
        }
        self
    }

    pub(crate) fn operation(&self, name: AtomId, arity: u32) -> Option<Operation> {
        self.operations.get(&(name, arity)).copied()
    }
}
