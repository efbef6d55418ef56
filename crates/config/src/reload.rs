//! What a running server takes from another configuration, and what needs a restart.
//!
//! Every key is on exactly one of the lists below, which a test compares with the schema: a new key fails it until somebody has
//! decided.

use serde_json::Value;

use crate::Config;
use crate::load::Loaded;
use crate::problem::{Error, Problem};

/// Keys that cannot change while the server runs, and why.
pub const NEED_RESTART: &[(&str, &str)] = &[
    (
        "server.listen",
        "the server listens on its address until it stops",
    ),
    (
        "server.limits.connections",
        "connections are counted from the start of the server",
    ),
    (
        "store",
        "everything is kept in the store that was opened at the start",
    ),
    (
        "record.key",
        "the record is signed with the key that was read at the start",
    ),
    (
        "record.previous_keys",
        "the record is checked with the keys that were read at the start",
    ),
];

/// Keys that a reload takes, with everything below them.
pub const RELOADABLE: &[&str] = &[
    "server.public_url",
    "server.tls",
    "server.trusted_proxies",
    "server.metrics",
    "server.sessions",
    "server.limits.body_bytes",
    "server.limits.alert_bytes",
    "server.limits.header_timeout",
    "server.limits.request_timeout",
    "server.limits.requests_per_minute",
    "server.limits.anonymous_per_minute",
    "server.limits.streams",
    "server.limits.sign_in_attempts",
    "server.oidc",
    "models",
    "defaults",
    "agents",
    "chains",
    "infrastructure",
    "control",
    "queue",
    "alerts",
    "retention",
    "record.ship",
    "gate",
    "mask",
    "prompts",
    "tools",
];

/// Whether a key is another one or below it.
fn is_below(key: &str, other: &str) -> bool {
    key.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl Config {
    /// The keys whose values differ in another configuration, in the order of their names. Never a value.
    pub fn changed_keys(&self, other: &Self) -> Vec<String> {
        let mut keys = Vec::new();
        let value = |config: &Self| serde_json::to_value(config).unwrap_or_default();
        compare(&value(self), &value(other), "", &mut keys);
        keys
    }
}

impl Loaded {
    /// The keys that differ from the configuration in use, if all of them can change while the server runs.
    pub fn changes(&self, in_use: &Config) -> Result<Vec<String>, Error> {
        let changed = in_use.changed_keys(&self.config);
        let fixed: Vec<Problem> = NEED_RESTART
            .iter()
            .filter(|(key, _)| {
                changed
                    .iter()
                    .any(|changed| is_below(changed, key) || is_below(key, changed))
            })
            .map(|(key, why)| {
                Problem::new(
                    *key,
                    self.place_of(key),
                    format!("cannot change while the server runs: {why}"),
                )
                .help("restart to change it")
            })
            .collect();
        if fixed.is_empty() {
            return Ok(changed);
        }
        Err(Error::Wrong {
            file: self.file.clone().unwrap_or_default(),
            problems: fixed,
        })
    }
}

fn compare(one: &Value, two: &Value, path: &str, keys: &mut Vec<String>) {
    if one == two {
        return;
    }
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let mut names: Vec<&String> = one.keys().chain(two.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let below = crate::interpolate::join(path, name);
                match (one.get(name), two.get(name)) {
                    (Some(one), Some(two)) => compare(one, two, &below, keys),
                    (None, None) => {}
                    (Some(_), None) | (None, Some(_)) => keys.push(below),
                }
            }
        }
        (Value::Array(one), Value::Array(two)) => entries(one, two, path, keys),
        _ => keys.push(path.to_owned()),
    }
}

