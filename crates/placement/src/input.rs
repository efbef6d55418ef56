//! What a caller describes: hosts, guests and rules, in exact integer units, read strictly from JSON or YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::objective::Objective;

/// The most hosts or guests one input may have.
pub const MAX_ITEMS: usize = 20_000;
/// The largest amount of one resource that one host or guest may have, in its unit.
pub const MAX_AMOUNT: u64 = 1 << 40;
/// The largest overcommit factor, in percent.
pub const MAX_OVERCOMMIT_PERCENT: u32 = 10_000;
/// The largest weight of one guest or one kind of move.
pub const MAX_WEIGHT: u64 = 10_000;

/// The kinds of resource that a host offers and a guest uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Memory, in MiB.
    Ram,
    /// Processor time, in thousandths of a core.
    Cpu,
    /// Local disk, in GiB.
    Disk,
    /// Network bandwidth, in Mbit/s.
    Net,
}

impl Resource {
    /// Every kind, in the order that arrays of amounts use.
    pub const ALL: [Resource; 4] = [Resource::Ram, Resource::Cpu, Resource::Disk, Resource::Net];

    /// The name in a sentence.
    pub fn label(self) -> &'static str {
        match self {
            Resource::Ram => "RAM",
            Resource::Cpu => "CPU",
            Resource::Disk => "disk",
            Resource::Net => "network",
        }
    }

    /// An amount with its unit, rounded for a reader: `1.5 GiB`, `2.25 cores`.
    pub fn amount(self, value: u64) -> String {
        match self {
            Resource::Ram if value >= 1024 => format!("{} GiB", hundredths(value, 1024)),
            Resource::Ram => format!("{value} MiB"),
            Resource::Cpu if value == 1000 => "1 core".to_owned(),
            Resource::Cpu => format!("{} cores", hundredths(value, 1000)),
            Resource::Disk => format!("{value} GiB"),
            Resource::Net => format!("{value} Mbit/s"),
        }
    }
}

fn hundredths(value: u64, unit: u64) -> String {
    let whole = value / unit;
    let rest = (value % unit) * 100 / unit;
    match (rest / 10, rest % 10) {
        (0, 0) => whole.to_string(),
        (tenth, 0) => format!("{whole}.{tenth}"),
        (tenth, hundredth) => format!("{whole}.{tenth}{hundredth}"),
    }
}

/// The identifier of a guest: Proxmox's `vmid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct GuestId(pub u32);

impl fmt::Display for GuestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether a host may run guests.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum HostState {
    /// Runs guests.
    #[default]
    Up,
    /// Still runs its guests, which must be migrated away.
    Maintenance,
    /// Runs nothing. Its guests must be started elsewhere.
    Down,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// The unique name.
    pub name: String,
    /// Memory, in MiB.
    pub ram_mib: u64,
    /// Processor time, in thousandths of a core.
    pub cpu_mc: u64,
    /// Local disk, in GiB. Without it, disk is not limited on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_gib: Option<u64>,
    /// Network bandwidth, in Mbit/s. Without it, bandwidth is not limited on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_mbps: Option<u64>,
    /// Where it stands. A host without a rack counts as a rack of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Whether it may run guests.
    #[serde(default)]
    pub state: HostState,
    /// Memory that guests may not use, in MiB.
    #[serde(default)]
    pub ram_reserved_mib: u64,
    /// How much of the memory guests may be promised, in percent.
    #[serde(default = "hundred")]
    pub ram_overcommit_percent: u32,
    /// How much of the processor time guests may be promised, in percent.
    #[serde(default = "hundred")]
    pub cpu_overcommit_percent: u32,
    /// The storages that this host reaches.
    #[serde(default)]
    pub storages: BTreeSet<String>,
}

fn hundred() -> u32 {
    100
}

