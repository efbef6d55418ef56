//! Running inside a resource: a node or a host by SSH, a container through its node, a machine through its agent.
//!
//! There are two entrances. [`Infra::run`] runs what a model wrote, for a plan that may run and on the resource of that
//! plan. [`Infra::probe`] asks one of our own questions, a closed list that no model can shape.

mod probe;
mod sandbox;

use std::time::Duration;

use interlock_gate::Started;
use interlock_protocol::{Identity, ResourceId, ResourceKind, SocketKind, ToolKind};
use tokio_util::sync::CancellationToken;

pub use probe::{FilePath, Probe, UnitName};
pub(crate) use sandbox::Sandboxes;

use crate::docker::Docker;
use crate::output::{Exit, Limits, Output, exit_of};
use crate::proxmox::{Guest, Proxmox};
use crate::ssh::{Ssh, bounded};
use crate::{Error, Infra};

/// How old the graph may be that says what runs on what.
const PLACES_FOR: Duration = Duration::from_mins(1);
/// How many hosts of hosts are looked through.
const MAX_DEPTH: usize = 4;
/// How much longer than the command inside the one around it may take.
const AROUND: Duration = Duration::from_secs(3);
/// How much input is passed on at once.
const MOST_INPUT: usize = 4 * 1024 * 1024;
/// The bounds of a question of our own.
const PROBE: Limits = Limits {
    wall: Duration::from_secs(10),
    output_bytes: 512 * 1024,
    drain_bytes: 4 * 1024 * 1024,
};

/// A command to run inside a resource.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// What it reads. A command that only reads gets nothing.
    pub stdin: Option<&'a str>,
    /// The kinds of sockets that every one of its programs needs. A sandbox refuses all others.
    pub sockets: &'a [SocketKind],
    /// Its programs, where it is a plain pipeline whose programs need different sockets: each then runs in a sandbox of its
    /// own. Empty, one sandbox is around all of it.
    pub stages: &'a [Stage],
    /// Who wrote it.
    pub form: Form,
    /// Its bounds.
    pub limits: Limits,
}

/// One program of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where its error stream goes.
    pub errors: Errors,
    /// The kinds of sockets that it needs.
    pub sockets: Vec<SocketKind>,
}

/// Where the error stream of a program in a pipeline goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// To the error stream of the whole.
    Kept,
    /// Nowhere: `2>/dev/null`.
    Dropped,
    /// The way of its output: `2>&1`.
    Joined,
}

/// Who wrote a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A model: it may be anything that the analysis let pass.
    Free,
    /// We: only checked operands are a model's.
    Fixed,
}

/// How a resource is entered.
enum Way {
    /// Its own SSH server.
    Ssh(Ssh),
    /// `pct exec` on its node.
    Container { node: Ssh, vmid: u32 },
    /// The engine that runs it.
    Engine { docker: Docker, container: String },
    /// Its agent, through the API.
    Agent { proxmox: Proxmox, guest: Guest },
}

impl Way {
    /// The same way, for the machine that the plan was made for: what goes through SSH runs on no other, and neither do the
    /// questions that choose its sandbox.
    fn meant_for(self, resource: &ResourceId, meant: Option<&Identity>) -> Self {
        // What runs inside something else is entered by that one's own machine.
        let meant = meant.filter(|_| {
            !matches!(
                resource.kind(),
                ResourceKind::DockerHost | ResourceKind::MailGateway
            )
        });
        match self {
            Self::Ssh(ssh) => Self::Ssh(ssh.meant_for(meant)),
            Self::Container { node, vmid } => Self::Container {
                node: node.meant_for(meant),
                vmid,
            },
            Self::Engine { .. } | Self::Agent { .. } => self,
        }
    }
}

