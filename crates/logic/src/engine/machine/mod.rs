//! The loop: goals, choices, and what is left to do.

mod collect;
mod solution;

use std::time::{Duration, Instant};

use crate::check::Goal;
use crate::engine::base::{Base, Candidates, Operation, Procedure, Shown, StoredClause, key_of};
use crate::engine::cell::{
    ATOM_COMMA, ATOM_NOT, Address, AtomId, Cell, QuestionAtoms, Segment, address, relocate,
};
use crate::engine::heap::{Heap, same_constant};
use crate::engine::proof::{Node, NodeGround, Parent};
use crate::predicates::{Builtin, Control};
use collect::{Collector, Gather};
pub(crate) use solution::Solution;

/// How much one question may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most goals that are called.
    pub inferences: u64,
    /// The most memory, in bytes.
    pub memory_bytes: usize,
    /// The most answers.
    pub answers: usize,
    /// The longest time.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            inferences: 2_000_000,
            memory_bytes: 128 << 20,
            answers: 100,
            time: Duration::from_secs(5),
        }
    }
}

/// Cells that may be looked at for each goal that may be called.
const WORK_PER_INFERENCE: u64 = 32;
/// The clock is looked at once in so many goals.
const CLOCK_EVERY: u64 = 512;

/// Why a question ended before its last answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Too many goals or too much work.
    #[error("the question takes too many steps; bind more arguments, or check rules that call themselves")]
    Steps,
    /// Too much memory.
    #[error("the question takes too much memory; bind more arguments, or collect less with findall/3")]
    Memory,
    /// Too much time.
    #[error("the question takes too long; bind more arguments, or check rules that call themselves")]
    Time,
    /// An answer is too large to show.
    #[error("an answer is too large to show; ask for fewer things at once, for example for their count")]
    AnswerSize,
    /// The goal cannot be computed.
    #[error("{0}")]
    Error(String),
}

/// What is left to do.
#[derive(Clone, Copy, Debug)]
struct Task {
    kind: TaskKind,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
enum TaskKind {
    /// The question is answered.
    Answer,
    /// A goal. A cut in it goes back to `cut` choices.
    Call { goal: Cell, cut: u32, parent: Parent },
    /// Drops the choices made since.
    CutTo(u32),
    /// The goal of a negation holds, so the negation does not.
    NotHolds(u32),
    /// An answer of a goal whose answers are collected.
    Collect,
}

/// Where to go on if a goal does not hold.
struct Choice<'b> {
    kind: ChoiceKind<'b>,
    cells: usize,
    trail: usize,
    tasks: usize,
    nodes: usize,
    /// What is left to do.
    next: u32,
}

enum ChoiceKind<'b> {
    /// Other clauses of a procedure.
    Clauses {
        procedure: &'b Procedure,
        goal: Cell,
        first: Address,
        candidates: Candidates<'b>,
        position: usize,
        parent: Parent,
    },
    /// Another goal.
    Alternative { goal: Cell, cut: u32, parent: Parent },
    /// The negated goal does not hold.
    NotFails { goal: Cell, parent: Parent },
    /// All answers were collected.
    Collected { goal: Cell, parent: Parent },
}

/// Answers one question.
pub(crate) struct Machine<'b> {
    base: &'b Base,
    pub(super) atoms: QuestionAtoms<'b>,
    pub(super) heap: Heap,
    pub(super) now: i64,
    tasks: Vec<Task>,
    next: u32,
    choices: Vec<Choice<'b>>,
    collectors: Vec<Collector>,
    nodes: Vec<Node>,
    record: bool,
    /// Cells that collectors hold, and nodes of proofs that they hold.
    held: usize,
    proof_nodes: usize,
    /// Whether a proof was cut at its limit.
    pub(crate) proof_cut: bool,
    pub(crate) inferences: u64,
    limits: Limits,
    end: Instant,
    variables: Vec<Cell>,
    started: bool,
}

