//! Which names of keys say that their value is a secret.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::Kind;
use crate::work::looked_at;

/// Longer names are none.
const MAX_NAME: usize = 128;

/// The ends of names, without separators and in small letters, and what they hold. The first that fits decides.
const ENDINGS: &[(&str, Kind)] = &[
    ("secretaccesskey", Kind::AwsSecretKey),
    ("clientkeydata", Kind::Kubeconfig),
    ("certificateauthoritydata", Kind::Kubeconfig),
    ("privatekey", Kind::PrivateKey),
    ("presharedkey", Kind::PrivateKey),
    ("privkey", Kind::PrivateKey),
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("passwort", Kind::Password),
    ("kennwort", Kind::Password),
    ("contraseña", Kind::Password),
    ("motdepasse", Kind::Password),
    ("requirepass", Kind::Password),
    ("masterauth", Kind::Password),
    ("userpass", Kind::Password),
    ("authpass", Kind::Password),
    ("rootpw", Kind::Password),
    ("bindpw", Kind::Password),
    ("adminpw", Kind::Password),
    ("userpw", Kind::Password),
    ("dbpw", Kind::Password),
    ("pwd", Kind::Password),
    ("passwordhash", Kind::PasswordHash),
    ("apikey", Kind::ApiKey),
    ("apisecret", Kind::ApiKey),
    ("accesskey", Kind::ApiKey),
    ("secretkey", Kind::Secret),
    ("secretkeybase", Kind::Secret),
    ("accountkey", Kind::ApiKey),
    ("sharedkey", Kind::ApiKey),
    ("authkey", Kind::ApiKey),
    ("masterkey", Kind::Secret),
    ("signingkey", Kind::Secret),
    ("encryptionkey", Kind::Secret),
    ("decryptionkey", Kind::Secret),
    ("sessionkey", Kind::Secret),
    ("storagekey", Kind::Secret),
    ("servicekey", Kind::ApiKey),
    ("serverkey", Kind::ApiKey),
    ("consumerkey", Kind::ApiKey),
    ("appkey", Kind::ApiKey),
    ("applicationkey", Kind::ApiKey),
    ("licensekey", Kind::ApiKey),
    ("licencekey", Kind::ApiKey),
    ("deploykey", Kind::ApiKey),
    ("subscriptionkey", Kind::ApiKey),
    ("functionkey", Kind::ApiKey),
    ("hmackey", Kind::Secret),
    ("jwtkey", Kind::Secret),
    ("cookiekey", Kind::Secret),
    ("unsealkey", Kind::Secret),
    ("recoverykey", Kind::Secret),
    ("webhookurl", Kind::Secret),
    ("secretid", Kind::Secret),
    ("secret", Kind::Secret),
    ("token", Kind::Token),
    ("bearer", Kind::Token),
    ("authorization", Kind::Authorization),
    ("authheader", Kind::Authorization),
    ("connectionstring", Kind::Secret),
    ("connectionuri", Kind::Secret),
    ("connstr", Kind::Secret),
    ("credential", Kind::Secret),
    ("credentials", Kind::Secret),
    ("creds", Kind::Secret),
    ("cookie", Kind::Cookie),
    ("phpsessid", Kind::Cookie),
    ("jsessionid", Kind::Cookie),
    ("psk", Kind::Secret),
    ("wpapassphrase", Kind::Password),
    ("rocommunity", Kind::Secret),
    ("rwcommunity", Kind::Secret),
    ("otpseed", Kind::Secret),
    ("totpseed", Kind::Secret),
    ("recoverycodes", Kind::Secret),
    ("backupcodes", Kind::Secret),
    ("mnemonic", Kind::Secret),
    ("seedphrase", Kind::Secret),
    ("passwrd", Kind::Password),
    ("pswd", Kind::Password),
    ("pword", Kind::Password),
    ("passord", Kind::Password),
    ("wachtwoord", Kind::Password),
    ("contrasena", Kind::Password),
    ("contraseñas", Kind::Password),
    ("senha", Kind::Password),
    ("parola", Kind::Password),
    ("heslo", Kind::Password),
    ("hasło", Kind::Password),
    ("lösenord", Kind::Password),
    ("salasana", Kind::Password),
    ("adgangskode", Kind::Password),
    ("jelszó", Kind::Password),
    ("şifre", Kind::Password),
    ("пароль", Kind::Password),
    ("Пароль", Kind::Password),
    ("ПАРОЛЬ", Kind::Password),
    ("密码", Kind::Password),
    ("密碼", Kind::Password),
    ("口令", Kind::Password),
    ("パスワード", Kind::Password),
    ("비밀번호", Kind::Password),
    ("erlangcookie", Kind::Cookie),
    ("authcookie", Kind::Cookie),
    ("communitystring", Kind::Secret),
    ("snmpcommunity", Kind::Secret),
    ("networkkey", Kind::Secret),
    ("unlockkey", Kind::Secret),
    ("authsalt", Kind::Secret),
    ("noncesalt", Kind::Secret),
    ("noncekey", Kind::Secret),
    ("loggedinkey", Kind::Secret),
    ("loggedinsalt", Kind::Secret),
    ("secureauthkey", Kind::Secret),
    ("secureauthsalt", Kind::Secret),
    ("storepass", Kind::Password),
    ("keypass", Kind::Password),
    ("sasjaasconfig", Kind::Secret),
    ("sharedaccesssignature", Kind::Secret),
    ("sastoken", Kind::Token),
    ("webhooksecret", Kind::Secret),
    ("pincode", Kind::Password),
    ("sudopass", Kind::Password),
    ("authtok", Kind::Password),
    ("wepkey", Kind::Password),
    ("validationkey", Kind::Secret),
    ("samlresponse", Kind::Token),
    ("recoveryphrase", Kind::Secret),
    ("seedwords", Kind::Secret),
];

