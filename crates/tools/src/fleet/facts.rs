//! What is connected, as facts for questions in logic.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use interlock_infra::alertmanager::Alert;
use interlock_infra::{Graph, Resource};
use interlock_logic::{AlertFact, DependencyFact, Facts, GuestFact, Health, Id, NodeFact};
use interlock_protocol::{AlertState, ResourceId, ResourceKind};
use jiff::Timestamp;
use serde_json::{Number, Value};

use super::Fleet;

/// Labels of an alert that say what it is about, the most exact one first.
const ABOUT: &[&str] = &[
    "resource_id",
    "vmid",
    "guest",
    "node",
    "host",
    "hostname",
    "instance",
    "name",
];

impl Fleet {
    /// The state of everything that is connected, not older than this, and what could not be asked.
    pub async fn facts(&self, not_older: Duration) -> (Facts, Vec<String>) {
        let graph = self.inner.infra.graph(not_older).await;
        let (alerts, mut problems) = self.alerts_now().await;
        for health in graph.health() {
            if let Some(problem) = &health.problem {
                problems.push(format!("{}: {problem}", health.connection));
            }
        }
        (facts_of(&graph, &alerts), problems)
    }
}

/// The facts of a graph and of the alerts that are active.
fn facts_of(graph: &Graph, alerts: &[Alert]) -> Facts {
    let taken_at = graph.taken_at().unwrap_or_else(Timestamp::now);
    let ids = ids(graph);
    let alerts = active(graph, alerts, &ids, taken_at);
    let troubled: BTreeSet<&Id> = alerts.iter().map(|alert| &alert.resource).collect();
    let mut facts = Facts {
        taken_at: Some(taken_at),
        ..Facts::default()
    };
    for resource in graph.resources() {
        let Some(id) = ids.get(&resource.id) else { continue };
        let parent = resource.parent.as_ref();
        match (resource.id.kind(), id) {
            (ResourceKind::Node | ResourceKind::Host, Id::Name(name)) => facts.nodes.push(NodeFact {
                name: name.clone(),
                health: health(resource, troubled.contains(id)),
                metrics: metrics(resource),
            }),
            (ResourceKind::Vm | ResourceKind::Lxc, _) => {
                let Some(Id::Name(node)) = parent.and_then(|parent| ids.get(parent)) else {
                    continue;
                };
                facts.guests.push(GuestFact {
                    id: id.clone(),
                    name: Some(resource.name.clone()).filter(|name| !name.is_empty()),
                    node: node.clone(),
                });
            }
            _ => {
                if let Some(needs) = parent.and_then(|parent| ids.get(parent)) {
                    facts.dependencies.push(DependencyFact {
                        resource: id.clone(),
                        needs: needs.clone(),
                    });
                }
            }
        }
    }
    facts.alerts = alerts;
    facts
}

/// What each resource is called: nodes by their name, guests by their number, everything else by its id. Where two would have
/// the same name, each one keeps its id.
fn ids(graph: &Graph) -> BTreeMap<ResourceId, Id> {
    let short = |resource: &Resource| match resource.id.kind() {
        ResourceKind::Node | ResourceKind::Host => Some(Id::Name(resource.id.uid().to_owned())),
        ResourceKind::Vm | ResourceKind::Lxc => resource.id.uid().parse().ok().map(Id::Number),
        ResourceKind::Alert | ResourceKind::Note => None,
        _ => Some(Id::Name(resource.id.to_string())),
    };
    let mut count: BTreeMap<Id, usize> = BTreeMap::new();
    for id in graph.resources().iter().filter_map(short) {
        *count.entry(id).or_default() += 1;
    }
    graph
        .resources()
        .iter()
        .filter_map(|resource| {
            let id = short(resource)?;
            let unique = count.get(&id).is_some_and(|count| *count == 1);
            let id = if unique {
                id
            } else {
                Id::Name(resource.id.to_string())
            };
            Some((resource.id.clone(), id))
        })
        .collect()
}

/// A node that is online is nominal, or degraded while an alert about it is active.
fn health(resource: &Resource, troubled: bool) -> Health {
    match resource.state.as_deref() {
        Some("online" | "running" | "up" | "reachable") if troubled => Health::Degraded,
        Some("online" | "running" | "up" | "reachable") => Health::Nominal,
        Some("offline" | "down" | "unreachable" | "stopped") => Health::Critical,
        _ => Health::Unknown,
    }
}

fn metrics(resource: &Resource) -> BTreeMap<String, Number> {
    resource
        .facts
        .iter()
        .filter_map(|(name, value)| match value {
            Value::Number(number) => Some((name.clone(), number.clone())),
            _ => None,
        })
        .collect()
}