impl Infra {
    /// Runs a command inside a resource, for a plan that is about this very resource. What only reads runs in the sandbox
    /// that its machine offers, and the output says which one that was.
    pub async fn run(
        &self,
        started: &Started,
        resource: &ResourceId,
        job: Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let plan = started.plan();
        let meant = match (plan.resource(), plan.kind) {
            (Some(target), _) => target == resource,
            // A read of something that was not discovered names it in its arguments only.
            (None, ToolKind::Resolve | ToolKind::Read) => true,
            (None, ToolKind::Write) => false,
        };
        if !meant {
            return Err(Error::Unsupported(format!("the plan is not about `{resource}`")));
        }
        // A change inside of it is one to what it runs on: that is what must be locked, approved and looked at.
        if plan.kind == ToolKind::Write
            && matches!(
                resource.kind(),
                ResourceKind::DockerHost | ResourceKind::MailGateway
            )
        {
            let graph = self.graph(PLACES_FOR).await;
            let below = graph.get(resource).and_then(|known| known.parent.clone());
            let hint = below.map_or_else(String::new, |below| format!("; name `{below}`, which it runs on"));
            return Err(Error::Unsupported(format!(
                "nothing is changed through `{resource}`{hint}"
            )));
        }
        let meant = plan.target.as_ref().map(|target| &target.identity);
        // Ways in are large; those who ask several things at once need not be.
        Box::pin(async {
            let way = self.way(resource).await?.meant_for(resource, meant);
            match plan.kind {
                ToolKind::Write => through(&way, &job, cancel).await,
                ToolKind::Resolve | ToolKind::Read => {
                    self.read_through(&way, resource, &job, plan.sandbox_required, cancel)
                        .await
                }
            }
        })
        .await
    }

    /// Asks one of our own questions inside a resource, for a plan that is about this very resource.
    pub async fn ask(
        &self,
        started: &Started,
        resource: &ResourceId,
        probe: &Probe,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let job = Job {
            argv: &probe.argv(),
            stdin: None,
            sockets: &[],
            stages: &[],
            form: Form::Fixed,
            limits,
        };
        self.run(started, resource, job, cancel).await
    }

    /// Asks one of our own questions inside a resource.
    pub async fn probe(&self, resource: &ResourceId, probe: &Probe) -> Result<Output, Error> {
        let cancel = CancellationToken::new();
        Box::pin(async {
            let way = self.way(resource).await?;
            let job = Job {
                argv: &probe.argv(),
                stdin: None,
                sockets: &[],
                stages: &[],
                form: Form::Fixed,
                limits: PROBE,
            };
            through(&way, &job, &cancel).await
        })
        .await
    }

    /// Asks a question of our own that is also given input.
    pub async fn probe_with_input(
        &self,
        resource: &ResourceId,
        probe: &Probe,
        input: &str,
    ) -> Result<Output, Error> {
        let cancel = CancellationToken::new();
        Box::pin(async {
            let way = self.way(resource).await?;
            let job = Job {
                argv: &probe.argv(),
                stdin: Some(input),
                sockets: &[],
                stages: &[],
                form: Form::Fixed,
                limits: PROBE,
            };
            through(&way, &job, &cancel).await
        })
        .await
    }

    /// How much input a command in this resource can be given at once.
    pub async fn input_room(&self, resource: &ResourceId) -> Result<usize, Error> {
        Ok(match self.way(resource).await? {
            Way::Agent { .. } => crate::proxmox::MOST_INPUT,
            Way::Ssh(_) | Way::Container { .. } | Way::Engine { .. } => MOST_INPUT,
        })
    }

    async fn way(&self, resource: &ResourceId) -> Result<Way, Error> {
        let mut at = resource.clone();
        for _ in 0..MAX_DEPTH {
            match at.kind() {
                ResourceKind::Node => {
                    return Ok(Way::Ssh(self.proxmox_of(&at).await?.ssh(at.uid())?));
                }
                ResourceKind::Lxc | ResourceKind::Vm => return self.guest_way(&at).await,
                ResourceKind::Host => return self.host_way(&at),
                ResourceKind::DockerContainer => return self.container_way(&at),
                // They run on something that can be entered.
                ResourceKind::DockerHost | ResourceKind::MailGateway => {
                    let graph = self.graph(PLACES_FOR).await;
                    let parent = graph.get(&at).and_then(|known| known.parent.clone());
                    at = parent.ok_or_else(|| {
                        Error::Unsupported(format!(
                            "commands cannot reach `{at}`: say with `runs_on` in its connection which guest or host it \
                             runs on"
                        ))
                    })?;
                }
                ResourceKind::Cluster
                | ResourceKind::KubernetesCluster
                | ResourceKind::ToolServer
                | ResourceKind::Alert
                | ResourceKind::Note
                | ResourceKind::Storage
                | ResourceKind::Service
                | ResourceKind::DockerService
                | ResourceKind::DockerImage
                | ResourceKind::DockerVolume
                | ResourceKind::DockerNetwork
                | ResourceKind::KubernetesNode
                | ResourceKind::KubernetesNamespace
                | ResourceKind::KubernetesPod
                | ResourceKind::KubernetesDeployment
                | ResourceKind::KubernetesStatefulSet
                | ResourceKind::KubernetesDaemonSet
                | ResourceKind::KubernetesJob
                | ResourceKind::KubernetesService => {
                    return Err(Error::Unsupported(format!(
                        "commands cannot run inside a `{}`",
                        at.kind()
                    )));
                }
            }
        }
        Err(Error::Unsupported(format!(
            "`{resource}` runs on itself by its configuration"
        )))
    }

