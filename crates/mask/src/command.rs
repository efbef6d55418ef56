//! Secrets on command lines.

use std::ops::Range;

use regex::Regex;

use crate::around::Around;
use crate::assignment::bare_end;
use crate::finder::{Find, Finder, Scope, first_group};
use crate::placeholder::{
    is_chosen, is_expression, is_path, is_placeholder, is_prose_word, is_random, is_strong,
};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};
use crate::{Kind, keys};

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::Password,
        anchors: &["pass", "pw", "secret", "token", "key", "cred"],
        around: Around::Flag,
        trigger: "(?i-u)-(?:[a-z0-9]+[-_.]?)*(?:pass|secret|token|key|pw|cred)",
        pattern: r#"(?i-u:-(?:[a-z0-9]+[-_.])*(?:[a-z0-9]*(?:password|passwd|passphrase|passwort|pass|pwd|pw|secret|token|apikey|creds|credentials?)|[a-z0-9]*key)(?:[-_]?(?:[a-z]{2,10}|[0-9]{1,2}|b64|v[0-9])){0,2})(?:[ \t]+|"[ \t]*,[ \t\n]*"|'[ \t]*,[ \t\n]*'|[\x22']?[ \t]*\r?\n[ \t]*-[ \t]+)"#,
        scope: Scope::Near,
        find: Find::In(flag),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["-pass"],
        around: Around::Anything,
        trigger: "-pass",
        pattern: r"-pass(?:in|out|word)?[ \t]+(?:pass|env):([^\s'\x22]+)",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["/p", "securestring"],
        around: Around::Anything,
        trigger: r"(?i-u)[ \t]/p(?:ass(?:word)?)?:|-securestring[ \t]",
        pattern: r"(?i-u:[ \t]/p(?:ass(?:word)?)?:)(?:'([^'\n]+)'|\x22([^\x22\n]+)\x22|([^\s'\x22|;&]+))|(?i-u:-securestring(?:[ \t]+-(?:string|asplaintext|force))*)[ \t]+(?:'([^'\n]+)'|\x22([^\x22\n]+)\x22)|(?i-u:-securestring(?:[ \t]+-(?:string|asplaintext|force))+)[ \t]+([^\s'\x22|;&()$-][^\s'\x22|;&]*)|(?i-u:-securestring)[ \t]+([^\s'\x22|;&()$-][^\s'\x22|;&]*)[ \t]+-",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["net ", "net.exe"],
        around: Around::Anything,
        trigger: r"(?i-u)\bnet(?:\.exe)?[ \t]+user?[ \t]",
        pattern: r"(?i-u:\bnet(?:\.exe)?[ \t]+(user?))[ \t]+([^\n]+)",
        scope: Scope::Lines,
        find: Find::In(net),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["echo", "printf"],
        around: Around::Next(b" \t"),
        trigger: "(?:echo|printf)[ \t]",
        pattern: r"(?-u:\b)(?:echo|printf)[ \t]+(?:-[a-z]+[ \t]+)*(?:'([^'\n]+)'|\x22([^\x22\n]+)\x22|([^\s'\x22|;&]+))[ \t]*\|[ \t]*(?:sudo[ \t]+-S|(?:sudo[ \t]+)?(?:passwd|kinit|base64|cryptsetup|gpg|docker[ \t]+login)(?-u:\b))",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // What is sent to a program that reads a secret, whatever the program is.
    Finder {
        kind: Kind::Password,
        anchors: &["echo", "printf"],
        around: Around::Next(b" \t"),
        trigger: r"(?:echo|printf)[ \t][^|\n]*\|",
        pattern: r"(?-u:\b)(?:echo|printf)[ \t]+(?:-[a-zA-Z]+[ \t]+)*(?:'([^'\n]+)'|\x22([^\x22\n]+)\x22|([^\s'\x22|;&]+))[ \t]*\|[ \t]*(?P<reader>[^\n|;&]*?(?-u:\b)(?i-u:secrets?|password|passwd|passphrase|password-stdin|luks[a-z]*|cryptsetup|load-key|unlock|login|pubkey|kubeseal|smbpasswd|saslpasswd2|ldappasswd|vault|askpass|kinit|token)(?-u:\b))",
        scope: Scope::Lines,
        find: Find::In(piped),
    },
    // `<(echo …)` where a file with a secret is meant.
    Finder {
        kind: Kind::Password,
        anchors: &["<(echo", "<(printf"],
        around: Around::Next(b" \t"),
        trigger: r"<\((?:echo|printf)[ \t]",
        pattern: r"<\((?:echo|printf)[ \t]+(?:-[a-zA-Z]+[ \t]+)*(?:'([^'\n]+)'|\x22([^\x22\n]+)\x22|([^\s'\x22|;&()]+))[ \t]*\)",
        scope: Scope::Lines,
        find: Find::In(given),
    },
    // A user and a password on the command line of any program.
    Finder {
        kind: Kind::Password,
        anchors: &[
            " -u",
            " -l ",
            "-user",
            "--auth",
            "--basic-auth",
            "--login",
            "--proxy-user",
        ],
        around: Around::Anything,
        trigger: r"(?i-u)-(?:u|l|user|username|auth|basic-auth|userpwd|login|proxy-user)[ \t=\x22',]",
        pattern: "[^\n]+",
        scope: Scope::Lines,
        find: Find::In(login),
    },
    // Functions of databases that take a key.
    Finder {
        kind: Kind::Password,
        anchors: &["crypt", "hmac", "passphrase"],
        around: Around::Call,
        trigger: r"(?i-u)(?:crypt(?:_bytea)?|hmac|passphrase)[ \t]*\(",
        pattern: r"(?i-u:\b(?:pgp_sym_(?:en|de)crypt(?:_bytea)?|aes_(?:en|de)crypt|des_(?:en|de)crypt|hmac))[ \t]*\([^()\n]+,[ \t]*'([^'\n]{4,})'|(?i-u:\b(?:en|de)cryptbypassphrase)[ \t]*\([ \t]*N?'([^'\n]{4,})'",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["identified", "password", "echo"],
        around: Around::Next(b" \t("),
        trigger: "(?i-u)(?:identified|password)[ \t(]|echo[ \t]",
        pattern: r"(?m)(?i-u:\bidentified(?:[ \t]+with[ \t]+[a-z0-9_\x22\x27]+)?[ \t]+by)[ \t]+([^\s;\x22\x27,()]{4,})[ \t]*(?:;|\r?$)|(?i-u:\b(?:identified(?:[ \t]+with[ \t]+[a-z0-9_\x22\x27]+)?[ \t]+by(?:[ \t]+password)?|password))[ \t]+(?:'([^'\n]+)'|\x22([^\x22\n]+)\x22)|(?i-u:\bpassword)[ \t]*\([ \t]*['\x22]([^'\x22\n]+)['\x22][ \t]*\)|(?-u:\b)echo[ \t]+(?:-[a-z]+[ \t]+)*['\x22]?[^\s:'\x22]+:([^\s'\x22|]+)['\x22]?[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
];