/// A guest: a virtual machine or a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestSpec {
    /// The unique identifier.
    pub vmid: GuestId,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Memory, in MiB.
    pub ram_mib: u64,
    /// Processor time, in thousandths of a core.
    pub cpu_mc: u64,
    /// Local disk, in GiB.
    #[serde(default)]
    pub disk_gib: u64,
    /// Network bandwidth, in Mbit/s.
    #[serde(default)]
    pub net_mbps: u64,
    /// The high-availability group: its members are kept on different hosts, and on different racks if
    /// `use_rack_constraints` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ha_group: Option<String>,
    /// Where it runs, or ran before its host went down. Without it, the guest is stopped and will be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The storages its host must reach.
    #[serde(default)]
    pub storages: BTreeSet<String>,
    /// If not empty, the only hosts it may run on.
    #[serde(default)]
    pub pinned_to: BTreeSet<String>,
    /// Hosts it may not run on.
    #[serde(default)]
    pub forbidden: BTreeSet<String>,
    /// How much migrating it counts, compared with other guests.
    #[serde(default = "one")]
    pub move_weight: u64,
}

fn one() -> u64 {
    1
}

/// Guests that are kept apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AntiAffinitySpec {
    /// The unique name of the group.
    pub name: String,
    /// The members.
    pub vmids: BTreeSet<GuestId>,
    /// How many members one host may run.
    #[serde(default = "one_member")]
    pub max_per_host: u32,
    /// How many members the hosts of one rack may run together. Without it, racks do not matter to this group,
    /// unless `use_rack_constraints` is set: then it is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_rack: Option<u32>,
}

fn one_member() -> u32 {
    1
}

/// Guests that are kept on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AffinitySpec {
    /// The unique name of the group.
    pub name: String,
    /// The members.
    pub vmids: BTreeSet<GuestId>,
}

/// The whole input, as it is written in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterSpec {
    /// The hosts.
    pub hosts: Vec<HostSpec>,
    /// The guests.
    pub vms: Vec<GuestSpec>,
    /// Groups of guests that are kept apart, besides those that `ha_group` names.
    #[serde(default)]
    pub anti_affinity: Vec<AntiAffinitySpec>,
    /// Groups of guests that are kept on one host.
    #[serde(default)]
    pub affinity: Vec<AffinitySpec>,
    /// Also keep the members of each anti-affinity group on different racks.
    #[serde(default)]
    pub use_rack_constraints: bool,
    /// What to prefer among the placements that keep every rule.
    #[serde(default)]
    pub objective: Objective,
}

/// Why an input was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not the JSON or YAML of a [`ClusterSpec`].
    #[error("cannot read the placement input: {0}")]
    Parse(String),
    /// The values contradict each other or are out of range.
    #[error("invalid placement input: {}", join(.0))]
    Invalid(Vec<Problem>),
}

fn join(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing to place guests on.
    #[error("no hosts; list at least one host")]
    NoHosts,
    /// More items than are accepted.
    #[error("{count} {what}; at most {MAX_ITEMS} are accepted")]
    TooMany {
        /// `hosts` or `guests`.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A name that cannot be shown.
    #[error("the name {name:?} is not usable; use 1 to 63 letters, digits, dots, dashes or underscores")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two hosts with one name.
    #[error("host {name} is listed twice; names must be unique")]
    DuplicateHost {
        /// The name.
        name: String,
    },
    /// Two guests with one identifier.
    #[error("guest {vmid} is listed twice; identifiers must be unique")]
    DuplicateGuest {
        /// The identifier.
        vmid: GuestId,
    },
    /// Two groups with one name.
    #[error("group {name} is defined twice; names must be unique")]
    DuplicateGroup {
        /// The name.
        name: String,
    },
    /// A guest names a host that is not listed.
    #[error(
        "guest {vmid}: unknown host {host} in `{field}`; add the host to `hosts` (with `state: down` if it failed) or correct the name"
    )]
    UnknownHost {
        /// The guest.
        vmid: GuestId,
        /// The field that names it.
        field: &'static str,
        /// The name.
        host: String,
    },
    /// A group names a guest that is not listed.
    #[error("group {group}: unknown guest {vmid}; add the guest to `vms` or remove it from the group")]
    UnknownGuest {
        /// The group.
        group: String,
        /// The identifier.
        vmid: GuestId,
    },
    /// A guest in two affinity groups, which would be one group.
    #[error("guest {vmid} is in the affinity groups {first} and {second}; merge them into one group")]
    TwoAffinityGroups {
        /// The guest.
        vmid: GuestId,
        /// The group that is defined first.
        first: String,
        /// The other group.
        second: String,
    },
    /// A group without members.
    #[error("group {group} has no guests; list its guests or remove the group")]
    EmptyGroup {
        /// The group.
        group: String,
    },
    /// A value outside its range.
    #[error("{subject}: `{field}` is {value}; it must be between {min} and {max}")]
    OutOfRange {
        /// The host, guest or group.
        subject: String,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The smallest accepted value.
        min: u64,
        /// The largest accepted value.
        max: u64,
    },
    /// A what-if names a host that is not listed.
    #[error("unknown host {host}; the hosts are {known}")]
    NoSuchHost {
        /// The name.
        host: String,
        /// The names there are.
        known: String,
    },
}

