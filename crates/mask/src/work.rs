//! Counts what the finders do, in tests alone: growth is measured by this count and not by a clock.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Says that so many bytes were looked at.
#[inline]
pub(crate) fn looked_at(bytes: usize) {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + bytes as u64));
    #[cfg(not(test))]
    let _ = bytes;
}

/// What was counted since the last call.
#[cfg(test)]
pub(crate) fn take() -> u64 {
    STEPS.with(|steps| steps.replace(0))
}