/// Endings that only say how the secret before them is written.
const FORMS: &[&str] = &[
    "hash",
    "b64",
    "base64",
    "value",
    "plain",
    "plaintext",
    "cleartext",
    "text",
    "raw",
    "string",
    "str",
    "encoded",
    "encrypted",
    "hex",
    "enc",
];

/// What stands before `pass` in names of passwords that are written together, as `DBPASS`.
const OWNERS_OF_PASS: &[&str] = &[
    "admin",
    "amqp",
    "api",
    "app",
    "auth",
    "bind",
    "broker",
    "cache",
    "client",
    "db",
    "dba",
    "default",
    "ftp",
    "git",
    "http",
    "imap",
    "jdbc",
    "kafka",
    "key",
    "keystore",
    "ldap",
    "login",
    "mail",
    "mariadb",
    "mongo",
    "mqtt",
    "my",
    "mysql",
    "nexus",
    "old",
    "ora",
    "oracle",
    "pg",
    "pop3",
    "postgres",
    "proxy",
    "rabbit",
    "rabbitmq",
    "redis",
    "remote",
    "root",
    "sa",
    "service",
    "sftp",
    "smb",
    "smtp",
    "snmp",
    "sql",
    "ssh",
    "su",
    "sudo",
    "svc",
    "system",
    "truststore",
    "user",
    "vnc",
    "vpn",
    "web",
    "wifi",
    "wlan",
];

