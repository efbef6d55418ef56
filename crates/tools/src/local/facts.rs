//! What this machine says about itself.

use std::fs;

use interlock_protocol::{Identity, IdentityFact, RunIdentity};
use jiff::Timestamp;
use rustix::fs::statvfs;
use serde_json::{Map, Value, json};

pub(super) fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

/// Which machine this is: by the id that it was given when it was installed.
pub(super) fn identity() -> Identity {
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .unwrap_or_default();
    Identity::default()
        .with(IdentityFact::Endpoint, "this machine")
        .with(IdentityFact::MachineId, id.trim())
}

/// The other names of this machine: those that every machine has for itself, and those that stand next to its name.
pub(super) fn aliases(name: &str) -> Vec<String> {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let mut aliases = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    for alias in names_in(&hosts, name) {
        if alias != name && !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    aliases
}

/// The names on the lines of a hosts file that have this name: of a machine's own addresses only.
fn names_in(hosts: &str, name: &str) -> Vec<String> {
    hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = words.next()?;
            let names: Vec<&str> = words.collect();
            (address.starts_with("127.") && names.contains(&name)).then_some(names)
        })
        .flatten()
        .map(str::to_owned)
        .collect()
}

/// Since when it runs.
pub(super) fn booted_at() -> Option<Timestamp> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    Timestamp::from_second(seconds.trim().parse().ok()?).ok()
}

/// Which run this is, by the kernel's own count.
pub(super) fn run() -> RunIdentity {
    let boot = one_line("/proc/sys/kernel/random/boot_id");
    let first = fs::read_to_string("/proc/1/stat")
        .ok()
        .and_then(|stat| first_process(&stat));
    run_of(boot.as_deref(), first, one_line("/proc/uptime").as_deref())
}

/// When the first process began, in ticks since the boot: in a container it is another one for each start.
pub(crate) fn first_process(stat: &str) -> Option<u64> {
    // The name is in brackets and may hold anything; the 22nd field is the 20th after it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

pub(crate) fn run_of(boot: Option<&str>, first: Option<u64>, uptime: Option<&str>) -> RunIdentity {
    RunIdentity {
        id: boot
            .filter(|boot| !boot.is_empty())
            .map(|boot| format!("boot {boot} {}", first.unwrap_or(0))),
        seconds: uptime
            .and_then(|text| text.split('.').next())
            .and_then(|text| text.trim().parse().ok()),
    }
}

/// How it is doing now.
pub(super) fn health() -> Value {
    let memory = memory();
    json!({
        "state": "running",
        "booted_at": booted_at(),
        "load": load(),
        "processors": std::thread::available_parallelism().ok().map(std::num::NonZero::get),
        "memory_bytes": {
            "total": memory("MemTotal"),
            "available": memory("MemAvailable"),
            "swap_total": memory("SwapTotal"),
            "swap_free": memory("SwapFree"),
        },
        "root_file_system_bytes": root_file_system(),
    })
}

/// What it is.
pub(super) fn config() -> Value {
    let memory = memory();
    json!({
        "kernel": one_line("/proc/sys/kernel/osrelease"),
        "system": os_release("PRETTY_NAME"),
        "architecture": std::env::consts::ARCH,
        "processors": std::thread::available_parallelism().ok().map(std::num::NonZero::get),
        "memory_bytes": memory("MemTotal"),
        "booted_at": booted_at(),
        "service_manager": if std::path::Path::new("/run/systemd/system").is_dir() { "systemd" } else { "other" },
    })
}

/// What it is and how it is doing.
pub(super) fn everything() -> Value {
    merged(config(), health())
}

fn load() -> Option<Value> {
    let text = one_line("/proc/loadavg")?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || words.next()?.ok();
    Some(json!({"1m": next()?, "5m": next()?, "15m": next()?}))
}

/// Looks up a line of `/proc/meminfo`, in bytes.
fn memory() -> impl Fn(&str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    move |name| {
        let value = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| *key == name)?
            .1;
        let kib: u64 = value.split_whitespace().next()?.parse().ok()?;
        kib.checked_mul(1024)
    }
}

fn root_file_system() -> Option<Value> {
    let stat = statvfs("/").ok()?;
    Some(json!({
        "total": stat.f_blocks.checked_mul(stat.f_frsize)?,
        "available": stat.f_bavail.checked_mul(stat.f_frsize)?,
    }))
}

fn one_line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn os_release(name: &str) -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"').to_owned())
}

/// Two objects in one; the second wins.
pub(super) fn merged(first: Value, second: Value) -> Value {
    let mut all = Map::new();
    for value in [first, second] {
        if let Value::Object(members) = value {
            all.extend(members);
        }
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::names_in;

    #[test]
    fn names_stand_next_to_each_other() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1 web.example.org web # own\n10.0.0.9 web other\n";
        assert_eq!(names_in(hosts, "web"), ["web.example.org", "web"]);
        assert_eq!(names_in(hosts, "none"), Vec::<String>::new());
    }
}
