//! `key = value`, `key: value`, `"key": "value"`: what is assigned to a name that says that it is a secret.

use std::ops::Range;

use regex::Regex;

use crate::around::Around;
use crate::finder::{Find, Finder, Scope, matches};
use crate::placeholder::{
    is_chosen, is_expression, is_path, is_placeholder, is_prose_word, is_random, is_strong, is_template,
    marker_length,
};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};
use crate::{Kind, keys, yaml};

/// Longer values are secrets whatever they look like: names, paths and expressions are shorter. This bounds what is looked
/// at again when a value turns out to be none.
const MAX_EXEMPT: usize = 256;
/// Longer values are no keys that a name with little meaning could have.
const MAX_STRONG: usize = 512;
/// How far the end of a quoted value is looked for on the lines below its beginning.
const MAX_LINES: usize = 4 * 1024;

/// Words for a password in other languages, as the pattern reads them.
macro_rules! foreign {
    () => {
        "(?u-i:[Cc]ontraseñas?|CONTRASEÑA|[Hh]asło|[Ll]ösenord|[Jj]elszó|[Şş]ifre|[Пп]ароль|ПАРОЛЬ|密码|密碼|口令|パスワード|비밀번호)|contrasena|wachtwoord|passord|senha|parola|heslo|salasana|adgangskode|mot de passe"
    };
}

pub(crate) const FINDERS: &[Finder] = &[Finder {
    kind: Kind::Secret,
    anchors: &[
        "pass",
        "pw",
        "pswd",
        "pword",
        "secret",
        "token",
        "key",
        "psk",
        "conn",
        "webhook",
        "cred",
        "sessid",
        "jsessionid",
        "bearer",
        "auth",
        "wort",
        "community",
        "seed",
        "mnemonic",
        "codes",
        "cookie",
        "salt",
        "pin",
        "contrase",
        "asło",
        "ösenord",
        "elszó",
        "ifre",
        "ароль",
        "ПАРОЛЬ",
        "密码",
        "密碼",
        "口令",
        "パスワード",
        "비밀번호",
        "wachtwoord",
        "senha",
        "parola",
        "heslo",
        "salasana",
        "adgangskode",
        "encrypt",
        "samlresponse",
        "_pat",
    ],
    around: Around::Assigned,
    trigger: concat!(
        r"(?i-u)(?:pass|pw|pswd|pword|secret|token|key|psk|conn(?:ection)?[_.-]?(?:str|uri)|webhook[_-]?url|cred|sessid|jsessionid|bearer|auth|wort|community|seed|mnemonic|codes|erlang_?cookie|authcookie|salt|pincode|encrypt|samlresponse|_pat|",
        foreign!(),
        r")[_a-z0-9.-]*(?:[ ](?:id|[0-9]{1,2}))?(?:\\*[\x22'`]|\*\*|&quot;|&#34;|%22)?[\]}]?[ \t]*(?:[:=?+]|%3[ad])"
    ),
    pattern: concat!(
        r"(?i-u)(?:pass(?:w(?:or)?d|phrase|code|wort|wrd)?|kennwort|pswd|pword|(?:root|bind|admin|user|db)_?pw|pwd|pw|secret|token|key|psk|conn(?:ection)?[_.-]?(?:str(?:ing)?|uri)|webhook[_-]?url|cred(?:ential)?s?|[jp][a-z]*sessid|jsessionid|bearer|masterauth|_auth|auth[_-]?header|community|seed|mnemonic|(?:recovery|backup)[_-]?codes|erlang_?cookie|authcookie|salt|pincode|encrypt|samlresponse|_pat|",
        foreign!(),
        r")[A-Za-z0-9_.-]*(?:[ ](?:id|[0-9]{1,2}))?(?:\\*[\x22'`]|\*\*|&quot;|&#34;|%22)?[\]}]?[ \t]*(?::=|=>|==|\?=|\+=|=|:|%3[ad])(?:\*\*)?[ \t]*"
    ),
    scope: Scope::Starts,
    find: Find::From(find),
}];

/// What is known about an assignment before its value is read.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts about one place in a text, each read from it independently"
)]
struct Assignment<'t> {
    name: &'t str,
    kind: Kind,
    separator: &'t str,
    /// Blanks between separator and value.
    spaced: bool,
    /// The key stands in quotes, as in JSON.
    quoted: bool,
    /// Nothing but indentation, a list dash or `export` before the key on its line.
    at_line_start: bool,
    /// The name alone says too little: only a value that is as random as a generated key is masked.
    strong_only: bool,
    /// The key is part of a path or an image name.
    in_path: bool,
    key_start: usize,
}

