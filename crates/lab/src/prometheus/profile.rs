//! The shape of a series' past: a daily wave and noise, the same for the same series, ending in the present.
#![expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of this century are exact in a float"
)]

use std::f64::consts::TAU;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;

use super::labels::Labels;

const DAY: f64 = 86_400.0;
/// In the last quarter of an hour the noise fades, so that the past meets the present.
const FADE: f64 = 900.0;

/// How a series behaved before now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Profile {
    /// The same value all day.
    Flat,
    /// A value that goes up and down.
    Gauge {
        /// Height of the daily wave, from its middle.
        swing: f64,
        /// Height of the noise.
        noise: f64,
        /// It never goes below.
        min: f64,
        /// It never goes above.
        max: f64,
    },
    /// A value that only grows; there is no history from before it was zero.
    Counter {
        /// Its average growth.
        per_second: f64,
        /// Share of the growth that follows the time of day, 0 to 1.
        swing: f64,
    },
}

/// The past of one series.
#[derive(Debug, Clone, Copy)]
pub struct History {
    profile: Profile,
    seed: u64,
    now: f64,
    current: f64,
}

impl Profile {
    /// The past of a series that has the value `current` now.
    pub fn ending_at(&self, labels: &Labels, now: Timestamp, current: f64) -> History {
        let mut hasher = DefaultHasher::new();
        labels.hash(&mut hasher);
        History {
            profile: *self,
            seed: hasher.finish(),
            now: seconds(now),
            current,
        }
    }
}

impl History {
    /// The value at a time in the past; nothing if the series did not exist yet.
    pub fn value(&self, at: Timestamp) -> Option<f64> {
        let at = seconds(at);
        match self.profile {
            Profile::Flat => Some(self.current),
            Profile::Gauge {
                swing,
                noise,
                min,
                max,
            } => {
                let wave = swing * (self.wave(at) - self.wave(self.now));
                let fade = ((self.now - at) / FADE).clamp(0.0, 1.0);
                // The present is what it is, even outside of the limits.
                let (low, high) = (min.min(self.current), max.max(self.current));
                Some(
                    (self.current + wave + noise * fade * self.noise(at))
                        .max(low)
                        .min(high),
                )
            }
            Profile::Counter { per_second, swing } => {
                let past = per_second * (self.now - at);
                let share = per_second * swing.clamp(0.0, 1.0);
                let wave = share * (self.risen(self.now) - self.risen(at));
                let value = self.current - past - wave;
                (value >= 0.0).then_some(value)
            }
        }
    }

    /// Each series has its busy hour at another time of the day.
    fn phase(&self) -> f64 {
        (self.seed % 86_400) as f64
    }

    fn wave(&self, at: f64) -> f64 {
        ((at + self.phase()) / DAY * TAU).sin()
    }

    /// The integral of the wave.
    fn risen(&self, at: f64) -> f64 {
        -((at + self.phase()) / DAY * TAU).cos() * DAY / TAU
    }

    /// Between -1 and 1, by the minute.
    fn noise(&self, at: f64) -> f64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, (at / 60.0).floor().to_bits()).hash(&mut hasher);
        (hasher.finish() % 2_001) as f64 / 1_000.0 - 1.0
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1_000.0
}
