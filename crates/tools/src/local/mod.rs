//! The machine that Interlock runs on, as a resource: `host:<name>`.

pub(crate) mod arguments;
mod command;
mod control;
pub(crate) mod facts;
pub(crate) mod files;
mod inventory;
mod query;
pub(crate) mod read;
mod source;
pub(crate) mod unit;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use interlock_exec::{Limits, Probe, Runner, UnitName};
use interlock_gate::{Plan, ResolvedResource, Started};
use interlock_protocol::{
    ErrorCode, Identity, MOST_TAKEN, Observation, ResourceId, ResourceKind, ToolName, name_key,
};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::file::Guard;
use crate::{BoxFuture, Builder, Done, Error, Executor, Failure, Options, Reading};

/// How long one of our own questions may take.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// The machine that Interlock runs on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LocalHost {
    inner: Arc<Inner>,
    /// What the configuration calls it.
    tags: BTreeSet<String>,
}

#[derive(Debug)]
struct Inner {
    id: ResourceId,
    name: String,
    aliases: Vec<String>,
    runner: Runner,
    options: Options,
    /// The sandbox that holds here, once a canary showed it.
    sandbox: tokio::sync::OnceCell<interlock_protocol::SandboxWall>,
}

impl LocalHost {
    /// This machine, by the name it has now.
    pub fn new(runner: Runner, options: Options) -> Result<Self, interlock_protocol::resource::Error> {
        let name = facts::host_name();
        // A machine whose name fits no id still has one that does.
        let id = ResourceId::global(ResourceKind::Host, &name)
            .or_else(|_| ResourceId::global(ResourceKind::Host, "localhost"))?;
        let aliases = facts::aliases(&name);
        Ok(Self {
            inner: Arc::new(Inner {
                id,
                name,
                aliases,
                runner,
                options,
                sandbox: tokio::sync::OnceCell::new(),
            }),
            tags: BTreeSet::new(),
        })
    }

    /// The same, with the tags that the configuration gives it.
    #[must_use]
    pub fn tagged(mut self, tags: BTreeSet<String>) -> Self {
        self.tags = tags;
        self
    }

    /// Its id.
    pub fn id(&self) -> &ResourceId {
        &self.inner.id
    }

    /// It, as discovery describes it.
    pub fn resource(&self) -> ResolvedResource {
        ResolvedResource {
            id: self.inner.id.clone(),
            name: self.inner.name.clone(),
            aliases: self.inner.aliases.clone(),
            state: Some("running".to_owned()),
            identity: self.identity(),
        }
    }

    /// Which machine this is now.
    pub fn identity(&self) -> Identity {
        facts::identity()
    }

    /// Whether a resource is this machine, or a unit of it.
    pub(crate) fn has(&self, id: &ResourceId) -> bool {
        *id == self.inner.id || (id.kind() == ResourceKind::Service && id.host() == Some(self.inner.id.uid()))
    }

    /// Makes sure that this is the machine that a plan was made for.
    fn same_machine(&self, plan: &Plan) -> Result<Identity, Failure> {
        let live = self.identity();
        let meant = plan.target.as_ref().map(|target| &target.identity);
        let changes = meant.map_or_else(Vec::new, |meant| meant.contradictions(&live));
        if changes.is_empty() {
            return Ok(live);
        }
        Err(interlock_infra::Error::AnotherMachine {
            connection: self.inner.id.to_string(),
            changes,
        }
        .into())
    }

    /// Adds its executors to a toolbox.
    pub fn register(&self, mut builder: Builder) -> Result<Builder, Error> {
        for tool in Tool::ALL {
            let executor = Arc::new(LocalTool {
                host: self.clone(),
                tool: *tool,
            });
            builder = builder.register(ToolName::new(tool.name())?, executor)?;
        }
        Ok(builder)
    }

    pub(crate) fn answers_to(&self, name: &str) -> bool {
        let key = name_key(name);
        name == self.inner.id.to_string()
            || key == name_key(&self.inner.name)
            || self.inner.aliases.iter().any(|alias| name_key(alias) == key)
    }

