//! Logs that were there before anybody looked: real files, the same at every start.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::nodes::file;
use crate::machine::File;

/// How many requests the proxy's log has.
const REQUESTS: usize = 2_000;

pub(super) fn of(guest: &str) -> Option<File> {
    (guest == "nginx-proxy").then(|| file("/var/log/nginx/access.log", access_log(Timestamp::now())))
}

/// The proxy's log of the last hours, in the combined format.
fn access_log(now: Timestamp) -> String {
    const PATHS: [&str; 6] = [
        "/",
        "/api/states",
        "/web/index.html",
        "/health",
        "/login",
        "/favicon.ico",
    ];
    let mut seed: u32 = 0x2545_f491;
    let mut next = move |below: u32| {
        // Xorshift: what it gives must be the same everywhere, not good.
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed % below
    };
    let mut log = String::new();
    for left in (0..REQUESTS).rev() {
        let seconds = i64::try_from(left).unwrap_or(0) * 7;
        let at = now
            .checked_sub(SignedDuration::from_secs(seconds))
            .unwrap_or(now)
            .strftime("%d/%b/%Y:%H:%M:%S +0000");
        let address = 20 + next(9);
        let path = PATHS.get(next(6) as usize).copied().unwrap_or("/");
        let status = match next(20) {
            0 => 404,
            1 => 502,
            2..5 => 304,
            _ => 200,
        };
        let bytes = 200 + next(40_000);
        // Writing into a String cannot fail.
        let _ = writeln!(
            log,
            "192.168.1.{address} - - [{at}] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"Mozilla/5.0\""
        );
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_its_lines_and_only_its_times_change() {
        let at = |text: &str| access_log(text.parse().unwrap());
        let (one, other) = (at("2026-01-01T12:00:00Z"), at("2026-01-02T12:00:00Z"));
        assert_eq!(one.lines().count(), REQUESTS);
        assert_eq!(
            one.replace("01/Jan", "02/Jan")
                .replace("31/Dec/2025", "01/Jan/2026")
                .len(),
            other.len()
        );
        let statuses = |log: &str| -> Vec<String> {
            log.lines()
                .filter_map(|line| Some(line.split_whitespace().nth(8)?.to_owned()))
                .collect()
        };
        assert_eq!(statuses(&one), statuses(&other));
        assert!(statuses(&one).iter().any(|status| status == "502"));
    }
}