fn find(regex: &Regex, text: &str, places: &[Range<usize>], _kind: Kind, spans: &mut Spans) {
    // The end of the last value that was masked, and of the last list that was walked: what begins before it is not walked
    // again.
    let (mut masked, mut listed) = (0, 0);
    for found in matches(regex, text, places) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        if found.end() < masked || is_masked(&text[found.end()..]) {
            continue;
        }
        let Some(assignment) = Assignment::read(text, found.start(), found.as_str()) else {
            continue;
        };
        masked = assignment.mask(text, found.end(), &mut listed, spans).max(masked);
    }
}

/// `api key`, `Unseal Key 1`: the word before `key` tells. Where the name begins, and what it holds.
fn two_words(text: &str, key_start: usize, key_end: usize, start: usize) -> Option<(usize, Kind)> {
    let before = text[..key_start].strip_suffix(' ')?;
    let letters = before.bytes().rev().take(16);
    let letters = letters.take_while(u8::is_ascii_alphabetic).count();
    looked_at(letters);
    if letters == 0 || !text[start..].starts_with(['k', 'K']) {
        return None;
    }
    let begins = key_start - letters - 1;
    Some((begins, keys::kind_of(&text[begins..key_end])?))
}

/// Whether a marker stands here, and nothing else that could belong to the value.
fn is_masked(rest: &str) -> bool {
    let behind = rest.strip_prefix("[masked:").and_then(|inside| {
        let end = marker_length(inside)?;
        inside.as_bytes().get(end).or(Some(&b'\n'))
    });
    behind.is_some_and(u8::is_ascii_whitespace)
}

impl<'t> Assignment<'t> {
    fn read(text: &'t str, start: usize, found: &'t str) -> Option<Self> {
        let body = found.trim_end_matches([' ', '\t']);
        let body = body.strip_suffix("**").unwrap_or(body);
        let separator = [":=", "=>", "==", "?=", "+=", "=", ":"]
            .into_iter()
            .find(|separator| body.ends_with(separator))
            .or_else(|| {
                let last = body.len().checked_sub(3).and_then(|at| body.get(at..))?;
                last.starts_with('%').then_some(last)
            })?;
        let left = body[..body.len() - separator.len()].trim_end_matches([' ', '\t']);
        let left = left.strip_suffix([']', '}']).unwrap_or(left);
        let word = ["&quot;", "&#34;", "%22"]
            .into_iter()
            .find_map(|quote| left.strip_suffix(quote))
            .unwrap_or_else(|| left.trim_end_matches(['"', '\'', '`', '\\', '*']));
        let head = &text[..start];
        let prefix = head
            .bytes()
            .rev()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
            .count();
        looked_at(prefix);
        // `%22password%22` and `\npassword` begin with what is left of an escape.
        let escape = match &head.as_bytes()[..start - prefix] {
            [.., b'%'] if prefix >= 2 => 2,
            [.., b'\\'] if prefix >= 1 => 1,
            _ => 0,
        };
        let mut key_start = start - prefix + escape;
        let key_end = start + word.len();
        let mut strong_only = false;
        let kind = if let Some(kind) = keys::kind_of(&text[key_start..key_end]) {
            kind
        } else if let Some((begins, kind)) = two_words(text, key_start, key_end, start) {
            // `Unseal Key 1`, `api key`: the word before tells.
            key_start = begins;
            kind
        } else {
            strong_only = true;
            let name = &text[key_start..key_end];
            match name {
                // Of a connection string, and not of a shell.
                "PWD" if head.ends_with(';') => {
                    strong_only = false;
                    Kind::Password
                }
                // A word before it would say whose key it is, as in `public key`.
                "key" | "Key" | "KEY"
                    if !head[..key_start]
                        .trim_end_matches([' ', '\t'])
                        .ends_with(|last: char| last.is_alphanumeric() || last == ')') =>
                {
                    Kind::ApiKey
                }
                name => keys::kind_if_strong(name)?,
            }
        };
        let name = &text[key_start..key_end];
        let before = &text[..key_start];
        if before.ends_with("[masked:") {
            return None;
        }
        // Only so far back that a line of any length costs the same.
        let near = &before[text.ceil_char_boundary(key_start.saturating_sub(256))..];
        let lead = match near.rsplit_once('\n') {
            Some((_, line)) => line.trim_start(),
            None if near.len() == before.len() => near.trim_start(),
            None => "…",
        };
        Some(Self {
            name,
            kind,
            separator: if separator.starts_with('%') {
                "="
            } else {
                separator
            },
            spaced: body.len() < found.len(),
            quoted: word.len() < left.len(),
            at_line_start: matches!(
                lead,
                "" | "- "
                    | "export "
                    | "set "
                    | "'"
                    | "+"
                    | "-"
                    | "+ "
                    | "> "
                    | "setx "
                    | "SET "
                    | "declare -x "
                    | "# "
                    | "#"
                    | "; "
                    | "// "
                    | "* "
                    | "**"
                    | "- **"
                    | "* **"
                    | "/* "
                    | "-- "
                    | "\""
                    | "| "
            ),
            strong_only,
            in_path: before.ends_with('/'),
            key_start,
        })
    }

