//! Secrets among the arguments of programs: one table of programs, and one walk over the words of a command line.

use std::ops::Range;

use regex::Regex;

use crate::around::Around;
use crate::finder::{Find, Finder, Scope};
use crate::placeholder::{is_path, is_placeholder};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};
use crate::{Kind, keys};

/// Where a program takes a secret.
enum Rule {
    /// In the word behind this flag, or attached to it.
    Flag(&'static str),
    /// In the word behind this flag alone: attached to it, something else would be meant.
    Next(&'static str),
    /// Attached to this flag alone.
    Attached(&'static str),
    /// Behind this flag, after a sign: `-u user:secret`.
    Pair(&'static str, char),
    /// Behind this flag, where this word came before it: `docker login -p`.
    Under(&'static str, &'static str),
    /// In the last word, if a group of short flags has this letter: `htpasswd -nb user secret`.
    LastWith(char),
    /// In a word so many words behind these.
    Behind(&'static [&'static str], usize),
    /// In a word so many words behind this one, if this flag stands before it or behind it: `config set --secret name value`.
    Shown(&'static str, &'static str, usize),
    /// In the word behind the name of a secret.
    Named,
    /// After the second `=` of this flag: `--from-literal=key=secret`.
    Literal(&'static str),
    /// After `=` in the words behind these.
    Settings(&'static [&'static str]),
    /// The values of the cookies behind this flag: `-b 'name=secret; name=secret'`.
    Cookies(&'static str),
    /// Behind this flag, where the command line says that it is one of a secret: `secret set --value`.
    Told(&'static str),
    /// Between `/` and `@` of the first word: `user/secret@database`.
    Login,
}

use Rule::{
    Attached, Behind, Cookies, Flag, LastWith, Literal, Login, Named, Next, Pair, Settings, Shown, Told,
    Under,
};

struct Program {
    /// Its name, or the beginning of it where that ends with `*`.
    names: &'static [&'static str],
    rules: &'static [Rule],
}

const fn program(names: &'static [&'static str], rules: &'static [Rule]) -> Program {
    Program { names, rules }
}

#[rustfmt::skip]
static PROGRAMS: &[Program] = &[
    program(&["mysql*", "mariadb*"], &[Attached("-p")]),
    program(&["curl", "wget", "etcdctl"], &[Pair("-u", ':'), Pair("--user", ':'), Pair("-U", ':'), Pair("--proxy-user", ':'), Cookies("-b"), Cookies("--cookie")]),
    program(&["http", "https", "xh", "xhs"], &[Pair("-a", ':'), Pair("--auth", ':'), Under("bearer", "-a"), Under("bearer", "--auth")]),
    program(&["doveadm"], &[Behind(&["auth", "test"], 1), Behind(&["auth", "login"], 1), Next("-p")]),
    program(&["radtest", "radclient"], &[Behind(&[], 1), Behind(&[], 4)]),
    program(&["az", "aws", "gcloud", "gh", "glab", "doppler", "bws", "op", "lpass"], &[Told("--value"), Told("--body"), Told("-b")]),
    program(&["plink", "pscp", "psftp"], &[Next("-pw")]),
    program(&["sshpass"], &[Flag("-p")]),
    program(&["redis-cli", "valkey-cli"], &[Flag("-a"), Flag("--pass")]),
    program(&["ldap*"], &[Flag("-w")]),
    program(&["smbclient", "rpcclient", "smbget", "net"], &[Pair("-U", '%')]),
    program(&["snmp*"], &[Flag("-c"), Flag("-A"), Flag("-X")]),
    program(&["docker", "podman", "nerdctl", "helm", "skopeo", "buildah", "oc", "az", "crane", "oras"], &[Under("login", "-p"), Literal("--from-literal")]),
    program(&["mongo*", "cqlsh"], &[Flag("-p")]),
    program(&["unzip", "zip", "sqlcmd", "isql", "ipmitool", "mosquitto_pub", "mosquitto_sub", "bcp"], &[Flag("-P")]),
    program(&["htpasswd"], &[LastWith('b')]),
    program(&["7z", "7za", "7zr", "rar", "unrar"], &[Attached("-p"), Attached("-hp")]),
    program(&["openssl"], &[Next("-k"), Next("-K"), Pair("-pass", ':'), Pair("-passin", ':'), Pair("-passout", ':'), Pair("-password", ':'), Behind(&["passwd"], 0)]),
    program(&["keytool", "jarsigner", "apksigner"], &[Next("-storepass"), Next("-keypass"), Next("-srcstorepass"), Next("-deststorepass"), Next("-srckeypass"), Next("-destkeypass")]),
    program(&["lftp"], &[Pair("-u", ',')]),
    program(&["kubectl"], &[Literal("--from-literal")]),
    program(&["useradd", "usermod", "adduser", "groupadd"], &[Next("-p")]),
    program(&["ssh-keygen"], &[Next("-N"), Next("-P")]),
    program(&["twine", "rdesktop", "hydra", "ncftpput", "ncftpget", "ncftp", "cadaver", "pdbedit"], &[Next("-p")]),
    program(&["vault"], &[Behind(&["login"], 0), Behind(&["unseal"], 0)]),
    program(&["cargo"], &[Behind(&["login"], 0)]),
    program(&["doctl"], &[Next("-t")]),
    program(&["mc"], &[Behind(&["alias", "set"], 3), Behind(&["config", "host", "add"], 3)]),
    program(&["rabbitmqctl"], &[Behind(&["add_user"], 1), Behind(&["change_password"], 1), Behind(&["authenticate_user"], 1)]),
    program(&["wpa_passphrase"], &[Behind(&[], 1)]),
    program(&["aws", "npm", "poetry", "nmcli", "rclone", "gcloud"], &[Named]),
    program(&["fly", "flyctl", "heroku"], &[Settings(&["secrets", "set"]), Settings(&["secrets", "import"]), Settings(&["config:set"])]),
    program(&["sqlplus", "sqlldr", "expdp", "impdp"], &[Login]),
    program(&["iwconfig"], &[Pair("key", ':')]),
    program(&["pulumi"], &[Shown("set", "--secret", 1)]),
    program(&["virsh"], &[Behind(&["secret-set-value"], 1), Next("--base64")]),
    program(&["cryptsetup", "gpg", "gpg2", "kinit", "gh"], &[]),
];

pub(crate) const FINDERS: &[Finder] = &[Finder {
    kind: Kind::Password,
    anchors: &[
        "mysql",
        "mariadb",
        "curl",
        "wget",
        "etcdctl",
        "plink",
        "pscp",
        "psftp",
        "sshpass",
        "redis-cli",
        "valkey-cli",
        "ldap",
        "smbclient",
        "rpcclient",
        "smbget",
        "net ",
        "snmp",
        "docker",
        "podman",
        "nerdctl",
        "helm ",
        "skopeo",
        "buildah",
        "oc ",
        "az ",
        "crane ",
        "oras ",
        "mongo",
        "cqlsh",
        "zip ",
        "sqlcmd",
        "isql",
        "ipmitool",
        "mosquitto_",
        "bcp ",
        "htpasswd",
        "7z",
        "rar ",
        "openssl",
        "keytool",
        "signer",
        "lftp",
        "kubectl",
        "useradd",
        "usermod",
        "adduser",
        "groupadd",
        "ssh-keygen",
        "twine",
        "rdesktop",
        "hydra",
        "ncftp",
        "cadaver",
        "pdbedit",
        "vault",
        "cargo ",
        "doctl",
        "mc ",
        "rabbitmqctl",
        "wpa_passphrase",
        "aws ",
        "npm ",
        "poetry ",
        "nmcli",
        "rclone",
        "gcloud",
        "fly ",
        "flyctl",
        "heroku",
        "sqlplus",
        "sqlldr",
        "expdp",
        "impdp",
        "iwconfig",
        "cryptsetup",
        "gpg",
        "kinit",
        "gh ",
        "pulumi",
        "virsh",
        "http ",
        "https ",
        "xh ",
        "xhs ",
        "doveadm",
        "radtest",
        "radclient",
        "glab ",
        "doppler ",
        "bws ",
        "op ",
        "lpass ",
        "<<<",
    ],
    around: Around::Anything,
    trigger: r"(?-u:\b)(?:(?:mysql|mariadb|ldap|snmp|mongo|ncftp)[a-z_0-9-]*|curl|wget|etcdctl|plink|pscp|psftp|sshpass|redis-cli|valkey-cli|smbclient|rpcclient|smbget|net|docker|podman|nerdctl|helm|skopeo|buildah|oc|az|crane|oras|cqlsh|(?:un)?zip|sqlcmd|isql|ipmitool|mosquitto_[ps]ub|bcp|htpasswd|7z[ar]?|(?:un)?rar|openssl|keytool|(?:jar|apk)signer|lftp|kubectl|useradd|usermod|adduser|groupadd|ssh-keygen|twine|rdesktop|hydra|cadaver|pdbedit|vault|cargo|doctl|mc|rabbitmqctl|wpa_passphrase|aws|npm|poetry|nmcli|rclone|gcloud|flyctl|fly|heroku|sqlplus|sqlldr|expdp|impdp|iwconfig|cryptsetup|gpg2?|kinit|gh|pulumi|virsh|https?|xhs?|doveadm|radtest|radclient|glab|doppler|bws|op|lpass)[\x22'`,;)\]]*[ \t]|<<<",
    pattern: "[^\n]+",
    scope: Scope::Lines,
    find: Find::In(find),
}];

/// The names of all programs; those with a beginning only, with something behind it.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = String> {
    let names = PROGRAMS.iter().flat_map(|program| program.names);
    names.map(|name| match name.strip_suffix('*') {
        Some(stem) => format!("{stem}dump"),
        None => (*name).to_owned(),
    })
}

/// How many programs of one command line are followed, as in `sudo sshpass -p X mysql -pY`.
const MAX_ACTIVE: usize = 4;

fn find(_regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    let mut command = Command::default();
    let mut start = 0;
    looked_at(text.len());
    for line in text.split_inclusive('\n') {
        if !within_budget() {
            return;
        }
        for word in Words::of(line) {
            let place = start + word.start..start + word.end;
            command.word(text, place, kind, spans);
        }
        if !line.trim_end().ends_with('\\') {
            command.end(text, kind, spans);
        }
        start += line.len();
    }
    command.end(text, kind, spans);
}

/// The words of a line. Quotes hold a word together.
struct Words<'t> {
    text: &'t str,
    at: usize,
    /// Where the last quote of each kind is: one behind it is not closed, and no quote.
    double: Option<usize>,
    single: Option<usize>,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Self {
        let last = |quote| text.bytes().rposition(|byte| byte == quote);
        Self {
            text,
            at: 0,
            double: last(b'"'),
            single: last(b'\''),
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let start = self.at;
        let mut quote = None;
        while let Some(byte) = bytes.get(self.at) {
            match (quote, byte) {
                (None, b' ' | b'\t' | b'\n' | b'\r') => break,
                (None, b'"') if self.double > Some(self.at) => quote = Some(*byte),
                (None, b'\'') if self.single > Some(self.at) => quote = Some(*byte),
                (Some(open), byte) if open == *byte => quote = None,
                _ => {}
            }
            self.at += 1;
        }
        let end = self.text.floor_char_boundary(self.at);
        self.at = end.max(start);
        (end > start).then_some(start..end)
    }
}

/// A command line as it is read.
#[derive(Default)]
struct Command {
    active: Vec<Active>,
    /// What the word that comes is.
    expects: Option<Expects>,
    last: Option<Range<usize>>,
}

/// Flags that take a word of their own, where words are counted.
const TAKES: &[&str] = &["--stack", "-s", "--config-file", "--cwd", "-C", "--type"];

#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about the words of one command line, each read from them independently"
)]
struct Active {
    program: &'static Program,
    /// The word that is a secret if a flag shows it, whether the flag came, and whether the word that comes is a flag's.
    candidate: Option<Range<usize>>,
    shown: bool,
    taken: bool,
    /// How many words of each `Behind` or `Settings` came, and how many behind them.
    progress: Vec<(usize, usize)>,
    login: bool,
    bearer: bool,
    last_is_secret: bool,
    seen: usize,
}

