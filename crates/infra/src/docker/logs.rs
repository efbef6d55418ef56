//! The end of a container's log, in bounds.

use std::collections::VecDeque;

use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use serde::Serialize;

use super::{Docker, READ};
use crate::Error;

/// The longest line, in bytes.
const MOST_LINE: usize = 1024 * 1024;

/// Which part of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQuery {
    /// At most this many lines, the newest.
    pub lines: usize,
    /// Not older than this.
    pub since: Option<Timestamp>,
    /// At most this many bytes, the newest.
    pub bytes: usize,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Logs {
    /// Each with its time, oldest first.
    pub lines: Vec<String>,
    /// Whether there was more than was asked for or taken.
    pub truncated: bool,
}

impl Docker {
    /// The end of a container's log.
    pub async fn logs(&self, container: &str, query: LogQuery) -> Result<Logs, Error> {
        self.checked(container)?;
        let client = self.client().await?;
        let since = query
            .since
            .map_or(0, |at| i32::try_from(at.as_second()).unwrap_or(i32::MAX));
        let options = LogsOptions {
            stdout: true,
            stderr: true,
            timestamps: true,
            since,
            tail: query.lines.to_string(),
            ..LogsOptions::default()
        };
        let what = format!("the container `{container}`");
        let taken = async {
            let mut stream = client.logs(container, Some(options));
            let mut end = End::new(query);
            while let Some(chunk) = stream.next().await {
                end.push(&chunk?.into_bytes());
            }
            Ok(end.finish())
        };
        self.within(READ, &what, taken).await
    }
}

/// The newest lines that fit.
struct End {
    lines: VecDeque<String>,
    bytes: usize,
    query: LogQuery,
    truncated: bool,
}

impl End {
    const fn new(query: LogQuery) -> Self {
        Self {
            lines: VecDeque::new(),
            bytes: 0,
            query,
            truncated: false,
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        let text = String::from_utf8_lossy(chunk);
        for line in text.lines() {
            let mut end = line.len().min(MOST_LINE);
            while !line.is_char_boundary(end) {
                end -= 1;
            }
            self.truncated |= end < line.len();
            self.bytes += end;
            self.lines.push_back(line[..end].to_owned());
        }
        while self.lines.len() > self.query.lines || self.bytes > self.query.bytes {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
            self.truncated = true;
        }
    }

    fn finish(self) -> Logs {
        Logs {
            truncated: self.truncated || self.lines.len() >= self.query.lines,
            lines: self.lines.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_that_fit_are_kept() {
        let query = LogQuery {
            lines: 3,
            since: None,
            bytes: 10,
        };
        let mut end = End::new(query);
        end.push(b"one\ntwo\nthree\n");
        end.push("fünf\n".as_bytes());
        let logs = end.finish();
        assert_eq!(
            (logs.lines.as_slice(), logs.truncated),
            (&["three".to_owned(), "fünf".to_owned()][..], true)
        );
        let mut end = End::new(LogQuery { lines: 9, ..query });
        end.push(b"a\nb");
        assert_eq!(
            end.finish(),
            Logs {
                lines: vec!["a".into(), "b".into()],
                truncated: false
            }
        );
    }
}
