//! How terms lie in memory: flat cells, so that nothing recurses over what a goal builds.

use std::collections::HashMap;

use crate::term::{NIL, Name, Term};

/// A number of an atom.
pub(crate) type AtomId = u32;
/// An address in the heap.
pub(crate) type Address = u32;

/// One cell. Addresses are absolute in the heap, and relative to the segment in a [`Segment`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A reference; to itself if the variable has no value.
    Ref(Address),
    Atom(AtomId),
    Int(i64),
    Float(f64),
    /// A compound term: where its functor lies. The arguments follow it.
    Struct(Address),
    /// Name and number of arguments.
    Functor(AtomId, u32),
}

/// Atoms that the engine itself names, in the order of their numbers.
const WELL_KNOWN: &[&str] = &[NIL, ".", "-", "<", "=", ">", ",", "\\+", "member", "^", "v"];
pub(crate) const ATOM_NIL: AtomId = 0;
pub(crate) const ATOM_DOT: AtomId = 1;
pub(crate) const ATOM_MINUS: AtomId = 2;
pub(crate) const ATOM_LESS: AtomId = 3;
pub(crate) const ATOM_EQUAL: AtomId = 4;
pub(crate) const ATOM_MORE: AtomId = 5;
pub(crate) const ATOM_COMMA: AtomId = 6;
pub(crate) const ATOM_NOT: AtomId = 7;
pub(crate) const ATOM_MEMBER: AtomId = 8;
pub(crate) const ATOM_CARET: AtomId = 9;
pub(crate) const ATOM_WITNESS: AtomId = 10;

/// The names of atoms, and their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Atoms {
    names: Vec<Name>,
    ids: HashMap<Name, AtomId>,
}

impl Default for Atoms {
    fn default() -> Self {
        let mut atoms = Self {
            names: Vec::new(),
            ids: HashMap::new(),
        };
        for name in WELL_KNOWN {
            atoms.intern(&Name::from(*name));
        }
        atoms
    }
}

impl Atoms {
    pub(crate) fn intern(&mut self, name: &Name) -> AtomId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = address(self.names.len());
        self.names.push(name.clone());
        self.ids.insert(name.clone(), id);
        id
    }
}

/// What turns names into numbers.
pub(crate) trait Intern {
    fn intern(&mut self, name: &Name) -> AtomId;
}

impl Intern for Atoms {
    fn intern(&mut self, name: &Name) -> AtomId {
        Self::intern(self, name)
    }
}

/// The atoms of a base, and those that only one question mentions.
pub(crate) struct QuestionAtoms<'b> {
    base: &'b Atoms,
    own: Vec<Name>,
}

impl<'b> QuestionAtoms<'b> {
    pub(crate) fn new(base: &'b Atoms) -> Self {
        Self {
            base,
            own: Vec::new(),
        }
    }

    pub(crate) fn name(&self, id: AtomId) -> &Name {
        let id = id as usize;
        match self.base.names.get(id) {
            Some(name) => name,
            // Numbers come from `intern` alone.
            None => &self.own[id - self.base.names.len()],
        }
    }
}

impl Intern for QuestionAtoms<'_> {
    fn intern(&mut self, name: &Name) -> AtomId {
        if let Some(id) = self.base.ids.get(name) {
            return *id;
        }
        let position = self.own.iter().position(|own| own == name).unwrap_or_else(|| {
            self.own.push(name.clone());
            self.own.len() - 1
        });
        address(self.base.names.len() + position)
    }
}

/// The limit of memory keeps every length far below this.
pub(crate) fn address(length: usize) -> Address {
    Address::try_from(length).unwrap_or(Address::MAX)
}

/// Terms outside of the heap, with addresses relative to the beginning of their cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    pub(crate) cells: Vec<Cell>,
}

impl Segment {
    /// Adds a term and returns its root. `variables` maps the numbers of variables to their cells.
    ///
    /// The recursion is bounded by the nesting of the term.
    pub(crate) fn add(
        &mut self,
        term: &Term,
        variables: &mut Vec<Option<Address>>,
        atoms: &mut impl Intern,
    ) -> Cell {
        match term {
            Term::Var(number) => {
                let number = *number as usize;
                if variables.len() <= number {
                    variables.resize(number + 1, None);
                }
                let at = *variables[number].get_or_insert_with(|| {
                    let at = address(self.cells.len());
                    self.cells.push(Cell::Ref(at));
                    at
                });
                Cell::Ref(at)
            }
            Term::Atom(name) => Cell::Atom(atoms.intern(name)),
            Term::Int(value) => Cell::Int(*value),
            Term::Float(value) => Cell::Float(*value),
            Term::Compound(name, arguments) => {
                let functor = Cell::Functor(atoms.intern(name), address(arguments.len()));
                let roots: Vec<Cell> = arguments
                    .iter()
                    .map(|argument| self.add(argument, variables, atoms))
                    .collect();
                self.structure(functor, &roots)
            }
            Term::List(items, tail) => {
                let mut rest = match tail {
                    Some(tail) => self.add(tail, variables, atoms),
                    None => Cell::Atom(ATOM_NIL),
                };
                for item in items.iter().rev() {
                    let item = self.add(item, variables, atoms);
                    rest = self.structure(Cell::Functor(ATOM_DOT, 2), &[item, rest]);
                }
                rest
            }
        }
    }

    fn structure(&mut self, functor: Cell, arguments: &[Cell]) -> Cell {
        let at = address(self.cells.len());
        self.cells.push(functor);
        self.cells.extend_from_slice(arguments);
        Cell::Struct(at)
    }
}

/// A cell of a segment, at the place where the segment was copied to.
pub(crate) fn relocate(cell: Cell, offset: Address) -> Cell {
    match cell {
        Cell::Ref(at) => Cell::Ref(at + offset),
        Cell::Struct(at) => Cell::Struct(at + offset),
        other => other,
    }
}