/// Alerts that are active now and about a resource that is known. An active alert was last seen when the graph was taken.
fn active(
    graph: &Graph,
    alerts: &[Alert],
    ids: &BTreeMap<ResourceId, Id>,
    taken_at: Timestamp,
) -> Vec<AlertFact> {
    alerts
        .iter()
        .filter(|alert| alert.state() == AlertState::Active)
        .filter_map(|alert| {
            let resource = ABOUT.iter().find_map(|label| {
                let value = alert.labels.get(*label)?;
                let name = value.rsplit_once(':').filter(|_| *label == "instance");
                let name = name.map_or(value.as_str(), |(host, _)| host);
                match graph.named(name).as_slice() {
                    [one] => ids.get(&one.id),
                    // A name that is not unique says nothing.
                    _ => None,
                }
            })?;
            Some(AlertFact {
                resource: resource.clone(),
                condition: alert.name().to_owned(),
                at: taken_at,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use interlock_infra::alertmanager::Standing;
    use interlock_logic::{Knowledge, Limits, Rules};
    use interlock_protocol::Identity;
    use serde_json::json;

    use super::*;

    fn resource(id: &str, name: &str, parent: Option<&str>, state: &str, facts: &Value) -> Resource {
        Resource {
            id: id.parse().unwrap(),
            name: name.to_owned(),
            aliases: Vec::new(),
            parent: parent.map(|parent| parent.parse().unwrap()),
            state: Some(state.to_owned()),
            identity: Identity::default(),
            source: "lab".to_owned(),
            facts: facts.as_object().cloned().unwrap_or_default(),
        }
    }

    fn alert(name: &str, instance: &str, silenced: bool) -> Alert {
        Alert {
            fingerprint: String::new(),
            labels: BTreeMap::from([
                ("alertname".to_owned(), name.to_owned()),
                ("instance".to_owned(), instance.to_owned()),
            ]),
            annotations: BTreeMap::new(),
            starts_at: "2026-03-01T02:00:00Z".parse().unwrap(),
            ends_at: None,
            status: Standing {
                state: "active".to_owned(),
                silenced_by: silenced.then(|| "someone".to_owned()).into_iter().collect(),
                inhibited_by: Vec::new(),
            },
            generator: String::new(),
        }
    }

    /// Everything that a connection can name becomes facts that questions can be asked of, whatever the names are.
    #[test]
    fn what_is_connected_can_be_asked_about() {
        let now: Timestamp = "2026-03-01T03:00:00Z".parse().unwrap();
        let graph = Graph::new(
            vec![
                resource(
                    "node:pve1",
                    "pve1",
                    None,
                    "online",
                    &json!({"cpu_percent": 97.5, "cpus": 8, "ip": ["10.0.0.1"]}),
                ),
                resource("node:pve2", "pve2", None, "offline", &json!({})),
                resource("host:pve2", "pve2", None, "reachable", &json!({})),
                resource("node:pve3", "pve3", None, "online", &json!({})),
                resource(
                    "vm:pve1:101",
                    "x), halt. y(",
                    Some("node:pve1"),
                    "running",
                    &json!({}),
                ),
                resource("lxc:pve3:102", "db", Some("node:pve3"), "running", &json!({})),
                // The same number in another cluster.
                resource("vm:pve3:101", "other", Some("node:pve3"), "running", &json!({})),
                resource(
                    "storage:pve1:local",
                    "local",
                    Some("node:pve1"),
                    "available",
                    &json!({}),
                ),
            ],
            Vec::new(),
            now,
        );
        let alerts = [
            alert("HighCpu", "pve1:9100", false),
            alert("Quiet", "pve3", true),
            alert("Lost", "nowhere", false),
        ];
        let facts = facts_of(&graph, &alerts);
        let knowledge = Knowledge::new(&facts, Arc::new(Rules::default()), 1, now).unwrap();
        for (goal, expected) in [
            ("node_health(pve1, H)", vec!["H = degraded"]),
            ("node_health('node:pve2', H)", vec!["H = critical"]),
            ("node_health('host:pve2', H)", vec!["H = nominal"]),
            ("node_health(pve3, H)", vec!["H = nominal"]),
            (
                "node_metric(pve1, M, V)",
                vec!["M = cpu_percent, V = 97.5", "M = cpus, V = 8"],
            ),
            ("current_vm_host(102, H)", vec!["H = pve3"]),
            ("current_vm_host(101, H)", vec![]),
            ("current_vm_host(G, pve1)", vec!["G = 'vm:pve1:101'"]),
            ("guest_name(G, 'x), halt. y(')", vec!["G = 'vm:pve1:101'"]),
            ("active_alerts(pve1, L)", vec!["L = ['HighCpu']"]),
            ("active_alerts(pve3, L)", vec!["L = []"]),
            (
                "blast_radius(pve1, L)",
                vec!["L = ['storage:pve1:local', 'vm:pve1:101']"],
            ),
        ] {
            let goal = knowledge.check(goal).unwrap();
            assert_eq!(
                knowledge.ask(&goal, now, Limits::default()).lines,
                expected,
                "{}",
                goal.text()
            );
        }
    }
}
