//! The terms of one question: binding, unification, comparison, copying. All of it without recursion.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::engine::cell::{
    ATOM_DOT, ATOM_NIL, Address, AtomId, Cell, QuestionAtoms, Segment, address, relocate,
};

/// Cells, and which variables were bound since when.
#[derive(Default)]
pub(crate) struct Heap {
    pub(crate) cells: Vec<Cell>,
    pub(crate) trail: Vec<Address>,
    /// Work that was done, in cells that were looked at.
    pub(crate) work: u64,
    /// The most work. A short goal can build a term whose comparison takes years, so every loop here watches it.
    pub(crate) most_work: u64,
    /// The beginning of the clause that is being matched, if nothing older refers into it yet. A variable from there on
    /// cannot occur in an older term, so matching a long list does not walk through it again and again.
    fresh: Option<Address>,
}

impl Heap {
    pub(crate) fn new(most_work: u64) -> Self {
        Self {
            most_work,
            ..Self::default()
        }
    }

    /// Counts a cell; says whether there was too much work. Then a result means nothing, and the machine stops.
    fn tired(&mut self) -> bool {
        self.work += 1;
        self.exhausted()
    }

    pub(crate) fn exhausted(&self) -> bool {
        self.work > self.most_work
    }

    /// The value of a cell: never a reference to another cell.
    pub(crate) fn value(&self, mut cell: Cell) -> Cell {
        while let Cell::Ref(at) = cell {
            let next = self.cells[at as usize];
            if next == cell {
                break;
            }
            cell = next;
        }
        cell
    }

    pub(crate) fn variable(&mut self) -> Cell {
        let cell = Cell::Ref(address(self.cells.len()));
        self.cells.push(cell);
        cell
    }

    pub(crate) fn structure(&mut self, name: AtomId, arguments: &[Cell]) -> Cell {
        let at = address(self.cells.len());
        self.cells.push(Cell::Functor(name, address(arguments.len())));
        self.cells.extend_from_slice(arguments);
        Cell::Struct(at)
    }

    /// A list of these cells.
    pub(crate) fn list(&mut self, items: &[Cell]) -> Cell {
        let mut rest = Cell::Atom(ATOM_NIL);
        for item in items.iter().rev() {
            rest = self.structure(ATOM_DOT, &[*item, rest]);
        }
        rest
    }

    /// Name, number of arguments, and the address of the first one.
    pub(crate) fn functor(&self, at: Address) -> (AtomId, u32, Address) {
        match self.cells[at as usize] {
            Cell::Functor(name, arity) => (name, arity, at + 1),
            // Only functors are pointed to by a structure.
            _ => (ATOM_NIL, 0, at),
        }
    }

    /// Name and arguments of a term that can be a goal.
    pub(crate) fn callable(&self, cell: Cell) -> Option<(AtomId, u32, Address)> {
        match self.value(cell) {
            Cell::Atom(name) => Some((name, 0, 0)),
            Cell::Struct(at) => Some(self.functor(at)),
            _ => None,
        }
    }

    pub(crate) fn argument(&self, first: Address, number: u32) -> Cell {
        self.value(self.cells[(first + number) as usize])
    }

    /// Says that a clause was copied to this address, and nothing refers to it yet.
    pub(crate) fn begin_fresh(&mut self, from: Address) {
        self.fresh = Some(from);
    }

    pub(crate) fn end_fresh(&mut self) {
        self.fresh = None;
    }

    fn bind(&mut self, variable: Address, value: Cell) {
        if let (Some(from), Cell::Ref(to) | Cell::Struct(to)) = (self.fresh, value)
            && variable < from
            && to >= from
        {
            self.fresh = None;
        }
        self.cells[variable as usize] = value;
        self.trail.push(variable);
    }

    /// Takes back what was bound and built since.
    pub(crate) fn undo(&mut self, cells: usize, trail: usize) {
        for variable in self.trail.drain(trail..) {
            if (variable as usize) < cells {
                self.cells[variable as usize] = Cell::Ref(variable);
            }
        }
        self.cells.truncate(cells);
    }

