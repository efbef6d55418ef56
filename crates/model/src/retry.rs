//! When to ask again.

use crate::Retries;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use std::time::Duration;

/// How long to wait after the attempt of this number (from 1) failed. `random` is drawn from 0 to 1.
///
/// The wait is drawn evenly up to a bound that doubles each time, so that many clients do not come back together. What
/// the provider asks for is waited for, with a little more for the same reason, up to the longest wait of all.
pub(crate) fn wait(retries: &Retries, attempt: u32, asked: Option<Duration>, random: f64) -> Duration {
    let base = retries.base.get();
    let cap = retries.cap.get();
    let random = random.clamp(0.0, 1.0);
    if let Some(asked) = asked {
        return asked.saturating_add(base.min(cap).mul_f64(random)).min(cap);
    }
    let doubled = base.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1).min(20)));
    doubled.min(cap).mul_f64(random)
}

/// How long a provider asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.
pub(crate) fn asked(header: impl Fn(&str) -> Option<String>, now: Timestamp) -> Option<Duration> {
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let text = header("retry-after")?;
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    // A date that has passed: at once.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn waits_double_up_to_the_cap() {
        let retries = Retries {
            attempts: 9,
            base: Span::from_millis(500),
            cap: Span::from_secs(30),
        };
        let millis = |attempt, asked: Option<u64>, random| {
            wait(&retries, attempt, asked.map(Duration::from_millis), random).as_millis()
        };
        let cases = [
            (millis(1, None, 1.0), 500),
            (millis(2, None, 1.0), 1000),
            (millis(3, None, 0.5), 1000),
            (millis(7, None, 1.0), 30_000),
            (millis(4_000_000_000, None, 1.0), 30_000),
            (millis(1, None, 0.0), 0),
            (millis(1, Some(2000), 0.0), 2000),
            (millis(1, Some(2000), 1.0), 2500),
            (millis(1, Some(3_600_000), 0.0), 30_000),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn providers_ask_in_seconds_or_by_a_date() {
        let now: Timestamp = "1994-11-06T08:49:30Z".parse().expect("a time");
        let cases = [
            ("retry-after", "7", Some(7000)),
            ("retry-after", " 1.5 ", Some(1500)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(7000)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-3", None),
            ("retry-after", "NaN", None),
            ("retry-after-ms", "250", Some(250)),
            ("x-other", "7", None),
        ];
        for (name, value, millis) in cases {
            let header = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(
                asked(header, now),
                millis.map(Duration::from_millis),
                "{name}: {value}"
            );
        }
    }
}
