//! Well-known files that hold secrets without saying so in a key.

use regex::Regex;

use crate::finder::{Finder, first_group};
use crate::placeholder::is_placeholder;
use crate::span::Spans;
use crate::{Kind, base64, keys};

pub(crate) const FINDERS: &[Finder] = &[
    // crypt(3), htpasswd and the hashes of common libraries, wherever they stand.
    Finder {
        kind: Kind::PasswordHash,
        trigger: r"\$(?:[1-7]|2[abxy]|y|gy|sha1|apr1|argon2|scrypt|pbkdf2)",
        pattern: r"\$(?:[1567]|2[abxy]|y|gy|sha1|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9_-]*)\$[./A-Za-z0-9$,=+-]{8,}",
        find: crate::finder::whole,
    },
    Finder {
        kind: Kind::PasswordHash,
        trigger: r"\{(?:S?SHA|S?MD5|CRYPT|SSHA|PBKDF2|SCRAM|sha|ssha|crypt)",
        pattern: r"\{(?i-u:s?sha(?:256|384|512)?|s?md5|crypt|pbkdf2[a-z0-9-]*)\}([A-Za-z0-9+/=$.]{12,})|SCRAM-SHA-256\$[0-9]+:([A-Za-z0-9+/=$:]+)",
        find: first_group,
    },
    Finder {
        kind: Kind::PasswordHash,
        trigger: r":[0-9]*:[0-9]*:[0-9]*:[0-9]*:",
        pattern: r"(?m)^[^:\s]+:([^:\s]{3,}):[0-9]*:[0-9]*:[0-9]*:[0-9]*:[0-9]*:[0-9]*:[0-9]*\r?$",
        find: first_group,
    },
    // .pgpass
    Finder {
        kind: Kind::Password,
        trigger: r":(?:\*|54[0-9]{2}|6432|15432|25432|26257):[^\s:]+:[^\s:]+:",
        pattern: r"(?m)^[A-Za-z0-9._*-]+:(?:\*|54[0-9]{2}|6432|15432|25432|26257):[^:\s]+:[^:\s]*[A-Za-z*_][^:\s]*:([^\n\r]+?)\r?$",
        find: first_group,
    },
    // .netrc
    Finder {
        kind: Kind::Password,
        trigger: "(?:machine|default)[ \t\n]+(?:login[ \t\n]+)?[^ \t\n]+",
        pattern: r"(?-u:\b)(?:machine\s+\S+|default)(?:\s+(?:login|account)\s+\S+)*\s+password\s+(\S+)",
        find: first_group,
    },
    // Docker's config.json
    Finder {
        kind: Kind::DockerAuth,
        trigger: r#"auth(?:\\*"|[ \t]*=)"#,
        pattern: r#"(?:\\*"auth\\*"\s*:\s*\\*"|_auth[ \t]*=[ \t]*"?)([A-Za-z0-9+/_-]{6,}={0,2})"#,
        find: docker,
    },
    // A list of variables: `- name: DB_PASSWORD` / `value: …`
    Finder {
        kind: Kind::Password,
        trigger: "(?i-u)value",
        pattern: r#"(?i-u:\b(?:name|key)\b)\\*["']?[ \t]*:[ \t]*\\*["']?([A-Za-z0-9_.-]+)\\*["']?[ \t]*,?[ \t]*\r?\n?[ \t]*\\*["']?(?i-u:value)\\*["']?[ \t]*:[ \t]*(?:\\*"((?:[^"\\\n]|\\[^"])+)|'([^'\n]+)|([^\s"'\\{\[][^\n"]*))"#,
        find: variable,
    },
    Finder {
        kind: Kind::Kubeconfig,
        trigger: "certificate-authority-data",
        pattern: r#"certificate-authority-data\\*["']?[ \t]*:[ \t]*\\*["']?([A-Za-z0-9+/=_-]{8,})"#,
        find: first_group,
    },
    // PEM within base64
    Finder {
        kind: Kind::PrivateKey,
        trigger: "LS0tLS1CRUdJTi",
        pattern: "LS0tLS1CRUdJTi[A-Za-z0-9+/=]+",
        find: encoded_pem,
    },
    Finder {
        kind: Kind::WireguardKey,
        trigger: "(?i-u)(?:private|preshared)_?key",
        pattern: r"(?i-u:(?:private|preshared)_?key)\\*[\x22']?[ \t]*[=:][ \t]*\\*[\x22']?([A-Za-z0-9+/]{42,43}=)",
        find: first_group,
    },
    Finder {
        kind: Kind::Password,
        trigger: "(?i-u)<[a-z0-9_.:-]*(?:pass|secret|token|key|pwd)",
        pattern: r"<([A-Za-z0-9_.:-]+)[^<>\n]*>([^<>\n]+)</([A-Za-z0-9_.:-]+)>",
        find: element,
    },
];

fn docker(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        if let Some(value) = captures.get(1)
            && base64::is_login(value.as_str())
        {
            spans.add(value.range(), kind);
        }
    }
}

fn variable(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(kind) = captures.get(1).and_then(|name| keys::kind_of(name.as_str())) else {
            continue;
        };
        if let Some(value) = captures.iter().skip(2).flatten().next()
            && !is_placeholder(value.as_str())
        {
            let length = value.as_str().trim_end().len();
            spans.add(value.start()..value.start() + length, kind);
        }
    }
}

fn encoded_pem(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        if base64::is_private_key(found.as_str()) {
            spans.add(found.range(), kind);
        }
    }
}

/// `<password>…</password>`
fn element(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let (Some(open), Some(value), Some(close)) = (captures.get(1), captures.get(2), captures.get(3))
        else {
            continue;
        };
        if open.as_str() != close.as_str() || is_placeholder(value.as_str()) {
            continue;
        }
        if let Some(kind) = keys::kind_of(open.as_str()) {
            spans.add(value.range(), kind);
        }
    }
}
