//! Plays one reply of a script.

use super::script::{Entry, Fault, FaultKind, Reply, Script};
use crate::attempt::{Awaited, Clocks, Tried};
use crate::collect::Collector;
use crate::failure::{self, Kind};
use crate::wire::body::Body;
use crate::wire::problem;
use crate::{Error, Finish, ModelInfo, Request, Sink};
use bytes::Bytes;
use interlock_dialect::{NativeArguments, NativeCall};
use serde_json::{Map, Value};
use std::time::Duration;

/// What a repetition without end is made of where the script does not say.
const LOOP: &str = "I will look at this again to be sure of it. ";
/// A repetition that nobody notices ends somewhere.
const LOOP_BYTES: usize = 64 * 1024;

/// What a script is shown, as the record keeps it.
pub(crate) fn body(info: &ModelInfo, request: &Request) -> Result<Bytes, Error> {
    let mut settings = Map::new();
    settings.insert("model".to_owned(), info.model.as_str().into());
    if let Some(most) = request.max_output_tokens {
        settings.insert("max_output_tokens".to_owned(), most.into());
    }
    if !request.stop.is_empty() {
        settings.insert("stop".to_owned(), request.stop.clone().into());
    }
    let mut body = Body::new(settings, &Map::new())?;
    body.field("system", &request.system)?;
    body.field("tools", &request.tools)?;
    body.field("messages", &request.messages)?;
    Ok(body.finish())
}

/// Plays the reply that is due.
pub(crate) async fn play(
    script: &Script,
    request: &Request,
    attempt: u32,
    clocks: Clocks<'_>,
    sink: &mut Sink<'_>,
) -> Tried {
    let (turn, due) = script.due(request);
    let Some(Entry { line, reply }) = due else {
        let what = format!("the script {} has no reply for turn {}", script.name(), turn + 1);
        return Tried::failed(failure::Fault::new(Kind::ScriptEnded, what));
    };
    if let Some(mismatch) = reply.expect.mismatch(request) {
        let what = format!("the script {}, line {line}: {mismatch}", script.name());
        return Tried::failed(failure::Fault::new(Kind::ScriptMismatch, what));
    }
    let mut out = Collector::new(sink);
    let mut tried = Tried::default();
    let fault = reply
        .fault
        .filter(|fault| fault.times.is_none_or(|times| attempt <= times));
    let played = match fault {
        Some(fault) => fail(fault, reply, &mut out, &mut tried, clocks).await,
        None => speak(reply, turn, &mut out, &mut tried, clocks).await,
    };
    tried.fault = played.err();
    tried.visible = out.visible();
    if !out.stopped() && tried.fault.is_none() {
        let tokens = reply.usage;
        let usage = out.usage();
        usage.input_tokens = tokens.map_or_else(|| estimate(request), |tokens| tokens.input_tokens);
        usage.output_tokens = tokens.map_or_else(|| written(reply), |tokens| tokens.output_tokens);
    }
    tried.collected = out.into_collected();
    match serde_json::to_vec(&tried.collected.reply) {
        Ok(raw) => {
            tried.raw_total = raw.len() as u64;
            tried.raw = raw.into();
        }
        Err(error) => {
            let what = format!("the reply of the script has no JSON: {error}");
            tried
                .fault
                .get_or_insert(failure::Fault::new(Kind::Malformed, what));
        }
    }
    tried
}

/// Four bytes to a token, as everyone guesses.
fn estimate(request: &Request) -> u64 {
    let bytes: usize = request
        .messages
        .iter()
        .map(|message| message.text().len())
        .sum::<usize>()
        + request.system.len();
    bytes.div_ceil(4) as u64
}

fn written(reply: &Reply) -> u64 {
    let texts = [&reply.text, &reply.raw, &reply.thinking];
    let bytes: usize = texts.into_iter().flatten().map(String::len).sum();
    (bytes + 32 * reply.calls.len()).div_ceil(4) as u64
}

async fn pause(length: Duration, what: Awaited, clocks: Clocks<'_>) -> Result<(), failure::Fault> {
    if length.is_zero() {
        return Ok(());
    }
    clocks.wait(what, tokio::time::sleep(length)).await
}

