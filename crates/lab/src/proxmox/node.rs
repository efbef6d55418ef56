//! `/nodes` and what is known about one.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Refusal;
use super::routes::Ask;
use crate::cluster::{Health, Place, now};
use crate::machine::Exec;

/// The version of Proxmox VE that this speaks.
pub(super) fn version() -> Value {
    json!({ "version": "8.4.1", "release": "8.4", "repoid": "2a5fa54a8503f96d" })
}

pub(super) async fn list(ask: Ask<'_>) -> Value {
    let nodes = ask.cluster.nodes().await;
    nodes
        .iter()
        .map(|node| match node.health {
            Health::Offline => json!({
                "id": format!("node/{}", node.name), "type": "node", "node": node.name, "status": "offline",
                "ssl_fingerprint": "",
            }),
            Health::Online | Health::DiskFailing => json!({
                "id": format!("node/{}", node.name), "type": "node", "node": node.name, "status": "online",
                "cpu": node.cpu, "maxcpu": node.cpus, "mem": node.memory_used, "maxmem": node.memory_bytes,
                "disk": node.disk_used, "maxdisk": node.disk_bytes, "uptime": now() - node.booted_at,
                "level": "", "ssl_fingerprint": "",
            }),
        })
        .collect()
}

pub(super) async fn status(ask: Ask<'_>, name: &str) -> Result<Value, Refusal> {
    let nodes = ask.cluster.nodes().await;
    let node = nodes
        .iter()
        .find(|node| node.name == name)
        .ok_or(Refusal::NoRoute)?;
    let part =
        |total: u64, used: u64| json!({ "total": total, "used": used, "free": total.saturating_sub(used) });
    let mut disk = part(node.disk_bytes, node.disk_used);
    if let Some(fields) = disk.as_object_mut() {
        fields.insert(
            "avail".to_owned(),
            json!(node.disk_bytes.saturating_sub(node.disk_used)),
        );
    }
    let load = |factor: f64| format!("{:.2}", node.load * factor);
    Ok(json!({
        "uptime": now() - node.booted_at,
        "cpu": node.cpu,
        "wait": node.wait,
        "idle": 0,
        // Strings, as the real one has them.
        "loadavg": [load(1.0), load(0.93), load(0.88)],
        "memory": part(node.memory_bytes, node.memory_used),
        "swap": part(8 << 30, 0),
        "rootfs": disk,
        "ksm": { "shared": 0 },
        "cpuinfo": {
            "cpus": node.cpus, "cores": node.cpus.div_ceil(2), "sockets": 1, "hvm": "1", "mhz": "2400.000",
            "model": "Intel(R) Core(TM) i5-12500T", "user_hz": 100, "flags": "fpu vme de pse tsc msr vmx",
        },
        "kversion": "Linux 6.8.12-9-pve #1 SMP PREEMPT_DYNAMIC PMX 6.8.12-9",
        "current-kernel": {
            "sysname": "Linux", "release": "6.8.12-9-pve", "machine": "x86_64",
            "version": "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-9",
        },
        "boot-info": { "mode": "efi", "secureboot": 0 },
        "pveversion": "pve-manager/8.4.1/2a5fa54a8503f96d",
    }))
}

pub(super) fn time() -> Value {
    json!({ "time": now(), "localtime": now(), "timezone": "UTC" })
}

pub(super) async fn network(ask: Ask<'_>, name: &str) -> Value {
    let nodes = ask.cluster.nodes().await;
    let address = nodes
        .iter()
        .find(|node| node.name == name)
        .and_then(|node| node.address)
        .map(|address| address.to_string());
    let mut bridge = json!({
        "iface": "vmbr0", "type": "bridge", "active": 1, "autostart": 1, "bridge_ports": "enp1s0",
        "bridge_stp": "off", "bridge_fd": "0", "families": ["inet"], "method": "static", "method6": "manual",
        "priority": 4,
    });
    if let (Some(fields), Some(address)) = (bridge.as_object_mut(), address) {
        fields.insert("cidr".to_owned(), json!(format!("{address}/24")));
        fields.insert("address".to_owned(), json!(address));
        fields.insert("netmask".to_owned(), json!("24"));
    }
    let port = json!({
        "iface": "enp1s0", "type": "eth", "active": 1, "exists": 1, "families": ["inet"], "method": "manual",
        "method6": "manual", "priority": 3,
    });
    json!([bridge, port])
}

/// What makes this API: it answers, so they run.
const OWN: [(&str, &str); 5] = [
    ("corosync", "Corosync Cluster Engine"),
    ("pve-cluster", "The Proxmox VE cluster filesystem"),
    ("pvedaemon", "PVE API Daemon"),
    ("pveproxy", "PVE API Proxy Server"),
    ("pvestatd", "PVE Status Daemon"),
];

/// The services of Proxmox itself, and the units of the node's machine as its `systemctl` shows them.
pub(super) async fn services(ask: Ask<'_>, node: &str) -> Value {
    let entry = |name: &str, text: &str, active: &str, sub: &str| {
        json!({
            "service": name, "name": name, "desc": text, "state": sub, "active-state": active,
            "unit-state": "enabled",
        })
    };
    let listed = units(ask, node).await;
    let units = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?.strip_suffix(".service")?;
        let (_load, active, sub) = (words.next()?, words.next()?, words.next()?);
        let text: Vec<&str> = words.collect();
        Some(entry(name, &text.join(" "), active, sub))
    });
    let own = OWN
        .iter()
        .map(|(name, text)| entry(name, text, "active", "running"));
    own.chain(units).collect()
}

/// Nothing where the machine has no `systemctl`: then it has no units either.
async fn units(ask: Ask<'_>, node: &str) -> String {
    let argv = [
        "systemctl",
        "list-units",
        "--type=service",
        "--all",
        "--no-legend",
        "--no-pager",
    ];
    let exec = Exec {
        argv: argv.map(str::to_owned).to_vec(),
        timeout: Some(Duration::from_secs(10)),
        ..Exec::default()
    };
    match ask.cluster.machine(&Place::Node(node.to_owned())) {
        Some(machine) => {
            let stdout = machine.exec(exec).await.map(|finished| finished.stdout);
            String::from_utf8_lossy(&stdout.unwrap_or_default()).into_owned()
        }
        None => String::new(),
    }
}
