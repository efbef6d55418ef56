//! How a resource is built: its system, services, ports and configuration paths, and the containers on it.

use std::time::Duration;

use interlock_gate::Started;
use interlock_infra::{Error, FilePath, Graph, Output, Probe, Resource};
use interlock_protocol::{ResourceId, ResourceKind};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::query::shown;
use super::reach::{nothing_named, reading};
use super::{Fleet, resolved};
use crate::Done;
use crate::Failure;
use crate::local::{arguments, unit};
use crate::options::count;

/// Folders of `/etc` that every system has and that say nothing about what it is for.
const ORDINARY: [&str; 24] = [
    "alternatives",
    "apt",
    "ca-certificates",
    "cron.d",
    "cron.daily",
    "cron.hourly",
    "cron.monthly",
    "cron.weekly",
    "default",
    "dpkg",
    "init.d",
    "kernel",
    "ld.so.conf.d",
    "logrotate.d",
    "opt",
    "pam.d",
    "profile.d",
    "rc0.d",
    "security",
    "selinux",
    "skel",
    "ssl",
    "systemd",
    "terminfo",
];
/// Folders outside of `/etc` where services of a home or a data centre keep their configuration.
const ELSEWHERE: [&str; 3] = ["/opt", "/srv", "/usr/local/etc"];

impl Fleet {
    pub(super) async fn discovery(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        match plan.action.as_deref() {
            Some("list") => self.discoverable(arguments::text(plan, "type")).await,
            Some("get") => self.built(arguments::needed(plan, "resource_id")?).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    /// What can be looked into.
    async fn discoverable(&self, kind: Option<&str>) -> Result<Done, Failure> {
        let graph = self.inner.infra.graph(Duration::from_secs(5)).await;
        let known: Vec<&Resource> = graph
            .resources()
            .iter()
            .filter(|resource| can_be_entered(resource.id.kind()))
            .filter(|resource| kind.is_none_or(|kind| kind == "any" || resource.id.kind().as_str() == kind))
            .collect();
        let total = known.len();
        let most = count(self.inner.options.entries).min(300);
        let rows: Vec<Value> = known.iter().take(most).map(|resource| shown(resource)).collect();
        let data = json!({"resources": rows, "total": total, "truncated": total > most});
        let discovered = known.into_iter().take(most).map(resolved).collect();
        Ok(
            Done::succeeded(data, format!("{total} resources can be looked into"))
                .with_discovered(discovered),
        )
    }

    async fn built(&self, name: &str) -> Result<Done, Failure> {
        let graph = self.inner.infra.graph(Duration::from_secs(5)).await;
        let id = self.named(name).await?;
        let resource = graph.get(&id).ok_or_else(|| nothing_named(name))?;
        let taken_at = Timestamp::now();
        let mut data = shown(resource);
        let containers: Vec<&Resource> = containers_on(&graph, &id);
        data["containers"] = containers.iter().map(|container| shown(container)).collect();
        let is_here = self.inner.local.as_ref().is_some_and(|local| *local.id() == id);
        if can_be_entered(id.kind()) && !is_here {
            self.look_inside(&id, &mut data).await?;
        }
        let mut discovered = vec![resolved(resource)];
        discovered.extend(containers.into_iter().map(resolved));
        Ok(Done::succeeded(data.clone(), "how a resource is built")
            .with_reading(reading(&id, taken_at, data, Vec::new()))
            .with_discovered(discovered))
    }

    async fn look_inside(&self, id: &ResourceId, data: &mut Value) -> Result<(), Failure> {
        let infra = &self.inner.infra;
        let ask = |probe: Probe| async move { infra.probe(id, &probe).await };
        let (system, services, listening, disks, paths) = tokio::join!(
            ask(Probe::OsRelease),
            ask(Probe::Services),
            self.listening(id),
            ask(Probe::FileSystems),
            self.configuration_paths(id),
        );
        // Whoever cannot be entered at all says so; single questions may stay open.
        let system = text(&system?);
        data["system"] = os_name(&system).into();
        data["services"] = unit::services(&text_or_empty(services))
            .into_iter()
            .map(|(name, state)| json!({"unit": name, "state": state}))
            .collect();
        data["listening"] = listening.into();
        data["file_systems"] = file_systems(&text_or_empty(disks)).into();
        data["configuration_paths"] = paths.into();
        Ok(())
    }

    async fn listening(&self, id: &ResourceId) -> Vec<Value> {
        match self.inner.infra.probe(id, &Probe::Listening).await {
            Ok(output) if output.is_success() => sockets(&text(&output)),
            // Small systems have no `ss`; the kernel has the table.
            _ => tcp_table(&text_or_empty(
                self.inner.infra.probe(id, &Probe::TcpTables).await,
            )),
        }
    }

    async fn configuration_paths(&self, id: &ResourceId) -> Vec<String> {
        let mut paths = Vec::new();
        for folder in ["/etc"].into_iter().chain(ELSEWHERE) {
            let Some(path) = FilePath::new(folder) else {
                continue;
            };
            let listed = text_or_empty(self.inner.infra.probe(id, &Probe::Folder(path)).await);
            paths.extend(listed.lines().filter_map(|line| folder_in(line, folder)));
        }
        paths.sort_unstable();
        paths
    }
}

fn text(output: &Output) -> String {
    output.stdout.text()
}

fn text_or_empty(output: Result<Output, Error>) -> String {
    output.map(|output| text(&output)).unwrap_or_default()
}

const fn can_be_entered(kind: ResourceKind) -> bool {
    matches!(
        kind,
        ResourceKind::Node
            | ResourceKind::Host
            | ResourceKind::Vm
            | ResourceKind::Lxc
            | ResourceKind::DockerHost
            | ResourceKind::MailGateway
    )
}

/// The containers of the Docker hosts that are this resource, or run on it.
fn containers_on<'a>(graph: &'a Graph, id: &ResourceId) -> Vec<&'a Resource> {
    let hosts = graph
        .resources()
        .iter()
        .filter(|resource| resource.id.kind() == ResourceKind::DockerHost)
        .filter(|resource| resource.id == *id || resource.parent.as_ref() == Some(id));
    hosts
        .flat_map(|host| graph.children(&host.id))
        .filter(|child| child.id.kind() == ResourceKind::DockerContainer)
        .collect()
}

