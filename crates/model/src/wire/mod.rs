//! The wires: how each provider is asked, and how its reply is read.
//!
//! A wire writes the body of a request with the conversation last, so that the requests of one execution share all but
//! their ends, and reads a reply event by event. It knows nothing of connections.

pub(crate) mod anthropic;
pub(crate) mod body;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai;
pub(crate) mod problem;
mod read;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use read::{Arguments, Str, Texts, count, json, malformed, word};
pub(crate) use stream::{Progress, Raw, Stream};

use crate::collect::Collector;
use crate::failure::Fault;
use crate::{Error, Options, Provider, Request};
use bytes::Bytes;

/// The wires that go over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Openai,
    Anthropic,
    Gemini,
    Ollama,
}

impl Wire {
    /// The wire of this provider. A script has none.
    pub(crate) const fn of(provider: Provider) -> Option<Self> {
        match provider {
            Provider::Openai => Some(Self::Openai),
            Provider::Anthropic => Some(Self::Anthropic),
            Provider::Gemini => Some(Self::Gemini),
            Provider::Ollama => Some(Self::Ollama),
            Provider::Scripted => None,
        }
    }

    /// The body of a request.
    pub(crate) fn body(self, options: &Options, request: &Request) -> Result<Bytes, Error> {
        match self {
            Self::Openai => openai::body(options, request),
            Self::Anthropic => anthropic::body(options, request),
            Self::Gemini => gemini::body(options, request),
            Self::Ollama => ollama::body(options, request),
        }
    }

    /// Whether a reply comes as lines of JSON instead of server-sent events.
    const fn is_lines(self) -> bool {
        matches!(self, Self::Ollama)
    }

    fn decoder(self) -> Decoder {
        match self {
            Self::Openai => Decoder::Openai(openai::Decoder::default()),
            Self::Anthropic => Decoder::Anthropic(anthropic::Decoder::default()),
            Self::Gemini => Decoder::Gemini(gemini::Decoder::default()),
            Self::Ollama => Decoder::Ollama(ollama::Decoder::default()),
        }
    }
}

/// Reads a reply of one of the wires.
#[derive(Debug)]
pub(crate) enum Decoder {
    Openai(openai::Decoder),
    Anthropic(anthropic::Decoder),
    Gemini(gemini::Decoder),
    Ollama(ollama::Decoder),
}

impl Decoder {
    /// Reads one event of a stream.
    fn event(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        match self {
            Self::Openai(decoder) => decoder.event(data, out),
            Self::Anthropic(decoder) => decoder.event(data, out),
            Self::Gemini(decoder) => decoder.event(data, out),
            Self::Ollama(decoder) => decoder.event(data, out),
        }
    }

    /// Reads a reply that came in one piece.
    fn whole(&mut self, body: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        match self {
            Self::Openai(decoder) => decoder.whole(body, out),
            Self::Anthropic(decoder) => decoder.whole(body, out),
            Self::Gemini(decoder) => decoder.whole(body, out),
            Self::Ollama(decoder) => decoder.event(body, out),
        }
    }

    /// Whether the wire said that nothing more comes.
    const fn is_done(&self) -> bool {
        match self {
            Self::Openai(decoder) => decoder.done,
            Self::Anthropic(decoder) => decoder.done,
            Self::Gemini(_) => false,
            Self::Ollama(decoder) => decoder.done,
        }
    }
}
