//! Connections to infrastructure: whether they are configured, and with `--online` whether they answer.

use std::time::Duration;

use interlock_config::Config;
use interlock_infra::{Infra, Secrets};

use super::Check;

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
    graph
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
        .collect()
}
