//! Who has how many of something of which each may have only so many.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who has how many. Cheap to clone.
#[derive(Debug)]
pub(crate) struct Seats<K> {
    most: Arc<AtomicUsize>,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K> Clone for Seats<K> {
    fn clone(&self) -> Self {
        Self {
            most: Arc::clone(&self.most),
            taken: Arc::clone(&self.taken),
        }
    }
}

/// One of them. Counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat<K: Eq + Hash> {
    seats: Seats<K>,
    whose: K,
}

impl<K: Eq + Hash + Clone> Seats<K> {
    /// So many for each; at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: Arc::new(AtomicUsize::new(most.max(1))),
            taken: Arc::default(),
        }
    }

    /// How many each may have.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// From now on so many for each; at least one. Who has more keeps them.
    pub(crate) fn allow(&self, most: usize) {
        self.most.store(most.max(1), Ordering::Relaxed);
    }

    /// One more; nothing if they have all of theirs already.
    pub(crate) fn take(&self, whose: K) -> Option<Seat<K>> {
        let mut taken = self.taken();
        let count = taken.entry(whose.clone()).or_default();
        if *count >= self.most() {
            return None;
        }
        *count += 1;
        drop(taken);
        Some(Seat {
            seats: self.clone(),
            whose,
        })
    }
}

impl<K> Seats<K> {
    /// What a panic elsewhere left is still only numbers.
    fn taken(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Seat<K> {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        if let Some(count) = taken.get_mut(&self.whose) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_their_own_and_gets_them_back() {
        let seats = Seats::new(2);
        let mine: Vec<Seat<&str>> = (0..5).filter_map(|_| seats.take("ada")).collect();
        assert_eq!(mine.len(), 2);
        assert!(seats.take("eve").is_some());
        drop(mine);
        assert!(seats.take("ada").is_some());
        assert!(seats.taken().is_empty(), "nobody who left is remembered");
        assert!(Seats::new(0).take("ada").is_some(), "one is always allowed");
    }
}