impl<'b> Machine<'b> {
    /// A machine for a goal. `now` is the time of the question in seconds since 1970.
    pub(crate) fn new(base: &'b Base, goal: &Goal, now: i64, limits: Limits, record: bool) -> Self {
        let mut machine = Self {
            base,
            atoms: QuestionAtoms::new(&base.atoms),
            heap: Heap::new(limits.inferences.saturating_mul(WORK_PER_INFERENCE)),
            now,
            tasks: Vec::new(),
            next: 0,
            choices: Vec::new(),
            collectors: Vec::new(),
            nodes: Vec::new(),
            record,
            held: 0,
            proof_nodes: 0,
            proof_cut: false,
            inferences: 0,
            limits,
            end: Instant::now() + limits.time,
            variables: Vec::new(),
            started: false,
        };
        let mut segment = Segment::default();
        let mut places = Vec::new();
        let root = segment.add(goal.term(), &mut places, &mut machine.atoms);
        let offset = machine.heap.copy_in(&segment);
        machine.variables = (0..goal.variables().len())
            .map(|number| match places.get(number).copied().flatten() {
                Some(at) => Cell::Ref(at + offset),
                None => machine.heap.variable(),
            })
            .collect();
        machine.tasks.push(Task {
            kind: TaskKind::Answer,
            next: 0,
        });
        machine.push_call(relocate(root, offset), 0, Parent::Question);
        machine
    }

    /// The next answer.
    pub(crate) fn solve(&mut self) -> Result<Option<Solution>, Stop> {
        if self.started && !self.backtrack()? {
            return Ok(None);
        }
        self.started = true;
        loop {
            let task = self.tasks[self.next as usize];
            let holds = match task.kind {
                TaskKind::Answer => return self.solution().map(Some),
                TaskKind::Call { goal, cut, parent } => {
                    self.next = task.next;
                    self.call(goal, cut, parent)?
                }
                TaskKind::CutTo(height) => {
                    self.next = task.next;
                    self.choices.truncate(height as usize);
                    true
                }
                TaskKind::NotHolds(height) => {
                    self.choices.truncate(height as usize);
                    false
                }
                TaskKind::Collect => {
                    self.collect()?;
                    false
                }
            };
            if self.heap.exhausted() {
                return Err(Stop::Steps);
            }
            if !holds && !self.backtrack()? {
                return Ok(None);
            }
        }
    }

    fn push_task(&mut self, kind: TaskKind) {
        let next = self.next;
        self.next = address(self.tasks.len());
        self.tasks.push(Task { kind, next });
    }

    fn push_call(&mut self, goal: Cell, cut: u32, parent: Parent) {
        self.push_task(TaskKind::Call { goal, cut, parent });
    }

    fn push_choice(&mut self, kind: ChoiceKind<'b>) {
        self.choices.push(Choice {
            kind,
            cells: self.heap.cells.len(),
            trail: self.heap.trail.len(),
            tasks: self.tasks.len(),
            nodes: self.nodes.len(),
            next: self.next,
        });
    }

    fn height(&self) -> u32 {
        address(self.choices.len())
    }

    fn memory(&self) -> usize {
        (self.heap.cells.len() + self.held) * size_of::<Cell>()
            + self.heap.trail.len() * size_of::<Address>()
            + self.tasks.len() * size_of::<Task>()
            + self.choices.len() * size_of::<Choice<'b>>()
            + self.nodes.len() * size_of::<Node>()
    }

    fn count_inference(&mut self) -> Result<(), Stop> {
        self.inferences += 1;
        self.heap.work += 1;
        if self.inferences > self.limits.inferences {
            return Err(Stop::Steps);
        }
        if self.memory() > self.limits.memory_bytes {
            return Err(Stop::Memory);
        }
        if self.inferences.is_multiple_of(CLOCK_EVERY) && Instant::now() >= self.end {
            return Err(Stop::Time);
        }
        Ok(())
    }

    /// Whether so many more cells can be had.
    pub(super) fn reserve(&self, cells: usize) -> Result<(), Stop> {
        if self.memory() + cells.saturating_mul(size_of::<Cell>()) > self.limits.memory_bytes {
            return Err(Stop::Memory);
        }
        Ok(())
    }

    /// Goes back to the last choice. False if there is none.
    fn backtrack(&mut self) -> Result<bool, Stop> {
        loop {
            let Some(choice) = self.choices.last() else {
                return Ok(false);
            };
            let (cells, trail, tasks, nodes, next) = (
                choice.cells,
                choice.trail,
                choice.tasks,
                choice.nodes,
                choice.next,
            );
            self.heap.undo(cells, trail);
            self.tasks.truncate(tasks);
            self.nodes.truncate(nodes);
            self.next = next;
            if let Some(Choice {
                kind: ChoiceKind::Clauses { .. },
                ..
            }) = self.choices.last()
            {
                if self.next_clause()? {
                    return Ok(true);
                }
                continue;
            }
            let Some(choice) = self.choices.pop() else {
                return Ok(false);
            };
            match choice.kind {
                ChoiceKind::Alternative { goal, cut, parent } => {
                    self.push_call(goal, cut, parent);
                    return Ok(true);
                }
                ChoiceKind::NotFails { goal, parent } => {
                    self.note(goal, NodeGround::Absent, parent);
                    return Ok(true);
                }
                ChoiceKind::Collected { goal, parent } => {
                    if self.finish_collection(goal, parent)? {
                        return Ok(true);
                    }
                }
                // Handled above.
                ChoiceKind::Clauses { .. } => {}
            }
        }
    }

