//! Which questions to Prometheus tell how a resource does: the names of `prometheus-pve-exporter`, `node_exporter` and
//! `cAdvisor`.

use interlock_infra::Resource;
use interlock_protocol::ResourceKind;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Performance,
    Temperatures,
    Network,
    Disk,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// What it measures, in a word.
    pub(super) metric: &'static str,
    pub(super) unit: &'static str,
    pub(super) text: String,
}

/// How the series of a resource are selected. Each is a list of matchers, or nothing for all of them.
struct Selectors {
    pve: Option<String>,
    node: Option<String>,
    container: Option<String>,
}

/// The questions about a resource, or about everything. Nothing where a resource is of a kind that nobody measures.
pub(super) fn questions(topic: Topic, resource: Option<&Resource>, window_seconds: u64) -> Vec<Question> {
    let by = selectors(resource);
    let rate = |metric: &str, matchers: &str| format!("rate({metric}{{{matchers}}}[{window_seconds}s])");
    let mut all = Vec::new();
    let mut ask = |metric: &'static str, unit: &'static str, text: String| {
        all.push(Question { metric, unit, text });
    };
    match topic {
        Topic::Performance => {
            if let Some(pve) = &by.pve {
                ask("processor", "ratio", format!("pve_cpu_usage_ratio{{{pve}}}"));
                ask(
                    "memory",
                    "ratio",
                    ratio("pve_memory_usage_bytes", "pve_memory_size_bytes", pve),
                );
                ask(
                    "disk",
                    "ratio",
                    ratio("pve_disk_usage_bytes", "pve_disk_size_bytes", pve),
                );
                ask("up", "bool", format!("pve_up{{{pve}}}"));
            }
            if let Some(node) = &by.node {
                ask("load", "processes", format!("node_load1{{{node}}}"));
            }
            if let Some(container) = &by.container {
                ask(
                    "processor",
                    "processors",
                    rate("container_cpu_usage_seconds_total", container),
                );
                ask(
                    "memory",
                    "bytes",
                    format!("container_memory_usage_bytes{{{container}}}"),
                );
            }
        }
        Topic::Temperatures => {
            if let Some(node) = &by.node {
                ask(
                    "temperature",
                    "celsius",
                    format!("node_hwmon_temp_celsius{{{node}}}"),
                );
            }
        }
        Topic::Network => {
            if let Some(pve) = &by.pve {
                ask(
                    "received",
                    "bytes/s",
                    rate("pve_network_receive_bytes_total", pve),
                );
                ask("sent", "bytes/s", rate("pve_network_transmit_bytes_total", pve));
            }
            if let Some(container) = &by.container {
                ask(
                    "received",
                    "bytes/s",
                    rate("container_network_receive_bytes_total", container),
                );
                ask(
                    "sent",
                    "bytes/s",
                    rate("container_network_transmit_bytes_total", container),
                );
            }
        }
        Topic::Disk => {
            if let Some(pve) = &by.pve {
                ask(
                    "disk",
                    "ratio",
                    ratio("pve_disk_usage_bytes", "pve_disk_size_bytes", pve),
                );
                ask("disk_used", "bytes", format!("pve_disk_usage_bytes{{{pve}}}"));
            }
            if let Some(node) = &by.node {
                let used = ratio("node_filesystem_avail_bytes", "node_filesystem_size_bytes", node);
                ask("file_system", "ratio", format!("1 - {used}"));
            }
        }
    }
    all
}

fn ratio(part: &str, whole: &str, matchers: &str) -> String {
    format!("{part}{{{matchers}}} / {whole}{{{matchers}}}")
}