    async fn guest_way(&self, id: &ResourceId) -> Result<Way, Error> {
        let proxmox = self.proxmox_of(id).await?;
        let guest = Guest::of(id).ok_or_else(|| Error::NotFound {
            what: format!("a guest with the id `{id}`"),
        })?;
        Ok(match id.kind() {
            ResourceKind::Lxc => Way::Container {
                node: proxmox.ssh(&guest.node)?,
                vmid: guest.vmid,
            },
            _ => Way::Agent { proxmox, guest },
        })
    }

    fn container_way(&self, id: &ResourceId) -> Result<Way, Error> {
        let docker = self.docker_of(id).ok_or_else(|| Error::NotFound {
            what: format!("a Docker connection that knows `{id}`"),
        })?;
        Ok(Way::Engine {
            docker: docker.clone(),
            container: id.uid().to_owned(),
        })
    }

    fn host_way(&self, id: &ResourceId) -> Result<Way, Error> {
        let host = self.hosts().iter().find(|host| host.id() == id);
        host.map(|host| Way::Ssh(host.ssh().clone())).ok_or_else(|| {
            Error::Unsupported(format!(
                "commands cannot reach `{id}`: add it to `infrastructure.hosts` with its address and `ssh`"
            ))
        })
    }

    /// The cluster that a node, guest or storage belongs to.
    pub async fn proxmox_of(&self, id: &ResourceId) -> Result<Proxmox, Error> {
        if let [only] = self.proxmox() {
            return Ok(only.clone());
        }
        let graph = self.graph(PLACES_FOR).await;
        let node = id
            .host()
            .and_then(|host| ResourceId::global(ResourceKind::Node, host).ok());
        let known = graph
            .get(id)
            .or_else(|| node.as_ref().and_then(|node| graph.get(node)));
        known
            .and_then(|known| {
                self.proxmox()
                    .iter()
                    .find(|proxmox| proxmox.name() == known.source)
            })
            .cloned()
            .ok_or_else(|| Error::NotFound {
                what: format!("a Proxmox connection that knows `{id}`"),
            })
    }
}

/// Runs a command through a way, bounded on the other side. Only for callers that hold a proof, or a question of our own.
async fn through(way: &Way, job: &Job<'_>, cancel: &CancellationToken) -> Result<Output, Error> {
    let stdin = job.stdin.map(str::as_bytes);
    match way {
        Way::Ssh(ssh) => ssh.exec(job.argv, stdin, job.limits, cancel).await,
        Way::Container { node, vmid } => {
            let number = vmid.to_string();
            let mut around: Vec<String> = ["pct", "exec", &number, "--"]
                .into_iter()
                .map(str::to_owned)
                .collect();
            // What runs in the container outlives the command that entered it.
            around.extend(bounded(job.argv, job.limits.wall));
            let outer = Limits {
                wall: job.limits.wall + AROUND,
                ..job.limits
            };
            let mut output = node.exec(&around, stdin, outer, cancel).await?;
            // The inner limit was the one that ended it.
            if let Exit::Code(code) = output.exit {
                output.exit = exit_of(Some(code), job.limits.wall, output.duration);
            }
            Ok(output)
        }
        Way::Engine { docker, container } => {
            docker
                .enter_bounded(container, job.argv, stdin, job.form, job.limits, cancel)
                .await
        }
        Way::Agent { proxmox, guest } => {
            proxmox
                .agent_exec(guest, job.argv, job.stdin, job.limits, cancel)
                .await
        }
    }
}
