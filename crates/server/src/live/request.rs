//! What a client may say on a WebSocket. Pure: bytes in, a request or a refusal out.

use serde::{Deserialize, Serialize};

use crate::wire::Object;

/// A frame of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Watch a channel.
    Subscribe {
        /// Which.
        channel: String,
        /// From where; left out, from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// Watch it no longer.
    Unsubscribe {
        /// Which.
        channel: String,
    },
    /// One page of a channel's past.
    Catchup {
        /// Which.
        channel: String,
        /// From where.
        after: u64,
        /// How many at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Is anybody there.
    Ping {},
}

impl Request {
    /// Reads a frame.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let read = serde_json::from_str(text).map(|Object(request)| request);
        read.map_err(|error| {
            // The client's own words are not repeated: only where and what kind of mistake it is.
            let kind = match error.classify() {
                serde_json::error::Category::Data => "this JSON is none of the frames that are known",
                _ => "this is not JSON",
            };
            // Where a frame as a whole does not fit there is no place to tell.
            let place = match error.column() {
                0 => String::new(),
                column => format!(" (column {column})"),
            };
            format!(
                "{kind}{place}; send `{{\"action\":\"subscribe\",\"channel\":\"sessions\"}}`, `unsubscribe`, \
                 `catchup` or `ping`"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_understood_or_refused() {
        let channel = || "sessions".to_owned();
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let deep_in = format!(r#"{{"action":"subscribe","channel":{deep}}}"#);
        let cases: &[(&str, Option<Request>)] = &[
            (r#"{"action":"ping"}"#, Some(Request::Ping {})),
            (
                r#"{"action":"subscribe","channel":"sessions"}"#,
                Some(Request::Subscribe {
                    channel: channel(),
                    after: None,
                }),
            ),
            (
                r#"{"channel":"sessions","after":7,"action":"subscribe"}"#,
                Some(Request::Subscribe {
                    channel: channel(),
                    after: Some(7),
                }),
            ),
            (
                r#"{"action":"unsubscribe","channel":"sessions"}"#,
                Some(Request::Unsubscribe { channel: channel() }),
            ),
            (
                r#"{"action":"catchup","channel":"sessions","after":0,"limit":10}"#,
                Some(Request::Catchup {
                    channel: channel(),
                    after: 0,
                    limit: Some(10),
                }),
            ),
            (r#"{"action":"catchup","channel":"sessions"}"#, None),
            (r#"{"action":"subscribe","channel":"sessions","after":-1}"#, None),
            (r#"{"action":"subscribe","channel":"sessions","after":1.5}"#, None),
            (
                r#"{"action":"subscribe","channel":"sessions","after":99999999999999999999}"#,
                None,
            ),
            (
                r#"{"action":"subscribe","channel":"sessions","as":"admin"}"#,
                None,
            ),
            (r#"{"action":"subscribe","action":"ping"}"#, None),
            (r#"{"action":"ping","channel":"sessions"}"#, None),
            (r#"{"action":"drop"}"#, None),
            (r#"{"action":null}"#, None),
            ("{}", None),
            ("[]", None),
            (r#"["ping"]"#, None),
            (r#"["subscribe","sessions"]"#, None),
            ("", None),
            ("\"ping\"", None),
            (&deep, None),
            (&deep_in, None),
        ];
        for (text, expected) in cases {
            let shown: String = text.chars().take(80).collect();
            assert_eq!(Request::parse(text).ok().as_ref(), expected.as_ref(), "{shown}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_sent_gets_an_answer_that_does_not_repeat_it(text in "\\PC{0,200}") {
            if let Err(message) = Request::parse(&text) {
                proptest::prop_assert!(message.len() < 300);
            }
        }
    }
}