    fn note(&mut self, goal: Cell, ground: NodeGround, parent: Parent) -> Parent {
        if !self.record || parent == Parent::Unrecorded {
            return parent;
        }
        self.nodes.push(Node { parent, goal, ground });
        Parent::Node(address(self.nodes.len() - 1))
    }

    fn call(&mut self, goal: Cell, cut: u32, parent: Parent) -> Result<bool, Stop> {
        self.count_inference()?;
        // The checker lets no other goal pass.
        let Some((name, arity, first)) = self.heap.callable(goal) else {
            return Err(Stop::Error("a variable or a number cannot be a goal".to_owned()));
        };
        match self.base.operation(name, arity) {
            Some(Operation::Procedure(number)) => {
                let base = self.base;
                self.procedure(&base.procedures[number], goal, first, parent)
            }
            Some(Operation::Builtin(builtin)) => {
                let holds = self.builtin(builtin, first)?;
                if holds && is_shown(builtin) {
                    self.note(goal, NodeGround::Computed, parent);
                }
                Ok(holds)
            }
            Some(Operation::Control(control)) => self.control(control, goal, first, cut, parent),
            None => Err(Stop::Error(format!(
                "there is no predicate {}/{arity}",
                crate::write::write_atom(self.atoms.name(name))
            ))),
        }
    }

    fn procedure(
        &mut self,
        procedure: &'b Procedure,
        goal: Cell,
        first: Address,
        parent: Parent,
    ) -> Result<bool, Stop> {
        let heap = &self.heap;
        let candidates =
            procedure.candidates(|argument| key_of(heap.argument(first, address(argument)), &heap.cells));
        if candidates.len() == 0 {
            return Ok(false);
        }
        self.push_choice(ChoiceKind::Clauses {
            procedure,
            goal,
            first,
            candidates,
            position: 0,
            parent,
        });
        self.next_clause()
    }

    /// Takes the next clause of the choice on top. It is taken off with its last clause, so that a cut in the body goes
    /// back to what was before.
    fn next_clause(&mut self) -> Result<bool, Stop> {
        loop {
            let Some(Choice {
                kind:
                    ChoiceKind::Clauses {
                        procedure,
                        goal,
                        first,
                        candidates,
                        position,
                        parent,
                    },
                ..
            }) = self.choices.last_mut()
            else {
                return Ok(false);
            };
            let (procedure, goal, first, parent) = (*procedure, *goal, *first, *parent);
            let clause = &procedure.clauses[candidates.get(*position)];
            *position += 1;
            let last = *position >= candidates.len();
            let cut = address(self.choices.len() - 1);
            let (cells, trail) = (self.heap.cells.len(), self.heap.trail.len());
            if last {
                self.choices.pop();
            }
            self.heap.work += 1;
            if self.matches(clause, first) {
                let below = match procedure.shown {
                    Shown::Full => self.note(goal, NodeGround::Clause(clause.origin.clone()), parent),
                    Shown::Inside => parent,
                    Shown::Hidden => Parent::Unrecorded,
                };
                if let Some(body) = clause.body {
                    let body = relocate(body, address(cells));
                    self.push_call(body, cut, below);
                }
                return Ok(true);
            }
            if self.heap.exhausted() {
                return Err(Stop::Steps);
            }
            if last {
                return Ok(false);
            }
            self.heap.undo(cells, trail);
        }
    }

    /// Copies a clause into the heap and unifies its head with the goal.
    fn matches(&mut self, clause: &StoredClause, first: Address) -> bool {
        // Most clauses fail at a constant, before anything is copied.
        for (number, cell) in clause.head.iter().enumerate() {
            if matches!(cell, Cell::Atom(_) | Cell::Int(_) | Cell::Float(_)) {
                let argument = self.heap.argument(first, address(number));
                if !matches!(argument, Cell::Ref(_)) && !same_constant(*cell, argument) {
                    return false;
                }
            }
        }
        let offset = self.heap.copy_in(&clause.segment);
        self.heap.begin_fresh(offset);
        let matched = (0..clause.head.len()).all(|number| {
            let argument = self.heap.argument(first, address(number));
            self.heap.unify(relocate(clause.head[number], offset), argument)
        });
        self.heap.end_fresh();
        matched
    }