    /// Masks the value at `at` if it is as random as a generated key.
    fn mask_strong(&self, text: &str, at: usize, spans: &mut Spans) -> usize {
        // Only what a key is made of is read, so that no part of a line is read again and again.
        let quotes = text[at..]
            .bytes()
            .take(4)
            .take_while(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'))
            .count();
        let start = at + quotes;
        let body = text[start..]
            .bytes()
            .take(MAX_STRONG)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/_-~.".contains(byte))
            .count();
        let padding = text[start + body..]
            .bytes()
            .take(3)
            .take_while(|byte| *byte == b'=')
            .count();
        looked_at(body + padding);
        let range = start..start + body + padding;
        let value = text[range.clone()].trim_end_matches('.');
        // A key of anything: most digests are hexadecimal, and public keys and certificates begin alike.
        let anything = self.name.eq_ignore_ascii_case("key");
        let open = anything
            && (value.len() < 24
                || value.starts_with("AAAA")
                || value.starts_with("MI")
                || !value.contains(|letter: char| letter.is_ascii_uppercase())
                || !value.contains(|letter: char| letter.is_ascii_lowercase()));
        if open || !is_strong(value) || is_path(value) {
            return 0;
        }
        spans.add(range.start..range.start + value.len(), self.kind);
        range.end
    }

    /// Masks the value at `at` and says where the last masked part of it ends.
    fn mask(&self, text: &str, at: usize, listed: &mut usize, spans: &mut Spans) -> usize {
        let rest = &text[at..];
        let first = rest.bytes().next().unwrap_or(b'\n');
        if self.strong_only {
            return self.mask_strong(text, at, spans);
        }
        match first {
            // `userPassword:: …` of LDIF.
            b':' if self.separator == ":"
                && !self.spaced
                && self.at_line_start
                && rest[1..].starts_with(' ') =>
            {
                self.mask_bare(text, at + 1 + yaml::indent_of(&rest[1..]), spans)
            }
            // `grep 'password:' file`: the quote ends what was quoted.
            b'"' | b'\'' | b'`' if !self.quoted && self.closes(text, at, first) => 0,
            b'"' | b'\'' | b'`' => self.mask_quoted(text, quoted(text, at), spans),
            b'\\' => match escaped(text, at) {
                Some(range) => self.mask_quoted(text, range, spans),
                None => self.mask_bare(text, at, spans),
            },
            b'&' if rest.starts_with("&quot;") || rest.starts_with("&#34;") => {
                let start = at + if rest.starts_with("&quot;") { 6 } else { 5 };
                let end = text[start..]
                    .find([';', '\n'])
                    .map_or(text.len(), |end| start + end);
                let inside = text[start..end]
                    .trim_end_matches("&quot")
                    .trim_end_matches("&#34")
                    .len();
                looked_at(end - start);
                self.mask_quoted(text, start..start + inside, spans)
            }
            b'%' if rest.starts_with("%22") => {
                let start = at + 3;
                let length = text[start..]
                    .bytes()
                    .take_while(|byte| !byte.is_ascii_whitespace() && *byte != b'%' && *byte != b'&')
                    .count();
                looked_at(length);
                self.mask_quoted(text, start..start + length, spans)
            }
            b'[' if !rest.starts_with("[masked:") => {
                if at < *listed {
                    return 0;
                }
                match bracketed(rest) {
                    Some(length) => {
                        spans.add(at + 1..at + 1 + length, self.kind);
                        at + 1 + length
                    }
                    None => self.mask_list(text, at, listed, spans),
                }
            }
            b'{' => self.mask_nested(text, at, spans),
            b'(' => 0,
            // `password: Some("…")`
            b'S' | b'J' | b'O' if wrapper_length(rest) > 0 => {
                let range = quoted(text, at + wrapper_length(rest));
                let value = &text[range.clone()];
                if is_chosen(value) || is_random(value) {
                    self.mask_quoted(text, range, spans)
                } else {
                    0
                }
            }
            b'*' if rest.starts_with("**") => {
                let skip = 2 + yaml::indent_of(&rest[2..]);
                self.mask_again(text, at + skip, listed, spans)
            }
            // A tag or an anchor of YAML: `!unsafe "…"`, `&name …`.
            // `const PASSWORD: &str = "…"`
            _ if self.separator == ":" && self.spaced && typed_length(rest) > 0 => {
                let start = at + typed_length(rest);
                let range = quoted(text, start);
                let named = text[range.clone()].contains('_')
                    && text[range.clone()]
                        .bytes()
                        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
                if named {
                    0
                } else {
                    self.mask_quoted(text, range, spans)
                }
            }
            b'!' | b'&'
                if self.separator == ":"
                    && self.spaced
                    && tag_length(rest) > 0
                    && !rest[tag_length(rest)..].starts_with('=') =>
            {
                self.mask_again(text, at + tag_length(rest), listed, spans)
            }
            b'\n' | b'\r' => self.mask_below(text, at, spans),
            b'|' | b'>' if self.separator == ":" && yaml::is_block_header(rest) => {
                let mut end = 0;
                for range in yaml::block_lines(text, self.key_start, at) {
                    end = range.end;
                    looked_at(range.len());
                    spans.add(range, self.kind);
                }
                end
            }
            b'b' | b'u' | b'r' | b'f' | b'@' | b'$' | b'N' | b'E'
                if matches!(rest.as_bytes().get(1), Some(b'"' | b'\'')) =>
            {
                self.mask_quoted(text, quoted(text, at + 1), spans)
            }
            _ => self.mask_bare(text, at, spans),
        }
    }

    /// The value behind what stands in front of it, unless that stands there again.
    fn mask_again(&self, text: &str, at: usize, listed: &mut usize, spans: &mut Spans) -> usize {
        match text.as_bytes().get(at) {
            None | Some(b'*' | b'!' | b'&') => 0,
            Some(_) => self.mask(text, at, listed, spans),
        }
    }

    /// `{"value": "…"}`: the value of an object that says nothing else about itself.
    fn mask_nested(&self, text: &str, at: usize, spans: &mut Spans) -> usize {
        let near = &text[at..floor(text, at + MAX_EXEMPT)];
        let near = &near[..near.find('}').unwrap_or(near.len())];
        looked_at(near.len());
        let mut from = 0;
        while let Some(colon) = near[from..].find(':').map(|colon| from + colon) {
            let name = near[..colon].trim_end().trim_end_matches(['"', '\'', '\\']);
            let word = name.len()
                - name
                    .bytes()
                    .rev()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                    .count();
            let rest = near[colon + 1..].trim_start_matches([' ', '\t', '\n', '\r', '\\']);
            if is_value_key(&name[word..]) && rest.starts_with(['"', '\'']) {
                let start = at + near.len() - rest.len();
                return self.mask_quoted(text, quoted(text, start), spans);
            }
            from = colon + 1;
        }
        0
    }

    /// Whether the quote here ends one that was opened before the key on its line, with only a blank or an end behind it.
    fn closes(&self, text: &str, at: usize, quote: u8) -> bool {
        if !matches!(
            text.as_bytes().get(at + 1),
            None | Some(b' ' | b'\t' | b'\n' | b'|' | b';' | b')')
        ) {
            return false;
        }
        let near = text.ceil_char_boundary(self.key_start.saturating_sub(256));
        let before = &text[near..self.key_start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.bytes().filter(|byte| *byte == quote).count() % 2 == 1
    }

    fn mask_quoted(&self, text: &str, range: Range<usize>, spans: &mut Spans) -> usize {
        let value = &text[range.clone()];
        // A key of a keyboard, in HTML.
        if value.len() < 2 && self.name == "accesskey" {
            return 0;
        }
        if value.len() <= MAX_EXEMPT {
            let about = is_placeholder(value)
                || (self.is_file_like() && is_path(value))
                || (keys::is_weak(self.name) && !is_random(value));
            let described = !self.quoted && self.separator == ":" && is_prose_word(value);
            if about || described {
                return 0;
            }
        } else if is_template(value) {
            return 0;
        }
        let mut end = range.end;
        spans.add(range, self.kind);
        // What it becomes: `password = "…" -> "…"` of a plan.
        if let Some(rest) = text.get(end + 1..)
            && let Some(after) = rest.strip_prefix(" -> ")
            && after.starts_with('"')
        {
            let range = quoted(text, end + 1 + " -> ".len());
            end = range.end;
            if !is_placeholder(&text[range.clone()]) {
                spans.add(range, self.kind);
            }
        }
        end
    }

    /// The strings of `["a", "b"]`.
    fn mask_list(&self, text: &str, at: usize, listed: &mut usize, spans: &mut Spans) -> usize {
        let mut next = at + 1;
        let mut end = 0;
        while next < text.len() {
            match text.as_bytes()[next] {
                b'"' | b'\'' => {
                    let range = quoted(text, next);
                    next = range.end + 1;
                    end = self.mask_quoted(text, range, spans).max(end);
                }
                b' ' | b'\t' | b'\n' | b'\r' | b',' => next += 1,
                _ => break,
            }
        }
        looked_at(next - at);
        *listed = next;
        end
    }

    /// A value on the lines below its key: deeper than the key, and no mapping.
    fn mask_below(&self, text: &str, at: usize, spans: &mut Spans) -> usize {
        if !matches!(self.separator, ":" | "=" | "=>") || !(self.at_line_start || self.quoted) {
            return 0;
        }
        let near = text.ceil_char_boundary(self.key_start.saturating_sub(256));
        let line_start = text[near..self.key_start]
            .rfind('\n')
            .map_or(near, |newline| near + newline + 1);
        let indent = yaml::indent_of(&text[line_start..self.key_start]);
        let mut end = 0;
        let mut next = at
            + text[at..]
                .find('\n')
                .map_or(text.len() - at, |newline| newline + 1);
        let mut apart = false;
        let mut count = 0;
        for line in text[next..].split_inclusive('\n') {
            looked_at(line.len());
            let content = line.trim();
            let lead = yaml::indent_of(line);
            // An empty line, or the rule that `kubectl describe` draws.
            if count == 0 && !apart && (content.is_empty() || content == "----") {
                apart = true;
                next += line.len();
                continue;
            }
            let item = content.starts_with("- ");
            let outside = lead < indent || (lead == indent && !item && !self.quoted);
            let alone = apart && count == 0 && is_random(content);
            if content.is_empty() || (outside && !alone) || (count > 0 && !item) {
                break;
            }
            count += 1;
            if let Some(entry) = yaml::entry(content).filter(|entry| is_value_key(entry.key) && lead > indent)
            {
                let value = &content[entry.value.clone()];
                let start = next + lead + entry.value.start;
                let range = if value.starts_with(['"', '\'']) {
                    quoted(text, start)
                } else {
                    start..start + value.len()
                };
                return self.mask_quoted(text, range, spans).max(end);
            }
            let word = content.strip_prefix("- ").unwrap_or(content).trim();
            // `string(9) "…"` below `["password"]=>`, as PHP prints it.
            let typed = word
                .strip_prefix("string(")
                .and_then(|rest| rest.split_once(") "))
                .map(|(_, value)| value);
            if self.separator == "=>" && typed.is_none() {
                break;
            }
            let word = typed.unwrap_or(word);
            let start = next + line.find(word).unwrap_or(lead);
            if yaml::entry(word).is_some()
                || word.starts_with(['{', '[', '#', '}', ']', '<', '|'])
                || word.contains(" = ")
            {
                break;
            }
            let range = match word.as_bytes().first() {
                Some(b'"' | b'\'') => quoted(text, start),
                // Prose below `Password:` is no value.
                _ if word.contains(' ') || is_prose_word(word) || self.separator == "=" => break,
                _ => start..start + word.trim_end_matches(',').len(),
            };
            end = self.mask_quoted(text, range, spans).max(end);
            next += line.len();
        }
        end
    }

    fn mask_bare(&self, text: &str, at: usize, spans: &mut Spans) -> usize {
        // What the first characters tell needs no end.
        if is_template(&text[at..]) || self.starts_as_no_secret(&text[at..]) {
            return 0;
        }
        if holds_words(self.name) {
            let line = text[at..floor(text, at + 512)]
                .lines()
                .next()
                .unwrap_or_default()
                .trim_end();
            let word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
            looked_at(line.len());
            if line.split(' ').count() >= 6 && line.split(' ').all(word) {
                spans.add(at..at + line.len(), self.kind);
                return at + line.len();
            }
        }
        let end = bare_end(text, at);
        let word = &text[at..end];
        let near = &text[end..floor(text, end + 128)];
        let following = near.split(['\n', '\r']).next().unwrap_or_default().trim_start();
        if word.is_empty() {
            return 0;
        }
        if word.len() <= MAX_EXEMPT {
            if is_placeholder(word) || is_expression(word) || self.is_no_secret(word) {
                return 0;
            }
            if self.is_code(text, word, following) {
                return 0;
            }
            if matches!(word, "new" | "await") && following.starts_with(char::is_alphabetic) {
                return 0;
            }
            if self.separator == ":" && !self.quoted && self.is_prose(word, following) {
                return 0;
            }
            if self.quoted && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
                spans.add_quoted(at..end, self.kind);
                return end;
            }
        }
        // `password = several words` in a file of settings is one value to the end of the line.
        let to_line_end =
            self.at_line_start && self.spaced && !self.quoted && matches!(self.separator, "=" | ":");
        let end = if to_line_end {
            settings_end(text, end, line_end(text, end))
        } else {
            end
        };
        looked_at(end - at);
        let end = continued(text, end);
        spans.add(at..end, self.kind);
        end
    }

    /// Whether a word without digits is a type, a variable or a parameter of a program.
    fn is_code(&self, text: &str, word: &str, following: &str) -> bool {
        let bare = word.trim_end_matches([',', ';']);
        let plain = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        if bare.is_empty() || !bare.bytes().all(plain) {
            return false;
        }
        let before = &text[text.ceil_char_boundary(self.key_start.saturating_sub(12))..self.key_start];
        let ends = bare.len() < word.len() || following.is_empty();
        // `let token = headers`
        let declared = ["let ", "let mut ", "const ", "var "]
            .iter()
            .any(|word| before.ends_with(word));
        // `(token: Token)`, `token: ApprovalToken,`
        let typed = self.separator == ":"
            && bare.starts_with(|first: char| first.is_ascii_uppercase())
            && bare.contains(|letter: char| letter.is_ascii_lowercase())
            && (following.starts_with(')')
                || bare.eq_ignore_ascii_case(self.name)
                    && (bare.len() < word.len() || following.starts_with(','))
                || (self.at_line_start || before.ends_with("pub ")) && bare.len() < word.len());
        // `json!({ "password": password })`
        let same = self.quoted && keys::kind_of(bare).is_some() && following.starts_with(['}', ',', ')']);
        // `headers['x-csrf-token'] = csrf;`, `paren_token = paren_token;`
        let assigned = self.separator == "="
            && (word.ends_with(';') || following.starts_with(';'))
            && (keys::kind_of(bare).is_some()
                || text[self.key_start..].get(self.name.len()..self.name.len() + 2) == Some("']"));
        (declared && ends) || typed || same || assigned
    }

    fn is_file_like(&self) -> bool {
        !matches!(self.kind, Kind::Password | Kind::PasswordHash)
    }

    fn starts_as_no_secret(&self, rest: &str) -> bool {
        rest.starts_with(['(', '{'])
            // `Token::new` is a path of a program.
            || (self.separator == ":" && rest.starts_with(':'))
            // `password === other` compares.
            || (self.separator == "==" && rest.starts_with('='))
            // `--password= --json` lists flags.
            || (self.name.starts_with('-') && rest.starts_with("--"))
            // `grep -E "token:|secret="` lists what is looked for.
            || (self.separator == ":" && !self.spaced && rest.starts_with('|'))
    }

    fn is_no_secret(&self, word: &str) -> bool {
        let ends = |end: &str| {
            let name = self.name.as_bytes();
            name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
        };
        if keys::is_weak(self.name) && !is_random(word) {
            return true;
        }
        // A permission of a workflow, and the name of an object that holds the secret.
        let permission =
            self.name.eq_ignore_ascii_case("id-token") && matches!(word, "write" | "read" | "none");
        if permission || (names_an_object(self.name) && !is_random(word)) {
            return true;
        }
        (is_path(word) && (self.is_file_like() || (self.spaced && !self.at_line_start)))
            || (ends("pwd") && word.starts_with('/'))
            || (self.name.eq_ignore_ascii_case("pass")
                && !self.quoted
                && (self.separator != "=" && !(self.at_line_start && is_random(word))
                    || word.bytes().all(|byte| byte.is_ascii_digit())))
            // `PVEAPIToken=user@realm!id=…` keeps its user: a finder of its own masks what is behind it.
            || (ends("apitoken") && word.contains('!'))
            || ends("authcookie")
    }

    /// Whether `token: word and more` speaks about a token.
    fn is_prose(&self, word: &str, following: &str) -> bool {
        if self.in_path && !self.spaced {
            return true;
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) && following.starts_with("byte") {
            return true;
        }
        if is_prose_word(word) {
            return true;
        }
        let letters = word
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])
            .chars()
            .all(|character| character.is_alphabetic() || "'’-/".contains(character));
        if !letters {
            return false;
        }
        if !self.spaced && !self.at_line_start {
            return true;
        }
        let next_is_key = following
            .split_whitespace()
            .next()
            .is_some_and(|next| next.contains(['=', ':']));
        let alone = following.is_empty()
            || following.starts_with(['#', '"', '\'', ',', '}', ')', ']', ';', '|', '\\']);
        !alone && !next_is_key && !self.name.to_ascii_lowercase().ends_with("passphrase")
    }
}

