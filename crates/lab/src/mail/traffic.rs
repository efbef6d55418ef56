//! How much mail there is: a rate for each hour, the same whenever it is asked for.

use jiff::Timestamp;

use crate::docker::wire::digest_number;

const HOUR: i64 = 3600;
/// The longest span that is summed up, in hours.
const LONGEST: i64 = 24 * 366;

/// What mail came to over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Flow {
    pub(super) inward: f64,
    pub(super) outward: f64,
    pub(super) spam: f64,
    pub(super) viruses: f64,
    pub(super) bounces: f64,
    pub(super) rbl: f64,
    pub(super) pregreet: f64,
    pub(super) greylisted: f64,
}

impl Flow {
    fn add(&mut self, other: &Self, part: f64) {
        self.inward += other.inward * part;
        self.outward += other.outward * part;
        self.spam += other.spam * part;
        self.viruses += other.viruses * part;
        self.bounces += other.bounces * part;
        self.rbl += other.rbl * part;
        self.pregreet += other.pregreet * part;
        self.greylisted += other.greylisted * part;
    }
}

/// What mail came to between these seconds; never from the time to come.
pub(super) fn between(from: i64, to: i64) -> Flow {
    let to = to.min(Timestamp::now().as_second());
    let mut flow = Flow::default();
    let first = from
        .div_euclid(HOUR)
        .max(to.div_euclid(HOUR).saturating_sub(LONGEST));
    for hour in first..=to.div_euclid(HOUR) {
        let begin = hour.saturating_mul(HOUR).max(from);
        let end = hour.saturating_add(1).saturating_mul(HOUR).min(to);
        if end > begin {
            flow.add(&hourly(hour), span(end - begin) / span(HOUR));
        }
    }
    flow
}

#[expect(clippy::cast_precision_loss, reason = "spans of seconds within a year")]
fn span(seconds: i64) -> f64 {
    seconds as f64
}

/// A number between 0 and 1 that an hour has for some purpose.
fn chance(hour: i64, purpose: u8) -> f64 {
    let mut bytes = hour.to_be_bytes().to_vec();
    bytes.push(purpose);
    let number = u32::try_from(digest_number(&bytes) >> 33).unwrap_or(0);
    f64::from(number) / f64::from(u32::MAX >> 1)
}

/// The flow of one hour since 1970.
fn hourly(hour: i64) -> Flow {
    let of_day = span(hour.rem_euclid(24));
    let weekend = matches!(hour.div_euclid(24).rem_euclid(7), 2 | 3);
    let day = 0.25 + 0.75 * (1.0 - ((of_day - 13.0).abs() / 12.0)).max(0.0);
    let level = day * if weekend { 0.4 } else { 1.0 };
    let inward = 220.0 * level * (0.8 + 0.4 * chance(hour, 0));
    Flow {
        inward,
        outward: 70.0 * level * (0.7 + 0.6 * chance(hour, 1)),
        spam: inward * (0.12 + 0.1 * chance(hour, 2)),
        viruses: if chance(hour, 3) > 0.8 { 1.0 } else { 0.0 },
        bounces: inward * 0.01 * chance(hour, 4),
        rbl: 400.0 * (0.6 + 0.8 * chance(hour, 5)),
        pregreet: 60.0 * chance(hour, 6),
        greylisted: 90.0 * level * chance(hour, 7),
    }
}

/// A count of whole messages.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and far below the limit"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn parts_of_a_span_sum_up_to_it() {
        let (from, to) = (1_700_000_123, 1_700_400_456);
        let whole = between(from, to).inward;
        let parts = between(from, 1_700_100_000).inward + between(1_700_100_000, to).inward;
        assert!((whole - parts).abs() < 1e-6, "{whole} {parts}");
        assert!(whole > 1000.0);
        for (from, to) in [(i64::MIN, i64::MAX), (5, 4), (i64::MAX, i64::MIN)] {
            assert!(between(from, to).inward >= 0.0);
        }
    }
}
