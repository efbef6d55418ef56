//! What this session has discovered. The only source from which a target may be taken.
//!
//! Lives in memory and nowhere else: it has no serial form, because infrastructure changes between sessions and
//! a stored copy would be believed. Two clocks run on each entry and must never be mixed: *use* (every add and
//! lookup; decides expiry and eviction) and *explicit access* (a mention, a single `get`, a selection; the sign
//! of someone's intent, read by routing alone).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use interlock_protocol::{Identity, ResourceId, ResourceKind, name_key};
use jiff::{SignedDuration, Timestamp};

/// How long an entry lives after its last use.
pub(crate) const TTL: SignedDuration = SignedDuration::from_mins(45);
/// How many entries a session holds.
pub(crate) const MAX_ENTRIES: usize = 500;

/// How many hosts of hosts routing looks through.
const MAX_DEPTH: usize = 6;

/// The bounds of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// How long an entry lives after its last use.
    pub ttl: SignedDuration,
    /// How many entries there may be.
    pub max_entries: usize,
    /// How long an explicit access counts for routing.
    pub explicit_window: SignedDuration,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            ttl: TTL,
            max_entries: MAX_ENTRIES,
            explicit_window: TTL,
        }
    }
}

/// What discovery said about one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedResource {
    /// Its canonical id.
    pub id: ResourceId,
    /// Its display name.
    pub name: String,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// The state it was in, where its kind has one.
    pub state: Option<String>,
    /// Which machine it is, as far as discovery could tell.
    pub identity: Identity,
}

impl ResolvedResource {
    /// A resource with a name and nothing else known.
    pub fn new(id: ResourceId, name: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            aliases: Vec::new(),
            state: None,
            identity: Identity::default(),
        }
    }

    /// The same resource with another name it answers to.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// The same resource in this state.
    #[must_use]
    pub fn in_state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// The same resource, known to be this machine.
    #[must_use]
    pub fn identified(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Whether something whose id names `host` lives on this resource.
    pub(crate) fn answers_as_host(&self, host: &str) -> bool {
        let host = name_key(host);
        name_key(self.id.uid()) == host
            || name_key(&self.name) == host
            || self.aliases.iter().any(|alias| name_key(alias) == host)
    }
}

/// How a resource came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// One of many: a search, a list, a prefetch.
    Bulk,
    /// Asked for by itself: a mention, a single `get`, a selection.
    Explicit,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// Exactly one resource.
    Found(Arc<ResolvedResource>),
    /// Several: choosing would be guessing.
    Ambiguous(Vec<ResourceId>),
    /// None that this session discovered.
    Unknown,
}

/// Whether an addition had room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is known now.
    Yes,
    /// Everything is pinned and there is no room.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    resource: Arc<ResolvedResource>,
    used_at: Timestamp,
    used_order: u64,
    explicit_at: Option<Timestamp>,
    pinned: bool,
}

/// The resources a session has discovered, by id, name and alias.
#[derive(Debug, PartialEq, Eq)]
pub struct ResolvedContext {
    limits: ContextLimits,
    entries: BTreeMap<ResourceId, Entry>,
    /// Lower-cased names and aliases. Several ids under one name make it ambiguous.
    names: BTreeMap<String, BTreeSet<ResourceId>>,
    /// Lower-cased uids: what lives on a resource may name it by one.
    uids: BTreeMap<String, BTreeSet<ResourceId>>,
    /// Those that were ever explicitly accessed: few, and routing asks for them at every call.
    asked_for: BTreeSet<ResourceId>,
    uses: u64,
}

impl ResolvedContext {
    /// An empty context.
    pub fn new(limits: ContextLimits) -> Self {
        Self {
            limits,
            entries: BTreeMap::new(),
            names: BTreeMap::new(),
            uids: BTreeMap::new(),
            asked_for: BTreeSet::new(),
            uses: 0,
        }
    }

