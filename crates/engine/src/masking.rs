//! Where text from outside becomes text that may be kept, shown, streamed and sent to a model: one function for each
//! boundary. Nothing is cut before it was masked.
//!
//! What a model says is masked before its proposals are read from it. So a model can never use a secret as an argument, what
//! runs is what was recorded, and a replay reads the same proposals from the record.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use interlock_dialect::{Channel, NativeArguments, Reply, Shown};
use interlock_mask::{Masker, StreamMasker, Withheld};
use interlock_model::{Attempt, Completion, Failure, Finish};
use interlock_protocol::{Arguments, ContentHash, head_and_tail};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::error::Error;

/// The longest text that is looked through. A longer one is withheld.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// What has up to this many bytes is masked at once, in a few milliseconds at worst; what has more lets the other sessions go on.
/// To hand a thread over costs more than to mask a short text, and leaves another thread with memory of its own behind.
const AT_ONCE: usize = 16 * 1024;

/// What people and alerts say. A long text is masked outside of the threads that serve requests, and waits for other long ones, so
/// that one core is left for everything else.
pub(crate) async fn input(masker: &Masker, text: &str) -> String {
    static SLOTS: OnceLock<Semaphore> = OnceLock::new();
    let slots = SLOTS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Semaphore::new(cores.saturating_sub(1).max(1))
    });
    if text.len() <= AT_ONCE {
        return document(masker, text);
    }
    // It is never closed.
    let slot = slots.acquire().await.ok();
    let masker = masker.clone();
    let text: Arc<str> = Arc::from(text);
    let inside = Arc::clone(&text);
    let done = tokio::task::spawn_blocking(move || {
        tracing::trace!(bytes = inside.len(), "masking an input");
        document(&masker, &inside)
    })
    .await;
    drop(slot);
    // A masker that failed has shown nothing.
    done.unwrap_or_else(|_| withheld(text.as_bytes()))
}

/// Masks what has so many bytes, without keeping a thread from the other sessions if they are many.
pub(crate) fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= AT_ONCE {
        return work();
    }
    let several = tokio::runtime::Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread);
    if several {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// What a tool returned, as it is kept, shown and sent: masked as a whole, and then each text and each list of lines cut to
/// `room` bytes. A member `truncated` says whether something was cut.
pub(crate) fn result(masker: &Masker, data: &mut Value, room: usize) {
    masker.mask_value(data);
    if cut(data, room)
        && let Value::Object(members) = data
    {
        members.insert("truncated".to_owned(), true.into());
    }
}

/// The same for one text.
pub(crate) fn text_result(masker: &Masker, text: &str, room: usize) -> String {
    let clean = masker.mask_text(text);
    head_and_tail(&clean, room).unwrap_or_else(|| clean.into_owned())
}

/// Cuts what is longer than there is room for, and says whether something was.
fn cut(value: &mut Value, room: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => match head_and_tail(text, room) {
            None => false,
            Some(shorter) => {
                *text = shorter;
                true
            }
        },
        Value::Array(items)
            if items.iter().all(Value::is_string) && items.iter().map(weight).sum::<usize>() > room =>
        {
            cut_lines(items, room);
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| cut(item, room) | any),
        Value::Object(members) => members
            .values_mut()
            .fold(false, |any, member| cut(member, room) | any),
    }
}

/// Keeps the first and the last lines that fit.
fn cut_lines(lines: &mut Vec<Value>, room: usize) {
    for line in lines.iter_mut() {
        cut(line, room / 2);
    }
    let fitting = |lines: &mut dyn Iterator<Item = &Value>| {
        let mut bytes = 0;
        lines
            .take_while(|line| {
                bytes += weight(line);
                bytes <= room / 2
            })
            .count()
    };
    let first = fitting(&mut lines.iter());
    let last = fitting(&mut lines[first..].iter().rev());
    let end = lines.len() - last;
    if first < end {
        let notice = format!("[… {} lines left out …]", end - first);
        lines.splice(first..end, [notice.into()]);
    }
}

/// About how many bytes a value has as text.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + weight(value))
            .sum(),
    }
}

