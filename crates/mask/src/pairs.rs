//! Names and values that stand apart: in columns of a table, in tags, in blocks, in lists, or with the value first.

use std::ops::Range;

use regex::Regex;

use crate::around::Around;
use crate::finder::{Find, Finder, Scope, first_group, matches};
use crate::placeholder::{
    is_chosen, is_expression, is_path, is_placeholder, is_prose_word, is_random, is_strong,
};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};
use crate::{Kind, command, keys};

const NAMES: &[&str] = &[
    "pass",
    "pw",
    "secret",
    "token",
    "key",
    "psk",
    "cred",
    "auth",
    "salt",
    "community",
    "cookie",
];

pub(crate) const FINDERS: &[Finder] = &[
    // A row of names, and the rows below it: CSV, `psql`, `mysql`, Markdown.
    Finder {
        kind: Kind::Secret,
        anchors: &["pass", "pwd", "secret", "token", "key", "psk", "cred"],
        around: Around::Cell,
        trigger: r"(?i-u)(?:pass|pwd|secret|token|key|psk|cred)[a-z0-9_ -]*[\x22'*]*[ \t]*(?:[,;|\t]|\r?\n)",
        pattern: "(?i-u)pass|pwd|secret|token|key|psk|cred",
        scope: Scope::Starts,
        find: Find::From(tables),
    },
    // `<key>Password</key> <string>…</string>`, `<name>…</name> <value>…</value>`
    Finder {
        kind: Kind::Secret,
        anchors: &["</key>", "</name>", "</propertyname>"],
        around: Around::Anything,
        trigger: "(?i-u)</(?:key|name)>",
        pattern: r"<(?:[Kk]ey|[Nn]ame)>\s*([A-Za-z0-9_.: -]{1,100}?)\s*</(?:[Kk]ey|[Nn]ame)>\s*<(?:string|[Vv]alue|data)>\s*([^<>]+?)\s*</",
        scope: Scope::Near,
        find: Find::In(named),
    },
    // `<entry key="DbPassword">…</entry>`, `<param name="token"> <value>…</value>`
    Finder {
        kind: Kind::Secret,
        anchors: &["name=", "key=", "id="],
        around: Around::Anything,
        trigger: r#"(?i-u:(?:name|key|id)=)["'][A-Za-z0-9_.:-]+["'][^<>\n]*>"#,
        pattern: r#"<[A-Za-z][A-Za-z0-9:._-]{0,40}[ \t](?:[^<>\n]*[ \t])?(?:[Nn]ame|[Kk]ey|[Ii]d)=["']([A-Za-z0-9_.:-]{1,100})["'][^<>\n]*>\s*(?:<(?:[Vv]alue|string)>\s*)?([^<>]+?)\s*</"#,
        scope: Scope::Near,
        find: Find::In(named),
    },
    // `<input type="password" value="…">`, `<meta name="csrf-token" content="…">`
    Finder {
        kind: Kind::Secret,
        anchors: &["value=", "content=", "value ="],
        around: Around::Anything,
        trigger: r"(?i-u:[ \t](?:value|content)[ \t]*=)",
        pattern: r"<[A-Za-z][A-Za-z0-9:._-]{0,40}[ \t][^<>\n]+>?",
        scope: Scope::Lines,
        find: Find::In(tag),
    },
    // `define('DB_PASSWORD', '…')`, `('smtp_password', '…')`
    Finder {
        kind: Kind::Secret,
        anchors: NAMES,
        around: Around::Listed,
        trigger: r"(?i-u)(?:pass|pw|secret|token|key|psk|cred|auth|salt)[a-z0-9_.-]*['\x22][ \t]*,[ \t]*['\x22]",
        pattern: r"((?i-u:define)[ \t]*\([ \t]*)?['\x22]((?i-u:[a-z0-9_.-]*(?:pass|pw|secret|token|key|psk|cred|auth|salt)[a-z0-9_.-]*))['\x22][ \t]*,[ \t]*(?:'([^'\n]{4,})'|\x22([^\x22\n]{4,})\x22)",
        scope: Scope::Lines,
        find: Find::In(listed),
    },
    // `INSERT INTO users (id, password) VALUES (1, '…')`
    Finder {
        kind: Kind::Password,
        anchors: &["insert"],
        around: Around::Anything,
        trigger: r"(?i-u)insert[ \t]+into",
        pattern: r"(?i-u:insert[ \t]+into)[ \t]+[^\s(]+[ \t]*\(([^()\n]+)\)\s*(?i-u:values)\s*",
        scope: Scope::Text,
        find: Find::In(insert),
    },
    // `variable "db_password" { default = "…" }`
    Finder {
        kind: Kind::Secret,
        anchors: &["variable"],
        around: Around::Anything,
        trigger: r#"variable[ \t]+""#,
        pattern: r#"variable[ \t]+"([A-Za-z0-9_-]{1,100})"[ \t]*\{([^{}]*?)default[ \t]*=[ \t]*"((?:[^"\\\n]|\\.)+)"([^{}]*)"#,
        scope: Scope::Near,
        find: Find::In(terraform),
    },
    // The value first: `{"value": "…", "name": "DB_PASSWORD"}`
    Finder {
        kind: Kind::Secret,
        anchors: &["value"],
        around: Around::Anything,
        trigger: r#"(?i-u)value\\*["']?[ \t]*:"#,
        pattern: r#"(?i-u:value)\\*["']?[ \t]*:[ \t]*\\*["']?((?:[^"'\\\n,{}\[\]]){1,120}?)\\*["']?[ \t]*,?[ \t]*\r?\n?[ \t]*\\*["']?(?i-u:name|key)\\*["']?[ \t]*:[ \t]*\\*["']?([A-Za-z0-9_.-]{1,100})"#,
        scope: Scope::Near,
        find: Find::In(reversed),
    },
    // A form: the value stands behind an empty line.
    Finder {
        kind: Kind::Secret,
        anchors: &["form-data"],
        around: Around::Anything,
        trigger: "(?i-u)form-data;",
        pattern: r#"(?i-u:form-data;[ \t]*name=)"([^"\n]{1,100})"[^\n]*\n(?:[A-Za-z-]{1,40}:[^\n]*\n){0,3}\r?\n([^\n]+)"#,
        scope: Scope::Near,
        find: Find::In(named),
    },
    // A password that Terraform made up.
    Finder {
        kind: Kind::Secret,
        anchors: &["random_password"],
        around: Around::Anything,
        trigger: "random_password",
        pattern: r#""(?:result|bcrypt_hash)"\s{0,8}:\s{0,8}"((?:[^"\\\n]|\\.)+)""#,
        scope: Scope::Document,
        find: Find::In(first_group),
    },
    // The private parts of a JSON Web Key, RFC 7517.
    Finder {
        kind: Kind::PrivateKey,
        anchors: &["kty"],
        around: Around::Anything,
        trigger: r#"\\*"kty\\*""#,
        pattern: r#"\\*"(?:d|k|p|q|dp|dq|qi)\\*"\s{0,8}:\s{0,8}\\*"([A-Za-z0-9_-]{16,})"#,
        scope: Scope::Document,
        find: Find::In(first_group),
    },
    // A name and a value with nothing but blanks or `is` between them.
    Finder {
        kind: Kind::Secret,
        anchors: NAMES,
        around: Around::SpacedLoosely,
        trigger: r"(?i-u)(?:pass|pw|secret|token|key|psk|cred|auth|salt|community|cookie)[a-z0-9_.-]*['\x22*]*[ \t]+[!-~]",
        pattern: r"(?i-u)(?:pass|pw|secret|token|key|psk|cred|auth|salt|community|cookie)[a-z0-9_.-]*[ \t]+(?:(?:is|was|ist|lautet|es|est)[ \t]+)?(?:(?:[:|=]|->)[ \t]+)?[!-~]",
        scope: Scope::Lines,
        find: Find::In(spaced),
    },
];