    /// A copy for exploring two futures of one session.
    pub(crate) fn fork(&self) -> Self {
        Self {
            limits: self.limits,
            entries: self.entries.clone(),
            names: self.names.clone(),
            uids: self.uids.clone(),
            asked_for: self.asked_for.clone(),
            uses: self.uses,
        }
    }

    pub(crate) fn add(&mut self, resource: ResolvedResource, access: Access, now: Timestamp) -> Added {
        // What is too old leaves nothing behind: neither a pin nor the sign of someone's intent.
        let before = self.remove(&resource.id).filter(|entry| self.live(entry, now));
        if self.entries.len() >= self.limits.max_entries {
            self.expire(now);
        }
        if self.entries.len() >= self.limits.max_entries && !self.evict() {
            if let Some(before) = before {
                self.index(&before.resource);
                if before.explicit_at.is_some() {
                    self.asked_for.insert(before.resource.id.clone());
                }
                self.entries.insert(before.resource.id.clone(), before);
            }
            return Added::Full;
        }
        let explicit_at = match access {
            Access::Explicit => Some(now),
            Access::Bulk => before.as_ref().and_then(|entry| entry.explicit_at),
        };
        if explicit_at.is_some() {
            self.asked_for.insert(resource.id.clone());
        }
        self.uses += 1;
        self.index(&resource);
        let entry = Entry {
            used_at: now,
            used_order: self.uses,
            explicit_at,
            pinned: before.is_some_and(|entry| entry.pinned),
            resource: Arc::new(resource),
        };
        self.entries.insert(entry.resource.id.clone(), entry);
        Added::Yes
    }

    /// What a name, alias or canonical id stands for, if this session discovered it. Looking is using.
    ///
    /// A text in the form of a canonical id is looked up as an id only, so that no alias can pose as one.
    pub(crate) fn lookup(&mut self, text: &str, now: Timestamp) -> Lookup {
        let id = if let Ok(id) = text.parse::<ResourceId>() {
            id
        } else {
            let name = name_key(text);
            let mut live: Vec<ResourceId> = self
                .names
                .get(&name)
                .into_iter()
                .flatten()
                .filter(|id| self.is_live(id, now))
                .cloned()
                .collect();
            match live.len() {
                1 => live.swap_remove(0),
                0 => return Lookup::Unknown,
                _ => return Lookup::Ambiguous(live),
            }
        };
        if !self.is_live(&id, now) {
            return Lookup::Unknown;
        }
        self.uses += 1;
        let order = self.uses;
        match self.entries.get_mut(&id) {
            Some(entry) => {
                entry.used_at = now;
                entry.used_order = order;
                Lookup::Found(Arc::clone(&entry.resource))
            }
            None => Lookup::Unknown,
        }
    }

    /// Whether a name, alias or canonical id stands for something that this session discovered. Does not count as use.
    pub fn knows(&self, text: &str, now: Timestamp) -> bool {
        match text.parse::<ResourceId>() {
            Ok(id) => self.is_live(&id, now),
            Err(_) => self
                .names
                .get(&name_key(text))
                .is_some_and(|ids| ids.iter().any(|id| self.is_live(id, now))),
        }
    }

    /// What is known under this id. Does not count as use.
    pub fn get(&self, id: &ResourceId, now: Timestamp) -> Option<&ResolvedResource> {
        self.entries
            .get(id)
            .filter(|entry| self.live(entry, now))
            .map(|entry| &*entry.resource)
    }

    /// Whether anything is known at all.
    pub fn has_any(&self, now: Timestamp) -> bool {
        self.entries.values().any(|entry| self.live(entry, now))
    }

    /// How many resources are known.
    pub fn len(&self, now: Timestamp) -> usize {
        self.entries
            .values()
            .filter(|entry| self.live(entry, now))
            .count()
    }

    /// Everything known, in the order of ids.
    pub fn resources(&self, now: Timestamp) -> impl Iterator<Item = &ResolvedResource> {
        self.entries
            .values()
            .filter(move |entry| self.live(entry, now))
            .map(|entry| &*entry.resource)
    }