/// A text that may begin with JSON, as an alert with its runbook: values are masked as values, so that the name of a key is
/// enough, and what follows as text.
fn document(masker: &Masker, text: &str) -> String {
    if text.len() > MOST_BYTES {
        return withheld(text.as_bytes());
    }
    if !text.trim_start().starts_with(['{', '[']) {
        return shown(masker, text);
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(mut value)) = values.next() else {
        return shown(masker, text);
    };
    let (json, rest) = text.split_at(values.byte_offset());
    if masker.mask_value(&mut value) == 0 {
        return shown(masker, text);
    }
    let written = if json.trim().contains('\n') {
        serde_json::to_string_pretty(&value)
    } else {
        serde_json::to_string(&value)
    };
    match written {
        Ok(json) => format!("{json}{}", shown(masker, rest)),
        Err(_) => withheld(text.as_bytes()),
    }
}

/// What tells one alert from another, as a fingerprint. One that holds a secret becomes its hash, so that equal ones stay
/// equal.
pub(crate) fn key(masker: &Masker, text: String) -> String {
    if line(masker, &text) == text {
        text
    } else {
        ContentHash::of(&text).to_string()
    }
}

/// Refuses arguments of a person that hold a secret. What runs is recorded as it runs, so it cannot be masked.
pub(crate) fn arguments_of_person(masker: &Masker, arguments: &Arguments) -> Result<(), Error> {
    let mut clean = Value::Object(arguments.clone());
    masker.mask_value(&mut clean);
    let mut names: Vec<String> = arguments
        .iter()
        .filter(|(name, value)| clean.get(name.as_str()) != Some(*value))
        .map(|(name, _)| line(masker, name))
        .collect();
    names.sort();
    if names.is_empty() {
        Ok(())
    } else {
        Err(Error::Secret { names })
    }
}

