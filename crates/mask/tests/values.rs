//! JSON values, options, and a log as a person reads it.

use std::collections::BTreeSet;

use interlock_mask::{Custom, Error, Kind, Masker, Options};
use serde_json::json;

#[test]
fn the_name_of_a_key_is_enough() {
    let mut value = json!({
        "password": "x", "api_key": 4711, "token": ["a", "b"], "client_secret": {"value": "c", "inner": [{"deep": "d"}]},
        "authorization": "e", "empty_password": "", "no_token": null, "secret": {"secretName": "web-tls", "defaultMode": 420},
        "connection_string": "Server=x", "private_key": "/a", "max_tokens": 512, "user": "bob", "is_secret": true,
        "env": [{"name": "DB_PASSWORD", "value": "f"}, {"name": "DB_HOST", "value": "db"}],
        "note": "run with password=hunter2", "schema": {"password": {"type": "string", "description": "The password"}},
        "secrets": [{"kind": "Secret", "data": {"a": "Zg==", "b": 1}}, {"kind": "ConfigMap", "data": {"a": "plain"}}],
        "sk-ant-aaaaaaaaaaaaaaaa": 1, "pwd": "/root",
    });
    let count = Masker::built_in().mask_value(&mut value);
    insta::assert_json_snapshot!(value);
    assert_eq!(count, 14);
}

/// What several items of a list make up together is masked together: lines of a log hold a key.
#[test]
fn a_list_of_texts_is_masked_as_lines_too() {
    let body = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7VJTUt9Us8cKj";
    for (given, masked) in [
        (json!(["a", "b"]), json!(["a", "b"])),
        (
            json!([
                "begin",
                "-----BEGIN PRIVATE KEY-----",
                body,
                body,
                "-----END PRIVATE KEY-----",
                "end"
            ]),
            json!(["begin", "[masked:private_key]", "end"]),
        ),
        (
            json!(["x\ny", "DB_PASSWORD=hunter22", "z"]),
            json!(["x\ny", "DB_PASSWORD=[masked:password]", "z"]),
        ),
        (
            json!([
                "apiVersion: v1",
                "kind: Secret",
                "data:",
                "  a: aHVudGVyMg==",
                "  b: aHVudGVyMw=="
            ]),
            json!([
                "apiVersion: v1",
                "kind: Secret",
                "data:",
                "  a: [masked:kubernetes_secret]",
                "  b: [masked:kubernetes_secret]"
            ]),
        ),
        // A list that is no list of texts stays as it is.
        (
            json!([1, "kind: Secret", "data:", "  a: x"]),
            json!([1, "kind: Secret", "data:", "  a: x"]),
        ),
    ] {
        let mut value = given.clone();
        Masker::built_in().mask_value(&mut value);
        assert_eq!(value, masked, "{given}");
    }
}

#[test]
fn a_custom_pattern_is_applied_or_is_an_error() {
    let custom = |name: &str, pattern: &str, replacement: Option<&str>| Options {
        custom: vec![Custom {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
            replacement: replacement.map(str::to_owned),
        }],
        ..Options::default()
    };
    let masker = Masker::new(&custom("ticket", r"TICKET-(\d+)", None)).unwrap();
    assert_eq!(
        masker.mask_text("see TICKET-4711, DB_PASSWORD=x"),
        "see TICKET-[masked:ticket], DB_PASSWORD=[masked:password]"
    );
    let masker = Masker::new(&custom("ticket", r"TICKET-\d+", Some("(a ticket)"))).unwrap();
    assert_eq!(masker.mask_text("see TICKET-4711."), "see (a ticket).");
    let error = |options: &Options| Masker::new(options).unwrap_err();
    assert!(matches!(error(&custom("x", "(", None)), Error::Pattern { .. }));
    assert!(matches!(
        error(&custom("x", "a{1000}{1000}{1000}", None)),
        Error::Pattern { .. }
    ));
    assert!(matches!(
        error(&custom("x", "a*", None)),
        Error::MatchesNothing { .. }
    ));
    assert!(matches!(error(&custom("x]", "a", None)), Error::Name { .. }));
    assert!(matches!(
        error(&custom("x", "a+", Some("banana"))),
        Error::Replacement { .. }
    ));
}

#[test]
fn a_kind_can_be_left_alone() {
    let masker = Masker::new(&Options {
        off: BTreeSet::from([Kind::UrlPassword]),
        ..Options::default()
    })
    .unwrap();
    assert_eq!(
        masker.mask_text("postgres://bob:x@db DB_PASSWORD=y"),
        "postgres://bob:x@db DB_PASSWORD=[masked:password]"
    );
}

#[test]
fn options_are_strict() {
    let options: Result<Options, _> = serde_json::from_value(json!({"of": []}));
    assert!(options.is_err());
    let options: Result<Options, _> = serde_json::from_value(json!({"off": ["no_such_kind"]}));
    assert!(options.is_err());
    let options: Options =
        serde_json::from_value(json!({"off": ["jwt"], "custom": [{"name": "a", "pattern": "b"}]})).unwrap();
    assert_eq!(options.off, BTreeSet::from([Kind::Jwt]));
}

#[test]
fn kinds_are_stable_words() {
    let words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    insta::assert_snapshot!(words.join("\n"));
    assert!(
        Kind::ALL
            .iter()
            .all(|kind| kind.marker() == format!("[masked:{kind}]"))
    );
}

#[test]
fn a_realistic_log() {
    insta::assert_snapshot!(Masker::built_in().mask_text(include_str!("incident.txt")));
}