    pub(crate) fn mark_explicit(&mut self, id: &ResourceId, now: Timestamp) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.explicit_at = Some(now);
            self.asked_for.insert(id.clone());
        }
    }

    /// Whether someone asked for this resource by itself within the window.
    pub fn was_explicitly_accessed(&self, id: &ResourceId, now: Timestamp) -> bool {
        self.entries
            .get(id)
            .is_some_and(|entry| self.live(entry, now) && self.explicit(entry, now))
    }

    /// Protects a resource from eviction. Not from age: a pin does not make old knowledge new.
    pub fn pin(&mut self, id: &ResourceId) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.pinned = true;
        }
    }

    /// Ends the protection.
    pub fn unpin(&mut self, id: &ResourceId) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.pinned = false;
        }
    }

    /// Whether a resource is protected from eviction.
    pub fn is_pinned(&self, id: &ResourceId) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.pinned)
    }

    /// The explicitly accessed resources that live on the host with this name, or on something that lives on it.
    pub(crate) fn explicit_children_of_name<'a>(
        &'a self,
        host: &'a str,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a ResolvedResource> {
        self.explicit_entries(now)
            .filter(move |resource| self.lives_on(resource, |name| name_key(name) == name_key(host), now))
    }

    /// The explicitly accessed resources that live on this one, or on something that lives on it.
    pub(crate) fn explicit_children_of<'a>(
        &'a self,
        parent: &'a ResolvedResource,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a ResolvedResource> {
        self.explicit_entries(now).filter(move |resource| {
            resource.id != parent.id
                && may_host(parent.id.kind())
                && self.lives_on(resource, |name| parent.answers_as_host(name), now)
        })
    }

    /// Whether a host of this resource, or a host of that host, is the one that is asked about.
    fn lives_on(&self, resource: &ResolvedResource, is_it: impl Fn(&str) -> bool, now: Timestamp) -> bool {
        let Some(host) = resource.id.host() else {
            return false;
        };
        if is_it(host) {
            return true;
        }
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut level = vec![name_key(host)];
        for _ in 0..MAX_DEPTH {
            let mut above = Vec::new();
            for name in level {
                for host in self.hosts_named(&name, now) {
                    // A Docker host is a machine that another source knows by the same name.
                    let same = match host.id.kind() {
                        ResourceKind::DockerHost | ResourceKind::Host => Some(host.name.as_str()),
                        _ => None,
                    };
                    // Another name of the host that it lives on is that host.
                    let other_names = host
                        .aliases
                        .iter()
                        .map(String::as_str)
                        .chain([host.name.as_str()]);
                    if is_machine(host.id.kind()) && other_names.into_iter().any(&is_it) {
                        return true;
                    }
                    for next in host.id.host().into_iter().chain(same) {
                        if is_it(next) {
                            return true;
                        }
                        above.push(name_key(next));
                    }
                }
                seen.insert(name);
            }
            above.retain(|name| !seen.contains(name));
            if above.is_empty() {
                return false;
            }
            level = above;
        }
        false
    }

    /// What something that names `host` (in lower case) as its host may live on.
    fn hosts_named(&self, host: &str, now: Timestamp) -> impl Iterator<Item = &ResolvedResource> {
        let by_name = self.names.get(host).into_iter().flatten();
        let by_uid = self.uids.get(host).into_iter().flatten();
        by_name
            .chain(by_uid)
            .filter_map(|id| self.entries.get(id))
            .filter(move |entry| self.live(entry, now) && may_host(entry.resource.id.kind()))
            .map(|entry| &*entry.resource)
    }

    fn explicit_entries(&self, now: Timestamp) -> impl Iterator<Item = &ResolvedResource> {
        self.asked_for
            .iter()
            .filter_map(|id| self.entries.get(id))
            .filter(move |entry| self.explicit(entry, now) && self.live(entry, now))
            .map(|entry| &*entry.resource)
    }

    pub(crate) fn clear(&mut self, keep: Keep) {
        match keep {
            Keep::Nothing => self.entries.clear(),
            Keep::Pinned => self.entries.retain(|_, entry| entry.pinned),
        }
        self.names.clear();
        self.uids.clear();
        self.asked_for.retain(|id| self.entries.contains_key(id));
        let kept: Vec<Arc<ResolvedResource>> = self
            .entries
            .values()
            .map(|entry| Arc::clone(&entry.resource))
            .collect();
        for resource in &kept {
            self.index(resource);
        }
    }

    pub(crate) fn expire(&mut self, now: Timestamp) {
        let gone: Vec<ResourceId> = self
            .entries
            .values()
            .filter(|entry| !self.live(entry, now))
            .map(|entry| entry.resource.id.clone())
            .collect();
        for id in gone {
            self.remove(&id);
        }
    }

    fn evict(&mut self) -> bool {
        let oldest = self
            .entries
            .values()
            .filter(|entry| !entry.pinned)
            .min_by_key(|entry| entry.used_order)
            .map(|entry| entry.resource.id.clone());
        oldest.is_some_and(|id| self.remove(&id).is_some())
    }

    fn remove(&mut self, id: &ResourceId) -> Option<Entry> {
        let entry = self.entries.remove(id)?;
        self.asked_for.remove(id);
        for name in names_of(&entry.resource) {
            forget(&mut self.names, &name, id);
        }
        forget(&mut self.uids, &name_key(id.uid()), id);
        Some(entry)
    }

    fn index(&mut self, resource: &ResolvedResource) {
        for name in names_of(resource) {
            self.names.entry(name).or_default().insert(resource.id.clone());
        }
        let uid = name_key(resource.id.uid());
        self.uids.entry(uid).or_default().insert(resource.id.clone());
    }

    fn is_live(&self, id: &ResourceId, now: Timestamp) -> bool {
        self.entries.get(id).is_some_and(|entry| self.live(entry, now))
    }

    fn live(&self, entry: &Entry, now: Timestamp) -> bool {
        now.duration_since(entry.used_at) <= self.limits.ttl
    }

    fn explicit(&self, entry: &Entry, now: Timestamp) -> bool {
        entry
            .explicit_at
            .is_some_and(|at| now.duration_since(at) <= self.limits.explicit_window)
    }
}

