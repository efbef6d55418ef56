//! What the operands and the values of flags are.

use crate::extent::Unit;

/// The meaning of an operand or of a flag's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// Text that is searched for, and never opened.
    Pattern,
    Path,
    File,
    /// A directory or file that is read with everything below it.
    Tree,
    /// A file that names the files which are opened.
    FileList,
    /// The folder in which it runs.
    Folder,
    Host,
    Url,
    /// A file or address that names objects, secrets possibly among them.
    Manifest,
    Write,
    /// The time between two rounds.
    Interval(Unit),
    /// How many rounds.
    Count,
    Sampler,
    /// How many lines, packets or messages end it.
    Lines,
    /// How many bytes end it.
    Bytes,
    /// How long it runs at most.
    Limit(Unit),
    /// The moment at which it ends.
    Until,
    /// The moment from which on it shows: a window of time, which counts as an end.
    Since,
    /// When a capture stops: `duration:10`, `packets:5`.
    Autostop,
    /// A number up to this one: more of it would take too long.
    UpTo(u128),
    /// `FIRST-LAST`: so many lines, unless a count ends it before.
    Range,
    /// How long it waits.
    Duration(Unit),
    Cmd,
    Shell,
    Sql,
    /// Letters, digits and `_.,:@%+/=-`, not starting with a dash.
    Word,
    /// The same without `/`, `=` and `+`.
    Name,
    /// The name of the database that SQL is for.
    Database,
    /// A condition of SQL: what follows `WHERE`.
    Condition,
    /// Options of ps, which another machine or container runs.
    PsArgs,
    /// A name, and behind it a text as an argument of its own: `jq --arg name text`.
    Named,
    /// A name, and behind it a file.
    NamedFile,
    /// A file by its plain path: OpenSSL takes `scheme:…` for something to load.
    Pem,
    /// Digits and nothing else.
    Digits,
    /// A filter of jq or yq.
    Filter,
    /// The name of a shell variable that is harmless to set.
    Var,
    /// The output format of curl, which can name files.
    CurlFormat,
    /// A template of Go, which can ask for the environment of what it shows.
    Fields,
    /// Names of properties or fields, with commas between.
    Properties,
    /// The output format of git, which can ask for a signature to be verified.
    GitFormat,
    /// One of these words; a word that ends in `*` is a prefix.
    OneOf(Vec<String>),
    /// Anything but these words.
    NoneOf(Vec<String>),
}

impl Kind {
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "text" => Self::Text,
            "pattern" => Self::Pattern,
            "path" => Self::Path,
            "file" => Self::File,
            "tree" => Self::Tree,
            "filelist" => Self::FileList,
            "folder" => Self::Folder,
            "host" => Self::Host,
            "url" => Self::Url,
            "manifest" => Self::Manifest,
            "write" => Self::Write,
            "interval" => Self::Interval(Unit::Seconds),
            "interval-ms" => Self::Interval(Unit::Milliseconds),
            "count" => Self::Count,
            "sampler" => Self::Sampler,
            "lines" => Self::Lines,
            "bytes" => Self::Bytes,
            "seconds" => Self::Limit(Unit::Seconds),
            "millis" => Self::Limit(Unit::Milliseconds),
            "until" => Self::Until,
            "since" => Self::Since,
            "autostop" => Self::Autostop,
            "duration" => Self::Duration(Unit::Seconds),
            "duration-us" => Self::Duration(Unit::Microseconds),
            range if range.starts_with("..") => Self::UpTo(
                range[2..]
                    .parse()
                    .map_err(|_| format!("`{range}` is not a range of numbers"))?,
            ),
            "range" => Self::Range,
            "cmd" => Self::Cmd,
            "shell" => Self::Shell,
            "sql" => Self::Sql,
            "word" => Self::Word,
            "name" => Self::Name,
            "database" => Self::Database,
            "condition" => Self::Condition,
            "psargs" => Self::PsArgs,
            "named" => Self::Named,
            "named-file" => Self::NamedFile,
            "pem" => Self::Pem,
            "var" => Self::Var,
            "digits" => Self::Digits,
            "filter" => Self::Filter,
            "curlfmt" => Self::CurlFormat,
            "gitfmt" => Self::GitFormat,
            "fields" => Self::Fields,
            "properties" => Self::Properties,
            words if words.starts_with('!') => {
                Self::NoneOf(words[1..].split('|').map(str::to_owned).collect())
            }
            "" => return Err("an operand without a kind".to_owned()),
            words => Self::OneOf(words.split('|').map(str::to_owned).collect()),
        })
    }

    /// Whether it names a file or folder, so that without one a filter waits for its input.
    pub(crate) const fn is_file(&self) -> bool {
        matches!(
            self,
            Self::File | Self::FileList | Self::Tree | Self::Path | Self::Pem
        )
    }

    /// Whether a value of this kind can end what would go on, or is no number at all: then the flag asks for something
    /// that ends by itself.
    pub(crate) const fn can_end(&self) -> bool {
        !matches!(self, Self::Text | Self::Word | Self::Digits | Self::Interval(_))
    }

    /// Whether a list of allowed words has this one.
    pub(crate) fn allows(words: &[String], text: &str) -> bool {
        words.iter().any(|word| match word.split_once('*') {
            // A second line could be a second command.
            Some((prefix, "")) => text.starts_with(prefix) && !text.contains('\n'),
            // One plain part in the middle.
            Some((prefix, suffix)) => text
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_suffix(suffix))
                .is_some_and(|part| {
                    part.starts_with(|c: char| c.is_ascii_alphanumeric())
                        && part
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
                }),
            None => word == text,
        })
    }
}

/// The operands of a program, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Operands {
    kinds: Vec<Kind>,
    repeats: bool,
}

impl Operands {
    pub(crate) fn parse(list: &str) -> Result<Self, String> {
        let mut kinds = Vec::new();
        let mut repeats = false;
        for word in list.split_whitespace() {
            if repeats {
                return Err(format!("`{word}` follows an operand that repeats"));
            }
            // `show*` is a prefix; `file*` repeats.
            let (kind, star) = match word.strip_suffix('*') {
                Some(stem) if stem.starts_with('!') => (stem, true),
                Some(stem)
                    if !stem.contains('|') && !matches!(Kind::parse(stem), Ok(Kind::OneOf(_)) | Err(_)) =>
                {
                    (stem, true)
                }
                Some(stem) if stem.ends_with('*') => (stem, true),
                _ => (word, false),
            };
            kinds.push(Kind::parse(kind)?);
            repeats = star;
        }
        Ok(Self { kinds, repeats })
    }

    pub(crate) fn any_text() -> Self {
        Self {
            kinds: vec![Kind::Text],
            repeats: true,
        }
    }

    /// The kind of the operand at a position; `None` where there may be none.
    pub(crate) fn at(&self, position: usize) -> Option<&Kind> {
        self.kinds
            .get(position)
            .or_else(|| if self.repeats { self.kinds.last() } else { None })
    }

    /// Whether a command is among them.
    pub(crate) fn runs(&self) -> bool {
        self.kinds
            .iter()
            .any(|kind| matches!(kind, Kind::Cmd | Kind::Shell))
    }

    /// Whether files are among them.
    pub(crate) fn names_files(&self) -> bool {
        self.kinds.iter().any(Kind::is_file)
    }

    /// Whether everything from here on is the same kind, so that one word may stand for many.
    pub(crate) fn repeats_from(&self, position: usize) -> bool {
        self.repeats && position + 1 >= self.kinds.len()
    }
}
