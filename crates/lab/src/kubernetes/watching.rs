//! Streams: changes of objects, and lines of pods, as they come.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Core;
use super::kind::Kind;
use super::select::Selector;
use super::status::Fault;
use super::store::{How, text};
use super::table::table;
use crate::docker::wire::{self, Call};

/// Nobody watches for longer than this, as in the real one.
const LONGEST: u64 = 3600;

/// What is watched, and how it is shown.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    pub(super) selector: Selector,
    pub(super) as_table: bool,
}

impl Wanted {
    pub(super) fn takes(&self, object: &Value) -> bool {
        let there = self
            .namespace
            .as_ref()
            .is_none_or(|space| text(object, "/metadata/namespace") == *space);
        there && self.selector.takes(object)
    }

    fn line(&self, how: &str, object: &Value) -> String {
        let shown = if self.as_table {
            table(self.kind, std::slice::from_ref(object), &json!({}))
        } else {
            object.clone()
        };
        format!("{}\n", json!({ "type": how, "object": shown }))
    }
}

/// What there is, unless a version says that it is known, then what changes.
pub(super) fn watch(core: &Arc<Core>, wanted: Wanted, call: &Call) -> Result<Response, Fault> {
    let seconds = call
        .get("timeoutSeconds")
        .and_then(|text| text.parse().ok())
        .unwrap_or(LONGEST);
    let end = tokio::time::Instant::now() + Duration::from_secs(seconds.min(LONGEST));
    let given = match call.get("resourceVersion").unwrap_or_default() {
        "" | "0" => None,
        text => Some(
            text.parse::<u64>()
                .map_err(|_| Fault::bad(format!("invalid resource version {text:?}")))?,
        ),
    };
    let (first, version) = {
        let store = core.store();
        let there = if given.is_none() {
            store.list(wanted.kind, wanted.namespace.as_deref())
        } else {
            Vec::new()
        };
        let lines: String = there
            .iter()
            .filter(|object| wanted.takes(object))
            .map(|object| wanted.line(How::Added.as_str(), object))
            .collect();
        (lines, given.unwrap_or_else(|| store.version()))
    };
    let core = Arc::clone(core);
    let lines = stream::unfold(Some((Some(first), version)), move |state| {
        let (core, wanted) = (Arc::clone(&core), wanted.clone());
        async move {
            let (first, version) = state?;
            if let Some(first) = first.filter(|first| !first.is_empty()) {
                return Some((Ok::<_, Infallible>(Bytes::from(first)), Some((None, version))));
            }
            let (text, next) = more(&core, &wanted, version, end).await?;
            Some((Ok(Bytes::from(text)), next.map(|version| (None, version))))
        }
    });
    Ok(wire::typed(
        StatusCode::OK,
        "application/json",
        Body::from_stream(lines),
    ))
}

/// The next lines, and where to go on; nothing at the end.
async fn more(
    core: &Core,
    wanted: &Wanted,
    version: u64,
    end: tokio::time::Instant,
) -> Option<(String, Option<u64>)> {
    let mut moved = core.store().moved.subscribe();
    let mut version = version;
    loop {
        moved.borrow_and_update();
        let (changes, now) = {
            let store = core.store();
            (store.since(wanted.kind, version), store.version())
        };
        let Some(changes) = changes else {
            let line = format!(
                "{}\n",
                json!({ "type": "ERROR", "object": Fault::gone().object() })
            );
            return Some((line, None));
        };
        let lines: String = changes
            .iter()
            .filter(|change| wanted.takes(&change.object))
            .map(|change| wanted.line(change.how.as_str(), &change.object))
            .collect();
        version = now;
        if !lines.is_empty() {
            return Some((lines, Some(version)));
        }
        tokio::select! {
            more = moved.changed() => more.ok()?,
            () = tokio::time::sleep_until(end) => return None,
            () = core.alive.cancelled() => return None,
        }
    }
}

/// What a pod printed.
pub(super) fn logs(core: &Arc<Core>, pod: &Value, call: &Call) -> Result<Response, Fault> {
    let name = text(pod, "/metadata/name");
    let container = text(pod, "/spec/containers/0/name");
    if let Some(other) = call.get("container").filter(|other| *other != container) {
        return Err(Fault::bad(format!(
            "container {other} is not valid for pod {name}"
        )));
    }
    let number = |key: &str| match call.get(key) {
        None => Ok(None),
        Some(text) => text
            .parse::<usize>()
            .map(Some)
            .map_err(|_| Fault::bad(format!("invalid {key}: {text}"))),
    };
    let (tail, seconds) = (number("tailLines")?, number("sinceSeconds")?);
    let uid = text(pod, "/metadata/uid");
    let life = core.store().lives.get(&uid).cloned();
    let lines = if call.flag("previous") {
        life.and_then(|life| life.previous).ok_or_else(|| {
            Fault::bad(format!(
                "previous terminated container \"{container}\" in pod \"{name}\" not found"
            ))
        })?
    } else {
        life.map(|life| life.lines).unwrap_or_default()
    };
    let waits = text(pod, "/status/containerStatuses/0/state/waiting/reason");
    if lines.printed == 0 && !waits.is_empty() {
        let why = if waits == "ContainerCreating" {
            &waits
        } else {
            "trying and failing to pull image"
        };
        return Err(Fault::bad(format!(
            "container \"{container}\" in pod \"{name}\" is waiting to start: {why}"
        )));
    }
    let since = seconds.and_then(|seconds| {
        let ago = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        Timestamp::now().checked_sub(ago).ok()
    });
    let mut kept = lines.since(0);
    kept.retain(|(at, _)| since.is_none_or(|since| *at >= since));
    let kept = kept.split_off(kept.len().saturating_sub(tail.unwrap_or(usize::MAX)));
    let times = call.flag("timestamps");
    let first = written(&kept, times);
    let body = if call.flag("follow") && !call.flag("previous") {
        follow(Arc::clone(core), uid, first, lines.printed, times)
    } else {
        Body::from(first)
    };
    Ok(wire::typed(StatusCode::OK, "text/plain", body))
}

fn written(lines: &[(Timestamp, String)], times: bool) -> String {
    let one = |(at, line): &(Timestamp, String)| {
        if times {
            format!("{at:.9} {line}\n")
        } else {
            format!("{line}\n")
        }
    };
    lines.iter().map(one).collect()
}

fn follow(core: Arc<Core>, uid: String, first: String, printed: u64, times: bool) -> Body {
    Body::from_stream(stream::unfold((Some(first), printed), move |(first, printed)| {
        let (core, uid) = (Arc::clone(&core), uid.clone());
        async move {
            if let Some(first) = first.filter(|first| !first.is_empty()) {
                return Some((Ok::<_, Infallible>(Bytes::from(first)), (None, printed)));
            }
            loop {
                let lines = core.store().lives.get(&uid).map(|life| life.lines.clone())?;
                // A container that was started again counts from the beginning.
                let from = if lines.printed < printed { 0 } else { printed };
                let more = written(&lines.since(from), times);
                if !more.is_empty() {
                    return Some((Ok(Bytes::from(more)), (None, lines.printed)));
                }
                core.alive
                    .run_until_cancelled(tokio::time::sleep(Duration::from_millis(100)))
                    .await?;
            }
        }
    }))
}
