//! How long and how much: the numbers that end a command, and how large they may be.
//!
//! A count or a time ends a command only if that end comes soon. `timeout 5 tail -f x` ends; `timeout 9999d tail -f x` does
//! not, as far as the person who waits for it is concerned.

/// The longest time that a bound may stand for, in seconds. Also the longest time that all waiting of one line may take.
pub(crate) const MOST_SECONDS: f64 = 3600.0;

/// The most rounds of a sampler or a check.
const MOST_ROUNDS: f64 = 100_000.0;

/// The most lines, packets or messages.
pub(crate) const MOST_LINES: f64 = 1_000_000.0;

/// The most bytes that are read from a file without an end.
const MOST_BYTES: f64 = 1_073_741_824.0;

/// How often a loop runs its body where that is not known: over files, over lines, over what `find` finds.
pub(crate) const UNKNOWN_TURNS: f64 = 100.0;

const DAY: i64 = 86_400;

/// What a number without a unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl Unit {
    const fn in_seconds(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
        }
    }
}

/// A number of lines, packets or messages that ends what follows. `+5` is where to start, `all` is no number.
pub(crate) fn ends_after_lines(text: &str) -> bool {
    whole(text).is_some_and(|lines| lines > 0.0 && lines <= MOST_LINES)
}

/// A number of bytes that ends also a file without an end: `100`, `16K`, `2MB`.
pub(crate) fn ends_after_bytes(text: &str) -> bool {
    bytes(text).is_some_and(|bytes| bytes > 0.0 && bytes <= MOST_BYTES)
}

/// Whether so many blocks of this size are few enough: `dd bs=1M count=5`.
pub(crate) fn few_bytes(block: &str, count: &str) -> bool {
    let product = |text: &str| -> Option<f64> { text.split('x').map(bytes).product() };
    match (product(block), product(count)) {
        (Some(block), Some(count)) => count > 0.0 && block * count <= MOST_BYTES,
        _ => false,
    }
}

/// Whether this is an amount at all: a number with or without a sign and a unit, or a word for no limit.
pub(crate) fn is_amount(text: &str) -> bool {
    let number = text.trim().trim_start_matches(['+', '-', '.']);
    number.starts_with(|c: char| c.is_ascii_digit())
        && number
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | ',' | ' ' | '%' | ':'))
        || matches!(
            text.to_ascii_lowercase().as_str(),
            "all" | "inf" | "infinity" | "infinite" | "unlimited" | "none" | "never" | "forever"
        )
}

/// A number of rounds that ends.
pub(crate) fn rounds(text: &str) -> Option<f64> {
    whole(text).filter(|rounds| *rounds > 0.0 && *rounds <= MOST_ROUNDS)
}

/// A time limit that limits: not nothing, which often means for ever, and not too long.
pub(crate) fn time_limit(text: &str, unit: Unit) -> Option<f64> {
    time(text, unit).filter(|seconds| *seconds > 0.0 && *seconds <= MOST_SECONDS)
}

/// A length of time, in seconds: `5`, `0.5`, `10s`, `1h30m`, `500ms`, `5 min`.
pub(crate) fn time(text: &str, unit: Unit) -> Option<f64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')))
            .unwrap_or(rest.len());
        let number: f64 = rest[..end].replace(',', ".").parse().ok()?;
        rest = rest[end..].trim_start();
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let each = match &rest[..end] {
            "" => unit.in_seconds(),
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" | "msec" => 1e-3,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            _ => return None,
        };
        rest = rest[end..].trim_start();
        sum += number * each;
    }
    sum.is_finite().then_some(sum)
}

/// A moment that has passed wherever this runs, in seconds since 1970: 15 November 2026. The analysis has no clock. A decision
/// that is asked again years later must have the same answer, so a date after this day is an end that may lie ahead.
pub(crate) const PASSED: i64 = 1_794_700_800;

/// Whether a moment has passed or is near: `10m`, `0s`, `now`, `2 hours ago`, `2026-01-31T10:00`, `1767225600`. `now` is in
/// seconds since 1970.
pub(crate) fn comes_soon(text: &str, now: i64) -> bool {
    let text = text.trim();
    if matches!(text, "now" | "today" | "yesterday") || text.ends_with(" ago") {
        return true;
    }
    let soon = now.saturating_add(DAY);
    if let Some(date) = date(text) {
        // Time zones: a day of this date could begin half a day earlier or later.
        return date <= soon;
    }
    // A moment as a number has nine digits or more since 1973; docker takes parts of a second behind it.
    let whole = text.split('.').next().unwrap_or(text);
    if whole.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return whole.parse::<i64>().is_ok_and(|moment| moment <= soon);
    }
    match text.strip_prefix(['-', '+', '@']) {
        // Some programs count backwards with the sign, some without.
        Some(rest) if !text.starts_with('@') => {
            time(rest, Unit::Seconds).is_some_and(|seconds| seconds <= MOST_SECONDS)
        }
        Some(rest) => rest.parse::<i64>().is_ok_and(|moment| moment <= soon),
        None => time(text, Unit::Seconds).is_some(),
    }
}