/// `--password X`, also as two elements of a JSON array. `--password=X` is an assignment.
fn flag(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        let before = text[..found.start()].chars().next_back();
        if before.is_some_and(|character| !(character.is_whitespace() || "-\"'[({`=".contains(character))) {
            continue;
        }
        let name = found
            .as_str()
            .trim_end_matches([' ', '\t', '\n', '\r', '"', '\'', ',', '-'])
            .trim_start_matches('-');
        let (kind, strong_only) = match (keys::kind_of(name), keys::kind_if_strong(name)) {
            (Some(kind), _) => (kind, false),
            (None, Some(kind)) => (kind, true),
            (None, None) => continue,
        };
        if name == "secret" && names_a_secret(&text[..found.start()]) {
            continue;
        }
        let listed = found.as_str().ends_with(['"', '\'']);
        let mut start = found.end();
        let end = if listed {
            start
                + text[start..]
                    .find(['"', '\'', '\n'])
                    .unwrap_or(text.len() - start)
        } else {
            match text[start..].chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    start += 1;
                    start + text[start..].find([quote, '\n']).unwrap_or(text.len() - start)
                }
                _ => bare_end(text, start),
            }
        };
        let value = &text[start..end];
        if value.is_empty() || is_placeholder(value) || is_path(value) || is_expression(value) {
            continue;
        }
        let quoted = listed || text[..start].ends_with(['"', '\'']);
        if !quoted && (value.starts_with(['-', '<', '[', '(', '|', '>']) || is_flag_prose(value)) {
            continue;
        }
        if strong_only && !is_strong(value) {
            continue;
        }
        // `--creds user:secret` keeps the user.
        let user = value
            .find(':')
            .filter(|_| name.contains("cred"))
            .map_or(0, |colon| colon + 1);
        spans.add(start + user..end, kind);
    }
}