/// Words behind the word for a secret that say whose or which it is: the value is the secret.
const WHICH: &[&str] = &[
    "a",
    "admin",
    "airtable",
    "alias",
    "anthropic",
    "api",
    "app",
    "auth",
    "aws",
    "azure",
    "b",
    "backend",
    "backup",
    "blue",
    "bot",
    "bugsnag",
    "cf",
    "ci",
    "client",
    "cloudflare",
    "current",
    "db",
    "deploy",
    "dev",
    "development",
    "discord",
    "docker",
    "dockerhub",
    "frontend",
    "gcp",
    "gh",
    "github",
    "gitlab",
    "global",
    "google",
    "grafana",
    "green",
    "hetzner",
    "huggingface",
    "int",
    "integration",
    "internal",
    "jenkins",
    "jira",
    "k8s",
    "kafka",
    "ldap",
    "legacy",
    "live",
    "local",
    "mail",
    "main",
    "master",
    "mongo",
    "mysql",
    "new",
    "npm",
    "old",
    "openai",
    "pg",
    "postgres",
    "pre",
    "preprod",
    "prev",
    "previous",
    "primary",
    "prod",
    "production",
    "proxmox",
    "pve",
    "pypi",
    "qa",
    "read",
    "readonly",
    "redis",
    "registry",
    "replica",
    "replication",
    "repo",
    "ro",
    "root",
    "rw",
    "s3",
    "sandbox",
    "secondary",
    "sentry",
    "server",
    "slack",
    "smtp",
    "ssh",
    "stage",
    "staging",
    "stg",
    "stripe",
    "telegram",
    "test",
    "testing",
    "twilio",
    "uat",
    "user",
    "v1",
    "v2",
    "vault",
    "write",
];

/// Words behind the word for a secret that say something about it: the value is no secret.
const ABOUT: &[&str] = &[
    "age",
    "algorithm",
    "alg",
    "algo",
    "allowed",
    "arn",
    "at",
    "attempts",
    "audience",
    "authentication",
    "bits",
    "bucket",
    "budget",
    "bytes",
    "cache",
    "change",
    "changed",
    "char",
    "chars",
    "check",
    "class",
    "command",
    "cmd",
    "cost",
    "count",
    "counts",
    "created",
    "days",
    "def",
    "dir",
    "directory",
    "disabled",
    "done",
    "duration",
    "enabled",
    "endpoint",
    "engine",
    "error",
    "errors",
    "event",
    "events",
    "exists",
    "expire",
    "expired",
    "expires",
    "expiration",
    "expiry",
    "field",
    "file",
    "files",
    "filename",
    "fingerprint",
    "for",
    "format",
    "found",
    "func",
    "generation",
    "generator",
    "grace",
    "handler",
    "header",
    "help",
    "hint",
    "host",
    "hours",
    "id",
    "ids",
    "index",
    "info",
    "input",
    "interval",
    "is",
    "issuer",
    "iterations",
    "job",
    "kind",
    "label",
    "last",
    "len",
    "length",
    "level",
    "lifetime",
    "limit",
    "limits",
    "link",
    "list",
    "location",
    "lock",
    "manager",
    "map",
    "max",
    "max_age",
    "maxage",
    "metadata",
    "method",
    "min",
    "minutes",
    "mode",
    "mount",
    "name",
    "names",
    "namespace",
    "needed",
    "not",
    "num",
    "number",
    "of",
    "only",
    "optional",
    "output",
    "page",
    "param",
    "path",
    "per",
    "period",
    "policy",
    "pool",
    "prefix",
    "price",
    "prompt",
    "protected",
    "provider",
    "rate",
    "reader",
    "reason",
    "ref",
    "reference",
    "refs",
    "refresh",
    "regex",
    "renewal",
    "request",
    "requests",
    "required",
    "reset",
    "resource",
    "response",
    "retries",
    "review",
    "reviews",
    "role",
    "rotation",
    "rotated",
    "rounds",
    "scheme",
    "scope",
    "scopes",
    "seconds",
    "secs",
    "service",
    "set",
    "size",
    "sizes",
    "source",
    "spec",
    "start",
    "state",
    "status",
    "stdin",
    "store",
    "strategy",
    "strength",
    "subject",
    "suffix",
    "supported",
    "template",
    "time",
    "timeout",
    "timestamp",
    "tool",
    "total",
    "ttl",
    "type",
    "types",
    "unit",
    "update",
    "updated",
    "uri",
    "url",
    "usage",
    "use",
    "used",
    "uuid",
    "valid",
    "validate",
    "validation",
    "validator",
    "var",
    "variable",
    "version",
    "volume",
    "warning",
    "window",
    "year",
    "years",
];