    /// Makes sure that a plan is about this machine: by its target, or by leaving it out.
    fn is_meant_by(&self, plan: &Plan) -> Result<(), Failure> {
        let elsewhere = match &plan.target {
            Some(target) => (target.id != self.inner.id).then(|| target.id.to_string()),
            None => ["target_resource_id", "target_host"]
                .iter()
                .find_map(|name| arguments::text(plan, name))
                .map(str::to_owned),
        };
        match elsewhere {
            None => Ok(()),
            Some(other) => Err(Failure::new(
                ErrorCode::NotFound,
                format!(
                    "`{other}` is not this machine (`{}`), and no other is connected",
                    self.inner.id
                ),
            )
            .detail("resource_id", other)
            .detail("connected", self.inner.id.to_string())),
        }
    }

    fn guard(&self) -> Guard<'_> {
        Guard {
            protected: self.inner.runner.protected(),
        }
    }

    fn limits(&self, wall: Duration) -> Limits {
        Limits {
            wall,
            output_bytes: MOST_TAKEN,
            grace: Duration::from_millis(self.inner.options.grace_ms.get().into()),
            ..Limits::default()
        }
    }

    /// Work with files, off the threads that everything else runs on.
    async fn blocking<Output: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<Output, Failure> + Send + 'static,
    ) -> Result<Output, Failure> {
        let host = self.clone();
        tokio::task::spawn_blocking(move || work(&host))
            .await
            .map_err(|_| Failure::failed("it broke off by a fault of its own"))?
    }

    /// What was read from this machine.
    fn reading(&self, taken_at: Timestamp, data: Value, mut observations: Vec<Observation>) -> Reading {
        observations.insert(0, Observation::Present);
        Reading {
            resource: Some(self.inner.id.clone()),
            taken_at,
            data,
            observations,
            walls: None,
        }
    }

    /// What a unit is doing, by our own question.
    async fn unit(&self, name: &UnitName) -> Result<unit::Unit, Failure> {
        unit::require_systemd()?;
        let output = self
            .inner
            .runner
            .probe(
                &Probe::Unit(name.clone()),
                self.limits(PROBE_TIME),
                &CancellationToken::new(),
            )
            .await?;
        unit::Unit::read(&output)
    }
}

/// The tools of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Query,
    Read,
    Control,
    FileEdit,
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
        Self::Read,
        Self::Control,
        Self::FileEdit,
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
            Self::Read => "infra_read",
            Self::Control => "infra_control",
            Self::FileEdit => "infra_file_edit",
            Self::ReadFile => "read_file",
            Self::ListDirectory => "list_directory",
            Self::WriteFile => "write_file",
            Self::DeleteFile => "delete_file",
            Self::ReadSystemLogs => "read_system_logs",
            Self::MetricsSnapshot => "system_metrics_snapshot",
        }
    }
}

struct LocalTool {
    host: LocalHost,
    tool: Tool,
}

impl Executor for LocalTool {
    fn run<'a>(&'a self, started: &'a Started, cancel: &'a CancellationToken) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let host = &self.host;
            let identity = match host.same_machine(started.plan()) {
                Ok(identity) => identity,
                Err(failure) => return failure.into(),
            };
            let done = match self.tool {
                Tool::Query => host.query(started).await,
                Tool::Read => host.read(started, cancel).await,
                Tool::Control => host.control(started, cancel).await,
                Tool::FileEdit => host.edit_file(started).await,
                Tool::ReadFile => host.read_file(started).await,
                Tool::ListDirectory => host.list_directory(started).await,
                Tool::WriteFile => host.write_file(started).await,
                Tool::DeleteFile => host.delete_file(started).await,
                Tool::ReadSystemLogs => host.logs(started, cancel).await,
                Tool::MetricsSnapshot => host.snapshot(started),
            };
            let mut done = done.unwrap_or_else(Done::from);
            done.identity = identity;
            done
        })
    }
}
