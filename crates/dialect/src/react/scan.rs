//! The words that `react` looks for, and whether a text that is not complete yet begins with one.

/// A part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Before the first header.
    Preamble,
    Thought,
    Action,
    ActionInput,
    FinalAnswer,
    /// A second final answer, apart from the first.
    Surplus,
}

/// What can begin a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Header(Section),
    /// `Observation:`
    Observation,
    /// `[Based on`
    BasedOn,
}

const OPENINGS: &[(&str, Opening)] = &[
    ("Thought:", Opening::Header(Section::Thought)),
    ("Action:", Opening::Header(Section::Action)),
    ("Action Input:", Opening::Header(Section::ActionInput)),
    ("Final Answer:", Opening::Header(Section::FinalAnswer)),
    ("Observation:", Opening::Observation),
    ("[Based on", Opening::BasedOn),
];

/// What can stand in the middle of a line.
const WITHIN: &[(&str, Section)] = &[
    ("Final Answer:", Section::FinalAnswer),
    ("Action Input:", Section::ActionInput),
    ("Action:", Section::Action),
];

/// The answer of a look ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look<T> {
    /// It is there and ends here.
    Found(T, usize),
    /// It is not there.
    Absent,
    /// More text would decide.
    Unclear,
}

/// The most decoration between the end of a sentence and a header.
const MAX_DECORATION: usize = 8;
/// How many spaces may follow a `Thought` that stands alone on its line.
const MAX_PADDING: usize = 32;
/// How far into an `Observation:` line our own words are looked for.
const OBSERVATION_WINDOW: usize = 160;
/// Words of feedback. An observation with them repeats what a model was told; it is not made up.
const FEEDBACK_WORDS: [&str; 3] = [
    "Please specify",
    "what Action you want to take",
    "Error in reasoning",
];

fn look<T: Copy>(text: &str, words: &[(&str, T)], ended: bool) -> Look<T> {
    if let Some(&(word, found)) = words.iter().find(|(word, _)| text.starts_with(word)) {
        return Look::Found(found, word.len());
    }
    if !ended && words.iter().any(|(word, _)| word.starts_with(text)) {
        Look::Unclear
    } else {
        Look::Absent
    }
}

/// What the line begins with; `text` begins at its first visible character.
pub(super) fn opening(text: &str, ended: bool) -> Look<Opening> {
    match look(text, OPENINGS, ended) {
        Look::Absent => {}
        found => return found,
    }
    // `Thought` alone on its line is a header, too.
    let Some(rest) = text.strip_prefix("Thought") else {
        return Look::Absent;
    };
    let padding = rest
        .bytes()
        .take(MAX_PADDING)
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
        .count();
    match rest.as_bytes().get(padding) {
        Some(b'\n') => Look::Found(Opening::Header(Section::Thought), "Thought".len() + padding),
        None if ended => Look::Found(Opening::Header(Section::Thought), text.len()),
        None => Look::Unclear,
        Some(_) => Look::Absent,
    }
}

/// Whether a header follows the end of a sentence, after optional decoration.
pub(super) fn after_sentence(text: &str, ended: bool) -> Look<Section> {
    let decoration = text
        .bytes()
        .take(MAX_DECORATION)
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'`' | b'*'))
        .count();
    match look(&text[decoration..], WITHIN, ended) {
        Look::Found(section, length) => Look::Found(section, decoration + length),
        other => other,
    }
}

/// Whether the input of an action follows on the action's own line.
pub(super) fn input_within(text: &str, ended: bool) -> Look<Section> {
    look(text, &[("Action Input:", Section::ActionInput)], ended)
}

/// Whether an `Observation:` line is the model's invention. Unclear until enough of the line is there.
pub(super) fn invented(text: &str, ended: bool) -> Option<bool> {
    let window = &text[..text.floor_char_boundary(OBSERVATION_WINDOW)];
    let line = window.split('\n').next().unwrap_or(window);
    if FEEDBACK_WORDS.iter().any(|words| line.contains(words)) {
        return Some(false);
    }
    let complete = ended || line.len() < window.len() || text.len() >= OBSERVATION_WINDOW + 4;
    complete.then_some(true)
}