#[derive(Clone, Copy)]
enum Expects {
    Secret,
    Pair(char),
    Cookies,
}

impl Command {
    fn word(&mut self, text: &str, place: Range<usize>, kind: Kind, spans: &mut Spans) {
        let raw = &text[place.clone()];
        if matches!(raw, "|" | "||" | "&&" | ";" | "&" | "|&") {
            self.end(text, kind, spans);
            return;
        }
        let ends = raw.len() > 1 && raw.ends_with(';');
        let plain = raw
            .strip_prefix('[')
            .filter(|rest| rest.starts_with('"'))
            .unwrap_or(raw);
        let lead = raw.len() - plain.trim_start_matches(['"', '\'', '`', '(', '$']).len();
        let inside = raw[lead..].trim_end_matches([';', ',']);
        let inside = inside.strip_suffix("\"]").unwrap_or(inside);
        let inside = inside.trim_end_matches(['"', '\'', '`', ')']);
        let start = place.start + lead;
        let inner = start..start + inside.len();
        if let Some(expects) = self.expects.take() {
            match expects {
                Expects::Secret => add(text, inner.clone(), kind, spans),
                Expects::Pair(sign) => add_pair(text, inner.clone(), sign, kind, spans),
                Expects::Cookies => add_cookies(text, inner.clone(), spans),
            }
        } else if !inside.is_empty() {
            self.apply(text, inside, &inner, kind, spans);
        }
        self.last = Some(inner);
        if ends {
            self.end(text, kind, spans);
        }
    }