/// What the value of a key of this name is, if the name says that it is a secret.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    if name.len() > MAX_NAME
        || matches!(
            name,
            "PWD" | "OLDPWD" | "oldpwd" | "LoadCredential" | "ImportCredential"
        )
    {
        return None;
    }
    looked_at(name.len());
    let mut plain = [0_u8; MAX_NAME];
    let mut length = 0;
    for byte in name
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
    {
        plain[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let whole = std::str::from_utf8(&plain[..length]).unwrap_or_default();
    let plain = whole.trim_end_matches(|character: char| character.is_ascii_digit());
    // `b64` and `base64` end with digits of their own.
    let form = |form: &&'static str| {
        let before = whole.strip_suffix(form).or_else(|| plain.strip_suffix(form))?;
        ending(before).or_else(|| pass(name_before(name, form), before))
    };
    let forms = |ends: u128| FORMS_END & ends != 0;
    ending(plain)
        .or_else(|| {
            let may = forms(last_bit(whole)) || forms(last_bit(plain));
            may.then(|| FORMS.iter().find_map(form)).flatten()
        })
        .or_else(|| pass(name, plain))
        .or_else(|| short(name, plain))
        .or_else(|| inside(name))
        .or_else(|| together(plain))
}

/// The name without a form at its end, and without the sign before that.
fn name_before<'t>(name: &'t str, form: &str) -> &'t str {
    let end = name.len().saturating_sub(form.len());
    name.get(..end).unwrap_or(name).trim_end_matches(['_', '-', '.'])
}

/// `PASSPHRASEPROD`, `signingkeyold`: a name that is written together with whose it is.
fn together(plain: &str) -> Option<Kind> {
    static BY_END: LazyLock<HashMap<u8, Vec<&str>>> = LazyLock::new(|| {
        let mut by_end: HashMap<u8, Vec<&str>> = HashMap::new();
        for which in WHICH.iter().filter(|which| which.len() > 2) {
            by_end
                .entry(which.as_bytes()[which.len() - 1])
                .or_default()
                .push(which);
        }
        by_end
    });
    BY_END
        .get(plain.as_bytes().last()?)?
        .iter()
        .find_map(|which| ending(plain.strip_suffix(which)?))
}

/// The last letters of the forms, as bits.
const FORMS_END: u128 = {
    let mut bits = 0;
    let mut index = 0;
    while index < FORMS.len() {
        bits |= last_bit(FORMS[index]);
        index += 1;
    }
    bits
};

/// The bit of the last letter of a word; none if that is not a letter of ASCII.
const fn last_bit(word: &str) -> u128 {
    match word.as_bytes() {
        [.., last] if *last < 128 => 1 << *last,
        _ => 0,
    }
}

/// `pass`, `DB_PASS`, `dbPass`, `DBPASS`.
fn pass(name: &str, plain: &str) -> Option<Kind> {
    let owner = plain.strip_suffix("pass")?;
    let parted = {
        let trimmed = name.trim_end_matches(|character: char| character.is_ascii_digit());
        let before = trimmed.len().checked_sub(5).map(|at| trimmed.as_bytes()[at]);
        matches!(before, Some(b'_' | b'-' | b'.')) || trimmed.ends_with("Pass")
    };
    let known = || {
        OWNERS_OF_PASS.binary_search(&owner).is_ok()
            || OWNERS_OF_PASS
                .iter()
                .any(|known| known.len() > 3 && owner.ends_with(known))
    };
    (owner.is_empty() || parted || known()).then_some(Kind::Password)
}

