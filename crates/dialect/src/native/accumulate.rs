//! Puts tool calls together from the pieces in which wires send them.

use crate::{CallDelta, Limits, NativeArguments, NativeCall};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
struct Draft {
    id: Option<String>,
    name: String,
    arguments: String,
}

#[derive(Debug, Clone)]
enum Slot {
    Draft(Draft),
    Whole(NativeCall),
}

impl Slot {
    fn id(&self) -> Option<&str> {
        match self {
            Self::Draft(draft) => draft.id.as_deref(),
            Self::Whole(call) => call.id.as_deref(),
        }
    }
}

/// Where a call stands.
#[derive(Debug, Clone, Copy)]
enum Place {
    Slot(usize),
    /// Past the limit: it is counted, not kept.
    Nowhere,
}

/// The calls of one reply, as far as they have arrived.
#[derive(Debug, Clone)]
pub(crate) struct Accumulator {
    limit: usize,
    slots: Vec<Slot>,
    over_limit: usize,
    /// Which call an index means at present.
    by_index: BTreeMap<u32, Place>,
    by_id: BTreeMap<String, Place>,
    latest: Option<Place>,
}

impl Accumulator {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limit: limits.calls(),
            slots: Vec::new(),
            over_limit: 0,
            by_index: BTreeMap::new(),
            by_id: BTreeMap::new(),
            latest: None,
        }
    }

    /// How many calls there are, those past the limit included.
    pub(crate) const fn count(&self) -> usize {
        self.slots.len() + self.over_limit
    }

    /// How many calls are past the limit.
    pub(crate) const fn over_limit(&self) -> usize {
        self.over_limit
    }

    pub(crate) fn push_whole(&mut self, call: NativeCall) {
        self.latest = Some(self.add(Slot::Whole(call)));
    }

    pub(crate) fn push(&mut self, delta: &CallDelta<'_>) {
        let CallDelta {
            index,
            id,
            name,
            arguments,
        } = *delta;
        let id = id.filter(|id| !id.is_empty());
        let place = match self.find(index, id) {
            Some(place) => place,
            None => self.add(Slot::Draft(Draft::default())),
        };
        self.latest = Some(place);
        if let Some(index) = index {
            self.by_index.insert(index, place);
        }
        if let Some(id) = id {
            self.by_id.insert(id.to_owned(), place);
        }
        let Place::Slot(at) = place else { return };
        let Some(Slot::Draft(draft)) = self.slots.get_mut(at) else {
            return;
        };
        if draft.id.is_none() {
            draft.id = id.map(str::to_owned);
        }
        if let Some(name) = name.filter(|&name| name != draft.name) {
            draft.name.push_str(name);
        }
        draft.arguments.push_str(arguments);
    }

    /// The call that the piece belongs to.
    fn find(&self, index: Option<u32>, id: Option<&str>) -> Option<Place> {
        match (index, id) {
            (Some(index), id) => {
                let place = *self.by_index.get(&index)?;
                match (self.slot(place).and_then(Slot::id), id) {
                    (Some(known), Some(id)) if known != id => self.by_id.get(id).copied(),
                    _ => Some(place),
                }
            }
            (None, Some(id)) => self.by_id.get(id).copied(),
            (None, None) => self
                .latest
                .filter(|&place| !matches!(self.slot(place), Some(Slot::Whole(_)))),
        }
    }

    fn slot(&self, place: Place) -> Option<&Slot> {
        match place {
            Place::Slot(at) => self.slots.get(at),
            Place::Nowhere => None,
        }
    }

    fn add(&mut self, slot: Slot) -> Place {
        if self.slots.len() >= self.limit {
            self.over_limit += 1;
            return Place::Nowhere;
        }
        self.slots.push(slot);
        Place::Slot(self.slots.len() - 1)
    }

    pub(crate) fn into_calls(self) -> Vec<NativeCall> {
        let finish = |slot| match slot {
            Slot::Whole(call) => call,
            Slot::Draft(Draft { id, name, arguments }) => NativeCall {
                id,
                name,
                arguments: NativeArguments::Text(arguments),
            },
        };
        self.slots.into_iter().map(finish).collect()
    }
}