/// The length of a word in brackets that looks like a secret: `apikey=[…]`.
fn bracketed(rest: &str) -> Option<usize> {
    let near = &rest[1..floor(rest, rest.len().min(MAX_EXEMPT))];
    let end = near.find([']', ' ', ',', '"', '\'', '\n', '['])?;
    (near[end..].starts_with(']') && is_random(&near[..end])).then_some(end)
}

/// The length of what stands around a text in quotes when a program prints an optional or hidden value: `Some("…")`.
fn wrapper_length(rest: &str) -> usize {
    [
        "Some(",
        "Ok(",
        "Just(",
        "Just ",
        "Secret(",
        "SecretString(",
        "Sensitive(",
        "String(",
    ]
    .iter()
    .find(|wrapper| {
        rest.strip_prefix(**wrapper)
            .is_some_and(|inside| inside.starts_with('"'))
    })
    .map_or(0, |wrapper| wrapper.len())
}

/// Whether a name says that its value is a row of words.
fn holds_words(name: &str) -> bool {
    let mut plain: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    plain.make_ascii_lowercase();
    ["mnemonic", "seedphrase", "recoveryphrase", "seedwords"]
        .iter()
        .any(|end| plain.ends_with(end))
}

/// `existingSecret` of a Helm chart: the name of a Secret, not what it holds.
fn names_an_object(name: &str) -> bool {
    let begin = b"existingsecret";
    let name = name.as_bytes();
    let plain = name.len() >= begin.len() && name[..begin.len()].eq_ignore_ascii_case(begin);
    plain || name.ends_with(b"ExistingSecret") || name.ends_with(b".existingSecret")
}