/// Those that need no line to begin where they look.
pub(crate) const ANYWHERE: &[Finder] = &[
    // `login("bob", "…")`, `auth=('bob', '…')`: a call with a user and a password.
    Finder {
        kind: Kind::Password,
        anchors: &["auth", "login", "logon", "cred", "signin", "sign_in", "connect"],
        around: Around::Call,
        trigger: r"(?i-u)(?:auth|login|logon|sign_?in|cred|connect)[a-z_]*[ \t]*[=:]?[ \t]*\(",
        pattern: r"(?i-u:(?:auth|login|logon|sign_?in|cred|connect)[a-z_]*)[ \t]*[=:]?[ \t]*\((?:[ \t]*[\x22'][^\x22'\n]*[\x22'][ \t]*,){1,2}[ \t]*b?(?:'([^'\n]{4,})'|\x22([^\x22\n]{4,})\x22)[ \t]*[,)]",
        scope: Scope::Lines,
        find: Find::In(call),
    },
    // `the password for bob is …`, `New password of root@localhost: …`
    Finder {
        kind: Kind::Password,
        anchors: &[
            "pass",
            "pw ",
            "wort",
            "contrase",
            "senha",
            "wachtwoord",
            "parola",
            "heslo",
            "asło",
            "ösenord",
            "ароль",
            "cred",
            "token",
            "secret",
            "key",
        ],
        around: Around::Sentence,
        trigger: "[ \t]",
        pattern: r"(?i)(?:passw(?:or)?d|passe|passwort|kennwort|passphrase|passcode|\bpw|contraseñas?|contrasena|senha|wachtwoord|parola|heslo|hasło|lösenord|пароль|credentials?|token|secret|api[ _-]?key)[ \t]+",
        scope: Scope::Lines,
        find: Find::In(prose),
    },
];

