//! Why there is no placement: a smallest set of rules that cannot all hold, in words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::{Cluster, HostState, Resource};
use crate::problem::{ApartGroup, Problem, Rule, offered, rules, used};
use crate::search::{Meter, feasible};

/// Rules that cannot all hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The conflict in one or two sentences.
    pub words: String,
    /// Each rule that takes part.
    pub rules: Vec<String>,
    /// Whether dropping any one of the rules was shown to make a placement possible.
    pub minimal: bool,
}

/// Finds a smallest set of conflicting rules of an input that has no placement.
pub(crate) fn explain(cluster: &Cluster, groups: &[ApartGroup], meter: &mut Meter, seed: u64) -> Conflict {
    let mut search = Shrink {
        cluster,
        groups,
        meter,
        seed,
        active: BTreeSet::new(),
        minimal: true,
    };
    let all = rules(cluster, groups);
    search.active = all.iter().copied().collect();
    // What is dropped first is least likely to be in the answer.
    let mut order = all;
    order.sort_by_key(|rule| match rule {
        Rule::Capacity(Resource::Net) => 0,
        Rule::Capacity(Resource::Disk) => 1,
        Rule::Capacity(Resource::Cpu) => 2,
        Rule::Capacity(Resource::Ram) => 3,
        Rule::Together(_) => 4,
        Rule::Forbidden(_) => 5,
        Rule::Storage(_) => 6,
        Rule::Pin(_) => 7,
        Rule::Racks(_) => 8,
        Rule::Hosts(_) => 9,
        Rule::State(_) => 10,
    });
    search.drop_if_possible(&order);
    let mut kept: Vec<Rule> = search.active.into_iter().collect();
    kept.sort_by_key(|rule| match rule {
        Rule::Hosts(_) | Rule::Racks(_) => 0,
        Rule::Together(_) => 1,
        Rule::Pin(_) | Rule::Forbidden(_) | Rule::Storage(_) => 2,
        Rule::Capacity(_) => 3,
        Rule::State(_) => 4,
    });
    let minimal = search.minimal;
    let words = Words { cluster, groups };
    let rules = kept.iter().map(|rule| words.rule(*rule)).collect::<Vec<_>>();
    let mut text = words.known_pattern(&kept).unwrap_or_else(|| {
        if rules.len() == 1 {
            format!("This rule cannot hold: {}.", rules[0])
        } else {
            format!("These rules cannot all hold: {}.", rules.join("; "))
        }
    });
    if !minimal {
        text.push_str(" The search ran out of time, so some of these rules may not be part of the conflict.");
    }
    Conflict {
        words: text,
        rules,
        minimal,
    }
}

struct Shrink<'a> {
    cluster: &'a Cluster,
    groups: &'a [ApartGroup],
    meter: &'a mut Meter,
    seed: u64,
    active: BTreeSet<Rule>,
    minimal: bool,
}

impl Shrink<'_> {
    /// Drops these rules if the rest still conflicts; otherwise looks at each half.
    fn drop_if_possible(&mut self, chunk: &[Rule]) {
        if chunk.is_empty() {
            return;
        }
        for rule in chunk {
            self.active.remove(rule);
        }
        let active = &self.active;
        let problem = Problem::compile(self.cluster, self.groups, &|rule| active.contains(&rule));
        match feasible(&problem, self.meter, self.seed) {
            Some(false) => return,
            Some(true) => {}
            None => self.minimal &= chunk.len() > 1,
        }
        self.active.extend(chunk);
        if chunk.len() > 1 {
            let (first, second) = chunk.split_at(chunk.len() / 2);
            self.drop_if_possible(first);
            self.drop_if_possible(second);
        }
    }
}

/// At most this many hosts are named in a sentence; beyond, they are counted.
const MAX_NAMES: usize = 8;

struct Words<'a> {
    cluster: &'a Cluster,
    groups: &'a [ApartGroup],
}