    /// Makes two terms equal, if that is possible. What was bound on the way stays, for the caller to undo.
    pub(crate) fn unify(&mut self, left: Cell, right: Cell) -> bool {
        let mut todo = vec![(left, right)];
        while let Some((left, right)) = todo.pop() {
            if self.tired() {
                return false;
            }
            match (self.value(left), self.value(right)) {
                (Cell::Ref(a), Cell::Ref(b)) => match a.cmp(&b) {
                    Ordering::Equal => {}
                    // The younger one refers to the older one.
                    Ordering::Less => self.bind(b, Cell::Ref(a)),
                    Ordering::Greater => self.bind(a, Cell::Ref(b)),
                },
                (Cell::Ref(variable), Cell::Struct(at)) | (Cell::Struct(at), Cell::Ref(variable)) => {
                    let apart = self.fresh.is_some_and(|from| variable >= from && at < from);
                    if !apart && self.occurs(variable, at) {
                        return false;
                    }
                    self.bind(variable, Cell::Struct(at));
                }
                (Cell::Ref(variable), value) | (value, Cell::Ref(variable)) => self.bind(variable, value),
                (Cell::Struct(a), Cell::Struct(b)) => {
                    if a == b {
                        continue;
                    }
                    let ((name_a, arity_a, first_a), (name_b, arity_b, first_b)) =
                        (self.functor(a), self.functor(b));
                    if name_a != name_b || arity_a != arity_b {
                        return false;
                    }
                    for number in (0..arity_a).rev() {
                        todo.push((
                            self.cells[(first_a + number) as usize],
                            self.cells[(first_b + number) as usize],
                        ));
                    }
                }
                (a, b) => {
                    if !same_constant(a, b) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Whether a variable occurs in the structure at this address.
    fn occurs(&mut self, variable: Address, at: Address) -> bool {
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            if self.tired() {
                return true;
            }
            let (_, arity, first) = self.functor(at);
            for number in 0..arity {
                match self.argument(first, number) {
                    Cell::Ref(other) if other == variable => return true,
                    Cell::Struct(inner) => todo.push(inner),
                    _ => {}
                }
            }
        }
        false
    }

    /// The standard order: variables, numbers by value, atoms by name, compound terms by arity, name and arguments.
    pub(crate) fn compare(&mut self, left: Cell, right: Cell, atoms: &QuestionAtoms<'_>) -> Ordering {
        let mut todo = vec![(left, right)];
        while let Some((left, right)) = todo.pop() {
            if self.tired() {
                return Ordering::Equal;
            }
            let (left, right) = (self.value(left), self.value(right));
            let order = match (left, right) {
                (Cell::Ref(a), Cell::Ref(b)) => a.cmp(&b),
                (Cell::Int(_) | Cell::Float(_), Cell::Int(_) | Cell::Float(_)) => {
                    compare_numbers(left, right)
                }
                (Cell::Atom(a), Cell::Atom(b)) => {
                    if a == b {
                        Ordering::Equal
                    } else {
                        atoms.name(a).cmp(atoms.name(b))
                    }
                }
                (Cell::Struct(a), Cell::Struct(b)) => {
                    if a == b {
                        continue;
                    }
                    let ((name_a, arity_a, first_a), (name_b, arity_b, first_b)) =
                        (self.functor(a), self.functor(b));
                    let order = arity_a.cmp(&arity_b).then_with(|| {
                        if name_a == name_b {
                            Ordering::Equal
                        } else {
                            atoms.name(name_a).cmp(atoms.name(name_b))
                        }
                    });
                    if order == Ordering::Equal {
                        for number in (0..arity_a).rev() {
                            todo.push((
                                self.cells[(first_a + number) as usize],
                                self.cells[(first_b + number) as usize],
                            ));
                        }
                    }
                    order
                }
                _ => rank(left).cmp(&rank(right)),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Whether two terms differ only in the names of their variables.
    pub(crate) fn is_variant(&mut self, left: Cell, right: Cell) -> bool {
        let mut there: HashMap<Address, Address> = HashMap::new();
        let mut back: HashMap<Address, Address> = HashMap::new();
        let mut todo = vec![(left, right)];
        while let Some((left, right)) = todo.pop() {
            if self.tired() {
                return false;
            }
            let same = match (self.value(left), self.value(right)) {
                (Cell::Ref(a), Cell::Ref(b)) => {
                    *there.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a
                }
                (Cell::Struct(a), Cell::Struct(b)) => {
                    let ((name_a, arity_a, first_a), (name_b, arity_b, first_b)) =
                        (self.functor(a), self.functor(b));
                    todo.extend((0..arity_a.min(arity_b)).map(|number| {
                        (
                            self.cells[(first_a + number) as usize],
                            self.cells[(first_b + number) as usize],
                        )
                    }));
                    name_a == name_b && arity_a == arity_b
                }
                (a, b) => same_constant(a, b),
            };
            if !same {
                return false;
            }
        }
        true
    }

    /// The elements of a list, or where it stops being one.
    pub(crate) fn elements(&mut self, list: Cell) -> Result<Vec<Cell>, Cell> {
        let mut items = Vec::new();
        let mut rest = self.value(list);
        loop {
            self.work += 1;
            match rest {
                Cell::Atom(ATOM_NIL) => return Ok(items),
                Cell::Struct(at) => match self.functor(at) {
                    (ATOM_DOT, 2, first) => {
                        items.push(self.argument(first, 0));
                        rest = self.argument(first, 1);
                    }
                    _ => return Err(rest),
                },
                _ => return Err(rest),
            }
        }
    }

    /// Copies a term out of the heap, with its structure shared as it is in the heap, and with variables of its own.
    pub(crate) fn copy_out(&mut self, term: Cell) -> (Segment, Cell) {
        let mut segment = Segment::default();
        let mut known: HashMap<Address, Address> = HashMap::new();
        // Structures whose arguments are still to be copied: from, to.
        let mut todo: Vec<(Address, Address)> = Vec::new();
        let mut enter =
            |cell: Cell, segment: &mut Segment, todo: &mut Vec<(Address, Address)>, heap: &Self| match cell {
                Cell::Ref(at) => Cell::Ref(*known.entry(at).or_insert_with(|| {
                    let to = address(segment.cells.len());
                    segment.cells.push(Cell::Ref(to));
                    to
                })),
                Cell::Struct(at) => Cell::Struct(*known.entry(at).or_insert_with(|| {
                    let to = address(segment.cells.len());
                    let (name, arity, _) = heap.functor(at);
                    segment.cells.push(Cell::Functor(name, arity));
                    segment.cells.extend((0..arity).map(|_| Cell::Int(0)));
                    todo.push((at, to));
                    to
                })),
                constant => constant,
            };
        let root = enter(self.value(term), &mut segment, &mut todo, self);
        while let Some((from, to)) = todo.pop() {
            let (_, arity, first) = self.functor(from);
            for number in 0..arity {
                let cell = enter(self.argument(first, number), &mut segment, &mut todo, self);
                segment.cells[(to + 1 + number) as usize] = cell;
            }
        }
        self.work += segment.cells.len() as u64;
        (segment, root)
    }

    /// Copies a segment into the heap, and says by how much its addresses moved.
    pub(crate) fn copy_in(&mut self, segment: &Segment) -> Address {
        let offset = address(self.cells.len());
        self.cells
            .extend(segment.cells.iter().map(|cell| relocate(*cell, offset)));
        self.work += segment.cells.len() as u64;
        offset
    }

    /// The variables of a term, in the order in which they are met.
    pub(crate) fn variables(&mut self, term: Cell, found: &mut Vec<Address>) {
        let mut seen: HashSet<Address> = found.iter().copied().collect();
        let mut todo = vec![term];
        while let Some(cell) = todo.pop() {
            self.work += 1;
            match self.value(cell) {
                Cell::Ref(at) if seen.insert(at) => found.push(at),
                Cell::Struct(at) if seen.insert(at | STRUCTURE) => {
                    let (_, arity, first) = self.functor(at);
                    let arguments = (0..arity).rev();
                    todo.extend(arguments.map(|number| self.cells[(first + number) as usize]));
                }
                _ => {}
            }
        }
    }
}

/// Marks the address of a structure among those of variables. The limit of memory keeps addresses below it.
const STRUCTURE: Address = 1 << 31;

fn rank(cell: Cell) -> u8 {
    match cell {
        Cell::Ref(_) => 0,
        Cell::Int(_) | Cell::Float(_) => 1,
        Cell::Atom(_) => 2,
        Cell::Struct(_) | Cell::Functor(..) => 3,
    }
}

pub(crate) fn same_constant(a: Cell, b: Cell) -> bool {
    match (a, b) {
        (Cell::Atom(a), Cell::Atom(b)) => a == b,
        (Cell::Int(a), Cell::Int(b)) => a == b,
        (Cell::Float(a), Cell::Float(b)) => a.to_bits() == b.to_bits(),
        _ => false,
    }
}

/// By value; a floating-point number stands before an equal integer.
fn compare_numbers(a: Cell, b: Cell) -> Ordering {
    match (a, b) {
        (Cell::Int(a), Cell::Int(b)) => a.cmp(&b),
        (Cell::Float(a), Cell::Float(b)) => a.total_cmp(&b),
        (Cell::Int(a), Cell::Float(b)) => int_and_float(a, b).then(Ordering::Greater),
        (Cell::Float(a), Cell::Int(b)) => int_and_float(b, a).reverse().then(Ordering::Less),
        _ => Ordering::Equal,
    }
}

/// Exact, also where an integer has more digits than a floating-point number holds.
pub(crate) fn int_and_float(int: i64, float: f64) -> Ordering {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if float >= BEYOND {
        return Ordering::Less;
    }
    if float < -BEYOND {
        return Ordering::Greater;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the float lies in the range of an integer"
    )]
    let whole = float.trunc() as i64;
    int.cmp(&whole).then_with(|| {
        let part = float.fract();
        if part > 0.0 {
            Ordering::Less
        } else if part < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    })
}