/// A key below the name of a secret that holds its value.
fn is_value_key(key: &str) -> bool {
    matches!(
        key,
        "value"
            | "Value"
            | "plain"
            | "plaintext"
            | "plainText"
            | "text"
            | "content"
            | "secret"
            | "default"
            | "current"
            | "raw"
            | "_"
            | "$"
            | "S"
            | "stringValue"
            | "secretValue"
    )
}

/// The length of a type and `=` before a text in quotes, as in `&str = "…"`.
fn typed_length(rest: &str) -> usize {
    for name in [
        "&'static str",
        "&str",
        "String",
        "string",
        "str",
        "&[u8]",
        "Optional[str]",
    ] {
        let Some(after) = rest.strip_prefix(name) else {
            continue;
        };
        let Some(value) = after.trim_start_matches(' ').strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start_matches([' ', 'b']);
        if value.starts_with(['"', '\'']) {
            return rest.len() - value.len();
        }
    }
    0
}

/// The length of a tag or an anchor of YAML with the blanks behind it, if a value follows.
fn tag_length(rest: &str) -> usize {
    let word = rest
        .bytes()
        .skip(1)
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-!".contains(byte))
        .count()
        + 1;
    let blanks = rest.bytes().skip(word).take_while(|byte| *byte == b' ').count();
    if word < 2 || blanks == 0 { 0 } else { word + blanks }
}

