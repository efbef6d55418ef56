//! The JSON of the API v2: what comes in and what goes out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::labels::Labels;
use super::matcher::Matcher;
use super::silence::{Silence, Wish};
use super::{Alert, Error, Muted, RECEIVER, RESOLVE_TIMEOUT, fingerprint};

/// An alert as it is posted.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostedAlert {
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    starts_at: Option<Timestamp>,
    #[serde(default)]
    ends_at: Option<Timestamp>,
    #[serde(default, rename = "generatorURL")]
    generator_url: String,
}

impl PostedAlert {
    pub(super) fn checked(self, now: Timestamp) -> Result<Alert, Error> {
        let invalid = |why: String| Err(Error::Invalid(why));
        let labels = Labels::new(&self.labels);
        if labels.is_empty() {
            return invalid("at least one label pair required".to_owned());
        }
        if let Some(name) = self
            .labels
            .keys()
            .chain(self.annotations.keys())
            .find(|name| name.is_empty())
        {
            return invalid(format!("invalid label set: invalid name {name:?}"));
        }
        // A client may send the zero time of its language for "not given".
        let given = |time: Option<Timestamp>| time.filter(|time| *time >= Timestamp::UNIX_EPOCH);
        let (starts_at, ends_at) = (given(self.starts_at), given(self.ends_at));
        let starts_at = starts_at.or(ends_at).unwrap_or(now);
        if ends_at.is_some_and(|ends_at| ends_at < starts_at) {
            return invalid("start time must be before end time".to_owned());
        }
        Ok(Alert {
            labels,
            annotations: Labels::new(&self.annotations),
            starts_at,
            timed_out: ends_at.is_none(),
            ends_at: ends_at
                .or_else(|| now.checked_add(RESOLVE_TIMEOUT).ok())
                .unwrap_or(now),
            updated_at: now,
            generator_url: self.generator_url,
        })
    }
}

/// A silence as it is posted.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostedSilence {
    #[serde(default)]
    id: Option<String>,
    matchers: Vec<Matcher>,
    starts_at: Timestamp,
    ends_at: Timestamp,
    created_by: String,
    comment: String,
}

impl PostedSilence {
    pub(super) fn parts(self) -> (Option<String>, Wish) {
        let wish = Wish {
            matchers: self.matchers,
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            created_by: self.created_by,
            comment: self.comment,
        };
        (self.id.filter(|id| !id.is_empty()), wish)
    }
}

pub(super) fn alert(alert: &Alert, muted: &Muted) -> Value {
    let state = if muted.is_empty() { "active" } else { "suppressed" };
    json!({
        "annotations": alert.annotations,
        "endsAt": time(alert.ends_at),
        "fingerprint": fingerprint(&alert.labels),
        "generatorURL": alert.generator_url,
        "labels": alert.labels,
        "receivers": [{ "name": RECEIVER }],
        "startsAt": time(alert.starts_at),
        "status": {
            "inhibitedBy": muted.inhibited_by,
            "mutedBy": [],
            "silencedBy": muted.silenced_by,
            "state": state,
        },
        "updatedAt": time(alert.updated_at),
    })
}

pub(super) fn silence(silence: &Silence, now: Timestamp) -> Value {
    json!({
        "id": silence.id,
        "status": { "state": silence.state(now).name() },
        "updatedAt": time(silence.updated_at),
        "comment": silence.wish.comment,
        "createdBy": silence.wish.created_by,
        "endsAt": time(silence.wish.ends_at),
        "matchers": silence.wish.matchers,
        "startsAt": time(silence.wish.starts_at),
    })
}

pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
