//! The values that the configuration took from the environment or from files: no error, no log line and no check of the
//! `doctor` repeats them.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use interlock_config::Outside;

/// A shorter value says little, and would be found in the middle of other words.
const SHORTEST: usize = 6;

static VALUES: Mutex<Vec<Outside>> = Mutex::new(Vec::new());

/// Notes the values of a configuration.
pub(crate) fn note(values: &[Outside]) {
    let mut known = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    for value in values {
        if value.value.len() >= SHORTEST && !known.contains(value) {
            known.push(value.clone());
        }
    }
    // The longest first: a value can be part of another.
    known.sort_by_key(|value| std::cmp::Reverse(value.value.len()));
}

/// The text, with the name of its origin in place of each such value.
pub(crate) fn hide(text: &str) -> Cow<'_, str> {
    let known = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut shown = Cow::Borrowed(text);
    for value in known.iter() {
        // As it is, and as JSON and `Debug` write it.
        let quoted = serde_json::to_string(&value.value).unwrap_or_default();
        let quoted = quoted.trim_matches('"');
        for form in [value.value.as_str(), quoted] {
            if shown.contains(form) {
                shown = Cow::Owned(shown.replace(form, &format!("[from {}]", value.origin)));
            }
        }
    }
    shown
}

/// The web addresses among them: they are masked in what is kept, too, because errors of a connection repeat them.
pub(crate) fn addresses() -> Vec<String> {
    let known = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    let values = known.iter().map(|value| value.value.clone());
    values.filter(|value| value.contains("://")).collect()
}