fn selectors(resource: Option<&Resource>) -> Selectors {
    let none = Selectors {
        pve: None,
        node: None,
        container: None,
    };
    let Some(resource) = resource else {
        return Selectors {
            pve: Some(String::new()),
            node: Some(String::new()),
            container: Some("name!=\"\"".to_owned()),
        };
    };
    let id = &resource.id;
    match id.kind() {
        ResourceKind::Lxc => Selectors {
            pve: Some(equal("id", &format!("lxc/{}", id.uid()))),
            node: Some(instance(&resource.name)),
            ..none
        },
        ResourceKind::Vm => Selectors {
            pve: Some(equal("id", &format!("qemu/{}", id.uid()))),
            node: Some(instance(&resource.name)),
            ..none
        },
        ResourceKind::Node => Selectors {
            pve: Some(equal("id", &format!("node/{}", id.uid()))),
            node: Some(instance(id.uid())),
            ..none
        },
        ResourceKind::Storage => Selectors {
            pve: id
                .host()
                .map(|host| equal("id", &format!("storage/{host}/{}", id.uid()))),
            ..none
        },
        ResourceKind::Host
        | ResourceKind::DockerHost
        | ResourceKind::KubernetesNode
        | ResourceKind::MailGateway => Selectors {
            node: Some(instance(id.uid())),
            ..none
        },
        ResourceKind::DockerContainer => Selectors {
            container: Some(equal("name", id.uid())),
            ..none
        },
        _ => none,
    }
}

/// A matcher for one value.
fn equal(label: &str, value: &str) -> String {
    format!("{label}=\"{}\"", quoted(value))
}

/// A matcher for an exporter on a machine of this name, at whatever port, with or without the rest of its domain.
fn instance(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        if !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    format!("instance=~\"{}(\\\\..+)?(:[0-9]+)?\"", quoted(&pattern))
}

/// A text between quotes of `PromQL`: nothing in it ends the quotes.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(id: &str, name: &str) -> Resource {
        Resource {
            id: id.parse().unwrap(),
            name: name.to_owned(),
            aliases: Vec::new(),
            parent: None,
            state: None,
            identity: interlock_protocol::Identity::default(),
            source: "x".to_owned(),
            facts: serde_json::Map::new(),
        }
    }

    fn texts(topic: Topic, id: &str, name: &str) -> Vec<String> {
        let resource = resource(id, name);
        questions(topic, Some(&resource), 300)
            .into_iter()
            .map(|question| question.text)
            .collect()
    }

    #[test]
    fn each_kind_is_asked_about_by_its_own_names() {
        assert_eq!(
            texts(Topic::Network, "lxc:delly:141", "web"),
            [
                r#"rate(pve_network_receive_bytes_total{id="lxc/141"}[300s])"#,
                r#"rate(pve_network_transmit_bytes_total{id="lxc/141"}[300s])"#,
            ]
        );
        assert_eq!(
            texts(Topic::Disk, "vm:minipc:203", "db.lan"),
            [
                r#"pve_disk_usage_bytes{id="qemu/203"} / pve_disk_size_bytes{id="qemu/203"}"#,
                r#"pve_disk_usage_bytes{id="qemu/203"}"#,
                r#"1 - node_filesystem_avail_bytes{instance=~"db\\.lan(\\..+)?(:[0-9]+)?"} / node_filesystem_size_bytes{instance=~"db\\.lan(\\..+)?(:[0-9]+)?"}"#,
            ]
        );
        assert_eq!(
            texts(Topic::Temperatures, "node:delly", "delly"),
            [r#"node_hwmon_temp_celsius{instance=~"delly(\\..+)?(:[0-9]+)?"}"#]
        );
        assert_eq!(
            texts(Topic::Performance, "docker_container:server1:web", "web"),
            [
                r#"rate(container_cpu_usage_seconds_total{name="web"}[300s])"#,
                r#"container_memory_usage_bytes{name="web"}"#,
            ]
        );
        assert_eq!(
            texts(Topic::Performance, "note:knowledge", "x"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn no_name_ends_the_quotes() {
        let hostile = "a\"} or vector(1) #\\";
        assert_eq!(equal("name", hostile), r#"name="a\"} or vector(1) #\\""#);
        assert!(instance(hostile).starts_with(r#"instance=~"a\\\"\\}\\ or\\ vector\\(1\\)\\ \\#\\\\"#));
    }
}
