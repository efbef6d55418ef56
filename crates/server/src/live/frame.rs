//! What goes to those who watch, serialised once for all of them.

use std::sync::OnceLock;

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use interlock_protocol::{ExecutionId, SessionId};
use interlock_store::Placed;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Channel;
use crate::problem::Code;

/// The type of the frame that refuses a channel.
const REFUSED: &str = "subscription.error";
/// What is said about a session that is not there, or not there any more.
pub(crate) const NO_SESSION: &str = "there is no such session";

/// Something that happened in a channel, ready to be sent.
#[derive(Debug)]
pub(crate) struct Frame {
    channel: Channel,
    position: Option<u64>,
    kind: String,
    text: Utf8Bytes,
    lines: OnceLock<Bytes>,
}

impl Frame {
    /// An event that is kept.
    pub(crate) fn event(channel: &Channel, event: &Placed) -> Self {
        let position = channel.position(event);
        // The event is a JSON object already; what is ours goes in front of its first field.
        let fields = event.json.strip_prefix('{').unwrap_or("}");
        Self {
            text: plain(&format!(
                "{{\"channel\":\"{channel}\",\"position\":{position},{fields}"
            ))
            .into(),
            channel: channel.clone(),
            position: Some(position),
            kind: event.kind.clone(),
            lines: OnceLock::new(),
        }
    }

    /// A piece of what a model writes.
    pub(crate) fn chunk(
        session: &SessionId,
        execution: &ExecutionId,
        kind: &'static str,
        delta: &str,
    ) -> Self {
        let facts = json!({ "session": session, "execution": execution, "kind": kind, "delta": delta });
        Self::transient(Channel::Session(session.clone()), "stream.chunk", facts)
    }

    /// What a model has written so far, for whoever comes in the middle. `offset` is how much of the reply comes before
    /// it, in UTF-16 code units.
    pub(crate) fn so_far(
        session: &SessionId,
        execution: &ExecutionId,
        kind: &'static str,
        text: &str,
        offset: usize,
    ) -> Self {
        let facts = json!({
            "session": session, "execution": execution, "kind": kind, "delta": text, "snapshot": true, "offset": offset,
        });
        Self::transient(Channel::Session(session.clone()), "stream.chunk", facts)
    }

    /// A model is asked.
    pub(crate) fn asked(session: &SessionId, execution: &ExecutionId, model: &str, iteration: u32) -> Self {
        let facts =
            json!({ "session": session, "execution": execution, "model": model, "iteration": iteration });
        Self::transient(Channel::Session(session.clone()), "model.asked", facts)
    }

    /// Writes were stopped or let go.
    pub(crate) fn writes(stopped: bool) -> Self {
        let facts = json!({ "at": Timestamp::now(), "data": { "stopped": stopped } });
        Self::transient(Channel::Sessions, "writes.changed", facts)
    }

    /// A channel is there no more: the frame with which one is refused that never was. The last of its channel.
    pub(crate) fn gone(channel: &Channel) -> Self {
        let text = refused(&channel.to_string(), Code::NotFound, NO_SESSION);
        Self {
            channel: channel.clone(),
            position: None,
            kind: REFUSED.to_owned(),
            text: plain(&text).into(),
            lines: OnceLock::new(),
        }
    }

    /// Whether nothing comes after it in its channel.
    pub(crate) fn is_last(&self) -> bool {
        self.kind == REFUSED
    }

    fn transient(channel: Channel, kind: &str, facts: Value) -> Self {
        let mut whole = json!({ "channel": channel.to_string(), "type": kind });
        if let (Value::Object(whole), Value::Object(facts)) = (&mut whole, facts) {
            whole.extend(facts);
        }
        Self {
            text: plain(&whole.to_string()).into(),
            channel,
            position: None,
            kind: kind.to_owned(),
            lines: OnceLock::new(),
        }
    }

    /// The channel.
    pub(crate) const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Its place in the channel; nothing for what is not kept.
    pub(crate) const fn position(&self) -> Option<u64> {
        self.position
    }

    /// The JSON.
    pub(crate) const fn text(&self) -> &Utf8Bytes {
        &self.text
    }

    /// As an event of a `text/event-stream`.
    pub(crate) fn lines(&self) -> Bytes {
        let lines = || {
            let id = self.position.map_or_else(String::new, |id| format!("id: {id}\n"));
            Bytes::from(format!("{id}event: {}\ndata: {}\n\n", self.kind, self.text))
        };
        self.lines.get_or_init(lines).clone()
    }

    /// About how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }
}

