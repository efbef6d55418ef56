//! Everything that Interlock is connected to, behind one set of tools: this machine and what `infra` reaches.

mod alerts;
mod control;
mod discovery;
mod docker;
#[cfg(test)]
mod docker_stage;
#[cfg(test)]
mod docker_tests;
mod files;
mod files_write;
mod identity;
mod inventory;
mod inventory_look;
mod knowledge;
mod kubernetes;
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

use interlock_gate::{ResolvedResource, Started};
use interlock_infra::{Infra, Resource};
use interlock_protocol::ToolName;
use tokio_util::sync::CancellationToken;

pub use knowledge::{Knowledge, Note, Notes};
pub use metrics::{Measured, measure};

use crate::toolbox::{Builder, Error};
use crate::{BoxFuture, Done, Executor, LocalHost, Options};

/// Everything that Interlock is connected to. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    inner: Arc<Inner>,
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
        }
    }

    /// Adds the executors of its tools to a toolbox: those that something connected can run.
    pub fn register(&self, mut builder: Builder) -> Result<Builder, Error> {
        for tool in Tool::ALL.iter().filter(|tool| self.can_run(**tool)) {
            let executor = Arc::new(FleetTool {
                fleet: self.clone(),
                tool: *tool,
            });
            builder = builder.register(ToolName::new(tool.name())?, executor)?;
        }
        Ok(builder)
    }
}

impl Fleet {
    /// Whether anything that is connected can run a tool. A model is not offered what could only fail.
    fn can_run(&self, tool: Tool) -> bool {
        let infra = &self.inner.infra;
        let guests = !infra.proxmox().is_empty();
        match tool {
            Tool::Query | Tool::Discovery => true,
            Tool::Read
            | Tool::Control
            | Tool::FileEdit
            | Tool::ReadFile
            | Tool::ListDirectory
            | Tool::WriteFile
            | Tool::DeleteFile
            | Tool::ReadSystemLogs => {
                self.inner.local.is_some()
                    || guests
                    || !infra.hosts().is_empty()
                    || !infra.docker().is_empty()
            }
            Tool::MetricsSnapshot => self.inner.local.is_some() || guests || !infra.prometheus().is_empty(),
            Tool::Metrics => guests || !infra.prometheus().is_empty(),
            Tool::Storage => guests,
            Tool::Kubernetes => !infra.kubernetes().is_empty(),
            Tool::Docker => !infra.docker().is_empty(),
            Tool::Mail => !infra.mail_gateways().is_empty(),
            Tool::Alerts => !infra.alertmanagers().is_empty(),
            Tool::Knowledge => self.inner.notes.is_some(),
        }
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

/// The tools of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Query,
    Discovery,
    Read,
    Metrics,
    Storage,
    Kubernetes,
    Docker,
    Mail,
    Control,
    FileEdit,
    Alerts,
    Knowledge,
    ReadFile,
    ListDirectory,
    WriteFile,
    DeleteFile,
    ReadSystemLogs,
    MetricsSnapshot,
}

impl Tool {
    const ALL: &'static [Self] = &[
        Self::Query,
        Self::Discovery,
        Self::Read,
        Self::Metrics,
        Self::Storage,
        Self::Kubernetes,
        Self::Docker,
        Self::Mail,
        Self::Control,
        Self::FileEdit,
        Self::Alerts,
        Self::Knowledge,
        Self::ReadFile,
        Self::ListDirectory,
        Self::WriteFile,
        Self::DeleteFile,
        Self::ReadSystemLogs,
        Self::MetricsSnapshot,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Query => "infra_query",
            Self::Discovery => "infra_discovery",
            Self::Read => "infra_read",
            Self::Metrics => "infra_metrics",
            Self::Storage => "infra_storage",
            Self::Kubernetes => "infra_kubernetes",
            Self::Docker => "infra_docker",
            Self::Mail => "infra_mail",
            Self::Control => "infra_control",
            Self::FileEdit => "infra_file_edit",
            Self::Alerts => "infra_alerts",
            Self::Knowledge => "infra_knowledge",
            Self::ReadFile => "read_file",
            Self::ListDirectory => "list_directory",
            Self::WriteFile => "write_file",
            Self::DeleteFile => "delete_file",
            Self::ReadSystemLogs => "read_system_logs",
            Self::MetricsSnapshot => "system_metrics_snapshot",
        }
    }
}

struct FleetTool {
    fleet: Fleet,
    tool: Tool,
}

impl Executor for FleetTool {
    fn run<'a>(&'a self, started: &'a Started, cancel: &'a CancellationToken) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let fleet = &self.fleet;
            let identity = match fleet.same_machine(started.plan()).await {
                Ok(identity) => identity,
                Err(failure) => return failure.into(),
            };
            let done = match self.tool {
                Tool::Query => fleet.query(started).await,
                Tool::Discovery => fleet.discovery(started, cancel).await,
                Tool::Read => fleet.read(started, cancel).await,
                Tool::Metrics => fleet.metrics(started, cancel).await,
                Tool::Storage => fleet.storage(started, cancel).await,
                Tool::Kubernetes => fleet.kubernetes(started, cancel).await,
                Tool::Docker => fleet.docker(started, cancel).await,
                Tool::Mail => fleet.mail(started, cancel).await,
                Tool::Control => fleet.control(started, cancel).await,
                Tool::FileEdit => fleet.edit_file(started, cancel).await,
                Tool::Alerts => fleet.alerts(started, cancel).await,
                Tool::Knowledge => fleet.knowledge(started, cancel).await,
                Tool::ReadFile => fleet.read_file(started, cancel).await,
                Tool::ListDirectory => fleet.list_directory(started, cancel).await,
                Tool::WriteFile => fleet.write_file(started, cancel).await,
                Tool::DeleteFile => fleet.delete_file(started, cancel).await,
                Tool::ReadSystemLogs => fleet.system_logs(started, cancel).await,
                Tool::MetricsSnapshot => fleet.snapshot(started, cancel).await,
            };
            let mut done = done.unwrap_or_else(Done::from);
            done.identity = identity;
            done
        })
    }
}
