//! Goals whose answers are collected: `findall/3`, `bagof/3`, `setof/3`, `aggregate_all/3`.

use super::{ChoiceKind, Machine, Stop, TaskKind};
use crate::engine::arithmetic::{Number, binary, evaluate};
use crate::engine::base::Operation;
use crate::engine::builtins::stable_sort;
use crate::engine::cell::{
    ATOM_CARET, ATOM_MEMBER, ATOM_MINUS, ATOM_WITNESS, Address, Cell, Segment, relocate,
};
use crate::engine::proof::{NodeGround, Parent, Proof};
use crate::predicates::Control;

/// Collections inside of collections that a proof shows. A rule that collects its own answers would nest without end.
const RECORDED_COLLECTIONS: usize = 3;

/// What happens with the answers of a goal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gather {
    List,
    Set,
    Count,
    Sum,
    Max,
    Min,
    /// `bagof/3` and `setof/3`: fails without answers, and groups by the witness if there is one.
    Bag {
        set: bool,
        witness: Option<Cell>,
    },
}

pub(super) struct Collector {
    gather: Gather,
    template: Cell,
    result: Cell,
    items: Vec<(Segment, Cell)>,
    count: i64,
    number: Option<Number>,
    proofs: Vec<Proof>,
    first_node: usize,
}

