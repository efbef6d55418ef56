//! The load of nodes and guests over time: made up, but always the same for the same name and time, so that history
//! joins the present.

use std::f64::consts::TAU;

/// How busy a guest is at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GuestLoad {
    /// The part of its processors that it uses.
    pub(crate) cpu: f64,
    /// The part of its memory that it uses.
    pub(crate) memory: f64,
    /// Bytes per second.
    pub(crate) net_in: f64,
    pub(crate) net_out: f64,
    pub(crate) disk_read: f64,
    pub(crate) disk_write: f64,
}

/// How busy a node is at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NodeLoad {
    pub(crate) cpu: f64,
    pub(crate) memory: f64,
    pub(crate) wait: f64,
    pub(crate) load: f64,
    pub(crate) net_in: f64,
    pub(crate) net_out: f64,
}

/// A number from 0 to 1 that only this name and this purpose have.
fn share(name: &str, purpose: &str) -> f64 {
    let hash = name
        .bytes()
        .chain([0])
        .chain(purpose.bytes())
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        });
    // The low bits of this hash are the poor ones.
    let high = u32::try_from((hash ^ (hash >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(0);
    f64::from(high) / f64::from(u32::MAX)
}

/// Seconds as a number to reckon with: exact for the next few million years.
#[expect(clippy::cast_precision_loss, reason = "a time is far below 2^52")]
const fn seconds(at: i64) -> f64 {
    at as f64
}

/// A value around 1 that moves with the minute, the hour and the day.
fn wave(name: &str, purpose: &str, at: i64) -> f64 {
    let phase = share(name, purpose);
    let turn = |period: f64, weight: f64| weight * (TAU * (seconds(at) / period + phase)).sin();
    1.0 + turn(86_400.0, 0.25) + turn(3_700.0, 0.15) + turn(437.0, 0.1) + turn(61.0, 0.05)
}

/// How long something had been up when the lab began, in seconds: days to weeks.
pub(super) fn age(name: &str) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^31")]
    let extra = (share(name, "age") * 2_000_000.0) as i64;
    259_200 + extra
}

/// The load of a guest.
pub(crate) fn guest(name: &str, at: i64) -> GuestLoad {
    load(name, |purpose| wave(name, purpose, at))
}

/// The load of a guest over the long run: counters that grow by it never go back.
pub(crate) fn steady(name: &str) -> GuestLoad {
    load(name, |_| 1.0)
}

fn load(name: &str, wave: impl Fn(&str) -> f64) -> GuestLoad {
    let rate = |purpose: &str, most: f64| share(name, purpose) * most * wave(purpose);
    GuestLoad {
        cpu: (0.01 + rate("cpu", 0.12)).clamp(0.001, 1.0),
        memory: (0.25 + rate("memory", 0.3)).clamp(0.05, 0.97),
        net_in: 500.0 + rate("netin", 60_000.0),
        net_out: 400.0 + rate("netout", 50_000.0),
        disk_read: rate("read", 20_000.0),
        disk_write: 900.0 + rate("write", 40_000.0),
    }
}

/// The load of a node, of which this part of the memory is promised to guests that run.
pub(crate) fn node(name: &str, at: i64, promised: f64, failing: bool) -> NodeLoad {
    let busy = 0.05 + 0.1 * share(name, "cpu") + 0.2 * promised.min(1.0);
    let cpu = (busy * wave(name, "cpu", at)).clamp(0.01, 1.0);
    let wait = if failing {
        (0.55 + 0.1 * (wave(name, "wait", at) - 1.0)).clamp(0.4, 0.8)
    } else {
        0.002 * wave(name, "wait", at).max(0.0)
    };
    NodeLoad {
        cpu,
        memory: (0.1 + 0.8 * promised * wave(name, "memory", at).clamp(0.8, 1.1)).clamp(0.05, 0.98),
        wait,
        load: cpu * 6.0 + wait * 14.0,
        net_in: 20_000.0 + 80_000.0 * wave(name, "netin", at),
        net_out: 20_000.0 + 60_000.0 * wave(name, "netout", at),
    }
}

/// What a rate comes to over this many seconds.
pub(crate) fn total(rate: f64, over: i64) -> u64 {
    whole(rate.max(0.0) * seconds(over.max(0)))
}

/// A part of a whole.
#[expect(
    clippy::cast_precision_loss,
    reason = "sizes of memory and disks are far below 2^52"
)]
pub(crate) fn part(share: f64, of: u64) -> u64 {
    whole(share.max(0.0) * of as f64)
}

/// One number as a part of another.
#[expect(
    clippy::cast_precision_loss,
    reason = "sizes of memory and disks are far below 2^52"
)]
pub(crate) fn ratio(some: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { some as f64 / of as f64 }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and far below 2^52"
)]
fn whole(value: f64) -> u64 {
    value.clamp(0.0, 4e15) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_plausible_and_the_same_for_the_same_time() {
        for name in ["homepage", "db", "mail", ""] {
            for at in (1_760_000_000..1_760_100_000).step_by(977) {
                let load = guest(name, at);
                assert_eq!(load, guest(name, at));
                assert!((0.001..=1.0).contains(&load.cpu) && (0.05..=0.97).contains(&load.memory));
                assert!(load.net_in > 0.0 && load.net_out > 0.0 && load.disk_read >= 0.0);
                let (well, ill) = (node(name, at, 0.5, false), node(name, at, 0.5, true));
                assert!(well.wait < 0.01 && ill.wait > 0.4);
            }
        }
    }
}
