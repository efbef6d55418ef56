//! What a shell word can become.
//!
//! A word is scanned once, left to right, without backtracking. What a variable or a glob could turn it into is kept as
//! *unknown*; whatever would run a command, assign, or is not understood is refused.

mod braces;
mod tripwire;

use std::borrow::Cow;

use braces::{braces, closing_brace};
pub(crate) use tripwire::hides_substitution;

/// An argument after expansion, as far as it can be known.
#[derive(Debug, Clone)]
pub(crate) struct Arg<'a> {
    /// The word as it was written.
    pub(crate) raw: Cow<'a, str>,
    pub(crate) value: Value<'a>,
}

#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// It is exactly this text.
    Known(Cow<'a, str>),
    /// It depends on variables or on which files exist.
    Unknown(Unknown),
}

/// What is known of a word that is not fully known.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a word")]
pub(crate) struct Unknown {
    /// The text that it certainly starts with.
    pub(crate) prefix: String,
    /// Where only globs are unknown: the pattern, with literal glob characters escaped by a backslash.
    pub(crate) glob: Option<String>,
    /// It may become several arguments, each of them anything.
    pub(crate) splits: bool,
    /// It may become several arguments, each of which starts with `prefix`.
    pub(crate) several: bool,
    /// A variable in it has a name that promises a secret.
    pub(crate) secret: bool,
    /// It is made of ids: plain words, whatever they are.
    pub(crate) ids: bool,
}

impl<'a> Arg<'a> {
    pub(crate) fn known(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        Self {
            raw: text.clone(),
            value: Value::Known(text),
        }
    }

    /// A stand-in for arguments that are made at run time, such as the ones `xargs` adds.
    pub(crate) fn anything(raw: &'a str) -> Self {
        Self {
            raw: Cow::Borrowed(raw),
            value: Value::Unknown(Unknown {
                splits: true,
                several: true,
                ..Unknown::default()
            }),
        }
    }

    /// Ids that are made at run time. None of them looks like a flag, and none is a path.
    pub(crate) fn ids(raw: &'a str) -> Self {
        Self {
            raw: Cow::Borrowed(raw),
            value: Value::Unknown(Unknown {
                prefix: "0".to_owned(),
                several: true,
                ids: true,
                ..Unknown::default()
            }),
        }
    }

    /// Paths made at run time, below a folder.
    pub(crate) fn path_below(raw: &'a str, folder: &str) -> Self {
        let glob = (!folder.is_empty()).then(|| format!("{}/**", folder.trim_end_matches('/')));
        Self {
            raw: Cow::Borrowed(raw),
            value: Value::Unknown(Unknown {
                prefix: folder.to_owned(),
                glob,
                several: true,
                ..Unknown::default()
            }),
        }
    }

    /// The same, without the command that it was cut from.
    pub(crate) fn into_owned(self) -> Arg<'static> {
        Arg {
            raw: Cow::Owned(self.raw.into_owned()),
            value: match self.value {
                Value::Known(text) => Value::Known(Cow::Owned(text.into_owned())),
                Value::Unknown(unknown) => Value::Unknown(unknown),
            },
        }
    }

    /// The text, where it is certain.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Known(text) => Some(text),
            Value::Unknown(_) => None,
        }
    }

    /// Whether a program could take it for a flag.
    pub(crate) fn may_be_flag(&self) -> bool {
        match &self.value {
            Value::Known(text) => text.len() > 1 && text.starts_with('-'),
            Value::Unknown(u) => u.splits || u.prefix.is_empty() || u.prefix.starts_with('-'),
        }
    }

    /// Whether it may stand for more than one argument, or for none.
    pub(crate) fn may_be_several(&self) -> bool {
        match &self.value {
            Value::Known(_) => false,
            Value::Unknown(u) => u.splits || u.several,
        }
    }

    /// Whether, given as one value, it could turn into several arguments of which a later one is a flag.
    pub(crate) fn may_hide_others(&self) -> bool {
        match &self.value {
            Value::Known(_) => false,
            Value::Unknown(u) => {
                u.splits || (u.several && (u.prefix.is_empty() || u.prefix.starts_with('-')))
            }
        }
    }
}