fn add(range: Range<usize>, text: &str, kind: Kind, spans: &mut Spans) {
    let value = &text[range.clone()];
    let trimmed = value.trim();
    if !is_placeholder(trimmed) && !is_expression(trimmed) {
        let start = range.start + (value.len() - value.trim_start().len());
        spans.add(start..start + trimmed.len(), kind);
    }
}

/// The first group names what the next is.
fn named(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        if let Some((name, value)) = captures.get(1).zip(captures.get(2))
            && let Some(kind) = keys::kind_of(name.as_str())
        {
            add(value.range(), text, kind, spans);
        }
    }
}

fn reversed(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        if let Some((value, name)) = captures.get(1).zip(captures.get(2))
            && let Some(kind) = keys::kind_of(name.as_str())
        {
            add(value.range(), text, kind, spans);
        }
    }
}

/// The attributes of a tag.
fn tag(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        let inside = found.as_str();
        let mut kind = None;
        let mut value = None;
        for (name, range) in attributes(inside) {
            let content = &inside[range.clone()];
            match name.to_ascii_lowercase().as_str() {
                "type" if content.eq_ignore_ascii_case("password") => kind = Some(Kind::Password),
                "name" | "id" | "key" if kind.is_none() => kind = keys::kind_of(content),
                "value" | "content" => value = Some(range),
                _ => {}
            }
        }
        if let Some((kind, value)) = kind.zip(value) {
            add(
                found.start() + value.start..found.start() + value.end,
                text,
                kind,
                spans,
            );
        }
    }
}

/// The attributes of a tag: the name, and where the value is.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let bytes = tag.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let equals = at + bytes.get(at..)?.iter().position(|byte| *byte == b'=')?;
            let name = tag[..equals].trim_end();
            let start = name
                .rfind(|character: char| !(character.is_ascii_alphanumeric() || "_-:.".contains(character)))
                .map_or(0, |sign| sign + 1);
            let mut open = equals + 1;
            while bytes.get(open).is_some_and(|byte| *byte == b' ') {
                open += 1;
            }
            let quote = *bytes.get(open)?;
            if quote != b'"' && quote != b'\'' {
                at = open;
                continue;
            }
            let length = bytes[open + 1..].iter().position(|byte| *byte == quote);
            let end = length.map_or(bytes.len(), |length| open + 1 + length);
            at = end;
            return Some((&name[start..], open + 1..tag.floor_char_boundary(end)));
        }
    })
}

