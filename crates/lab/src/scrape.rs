//! Turns the state of the world into samples, with the names that the exporters of the field use.

use std::path::Path;

use futures_util::future::join_all;
use jiff::Timestamp;

use crate::cluster::{GuestStatus, GuestView, Health, NodeView};
use crate::docker::ContainerState;
use crate::homelab;
use crate::lab::{Lab, WANTED_ENTRY};
use crate::machine::{Machine, Usage};
use crate::prometheus::{Labels, Profile, Sample};
use crate::topology::GuestKind;

/// How much of a page is read when a service is probed.
const PAGE: usize = 64 * 1024;

/// Everything that is measured now.
pub(crate) async fn samples(lab: &Lab) -> Vec<Sample> {
    let mut scrape = Scrape {
        at: Timestamp::now(),
        samples: Vec::new(),
    };
    let (nodes, guests) = tokio::join!(lab.cluster().nodes(), lab.cluster().guests());
    for node in &nodes {
        scrape.node(node);
    }
    let looked = join_all(guests.iter().map(|guest| look(lab, guest))).await;
    for (guest, looked) in guests.iter().zip(looked) {
        scrape.guest(guest, &looked);
    }
    scrape.containers(lab);
    scrape.samples
}

/// How a series behaved before the lab began.
pub(crate) fn profile(name: &str, value: f64) -> Profile {
    if name.ends_with("_total") {
        return Profile::Counter {
            per_second: (value / 86_400.0).max(1.0),
            swing: 0.5,
        };
    }
    match name {
        "pve_cpu_usage_ratio" => gauge(value, 0.4, 1.0),
        "pve_memory_usage_bytes" | "container_memory_usage_bytes" => gauge(value, 0.08, value * 4.0),
        "node_hwmon_temp_celsius" => gauge(value, 0.12, 100.0),
        "node_load1" => gauge(value, 0.4, 64.0),
        _ => Profile::Flat,
    }
}

fn gauge(value: f64, part: f64, max: f64) -> Profile {
    Profile::Gauge {
        swing: value * part,
        noise: value * part / 4.0,
        min: 0.0,
        max,
    }
}

/// What a look into a guest gave.
#[derive(Default)]
struct Looked {
    usage: Vec<Usage>,
    /// Whether its service answers, where it has one.
    answers: Option<bool>,
    /// Whether the dashboard has the entry that somebody wants, where it is the dashboard.
    entry: Option<bool>,
}

async fn look(lab: &Lab, guest: &GuestView) -> Looked {
    let Some(machine) = lab.guest(&guest.name) else {
        // What is meant to be down is not a service that is down.
        return Looked::default();
    };
    let usage = machine.usage().await.unwrap_or_default();
    let Some(service) = homelab::service_of(&guest.name) else {
        return Looked {
            usage,
            ..Looked::default()
        };
    };
    let answers = page(&machine, service.port, "/health").await;
    let entry = if guest.name == "homepage-docker" && lab.wants_entry() {
        let page = page(&machine, service.port, "/").await;
        Some(page.is_some_and(|page| page.contains(WANTED_ENTRY)))
    } else {
        None
    };
    Looked {
        usage,
        answers: Some(answers.is_some_and(|answer| answer.contains(" 200 "))),
        entry,
    }
}

async fn page(machine: &Machine, port: u16, path: &str) -> Option<String> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        machine.name()
    );
    let answer = machine.talk(port, request.as_bytes(), PAGE).await.ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

struct Scrape {
    at: Timestamp,
    samples: Vec<Sample>,
}

impl Scrape {
    fn add(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.samples.push(Sample {
            labels: Labels::metric(name, labels.iter().copied()),
            at: self.at,
            value,
        });
    }

    fn node(&mut self, node: &NodeView) {
        let id = format!("node/{}", node.name);
        let resource = format!("node:{}", node.name);
        let up = node.health != Health::Offline;
        self.add("up", &[("job", "node"), ("instance", &node.name)], truth(up));
        self.add("pve_up", &[("id", &id)], truth(up));
        self.add(
            "pve_node_info",
            &[("id", &id), ("name", &node.name), ("type", "node")],
            1.0,
        );
        if !up {
            return;
        }
        let instance: &[(&str, &str)] = &[("id", &id)];
        self.add("pve_cpu_usage_ratio", instance, node.cpu);
        self.add("pve_cpu_usage_limit", instance, f64::from(node.cpus));
        self.add("pve_memory_usage_bytes", instance, float(node.memory_used));
        self.add("pve_memory_size_bytes", instance, float(node.memory_bytes));
        self.add("pve_disk_usage_bytes", instance, float(node.disk_used));
        self.add("pve_disk_size_bytes", instance, float(node.disk_bytes));
        self.add(
            "node_load1",
            &[("instance", &node.name), ("resource", &resource)],
            node.load,
        );
        // Warmer with more work; the one whose disk dies is hot.
        let hot = if node.health == Health::DiskFailing {
            24.0
        } else {
            0.0
        };
        self.add(
            "node_hwmon_temp_celsius",
            &[
                ("instance", &node.name),
                ("chip", "coretemp"),
                ("sensor", "temp1"),
                ("resource", &resource),
            ],
            38.0 + node.cpu * 30.0 + hot,
        );
        self.add(
            "smartmon_device_smart_healthy",
            &[
                ("instance", &node.name),
                ("device", "/dev/nvme0n1"),
                ("resource", &resource),
            ],
            truth(node.health == Health::Online),
        );
    }