/// Why a word is not acceptable at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It runs a command: the text of that command, where it could be cut out.
    Substitution(Option<String>),
    /// It does something else than name a value.
    Construct(&'static str),
}

/// Expands braces and scans each resulting word.
pub(crate) fn expand<'a>(raw: &'a str, out: &mut Vec<Arg<'a>>) -> Result<(), Refused> {
    if raw.bytes().all(is_plain) {
        out.push(Arg {
            raw: Cow::Borrowed(raw),
            value: Value::Known(Cow::Borrowed(raw)),
        });
        return Ok(());
    }
    match braces(raw)? {
        None => out.push(scan(raw)?),
        Some(words) => {
            for word in words {
                let Arg { value, .. } = scan(&word)?;
                let value = match value {
                    Value::Known(text) => Value::Known(Cow::Owned(text.into_owned())),
                    Value::Unknown(unknown) => Value::Unknown(unknown),
                };
                out.push(Arg {
                    raw: Cow::Owned(word),
                    value,
                });
            }
        }
    }
    Ok(())
}

/// Scans a word in which braces are not expanded (assignments, redirects, here-strings).
pub(crate) fn scan(raw: &str) -> Result<Arg<'_>, Refused> {
    let mut scanner = Scanner::new(raw);
    scanner.unquoted()?;
    Ok(scanner.finish())
}

/// Scans the body of a here-document, in which only `$`, backquotes and backslashes are special.
pub(crate) fn scan_heredoc(body: &str) -> Result<(), Refused> {
    let mut scanner = Scanner::new(body);
    scanner.double_quoted(Quoted::Heredoc)
}

/// Checks an arithmetic expression: only numbers and operators, because a name in it is evaluated recursively and an
/// array subscript found there can run a command. It must be a whole expression: where bash finds that it is none, it runs
/// the text as a command instead.
pub(crate) fn arithmetic(expression: &str) -> Result<(), Refused> {
    if expression.contains('`') || expression.contains("$(") {
        return Err(Refused::Substitution(None));
    }
    let fine = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '\t') || "+-*/%()<>=!&|^~?:".contains(c);
    if !expression.chars().all(fine) {
        return Err(Refused::Construct(
            "arithmetic on names can run what their values say",
        ));
    }
    let mut rest = expression;
    if sum(&mut rest, 0) && rest.trim_start().is_empty() {
        Ok(())
    } else {
        Err(Refused::Construct("arithmetic that shells read differently"))
    }
}

/// An operand, or several with operators between them.
fn sum(rest: &mut &str, depth: usize) -> bool {
    const BINARY: &[&str] = &[
        "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "&", "^", "|",
        "?", ":",
    ];
    if depth > crate::limits::MAX_NESTING {
        return false;
    }
    loop {
        *rest = rest.trim_start();
        while let Some(after) = rest.strip_prefix(['+', '-', '!', '~']) {
            // `--` and `++` count what follows.
            if after.starts_with(['+', '-', '=']) {
                return false;
            }
            *rest = after.trim_start();
        }
        if let Some(after) = rest.strip_prefix('(') {
            *rest = after;
            if !sum(rest, depth + 1) {
                return false;
            }
            let Some(after) = rest.trim_start().strip_prefix(')') else {
                return false;
            };
            *rest = after;
        } else {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if after.len() == rest.len() {
                return false;
            }
            *rest = after;
        }
        *rest = rest.trim_start();
        let Some(operator) = BINARY.iter().find(|operator| rest.starts_with(**operator)) else {
            return true;
        };
        *rest = &rest[operator.len()..];
        // `**`, `+=` and the like are not known to every shell, or assign.
        if rest.starts_with(['*', '=', '+', '-', '/', '%', '&', '|', '^', '<', '>']) {
            return false;
        }
    }
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'_' | b'@' | b'%' | b'+' | b'=' | b':' | b',' | b'.' | b'/' | b'-' | b'^'
        )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Double,
    Heredoc,
}