/// `pw`, `POSTGRES_PW`, `dbPw`; `REDIS_AUTH`, `NPM_AUTH`.
fn short(name: &str, plain: &str) -> Option<Kind> {
    let trimmed = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let parted = |length: usize| {
        let before = trimmed
            .len()
            .checked_sub(length + 1)
            .and_then(|at| trimmed.as_bytes().get(at));
        matches!(before, Some(b'_' | b'-' | b'.'))
    };
    let owned = |owner: &str| OWNERS_OF_PASS.binary_search(&owner).is_ok();
    if plain == "pw"
        || (plain.ends_with("pw") && (parted(2) || trimmed.ends_with("Pw")))
        || plain.strip_suffix("pw").is_some_and(owned)
    {
        return Some(Kind::Password);
    }
    let shouted = trimmed.bytes().all(|byte| !byte.is_ascii_lowercase());
    (shouted && is_weak(name) && parted(4)).then_some(Kind::Secret)
}

/// Whether a name says little: its value must look like a secret, too.
pub(crate) fn is_weak(name: &str) -> bool {
    let name = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let ends = |end: &str| {
        name.len() >= end.len()
            && name.as_bytes()[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
    };
    ends("auth")
        || ends("community") && !ends("rocommunity") && !ends("rwcommunity")
        || ends("pw") && name.len() == 2
}

/// What the value of a key of this name is, if it is as random as a generated key: the name alone says too little.
pub(crate) fn kind_if_strong(name: &str) -> Option<Kind> {
    /// What stands before `key` in names of things that are no secret, however random they are.
    const OPEN: &[&str] = &[
        "cache",
        "commit",
        "dedup",
        "dedupe",
        "event",
        "fingerprint",
        "foreign",
        "group",
        "host",
        "hot",
        "id",
        "idempotency",
        "image",
        "index",
        "item",
        "layer",
        "lookup",
        "map",
        "object",
        "partition",
        "primary",
        "pub",
        "public",
        "registry",
        "resource",
        "row",
        "shard",
        "sort",
        "storage",
        "unique",
        "verify",
        "verifying",
    ];
    if name.len() > MAX_NAME {
        return None;
    }
    let mut last: [Option<&str>; 2] = [None, None];
    let trimmed = name.trim_end_matches(|character: char| character.is_ascii_digit());
    for word in words(trimmed) {
        last = [last[1], Some(word)];
    }
    let word = last[1]?.to_ascii_lowercase();
    let before = last[0].map(str::to_ascii_lowercase);
    let is_open = |owner: &str| OPEN.contains(&owner);
    match word.as_str() {
        "key" => before
            .is_some_and(|owner| !is_open(&owner))
            .then_some(Kind::ApiKey),
        "base" => (before.as_deref() == Some("key")).then_some(Kind::Secret),
        "pat" | "encrypt" | "salt" | "samlresponse" | "auth" => Some(Kind::Secret),
        together if together.ends_with("salt") => Some(Kind::Secret),
        together => together
            .strip_suffix("key")
            .is_some_and(|owner| owner.len() > 2 && !OPEN.iter().any(|open| owner.ends_with(open)))
            .then_some(Kind::ApiKey),
    }
}

/// Whether a word in small letters behind the word for a secret says something about it.
pub(crate) fn is_about(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| ABOUT.iter().copied().collect());
    WORDS.contains(word)
}

/// The endings as a tree, read from their last letter on.
struct Tree {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// The node behind each letter.
    next: Vec<(u8, usize)>,
    /// The place in the list of the ending that is complete here.
    ending: Option<usize>,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let mut nodes = vec![Node::default()];
    for (place, (end, _)) in ENDINGS.iter().enumerate() {
        let mut at = 0;
        for byte in end.bytes().rev() {
            let known = nodes[at].next.iter().find(|(known, _)| *known == byte);
            at = if let Some((_, next)) = known {
                *next
            } else {
                nodes.push(Node::default());
                let next = nodes.len() - 1;
                nodes[at].next.push((byte, next));
                next
            };
        }
        nodes[at].ending.get_or_insert(place);
    }
    Tree { nodes }
});

