//! What the engine computes by itself. Each one looks at terms and builds terms; none does anything else.

use std::cmp::Ordering;

use crate::engine::arithmetic::{Number, binary, evaluate};
use crate::engine::cell::{ATOM_EQUAL, ATOM_LESS, ATOM_MORE, Address, Cell};
use crate::engine::machine::{Machine, Stop};
use crate::predicates::Builtin;

/// The longest list that `length/2` makes.
const LONGEST_LIST: i64 = 100_000;

fn wrong<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Error(message.into()))
}

/// Sorts; what is equal keeps its order. When a question runs out of steps in the middle, comparisons stop being an order:
/// the result then means nothing, but unlike the sort of the standard library this one does not panic.
pub(super) fn stable_sort<T: Copy>(items: &mut Vec<T>, mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for chunk in items.chunks(2 * width) {
            let (mut left, mut right) = chunk.split_at(width.min(chunk.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                if compare(b, a).is_lt() {
                    merged.push(*b);
                    right = &right[1..];
                } else {
                    merged.push(*a);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *items = merged;
        width *= 2;
    }
}

impl Machine<'_> {
    pub(super) fn builtin(&mut self, builtin: Builtin, first: Address) -> Result<bool, Stop> {
        let argument = |machine: &Self, number| machine.heap.argument(first, number);
        let kind = |machine: &Self| machine.heap.argument(first, 0);
        Ok(match builtin {
            Builtin::Unify => {
                let (a, b) = (argument(self, 0), argument(self, 1));
                self.heap.unify(a, b)
            }
            Builtin::NotUnify => {
                let (a, b) = (argument(self, 0), argument(self, 1));
                let (cells, trail) = (self.heap.cells.len(), self.heap.trail.len());
                let unified = self.heap.unify(a, b);
                self.heap.undo(cells, trail);
                !unified
            }
            Builtin::Identical => self.order(first, 0, 1).is_eq(),
            Builtin::NotIdentical => self.order(first, 0, 1).is_ne(),
            Builtin::Before => self.order(first, 0, 1).is_lt(),
            Builtin::After => self.order(first, 0, 1).is_gt(),
            Builtin::NotAfter => self.order(first, 0, 1).is_le(),
            Builtin::NotBefore => self.order(first, 0, 1).is_ge(),
            Builtin::Compare => {
                let order = Cell::Atom(match self.order(first, 1, 2) {
                    Ordering::Less => ATOM_LESS,
                    Ordering::Equal => ATOM_EQUAL,
                    Ordering::Greater => ATOM_MORE,
                });
                let result = argument(self, 0);
                if !matches!(
                    result,
                    Cell::Ref(_) | Cell::Atom(ATOM_LESS | ATOM_EQUAL | ATOM_MORE)
                ) {
                    return wrong("compare/3: argument 1 must be <, = or >");
                }
                self.heap.unify(result, order)
            }
            Builtin::Is => {
                let expression = argument(self, 1);
                let value = evaluate(&mut self.heap, &self.atoms, expression)?.cell();
                let result = argument(self, 0);
                self.heap.unify(result, value)
            }
            Builtin::Equal => self.values(first)?.is_eq(),
            Builtin::NotEqual => self.values(first)?.is_ne(),
            Builtin::Less => self.values(first)?.is_lt(),
            Builtin::More => self.values(first)?.is_gt(),
            Builtin::AtMost => self.values(first)?.is_le(),
            Builtin::AtLeast => self.values(first)?.is_ge(),
            Builtin::IsVar => matches!(kind(self), Cell::Ref(_)),
            Builtin::IsNonvar => !matches!(kind(self), Cell::Ref(_)),
            Builtin::IsAtom => matches!(kind(self), Cell::Atom(_)),
            Builtin::IsNumber => matches!(kind(self), Cell::Int(_) | Cell::Float(_)),
            Builtin::IsInteger => matches!(kind(self), Cell::Int(_)),
            Builtin::IsFloat => matches!(kind(self), Cell::Float(_)),
            Builtin::IsAtomic => !matches!(kind(self), Cell::Ref(_) | Cell::Struct(_)),
            Builtin::IsCompound => matches!(kind(self), Cell::Struct(_)),
            Builtin::IsGround => {
                let mut found = Vec::new();
                let term = argument(self, 0);
                self.heap.variables(term, &mut found);
                found.is_empty()
            }
            Builtin::IsList => {
                let list = argument(self, 0);
                self.heap.elements(list).is_ok()
            }
            Builtin::Now => {
                let (result, now) = (argument(self, 0), self.now);
                self.heap.unify(result, Cell::Int(now))
            }
            Builtin::Memberchk => return self.memberchk(first),
            Builtin::Length => return self.length(first),
            Builtin::AtomLength => {
                let Cell::Atom(name) = argument(self, 0) else {
                    return wrong("atom_length/2: the first argument must be an atom");
                };
                let length = i64::try_from(self.name(name).chars().count()).unwrap_or(i64::MAX);
                let result = argument(self, 1);
                self.heap.unify(result, Cell::Int(length))
            }
            Builtin::Msort | Builtin::Sort => {
                let mut items = self.list_of(first, 0, "sort")?;
                self.sort(&mut items, builtin == Builtin::Sort);
                self.unify_list(first, 1, &items)
            }
            Builtin::Sort4 => return self.sort_by_argument(first),
            Builtin::Keysort => {
                let mut items = Vec::new();
                for item in self.list_of(first, 0, "keysort")? {
                    match self.pair(item) {
                        Some((key, _)) => items.push((key, item)),
                        None => return wrong("keysort/2: every element must be a pair Key-Value"),
                    }
                }
                let (heap, atoms) = (&mut self.heap, &self.atoms);
                stable_sort(&mut items, |(a, _), (b, _)| heap.compare(*a, *b, atoms));
                let items: Vec<Cell> = items.into_iter().map(|(_, item)| item).collect();
                self.unify_list(first, 1, &items)
            }
            Builtin::OrdSubtract | Builtin::OrdUnion => {
                let a = self.list_of(first, 0, "ord_subtract and ord_union")?;
                let b = self.list_of(first, 1, "ord_subtract and ord_union")?;
                let items = self.merge(&a, &b, builtin == Builtin::OrdUnion);
                self.unify_list(first, 2, &items)
            }
            Builtin::OrdMemberchk => {
                let wanted = argument(self, 0);
                let items = self.list_of(first, 1, "ord_memberchk")?;
                items
                    .into_iter()
                    .any(|item| self.heap.compare(wanted, item, &self.atoms).is_eq())
            }
            Builtin::SumList | Builtin::MaxList | Builtin::MinList => {
                let operator = match builtin {
                    Builtin::SumList => "+",
                    Builtin::MaxList => "max",
                    _ => "min",
                };
                let mut total = (builtin == Builtin::SumList).then_some(Number::Int(0));
                for item in self.list_of(first, 0, "sum_list, max_list and min_list")? {
                    let value = evaluate(&mut self.heap, &self.atoms, item)?;
                    total = Some(match total {
                        None => value,
                        Some(total) => binary(operator, total, value)?,
                    });
                }
                let Some(total) = total else { return Ok(false) };
                let result = argument(self, 1);
                self.heap.unify(result, total.cell())
            }
        })
    }

    fn memberchk(&mut self, first: Address) -> Result<bool, Stop> {
        let wanted = self.heap.argument(first, 0);
        let mut rest = self.heap.argument(first, 1);
        while let Some((super::cell::ATOM_DOT, 2, cell)) = self.heap.callable(rest) {
            let (cells, trail) = (self.heap.cells.len(), self.heap.trail.len());
            let item = self.heap.argument(cell, 0);
            if self.heap.unify(wanted, item) {
                return Ok(true);
            }
            self.heap.undo(cells, trail);
            if self.heap.exhausted() {
                return Err(Stop::Steps);
            }
            rest = self.heap.argument(cell, 1);
        }
        if matches!(rest, Cell::Ref(_)) {
            return wrong("memberchk/2: argument 2 must be a list");
        }
        Ok(false)
    }

    fn order(&mut self, first: Address, a: u32, b: u32) -> Ordering {
        let (a, b) = (self.heap.argument(first, a), self.heap.argument(first, b));
        self.heap.compare(a, b, &self.atoms)
    }

    fn values(&mut self, first: Address) -> Result<Ordering, Stop> {
        let (a, b) = (self.heap.argument(first, 0), self.heap.argument(first, 1));
        let a = evaluate(&mut self.heap, &self.atoms, a)?;
        let b = evaluate(&mut self.heap, &self.atoms, b)?;
        Ok(a.order(b))
    }

    fn list_of(&mut self, first: Address, number: u32, name: &str) -> Result<Vec<Cell>, Stop> {
        let list = self.heap.argument(first, number);
        let Ok(items) = self.heap.elements(list) else {
            return wrong(format!("{name}: argument {} must be a list", number + 1));
        };
        self.reserve(3 * items.len())?;
        Ok(items)
    }

    fn unify_list(&mut self, first: Address, number: u32, items: &[Cell]) -> bool {
        let list = self.heap.list(items);
        let result = self.heap.argument(first, number);
        self.heap.unify(result, list)
    }

    /// Sorts in the standard order; without duplicates if asked.
    pub(super) fn sort(&mut self, items: &mut Vec<Cell>, unique: bool) {
        let (heap, atoms) = (&mut self.heap, &self.atoms);
        stable_sort(items, |a, b| heap.compare(*a, *b, atoms));
        if unique {
            items.dedup_by(|a, b| heap.compare(*a, *b, atoms).is_eq());
        }
    }

    fn sort_by_argument(&mut self, first: Address) -> Result<bool, Stop> {
        let Cell::Int(key) = self.heap.argument(first, 0) else {
            return wrong("sort/4: the first argument is the number of an argument, or 0 for the whole term");
        };
        let order = match self.heap.argument(first, 1) {
            Cell::Atom(name) => self.name(name).to_owned(),
            _ => String::new(),
        };
        let (descending, unique) = match order.as_str() {
            "@<" => (false, true),
            "@=<" => (false, false),
            "@>" => (true, true),
            "@>=" => (true, false),
            _ => return wrong("sort/4: the order is @<, @=<, @> or @>="),
        };
        let mut items = Vec::new();
        for item in self.list_of(first, 2, "sort/4")? {
            let by = match (key, self.heap.callable(item)) {
                (0, _) => Some(item),
                (_, Some((_, arity, at))) if key > 0 && key <= i64::from(arity) => {
                    u32::try_from(key - 1).ok().map(|key| self.heap.argument(at, key))
                }
                _ => None,
            };
            match by {
                Some(by) => items.push((by, item)),
                None => return wrong(format!("sort/4: every element must have an argument {key}")),
            }
        }
        let (heap, atoms) = (&mut self.heap, &self.atoms);
        stable_sort(&mut items, |(a, _), (b, _)| {
            let order = heap.compare(*a, *b, atoms);
            if descending { order.reverse() } else { order }
        });
        if unique {
            items.dedup_by(|(a, _), (b, _)| heap.compare(*a, *b, atoms).is_eq());
        }
        let items: Vec<Cell> = items.into_iter().map(|(_, item)| item).collect();
        Ok(self.unify_list(first, 3, &items))
    }

    /// Two sorted lists together, or the first without the second.
    fn merge(&mut self, a: &[Cell], b: &[Cell], union: bool) -> Vec<Cell> {
        let mut merged = Vec::with_capacity(a.len());
        let (mut a, mut b) = (a, b);
        while let (Some(x), Some(y)) = (a.first(), b.first()) {
            match self.heap.compare(*x, *y, &self.atoms) {
                Ordering::Less => {
                    merged.push(*x);
                    a = &a[1..];
                }
                Ordering::Equal => {
                    if union {
                        merged.push(*x);
                    }
                    (a, b) = (&a[1..], &b[1..]);
                }
                Ordering::Greater => {
                    if union {
                        merged.push(*y);
                    }
                    b = &b[1..];
                }
            }
        }
        merged.extend_from_slice(a);
        if union {
            merged.extend_from_slice(b);
        }
        merged
    }

    fn length(&mut self, first: Address) -> Result<bool, Stop> {
        let (list, count) = (self.heap.argument(first, 0), self.heap.argument(first, 1));
        if !matches!(count, Cell::Ref(_) | Cell::Int(_)) {
            return wrong("length/2: the length must be an integer");
        }
        match self.heap.elements(list) {
            Ok(items) => {
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                Ok(self.heap.unify(count, Cell::Int(length)))
            }
            Err(Cell::Ref(_)) => {
                let Cell::Int(wanted) = count else {
                    return wrong("length/2: either the list or the length must be known");
                };
                if !(0..=LONGEST_LIST).contains(&wanted) {
                    return if wanted < 0 { Ok(false) } else { Err(Stop::Memory) };
                }
                let known = self.known_prefix(list);
                let Some(missing) = usize::try_from(wanted)
                    .ok()
                    .and_then(|wanted| wanted.checked_sub(known.0))
                else {
                    return Ok(false);
                };
                self.reserve(4 * missing)?;
                let fresh: Vec<Cell> = (0..missing).map(|_| self.heap.variable()).collect();
                let rest = self.heap.list(&fresh);
                Ok(self.heap.unify(known.1, rest))
            }
            Err(_) => wrong("length/2: argument 1 must be a list"),
        }
    }

    /// How many elements a list with an open end has, and its end.
    fn known_prefix(&self, list: Cell) -> (usize, Cell) {
        let mut count = 0;
        let mut rest = list;
        while let Some((super::cell::ATOM_DOT, 2, first)) = self.heap.callable(rest) {
            count += 1;
            rest = self.heap.argument(first, 1);
        }
        (count, rest)
    }
}
