//! What a cluster is made of at first.

/// A cluster to build.
#[derive(Debug, Clone)]
pub struct ClusterSpec {
    /// What it is called.
    pub name: String,
    /// Its nodes; the first is the server.
    pub nodes: Vec<NodeSpec>,
    /// What runs in it.
    pub workloads: Vec<WorkloadSpec>,
    /// Images that can be pulled besides those of the workloads.
    pub images: Vec<String>,
    /// Images that can be pulled and whose program crashes.
    pub crashing: Vec<String>,
}

/// A node.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// What it is called.
    pub name: String,
    /// Its address.
    pub address: String,
    /// How many processors it has.
    pub cpus: u32,
    /// How much memory it has, in MiB.
    pub memory_mib: u64,
}

/// What keeps pods running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadKind {
    /// A deployment, with so many replicas.
    Deployment(u32),
    /// A stateful set, with so many replicas.
    StatefulSet(u32),
    /// One pod on each node.
    DaemonSet,
    /// One pod that ends.
    Job,
}

/// Something that keeps pods running.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    /// The namespace that it is in.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: WorkloadKind,
    /// The image of its container.
    pub image: String,
    /// The port that it listens on; with one, it has a service.
    pub port: Option<u16>,
    /// What it prints when it starts and as it goes on.
    pub lines: Vec<String>,
}

impl ClusterSpec {
    /// A small cluster as people have at home: three nodes, media, monitoring.
    pub fn k3s() -> Self {
        let node = |name: &str, address: &str, cpus, memory_mib| NodeSpec {
            name: name.to_owned(),
            address: address.to_owned(),
            cpus,
            memory_mib,
        };
        let load = |namespace: &str, name: &str, kind, image: &str, port, lines: &[&str]| WorkloadSpec {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            kind,
            image: image.to_owned(),
            port,
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        };
        let request: &[&str] = &[
            "level=info msg=\"listening\"",
            "level=info msg=\"request\" path=/ status=200",
            "level=info msg=\"request\" path=/healthz status=200",
        ];
        Self {
            name: "k3s".to_owned(),
            nodes: vec![
                node("k3s-1", "10.0.20.11", 4, 8192),
                node("k3s-2", "10.0.20.12", 4, 8192),
                node("k3s-3", "10.0.20.13", 2, 4096),
            ],
            workloads: vec![
                load(
                    "kube-system",
                    "coredns",
                    WorkloadKind::Deployment(2),
                    "rancher/mirrored-coredns-coredns:1.11.3",
                    Some(53),
                    &[
                        "CoreDNS-1.11.3",
                        "[INFO] plugin/reload: Running configuration",
                        "[INFO] 127.0.0.1 A IN media.local. NOERROR",
                    ],
                ),
                load(
                    "kube-system",
                    "metrics-server",
                    WorkloadKind::Deployment(1),
                    "rancher/mirrored-metrics-server:v0.7.2",
                    Some(443),
                    &["Serving securely on :10250", "scraped node metrics"],
                ),
                load(
                    "kube-system",
                    "svclb-traefik",
                    WorkloadKind::DaemonSet,
                    "rancher/klipper-lb:v0.4.9",
                    None,
                    &["+ trap exit TERM INT", "forwarding 443 to traefik"],
                ),
                load(
                    "default",
                    "web",
                    WorkloadKind::Deployment(3),
                    "ghcr.io/example/web:1.4.2",
                    Some(8080),
                    request,
                ),
                load(
                    "default",
                    "backup-28600",
                    WorkloadKind::Job,
                    "ghcr.io/example/backup:0.9.0",
                    None,
                    &["starting backup", "copied 1482 files", "done"],
                ),
                load(
                    "media",
                    "jellyfin",
                    WorkloadKind::Deployment(1),
                    "jellyfin/jellyfin:10.10.3",
                    Some(8096),
                    &["Startup complete", "Library scan finished", "WS client connected"],
                ),
                load(
                    "media",
                    "photos",
                    WorkloadKind::Deployment(2),
                    "ghcr.io/example/photos:2.1.0",
                    Some(2342),
                    request,
                ),
                load(
                    "monitoring",
                    "prometheus",
                    WorkloadKind::StatefulSet(1),
                    "prom/prometheus:v3.0.1",
                    Some(9090),
                    &[
                        "msg=\"Server is ready to receive web requests.\"",
                        "msg=\"write block\" component=tsdb",
                        "msg=\"Head GC completed\"",
                    ],
                ),
                load(
                    "monitoring",
                    "node-exporter",
                    WorkloadKind::DaemonSet,
                    "prom/node-exporter:v1.8.2",
                    Some(9100),
                    &[
                        "msg=\"Listening on\" address=[::]:9100",
                        "msg=\"collected\" collectors=38",
                    ],
                ),
            ],
            images: vec![
                "ghcr.io/example/web:1.4.1".to_owned(),
                "ghcr.io/example/web:1.5.0".to_owned(),
            ],
            crashing: vec!["ghcr.io/example/web:1.5.0-rc1".to_owned()],
        }
    }
}
