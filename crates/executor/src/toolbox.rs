//! The executors by the name of their tool, and the one way to run a call.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use interlock_gate::{Catalogue, Started};
use interlock_protocol::{CategoryName, ErrorCode, Mode, ToolDefinition, ToolName};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::{Done, Executor};

/// How long an executor may take to clean up after its time, or after it was cancelled, before it is dropped.
const CLEAN_UP: Duration = Duration::from_secs(10);

/// Why there is no toolbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two executors for one tool.
    #[error("`{0}` has an executor already")]
    Duplicate(ToolName),
    /// A name is malformed.
    #[error(transparent)]
    Name(#[from] interlock_protocol::id::Error),
}

/// Which tools to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Those that this mode allows.
    pub mode: Option<Mode>,
    /// Those of this category.
    pub category: Option<CategoryName>,
}

/// Every tool that can run. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox {
    executors: Arc<BTreeMap<ToolName, Arc<dyn Executor>>>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.executors.keys()).finish()
    }
}

/// Collects executors.
#[derive(Default)]
pub struct Builder {
    executors: BTreeMap<ToolName, Arc<dyn Executor>>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.executors.keys()).finish()
    }
}

impl Builder {
    /// The executor of a tool. A tool has one.
    pub fn register(mut self, name: ToolName, executor: Arc<dyn Executor>) -> Result<Self, Error> {
        if self.executors.contains_key(&name) {
            return Err(Error::Duplicate(name));
        }
        self.executors.insert(name, executor);
        Ok(self)
    }

    /// The toolbox.
    pub fn build(self) -> Toolbox {
        Toolbox {
            executors: Arc::new(self.executors),
        }
    }
}

impl Toolbox {
    /// An empty toolbox to fill.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The tools that can run.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.executors.keys()
    }

    /// Whether a tool can run.
    pub fn has(&self, name: &ToolName) -> bool {
        self.executors.contains_key(name)
    }

    /// The definitions of the tools that can run and that the catalogue knows.
    pub fn list<'a>(&self, catalogue: &'a Catalogue, filter: &Filter) -> Vec<&'a ToolDefinition> {
        catalogue
            .tools()
            .map(interlock_gate::Tool::definition)
            .filter(|tool| self.has(&tool.name))
            .filter(|tool| filter.mode.is_none_or(|mode| tool.modes.contains(&mode)))
            .filter(|tool| {
                filter
                    .category
                    .as_ref()
                    .is_none_or(|category| tool.category == *category)
            })
            .collect()
    }

    /// Runs a call whose permit was used up, within the time of its plan. Whatever the executor does, something comes
    /// back.
    pub async fn run(&self, started: &Started, cancel: &CancellationToken) -> Done {
        let plan = started.plan();
        let Some(executor) = self.executors.get(&plan.tool) else {
            let known: Vec<&str> = self.names().map(ToolName::as_str).collect();
            return Failure::new(ErrorCode::NotFound, format!("nothing here runs `{}`", plan.tool))
                .detail("tools", known)
                .into();
        };
        // Panics are caught where the executor makes its future, too.
        let running = contained(async { executor.run(started, cancel).await });
        let most = Duration::from_secs(plan.timeout_seconds.into()) + CLEAN_UP;
        let cancelled = async {
            cancel.cancelled().await;
            tokio::time::sleep(CLEAN_UP).await;
        };
        tokio::select! {
            biased;
            done = running => done.unwrap_or_else(|| {
                tracing::error!(tool = %plan.tool, "an executor panicked");
                Failure::failed(format!(
                    "`{}` broke off by a fault of its own; whether it took effect is not known",
                    plan.tool
                ))
                .into()
            }),
            () = tokio::time::sleep(most) => Failure::new(
                ErrorCode::Timeout,
                format!("`{}` did not end within {} seconds", plan.tool, plan.timeout_seconds),
            )
            .into(),
            () = cancelled => Failure::new(ErrorCode::Cancelled, format!("`{}` was cancelled", plan.tool)).into(),
        }
    }
}

/// What a future comes to, or nothing if it panics.
async fn contained<Output>(work: impl Future<Output = Output>) -> Option<Output> {
    let mut work = pin!(work);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Some(output)),
            Err(_) => Poll::Ready(None),
        },
    )
    .await
}