    fn guest(&mut self, guest: &GuestView, looked: &Looked) {
        let kind = match guest.kind {
            GuestKind::Lxc => "lxc",
            GuestKind::Vm => "qemu",
        };
        let resource = resource_of(guest);
        let id = format!("{kind}/{}", guest.vmid);
        let only: &[(&str, &str)] = &[("id", &id)];
        let running = guest.status == GuestStatus::Running;
        self.add(
            "pve_guest_info",
            &[
                ("id", &id),
                ("node", &guest.node),
                ("name", &guest.name),
                ("type", kind),
            ],
            1.0,
        );
        self.add("pve_up", only, truth(running));
        if !running {
            return;
        }
        self.add("pve_cpu_usage_ratio", only, guest.cpu);
        self.add("pve_memory_usage_bytes", only, float(guest.memory_used));
        self.add("pve_memory_size_bytes", only, float(guest.memory_bytes));
        self.add("pve_disk_usage_bytes", only, float(guest.disk_used));
        self.add("pve_disk_size_bytes", only, float(guest.disk_bytes));
        self.add("pve_network_receive_bytes_total", only, float(guest.net_in));
        self.add("pve_network_transmit_bytes_total", only, float(guest.net_out));
        self.add("pve_uptime_seconds", only, seconds(guest.uptime));
        for usage in &looked.usage {
            let mount = mount_point(&usage.path);
            let labels: &[(&str, &str)] = &[
                ("instance", &guest.name),
                ("mountpoint", &mount),
                ("resource", &resource),
            ];
            self.add("node_filesystem_size_bytes", labels, float(usage.total));
            let free = usage.total.saturating_sub(usage.used);
            self.add("node_filesystem_avail_bytes", labels, float(free));
        }
        if let (Some(answers), Some(service)) = (looked.answers, homelab::service_of(&guest.name)) {
            self.add(
                "probe_success",
                &[
                    ("instance", &guest.name),
                    ("service", service.unit),
                    ("resource", &resource),
                ],
                truth(answers),
            );
        }
        if let Some(present) = looked.entry {
            self.add(
                "dashboard_entry_present",
                &[
                    ("instance", &guest.name),
                    ("entry", WANTED_ENTRY),
                    ("resource", &resource),
                ],
                truth(present),
            );
        }
    }

    fn containers(&mut self, lab: &Lab) {
        for engine in lab.engines() {
            for container in engine.containers() {
                let resource = format!("docker_container:{}:{}", engine.host(), container.name);
                let labels: &[(&str, &str)] = &[
                    ("instance", engine.host()),
                    ("name", &container.name),
                    ("image", &container.image),
                    ("resource", &resource),
                ];
                let running = container.state == ContainerState::Running;
                let restarting = container.state == ContainerState::Restarting;
                self.add("container_restarting", labels, truth(restarting));
                self.add(
                    "container_restarts_total",
                    &[
                        ("instance", engine.host()),
                        ("name", &container.name),
                        ("resource", &resource),
                    ],
                    f64::from(container.restart_count),
                );
                if let (true, Some(started)) = (running, container.started_at) {
                    self.add(
                        "container_start_time_seconds",
                        labels,
                        seconds(started.as_second()),
                    );
                    self.add("container_memory_usage_bytes", labels, 48.0 * 1024.0 * 1024.0);
                }
            }
        }
    }
}

/// The id that Interlock has for a guest.
fn resource_of(guest: &GuestView) -> String {
    let kind = match guest.kind {
        GuestKind::Lxc => "lxc",
        GuestKind::Vm => "vm",
    };
    format!("{kind}:{}:{}", guest.node, guest.vmid)
}

fn mount_point(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with('/') {
        text
    } else {
        format!("/{text}")
    }
}

const fn truth(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "sizes and times in metrics are floats")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "sizes and times in metrics are floats")]
const fn seconds(number: i64) -> f64 {
    number as f64
}