struct Scanner<'a> {
    raw: &'a str,
    bytes: &'a [u8],
    at: usize,
    text: String,
    pattern: String,
    unknown: Option<Unknown>,
    variables: bool,
}

impl<'a> Scanner<'a> {
    fn new(raw: &'a str) -> Self {
        Self {
            raw,
            bytes: raw.as_bytes(),
            at: 0,
            text: String::new(),
            pattern: String::new(),
            unknown: None,
            variables: false,
        }
    }

    fn finish(self) -> Arg<'a> {
        let value = match self.unknown {
            None => Value::Known(Cow::Owned(self.text)),
            Some(mut unknown) => {
                unknown.glob = (!self.variables).then_some(self.pattern);
                Value::Unknown(unknown)
            }
        };
        Arg {
            raw: Cow::Borrowed(self.raw),
            value,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn literal(&mut self, c: char) {
        self.text.push(c);
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            self.pattern.push('\\');
        }
        self.pattern.push(c);
    }

    /// Takes the character at the cursor, whole.
    fn take(&mut self) -> Option<char> {
        let c = self.raw.get(self.at..)?.chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn mark_unknown(&mut self) -> &mut Unknown {
        let prefix = &self.text;
        self.unknown.get_or_insert_with(|| Unknown {
            prefix: prefix.clone(),
            ..Unknown::default()
        })
    }

    /// Part of the word is the value of a variable.
    fn variable(&mut self, name: &str, quoted: bool) {
        self.variables = true;
        let unknown = self.mark_unknown();
        unknown.secret |= names_secret(name);
        unknown.splits |= !quoted;
        unknown.several |= !quoted;
    }

    fn unquoted(&mut self) -> Result<(), Refused> {
        // A folder that bash remembers; a plain shell takes the word as it is.
        if let Some(rest) = self.raw.strip_prefix('~')
            && rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'))
        {
            self.at += 1;
            self.literal('~');
            self.variable("", true);
        }
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\'' => {
                    self.at += 1;
                    loop {
                        match self.take() {
                            Some('\'') => break,
                            Some(c) => self.literal(c),
                            None => return Err(Refused::Construct("a quote is not closed")),
                        }
                    }
                }
                b'"' => {
                    self.at += 1;
                    self.double_quoted(Quoted::Double)?;
                }
                b'\\' => {
                    self.at += 1;
                    match self.take() {
                        Some('\n') => {}
                        Some(c) => self.literal(c),
                        None => self.literal('\\'),
                    }
                }
                b'$' => {
                    self.at += 1;
                    self.dollar(false)?;
                }
                b'`' => return Err(Refused::Substitution(cut_backquotes(&self.raw[self.at..]))),
                b'<' | b'>' => {
                    return Err(if self.peek(1) == Some(b'(') {
                        Refused::Substitution(cut_parens(&self.raw[self.at + 1..]))
                    } else {
                        Refused::Construct("a redirect where a word was expected")
                    });
                }
                b'(' | b')' | b'|' | b'&' | b';' | b'\n' => {
                    return Err(Refused::Construct("a pattern or operator that is not analysed"));
                }
                b'[' if !self.bytes[self.at..].contains(&b']') => {
                    self.at += 1;
                    self.literal('[');
                }
                b'*' | b'?' | b'[' => {
                    self.at += 1;
                    let unknown = self.mark_unknown();
                    unknown.several = true;
                    self.pattern.push(char::from(byte));
                    self.text.push(char::from(byte));
                }
                _ => {
                    if let Some(c) = self.take() {
                        self.literal(c);
                    }
                }
            }
        }
        Ok(())
    }

    fn double_quoted(&mut self, kind: Quoted) -> Result<(), Refused> {
        loop {
            let Some(byte) = self.peek(0) else {
                return if kind == Quoted::Heredoc {
                    Ok(())
                } else {
                    Err(Refused::Construct("a quote is not closed"))
                };
            };
            match byte {
                b'"' if kind == Quoted::Double => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    match self.take() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '\\')) => self.literal(c),
                        Some('"') if kind == Quoted::Double => self.literal('"'),
                        Some(c) => {
                            self.literal('\\');
                            self.literal(c);
                        }
                        None => self.literal('\\'),
                    }
                }
                b'$' => {
                    self.at += 1;
                    self.dollar(true)?;
                }
                b'`' => return Err(Refused::Substitution(cut_backquotes(&self.raw[self.at..]))),
                _ => {
                    if let Some(c) = self.take() {
                        self.literal(c);
                    }
                }
            }
        }
    }

    /// What follows a dollar sign; the cursor stands behind it.
    fn dollar(&mut self, quoted: bool) -> Result<(), Refused> {
        match self.peek(0) {
            Some(b'(') if self.peek(1) == Some(b'(') => {
                let rest = &self.raw[self.at + 2..];
                let Some(end) = end_of_arithmetic(rest) else {
                    return Err(Refused::Substitution(None));
                };
                arithmetic(&rest[..end])?;
                self.at += 2 + end + 2;
                // A number: at worst it looks like a flag.
                self.variable("", true);
                Ok(())
            }
            Some(b'(') => Err(Refused::Substitution(cut_parens(&self.raw[self.at..]))),
            Some(b'[') => Err(Refused::Construct("arithmetic in the old form `$[…]`")),
            Some(b'{') => {
                self.at += 1;
                self.parameter(quoted)
            }
            Some(b'\'') if !quoted => {
                self.at += 1;
                self.ansi_c()
            }
            Some(b'"') if !quoted => Err(Refused::Construct("a translated string `$\"…\"`")),
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                let start = self.at;
                while self
                    .peek(0)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
                {
                    self.at += 1;
                }
                let name = &self.raw[start..self.at];
                self.variable(name, quoted);
                Ok(())
            }
            Some(b'@') => {
                // "$@" is several arguments even inside double quotes.
                self.at += 1;
                self.variable("", false);
                Ok(())
            }
            Some(b) if b.is_ascii_digit() || matches!(b, b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => {
                self.at += 1;
                self.variable("", quoted);
                Ok(())
            }
            _ => {
                self.literal('$');
                Ok(())
            }
        }
    }

    fn ansi_c(&mut self) -> Result<(), Refused> {
        loop {
            match self.take() {
                Some('\'') => break,
                Some('\\') => {
                    match self.take() {
                        // A plain shell ends the quote here.
                        Some('\'') => {
                            return Err(Refused::Construct(
                                "an escaped quote means different things to different shells",
                            ));
                        }
                        Some(_) => {}
                        None => return Err(Refused::Construct("a quote is not closed")),
                    }
                }
                Some(c) => self.literal(c),
                None => return Err(Refused::Construct("a quote is not closed")),
            }
        }
        // Whatever it spells, and however a plain shell reads it: it is one argument, and could be anything.
        self.variable("", true);
        if let Some(unknown) = &mut self.unknown {
            unknown.prefix.clear();
        }
        Ok(())
    }

    /// `${…}`; the cursor stands behind the brace.
    fn parameter(&mut self, quoted: bool) -> Result<(), Refused> {
        const UNKNOWN: Refused = Refused::Construct("a parameter expansion that is not analysed");
        let body_start = self.at;
        let end = closing_brace(self.bytes, self.at).ok_or(UNKNOWN)?;
        let body = &self.raw[body_start..end];
        self.at = end + 1;
        let rest = body
            .strip_prefix('#')
            .filter(|rest| !rest.is_empty())
            .unwrap_or(body);
        let length = rest.len() != body.len();
        let name_len = name_length(rest);
        let name = &rest[..name_len];
        if name.is_empty() {
            return Err(UNKNOWN);
        }
        let mut after = &rest[name_len..];
        let mut list = name == "@";
        if let Some(subscript) = after.strip_prefix('[') {
            let close = subscript.find(']').ok_or(UNKNOWN)?;
            let index = &subscript[..close];
            if index == "@" || index == "*" {
                list |= index == "@";
            } else if index.is_empty() || !index.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Refused::Construct(
                    "an array subscript is evaluated and can run a command",
                ));
            }
            after = &subscript[close + 1..];
        }
        if length && !after.is_empty() {
            return Err(UNKNOWN);
        }
        Self::operation(after)?;
        let name = if length { "" } else { name };
        self.variable(name, quoted && !list);
        Ok(())
    }

    fn operation(operation: &str) -> Result<(), Refused> {
        const UNKNOWN: Refused = Refused::Construct("a parameter expansion that is not analysed");
        if operation.is_empty() {
            return Ok(());
        }
        if let Some(transform) = operation.strip_prefix('@') {
            return if matches!(transform, "Q" | "U" | "u" | "L") {
                Ok(())
            } else {
                Err(Refused::Construct(
                    "a transformation of a variable can run its value",
                ))
            };
        }
        let word = operation.trim_start_matches(':');
        if operation.len() - word.len() > 1 {
            return Err(UNKNOWN);
        }
        let colon = operation.len() != word.len();
        let Some(first) = word.chars().next() else {
            return Err(UNKNOWN);
        };
        match first {
            '=' => Err(Refused::Construct("`${name=…}` assigns")),
            '-' | '+' | '?' => Self::nested(&word[1..]),
            '#' | '%' | '/' | '^' | ',' if !colon => Self::nested(&word[1..]),
            c if colon && (c.is_ascii_digit() || c == ' ') => {
                if word
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b == b':' || b == b' ' || b == b'-')
                {
                    Ok(())
                } else {
                    Err(Refused::Construct(
                        "arithmetic on names can run what their values say",
                    ))
                }
            }
            _ => Err(UNKNOWN),
        }
    }

    /// The word inside `${…}`, which shells unquote and expand by rules that differ: only plain characters pass.
    fn nested(word: &str) -> Result<(), Refused> {
        if word.contains('`') || word.contains("$(") || word.contains("<(") || word.contains(">(") {
            return Err(Refused::Substitution(None));
        }
        if word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_./:@%+,=*?- #^~[]!".contains(c))
        {
            Ok(())
        } else {
            Err(Refused::Construct(
                "an expansion inside an expansion, which shells read differently",
            ))
        }
    }
}

