//! The services that run in guests: real processes of the lab's service program, each with its own configuration.

use super::nodes::file;
use crate::machine::File;

/// Where the dashboard's entries are, in its container. The node has an old file in the same place.
pub(crate) const HOMEPAGE_CONFIG: &str = "/opt/homepage/config/services.yaml";

/// What the dashboard shows, before somebody asks for more.
const HOMEPAGE_ENTRIES: &str = "\
# Homepage services
- Media:
    - Jellyfin: { href: 'http://jellyfin.lan:8096' }
- Home:
    - Home Assistant: { href: 'http://home-assistant.lan:8123' }
    - Pi-hole: { href: 'http://pihole.lan' }
- Monitoring:
    - Grafana: { href: 'http://grafana.lan:3000' }
";

/// A service of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    /// The guest.
    pub(crate) guest: &'static str,
    /// Its unit, without `.service`.
    pub(crate) unit: &'static str,
    /// What it is, for people.
    pub(crate) description: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// Where it listens.
    pub(crate) port: u16,
    /// What else its configuration says.
    extra: &'static str,
}

const SERVICES: &[Service] = &[
    service("pihole", "pihole-ftl", "Pi-hole FTL", "5.25.2", 80, ""),
    service(
        "nginx-proxy",
        "nginx",
        "A high performance web server and a reverse proxy server",
        "1.26.2",
        80,
        "",
    ),
    service(
        "influxdb",
        "influxdb",
        "InfluxDB time series database",
        "2.7.10",
        8086,
        "log = \"/var/log/influxdb/influxdb.log\"\nrotate_bytes = 7500000\n\
         debug_bytes_per_second = 8000000\ndata = \"/var/log/influxdb/wal.db\"\n",
    ),
    service("grafana", "grafana-server", "Grafana", "11.3.0", 3000, ""),
    service("postgres", "postgresql", "PostgreSQL RDBMS", "16.4", 5432, ""),
    service(
        "homepage-docker",
        "homepage",
        "Homepage dashboard",
        "0.9.12",
        3000,
        "entries = \"/opt/homepage/config/services.yaml\"\n",
    ),
    service(
        "jellyfin",
        "jellyfin",
        "Jellyfin Media Server",
        "10.9.11",
        8096,
        "max_sessions = 48\n",
    ),
    service("vaultwarden", "vaultwarden", "Vaultwarden", "1.32.0", 8000, ""),
    service(
        "mailgw",
        "pmgproxy",
        "Proxmox Mail Gateway API proxy",
        "8.1.4",
        8006,
        "",
    ),
    service(
        "backup",
        "proxmox-backup",
        "Proxmox Backup Server",
        "3.2.7",
        8007,
        "",
    ),
    service("truenas", "middlewared", "TrueNAS middleware", "24.10", 443, ""),
    service(
        "home-assistant",
        "home-assistant",
        "Home Assistant",
        "2026.10.3",
        8123,
        "",
    ),
    service(
        "server1",
        "containerd",
        "containerd container runtime",
        "1.7.22",
        9100,
        "",
    ),
    service("k3s-1", "k3s", "Lightweight Kubernetes", "1.34.1", 6443, ""),
];

const fn service(
    guest: &'static str,
    unit: &'static str,
    description: &'static str,
    version: &'static str,
    port: u16,
    extra: &'static str,
) -> Service {
    Service {
        guest,
        unit,
        description,
        version,
        port,
        extra,
    }
}

/// The service of a guest.
pub(crate) fn service_of(guest: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| service.guest == guest)
}

impl Service {
    /// Where its configuration is.
    pub(crate) fn config_path(&self) -> String {
        format!("/etc/{}/service.toml", self.unit)
    }

    /// Its configuration.
    pub(crate) fn config(&self) -> String {
        format!(
            "name = {:?}\nversion = {:?}\nlisten = {}\npage = {:?}\nlevel = \"info\"\n{}",
            self.unit, self.version, self.port, self.description, self.extra
        )
    }

    /// Its files: configuration, unit, and what it shows.
    pub(super) fn files(&self) -> Vec<File> {
        let unit = format!(
            "[Unit]\nDescription={}\nAfter=network.target\n\n[Service]\nType=simple\n\
             ExecStart=/usr/local/bin/lab-service {}\nRestart=no\n\n[Install]\nWantedBy=multi-user.target\n",
            self.description,
            self.config_path()
        );
        let at = format!("/etc/systemd/system/{}.service", self.unit);
        let wanted = format!(
            "/etc/systemd/system/multi-user.target.wants/{}.service",
            self.unit
        );
        let mut files = vec![
            file(&self.config_path(), self.config()),
            file(&at, unit.clone()),
            file(&wanted, unit),
        ];
        if self.guest == "homepage-docker" {
            files.push(file(HOMEPAGE_CONFIG, HOMEPAGE_ENTRIES));
        }
        files
    }
}
