//! What a tool is to the engine: the executor that runs it, what came of it, and what code asks by itself.
//!
//! A [`Toolbox`] finds the [`Executor`] of a call's tool and runs it within the time that its plan gives, for a [`Started`]:
//! the proof that the gate permitted this very plan. What came of it is a [`Done`]: the answer for the model, the facts for
//! the receipt, and what was read or discovered. An [`Inventory`] answers what code itself asks: a mention, a rediscovery,
//! the reading that verifies a write. No model shapes those questions. Inventories compose ([`Inventories`]).
//!
//! A family of tools is a crate of its own that depends on this room: it brings rows for the [`Catalogue`], executors, and
//! an inventory of what they act on. `examples/tool-family` is one.
//!
//! This room must never know a connector, never decide whether a call may run, and never let a failing tool take the engine
//! with it.
//!
//! Data walks: `Started` → [`Toolbox::run`] → executor → [`Done`] → the engine makes receipt and evidence of it → gate.

mod done;
mod executor;
mod failure;
mod inventories;
mod inventory;
#[cfg(feature = "stage")]
mod stage;
mod toolbox;

pub use done::{Done, Reading};
pub use executor::{BoxFuture, Executor};
pub use failure::Failure;
pub use inventories::Inventories;
pub use inventory::Inventory;
#[cfg(feature = "stage")]
pub use stage::Stage;
pub use toolbox::{Builder, Error, Filter, Toolbox};

pub use interlock_gate::{
    Catalogue, Gate, Options as GateOptions, Plan, ReadTarget, ResolvedResource, Started, Where,
};
pub use tokio_util::sync::CancellationToken;
