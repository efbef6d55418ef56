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
            if let Some(without) = replaced(&shown, form, &format!("[from {}]", value.origin)) {
                shown = Cow::Owned(without);
            }
        }
    }
    shown
}

/// The text with a word in place of a value, in whatever case the value is written: the host of an address is shown in small
/// letters. Nothing if the value is not in the text.
fn replaced(text: &str, value: &str, word: &str) -> Option<String> {
    // Letters outside ASCII stay as they are, so that places in the two texts are the same.
    let (small, wanted) = (text.to_ascii_lowercase(), value.to_ascii_lowercase());
    let mut without = String::new();
    let mut from = 0;
    while let Some(at) = small[from..].find(&wanted) {
        without.push_str(&text[from..from + at]);
        without.push_str(word);
        from += at + wanted.len();
    }
    (from > 0).then(|| without + &text[from..])
}

/// The web addresses and the parts of them: they are masked in what is kept, too, because errors of a connection repeat them,
/// the host in small letters.
pub(crate) fn addresses() -> Vec<String> {
    let known = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    let parts = known.iter().filter(|value| value.in_address);
    parts
        .flat_map(|value| [value.value.clone(), value.value.to_ascii_lowercase()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_value_is_found_in_any_case_and_everywhere() {
        for (text, value, expected) in [
            ("nothing here", "S3cret-Host", None),
            (
                "https://s3cret-host.example.org and S3cret-Host and S3CRET-HOST!",
                "S3cret-Host",
                Some("https://[x].example.org and [x] and [x]!"),
            ),
            ("Ünïcode s3cret-hostÜ", "S3CRET-Host", Some("Ünïcode [x]Ü")),
            ("aaaa", "aa", Some("[x][x]")),
        ] {
            assert_eq!(replaced(text, value, "[x]").as_deref(), expected, "{text}");
        }
    }
}
