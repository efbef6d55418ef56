//! In which order the moves run, so that no host is overcommitted at any moment.
//!
//! While a guest migrates, both ends hold its memory. So the steps of one wave run in parallel only if every target has room for
//! everything that was on it when the wave began and everything that arrives during the wave.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::{Cluster, GuestId, HostState, Resource};
use crate::problem::{Amounts, ApartGroup, add, apart_groups, offered, running_on, subtract, used};
use crate::random::Random;

/// Which guest runs on which host.
pub type Placement = BTreeMap<GuestId, String>;

/// How a guest gets to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It runs and is migrated while it runs.
    Migrate,
    /// It does not run and is started.
    Start,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Migrate => "migrate",
            Action::Start => "start",
        })
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// What is done.
    pub action: Action,
    /// The guest.
    pub vmid: GuestId,
    /// Where the guest runs before, if it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where it runs afterwards.
    pub target: String,
    /// Whether the guest only stops over here, to make room for another, and moves on in a later step.
    #[serde(default)]
    pub stopover: bool,
    /// Groups whose anti-affinity rule does not hold between this step and a later one, because no order keeps it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspends: Vec<String>,
}

/// An ordered plan. Waves run one after another; the steps of a wave may run in parallel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovePlan {
    /// The waves.
    pub waves: Vec<Vec<PlanStep>>,
}

impl MovePlan {
    /// Every step, in order.
    pub fn steps(&self) -> impl Iterator<Item = &PlanStep> {
        self.waves.iter().flatten()
    }
}

/// How much runs in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parallel {
    /// At most this many steps at once.
    pub steps: u32,
    /// At most this many steps at once that have one host as source or target.
    pub steps_per_host: u32,
}

impl Default for Parallel {
    fn default() -> Self {
        Self {
            steps: 4,
            steps_per_host: 2,
        }
    }
}

/// No order of the moves was found that keeps every host within its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct NoOrder {
    /// Why, in words.
    pub words: String,
    /// The guests that are stuck.
    pub stuck: Vec<GuestId>,
}

/// Orders the moves that lead from where guests run now to a placement.
pub fn order(cluster: &Cluster, placement: &Placement, parallel: Parallel) -> Result<MovePlan, NoOrder> {
    let groups = apart_groups(cluster);
    let mut stuck = None;
    for keep_apart in [true, false] {
        let mut planner = Planner::new(cluster, &groups, placement, parallel, keep_apart);
        match planner.run() {
            Ok(waves) => return Ok(MovePlan { waves }),
            Err(state) => stuck = Some(planner.explain(&state)),
        }
    }
    Err(stuck.unwrap_or(NoOrder {
        words: String::new(),
        stuck: Vec::new(),
    }))
}

/// How many arrangements with a stopover are tried.
const MAX_STOPOVER_NODES: usize = 4_000;
/// How many orders without a stopover are tried.
const MAX_ORDER_NODES: usize = 40_000;
/// How many guests may stop over in one plan.
const MAX_STOPOVERS: usize = 12;

#[derive(Clone)]
struct State {
    /// Where each guest runs.
    at: Vec<Option<usize>>,
    loads: Vec<Amounts>,
    waves: Vec<Vec<PlanStep>>,
}

struct Planner<'a> {
    cluster: &'a Cluster,
    groups: &'a [ApartGroup],
    caps: Vec<Amounts>,
    demand: Vec<Amounts>,
    racks: Vec<&'a str>,
    /// The groups of each guest.
    member_of: Vec<Vec<usize>>,
    goal: Vec<Option<usize>>,
    parallel: Parallel,
    keep_apart: bool,
    nodes: usize,
}

