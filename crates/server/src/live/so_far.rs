//! What models have written so far of what they write now: whoever begins to watch in the middle gets it first.
//!
//! Only what was handed out is in here, so that what comes next goes on where this ends. It is let go as soon as the
//! model is asked anew or what it wrote is kept: from there on the record has it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use interlock_protocol::{Event, EventBody, ExecutionId, SessionId};

use super::Frame;

/// How much is remembered of one reply, in bytes. Of a longer one the end is.
const MOST: usize = 64 * 1024;
/// In how many pieces, of thinking and of text in turn. Of more, the last are.
const PIECES: usize = 256;
/// How many replies are remembered at once; of more, those that were quiet the longest are let go.
const STREAMS: usize = 256;

/// What is written now, by agent at work.
#[derive(Default)]
pub(super) struct SoFar {
    streams: HashMap<ExecutionId, Stream>,
    turn: u64,
}

/// What one agent's model writes.
struct Stream {
    session: SessionId,
    /// That its model was asked, as it was told.
    asked: Option<Arc<Frame>>,
    pieces: VecDeque<Piece>,
    bytes: usize,
    /// How much came before the first piece, in UTF-16 code units, as a page counts.
    left_out: usize,
    /// When something last came, in turns.
    turn: u64,
}

struct Piece {
    kind: &'static str,
    text: String,
}

impl SoFar {
    /// A model is asked: what it wrote before is over.
    pub(super) fn asked(&mut self, session: &SessionId, execution: &ExecutionId, frame: Arc<Frame>) {
        self.streams.remove(execution);
        self.stream(session, execution).asked = Some(frame);
    }

    /// A piece of text was handed out.
    pub(super) fn wrote(
        &mut self,
        session: &SessionId,
        execution: &ExecutionId,
        kind: &'static str,
        text: &str,
    ) {
        self.stream(session, execution).push(kind, text);
    }

    /// Something was kept: what it is made of, or what it ends, is in the record.
    pub(super) fn kept(&mut self, event: &Event) {
        match &event.body {
            EventBody::SessionCompleted { .. } => self.over(&event.session),
            EventBody::ProposalReceived { .. }
            | EventBody::DecisionMade { .. }
            | EventBody::AnswerGiven { .. }
            | EventBody::ExecutionCompleted { .. } => {
                if let Some(execution) = &event.execution {
                    self.streams.remove(execution);
                }
            }
            _ => {}
        }
    }

    /// A session is over.
    pub(super) fn over(&mut self, session: &SessionId) {
        self.streams.retain(|_, stream| stream.session != *session);
    }

    /// What a session's models have written so far, as frames in order.
    pub(super) fn frames(&self, session: &SessionId) -> Vec<Arc<Frame>> {
        let mut streams: Vec<(&ExecutionId, &Stream)> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.session == *session)
            .collect();
        streams.sort_by_key(|(execution, _)| *execution);
        let mut frames = Vec::new();
        for (execution, stream) in streams {
            // Once it writes, that says more than that it was asked.
            if stream.pieces.is_empty() {
                frames.extend(stream.asked.clone());
            }
            let mut offset = stream.left_out;
            for piece in &stream.pieces {
                let frame = Frame::so_far(session, execution, piece.kind, &piece.text, offset);
                frames.push(Arc::new(frame));
                offset += utf16(&piece.text);
            }
        }
        frames
    }

    fn stream(&mut self, session: &SessionId, execution: &ExecutionId) -> &mut Stream {
        self.turn += 1;
        if self.streams.len() >= STREAMS && !self.streams.contains_key(execution) {
            let quiet = self.streams.iter().min_by_key(|(_, stream)| stream.turn);
            if let Some(quiet) = quiet.map(|(execution, _)| execution.clone()) {
                self.streams.remove(&quiet);
            }
        }
        let stream = self.streams.entry(execution.clone()).or_insert_with(|| Stream {
            session: session.clone(),
            asked: None,
            pieces: VecDeque::new(),
            bytes: 0,
            left_out: 0,
            turn: 0,
        });
        stream.turn = self.turn;
        stream
    }
}

impl Stream {
    fn push(&mut self, kind: &'static str, text: &str) {
        self.bytes += text.len();
        match self.pieces.back_mut() {
            Some(piece) if piece.kind == kind => piece.text.push_str(text),
            _ => self.pieces.push_back(Piece {
                kind,
                text: text.to_owned(),
            }),
        }
        // A quarter at a time, so that not every further piece moves the whole text.
        if self.bytes > MOST {
            self.leave_out(self.bytes - MOST * 3 / 4);
        }
        if self.pieces.len() > PIECES {
            self.leave_out(self.pieces.front().map_or(0, |piece| piece.text.len()));
        }
    }

    /// Lets go of the beginning: at least so many bytes.
    fn leave_out(&mut self, mut bytes: usize) {
        while bytes > 0
            && let Some(piece) = self.pieces.front_mut()
        {
            let end = piece.text.ceil_char_boundary(bytes.min(piece.text.len()));
            self.left_out += utf16(&piece.text[..end]);
            self.bytes -= end;
            bytes = bytes.saturating_sub(end);
            if end == piece.text.len() {
                self.pieces.pop_front();
            } else {
                piece.text.drain(..end);
            }
        }
    }
}

fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use interlock_protocol::{EventId, Sequence, Status};
    use jiff::Timestamp;
    use serde_json::Value;

    use super::*;

    fn session(number: u8) -> SessionId {
        SessionId::from_bytes([number; 16])
    }

    fn execution(number: u8) -> ExecutionId {
        ExecutionId::from_bytes([number; 16])
    }

    fn event(of: u8, by: Option<u8>, body: EventBody) -> Event {
        Event {
            id: EventId::from_bytes([1; 16]),
            session: session(of),
            sequence: Sequence::new(1),
            at: Timestamp::UNIX_EPOCH,
            stage: None,
            execution: by.map(execution),
            body,
        }
    }

    /// Type, text and offset of each frame.
    fn shown(so_far: &SoFar, of: u8) -> Vec<(String, String, Option<u64>)> {
        let frames = so_far.frames(&session(of));
        let read = |frame: &Arc<Frame>| {
            let frame: Value = serde_json::from_str(frame.text()).unwrap();
            let text = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
            let what = if frame["type"] == "stream.chunk" {
                assert_eq!(frame["snapshot"], true);
                text("kind")
            } else {
                text("type")
            };
            (what, text("delta"), frame["offset"].as_u64())
        };
        frames.iter().map(read).collect()
    }

    #[test]
    fn what_is_written_so_far_is_told_in_order_with_its_place() {
        let mut so_far = SoFar::default();
        let asked = Arc::new(Frame::asked(&session(1), &execution(1), "main", 0));
        so_far.asked(&session(1), &execution(1), asked);
        let waits = ("model.asked".to_owned(), String::new(), None);
        assert_eq!(shown(&so_far, 1), [waits]);
        so_far.wrote(&session(1), &execution(1), "thinking", "hm 😀");
        so_far.wrote(&session(1), &execution(1), "text", "It ");
        so_far.wrote(&session(1), &execution(1), "text", "works");
        so_far.wrote(&session(2), &execution(2), "text", "other");
        assert_eq!(
            shown(&so_far, 1),
            [
                ("thinking".to_owned(), "hm 😀".to_owned(), Some(0)),
                ("text".to_owned(), "It works".to_owned(), Some(5)),
            ]
        );
        assert!(shown(&so_far, 3).is_empty());
    }

    #[test]
    fn what_is_kept_or_over_is_let_go() {
        let status = Status::Completed;
        let given = |text: &str| EventBody::AnswerGiven {
            text: text.to_owned(),
            head: None,
        };
        let cases = [
            (event(1, Some(1), EventBody::ExecutionCompleted { status }), 0),
            (event(1, Some(1), given("x")), 0),
            (event(1, None, EventBody::SessionCompleted { status }), 0),
            (event(1, Some(2), EventBody::ExecutionCompleted { status }), 1),
            (event(2, None, EventBody::SessionCompleted { status }), 1),
            (event(1, Some(1), EventBody::SessionStatus { status }), 1),
        ];
        for (event, left) in cases {
            let mut so_far = SoFar::default();
            so_far.wrote(&session(1), &execution(1), "text", "word");
            so_far.kept(&event);
            assert_eq!(shown(&so_far, 1).len(), left, "{:?}", event.body);
        }
        let mut so_far = SoFar::default();
        so_far.wrote(&session(1), &execution(1), "text", "before");
        let again = Arc::new(Frame::asked(&session(1), &execution(1), "main", 1));
        so_far.asked(&session(1), &execution(1), again);
        assert_eq!(
            shown(&so_far, 1),
            [("model.asked".to_owned(), String::new(), None)]
        );
    }

    #[test]
    fn a_long_reply_keeps_its_end_and_says_how_much_is_left_out() {
        let mut so_far = SoFar::default();
        let mut whole = String::new();
        so_far.wrote(&session(1), &execution(1), "thinking", "é first");
        whole.push_str("é first");
        for number in 0..20_000 {
            let text = format!("wörd {number} ");
            so_far.wrote(&session(1), &execution(1), "text", &text);
            whole.push_str(&text);
        }
        let left = shown(&so_far, 1);
        let [(kind, text, Some(offset))] = &left[..] else {
            panic!("one piece is left");
        };
        assert_eq!(kind, "text");
        assert!(text.len() <= MOST && text.len() > MOST / 2, "{}", text.len());
        let units: Vec<u16> = whole.encode_utf16().collect();
        let end = String::from_utf16(&units[usize::try_from(*offset).unwrap()..]).unwrap();
        assert_eq!(*text, end);
    }

    #[test]
    fn no_more_replies_are_remembered_than_there_is_room_for() {
        let mut so_far = SoFar::default();
        for number in 0..=STREAMS {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
            so_far.wrote(&session(1), &ExecutionId::from_bytes(bytes), "text", "x");
        }
        assert_eq!(so_far.streams.len(), STREAMS);
        let first = ExecutionId::from_bytes([0; 16]);
        assert!(!so_far.streams.contains_key(&first), "the quietest goes first");
    }
}