fn forget(index: &mut BTreeMap<String, BTreeSet<ResourceId>>, name: &str, id: &ResourceId) {
    if let Some(ids) = index.get_mut(name) {
        ids.remove(id);
        if ids.is_empty() {
            index.remove(name);
        }
    }
}

/// What a reset keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keep {
    /// Nothing: everything must be discovered again.
    Nothing,
    /// What is pinned.
    Pinned,
}

/// The names a resource is found by. One that reads as the id of something else, in whatever case, is none.
fn names_of(resource: &ResolvedResource) -> BTreeSet<String> {
    std::iter::once(&resource.name)
        .chain(&resource.aliases)
        .filter(|name| {
            let poses = |text: &str| text.parse::<ResourceId>().is_ok_and(|id| id != resource.id);
            !poses(name) && !poses(&name.to_lowercase())
        })
        .map(|name| name_key(name))
        .filter(|name| !name.is_empty())
        .filter(|name| name.parse::<ResourceId>().map_or(true, |id| id == resource.id))
        .collect()
}

/// Whether a resource of this kind is a machine, whose names and addresses all name the same thing.
const fn is_machine(kind: ResourceKind) -> bool {
    matches!(
        kind,
        ResourceKind::Node
            | ResourceKind::Host
            | ResourceKind::DockerHost
            | ResourceKind::Vm
            | ResourceKind::Lxc
    )
}

/// Whether something can live on a resource of this kind: an alert named like a host is no host.
const fn may_host(kind: ResourceKind) -> bool {
    !matches!(
        kind,
        ResourceKind::Alert | ResourceKind::Note | ResourceKind::ToolServer
    )
}