fn ending(plain: &str) -> Option<Kind> {
    let nodes = &TREE.nodes;
    let mut at = 0;
    let mut first: Option<usize> = None;
    for byte in plain.bytes().rev() {
        let Some((_, next)) = nodes[at].next.iter().find(|(known, _)| *known == byte) else {
            break;
        };
        at = *next;
        if let Some(place) = nodes[at].ending {
            first = Some(first.map_or(place, |first| first.min(place)));
        }
    }
    first.map(|place| ENDINGS[place].1)
}

/// The words of a name: parted by signs, and where a capital letter follows a small one.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|character: char| !character.is_ascii_alphanumeric())
        .flat_map(|part| {
            let mut rest = part;
            std::iter::from_fn(move || {
                if rest.is_empty() {
                    return None;
                }
                let bytes = rest.as_bytes();
                let cut = (1..bytes.len())
                    .find(|at| bytes[*at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase())
                    .unwrap_or(bytes.len());
                let (word, left) = rest.split_at(cut);
                rest = left;
                Some(word)
            })
        })
}

/// A name with the word for a secret inside it: `DB_PASSWORD_PROD`, `TOKEN_GITHUB`, `secret_key_v2`.
fn inside(name: &str) -> Option<Kind> {
    // A name of one word has nothing behind the word for a secret.
    words(name).nth(1)?;
    let words: Vec<&str> = words(name).take(16).collect();
    let lower = |word: &str| word.to_ascii_lowercase();
    let shouted = name.bytes().all(|byte| !byte.is_ascii_lowercase());
    let mut found = None;
    let mut qualifier = String::new();
    for (index, word) in words.iter().enumerate() {
        let word = lower(word);
        let kind = match word.as_str() {
            "pass" | "pw" => Some(Kind::Password),
            "key" => ending(&format!("{qualifier}key")),
            other => complete(other),
        };
        if kind.is_some() {
            found = kind.map(|kind| (index, kind));
        }
        qualifier = word;
    }
    let (index, kind) = found?;
    let after = &words[index + 1..];
    if after.is_empty() || after.len() > 3 {
        return None;
    }
    let which = |word: &&str| {
        let word = lower(word);
        let number = word.bytes().all(|byte| byte.is_ascii_digit());
        number || WHICH.binary_search(&word.as_str()).is_ok()
    };
    let about = |word: &&str| ABOUT.contains(&lower(word).as_str());
    // Names of environment variables are whose password it is; other names more often say something about one.
    let fits = if shouted {
        !after.iter().any(about)
    } else {
        after.iter().all(which)
    };
    fits.then_some(kind)
}

/// What a word is that is an ending itself, or ends with one of those that need nothing before them. The first in the list is it.
fn complete(word: &str) -> Option<Kind> {
    static PLACES: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
        let mut places = HashMap::new();
        for (place, (end, _)) in ENDINGS.iter().enumerate() {
            places.entry(*end).or_insert(place);
        }
        places
    });
    let places = &*PLACES;
    let ends = ["password", "passwd", "token", "secret", "apikey"];
    let ends = ends.iter().filter(|end| word.ends_with(**end));
    let place = ends.chain([&word]).filter_map(|end| places.get(end)).min()?;
    Some(ENDINGS[*place].1)
}

/// Whether an object or list of this name holds secrets: `secrets`, `apiTokens`, `passwords`.
pub(crate) fn holds_secrets(name: &str) -> Option<Kind> {
    if name.len() > MAX_NAME {
        return None;
    }
    let last = words(name).last()?.to_ascii_lowercase();
    match last.as_str() {
        "secrets" => Some(Kind::Secret),
        "tokens" => Some(Kind::Token),
        "passwords" | "passwds" | "passphrases" => Some(Kind::Password),
        "apikeys" | "credentials" | "creds" => Some(Kind::ApiKey),
        "keys" => {
            let plain: String = words(name).map(str::to_ascii_lowercase).collect();
            matches!(
                plain.as_str(),
                "apikeys"
                    | "accesskeys"
                    | "secretkeys"
                    | "privatekeys"
                    | "authkeys"
                    | "signingkeys"
                    | "encryptionkeys"
                    | "unsealkeys"
            )
            .then_some(Kind::ApiKey)
        }
        // `dbPasswords`, `signing_keys`: what one of them is called says it.
        _ => kind_of(name.strip_suffix('s')?),
    }
    .or_else(|| kind_of(name.strip_suffix('s')?))
}