    fn apply(&mut self, text: &str, word: &str, place: &Range<usize>, kind: Kind, spans: &mut Spans) {
        if word == "<<<" && !self.active.is_empty() {
            self.expects = Some(Expects::Secret);
            return;
        }
        for active in &mut self.active {
            active.seen += 1;
            active.login |= word == "login";
            active.bearer |= word == "bearer" || word == "jwt";
            for (index, rule) in active.program.rules.iter().enumerate() {
                match rule {
                    Flag(flag) | Next(flag) if word == *flag => self.expects = Some(Expects::Secret),
                    Under(under, flag)
                        if word == *flag
                            && (*under != "login" || active.login)
                            && (*under != "bearer" || active.bearer) =>
                    {
                        self.expects = Some(Expects::Secret);
                    }
                    Under(under, flag) if *under == "login" && active.login => {
                        attached(text, word, place, flag, kind, spans);
                    }
                    Flag(flag) if !flag.starts_with("--") => attached(text, word, place, flag, kind, spans),
                    Attached(flag) => attached(text, word, place, flag, kind, spans),
                    Pair(flag, sign) if word == *flag => self.expects = Some(Expects::Pair(*sign)),
                    Pair(flag, sign) => {
                        let rest = word.strip_prefix(flag).filter(|rest| !rest.is_empty());
                        if let Some(rest) = rest
                            && (flag.starts_with("--") == rest.starts_with('=') || !flag.starts_with("--"))
                        {
                            add_pair(text, place.end - rest.len()..place.end, *sign, kind, spans);
                        }
                    }
                    LastWith(letter)
                        if word.starts_with('-') && !word.starts_with("--") && word.contains(*letter) =>
                    {
                        active.last_is_secret = true;
                    }
                    Behind(before, skip) => {
                        let (matched, behind) = &mut active.progress[index];
                        if *matched < before.len() {
                            if before.get(*matched) == Some(&word) {
                                *matched += 1;
                            }
                        } else if !word.starts_with('-') {
                            // Base64 may end with `=`.
                            if *behind == *skip && !word.trim_end_matches('=').contains('=') {
                                add(text, place.clone(), kind, spans);
                            }
                            *behind += 1;
                        }
                    }
                    Shown(before, flag, skip) => {
                        let (matched, behind) = &mut active.progress[index];
                        active.shown |= word == *flag;
                        if std::mem::replace(&mut active.taken, TAKES.contains(&word)) {
                            // The word of the flag before it.
                        } else if *matched == 0 {
                            *matched += usize::from(word == *before);
                        } else if !word.starts_with('-') {
                            if *behind == *skip {
                                active.candidate = Some(place.clone());
                            }
                            *behind += 1;
                        }
                        if active.shown
                            && let Some(candidate) = active.candidate.take()
                        {
                            add(text, candidate, kind, spans);
                        }
                    }
                    Cookies(flag) if word == *flag => self.expects = Some(Expects::Cookies),
                    Told(flag) if word == *flag && tells(text, place) => self.expects = Some(Expects::Secret),
                    Named
                        if !word.contains('=')
                            && !word.starts_with('-')
                            && (keys::kind_of(word).is_some() || word.ends_with("_auth")) =>
                    {
                        self.expects = Some(Expects::Secret);
                    }
                    Literal(flag) => {
                        if let Some(rest) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
                            add_pair(text, place.end - rest.len()..place.end, '=', kind, spans);
                        } else if word == *flag {
                            self.expects = Some(Expects::Pair('='));
                        }
                    }
                    Settings(before) => {
                        let (matched, _) = &mut active.progress[index];
                        if *matched < before.len() {
                            if before.get(*matched) == Some(&word) {
                                *matched += 1;
                            }
                        } else {
                            add_pair(text, place.clone(), '=', kind, spans);
                        }
                    }
                    Login if active.seen == 1 && !word.starts_with('-') => {
                        if let Some(slash) = word.find('/') {
                            let end = word.rfind('@').filter(|at| *at > slash).unwrap_or(word.len());
                            add(text, place.start + slash + 1..place.start + end, kind, spans);
                        }
                    }
                    _ => {}
                }
            }
        }
        let name = word.rsplit('/').next().unwrap_or(word);
        let fits = |program: &&Program| {
            program.names.iter().any(|known| match known.strip_suffix('*') {
                Some(stem) => {
                    name.starts_with(stem)
                        && name
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                }
                None => name == *known,
            })
        };
        if name.len() <= 24
            && name
                .bytes()
                .next()
                .is_some_and(|first| first.is_ascii_alphanumeric())
        {
            for program in PROGRAMS.iter().filter(fits) {
                if self.active.len() == MAX_ACTIVE {
                    self.active.remove(0);
                }
                self.active.push(Active {
                    program,
                    candidate: None,
                    shown: false,
                    taken: false,
                    progress: vec![(0, 0); program.rules.len()],
                    login: false,
                    bearer: false,
                    last_is_secret: false,
                    seen: 0,
                });
            }
        }
    }

    fn end(&mut self, text: &str, kind: Kind, spans: &mut Spans) {
        if let Some(last) = self.last.take()
            && self
                .active
                .iter()
                .any(|active| active.last_is_secret && active.seen > 2)
        {
            add(text, last, kind, spans);
        }
        self.active.clear();
        self.expects = None;
    }
}