impl<'a> Planner<'a> {
    fn new(
        cluster: &'a Cluster,
        groups: &'a [ApartGroup],
        placement: &Placement,
        parallel: Parallel,
        keep_apart: bool,
    ) -> Self {
        let spec = cluster.spec();
        let mut member_of = vec![Vec::new(); spec.vms.len()];
        for (index, group) in groups.iter().enumerate() {
            group.guests.iter().for_each(|g| member_of[*g].push(index));
        }
        let goal = |vmid: &GuestId| placement.get(vmid).and_then(|name| cluster.host_index(name));
        Self {
            cluster,
            groups,
            caps: spec.hosts.iter().map(offered).collect(),
            demand: spec.vms.iter().map(used).collect(),
            racks: spec
                .hosts
                .iter()
                .map(|h| h.rack.as_deref().unwrap_or_default())
                .collect(),
            member_of,
            goal: spec.vms.iter().map(|g| goal(&g.vmid)).collect(),
            parallel,
            keep_apart,
            nodes: 0,
        }
    }

    fn start(&self) -> State {
        let spec = self.cluster.spec();
        let at: Vec<Option<usize>> = spec.vms.iter().map(|g| running_on(self.cluster, g)).collect();
        let mut loads = vec![[0; 4]; spec.hosts.len()];
        for (guest, host) in at.iter().enumerate() {
            if let Some(host) = host {
                add(&mut loads[*host], &self.demand[guest]);
            }
        }
        State {
            at,
            loads,
            waves: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<Vec<Vec<PlanStep>>, State> {
        let start = self.start();
        let mut blocked = start.clone();
        for attempt in 0..8 {
            let mut state = start.clone();
            self.waves(&mut state, attempt);
            if self.pending(&state).is_empty() {
                return Ok(state.waves);
            }
            if attempt == 0 {
                blocked = state;
            }
        }
        let mut state = start.clone();
        self.nodes = 0;
        if self.sequence(&mut state, &mut HashSet::new()) {
            return Ok(self.group(&start, state.waves));
        }
        self.nodes = 0;
        let mut seen = HashSet::new();
        if let Some(state) = self.stopovers(&start, MAX_STOPOVERS, &mut seen) {
            return Ok(self.group(&start, state.waves));
        }
        Err(blocked)
    }

    /// The guests that are not where they should be, those whose departure makes room for another first.
    fn pending(&self, state: &State) -> Vec<usize> {
        let mut pending: Vec<usize> = (0..self.goal.len())
            .filter(|g| self.goal[*g].is_some() && self.goal[*g] != state.at[*g])
            .collect();
        let wanted: HashSet<usize> = pending.iter().filter_map(|g| self.goal[*g]).collect();
        pending.sort_by_key(|g| {
            let frees = state.at[*g].is_some_and(|h| wanted.contains(&h));
            (!frees, std::cmp::Reverse(self.demand[*g]), *g)
        });
        pending
    }

    /// Whether a host may take a guest now, besides what arrives anyway.
    fn takes(&self, state: &State, arrivals: &[(usize, usize)], guest: usize, host: usize) -> bool {
        let mut load = state.loads[host];
        for (other, target) in arrivals {
            if *target == host {
                add(&mut load, &self.demand[*other]);
            }
        }
        add(&mut load, &self.demand[guest]);
        let fits = load.iter().zip(&self.caps[host]).all(|(load, cap)| load <= cap);
        fits && (!self.keep_apart || self.suspended(state, arrivals, guest, host).is_empty())
    }

    /// The groups whose rule would not hold while the guest is there.
    fn suspended(
        &self,
        state: &State,
        arrivals: &[(usize, usize)],
        guest: usize,
        host: usize,
    ) -> Vec<String> {
        let near = |other: usize, same: &dyn Fn(usize) -> bool| {
            let there = state.at[other].is_some_and(same);
            let arriving = arrivals
                .iter()
                .any(|(arriving, target)| *arriving == other && same(*target));
            other != guest && (there || arriving)
        };
        let rack = self.racks[host];
        let same_rack = |h: usize| h == host || (!rack.is_empty() && self.racks[h] == rack);
        self.member_of[guest]
            .iter()
            .map(|index| &self.groups[*index])
            .filter(|group| {
                let count =
                    |same: &dyn Fn(usize) -> bool| group.guests.iter().filter(|o| near(**o, same)).count();
                let more = |count: usize, max: u32| count >= usize::try_from(max).unwrap_or(usize::MAX);
                more(count(&|h| h == host), group.max_per_host)
                    || group.max_per_rack.is_some_and(|max| more(count(&same_rack), max))
            })
            .map(|group| group.name.clone())
            .collect()
    }

    fn step(&self, state: &State, arrivals: &[(usize, usize)], guest: usize, host: usize) -> PlanStep {
        let spec = self.cluster.spec();
        let name = |h: usize| spec.hosts[h].name.clone();
        PlanStep {
            action: if state.at[guest].is_some() {
                Action::Migrate
            } else {
                Action::Start
            },
            vmid: spec.vms[guest].vmid,
            from: state.at[guest].map(name),
            target: name(host),
            stopover: self.goal[guest] != Some(host),
            suspends: self.suspended(state, arrivals, guest, host),
        }
    }

    fn apply(&self, state: &mut State, guest: usize, host: usize) {
        if let Some(from) = state.at[guest] {
            subtract(&mut state.loads[from], &self.demand[guest]);
        }
        add(&mut state.loads[host], &self.demand[guest]);
        state.at[guest] = Some(host);
    }

    fn busy(&self, state: &State, arrivals: &[(usize, usize)], guest: usize, host: usize) -> bool {
        let limit = usize::try_from(self.parallel.steps_per_host.max(1)).unwrap_or(usize::MAX);
        let touches = |h: usize| {
            arrivals
                .iter()
                .filter(|(g, target)| *target == h || state.at[*g] == Some(h))
                .count()
        };
        touches(host) >= limit || state.at[guest].is_some_and(|from| touches(from) >= limit)
    }

    /// Runs as many waves as possible, each as full as possible.
    fn waves(&self, state: &mut State, attempt: u64) {
        let mut random = Random::new(attempt);
        let limit = usize::try_from(self.parallel.steps.max(1)).unwrap_or(usize::MAX);
        loop {
            let mut pending = self.pending(state);
            if attempt > 0 {
                random.shuffle(&mut pending);
            }
            let mut arrivals: Vec<(usize, usize)> = Vec::new();
            let mut wave = Vec::new();
            for guest in pending {
                let Some(host) = self.goal[guest] else { continue };
                if arrivals.len() < limit
                    && !self.busy(state, &arrivals, guest, host)
                    && self.takes(state, &arrivals, guest, host)
                {
                    wave.push(self.step(state, &arrivals, guest, host));
                    arrivals.push((guest, host));
                }
            }
            if wave.is_empty() {
                return;
            }
            for (guest, host) in &arrivals {
                self.apply(state, *guest, *host);
            }
            state.waves.push(wave);
        }
    }

    /// Tries orders of single steps, without stopovers, until one leads to the goal.
    fn sequence(&mut self, state: &mut State, failed: &mut HashSet<Vec<usize>>) -> bool {
        let pending = self.pending(state);
        if pending.is_empty() {
            return true;
        }
        self.nodes += 1;
        let mut key = pending.clone();
        key.sort_unstable();
        if self.nodes > MAX_ORDER_NODES || failed.contains(&key) {
            return false;
        }
        for guest in pending {
            let Some(host) = self.goal[guest] else { continue };
            if self.takes(state, &[], guest, host) {
                let before = state.at[guest];
                let step = self.step(state, &[], guest, host);
                self.apply(state, guest, host);
                state.waves.push(vec![step]);
                if self.sequence(state, failed) {
                    return true;
                }
                state.waves.pop();
                subtract(&mut state.loads[host], &self.demand[guest]);
                if let Some(before) = before {
                    add(&mut state.loads[before], &self.demand[guest]);
                }
                state.at[guest] = before;
            }
        }
        failed.insert(key);
        false
    }

    fn may_use(&self, guest: usize, host: usize) -> bool {
        let spec = self.cluster.spec();
        let (guest, host) = (&spec.vms[guest], &spec.hosts[host]);
        host.state == HostState::Up
            && (guest.pinned_to.is_empty() || guest.pinned_to.contains(&host.name))
            && !guest.forbidden.contains(&host.name)
            && guest.storages.is_subset(&host.storages)
    }

    /// Moves a guest out of the way where nothing else is possible.
    fn stopovers(
        &mut self,
        from: &State,
        left: usize,
        seen: &mut HashSet<Vec<Option<usize>>>,
    ) -> Option<State> {
        let mut state = from.clone();
        self.waves(&mut state, 0);
        let pending = self.pending(&state);
        if pending.is_empty() {
            return Some(state);
        }
        self.nodes += 1;
        if left == 0 || self.nodes > MAX_STOPOVER_NODES || !seen.insert(state.at.clone()) {
            return None;
        }
        let blocked: HashSet<usize> = pending.iter().filter_map(|g| self.goal[*g]).collect();
        let mut candidates: Vec<usize> = (0..state.at.len())
            .filter(|g| state.at[*g].is_some_and(|h| blocked.contains(&h)))
            .collect();
        // Those that must move anyway first, and the smallest of these.
        candidates.sort_by_key(|g| (!pending.contains(g), self.demand[*g], *g));
        for guest in candidates {
            let mut hosts: Vec<usize> = (0..self.caps.len())
                .filter(|h| Some(*h) != state.at[guest] && self.may_use(guest, *h))
                .filter(|h| self.takes(&state, &[], guest, *h))
                .collect();
            hosts.sort_by_key(|h| (blocked.contains(h), *h));
            for host in hosts {
                let mut next = state.clone();
                next.waves.push(vec![self.step(&next, &[], guest, host)]);
                self.apply(&mut next, guest, host);
                if let Some(done) = self.stopovers(&next, left - 1, seen) {
                    return Some(done);
                }
            }
        }
        None
    }

    /// Joins neighbouring waves that may run in parallel.
    fn group(&self, start: &State, waves: Vec<Vec<PlanStep>>) -> Vec<Vec<PlanStep>> {
        let limit = usize::try_from(self.parallel.steps.max(1)).unwrap_or(usize::MAX);
        let mut state = start.clone();
        let mut arrivals: Vec<(usize, usize)> = Vec::new();
        let mut grouped: Vec<Vec<PlanStep>> = vec![Vec::new()];
        for step in waves.into_iter().flatten() {
            let (Some(guest), Some(host)) = (
                self.cluster.guest_index(step.vmid),
                self.cluster.host_index(&step.target),
            ) else {
                continue;
            };
            let joins = arrivals.len() < limit
                && arrivals.iter().all(|(other, _)| *other != guest)
                && !self.busy(&state, &arrivals, guest, host)
                && self.takes(&state, &arrivals, guest, host);
            if !joins {
                for (guest, host) in &arrivals {
                    self.apply(&mut state, *guest, *host);
                }
                arrivals.clear();
                grouped.push(Vec::new());
            }
            let step = self.step(&state, &arrivals, guest, host);
            arrivals.push((guest, host));
            if let Some(wave) = grouped.last_mut() {
                wave.push(step);
            }
        }
        grouped.retain(|wave| !wave.is_empty());
        grouped
    }

    fn explain(&self, state: &State) -> NoOrder {
        let spec = self.cluster.spec();
        let pending = self.pending(state);
        let reasons: Vec<String> = pending
            .iter()
            .take(6)
            .filter_map(|guest| {
                let host = self.goal[*guest]?;
                let (vmid, name) = (spec.vms[*guest].vmid, &spec.hosts[host].name);
                let short = Resource::ALL.into_iter().enumerate().find_map(|(d, resource)| {
                    let free = (self.caps[host][d] - state.loads[host][d]).max(0);
                    let amount = |value: i64| resource.amount(value.unsigned_abs());
                    (self.demand[*guest][d] > free).then(|| {
                        let (needs, free) = (amount(self.demand[*guest][d]), amount(free));
                        format!(
                            "guest {vmid} needs {needs} of {} on {name}, which has {free} free",
                            resource.label()
                        )
                    })
                });
                Some(short.unwrap_or_else(|| {
                    format!("guest {vmid} cannot move to {name} while a guest of its group is there")
                }))
            })
            .collect();
        let words = format!(
            "No order of the moves keeps every host within its limits: {}. No other host has room for one of the guests in \
             between. Free some capacity, or stop one of these guests during the change.",
            reasons.join("; ")
        );
        NoOrder {
            words,
            stuck: pending.iter().map(|g| spec.vms[*g].vmid).collect(),
        }
    }
}