/// The whole reply.
async fn speak(
    reply: &Reply,
    turn: usize,
    out: &mut Collector<'_>,
    tried: &mut Tried,
    clocks: Clocks<'_>,
) -> Result<(), failure::Fault> {
    pause(reply.delay.get(), Awaited::FirstChunk, clocks).await?;
    let thinking = reply.thinking.as_deref().unwrap_or_default();
    let text = reply.text.as_deref().or(reply.raw.as_deref()).unwrap_or_default();
    say(thinking, Channel::Thinking, reply, out, tried, clocks).await?;
    say(text, Channel::Text, reply, out, tried, clocks).await?;
    for (place, call) in reply.calls.iter().enumerate() {
        let arguments = match &call.arguments_text {
            Some(text) => NativeArguments::Text(text.clone()),
            None => NativeArguments::Value(Value::Object(call.arguments.clone().unwrap_or_default())),
        };
        let call = NativeCall {
            id: Some(format!("call_{turn}_{place}")),
            name: call.wire_name(),
            arguments,
        };
        out.call(call, None)?;
        tried.first_chunk.get_or_insert_with(|| clocks.began.elapsed());
    }
    out.finish(reply.finish.clone().unwrap_or(Finish::Stop));
    Ok(())
}

#[derive(Clone, Copy)]
enum Channel {
    Text,
    Thinking,
}

async fn say(
    text: &str,
    channel: Channel,
    reply: &Reply,
    out: &mut Collector<'_>,
    tried: &mut Tried,
    clocks: Clocks<'_>,
) -> Result<(), failure::Fault> {
    let size = reply.chunk_size.map_or(usize::MAX, std::num::NonZero::get);
    let mut rest = text;
    while !rest.is_empty() && !out.stopped() {
        let at = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(at);
        rest = after;
        match channel {
            Channel::Text => out.text(piece)?,
            Channel::Thinking => out.thinking(piece)?,
        }
        tried.first_chunk.get_or_insert_with(|| clocks.began.elapsed());
        if !rest.is_empty() {
            pause(reply.chunk_delay.get(), Awaited::NextChunk, clocks).await?;
            if clocks.cancel.is_cancelled() {
                return Err(crate::attempt::cancelled());
            }
        }
    }
    Ok(())
}

/// The failure that the script wants.
async fn fail(
    fault: Fault,
    reply: &Reply,
    out: &mut Collector<'_>,
    tried: &mut Tried,
    clocks: Clocks<'_>,
) -> Result<(), failure::Fault> {
    pause(reply.delay.get(), Awaited::FirstChunk, clocks).await?;
    let text = reply.text.as_deref().or(reply.raw.as_deref()).unwrap_or_default();
    let half = &text[..text.floor_char_boundary(text.len() / 2)];
    match fault.kind {
        FaultKind::Timeout => clocks.wait(Awaited::FirstChunk, std::future::pending()).await,
        FaultKind::Stall => {
            say(half, Channel::Text, reply, out, tried, clocks).await?;
            clocks.wait(Awaited::NextChunk, std::future::pending()).await
        }
        FaultKind::Disconnect => {
            // What has been shown is not asked for again, so that a fault that passes shows nothing.
            let half = if fault.times.is_some() { "" } else { half };
            say(half, Channel::Text, reply, out, tried, clocks).await?;
            let what = "the connection broke, as the script wants it";
            Err(failure::Fault::new(Kind::Transport, what))
        }
        FaultKind::Error => {
            let status = fault.status.unwrap_or(500);
            tried.status = Some(status);
            tried.asked_to_wait = fault.retry_after.map(crate::Span::get);
            Err(problem::answered(status, b"as the script wants it"))
        }
        FaultKind::MalformedJson => Err(crate::wire::malformed(
            "as the script wants it",
            b"{\"choices\":[{",
        )),
        FaultKind::Empty => {
            out.finish(Finish::Stop);
            Ok(())
        }
        FaultKind::Loop => {
            let words = if text.is_empty() { LOOP } else { text };
            let mut said = 0;
            while said < LOOP_BYTES && !out.stopped() {
                out.text(words)?;
                said += words.len();
            }
            out.finish(Finish::Length);
            Ok(())
        }
    }
}
