//! What masking a text may cost.
//!
//! The finders say how many bytes they looked at. The count is kept for the thread, because a text is masked on one thread
//! from beginning to end. A text that would cost more than its budget is withheld. The growth tests use the same count.

use std::cell::Cell;

thread_local! {
    static SPENT: Cell<u64> = const { Cell::new(0) };
    static BUDGET: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Each call of a rule costs as much as reading so many bytes.
const EACH: u64 = 96;

/// Says that so many bytes were looked at.
#[inline]
pub(crate) fn looked_at(bytes: usize) {
    SPENT.with(|spent| spent.set(spent.get().saturating_add(bytes as u64 + EACH)));
}

/// Whether there is anything left of the budget. Finders stop when there is not: what they found is thrown away.
#[inline]
pub(crate) fn within_budget() -> bool {
    SPENT.with(Cell::get) <= BUDGET.with(Cell::get)
}

/// The budget for everything that this thread does while it exists. Inside another one, the other one holds.
pub(crate) struct Meter {
    outer: Option<(u64, u64)>,
}

impl Meter {
    pub(crate) fn start(budget: impl FnOnce() -> u64) -> Self {
        let running = BUDGET.with(Cell::get) != u64::MAX;
        let outer = (!running).then(|| {
            (
                SPENT.with(|spent| spent.replace(0)),
                BUDGET.with(|now| now.replace(budget())),
            )
        });
        Self { outer }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some((spent, budget)) = self.outer {
            // What was spent inside is part of what is counted outside.
            SPENT.with(|now| now.set(now.get().saturating_add(spent)));
            BUDGET.with(|now| now.set(budget));
        }
    }
}

/// What was counted since the last call.
#[cfg(test)]
pub(crate) fn take() -> u64 {
    SPENT.with(|spent| spent.replace(0))
}
