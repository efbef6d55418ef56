//! Where guests should run: the fewest moves that restore every rule, with their proof, in an order that is safe.
//!
//! Data walks one way: an input ([`ClusterSpec`], JSON or YAML) is checked once ([`Cluster`]); [`place`] searches and returns an
//! [`Answer`] with a placement, its proof and an ordered [`MovePlan`], or with the [`Conflict`] that makes every placement
//! impossible. Every placement and plan passes an independent checker ([`check_plan`]) before it is returned; the same checker
//! judges one step against live state before it runs ([`check_step`]).
//!
//! This crate decides and computes. It never talks to infrastructure, starts a process, reads a file or executes a step. It
//! looks at the clock only to stop in time. Amounts are integers in fixed units; no floating-point number takes part in a
//! decision.
//!
//! # How it searches
//!
//! Two stages, one after the other: the lowest cost of moves, then the best balance at that cost. Each stage has
//!
//! 1. a lower bound without search (`bound`): forced moves, evictions, and a packing argument over the sizes of guests. If a
//!    placement meets the bound, the bound is its proof.
//! 2. a fast search without proof (`local`): places guests, ejects what is in the way, brings guests home.
//! 3. an exact search (`exact`) that either finds a placement below a limit or proves that there is none.
//! 4. for what is too large or too tight, exact search in neighbourhoods of a few hosts.
//!
//! The answer is `optimal` only if both stages are proven; otherwise it is `feasible` and states the bound that was reached.
//!
//! # Why the exact search is our own
//!
//! The constraint solver Pumpkin 0.5.0 was measured first, on the model that suggests itself: an integer variable for each
//! guest, a literal for each guest and host, linear limits, learning, and the current placement as the first thing to try. On
//! 20 hosts and 120 guests at 94 % RAM, where one more eviction has to be excluded, it had not finished the proof after 10
//! seconds (about 1.5 ms for each decision, because every explanation of a full host names most of its guests); our search
//! takes 0.1 ms for the same proof. The numbers of larger clusters also exceed its 32-bit integers. Its umbrella crate
//! `pumpkin-solver` compiles C and C++ proof checkers and calls `git` while it builds. `docs/placement.md` has the
//! measurements.

mod answer;
mod bound;
mod check;
mod conflict;
mod exact;
mod input;
mod local;
mod objective;
mod picture;
mod plan;
mod problem;
mod random;
mod search;
mod whatif;

pub use answer::{
    Answer, Move, Options, Percent, Refused, Status, Value, max_ram_percent, place, place_with,
};
pub use check::{Violation, check_placement, check_plan, check_step};
pub use conflict::Conflict;
pub use input::{
    AffinitySpec, AntiAffinitySpec, Cluster, ClusterSpec, Error, GuestId, GuestSpec, HostSpec, HostState,
    MAX_AMOUNT, MAX_ITEMS, MAX_OVERCOMMIT_PERCENT, MAX_WEIGHT, Problem, Resource,
};
pub use objective::{BalanceWeights, MoveWeights, Objective};
pub use picture::{Charset, MIN_WIDTH, picture};
pub use plan::{Action, MovePlan, NoOrder, Parallel, Placement, PlanStep, order};
pub use search::{Limits, Progress};
pub use whatif::Change;
