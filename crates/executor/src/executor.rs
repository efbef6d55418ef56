//! What runs a tool.

use std::future::Future;
use std::pin::Pin;

use interlock_gate::Started;
use tokio_util::sync::CancellationToken;

use crate::Done;

/// A future behind a pointer, so that executors of every kind stand in one table.
pub type BoxFuture<'a, Output> = Pin<Box<dyn Future<Output = Output> + Send + 'a>>;

/// Runs the calls of one tool.
///
/// What it runs is what `started.plan()` says. It ends within the plan's time; whoever calls it watches that.
pub trait Executor: Send + Sync {
    /// Runs a call whose permit was used up.
    fn run<'a>(&'a self, started: &'a Started, cancel: &'a CancellationToken) -> BoxFuture<'a, Done>;
}