impl Words<'_> {
    fn rule(&self, rule: Rule) -> String {
        let spec = self.cluster.spec();
        match rule {
            Rule::Capacity(resource) => format!("no host may use more {} than it has", resource.label()),
            Rule::State(host) => match spec.hosts[host].state {
                HostState::Maintenance => format!("{} is in maintenance", spec.hosts[host].name),
                HostState::Down | HostState::Up => format!("{} is down", spec.hosts[host].name),
            },
            Rule::Pin(guest) => {
                let guest = &spec.vms[guest];
                format!(
                    "guest {} is pinned to {}",
                    guest.vmid,
                    list(guest.pinned_to.iter())
                )
            }
            Rule::Forbidden(guest) => {
                let guest = &spec.vms[guest];
                format!(
                    "guest {} may not run on {}",
                    guest.vmid,
                    list(guest.forbidden.iter())
                )
            }
            Rule::Storage(guest) => {
                let guest = &spec.vms[guest];
                let hosts = spec
                    .hosts
                    .iter()
                    .filter(|h| guest.storages.is_subset(&h.storages));
                let reach: Vec<&String> = hosts.map(|h| &h.name).collect();
                let reach = match reach.as_slice() {
                    [] => "no host reaches".to_owned(),
                    [one] => format!("only {one} reaches"),
                    many => format!("only {} reach", list(many.iter())),
                };
                format!(
                    "guest {} needs the storage {}, which {reach}",
                    guest.vmid,
                    list(guest.storages.iter())
                )
            }
            Rule::Hosts(index) => self.spread(index, self.groups[index].max_per_host, "host"),
            Rule::Racks(index) => self.spread(index, self.groups[index].max_per_rack.unwrap_or(1), "rack"),
            Rule::Together(index) => {
                let group = &spec.affinity[index];
                format!(
                    "the guests of group {} ({}) must share a host",
                    group.name,
                    list(group.vmids.iter())
                )
            }
        }
    }

    fn spread(&self, index: usize, max: u32, place: &str) -> String {
        let group = &self.groups[index];
        let count = group.guests.len();
        let ids = list(group.guests.iter().map(|g| self.cluster.spec().vms[*g].vmid));
        if max == 1 {
            format!(
                "the {count} guests of group {} ({ids}) need {count} different {place}s",
                group.name
            )
        } else {
            format!(
                "at most {max} of the {count} guests of group {} ({ids}) may share a {place}",
                group.name
            )
        }
    }

    /// A sentence for the conflicts that are common: too few hosts, too few racks, too little of a resource.
    fn known_pattern(&self, rules: &[Rule]) -> Option<String> {
        let (states, others): (Vec<&Rule>, Vec<&Rule>) =
            rules.iter().partition(|rule| matches!(rule, Rule::State(_)));
        let [only] = others.as_slice() else {
            return None;
        };
        let spec = self.cluster.spec();
        let up: Vec<usize> = (0..spec.hosts.len())
            .filter(|h| spec.hosts[*h].state == HostState::Up)
            .collect();
        let names = || list(up.iter().map(|h| &spec.hosts[*h].name));
        match only {
            Rule::Hosts(index) => {
                let group = &self.groups[*index];
                let needed = group.guests.len().div_ceil(group.max_per_host as usize);
                let (count, name) = (group.guests.len(), &group.name);
                let mut words = format!("{count} guests of group {name} need {needed} hosts; ");
                let many = up.len() > MAX_NAMES;
                let found = match up.len() {
                    0 => "no host is up.".to_owned(),
                    1 => format!("only {} is up.", names()),
                    _ if many => format!("only {} are up.", up.len()),
                    _ => format!("only {} are up.", names()),
                };
                words.push_str(&found);
                Some(words)
            }
            Rule::Racks(index) => {
                let group = &self.groups[*index];
                let needed = group
                    .guests
                    .len()
                    .div_ceil(group.max_per_rack.unwrap_or(1) as usize);
                let racks: BTreeSet<&str> = up
                    .iter()
                    .map(|h| {
                        spec.hosts[*h]
                            .rack
                            .as_deref()
                            .unwrap_or(spec.hosts[*h].name.as_str())
                    })
                    .collect();
                let (count, name) = (group.guests.len(), &group.name);
                Some(match racks.len() {
                    0 => format!("{count} guests of group {name} need {needed} racks; no host is up."),
                    _ => format!(
                        "{count} guests of group {name} need {needed} racks; the hosts that are up are in {}.",
                        list(racks.iter())
                    ),
                })
            }
            Rule::Capacity(resource) => Some(self.shortage(*resource, &up, states.is_empty())),
            _ => None,
        }
    }

    fn shortage(&self, resource: Resource, up: &[usize], all_up: bool) -> String {
        let spec = self.cluster.spec();
        let position = Resource::ALL.iter().position(|r| *r == resource).unwrap_or(0);
        let amount = |value: i64| resource.amount(value.unsigned_abs());
        let label = resource.label();
        let offers: Vec<(usize, i64)> = up
            .iter()
            .map(|h| (*h, offered(&spec.hosts[*h])[position]))
            .collect();
        let Some((largest, most)) = offers
            .iter()
            .copied()
            .max_by_key(|(h, o)| (*o, std::cmp::Reverse(*h)))
        else {
            return "No host is up.".to_owned();
        };
        let of = if all_up { "" } else { " that are up" };
        if let Some(guest) = spec.vms.iter().find(|g| used(g)[position] > most) {
            return format!(
                "Guest {} needs {} of {label}; the largest of the hosts{of}, {}, offers {}.",
                guest.vmid,
                amount(used(guest)[position]),
                spec.hosts[largest].name,
                amount(most)
            );
        }
        let total: i64 = offers.iter().map(|(_, o)| o).sum();
        let needed: i64 = spec.vms.iter().map(|g| used(g)[position]).sum();
        let names = list(up.iter().take(MAX_NAMES).map(|h| &spec.hosts[*h].name));
        let names = if up.len() > MAX_NAMES {
            format!("{} hosts", up.len())
        } else {
            names
        };
        let mut words = format!("The guests need {} of {label} together; ", amount(needed));
        let end = if needed > total {
            format!("the hosts{of} ({names}) offer {}.", amount(total))
        } else {
            format!(
                "the hosts{of} ({names}) offer {}, but no way to divide the guests over them fits.",
                amount(total)
            )
        };
        let _ = write!(words, "{end}");
        words
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    match items.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}