fn listed(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        let Some(name) = captures.get(2) else { continue };
        let Some(kind) = keys::kind_of(name.as_str()) else {
            continue;
        };
        let Some(value) = captures.get(3).or(captures.get(4)) else {
            continue;
        };
        let chosen = kind == Kind::Password && is_chosen(value.as_str());
        if captures.get(1).is_some() || chosen || is_random(value.as_str()) {
            add(value.range(), text, kind, spans);
        }
    }
}

fn terraform(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        let around = |group: usize| captures.get(group).map_or("", |part| part.as_str());
        let sensitive = |part: &str| {
            part.split_once("sensitive").is_some_and(|(_, rest)| {
                rest.trim_start()
                    .trim_start_matches('=')
                    .trim_start()
                    .starts_with("true")
            })
        };
        let kind = keys::kind_of(around(1))
            .or_else(|| (sensitive(around(2)) || sensitive(around(4))).then_some(kind));
        if let Some((kind, value)) = kind.zip(captures.get(3)) {
            add(value.range(), text, kind, spans);
        }
    }
}

/// The values that stand where the names of the columns say so.
fn insert(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some((all, names)) = captures.get(0).zip(captures.get(1)) else {
            continue;
        };
        let kinds: Vec<Option<Kind>> = names
            .as_str()
            .split(',')
            .map(|name| keys::kind_of(name.trim().trim_matches(['`', '"', '\'', '[', ']'])))
            .collect();
        if kinds.iter().all(Option::is_none) {
            continue;
        }
        let mut at = all.end();
        // Rows: `(1, 'a'), (2, 'b')`.
        while text[at..].starts_with('(') {
            at += 1;
            let mut column = 0;
            let mut start = at;
            let mut quote = None;
            let bytes = text.as_bytes();
            while at < bytes.len() && bytes[at] != b'\n' {
                match (quote, bytes[at]) {
                    (None, b'\'' | b'"') => quote = Some(bytes[at]),
                    (Some(open), byte) if open == byte => quote = None,
                    (None, b',' | b')') => {
                        let cell = text[start..at].trim();
                        let from = start + text[start..at].find(cell).unwrap_or(0);
                        let inside = cell.trim_start_matches(['N', 'E', 'B']).trim_matches(['\'', '"']);
                        let quoted = cell.ends_with(['\'', '"']);
                        if let Some(kind) = kinds.get(column).copied().flatten()
                            && quoted
                        {
                            let lead = cell.find(inside).unwrap_or(0);
                            add(from + lead..from + lead + inside.len(), text, kind, spans);
                        }
                        column += 1;
                        start = at + 1;
                        if bytes[at] == b')' {
                            break;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            let rest = text[at.min(text.len())..].trim_start_matches([')', ',', ' ', '\n', '\r', '\t']);
            looked_at(text.len() - rest.len() - all.start());
            if !within_budget() {
                return;
            }
            at = text.len() - rest.len();
        }
    }
}

/// A call with a user and a password.
fn call(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        if let Some(value) = captures.iter().skip(1).flatten().next()
            && (is_chosen(value.as_str()) || is_random(value.as_str()))
        {
            spans.add(value.range(), kind);
        }
    }
}

/// Words between a password and its value where no sign stands.
const IS: &[&str] = &[
    "is", "was", "ist", "lautet", "es", "est", "è", "é", "jest", "är", "er", "je",
];
/// So many words may stand between a password and its value.
const MAX_WORDS: usize = 7;

/// A sentence that says what a password is. What it says must look like one.
fn prose(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    let mut names = regex.find_iter(text).peekable();
    while let Some(found) = names.next() {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        // To the next name, so that no word is read twice.
        let next = names.peek().map_or(text.len(), regex::Match::start);
        let limit = next.min(found.end() + 512).max(found.end());
        let line = &text[found.end()..text.floor_char_boundary(limit)];
        let line = line.split(['\n', '\r']).next().unwrap_or_default();
        if let Some(value) = said(found.as_str(), line) {
            spans.add(found.end() + value.start..found.end() + value.end, kind);
        }
    }
}

/// Where the value is in what follows the name of a secret in a sentence.
fn said(name: &str, line: &str) -> Option<Range<usize>> {
    let name = name.trim_end().to_lowercase();
    let mut at = 0;
    // Whether a sign before this word says that it is the value, or a word does.
    let (mut signed, mut told) = (false, false);
    for (count, piece) in line.split_inclusive([' ', '\t']).enumerate() {
        looked_at(piece.len());
        let word = piece.trim_end();
        let place = at;
        at += piece.len();
        if word.is_empty() {
            continue;
        }
        let bare = word.trim_start_matches(['"', '\'', '`', '*']);
        let end = bare.find(['"', '\'', '`', '|']).unwrap_or(bare.len());
        let value = bare[..end].trim_end_matches(['.', ',', ';', ')', '*']);
        if (signed || told) && says(&name, value) {
            let start = place + word.len() - bare.len();
            return Some(start..start + value.len());
        }
        if signed || count >= MAX_WORDS {
            return None;
        }
        if word == "/" && name.starts_with("cred") {
            signed = true;
            continue;
        }
        let stem = word.trim_end_matches([':', '=']);
        // `password = …` is an assignment.
        if count == 0 && stem.is_empty() {
            return None;
        }
        let lower = stem.to_lowercase();
        let letters = stem
            .chars()
            .all(|letter| letter.is_alphabetic() || "'’()_-".contains(letter));
        let address = stem.contains('@') && !stem.contains(['/', ':', '=']);
        if !(letters || address) || keys::is_about(&lower) && lower != "is" && lower != "for" {
            return None;
        }
        signed = stem.len() < word.len();
        told = IS.contains(&lower.as_str());
    }
    None
}

/// Whether this can be what a sentence calls so.
fn says(name: &str, value: &str) -> bool {
    if value.contains("://") || value.contains(['=', '(', '/']) || is_path(value) {
        return false;
    }
    match name {
        "token" | "secret" => is_strong(value),
        _ if name.ends_with("key") => is_strong(value),
        _ if value.ends_with(':') => false,
        _ => is_chosen(value) || is_random(value),
    }
}

/// What sets a variable or a header to a value that follows behind a blank, in small letters.
const SETTERS: &[&str] = &[
    "env",
    "setenv",
    "setx",
    "-x",
    "-gx",
    "proxy_set_header",
    "add_header",
    "fastcgi_param",
    "uwsgi_param",
    "requestheader set",
    "header set",
];

/// A name and a value with blanks between them. The value must look like none of a sentence.
fn spaced(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    let bytes = text.as_bytes();
    for found in regex.find_iter(text) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
        let before = bytes[..found.start()].iter().rev().take(64);
        let start = found.start() - before.take_while(|byte| is_name(byte)).count();
        if !matches!(
            start.checked_sub(1).map(|at| bytes[at]),
            None | Some(b' ' | b'\t' | b'\n' | b'(' | b'|' | b':' | b'{' | b',' | b'"' | b'\'')
        ) {
            continue;
        }
        let length = bytes[found.start()..]
            .iter()
            .take_while(|byte| is_name(byte))
            .count();
        let name = start..found.start() + length;
        let Some(kind) = keys::kind_of(&text[name.clone()]).or_else(|| two_words(text, name.clone())) else {
            continue;
        };
        if text[name.clone()].ends_with("-secret") && command::names_a_secret(&text[..name.start]) {
            continue;
        }
        // The name of a package in what `dpkg -l` prints.
        let line = text[..name.start].rsplit('\n').next().unwrap_or_default();
        if matches!(line.trim_end(), "ii" | "hi" | "rc" | "un" | "iU" | "iF") {
            continue;
        }
        // The value begins with the last character of the match.
        let at = found.end() - 1;
        let near = &text[at..text.floor_char_boundary(at + MAX_HEAD)];
        let quoted = matches!(near.as_bytes()[0], b'"' | b'\'');
        let mut range = if let quote @ (b'"' | b'\'' | b'`') = near.as_bytes()[0] {
            let end = near[1..].find([char::from(quote), '\n']);
            at + 1..at + end.map_or(near.len(), |end| end + 1)
        } else {
            let end = near.find([' ', '\t', '\n', '\r', '"', '\'', '`', '|']);
            at..at + end.unwrap_or(near.len())
        };
        let lead = text[..start].trim_end_matches([' ', '\t']);
        let told = lead.len() < start && SETTERS.iter().any(|word| ends_with_word(lead, word));
        let word = &text[range.clone()];
        looked_at(word.len());
        if text[name.clone()].eq_ignore_ascii_case("authorization") {
            // Only what a setting sets: `proxy_set_header Authorization "Bearer …"`.
            if !told {
                continue;
            }
            range.start += word.find(' ').map_or(0, |blank| blank + 1);
        } else if !(told
            || is_random(word)
            || kind == Kind::Password && (quoted || is_alone(text, &name, &range)) && is_chosen(word))
            || is_path(word)
            || is_prose_word(word)
        {
            continue;
        }
        if (!told && word.contains(['(', ')', '{', '}', '<', '>', '=', '\\'])) || word.starts_with('$') {
            continue;
        }
        let trimmed = text[range.clone()].trim_end_matches([';', ',', '.', ')']).len();
        add(range.start..range.start + trimmed, text, kind, spans);
    }
}

/// Whether a name and a value are all that stands on their line.
fn is_alone(text: &str, name: &Range<usize>, value: &Range<usize>) -> bool {
    let near = text.ceil_char_boundary(name.start.saturating_sub(16));
    let before = &text[near..name.start];
    let before = before.rsplit('\n').next().unwrap_or_default();
    before.trim().is_empty() && matches!(text.as_bytes().get(value.end), None | Some(b'\n' | b'\r'))
}

/// Whether a text ends with this word, in any case.
fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(at) = text.len().checked_sub(word.len()) else {
        return false;
    };
    text.as_bytes()[at..].eq_ignore_ascii_case(word.as_bytes())
        && at
            .checked_sub(1)
            .is_none_or(|before| text.as_bytes()[before].is_ascii_whitespace())
}

