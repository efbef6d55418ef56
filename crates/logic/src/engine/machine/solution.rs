//! Answers and proofs, out of the memory of a machine.

use std::collections::HashMap;

use super::{Machine, Stop};
use crate::engine::cell::{ATOM_DOT, Address, Cell, address};
use crate::engine::proof::{NodeGround, Parent, Proof};
use crate::term::Term;

/// The most cells of one answer, and the deepest nesting.
const MAX_ANSWER_CELLS: usize = 100_000;
const MAX_ANSWER_DEPTH: usize = 100;
/// The most goals of one proof, and the deepest nesting that is shown.
const MAX_PROOF_NODES: usize = 2000;
const MAX_PROOF_DEPTH: usize = 50;

/// One answer.
#[derive(Debug)]
pub(crate) struct Solution {
    /// The values of the named variables of the question, in the order of their numbers.
    pub(crate) values: Vec<Term>,
    /// What it rests on, if that was asked for.
    pub(crate) proof: Vec<Proof>,
}

impl Machine<'_> {
    pub(super) fn solution(&mut self) -> Result<Solution, Stop> {
        let mut names = HashMap::new();
        let mut cells = 0;
        let variables = self.variables.clone();
        let values = variables
            .into_iter()
            .map(|variable| self.term(variable, &mut names, &mut cells, 0))
            .collect::<Result<_, _>>()?;
        let proof = if self.record { self.proofs(0)? } else { Vec::new() };
        self.proof_nodes = 0;
        Ok(Solution { values, proof })
    }

    /// A term out of the heap. Variables get numbers in the order in which they are met.
    fn term(
        &self,
        cell: Cell,
        names: &mut HashMap<Address, u32>,
        cells: &mut usize,
        depth: usize,
    ) -> Result<Term, Stop> {
        *cells += 1;
        if *cells > MAX_ANSWER_CELLS || depth > MAX_ANSWER_DEPTH {
            return Err(Stop::AnswerSize);
        }
        Ok(match self.heap.value(cell) {
            Cell::Ref(at) => {
                let next = address(names.len());
                Term::Var(*names.entry(at).or_insert(next))
            }
            Cell::Atom(name) | Cell::Functor(name, _) => Term::Atom(self.atoms.name(name).clone()),
            Cell::Int(value) => Term::Int(value),
            Cell::Float(value) => Term::Float(value),
            Cell::Struct(at) => {
                let (mut name, mut arity, mut first) = self.heap.functor(at);
                if name != ATOM_DOT || arity != 2 {
                    let arguments = (0..arity)
                        .map(|number| self.term(self.heap.argument(first, number), names, cells, depth + 1))
                        .collect::<Result<_, _>>()?;
                    return Ok(Term::compound(self.atoms.name(name).clone(), arguments));
                }
                let mut items = Vec::new();
                let tail = loop {
                    items.push(self.term(self.heap.argument(first, 0), names, cells, depth + 1)?);
                    let rest = self.heap.argument(first, 1);
                    if let Cell::Struct(at) = rest {
                        (name, arity, first) = self.heap.functor(at);
                        if name == ATOM_DOT && arity == 2 {
                            continue;
                        }
                    }
                    break self.term(rest, names, cells, depth + 1)?;
                };
                Term::list(items, Some(tail))
            }
        })
    }

    /// The proofs that were recorded since, as trees.
    pub(super) fn proofs(&mut self, first: usize) -> Result<Vec<Proof>, Stop> {
        let nodes = self.nodes.len() - first;
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut roots = Vec::new();
        for (number, node) in self.nodes.iter().enumerate().skip(first) {
            match node.parent {
                Parent::Node(parent) if parent as usize >= first => {
                    children[parent as usize - first].push(number);
                }
                _ => roots.push(number),
            }
        }
        let mut names = HashMap::new();
        self.trees(&roots, &children, first, &mut names, 0)
    }

    fn trees(
        &mut self,
        numbers: &[usize],
        children: &[Vec<usize>],
        first: usize,
        names: &mut HashMap<Address, u32>,
        depth: usize,
    ) -> Result<Vec<Proof>, Stop> {
        let mut trees = Vec::new();
        for number in numbers {
            if self.proof_nodes >= MAX_PROOF_NODES || depth > MAX_PROOF_DEPTH {
                self.proof_cut = true;
                break;
            }
            self.proof_nodes += 1;
            let node = self.nodes[*number].clone();
            let mut because = self.trees(&children[number - first], children, first, names, depth + 1)?;
            let ground = node.ground.ground();
            if let NodeGround::Collected(proofs) = node.ground {
                because.extend(proofs);
            }
            let mut cells = 0;
            let goal = self.term(node.goal, names, &mut cells, 0)?;
            trees.push(Proof {
                ground,
                goal,
                because,
            });
        }
        Ok(trees)
    }
}
