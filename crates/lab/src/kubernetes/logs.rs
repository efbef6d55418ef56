//! What pods print: lines with the time at which they were printed.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

const MOST: usize = 2_000;

/// The last lines of one container.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    kept: VecDeque<(Timestamp, String)>,
    /// How many there ever were.
    pub(super) printed: u64,
    next: Option<Timestamp>,
}

impl Lines {
    fn push(&mut self, at: Timestamp, line: String) {
        if self.kept.len() >= MOST {
            self.kept.pop_front();
        }
        self.kept.push_back((at, line));
        self.printed += 1;
    }

    /// What is printed at the start; who crashes says so.
    pub(super) fn begin(&mut self, voice: &[String], now: Timestamp, crashes: bool) {
        let first = voice.first().map_or("starting", String::as_str);
        if crashes {
            self.push(now, "level=info msg=\"starting\"".to_owned());
            self.push(
                now,
                "level=fatal msg=\"cannot read configuration: unknown key `listen_adress`\"".to_owned(),
            );
        } else {
            self.push(now, first.to_owned());
        }
    }

    /// Prints what is due, one line in each span of time.
    pub(super) fn go_on(&mut self, voice: &[String], now: Timestamp, every: Duration) {
        let Some(later) = voice.get(1..).filter(|later| !later.is_empty()) else {
            return;
        };
        if self.next.is_none_or(|next| now >= next) {
            let index = usize::try_from(self.printed % later.len() as u64).unwrap_or(0);
            self.push(now, format!("{} n={}", later[index], self.printed));
            self.next = now.checked_add(every).ok();
        }
    }

    /// The lines from this number on.
    pub(super) fn since(&self, number: u64) -> Vec<(Timestamp, String)> {
        let first = self.printed - self.kept.len() as u64;
        let skip = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        self.kept.iter().skip(skip).cloned().collect()
    }
}
