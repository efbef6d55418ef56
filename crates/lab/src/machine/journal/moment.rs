//! Reads points in time as `journalctl` takes them.

/// Microseconds since 1970 of what was said, `now` being now. Machines have the time of UTC.
pub(crate) fn parse(text: &str, now: i64) -> Option<i64> {
    const DAY: i64 = 86_400 * 1_000_000;
    let text = text.trim();
    let midnight = now - now.rem_euclid(DAY);
    match text {
        "now" => return Some(now),
        "today" => return Some(midnight),
        "yesterday" => return Some(midnight - DAY),
        "tomorrow" => return Some(midnight + DAY),
        _ => {}
    }
    if let Some(seconds) = text.strip_prefix('@') {
        return microseconds(seconds.parse().ok()?);
    }
    if let Some(past) = text.strip_suffix(" ago").or_else(|| text.strip_prefix('-')) {
        return now.checked_sub(span(past)?);
    }
    if let Some(future) = text.strip_prefix('+') {
        return now.checked_add(span(future)?);
    }
    absolute(text, midnight)
}

fn absolute(text: &str, midnight: i64) -> Option<i64> {
    let text = text
        .strip_suffix(" UTC")
        .or_else(|| text.strip_suffix('Z'))
        .unwrap_or(text);
    if !text.contains('-') {
        let time: jiff::civil::Time = with_seconds(text).parse().ok()?;
        let since = time.duration_since(jiff::civil::Time::midnight());
        return i64::try_from(since.as_micros())
            .ok()
            .map(|since| midnight + since);
    }
    let (day, time) = match text.split_once([' ', 'T']) {
        // A name of a day in front says nothing new.
        Some((word, rest)) if word.chars().all(char::is_alphabetic) => {
            rest.split_once(' ').unwrap_or((rest, "00:00:00"))
        }
        Some(parts) => parts,
        None => (text, "00:00:00"),
    };
    let (time, offset) = match time.find(['+', '-']) {
        Some(at) => time.split_at(at),
        None => (time, "Z"),
    };
    let offset = match offset.len() {
        5 => format!("{}:{}", &offset[..3], &offset[3..]),
        _ => offset.to_owned(),
    };
    let moment: jiff::Timestamp = format!("{day}T{}{offset}", with_seconds(time)).parse().ok()?;
    Some(moment.as_microsecond())
}

fn with_seconds(time: &str) -> String {
    if time.matches(':').count() == 1 {
        format!("{time}:00")
    } else {
        time.to_owned()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what does not fit is no point in time"
)]
fn microseconds(seconds: f64) -> Option<i64> {
    (seconds.abs() < 1e12).then_some((seconds * 1e6) as i64)
}

/// `10 min`, `10m`, `1 hour 30 minutes`, `2h`.
fn span(text: &str) -> Option<i64> {
    let mut sum = 0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let after = after.trim_start();
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let seconds = match unit {
            "" | "s" | "sec" | "second" | "seconds" => 1.0,
            "ms" | "msec" => 0.001,
            "us" | "usec" => 0.000_001,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            "month" | "months" => 2_629_800.0,
            "y" | "year" | "years" => 31_557_600.0,
            _ => return None,
        };
        sum += microseconds(number * seconds)?;
        rest = after.trim_start();
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn points_in_time() {
        // Sun 2026-11-15 05:28:26 UTC
        let now = 1_794_720_506_000_000;
        let second = 1_000_000;
        let cases = [
            ("now", Some(now)),
            ("10 min ago", Some(now - 600 * second)),
            ("-10m", Some(now - 600 * second)),
            ("1 hour ago", Some(now - 3600 * second)),
            ("1h 30min ago", Some(now - 5400 * second)),
            ("@1794720506", Some(now)),
            ("2026-11-15 05:28:26", Some(now)),
            ("2026-11-15 05:28", Some(now - 26 * second)),
            ("2026-11-15T05:28:26Z", Some(now)),
            ("2026-11-15T06:28:26+0100", Some(now)),
            ("Sun 2026-11-15 05:28:26 UTC", Some(now)),
            ("05:28:26", Some(now)),
            ("today", Some(now - (5 * 3600 + 28 * 60 + 26) * second)),
            ("2026-11-15", Some(now - (5 * 3600 + 28 * 60 + 26) * second)),
            ("when it broke", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text, now), expected, "{text}");
        }
    }
}