/// `the api key is …`: the word before `key` tells.
fn two_words(text: &str, name: Range<usize>) -> Option<Kind> {
    if !text[name.clone()].eq_ignore_ascii_case("key") {
        return None;
    }
    let before = text[..name.start].strip_suffix(' ')?;
    let letters = before.bytes().rev().take(16);
    let letters = letters.take_while(u8::is_ascii_alphabetic).count();
    keys::kind_of(&text[before.len() - letters..name.end])
}

/// How the cells of a row are parted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parted {
    Comma,
    Semicolon,
    Tab,
    Bar,
}

impl Parted {
    const ALL: [Self; 4] = [Self::Tab, Self::Bar, Self::Comma, Self::Semicolon];

    fn sign(self) -> char {
        match self {
            Self::Comma => ',',
            Self::Semicolon => ';',
            Self::Tab => '\t',
            Self::Bar => '|',
        }
    }
}

/// The cells of a row with their places, without blanks and quotes around them.
fn cells(row: &str, parted: Parted) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let bytes = row.as_bytes();
    let (mut start, mut quoted) = (0, false);
    for at in 0..=bytes.len() {
        let ends = at == bytes.len() || (!quoted && bytes[at] == parted.sign() as u8);
        if at < bytes.len() && bytes[at] == b'"' && parted != Parted::Bar {
            quoted = !quoted;
        }
        if !ends {
            continue;
        }
        let cell = &row[start..at];
        let inside = cell.trim().trim_matches(['"', '\'', '*', '`', '_']).trim();
        let from = start + cell.find(inside).unwrap_or(0);
        found.push(from..from + inside.len());
        start = at + 1;
    }
    found
}