/// Keys inside an object that is called a secret which only say where the secret is, as in the volumes of a pod.
pub(crate) fn is_reference(name: &str) -> bool {
    matches!(
        name,
        "name"
            | "secretName"
            | "namespace"
            | "key"
            | "path"
            | "mode"
            | "defaultMode"
            | "optional"
            | "items"
            | "type"
            | "kind"
            | "apiVersion"
            | "audience"
            | "expirationSeconds"
            | "id"
            | "description"
            | "created_at"
            | "updated_at"
            | "file"
            | "external"
            | "environment"
            | "source"
            | "target"
            | "uid"
            | "gid"
            | "driver"
            | "labels"
            | "metadata"
            | "username"
            | "user"
            | "email"
            | "host"
            | "url"
            | "expires_at"
            | "expires"
            | "scope"
            | "scopes"
            | "status"
            | "enabled"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_words_are_sorted() {
        assert!(OWNERS_OF_PASS.is_sorted() && WHICH.is_sorted());
    }

    #[test]
    fn names_of_secrets_are_told_from_names_about_secrets() {
        for name in [
            "password",
            "db_password",
            "dbPassword",
            "PGPASSWORD",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "client_secret",
            "clientSecret",
            "authToken",
            "access_token",
            "connection_string",
            "private_key",
            "DB_PASS",
            "mysql_pwd",
            "password2",
            "password_hash",
            "AWS_SECRET_ACCESS_KEY",
            "Authorization",
            "Set-Cookie",
            "DB_PASSWORD_PROD",
            "TOKEN_GITHUB",
            "DBPASS",
            "dbpass",
            "MYSQLPASS",
            "requirepass",
            "PASSWORD_ROOT",
            "password_prod",
            "SECRET_KEY_V2",
            "API_KEY_STRIPE",
            "POSTGRES_PASSWORD_REPLICA",
            "smtpPass",
            "passwordProd",
            "DB_PASS_OLD",
            "spring.datasource.password",
            "GITHUB_TOKEN_2",
            "PASSWD_ADMIN",
            "WIFI_PSK",
            "TOKEN_KAFKA_BROKER",
            "POSTGRES_PW",
            "pw",
            "dbPw",
            "REDIS_AUTH",
            "RABBITMQ_ERLANG_COOKIE",
            "Secret ID",
            "unseal key 3",
            "gatewaySecretKeyB64",
            "wifi-password-b64",
            "PASSPHRASEPROD",
            "MY_PW_OLD",
            "pass-prod",
            "APIPW",
            "wachtwoord",
            "Пароль",
        ] {
            assert!(kind_of(name).is_some(), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "max_tokens",
            "total_tokens",
            "token_count",
            "secretName",
            "secretKeyRef",
            "passwordSecretRef",
            "tokenExpiresAt",
            "public_key",
            "compass",
            "bypass",
            "key",
            "secrets",
            "tokens",
            "password_file",
            "PASSWORD_FILE",
            "TOKEN_URL",
            "token_type",
            "PASS_MAX_DAYS",
            "PASS_MIN_LEN",
            "passwordAuthentication",
            "token_bucket",
            "password_policy",
            "TOKEN_TTL_SECONDS",
            "primary_key",
            "foreign_key",
            "keyboard",
            "monkey",
            "trespass",
            "test_pass_rate",
            "tokenizer",
            "secretariat",
            "passenger",
            "passthrough",
            "PASSED",
            "sort_key",
            "key_name",
            "auth",
            "basic_auth",
            "preview",
            "upward",
        ] {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }
}
