//! The file as a tree of values, each with its place.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, Spanned};

use crate::problem::{Place, Problem};

/// A configuration larger than this is a mistake.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 50_000;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Text),
    List(Vec<Node>),
    Map(Vec<(Name, Node)>),
}

/// A text, and where parts of it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) value: String,
    /// Whether something was put in, be it a default.
    pub(crate) interpolated: bool,
    /// The variables and files that were put in.
    pub(crate) origins: Vec<String>,
}

/// The name of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) place: Place,
}

impl Data {
    pub(crate) const fn what(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map of keys",
        }
    }
}

impl Node {
    /// Whether there is a value under these keys.
    pub(crate) fn has(&self, path: &[&str]) -> bool {
        match (&self.data, path.split_first()) {
            (_, None) => true,
            (Data::Map(entries), Some((first, rest))) => entries
                .iter()
                .any(|(name, node)| name.text == *first && node.has(rest)),
            _ => false,
        }
    }

    /// The place of the value under these keys, or of the nearest that is there.
    pub(crate) fn place_of(&self, path: &[&str]) -> Place {
        let Some((first, rest)) = path.split_first() else {
            return self.place;
        };
        match &self.data {
            Data::Map(entries) => {
                entries
                    .iter()
                    .find(|(name, _)| name.text == *first)
                    .map_or(self.place, |(name, node)| {
                        if rest.is_empty() {
                            name.place
                        } else {
                            node.place_of(rest).or(name.place)
                        }
                    })
            }
            Data::List(items) => first
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index))
                .map_or(self.place, |node| node.place_of(rest)),
            _ => self.place,
        }
    }
}

impl Place {
    fn or(self, other: Self) -> Self {
        if self.line == 0 { other } else { self }
    }
}

/// Reads the text of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Node, Problem> {
    let whole = |message: &str| Problem::new("", None, message);
    if bytes.len() > MAX_BYTES {
        return Err(whole("the file is larger than 1 MiB")
            .help("a configuration is a page or two: is this the right file?"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
        let place = Place {
            line: u64::try_from(line).unwrap_or_default(),
            column: u64::try_from(column).unwrap_or_default(),
        };
        Problem::new("", place, "the file is not UTF-8 here").help("save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(problem) = tab_indentation(text) {
        return Err(problem);
    }
    let empty = Node {
        place: Place { line: 1, column: 1 },
        data: Data::Map(Vec::new()),
    };
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#') || line.trim() == "---")
    {
        return Ok(empty);
    }
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options()) {
        Ok(root) => {
            let root = node(root);
            match root.data {
                Data::Map(_) => Ok(root),
                Data::Null => Ok(empty),
                other => Err(Problem::new(
                    "",
                    root.place,
                    format!("the file holds {}, not keys", other.what()),
                )
                .help("begin with a key such as `models:`")),
            }
        }
        Err(error) => Err(syntax(&error)),
    }
}

fn options() -> serde_saphyr::Options {
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_nodes: MAX_NODES,
        max_events: 4 * MAX_NODES,
        max_aliases: 200,
        max_anchors: 200,
        max_recorded_anchor_events: MAX_NODES,
        max_recorded_anchor_bytes: MAX_BYTES,
        max_total_scalar_bytes: MAX_BYTES,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_NODES, max_replay_stack_depth: 16 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// YAML forbids tabs for indentation and its parsers say so in odd ways.
fn tab_indentation(text: &str) -> Option<Problem> {
    text.lines().enumerate().find_map(|(index, line)| {
        let lead = line.len() - line.trim_start_matches([' ', '\t']).len();
        let tab = line[..lead].find('\t')?;
        let content = &line[lead..];
        (!content.is_empty() && !content.starts_with('#')).then(|| {
            let place = Place {
                line: u64::try_from(index + 1).unwrap_or_default(),
                column: u64::try_from(tab + 1).unwrap_or_default(),
            };
            Problem::new("", place, "a tab stands in the indentation").help("indent with blanks")
        })
    })
}

fn syntax(error: &serde_saphyr::Error) -> Problem {
    use serde_saphyr::Error as E;
    let error = error.without_snippet();
    let place = error.location().map(|location| Place {
        line: location.line(),
        column: location.column(),
    });
    match error {
        E::MultipleDocuments { .. } => Problem::new("", place, "the file holds more than one document")
            .help("remove the line `---` and what follows it"),
        E::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("a key");
            Problem::new("", place, format!("`{key}` is written twice in the same map"))
                .help("keep one of them")
        }
        E::MergeKeyNotAllowed { .. } => {
            Problem::new("", place, "the merge key `<<` is not understood").help("write the keys out")
        }
        other => {
            let text = other.to_string();
            if text.contains("budget breached") || text.contains("limit") {
                return Problem::new(
                    "",
                    place,
                    "the file is too deep, too long or repeats itself through aliases too often",
                )
                .help("write out what the aliases stand for, and keep it short");
            }
            // Their message repeats the place.
            let text = text.split(" at line ").next().unwrap_or(&text);
            let text = text.rsplit_once(": line ").map_or(text, |(text, _)| text);
            Problem::new("", place, format!("not YAML: {}", text.trim_end_matches('.')))
        }
    }
}

/// A value as the YAML reader hands it over.
enum Raw {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn node(raw: Spanned<Raw>) -> Node {
    let place = |location: serde_saphyr::Location| Place {
        line: location.line(),
        column: location.column(),
    };
    Node {
        place: place(raw.referenced),
        data: match raw.value {
            Raw::Null => Data::Null,
            Raw::Bool(value) => Data::Bool(value),
            Raw::Integer(value) => Data::Integer(value),
            Raw::Float(value) => Data::Float(value),
            Raw::Text(value) => Data::Text(Text {
                value,
                interpolated: false,
                origins: Vec::new(),
            }),
            Raw::List(items) => Data::List(items.into_iter().map(node).collect()),
            Raw::Map(entries) => Data::Map(
                entries
                    .into_iter()
                    .map(|(name, value)| {
                        let name = Name {
                            place: place(name.referenced),
                            text: name.value,
                        };
                        (name, node(value))
                    })
                    .collect(),
            ),
        },
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Raw, E> {
        i64::try_from(value)
            .map(Raw::Integer)
            .map_err(|_| E::custom("the number is too large"))
    }

    fn visit_i128<E: de::Error>(self, _: i128) -> Result<Raw, E> {
        Err(E::custom("the number is too large"))
    }

    fn visit_u128<E: de::Error>(self, _: u128) -> Result<Raw, E> {
        Err(E::custom("the number is too large"))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = entries.next_key()? {
            map.push((name, entries.next_value()?));
        }
        Ok(Raw::Map(map))
    }
}