/// The beginning of a date, `2026-01-31…`, in seconds since 1970.
pub(crate) fn date(text: &str) -> Option<i64> {
    let mut parts = text.get(..10)?.split('-');
    let mut part = |digits: usize| -> Option<i64> {
        let part = parts.next()?;
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| part.parse().ok())
            .flatten()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 by the rule of the Gregorian calendar, with years that begin in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(days * DAY)
}

fn whole(text: &str) -> Option<f64> {
    (!text.is_empty() && text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn bytes(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let each = match &text[end..] {
        "" | "c" | "B" => 1.0,
        "w" => 2.0,
        "b" => 512.0,
        "kB" | "KB" => 1e3,
        "k" | "K" | "KiB" => 1024.0,
        "MB" => 1e6,
        "m" | "M" | "MiB" => 1_048_576.0,
        "GB" => 1e9,
        "g" | "G" | "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    whole(&text[..end]).map(|number| number * each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_programs_write_them() {
        for (text, unit, seconds) in [
            ("5", Unit::Seconds, Some(5.0)),
            ("0.5", Unit::Seconds, Some(0.5)),
            ("10s", Unit::Seconds, Some(10.0)),
            ("1h30m", Unit::Seconds, Some(5400.0)),
            ("500ms", Unit::Seconds, Some(0.5)),
            ("5 min", Unit::Seconds, Some(300.0)),
            ("1000", Unit::Milliseconds, Some(1.0)),
            ("2s", Unit::Milliseconds, Some(2.0)),
            ("1000000", Unit::Microseconds, Some(1.0)),
            ("2d", Unit::Seconds, Some(172_800.0)),
            ("infinity", Unit::Seconds, None),
            ("", Unit::Seconds, None),
            ("-1", Unit::Seconds, None),
            ("1e9", Unit::Seconds, None),
            ("0x10", Unit::Seconds, None),
            ("5 parsecs", Unit::Seconds, None),
        ] {
            let found = time(text, unit);
            let same = match (found, seconds) {
                (Some(found), Some(seconds)) => (found - seconds).abs() < 1e-9,
                (found, seconds) => found.is_none() && seconds.is_none(),
            };
            assert!(same, "{text}: {found:?}, not {seconds:?}");
        }
    }

    #[test]
    fn a_moment_counts_only_if_it_comes_soon() {
        // 2026-11-16T08:00:00Z
        let now = 1_794_816_000;
        for soon in [
            "now",
            "yesterday",
            "10m",
            "0s",
            "1h30m",
            "-10min",
            "+5m",
            "10 min ago",
            "3 days ago",
            "2026-11-16T07:00:00",
            "2026-11-16 09:30:00",
            "2026-11-16",
            "1999-12-31T23:59:59Z",
            "1794816000",
            "1794816000.000000001",
            "@1794816000",
        ] {
            assert!(comes_soon(soon, now), "{soon}");
        }
        for later in [
            "2026-11-18",
            "2027-01-01T00:00:00Z",
            "2099-01-01",
            "9999-12-31T23:59:59Z",
            "4070908800",
            "@4070908800",
            "-99999h",
            "+2h",
            "tomorrow",
            "",
            "2026-13-01",
        ] {
            assert!(!comes_soon(later, now), "{later}");
        }
    }

    #[test]
    fn counts_end_only_if_they_are_small_enough() {
        assert!(ends_after_lines("20") && ends_after_lines("1000000"));
        for text in [
            "0",
            "",
            "+1",
            "-1",
            "all",
            "1000001",
            "99999999999999999999",
            "1e3",
        ] {
            assert!(!ends_after_lines(text), "{text}");
        }
        assert!(ends_after_bytes("16") && ends_after_bytes("1G") && ends_after_bytes("100kB"));
        for text in ["0", "-5", "+5", "2G", "1T", "99999999999", ""] {
            assert!(!ends_after_bytes(text), "{text}");
        }
        assert!(few_bytes("1M", "5") && few_bytes("2x512", "1") && few_bytes("512", "1000000"));
        for (block, count) in [("1M", "99999"), ("1G", "2"), ("1", "0"), ("x", "1"), ("1M", "")] {
            assert!(!few_bytes(block, count), "{block} × {count}");
        }
    }
}