/// A value that goes on on the next line, because its own ends with a backslash.
fn continued(text: &str, end: usize) -> usize {
    let mut end = end;
    while text[..end].ends_with('\\') && text[end..].starts_with('\n') {
        let start = end + 1;
        let length = text[start..]
            .bytes()
            .take_while(|byte| !byte.is_ascii_whitespace())
            .count();
        looked_at(length);
        if length == 0 {
            break;
        }
        end = start + length;
    }
    end
}

/// The inside of the quotes that open at `at`, to the closing one. Without one on its line it goes on below if it is
/// closed there soon, and else ends with its line.
fn quoted(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[at];
    // Three quotes in a row open a text of several lines.
    if bytes[at..].starts_with(&[quote, quote, quote]) {
        let start = at + 3;
        let limit = floor(text, start + MAX_LINES);
        if let Some(end) = text[start..limit].find(&text[at..start]) {
            looked_at(end);
            return start..start + end;
        }
    }
    let mut next = at + 1;
    let mut line_end = None;
    let mut limit = bytes.len();
    while next < limit {
        match bytes[next] {
            b'\\' if quote == b'"' && next + 1 < bytes.len() && bytes[next + 1] != b'\n' => next += 2,
            b'\n' => {
                if line_end.is_none() {
                    line_end = Some(next);
                    limit = floor(text, next + MAX_LINES);
                }
                // An empty line is not part of a value.
                if matches!(bytes.get(next + 1), None | Some(b'\n' | b'\r')) {
                    break;
                }
                next += 1;
            }
            byte if byte == quote => {
                looked_at(next - at);
                let end = line_end.filter(|_| !closes_value(bytes, next)).unwrap_or(next);
                return at + 1..end;
            }
            _ => next += 1,
        }
    }
    looked_at(next - at);
    at + 1..floor(text, line_end.unwrap_or(next.min(bytes.len()))).max(at + 1)
}