/// Whether a row is a rule between others: `---+---`, `|---|---|`.
fn is_rule(row: &str) -> bool {
    let row = row.trim();
    row.len() > 2 && row.bytes().all(|byte| b"-+|:= \t".contains(&byte))
}

/// A longer row is none of names.
const MAX_HEAD: usize = 1024;

/// Rows below a row of names: what stands below the name of a secret is one.
fn tables(regex: &Regex, text: &str, places: &[Range<usize>], _kind: Kind, spans: &mut Spans) {
    let mut covered = 0;
    let mut line = 0..0;
    for found in matches(regex, text, places) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        if found.start() < covered || text[..found.start()].ends_with("[masked:") {
            continue;
        }
        if found.start() >= line.end {
            let begins = text[line.end..found.start()].rfind('\n');
            let ends = text[found.start()..].find('\n');
            line = begins.map_or(line.end, |newline| line.end + newline + 1)
                ..ends.map_or(text.len(), |newline| found.start() + newline + 1);
            looked_at(line.len());
        }
        // A row of names ends with a line feed, and its ends are near.
        let near = found.start() - line.start < MAX_HEAD && line.end - found.start() <= MAX_HEAD;
        if !near || !text[..line.end].ends_with('\n') {
            continue;
        }
        covered = table(text, line.clone(), spans).max(line.end);
    }
}