/// A checked input. Every name in it refers to something, and every amount is in range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    spec: ClusterSpec,
    host_index: BTreeMap<String, usize>,
    guest_index: BTreeMap<GuestId, usize>,
}

impl Cluster {
    /// Checks an input and names everything that is wrong with it.
    pub fn new(spec: ClusterSpec) -> Result<Self, Error> {
        let mut problems = Vec::new();
        if spec.hosts.is_empty() {
            problems.push(Problem::NoHosts);
        }
        for (what, count) in [("hosts", spec.hosts.len()), ("guests", spec.vms.len())] {
            if count > MAX_ITEMS {
                problems.push(Problem::TooMany { what, count });
            }
        }
        let host_index = check_hosts(&spec, &mut problems);
        let guest_index = check_guests(&spec, &host_index, &mut problems);
        check_groups(&spec, &guest_index, &mut problems);
        spec.objective.check(&mut problems);
        if problems.is_empty() {
            Ok(Self {
                spec,
                host_index,
                guest_index,
            })
        } else {
            Err(Error::Invalid(problems))
        }
    }

    /// Reads JSON.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::new(serde_json::from_str(text).map_err(|e| Error::Parse(e.to_string()))?)
    }

    /// Reads YAML.
    pub fn from_yaml(text: &str) -> Result<Self, Error> {
        Self::new(serde_saphyr::from_str(text).map_err(|e| Error::Parse(e.to_string()))?)
    }

    /// The input as it was given.
    pub fn spec(&self) -> &ClusterSpec {
        &self.spec
    }

    /// The input, to change it and check it again.
    pub fn into_spec(self) -> ClusterSpec {
        self.spec
    }

    /// The position of a host in [`ClusterSpec::hosts`].
    pub fn host_index(&self, name: &str) -> Option<usize> {
        self.host_index.get(name).copied()
    }

    /// The position of a guest in [`ClusterSpec::vms`].
    pub fn guest_index(&self, vmid: GuestId) -> Option<usize> {
        self.guest_index.get(&vmid).copied()
    }
}

fn usable_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

fn check_name(name: &str, problems: &mut Vec<Problem>) {
    if !usable_name(name) {
        let name = name.chars().take(80).collect();
        problems.push(Problem::BadName { name });
    }
}

pub(crate) fn check_range(
    subject: &str,
    field: &'static str,
    value: u64,
    (min, max): (u64, u64),
    problems: &mut Vec<Problem>,
) {
    if value < min || value > max {
        problems.push(Problem::OutOfRange {
            subject: subject.to_owned(),
            field,
            value,
            min,
            max,
        });
    }
}

fn check_hosts(spec: &ClusterSpec, problems: &mut Vec<Problem>) -> BTreeMap<String, usize> {
    let mut index = BTreeMap::new();
    for (position, host) in spec.hosts.iter().enumerate() {
        check_name(&host.name, problems);
        for name in host.rack.iter().chain(&host.storages) {
            check_name(name, problems);
        }
        if index.insert(host.name.clone(), position).is_some() {
            problems.push(Problem::DuplicateHost {
                name: host.name.clone(),
            });
        }
        let subject = format!("host {}", host.name);
        let mut range = |field, value, min, max| check_range(&subject, field, value, (min, max), problems);
        range("ram_mib", host.ram_mib, 1, MAX_AMOUNT);
        range("cpu_mc", host.cpu_mc, 1, MAX_AMOUNT);
        range("disk_gib", host.disk_gib.unwrap_or(1), 0, MAX_AMOUNT);
        range("net_mbps", host.net_mbps.unwrap_or(1), 0, MAX_AMOUNT);
        range(
            "ram_reserved_mib",
            host.ram_reserved_mib,
            0,
            host.ram_mib.min(MAX_AMOUNT),
        );
        let percent = u64::from(MAX_OVERCOMMIT_PERCENT);
        range(
            "ram_overcommit_percent",
            host.ram_overcommit_percent.into(),
            1,
            percent,
        );
        range(
            "cpu_overcommit_percent",
            host.cpu_overcommit_percent.into(),
            1,
            percent,
        );
    }
    index
}