/// The JSON with every character escaped that a terminal acts on or hides.
fn plain(text: &str) -> String {
    interlock_protocol::visible::json(text).into_owned()
}

/// The first frame of a connection.
pub(crate) fn established(connection: &str, user: &str) -> String {
    json!({ "type": "connection.established", "connection": connection, "user": user, "now": Timestamp::now() })
        .to_string()
}

/// A subscription stands.
pub(crate) fn confirmed(channel: &Channel, position: u64) -> String {
    json!({ "type": "subscription.confirmed", "channel": channel.to_string(), "position": position })
        .to_string()
}

/// A subscription ended.
pub(crate) fn ended(channel: &Channel) -> String {
    json!({ "type": "subscription.ended", "channel": channel.to_string() }).to_string()
}

/// A channel was asked for in vain.
pub(crate) fn refused(channel: &str, code: Code, message: &str) -> String {
    json!({ "type": REFUSED, "channel": channel, "code": code.as_str(), "message": message }).to_string()
}

/// A frame was not understood.
pub(crate) fn not_understood(message: &str) -> String {
    json!({ "type": "error", "code": Code::InvalidInput.as_str(), "message": message }).to_string()
}

/// Too much was asked for at once.
pub(crate) fn too_fast() -> String {
    let message = "that was too much at once; ask less often";
    json!({ "type": "error", "code": Code::RateLimited.as_str(), "message": message }).to_string()
}

/// Still there.
pub(crate) fn pong() -> String {
    json!({ "type": "pong", "now": Timestamp::now() }).to_string()
}

/// The reader is too slow; from where to go on.
pub(crate) fn slow<'a>(resume: impl Iterator<Item = (&'a Channel, u64)>) -> String {
    let resume: serde_json::Map<String, Value> = resume
        .map(|(channel, position)| (channel.to_string(), position.into()))
        .collect();
    json!({ "type": "connection.slow", "resume": resume }).to_string()
}

/// A page of a channel's past.
pub(crate) fn page(channel: &Channel, events: &[Placed], more: bool) -> String {
    let mut text = format!("{{\"type\":\"catchup.page\",\"channel\":\"{channel}\",\"events\":[");
    for (at, event) in events.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(Frame::event(channel, event).text());
    }
    text.push_str("],\"more\":");
    text.push_str(if more { "true}" } else { "false}" });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use interlock_protocol::Sequence;

    fn placed(session: &SessionId) -> Placed {
        Placed {
            position: 90,
            session: session.clone(),
            sequence: Sequence::new(4),
            kind: "session.status".to_owned(),
            json: "{\"id\":\"e\",\"type\":\"session.status\",\"data\":{\"status\":\"held\"}}".to_owned(),
        }
    }

    #[test]
    fn an_event_carries_its_channel_and_its_place_there() {
        let session = SessionId::from_bytes([1; 16]);
        let own = Channel::Session(session.clone());
        for (channel, position) in [(Channel::Sessions, 90), (own, 4)] {
            let frame = Frame::event(&channel, &placed(&session));
            let read: Value = serde_json::from_str(frame.text()).unwrap();
            let expected = json!({
                "channel": channel.to_string(), "position": position, "id": "e",
                "type": "session.status", "data": { "status": "held" },
            });
            assert_eq!(read, expected);
            let lines = String::from_utf8(frame.lines().to_vec()).unwrap();
            assert_eq!(
                lines,
                format!(
                    "id: {position}\nevent: session.status\ndata: {}\n\n",
                    frame.text()
                )
            );
        }
    }

    #[test]
    fn what_is_not_kept_has_no_place() {
        let session = SessionId::from_bytes([1; 16]);
        let execution = ExecutionId::from_bytes([2; 16]);
        let frame = Frame::chunk(&session, &execution, "text", "a\nb");
        assert_eq!(frame.position(), None);
        let lines = String::from_utf8(frame.lines().to_vec()).unwrap();
        assert!(lines.starts_with("event: stream.chunk\ndata: {"), "{lines}");
        assert_eq!(lines.matches('\n').count(), 3, "{lines}");
    }

    #[test]
    fn a_page_is_json_however_many_events_it_has() {
        let session = SessionId::from_bytes([1; 16]);
        for count in 0..3 {
            let events = vec![placed(&session); count];
            let read: Value = serde_json::from_str(&page(&Channel::Sessions, &events, true)).unwrap();
            assert_eq!(read["events"].as_array().map(Vec::len), Some(count));
            assert_eq!(read["more"], true);
        }
    }
}