fn table(text: &str, head: Range<usize>, spans: &mut Spans) -> usize {
    let row = text[head.clone()].trim_end_matches(['\n', '\r']);
    for parted in Parted::ALL {
        if !row.contains(parted.sign()) {
            continue;
        }
        let names = cells(row, parted);
        let plain = |range: &Range<usize>| {
            let name = &row[range.clone()];
            name.len() <= 40
                && name
                    .chars()
                    .all(|character| character.is_alphanumeric() || "_ .-/()".contains(character))
                && name.split_whitespace().count() <= 3
        };
        if let Some((kind, value)) = pair_of(row, &names, parted) {
            let range = head.start + value.start..head.start + value.end;
            add(range, text, kind, spans);
            return 0;
        }
        if names.iter().filter(|name| !name.is_empty()).count() < 2 || !names.iter().all(plain) {
            continue;
        }
        let kinds: Vec<Option<Kind>> = names
            .iter()
            .map(|name| keys::kind_of(&row[name.clone()]))
            .collect();
        if kinds.iter().all(Option::is_none) {
            continue;
        }
        // Names are no secrets: `| password | token |` is a head, `a, password, b` may be a sentence.
        let loose = parted == Parted::Comma && row.contains(", ")
            || parted == Parted::Semicolon && row.contains("; ");
        let end = rows(text, head.end, &kinds, parted, loose, spans);
        if end > head.end {
            return end;
        }
    }
    0
}

/// `| DB_PASSWORD | value |`: a name that can only be one, and a value that looks like one.
fn pair_of(row: &str, names: &[Range<usize>], parted: Parted) -> Option<(Kind, Range<usize>)> {
    if parted != Parted::Bar {
        return None;
    }
    let filled: Vec<&Range<usize>> = names.iter().filter(|name| !name.is_empty()).collect();
    let [name, value] = filled[..] else { return None };
    let kind = keys::kind_of(&row[name.clone()])?;
    is_random(&row[value.clone()]).then(|| (kind, value.clone()))
}

fn rows(
    text: &str,
    from: usize,
    kinds: &[Option<Kind>],
    parted: Parted,
    loose: bool,
    spans: &mut Spans,
) -> usize {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        looked_at(line.len());
        let row = line.trim_end_matches(['\n', '\r']);
        if is_rule(row) {
            at += line.len();
            continue;
        }
        if row.len() > 8192 {
            break;
        }
        let found = cells(row, parted);
        if found.len() != kinds.len() {
            break;
        }
        for (cell, kind) in found.iter().zip(kinds) {
            let Some(kind) = kind else { continue };
            let value = &row[cell.clone()];
            let sure = !loose && !value.contains(' ');
            if value.len() >= 3
                && (sure || is_random(value))
                && !is_prose_word(value)
                && !value.bytes().all(|byte| byte.is_ascii_digit())
                && keys::kind_of(value).is_none()
            {
                add(at + cell.start..at + cell.end, text, *kind, spans);
            }
        }
        at += line.len();
    }
    at
}