/// Programs whose `-p` or `-P` is no password.
const OTHER_P: &[&str] = &[
    "cargo",
    "cp",
    "docker",
    "docker-compose",
    "git",
    "install",
    "journalctl",
    "kubectl",
    "lsof",
    "mkdir",
    "nc",
    "nerdctl",
    "nmap",
    "pg_dump",
    "pg_restore",
    "pgrep",
    "pkill",
    "podman",
    "ps",
    "psql",
    "python",
    "python3",
    "rsync",
    "scp",
    "sftp",
    "ssh",
    "systemctl",
    "systemd-run",
    "tar",
    "top",
    "useradd",
    "usermod",
];

/// Flags that take a user, or a user and a password.
const USER: &[&str] = &[
    "-u",
    "-U",
    "-l",
    "-user",
    "-username",
    "--user",
    "--username",
    "--auth",
    "--basic-auth",
    "--userpwd",
    "--login",
    "--proxy-user",
];

/// What the next word of a command line is.
#[derive(Clone, Copy, Default)]
enum Takes {
    #[default]
    Anything,
    User,
    Password,
}

/// `-u user -p secret` and `-u user:secret` of any program: a user is given with a password.
fn login(_regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        looked_at(line.len());
        if !within_budget() {
            return;
        }
        login_line(line, start, kind, spans);
        start += line.len();
    }
}

fn login_line(line: &str, start: usize, kind: Kind, spans: &mut Spans) {
    let mut at = start;
    let mut program = "";
    let mut user = false;
    let mut password: Option<Range<usize>> = None;
    let mut takes = Takes::Anything;
    for piece in line.split_inclusive([' ', '\t']) {
        let raw = piece.trim_end();
        let place = at;
        at += piece.len();
        let word = raw.trim_matches(['"', '\'', '`', ',', '[', ']']);
        if word.is_empty() {
            continue;
        }
        if matches!(raw, "|" | "||" | "&&" | ";" | "&") {
            if let Some(range) = password.take().filter(|_| user) {
                spans.add(range, kind);
            }
            (program, user, takes) = ("", false, Takes::Anything);
            continue;
        }
        let inner = place + raw.find(word).unwrap_or(0);
        if program.is_empty() && !word.contains('=') && word != "sudo" && word != "env" {
            program = word.rsplit('/').next().unwrap_or(word);
        }
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        let behind = match (std::mem::take(&mut takes), USER.contains(&flag)) {
            (Takes::User, _) => Some(word),
            (Takes::Anything, true) if !value.is_empty() => Some(value),
            (Takes::Anything, true) => {
                takes = Takes::User;
                None
            }
            (Takes::Password, _)
                if is_secret(word)
                    && !word.contains(['"', '\'', '{', '}', '[', ']', '<', '>'])
                    && !OTHER_P.contains(&program) =>
            {
                password = Some(inner..inner + word.len());
                None
            }
            (Takes::Anything, _) if matches!(word, "-p" | "-P" | "-pw" | "-w" | "-W") => {
                takes = Takes::Password;
                None
            }
            _ => None,
        };
        if let Some(login) = behind {
            user = true;
            if let Some((name, secret)) = login.split_once(':')
                && !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._@\\-".contains(&byte))
                && !secret.contains(['"', '\'', '{', '}', '[', ']', '<', '>', '*'])
                && is_secret(secret)
            {
                let end = inner + word.len();
                spans.add(end - secret.len()..end, kind);
            }
        }
    }
    if let Some(range) = password.filter(|_| user) {
        spans.add(range, kind);
    }
}

fn is_secret(word: &str) -> bool {
    !word.starts_with('-') && (is_chosen(word) || is_random(word) || is_strong(word))
}