fn check_guests(
    spec: &ClusterSpec,
    hosts: &BTreeMap<String, usize>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<GuestId, usize> {
    let mut index = BTreeMap::new();
    for (position, guest) in spec.vms.iter().enumerate() {
        for name in guest.name.iter().chain(&guest.ha_group).chain(&guest.storages) {
            check_name(name, problems);
        }
        if index.insert(guest.vmid, position).is_some() {
            problems.push(Problem::DuplicateGuest { vmid: guest.vmid });
        }
        let named = [("pinned_to", &guest.pinned_to), ("forbidden", &guest.forbidden)];
        let named = named
            .iter()
            .flat_map(|(field, names)| names.iter().map(move |name| (*field, name)));
        for (field, host) in guest.host.iter().map(|name| ("host", name)).chain(named) {
            if !hosts.contains_key(host) {
                problems.push(Problem::UnknownHost {
                    vmid: guest.vmid,
                    field,
                    host: host.clone(),
                });
            }
        }
        let subject = format!("guest {}", guest.vmid);
        let mut range = |field, value, min, max| check_range(&subject, field, value, (min, max), problems);
        range("vmid", guest.vmid.0.into(), 1, 999_999_999);
        range("ram_mib", guest.ram_mib, 1, MAX_AMOUNT);
        range("cpu_mc", guest.cpu_mc, 0, MAX_AMOUNT);
        range("disk_gib", guest.disk_gib, 0, MAX_AMOUNT);
        range("net_mbps", guest.net_mbps, 0, MAX_AMOUNT);
        range("move_weight", guest.move_weight, 1, MAX_WEIGHT);
    }
    index
}

fn check_groups(spec: &ClusterSpec, guests: &BTreeMap<GuestId, usize>, problems: &mut Vec<Problem>) {
    let ha: BTreeSet<&str> = spec.vms.iter().filter_map(|g| g.ha_group.as_deref()).collect();
    let mut names: BTreeSet<&str> = ha;
    let mut home: BTreeMap<GuestId, &str> = BTreeMap::new();
    let apart = spec.anti_affinity.iter().map(|g| (&g.name, &g.vmids));
    let together = spec.affinity.iter().map(|g| (&g.name, &g.vmids));
    for (name, vmids) in apart.chain(together) {
        check_name(name, problems);
        if !names.insert(name) {
            problems.push(Problem::DuplicateGroup { name: name.clone() });
        }
        if vmids.is_empty() {
            problems.push(Problem::EmptyGroup { group: name.clone() });
        }
        for vmid in vmids.iter().filter(|vmid| !guests.contains_key(vmid)) {
            problems.push(Problem::UnknownGuest {
                group: name.clone(),
                vmid: *vmid,
            });
        }
    }
    for group in &spec.anti_affinity {
        let subject = format!("group {}", group.name);
        let mut range =
            |field, value: u32| check_range(&subject, field, value.into(), (1, MAX_ITEMS as u64), problems);
        range("max_per_host", group.max_per_host);
        range("max_per_rack", group.max_per_rack.unwrap_or(1));
    }
    for group in &spec.affinity {
        for vmid in &group.vmids {
            if let Some(first) = home.insert(*vmid, &group.name) {
                let (first, second) = (first.to_owned(), group.name.clone());
                problems.push(Problem::TwoAffinityGroups {
                    vmid: *vmid,
                    first,
                    second,
                });
            }
        }
    }
}