fn os_name(text: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| *key == "PRETTY_NAME")
        .map(|(_, value)| value.trim_matches('"').to_owned())
}

/// A folder that says what a system is for, from a line of a listing.
fn folder_in(line: &str, folder: &str) -> Option<String> {
    let path = line.strip_prefix("directory|")?.splitn(6, '|').last()?;
    let name = path.rsplit('/').next()?;
    let ordinary = folder == "/etc" && (ORDINARY.contains(&name) || name.starts_with("rc"));
    (!ordinary).then(|| path.to_owned())
}

/// The lines of `ss -H -lntup`.
fn sockets(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (protocol, local) = (words.first()?, words.get(4)?);
            let (address, port) = local.rsplit_once(':')?;
            let port: u16 = port.parse().ok()?;
            let process = words.get(6).and_then(|users| users.split('"').nth(1));
            Some(json!({"protocol": protocol, "address": address, "port": port, "process": process}))
        })
        .collect()
}

/// The listening rows of `/proc/net/tcp` and `tcp6`.
fn tcp_table(text: &str) -> Vec<Value> {
    const LISTEN: &str = "0A";
    let mut ports: Vec<u16> = text
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let listens = words.get(3) == Some(&LISTEN);
            let port = words.get(1)?.rsplit_once(':')?.1;
            listens.then(|| u16::from_str_radix(port, 16).ok()).flatten()
        })
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
        .into_iter()
        .map(|port| json!({"protocol": "tcp", "port": port}))
        .collect()
}

/// The rows of `df -P -k`.
fn file_systems(text: &str) -> Vec<Value> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words.get(at)?.parse::<u64>().ok()?.checked_mul(1024);
            Some(json!({
                "file_system": words.first()?,
                "total_bytes": number(1)?,
                "used_bytes": number(2)?,
                "available_bytes": number(3)?,
                "mounted_on": words.get(5)?,
            }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_is_read_line_by_line() {
        let ss = "tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* users:((\"nginx\",pid=7,fd=6))\n\
                  udp UNCONN 0 0 [::]:5353 [::]:*\nbad\n";
        assert_eq!(
            sockets(ss),
            [
                json!({"protocol": "tcp", "address": "0.0.0.0", "port": 80, "process": "nginx"}),
                json!({"protocol": "udp", "address": "[::]", "port": 5353, "process": null}),
            ]
        );
        let table = "  sl  local_address rem_address   st\n   0: 00000000:1F90 00000000:0000 0A 0:0\n   \
                     1: 0100007F:1F91 0100007F:C350 01 0:0\n";
        assert_eq!(tcp_table(table), [json!({"protocol": "tcp", "port": 8080})]);
        let df =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 60 40 60% /\nbad\n";
        assert_eq!(file_systems(df)[0]["used_bytes"], 60 * 1024);
        assert_eq!(
            os_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n").as_deref(),
            Some("Debian 12")
        );
        let line = "directory|4096|755|root|root|1763190000|/etc/nginx";
        assert_eq!(folder_in(line, "/etc").as_deref(), Some("/etc/nginx"));
        assert_eq!(folder_in(&line.replace("nginx", "apt"), "/etc"), None);
    }
}