/// A secret that is given as a file.
fn given(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if let Some(value) = captures.iter().skip(1).flatten().next()
            && is_secret(value.as_str())
        {
            spans.add(value.range(), kind);
        }
    }
}

/// What is sent to a program that reads a secret.
fn piped(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        let reader = captures.name("reader").map_or("", |reader| reader.as_str());
        let Some(value) = captures.iter().skip(1).take(3).flatten().next() else {
            continue;
        };
        let word = value.as_str().trim_end_matches("\\n");
        let looks = matches!(
            reader.split([' ', '\t']).next(),
            Some(
                "grep"
                    | "egrep"
                    | "tee"
                    | "sed"
                    | "awk"
                    | "jq"
                    | "cat"
                    | "less"
                    | "sort"
                    | "wc"
                    | "cut"
                    | "tr"
            )
        );
        if !looks && is_secret(word) {
            spans.add(value.start()..value.start() + word.len(), kind);
        }
    }
}

/// Whether `--secret` on this command line takes the name of a secret, or nothing. The table of programs knows where the
/// secret itself is.
pub(crate) fn names_a_secret(before: &str) -> bool {
    const PROGRAMS: &[&str] = &["virsh", "pulumi", "docker", "podman", "buildah", "nerdctl"];
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(256))..];
    let line = near.rsplit('\n').next().unwrap_or_default();
    looked_at(line.len());
    line.split([' ', '\t', '/', '"', '\'', ',', '(', '`'])
        .any(|word| PROGRAMS.contains(&word))
}

/// `net use` and `net user` of Windows. The password is the word that is no drive, share, name or option.
fn net(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        let Some((verb, rest)) = captures.get(1).zip(captures.get(2)) else {
            continue;
        };
        let mut at = rest.start();
        let mut words = Vec::new();
        for word in rest.as_str().split_inclusive([' ', '\t']) {
            let inside = word.trim();
            if matches!(inside, "|" | "&" | "&&" | "||" | ">" | ";") {
                break;
            }
            if !inside.is_empty() {
                let quotes = ['"', '\''];
                let lead = inside.len() - inside.trim_start_matches(quotes).len();
                words.push((at + lead, inside.trim_matches(quotes)));
            }
            at += word.len();
        }
        let is_drive =
            |word: &str| word.len() == 2 && word.ends_with(':') && word.as_bytes()[0].is_ascii_alphabetic();
        let option = |word: &str| word.starts_with('/');
        let mut plain = words.iter().filter(|(_, word)| !option(word));
        let found = if verb.as_str().eq_ignore_ascii_case("use") {
            let place = |word: &str| is_drive(word) || word == "*" || word.starts_with("\\\\");
            let named = |word: &str| {
                is_drive(word) || word.starts_with("\\\\") || word.to_ascii_lowercase().starts_with("/user:")
            };
            let shown = words.iter().any(|(_, word)| named(word));
            plain.find(|(_, word)| !place(word)).filter(|_| shown)
        } else {
            let options = words.iter().any(|(_, word)| option(word));
            plain.nth(1).filter(|(_, word)| options || is_random(word))
        };
        if let Some((start, word)) = found
            && word.len() > 1
            && !is_placeholder(word)
        {
            spans.add(*start..start + word.len(), kind);
        }
    }
}

/// A word of help text or prose behind a flag.
fn is_flag_prose(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "and",
        "argument",
        "arguments",
        "as",
        "by",
        "can",
        "do",
        "file",
        "flag",
        "flags",
        "for",
        "from",
        "has",
        "if",
        "in",
        "instead",
        "into",
        "it",
        "key",
        "may",
        "of",
        "on",
        "option",
        "options",
        "or",
        "parameter",
        "secret",
        "should",
        "strings",
        "that",
        "this",
        "to",
        "token",
        "was",
        "when",
        "which",
        "will",
        "with",
        "you",
    ];
    let word = value.trim_end_matches(['.', ',', ';', ':', ')']);
    is_prose_word(word)
        || WORDS.contains(&word.to_ascii_lowercase().as_str())
        || (word.len() > 2
            && keys::kind_of(word).is_some()
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
}