/// The text without what colours it on a terminal, which masking removes and which is no secret.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end {
            Some(end) if after[end..].starts_with('m') => {
                plain.push_str(before);
                rest = &after[end + 1..];
            }
            _ => {
                plain.push_str(before);
                plain.push_str("\u{1b}[");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Where log lines go. Each line is masked before it is written.
#[derive(Debug)]
pub struct MaskedLog<W> {
    masker: Masker,
    to: W,
}

impl<W> MaskedLog<W> {
    /// Masks what is written, and writes it there.
    pub const fn new(masker: Masker, to: W) -> Self {
        Self { masker, to }
    }
}

impl<W: Write> Write for MaskedLog<W> {
    /// Takes whole lines: a log writes each of its lines at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = String::from_utf8_lossy(bytes);
        let clean = line(&self.masker, &written);
        if clean == without_colours(&written) {
            self.to.write_all(bytes)?;
        } else {
            self.to.write_all(clean.trim_end().as_bytes())?;
            self.to.write_all(b"\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The text masked, or a notice if it is too costly to mask.
fn shown(masker: &Masker, text: &str) -> String {
    match masker.try_mask_text(text) {
        Ok(clean) => clean.into_owned(),
        Err(Withheld { .. }) => withheld_because("too costly to mask, ", text.as_bytes()),
    }
}

/// A line for people: a message of an error, the reason for a decision.
pub(crate) fn line(masker: &Masker, text: &str) -> String {
    if text.len() > MOST_BYTES {
        return withheld(text.as_bytes());
    }
    shown(masker, text)
}

/// What a model said, before anything is read from it. Says whether something was masked.
pub(crate) fn completion(masker: &Masker, completion: &mut Completion) -> bool {
    let found = completion.groundings.iter().chain(&completion.code_executions);
    let bytes = completion.raw.len() + completion.reply.text.len() + found.map(weight).sum::<usize>();
    aside(bytes, || {
        let mut changed = reply(masker, &mut completion.reply);
        for found in completion
            .groundings
            .iter_mut()
            .chain(&mut completion.code_executions)
        {
            changed |= value(masker, found);
        }
        attempts(masker, &mut completion.attempts);
        if let Some(served_by) = &mut completion.served_by {
            changed |= text(masker, served_by);
        }
        if let Finish::Other(reason) = &mut completion.finish {
            changed |= text(masker, reason);
        }
        let clean = |text: &str| line(masker, text) == text;
        let before = completion.thoughts.len();
        // A provider refuses a thought that it signed and that was changed.
        completion
            .thoughts
            .retain(|thought| clean(&thought.text) && thought.signature.as_deref().is_none_or(clean));
        changed |= completion.thoughts.len() < before;
        for signature in &mut completion.call_signatures {
            if signature.take_if(|signature| !clean(signature)).is_some() {
                changed = true;
            }
        }
        raw(masker, &mut completion.raw, changed);
        changed
    })
}

/// What is recorded of a call that failed.
pub(crate) fn failure(masker: &Masker, failure: &mut Failure) {
    let bytes = failure.record.raw.len() + failure.record.partial.text.len() + failure.message.len();
    aside(bytes, || {
        failure.message = line(masker, &failure.message);
        attempts(masker, &mut failure.record.attempts);
        let changed = reply(masker, &mut failure.record.partial);
        raw(masker, &mut failure.record.raw, changed);
    });
}

fn reply(masker: &Masker, reply: &mut Reply) -> bool {
    let mut changed = text(masker, &mut reply.text);
    changed |= text(masker, &mut reply.thinking);
    for call in &mut reply.calls {
        // A call without an id gets one of ours.
        if call.id.take_if(|id| line(masker, id) != *id).is_some() {
            changed = true;
        }
        changed |= text(masker, &mut call.name);
        changed |= match &mut call.arguments {
            NativeArguments::Value(arguments) => value(masker, arguments),
            NativeArguments::Text(written) => arguments(masker, written),
        };
    }
    changed
}

/// Arguments that a model wrote as JSON. Their values decide; what is not JSON, and a member that another one of the same name
/// hides, is text.
fn arguments(masker: &Masker, written: &mut String) -> bool {
    let Ok(mut read) = serde_json::from_str::<Value>(written) else {
        return text(masker, written);
    };
    if value(masker, &mut read) {
        *written = read.to_string();
        return true;
    }
    let seen = read.to_string();
    line(masker, &seen) == seen && text(masker, written)
}

/// Masking also removes the colours of a terminal, which counts as no secret and is a change all the same.
fn value(masker: &Masker, value: &mut Value) -> bool {
    let before = value.clone();
    masker.mask_value(value);
    *value != before
}

fn attempts(masker: &Masker, attempts: &mut [Attempt]) {
    for attempt in attempts {
        text(masker, &mut attempt.message);
        if let Some(id) = &mut attempt.request_id {
            text(masker, id);
        }
    }
}

fn text(masker: &Masker, text: &mut String) -> bool {
    let clean = line(masker, text);
    let changed = clean != *text;
    *text = clean;
    changed
}

/// The bytes of the wire. A secret may be spread over several of its pieces, so they are kept only if the reply that they make
/// has none.
fn raw(masker: &Masker, raw: &mut Bytes, changed: bool) {
    let found = changed || {
        let written = String::from_utf8_lossy(raw);
        line(masker, &written) != written
    };
    if found && !raw.is_empty() {
        *raw = Bytes::from(withheld(raw));
    }
}

/// What stands where something is not shown.
fn withheld(bytes: &[u8]) -> String {
    withheld_because("", bytes)
}

fn withheld_because(reason: &str, bytes: &[u8]) -> String {
    format!(
        "[withheld: {reason}{} bytes, {}]",
        bytes.len(),
        ContentHash::of(bytes)
    )
}

/// What a model writes, masked while it writes it.
pub(crate) struct Stream {
    masker: Masker,
    channels: Vec<(Channel, StreamMasker)>,
}

impl Stream {
    pub(crate) fn new(masker: &Masker) -> Self {
        Self {
            masker: masker.clone(),
            channels: Vec::new(),
        }
    }

    /// What of these pieces may be shown now.
    pub(crate) fn push(&mut self, pieces: Vec<Shown>) -> Vec<Shown> {
        let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
        aside(bytes, || self.take(pieces))
    }

    fn take(&mut self, pieces: Vec<Shown>) -> Vec<Shown> {
        let mut shown = Vec::new();
        for Shown { channel, text } in pieces {
            let at = self.channels.iter().position(|(known, _)| *known == channel);
            let at = at.unwrap_or_else(|| {
                self.channels
                    .push((channel, StreamMasker::new(self.masker.clone())));
                self.channels.len() - 1
            });
            let text = self.channels[at].1.push(&text);
            if !text.is_empty() {
                shown.push(Shown { channel, text });
            }
        }
        shown
    }

    /// What was held back.
    pub(crate) fn finish(mut self) -> Vec<Shown> {
        let mut shown = Vec::new();
        for (channel, masker) in &mut self.channels {
            let text = masker.finish();
            if !text.is_empty() {
                shown.push(Shown {
                    channel: *channel,
                    text,
                });
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use interlock_dialect::NativeCall;
    use serde_json::json;

    use super::*;

    const SECRET: &str = "hunter2secretA";

    fn written(text: &str) -> NativeArguments {
        NativeArguments::Text(text.to_owned())
    }

    /// Arguments, and what they are after masking.
    fn cases() -> Vec<(&'static str, NativeArguments, NativeArguments)> {
        let marker = "[masked:password]";
        vec![
            (
                "a value by its name",
                NativeArguments::Value(json!({ "password": SECRET })),
                NativeArguments::Value(json!({ "password": marker })),
            ),
            (
                "a value by its text",
                NativeArguments::Value(json!({ "command": format!("env DB_PASSWORD={SECRET} ls") })),
                NativeArguments::Value(json!({ "command": format!("env DB_PASSWORD={marker} ls") })),
            ),
            (
                "colours alone",
                NativeArguments::Value(json!({ "command": "ls \u{1b}[31m/srv\u{1b}[0m" })),
                NativeArguments::Value(json!({ "command": "ls /srv" })),
            ),
            (
                "a written value",
                written(&format!(r#"{{ "a": 1, "password": "{SECRET}" }}"#)),
                written(&format!(r#"{{"a":1,"password":"{marker}"}}"#)),
            ),
            (
                "a name in escapes",
                written(&format!(r#"{{"pass\u0077ord":"{SECRET}"}}"#)),
                written(&format!(r#"{{"password":"{marker}"}}"#)),
            ),
            (
                "a member that another one hides",
                written(&format!(r#"{{"note":"password={SECRET}","note":"none"}}"#)),
                written(&format!(r#"{{"note":"password={marker}","note":"none"}}"#)),
            ),
            (
                "what is not JSON",
                written(&format!("{{password={SECRET}")),
                written(&format!("{{password={marker}")),
            ),
            (
                "nothing secret keeps its form",
                written(r#"{ "command" : "grep -i password= /etc/app.conf" }"#),
                written(r#"{ "command" : "grep -i password= /etc/app.conf" }"#),
            ),
        ]
    }

    #[test]
    fn arguments_are_masked_and_every_change_is_told() {
        let masker = Masker::built_in();
        for (name, arguments, expected) in cases() {
            let before = Reply {
                calls: vec![NativeCall {
                    id: None,
                    name: "run".to_owned(),
                    arguments,
                }],
                ..Reply::default()
            };
            let mut after = before.clone();
            let told = reply(&masker, &mut after);
            assert_eq!(after.calls[0].arguments, expected, "{name}");
            assert_eq!(told, after != before, "{name}");
            let mut again = after.clone();
            assert!(!reply(&masker, &mut again), "{name}: {again:?}");
        }
    }

    #[test]
    fn a_line_of_a_log_is_masked_and_keeps_its_colours_and_its_end() {
        let plain = "\u{1b}[2m2026-01-31\u{1b}[0m \u{1b}[33mWARN\u{1b}[0m it broke\n".to_owned();
        let json = format!("{{\"fields\":{{\"message\":\"password={SECRET}\"}}}}\n");
        let cases = [
            (plain.clone(), plain),
            (
                format!("WARN password={SECRET}\n"),
                "WARN password=[masked:password]\n".to_owned(),
            ),
            (
                json,
                "{\"fields\":{\"message\":\"password=[masked:password]\"}}\n".to_owned(),
            ),
            ("\u{1b}[K odd\n".to_owned(), "\u{1b}[K odd\n".to_owned()),
        ];
        for (line, expected) in cases {
            let mut to = Vec::new();
            let mut log = MaskedLog::new(Masker::built_in(), &mut to);
            log.write_all(line.as_bytes()).expect("a line");
            log.flush().expect("a line");
            let shown = String::from_utf8(to).expect("text");
            // What moves the cursor may be removed or stay: the terminal is guarded by what prints it.
            assert_eq!(shown.replace("\u{1b}[K", ""), expected.replace("\u{1b}[K", ""));
        }
    }

    #[test]
    fn an_alert_with_a_runbook_is_masked_by_its_names() {
        let masker = Masker::built_in();
        let input = format!(
            "{{\n  \"passwords\": [\"{SECRET}1\"],\n  \"a\": 1\n}}\n\n--- runbook ---\nuse password={SECRET}"
        );
        let kept = document(&masker, &input);
        assert!(
            !kept.contains(SECRET) && kept.contains("--- runbook ---\nuse "),
            "{kept}"
        );
        assert_eq!(document(&masker, "{\"a\":1} and more"), "{\"a\":1} and more");
        assert_eq!(document(&masker, "[not json"), "[not json");
    }

    #[test]
    fn a_key_with_a_secret_becomes_its_hash() {
        let masker = Masker::built_in();
        let secret = format!("password={SECRET}");
        let hidden = key(&masker, secret.clone());
        assert_eq!(hidden, ContentHash::of(&secret).to_string());
        assert_eq!(key(&masker, "disk-web".to_owned()), "disk-web");
    }

    #[test]
    fn arguments_of_a_person_hold_no_secret() {
        let masker = Masker::built_in();
        let arguments = |value: Value| value.as_object().cloned().unwrap_or_default();
        assert!(
            arguments_of_person(
                &masker,
                &arguments(json!({ "command": "grep -i password= /etc/app.conf" }))
            )
            .is_ok()
        );
        for (given, names) in [
            (json!({ "action": "x", "password": SECRET }), "`password`"),
            (
                json!({ "action": "x", "command": format!("mysql password={SECRET}") }),
                "`command`",
            ),
            (
                json!({ "list": [{ "token": format!("{SECRET}9") }], "secret": SECRET }),
                "`list`, `secret`",
            ),
        ] {
            let said = arguments_of_person(&masker, &arguments(given))
                .expect_err("a secret")
                .to_string();
            assert!(said.contains(names) && !said.contains(SECRET), "{said}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_withheld() {
        let masker = Masker::built_in();
        let mut long = "word ".repeat(MOST_BYTES / 5 + 1);
        assert!(text(&masker, &mut long));
        assert!(long.starts_with("[withheld: 8388610 bytes, "), "{long:.80}");
        assert_eq!(document(&masker, &long), long);
    }

    #[test]
    fn a_text_that_is_too_costly_is_withheld() {
        let masker = Masker::built_in().with_budget(1000);
        let costly = format!("password={SECRET} and more\n").repeat(100);
        for kept in [document(&masker, &costly), line(&masker, &costly)] {
            assert!(kept.starts_with("[withheld: too costly to mask, "), "{kept:.80}");
            assert!(!kept.contains(SECRET), "{kept}");
        }
        let mut bytes = Bytes::from(costly);
        raw(&masker, &mut bytes, false);
        assert!(bytes.starts_with(b"[withheld: "), "{bytes:?}");
    }

    #[test]
    fn a_key_of_a_model_is_masked_by_its_value_in_everything_that_a_model_says() {
        let key = "Zq8Xw3Vn7Rt2Lk9Pf4";
        let masker = Masker::built_in().with_values([key]);
        let mut said = Reply {
            text: format!("it is {key}"),
            thinking: format!("I know{key}"),
            calls: vec![NativeCall {
                id: None,
                name: "run".to_owned(),
                arguments: NativeArguments::Value(json!({ "command": format!("echo {key}") })),
            }],
        };
        assert!(reply(&masker, &mut said));
        let kept = format!("{said:?}");
        assert!(
            !kept.contains(key) && kept.matches("[masked:configured_secret]").count() == 3,
            "{kept}"
        );
        assert!(!line(&masker, &format!("refused: {key}")).contains(key));
    }

    #[test]
    fn the_bytes_of_the_wire_are_kept_where_they_hold_no_secret() {
        let masker = Masker::built_in();
        let kept = [
            r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}}}"#,
            r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":472,"output_tokens":89,"cache_read_input_tokens":4}}"#,
            r#"data: {"candidates":[{"content":{"parts":[{"text":"Hello"}]}}],"usageMetadata":{"promptTokenCount":10,"thoughtsTokenCount":3}}"#,
            r#"{"model":"qwen3","message":{"role":"assistant","content":"Hello"},"done":true,"prompt_eval_count":10,"eval_count":5}"#,
        ];
        for wire in kept {
            let mut bytes = Bytes::from(wire);
            raw(&masker, &mut bytes, false);
            assert_eq!(bytes, wire);
            raw(&masker, &mut bytes, true);
            assert!(bytes.starts_with(b"[withheld: "), "{bytes:?}");
        }
        let mut bytes = Bytes::from(format!(
            "data: {{\"delta\":{{\"content\":\"password={SECRET}\"}}}}"
        ));
        raw(&masker, &mut bytes, false);
        assert!(bytes.starts_with(b"[withheld: "), "{bytes:?}");
    }

    #[test]
    fn what_a_tool_returned_is_masked_and_then_cut() {
        let masker = Masker::built_in();
        let long = "x".repeat(30);
        let key = format!("-----BEGIN PRIVATE KEY-----\n{}", "TUlJRXZn".repeat(40));
        for (given, kept) in [
            (json!({"stdout": "short"}), json!({"stdout": "short"})),
            (
                json!({"stdout": long, "truncated": false}),
                json!({"stdout": "xxxxxxxxxx\n[… 10 bytes left out …]\nxxxxxxxxxx", "truncated": true}),
            ),
            (
                json!({"rows": [{"text": long}]}),
                json!({"rows": [{"text": "xxxxxxxxxx\n[… 10 bytes left out …]\nxxxxxxxxxx"}], "truncated": true}),
            ),
            (
                json!({"lines": ["11111", "22222", "33333", "44444", "55555", "66666"]}),
                json!({"lines": ["11111", "22222", "[… 2 lines left out …]", "55555", "66666"], "truncated": true}),
            ),
            (json!({"stdout": key}), json!({"stdout": "[masked:private_key]"})),
            (
                json!(long),
                json!("xxxxxxxxxx\n[… 10 bytes left out …]\nxxxxxxxxxx"),
            ),
        ] {
            let mut data = given.clone();
            result(&masker, &mut data, 20);
            assert_eq!(data, kept, "{given}");
        }
    }

    #[test]
    fn a_stream_shows_what_is_kept() {
        let masker = Masker::built_in();
        let whole = format!("Look:\npassword={SECRET}\nand the rest, with token=abc{SECRET} at its end");
        for size in 1..24 {
            let mut stream = Stream::new(&masker);
            let mut shown = Vec::new();
            for piece in whole.as_bytes().chunks(size) {
                let text = String::from_utf8_lossy(piece).into_owned();
                let pieces = [Channel::Text, Channel::Thinking].map(|channel| Shown {
                    channel,
                    text: text.clone(),
                });
                shown.extend(stream.push(pieces.into()));
            }
            shown.extend(stream.finish());
            for channel in [Channel::Text, Channel::Thinking] {
                let of = shown.iter().filter(|shown| shown.channel == channel);
                let text: String = of.map(|shown| shown.text.as_str()).collect();
                assert_eq!(text, line(&masker, &whole), "in pieces of {size}");
            }
        }
    }
}