impl Machine<'_> {
    pub(super) fn start_collection(
        &mut self,
        gather: Gather,
        template: Cell,
        inner: Cell,
        result: Cell,
        goal: Cell,
        parent: Parent,
    ) {
        self.push_choice(ChoiceKind::Collected { goal, parent });
        self.collectors.push(Collector {
            gather,
            template,
            result,
            items: Vec::new(),
            count: 0,
            number: None,
            proofs: Vec::new(),
            first_node: self.nodes.len(),
        });
        self.push_task(TaskKind::Collect);
        let inside = self.height();
        let recorded = self.record && parent != Parent::Unrecorded;
        let inner_parent = if recorded && self.collectors.len() <= RECORDED_COLLECTIONS {
            Parent::Question
        } else {
            self.proof_cut |= recorded;
            Parent::Unrecorded
        };
        self.push_call(inner, inside, inner_parent);
    }

    pub(super) fn aggregate(&mut self, form: Cell) -> Result<(Gather, Cell), Stop> {
        let wrong = || Stop::Error("aggregate_all/3: the form is not supported".to_owned());
        let (name, arity, first) = self.heap.callable(form).ok_or_else(wrong)?;
        let name = self.atoms.name(name).clone();
        let gather = match (&*name, arity) {
            ("count", 0) => return Ok((Gather::Count, form)),
            ("sum", 1) => Gather::Sum,
            ("max", 1) => Gather::Max,
            ("min", 1) => Gather::Min,
            ("bag", 1) => Gather::List,
            ("set", 1) => Gather::Set,
            _ => return Err(wrong()),
        };
        Ok((gather, self.heap.argument(first, 0)))
    }

    pub(super) fn bag(
        &mut self,
        set: bool,
        template: Cell,
        inner: Cell,
        result: Cell,
        goal: Cell,
        parent: Parent,
    ) {
        let mut bound = Vec::new();
        self.heap.variables(template, &mut bound);
        let mut inner = inner;
        while let Some((ATOM_CARET, 2, first)) = self.heap.callable(inner) {
            let local = self.heap.argument(first, 0);
            self.heap.variables(local, &mut bound);
            inner = self.heap.argument(first, 1);
        }
        let mut free = Vec::new();
        self.free_variables(inner, &bound, &mut free);
        if free.is_empty() {
            let gather = Gather::Bag { set, witness: None };
            self.start_collection(gather, template, inner, result, goal, parent);
            return;
        }
        let free: Vec<Cell> = free.into_iter().map(Cell::Ref).collect();
        let witness = self.heap.structure(ATOM_WITNESS, &free);
        let pair = self.heap.structure(ATOM_MINUS, &[witness, template]);
        let gather = Gather::Bag {
            set,
            witness: Some(witness),
        };
        self.start_collection(gather, pair, inner, result, goal, parent);
    }

    /// The variables of a goal that `bagof/3` takes for free: not those that are local to a negation or to a nested one.
    fn free_variables(&mut self, goal: Cell, bound: &[Address], free: &mut Vec<Address>) {
        let mut todo = vec![(goal, bound.to_vec())];
        while let Some((goal, bound)) = todo.pop() {
            let called = self.heap.callable(goal);
            let kind = called.and_then(|(name, arity, first)| match self.base.operation(name, arity) {
                Some(Operation::Control(kind)) => Some((kind, first)),
                _ => None,
            });
            match kind {
                Some((Control::Not, _)) => {}
                Some((Control::And | Control::Or | Control::Then, first)) => {
                    todo.push((self.heap.argument(first, 1), bound.clone()));
                    todo.push((self.heap.argument(first, 0), bound));
                }
                Some((Control::Bagof | Control::Setof, first)) => {
                    let mut local = bound.clone();
                    let template = self.heap.argument(first, 0);
                    self.heap.variables(template, &mut local);
                    let mut inner = self.heap.argument(first, 1);
                    while let Some((ATOM_CARET, 2, first)) = self.heap.callable(inner) {
                        let caret = self.heap.argument(first, 0);
                        self.heap.variables(caret, &mut local);
                        inner = self.heap.argument(first, 1);
                    }
                    todo.push((inner, local));
                    todo.push((self.heap.argument(first, 2), bound));
                }
                _ => {
                    let mut all = Vec::new();
                    self.heap.variables(goal, &mut all);
                    for variable in all {
                        if !bound.contains(&variable) && !free.contains(&variable) {
                            free.push(variable);
                        }
                    }
                }
            }
        }
    }

    /// Keeps one answer of the goal whose answers are collected.
    pub(super) fn collect(&mut self) -> Result<(), Stop> {
        let Some(collector) = self.collectors.last_mut() else {
            return Ok(());
        };
        let (gather, template, first_node) = (collector.gather, collector.template, collector.first_node);
        collector.count += 1;
        match gather {
            Gather::Count => {}
            Gather::List | Gather::Set | Gather::Bag { .. } => {
                let item = self.heap.copy_out(template);
                self.held += item.0.cells.len() + size_of::<(Segment, Cell)>() / size_of::<Cell>();
                if let Some(collector) = self.collectors.last_mut() {
                    collector.items.push(item);
                }
            }
            Gather::Sum | Gather::Max | Gather::Min => {
                let value = evaluate(&mut self.heap, &self.atoms, template)?;
                let so_far = self.collectors.last().and_then(|collector| collector.number);
                let number = match (gather, so_far) {
                    (_, None) => value,
                    (Gather::Sum, Some(so_far)) => binary("+", so_far, value)?,
                    (Gather::Max, Some(so_far)) => binary("max", so_far, value)?,
                    (_, Some(so_far)) => binary("min", so_far, value)?,
                };
                if let Some(collector) = self.collectors.last_mut() {
                    collector.number = Some(number);
                }
            }
        }
        if self.record && self.nodes.len() > first_node {
            let proofs = self.proofs(first_node)?;
            if let Some(collector) = self.collectors.last_mut() {
                collector.proofs.extend(proofs);
            }
        }
        Ok(())
    }

    /// Unifies the result with what was collected.
    pub(super) fn finish_collection(&mut self, goal: Cell, parent: Parent) -> Result<bool, Stop> {
        let Some(collector) = self.collectors.pop() else {
            return Ok(false);
        };
        let Collector {
            gather,
            result,
            items,
            count,
            number,
            proofs,
            ..
        } = collector;
        let cells: usize = items.iter().map(|(segment, _)| segment.cells.len()).sum();
        self.reserve(cells + 3 * items.len())?;
        self.held = self
            .held
            .saturating_sub(cells + items.len() * (size_of::<(Segment, Cell)>() / size_of::<Cell>()));
        let mut values: Vec<Cell> = Vec::with_capacity(items.len());
        for (segment, root) in &items {
            let offset = self.heap.copy_in(segment);
            values.push(relocate(*root, offset));
        }
        let value = match gather {
            Gather::Count => Cell::Int(count),
            Gather::Sum => number.unwrap_or(Number::Int(0)).cell(),
            Gather::Max | Gather::Min => match number {
                Some(number) => number.cell(),
                None => return Ok(false),
            },
            Gather::List => self.heap.list(&values),
            Gather::Set => {
                self.sort(&mut values, true);
                self.heap.list(&values)
            }
            Gather::Bag { .. } if values.is_empty() => return Ok(false),
            Gather::Bag { set, witness: None } => {
                if set {
                    self.sort(&mut values, true);
                }
                self.heap.list(&values)
            }
            Gather::Bag {
                set,
                witness: Some(witness),
            } => {
                let groups = self.groups(&values, set);
                let pair = self.heap.structure(ATOM_MINUS, &[witness, result]);
                let member = self.heap.structure(ATOM_MEMBER, &[pair, groups]);
                if parent != Parent::Unrecorded {
                    self.note(goal, NodeGround::Collected(proofs), parent);
                }
                self.push_call(member, 0, Parent::Unrecorded);
                return Ok(true);
            }
        };
        let holds = self.heap.unify(result, value);
        if holds {
            self.note(goal, NodeGround::Collected(proofs), parent);
        }
        if self.heap.exhausted() {
            return Err(Stop::Steps);
        }
        Ok(holds)
    }

    /// The answers of `bagof/3`, sorted by their witness, as a list of `Witness-List`.
    fn groups(&mut self, pairs: &[Cell], set: bool) -> Cell {
        let mut keyed: Vec<(Cell, Cell)> = pairs.iter().filter_map(|pair| self.pair(*pair)).collect();
        self.unify_variants(&keyed);
        let (heap, atoms) = (&mut self.heap, &self.atoms);
        stable_sort(&mut keyed, |(a, _), (b, _)| heap.compare(*a, *b, atoms));
        let mut groups: Vec<Cell> = Vec::new();
        let mut rest = keyed.as_slice();
        while let Some((key, _)) = rest.first() {
            let same = rest
                .iter()
                .take_while(|(other, _)| self.heap.compare(*key, *other, &self.atoms).is_eq())
                .count()
                .max(1);
            let mut items: Vec<Cell> = rest[..same].iter().map(|(_, item)| *item).collect();
            if set {
                self.sort(&mut items, true);
            }
            let list = self.heap.list(&items);
            groups.push(self.heap.structure(ATOM_MINUS, &[*key, list]));
            rest = &rest[same..];
        }
        self.heap.list(&groups)
    }

    /// Witnesses that differ only in the names of their variables are the same.
    fn unify_variants(&mut self, keyed: &[(Cell, Cell)]) {
        let mut known: Vec<Cell> = Vec::new();
        for (key, _) in keyed {
            let mut variables = Vec::new();
            self.heap.variables(*key, &mut variables);
            if variables.is_empty() {
                continue;
            }
            match known.iter().find(|other| self.heap.is_variant(*key, **other)) {
                Some(other) => {
                    self.heap.unify(*key, *other);
                }
                None => known.push(*key),
            }
        }
    }

    /// Key and value of `Key-Value`.
    pub(in crate::engine) fn pair(&self, cell: Cell) -> Option<(Cell, Cell)> {
        match self.heap.callable(cell)? {
            (ATOM_MINUS, 2, first) => Some((self.heap.argument(first, 0), self.heap.argument(first, 1))),
            _ => None,
        }
    }
}
