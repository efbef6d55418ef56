//! What looks like a secret is replaced before anyone sees it.
//!
//! Results of tools, errors, replies of models and what people type pass through a [`Masker`] before they are stored,
//! streamed, logged or shown to a model. A secret becomes `[masked:KIND]`, where [`Kind`] is one of a stable list; what
//! is around it stays, so that a reader still sees which key, which host and which user it belonged to.
//!
//! This room must never let a known shape of secret through because its surroundings are broken (a truncated PEM block,
//! half a manifest, JSON inside prose), never skip a pattern that an operator asked for, never mask across the structure
//! of JSON, and never panic. Work grows with the length of the text: nothing reads a part of
//! it again and again (`growth` tries every rule with the texts of `adversary`). What would cost more than its budget (`work`)
//! is [`Withheld`]. Masking what is masked changes nothing.
//!
//! Data walks: one automaton looks for the words of all finders at once (`finder`), what stands around each word tells which
//! finders it wakes (`around`), and a finder is asked only about the parts of the text with such words, most often none; each finder
//! says which `span` of the text is a secret (`tokens` for those that show by their beginning what they are, `shape` by their form, `assignment` for `key = value`,
//! `header`, `url`, `pem`, `command` and `program` for command lines, `pairs` for names and values that stand apart, `files` for well-known files, `manifest` for Kubernetes Secrets). Colours
//! of a terminal are removed first (`ansi`), the text is read in parts that do not depend on each other (`part`), odd characters
//! are undone (`plain`), and what tools put in front of lines is looked past (`view`). Overlapping spans
//! become one; [`Masker::mask_text`] puts markers in their place and looks again until nothing changes.
//! [`Masker::mask_value`] does the same in JSON, where the name of a key is enough. [`StreamMasker`] takes text in
//! pieces, masks the same parts, and holds back what could become a secret.

#[cfg(any(test, feature = "adversary"))]
pub mod adversary;
mod ansi;
mod around;
mod assignment;
#[cfg(test)]
mod awake;
mod base64;
#[cfg(test)]
mod cases;
mod command;
mod files;
mod finder;
#[cfg(test)]
mod forms;
mod group;
#[cfg(test)]
mod growth;
mod header;
mod keys;
mod kind;
mod manifest;
mod masker;
mod opt_in;
mod options;
mod pairs;
mod part;
mod pem;
mod placeholder;
mod plain;
mod program;
mod shape;
mod span;
mod stream;
#[cfg(test)]
mod stream_laws;
mod tokens;
mod url;
mod value;
mod view;
mod withheld;
mod work;
mod yaml;

pub use group::Group;
pub use kind::Kind;
pub use masker::{Finding, Masker};
pub use options::{Custom, Error, Options, Source};
pub use stream::StreamMasker;
pub use withheld::Withheld;