/// Connections are known by their names: the others did not change because one was put before them.
fn entries(one: &[Value], two: &[Value], path: &str, keys: &mut Vec<String>) {
    let names = |list: &[Value]| -> Option<Vec<String>> {
        list.iter()
            .map(|entry| Some(entry.get("name")?.as_str()?.to_owned()))
            .collect()
    };
    let (Some(first), Some(second)) = (names(one), names(two)) else {
        keys.push(path.to_owned());
        return;
    };
    let before = keys.len();
    let mut all: Vec<&String> = first.iter().chain(&second).collect();
    all.sort_unstable();
    all.dedup();
    for name in all {
        let below = format!("{path}[{name}]");
        let of = |list: &'_ [Value], names: &[String]| -> Option<Value> {
            let at = names.iter().position(|known| known == name)?;
            list.get(at).cloned()
        };
        match (of(one, &first), of(two, &second)) {
            (Some(one), Some(two)) => compare(&one, &two, &below, keys),
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => keys.push(below),
        }
    }
    // Only their order changed.
    if keys.len() == before {
        keys.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::NOT_SUPPORTED;
    use crate::{Loader, schema};

    /// Every key of the schema: down to the lists' depth where a key is divided, and no further.
    fn keys(schema: &Value, node: &Value, path: &str, found: &mut BTreeSet<String>) {
        let node = match node.get("$ref").and_then(Value::as_str) {
            Some(name) => schema.pointer(name.trim_start_matches('#')).unwrap(),
            None => node,
        };
        let parts = node.get("properties").and_then(Value::as_object);
        let all = NEED_RESTART
            .iter()
            .map(|(key, _)| *key)
            .chain(RELOADABLE.iter().copied());
        let divided = path.is_empty() || all.into_iter().any(|key| key != path && is_below(key, path));
        match parts {
            Some(parts) if divided => {
                for (name, part) in parts {
                    keys(schema, part, &crate::interpolate::join(path, name), found);
                }
            }
            _ => {
                found.insert(path.to_owned());
            }
        }
    }

    #[test]
    fn every_key_can_be_reloaded_or_needs_a_restart() {
        let schema = schema();
        let mut found = BTreeSet::new();
        keys(&schema, &schema, "", &mut found);
        let mut known: Vec<String> = NEED_RESTART.iter().map(|(key, _)| (*key).to_owned()).collect();
        known.extend(
            RELOADABLE
                .iter()
                .chain(NOT_SUPPORTED)
                .map(|key| (*key).to_owned()),
        );
        let listed: BTreeSet<String> = known.iter().cloned().collect();
        assert_eq!(known.len(), listed.len(), "a key is on two lists");
        let missing: Vec<_> = found.difference(&listed).collect();
        let gone: Vec<_> = listed.difference(&found).collect();
        assert!(
            missing.is_empty() && gone.is_empty(),
            "decide in crates/config/src/reload.rs whether a reload takes these keys: {missing:?}; not in the schema: {gone:?}"
        );
    }

    #[test]
    fn the_documentation_lists_what_needs_a_restart() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, section) = page.split_once("## Reload\n").unwrap();
        let rows: Vec<&str> = section
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .collect();
        let listed: Vec<String> = NEED_RESTART
            .iter()
            .map(|(key, why)| format!("| `{key}` | {why} |"))
            .collect();
        assert_eq!(rows, listed);
    }

    fn loaded(text: &str) -> Loaded {
        let environment = [("ONE", "first-secret"), ("TWO", "second-secret")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Loader::new(None, "/srv", environment)
            .parse(std::path::Path::new("/srv/interlock.yaml"), text.as_bytes())
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn what_changed_is_named_and_no_value_is() {
        let prometheus = |name: &str, port: u16| format!("{{ name: {name}, url: 'http://10.0.0.1:{port}' }}");
        let two = |one: &str, two: &str| format!("infrastructure: {{ prometheus: [{one}, {two}] }}\n");
        let (a, b) = (prometheus("a", 1), prometheus("b", 2));
        for (one, other, expected) in [
            ("control: {}\n".to_owned(), "gate: {}\n".to_owned(), &[][..]),
            (
                "control: { level: read_only }\n".to_owned(),
                "control: { level: controlled, four_eyes: true }\n".to_owned(),
                &["control.four_eyes", "control.level"][..],
            ),
            (
                "gate: { egress: ['${ONE}'] }\n".to_owned(),
                "gate: { egress: ['${TWO}'] }\n".to_owned(),
                &["gate.egress"],
            ),
            (two(&a, &b), two(&b, &a), &["infrastructure.prometheus"]),
            (
                two(&a, &b),
                two(&a, &prometheus("b", 3)),
                &["infrastructure.prometheus[b].url"],
            ),
            (
                two(&a, &b),
                format!("infrastructure: {{ prometheus: [{b}] }}\n"),
                &["infrastructure.prometheus[a]"],
            ),
        ] {
            let changed = loaded(&other).changes(&loaded(&one).config).unwrap();
            assert_eq!(changed, expected, "{one} {other}");
        }
    }

    #[test]
    fn what_needs_a_restart_is_named_with_its_place_and_nothing_is_taken() {
        let old = loaded("control: { level: read_only }\n");
        for (text, expected) in [
            (
                "control: { level: controlled }\nserver:\n  listen: 127.0.0.1:9\n",
                "/srv/interlock.yaml:3:3: `server.listen`: cannot change while the server runs: the server listens on its \
                 address until it stops; restart to change it",
            ),
            (
                "store: sqlite:other.db\n",
                "/srv/interlock.yaml:1:1: `store`: cannot change while the server runs: everything is kept in the store that \
                 was opened at the start; restart to change it",
            ),
            (
                "record: { key: { env: ONE } }\n",
                "/srv/interlock.yaml:1:11: `record.key`: cannot change while the server runs: the record is signed with the \
                 key that was read at the start; restart to change it",
            ),
        ] {
            let error = loaded(text).changes(&old.config).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