    fn control(
        &mut self,
        control: Control,
        goal: Cell,
        first: Address,
        cut: u32,
        parent: Parent,
    ) -> Result<bool, Stop> {
        let argument = |machine: &Self, number| machine.heap.argument(first, number);
        match control {
            Control::True => Ok(true),
            Control::Fail => Ok(false),
            Control::Cut => {
                self.choices.truncate(cut as usize);
                Ok(true)
            }
            Control::And => {
                let (left, right) = (argument(self, 0), argument(self, 1));
                self.push_call(right, cut, parent);
                self.push_call(left, cut, parent);
                Ok(true)
            }
            Control::Or => {
                let (left, right) = (argument(self, 0), argument(self, 1));
                let height = self.height();
                self.push_choice(ChoiceKind::Alternative {
                    goal: right,
                    cut,
                    parent,
                });
                match self.if_then(left) {
                    Some((condition, then)) => self.condition(condition, then, height, cut, parent),
                    None => self.push_call(left, cut, parent),
                }
                Ok(true)
            }
            Control::Then => {
                let (condition, then) = (argument(self, 0), argument(self, 1));
                self.condition(condition, then, self.height(), cut, parent);
                Ok(true)
            }
            Control::Once | Control::Ignore => {
                let inner = argument(self, 0);
                let height = self.height();
                if control == Control::Ignore {
                    // Without an answer, what comes next goes on.
                    self.push_choice(ChoiceKind::NotFails {
                        goal: inner,
                        parent: Parent::Unrecorded,
                    });
                }
                self.push_task(TaskKind::CutTo(height));
                let inside = self.height();
                self.push_call(inner, inside, parent);
                Ok(true)
            }
            Control::Not => {
                let inner = argument(self, 0);
                self.not(inner, parent);
                Ok(true)
            }
            Control::Forall => {
                let (condition, then) = (argument(self, 0), argument(self, 1));
                let not_then = self.heap.structure(ATOM_NOT, &[then]);
                let both = self.heap.structure(ATOM_COMMA, &[condition, not_then]);
                self.not(both, parent);
                Ok(true)
            }
            Control::Findall => {
                let (template, inner, result) = (argument(self, 0), argument(self, 1), argument(self, 2));
                self.start_collection(Gather::List, template, inner, result, goal, parent);
                Ok(true)
            }
            Control::Aggregate => {
                let (form, inner, result) = (argument(self, 0), argument(self, 1), argument(self, 2));
                let (gather, template) = self.aggregate(form)?;
                self.start_collection(gather, template, inner, result, goal, parent);
                Ok(true)
            }
            Control::Bagof | Control::Setof => {
                let (template, inner, result) = (argument(self, 0), argument(self, 1), argument(self, 2));
                self.bag(control == Control::Setof, template, inner, result, goal, parent);
                Ok(true)
            }
        }
    }

    fn if_then(&self, goal: Cell) -> Option<(Cell, Cell)> {
        let (name, arity, first) = self.heap.callable(goal)?;
        match self.base.operation(name, arity) {
            Some(Operation::Control(Control::Then)) => {
                Some((self.heap.argument(first, 0), self.heap.argument(first, 1)))
            }
            _ => None,
        }
    }

    /// Runs `then` for the first answer of `condition`. A cut in the condition is local to it.
    fn condition(&mut self, condition: Cell, then: Cell, height: u32, cut: u32, parent: Parent) {
        self.push_call(then, cut, parent);
        self.push_task(TaskKind::CutTo(height));
        let inside = self.height();
        self.push_call(condition, inside, parent);
    }

    fn not(&mut self, inner: Cell, parent: Parent) {
        let height = self.height();
        self.push_choice(ChoiceKind::NotFails { goal: inner, parent });
        self.push_task(TaskKind::NotHolds(height));
        let inside = self.height();
        // Why it does not hold has no proof; why it holds does not matter.
        self.push_call(inner, inside, Parent::Unrecorded);
    }

    pub(super) fn name(&self, id: AtomId) -> &str {
        self.atoms.name(id)
    }
}

/// Whether an explanation shows that it holds.
fn is_shown(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Is
            | Builtin::Equal
            | Builtin::NotEqual
            | Builtin::Less
            | Builtin::More
            | Builtin::AtMost
            | Builtin::AtLeast
            | Builtin::NotUnify
            | Builtin::NotIdentical
            | Builtin::Before
            | Builtin::After
            | Builtin::Now
    )
}
