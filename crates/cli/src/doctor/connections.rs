//! Connections to infrastructure: whether they are configured, and with `--online` whether they answer.

use std::time::Duration;

use futures_util::StreamExt as _;
use interlock_config::Config;
use interlock_infra::{Graph, Infra, Secrets};
use interlock_protocol::{ResourceKind, SandboxWall};

use super::Check;

/// How many machines are tried, and how many at the same time.
const MOST_MACHINES: usize = 200;
const AT_ONCE: usize = 8;
const NO_SANDBOX: &str = "install bubblewrap there (docs/connections.md); `control.require_read_sandbox` refuses commands \
                          where there is none";

pub(super) async fn connections(config: &Config, online: bool) -> Vec<Check> {
    let infra = match Infra::new(&config.infrastructure, &Secrets::environment(), Vec::new()) {
        Ok(infra) => infra,
        Err(error) => {
            let remedy = "correct `infrastructure` in the configuration; docs/connections.md explains it";
            return vec![Check::fail("connections", error.to_string(), remedy)];
        }
    };
    if !online {
        let count = infra.connections();
        return match count {
            0 => Vec::new(),
            count => vec![Check::ok(
                "connections",
                format!("{count} configured; not reached without --online"),
            )],
        };
    }
    let graph = infra.graph(Duration::ZERO).await;
    let mut checks: Vec<Check> = graph
        .health()
        .iter()
        .map(|health| {
            let name = format!("{} {}", health.kind, health.connection);
            match &health.problem {
                None => Check::ok(name, format!("answers; knows {} resources", health.resources)),
                Some(problem) => Check::fail(
                    name,
                    problem.clone(),
                    "see that it runs, is reached from here, and takes the credentials",
                ),
            }
        })
        .collect();
    checks.extend(sandboxes(&infra, &graph).await);
    checks
}

/// Which sandbox commands that read get on each machine that runs.
async fn sandboxes(infra: &Infra, graph: &Graph) -> Vec<Check> {
    let machines = graph.resources().iter().filter(|resource| {
        let runs = matches!(resource.state.as_deref(), Some("running" | "online"));
        runs && matches!(
            resource.id.kind(),
            ResourceKind::Node | ResourceKind::Host | ResourceKind::Lxc | ResourceKind::Vm
        )
    });
    let total = machines.clone().count();
    let mut checks: Vec<Check> = futures_util::stream::iter(machines.take(MOST_MACHINES))
        .map(|machine| async move {
            let name = format!("read sandbox {}", machine.id);
            match infra.read_sandbox(&machine.id).await {
                Ok(wall @ SandboxWall::Enforced { .. }) => Check::ok(name, wall.phrase()),
                Ok(wall @ SandboxWall::None { .. }) => Check::warn(name, wall.phrase(), NO_SANDBOX),
                Err(error) => Check::warn(name, error.to_string(), "commands do not reach it"),
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    if total > MOST_MACHINES {
        checks.push(Check::warn(
            "read sandbox",
            format!("{} more machines were not tried", total - MOST_MACHINES),
            "each is tried when a command first runs on it",
        ));
    }
    if !infra.docker().is_empty() {
        checks.push(Check::ok(
            "read sandbox docker_container",
            "no sandbox: Docker exec offers none; the command analysis is the only check there",
        ));
    }
    checks
}