fn attached(text: &str, word: &str, place: &Range<usize>, flag: &str, kind: Kind, spans: &mut Spans) {
    if let Some(rest) = word.strip_prefix(flag)
        && !rest.is_empty()
    {
        add(text, place.end - rest.len()..place.end, kind, spans);
    }
}

/// Whether the words around a flag say that it sets a secret.
fn tells(text: &str, place: &Range<usize>) -> bool {
    const NEAR: usize = 512;
    let from = text.ceil_char_boundary(place.start.saturating_sub(NEAR));
    let to = text.floor_char_boundary(place.end + NEAR);
    looked_at(to - from);
    let before = text[from..place.start].rsplit('\n').next().unwrap_or_default();
    let behind = text[place.end..to].split('\n').next().unwrap_or_default();
    [before, behind].iter().any(|part| {
        part.split([' ', '\t']).any(|word| {
            matches!(
                word,
                "secret" | "secrets" | "SecureString" | "--secret" | "Secret"
            )
        })
    })
}

/// The values of `name=value; name=value`; the names stay. A word without `=` is the name of a file.
fn add_cookies(text: &str, place: Range<usize>, spans: &mut Spans) {
    let mut start = place.start;
    for pair in text[place].split(';') {
        if let Some(equals) = pair.find('=') {
            let value = pair[equals + 1..].trim_end();
            if !is_placeholder(value) && !value.starts_with('$') {
                let from = start + equals + 1;
                spans.add(from..from + value.len(), Kind::Cookie);
            }
        }
        start += pair.len() + 1;
    }
}

/// Masks what stands behind the first such sign.
fn add_pair(text: &str, place: Range<usize>, sign: char, kind: Kind, spans: &mut Spans) {
    let word = &text[place.clone()];
    if word.starts_with("http://") || word.starts_with("https://") {
        return;
    }
    if let Some(at) = word.find(sign) {
        add(text, place.start + at + sign.len_utf8()..place.end, kind, spans);
    }
}

fn add(text: &str, place: Range<usize>, kind: Kind, spans: &mut Spans) {
    let word = &text[place.clone()];
    let quotes = ['"', '\''];
    let lead = word.len() - word.trim_start_matches(quotes).len();
    let inside = word.trim_matches(quotes);
    let place = place.start + lead..place.start + lead + inside.len();
    if inside.len() < 2
        || is_placeholder(inside)
        || is_path(inside)
        || inside.starts_with(['-', '$', '<', '{', '@', '>', '`'])
        || inside.starts_with("env:")
        || inside.starts_with("file:")
    {
        return;
    }
    spans.add(place, kind);
}
