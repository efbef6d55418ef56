//! Everything that Interlock is connected to, behind one set of tools: this machine and what `infra` reaches.

mod alerts;
mod control;
mod discovery;
mod docker;
#[cfg(test)]
mod docker_stage;
#[cfg(test)]
mod docker_tests;
mod facts;
mod files;
mod files_write;
mod identity;
mod inventory;
mod inventory_look;
mod knowledge;
mod kubernetes;
mod logic;
mod mail;
mod metrics;
mod metrics_numbers;
mod metrics_questions;
mod query;
mod query_one;
mod reach;
mod read;
mod storage;

use std::sync::Arc;

use interlock_executor::Inventories;
use interlock_gate::{ResolvedResource, Started};
use interlock_infra::{Infra, Resource};
use interlock_logic::Rules;
use interlock_protocol::ToolName;
use tokio_util::sync::CancellationToken;

pub use knowledge::{Knowledge, Note, Notes};
pub use metrics::{Measured, measure};

use crate::{BoxFuture, Builder, Done, Error, Executor, Failure, Inventory, LocalHost, Options};

/// Everything that Interlock is connected to. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    inner: Arc<Inner>,
    /// The operator's rules for questions in logic.
    rules: Arc<Rules>,
}

struct Inner {
    infra: Infra,
    local: Option<LocalHost>,
    notes: Option<Arc<dyn Notes>>,
    options: Options,
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet")
            .field("infra", &self.inner.infra)
            .field("local", &self.inner.local)
            .finish_non_exhaustive()
    }
}

impl Fleet {
    /// This machine, where it is one of the resources, and everything that is connected.
    pub fn new(
        infra: Infra,
        local: Option<LocalHost>,
        notes: Option<Arc<dyn Notes>>,
        options: Options,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                infra,
                local,
                notes,
                options,
            }),
            rules: Arc::default(),
        }
    }

    /// The same, with the operator's rules for questions in logic.
    #[must_use]
    pub fn with_rules(mut self, rules: Arc<Rules>) -> Self {
        self.rules = rules;
        self
    }

    /// Adds the executors of its tools to a toolbox: those that something connected can run. A model is not offered what
    /// could only fail.
    pub fn register(&self, mut builder: Builder) -> Result<Builder, Error> {
        for tool in TOOLS.iter().filter(|tool| (tool.runs_in)(self)) {
            let executor = Arc::new(FleetTool {
                fleet: self.clone(),
                tool,
            });
            builder = builder.register(ToolName::new(tool.name)?, executor)?;
        }
        Ok(builder)
    }

    /// What code asks by itself: this machine first, then everything that is connected.
    pub fn inventory(&self) -> Inventories {
        let local = self.inner.local.as_ref().map(|local| {
            let tags = self.inner.infra.configured_tags(local.id());
            Arc::new(local.clone().tagged(tags)) as Arc<dyn Inventory>
        });
        let connected = Arc::new(inventory::Connected(self.clone())) as Arc<dyn Inventory>;
        Inventories::of(local.into_iter().chain([connected]))
    }

    fn has_guests(&self) -> bool {
        !self.inner.infra.proxmox().is_empty()
    }

    /// Whether anything is connected on which commands run and files are read.
    fn has_machines(&self) -> bool {
        let infra = &self.inner.infra;
        self.inner.local.is_some()
            || self.has_guests()
            || !infra.hosts().is_empty()
            || !infra.docker().is_empty()
    }

    fn has_metrics(&self) -> bool {
        self.has_guests() || !self.inner.infra.prometheus().is_empty()
    }
}

/// A resource of the graph as discovery describes it.
fn resolved(resource: &Resource) -> ResolvedResource {
    ResolvedResource {
        id: resource.id.clone(),
        name: resource.name.clone(),
        aliases: resource.aliases.clone(),
        state: resource.state.clone(),
        identity: resource.identity.clone(),
    }
}

/// A tool of the fleet.
struct Tool {
    name: &'static str,
    /// Whether anything that is connected can run it.
    runs_in: fn(&Fleet) -> bool,
    run: Run,
}

/// How a tool runs.
type Run = for<'a> fn(&'a Fleet, &'a Started, &'a CancellationToken) -> BoxFuture<'a, Result<Done, Failure>>;

/// A row of the table.
macro_rules! tool {
    ($name:literal, $runs_in:expr, $run:ident) => {
        Tool {
            name: $name,
            runs_in: $runs_in,
            run: |fleet, started, cancel| Box::pin(fleet.$run(started, cancel)),
        }
    };
}

/// Every tool, with what it needs.
const TOOLS: &[Tool] = &[
    Tool {
        name: "infra_query",
        runs_in: |_| true,
        run: |fleet, started, _| Box::pin(fleet.query(started)),
    },
    tool!("infra_discovery", |_| true, discovery),
    tool!("infra_read", Fleet::has_machines, read),
    tool!("infra_metrics", Fleet::has_metrics, metrics),
    tool!("infra_storage", Fleet::has_guests, storage),
    tool!(
        "infra_kubernetes",
        |fleet| !fleet.inner.infra.kubernetes().is_empty(),
        kubernetes
    ),
    tool!(
        "infra_docker",
        |fleet| !fleet.inner.infra.docker().is_empty(),
        docker
    ),
    tool!(
        "infra_mail",
        |fleet| !fleet.inner.infra.mail_gateways().is_empty(),
        mail
    ),
    tool!("infra_control", Fleet::has_machines, control),
    tool!("infra_file_edit", Fleet::has_machines, edit_file),
    tool!(
        "infra_alerts",
        |fleet| !fleet.inner.infra.alertmanagers().is_empty(),
        alerts
    ),
    tool!("infra_knowledge", |fleet| fleet.inner.notes.is_some(), knowledge),
    tool!("read_file", Fleet::has_machines, read_file),
    tool!("list_directory", Fleet::has_machines, list_directory),
    tool!("write_file", Fleet::has_machines, write_file),
    tool!("delete_file", Fleet::has_machines, delete_file),
    tool!("read_system_logs", Fleet::has_machines, system_logs),
    tool!(
        "system_metrics_snapshot",
        |fleet| fleet.inner.local.is_some() || fleet.has_metrics(),
        snapshot
    ),
    tool!(
        "logic_query",
        |fleet| fleet.has_guests() || !fleet.inner.infra.hosts().is_empty(),
        logic_query
    ),
];

#[cfg(test)]
#[test]
fn every_tool_of_the_catalogue_has_an_executor() {
    let catalogue = interlock_gate::Catalogue::built_in().unwrap();
    let described: Vec<&str> = catalogue
        .tools()
        .map(|tool| tool.definition().name.as_str())
        .collect();
    let mut runs: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    runs.sort_unstable();
    assert_eq!(runs, described, "tools.toml and fleet::TOOLS name the same tools");
}

struct FleetTool {
    fleet: Fleet,
    tool: &'static Tool,
}

impl Executor for FleetTool {
    fn run<'a>(&'a self, started: &'a Started, cancel: &'a CancellationToken) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let identity = match self.fleet.same_machine(started.plan()).await {
                Ok(identity) => identity,
                Err(failure) => return failure.into(),
            };
            let done = (self.tool.run)(&self.fleet, started, cancel).await;
            let mut done = done.unwrap_or_else(Done::from);
            done.identity = identity;
            done
        })
    }
}