/// Whether the quote here ends a value that began on another line: nothing but an end follows.
fn closes_value(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].last().copied().unwrap_or_default();
    let after = bytes.get(at + 1).copied().unwrap_or(b'\n');
    !b"=:[{(, ".contains(&before) && matches!(after, b'\n' | b'\r' | b',' | b'}' | b';' | b')' | b']')
}

/// The inside of quotes that are themselves escaped, as in JSON inside a string of JSON.
fn escaped(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let depth = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
    let quote = *bytes.get(at + depth)?;
    if quote != b'"' && quote != b'\'' {
        return None;
    }
    let start = at + depth + 1;
    let mut next = start;
    while next < bytes.len() {
        match bytes[next] {
            b'\n' => return Some(start..next),
            b'\\' => {
                let run = bytes[next..].iter().take_while(|byte| **byte == b'\\').count();
                if run <= depth && bytes.get(next + run) == Some(&quote) {
                    return Some(start..next);
                }
                next += run;
                // The character that is escaped belongs to the value.
                if bytes.get(next) == Some(&quote) {
                    next += 1;
                }
            }
            byte if byte == quote => return Some(start..next),
            _ => next += 1,
        }
    }
    Some(start..bytes.len())
}

/// Where a value without quotes ends: at a blank, or where another part of the text plainly begins.
pub(crate) fn bare_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let limit = bytes.len();
    let ends = |index: usize| index >= bytes.len() || bytes[index].is_ascii_whitespace();
    let mut opened = 0_usize;
    let mut next = at;
    if text[at..].starts_with("[masked:") {
        next += text[at..floor(text, at + 64)].find(']').map_or(0, |end| end + 1);
    }
    while next < limit {
        let after = next + 1;
        match bytes[next] {
            byte if byte.is_ascii_whitespace() => break,
            b'"' | b'`' => break,
            b'\'' if ends(after) || !bytes[after].is_ascii_alphanumeric() => break,
            b'\\' => match bytes.get(after) {
                Some(b'"' | b'\'') => break,
                Some(b'n' | b'r' | b't')
                    if ends(after + 1) || assigns(bytes, after + 1) || bytes[after + 1] == b'\\' =>
                {
                    break;
                }
                _ => {}
            },
            b'&' if assigns(bytes, after) || bytes[after..].starts_with(b"quot;") => break,
            b'%' if bytes[after..].starts_with(b"26") || bytes[after..].starts_with(b"22") => break,
            b';' if ends(after) || assigns(bytes, after) => break,
            b',' if ends(after)
                || assigns(bytes, after)
                || matches!(bytes[after], b'"' | b'\'' | b'}' | b']') =>
            {
                break;
            }
            b'(' | b'[' | b'{' => opened += 1,
            b')' | b']' | b'}' if opened > 0 => opened -= 1,
            b')' | b']' | b'}' if ends(after) || b",;:.)]}\"'\\".contains(&bytes[after]) => break,
            _ => {}
        }
        next = after;
    }
    looked_at(next - at);
    floor(text, next)
}

/// Whether a name and `=` or `:` stand here.
fn assigns(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let name = rest
        .iter()
        .take(48)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.- ".contains(byte))
        .count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(['\n', '\r']).map_or(text.len(), |end| at + end)
}

/// The end of a setting's value on its line, without a comment; never past a quote.
fn settings_end(text: &str, at: usize, line_end: usize) -> usize {
    let rest = &text[at..line_end];
    let cut = [" #", " ;", "\"", "'", "`", "\\\"", "\\n"]
        .iter()
        .filter_map(|stop| rest.find(stop))
        .min();
    let rest = &rest[..cut.unwrap_or(rest.len())];
    at + rest.trim_end().len()
}

/// The last boundary of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
