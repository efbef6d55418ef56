//! What can be watched: the list of sessions, or one session.

use std::fmt;
use std::str::FromStr;

use interlock_protocol::SessionId;
use interlock_store::Placed;

/// The types of events that the channel `sessions` carries.
pub(crate) const OF_SESSIONS: &[&str] = &[
    "session.created",
    "session.status",
    "session.completed",
    "hold.opened",
    "hold.approved",
    "hold.denied",
    "hold.edited",
    "hold.expired",
];

/// Something that can be watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Channel {
    /// What changes in the list of sessions.
    Sessions,
    /// Everything that happens in one session.
    Session(SessionId),
}

impl Channel {
    /// The place of an event in this channel: what a reader sends as `after`.
    pub(crate) fn position(&self, event: &Placed) -> u64 {
        match self {
            Self::Sessions => event.position,
            Self::Session(_) => event.sequence.get(),
        }
    }
}

/// There is no such channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such channel; it is `sessions`, or `session:` with the id of a session")]
pub(crate) struct NoChannel;

impl FromStr for Channel {
    type Err = NoChannel;

    fn from_str(text: &str) -> Result<Self, NoChannel> {
        match text.strip_prefix("session:") {
            // It is put into JSON as it is, so it must have nothing to escape.
            Some(id)
                if id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)) =>
            {
                id.parse().map(Self::Session).map_err(|_| NoChannel)
            }
            None if text == "sessions" => Ok(Self::Sessions),
            Some(_) | None => Err(NoChannel),
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sessions => f.write_str("sessions"),
            Self::Session(id) => write!(f, "session:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_what_it_is_written_as() {
        let id = SessionId::from_bytes([7; 16]);
        let cases = [
            ("sessions".to_owned(), Ok(Channel::Sessions)),
            (format!("session:{id}"), Ok(Channel::Session(id))),
            ("session:".to_owned(), Err(NoChannel)),
            ("session:../x".to_owned(), Err(NoChannel)),
            ("session:\"".to_owned(), Err(NoChannel)),
            ("Sessions".to_owned(), Err(NoChannel)),
            (String::new(), Err(NoChannel)),
        ];
        for (text, expected) in cases {
            let channel = text.parse::<Channel>();
            assert_eq!(channel, expected, "{text}");
            if let Ok(channel) = channel {
                assert_eq!(channel.to_string(), text);
            }
        }
    }
}
