//! Tasks: what Proxmox does in the background, by their UPID, to their end.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Proxmox;
use super::facts::Fields;
use crate::Error;
use crate::http::{message, segment};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest name of a task that is taken.
const MOST_BYTES: usize = 512;

/// The name of a task: `UPID:delly:0001A2B3:…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upid {
    text: String,
    node: String,
}

impl Upid {
    /// The node that it runs on.
    pub fn node(&self) -> &str {
        &self.node
    }

    pub(super) fn path(&self) -> String {
        format!("/nodes/{}/tasks/{}", segment(&self.node), segment(&self.text))
    }

    /// The task that an answer names.
    pub(super) fn of(connection: &str, data: &Value) -> Result<Self, Error> {
        data.as_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Error::Protocol {
                connection: connection.to_owned(),
                message: "the answer to a change names no task".to_owned(),
            })
    }
}

impl FromStr for Upid {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            ["UPID", node, _pid, _start, _time, _kind, _id, _user, ""]
                if !node.is_empty() && text.len() <= MOST_BYTES =>
            {
                Ok(Self {
                    text: text.to_owned(),
                    node: (*node).to_owned(),
                })
            }
            _ => Err(()),
        }
    }
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    /// Well.
    Done,
    /// Well, with warnings that its log has.
    Warnings(String),
    /// It failed, for this reason.
    Failed(String),
}

impl Proxmox {
    /// How a task ended; nothing while it runs.
    pub async fn task_status(&self, upid: &Upid) -> Result<Option<TaskEnd>, Error> {
        let data = self.get(&format!("{}/status", upid.path())).await?;
        let fields = Fields(&data);
        Ok(match (fields.text("status"), fields.text("exitstatus")) {
            (Some("running"), _) => None,
            (_, Some("OK")) => Some(TaskEnd::Done),
            (_, Some(warnings)) if warnings.starts_with("WARNINGS") => {
                Some(TaskEnd::Warnings(message(warnings)))
            }
            (_, Some(reason)) => Some(TaskEnd::Failed(message(reason))),
            (_, None) => Some(TaskEnd::Failed("it ended without saying how".to_owned())),
        })
    }

    /// Follows a task to its end. A node that is away for a while does not end it.
    pub async fn wait_task(
        &self,
        upid: &Upid,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Result<TaskEnd, Error> {
        let deadline = Instant::now() + within;
        let mut pause = FIRST_PAUSE;
        loop {
            let asked = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Error::Cancelled),
                asked = tokio::time::timeout_at(deadline, self.task_status(upid)) => asked,
            };
            match asked {
                Ok(Ok(Some(end))) => return Ok(end),
                Ok(Ok(None) | Err(Error::Unreachable { .. } | Error::TimedOut { .. })) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(self.too_long(within)),
            }
            if Instant::now() + pause >= deadline {
                return Err(self.too_long(within));
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(Error::Cancelled),
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn too_long(&self, within: Duration) -> Error {
        Error::TimedOut {
            connection: self.name().to_owned(),
            seconds: within.as_secs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Upid;

    #[test]
    fn tasks_are_named_by_their_form() {
        let good = "UPID:delly:0001A2B3:00F1E2D3:6735A0C1:vzstart:141:root@pam:";
        assert_eq!(
            good.parse::<Upid>().map(|upid| upid.node().to_owned()),
            Ok("delly".to_owned())
        );
        for bad in [
            "",
            "UPID:",
            "UPID::1:2:3:a:b:c:",
            &good[..40],
            "UPID:a:1:2:3:t:i:u:x",
        ] {
            assert_eq!(bad.parse::<Upid>(), Err(()), "{bad}");
        }
    }
}