/// Whether a variable's name promises a secret.
pub(crate) fn names_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    [
        "PASS",
        "SECRET",
        "TOKEN",
        "CREDENTIAL",
        "PRIVATE",
        "APIKEY",
        "API_KEY",
        "ACCESS_KEY",
        "_KEY",
        "AUTH",
        "_PWD",
        "_DSN",
        "DATABASE_URL",
        "CONNECTION_STRING",
        "KEYFILE",
    ]
    .iter()
    .any(|mark| upper.contains(mark))
        && !upper.starts_with("SSH_AUTH_SOCK")
}

fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b) if b.is_ascii_alphabetic() || *b == b'_' => bytes
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
            .count(),
        Some(b) if b.is_ascii_digit() => bytes.iter().take_while(|b| b.is_ascii_digit()).count(),
        Some(b'@' | b'*' | b'?' | b'-' | b'$' | b'!' | b'#') if bytes.len() == 1 => 1,
        Some(b'@' | b'*') => 1,
        _ => 0,
    }
}

/// Where the `))` stands that closes a `$((`, minding the parentheses in between.
fn end_of_arithmetic(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return text[at..].starts_with("))").then_some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The text inside the parentheses that `text` starts with.
fn cut_parens(text: &str) -> Option<String> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(text[1..at].to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

fn cut_backquotes(text: &str) -> Option<String> {
    let inner = text.strip_prefix('`')?;
    inner.find('`').map(|end| inner[..end].to_owned())
}
