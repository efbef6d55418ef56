//! Groups and patterns of one source, values that are known, and the budget of a text.

use interlock_mask::{Error, Group, Kind, Masker, Options, StreamMasker, Withheld};
use serde_json::json;

#[expect(clippy::unwrap_used, reason = "a test with wrong options must fail")]
fn options(text: &serde_json::Value) -> Options {
    serde_json::from_value(text.clone()).unwrap()
}

#[test]
fn a_source_has_groups_and_patterns_of_its_own() {
    let options = options(&json!({
        "custom": [{ "name": "ticket", "pattern": "TICKET-[0-9]{4}" }],
        "alerts": { "groups": ["security"], "custom": [{ "name": "room", "pattern": "room ([0-9]+)" }] },
        "tools": {
            "run_*": { "groups": ["basic"] },
            "run_query": { "off": ["password"], "custom": [{ "name": "node", "pattern": "node[0-9]+" }] },
        },
    }));
    let masker = Masker::new(&options).unwrap();
    let text = "password=hunter2abc mail ops@example.org AKIAIOSFODNN7EXAMPLE TICKET-1234 room 12 node7";
    let aws = "[masked:aws_key_id]";
    for (source, masker, expected) in [
        (
            "everywhere",
            &masker,
            format!("password=[masked:password] mail ops@example.org {aws} [masked:ticket] room 12 node7"),
        ),
        (
            "alerts",
            masker.for_alerts(),
            format!("password=[masked:password] mail [masked:email] {aws} [masked:ticket] room [masked:room] node7"),
        ),
        (
            "run_read",
            masker.for_tool("run_read"),
            "password=[masked:password] mail ops@example.org AKIAIOSFODNN7EXAMPLE [masked:ticket] room 12 node7".to_owned(),
        ),
        (
            "run_query",
            masker.for_tool("run_query"),
            format!("password=hunter2abc mail ops@example.org {aws} [masked:ticket] room 12 [masked:node]"),
        ),
        (
            "other",
            masker.for_tool("other"),
            format!("password=[masked:password] mail ops@example.org {aws} [masked:ticket] room 12 node7"),
        ),
    ] {
        assert_eq!(masker.mask_text(text), expected, "{source}");
        assert_eq!(masker.mask_text(&expected), expected, "{source} again");
    }
    let mut value = json!({ "password": "hunter2abc", "apiKey": "abc123def" });
    masker.for_tool("run_query").mask_value(&mut value);
    assert_eq!(
        value,
        json!({ "password": "hunter2abc", "apiKey": "[masked:api_key]" })
    );
}

#[test]
fn a_certificate_is_masked_where_a_group_names_it() {
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
    let masker = Masker::new(&options(&json!({ "alerts": { "groups": ["all"] } }))).unwrap();
    let text = format!("a {certificate} b {certificate}\n-----BEGIN CERTIFICATE-----\nMIIC");
    assert_eq!(masker.mask_text(&text), text);
    assert_eq!(
        masker.for_alerts().mask_text(&text),
        "a [masked:certificate] b [masked:certificate]\n[masked:certificate]"
    );
}

#[test]
fn the_groups_are_as_documented() {
    let has = |group: Group, kinds: &[Kind]| kinds.iter().all(|kind| group.has(*kind));
    let basic = [Kind::ApiKey, Kind::Password];
    let secrets = [Kind::Token, Kind::PrivateKey, Kind::Secret];
    for group in [
        Group::Basic,
        Group::Secrets,
        Group::Security,
        Group::Kubernetes,
        Group::All,
    ] {
        assert!(has(group, &basic), "{group:?}");
    }
    assert!(has(Group::Secrets, &secrets) && has(Group::Security, &secrets));
    assert!(has(
        Group::Security,
        &[Kind::Certificate, Kind::Kubeconfig, Kind::Email]
    ));
    assert!(has(
        Group::Kubernetes,
        &[Kind::KubernetesSecret, Kind::Kubeconfig]
    ));
    assert!(has(
        Group::Cloud,
        &[Kind::AwsKeyId, Kind::AwsSecretKey, Kind::ApiKey, Kind::Token]
    ));
    assert!(has(Group::All, Kind::ALL));
    assert!(!Group::Basic.has(Kind::Token) && !Group::Cloud.has(Kind::Password));
    assert!(!Group::Kubernetes.has(Kind::Email) && !Group::Secrets.has(Kind::Email));
}

#[test]
fn what_cannot_hold_is_refused() {
    let many: Vec<_> = (0..65)
        .map(|n| json!({ "name": format!("n{n}"), "pattern": "x1" }))
        .collect();
    let cases = [
        (
            json!({ "alerts": { "custom": [{ "name": "x", "pattern": "(" }] } }),
            "custom mask `x`",
        ),
        (
            json!({ "tools": { "a": { "custom": [{ "name": "x", "pattern": "a*" }] } } }),
            "matches the empty text",
        ),
        (json!({ "tools": { "a*b": {} } }), "`a*b` names no tool"),
        (json!({ "tools": { "": {} } }), "`` names no tool"),
        (json!({ "custom": many }), "more than 64 custom masks"),
        (json!({ "off": ["configured_secret"] }), "cannot be turned off"),
        (
            json!({ "custom": [{ "name": "x", "pattern": "a".repeat(4097) }] }),
            "more than 4096 characters",
        ),
        (
            json!({ "custom": [{ "name": "x", "pattern": "(a{1000}){1000}" }] }),
            "does not compile",
        ),
    ];
    for (text, expected) in cases {
        let error = Masker::new(&options(&text)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(
        Masker::new(&options(&json!({ "off": ["configured_secret"] }))).unwrap_err(),
        Error::NotOff
    );
}

#[test]
fn a_known_value_is_masked_wherever_it_stands() {
    let value = "correct horse 9";
    let options = options(&json!({ "tools": { "a": { "groups": ["cloud"] } } }));
    let masker = Masker::new(&options).unwrap().with_values([value, "short"]);
    let text = format!("it is{value}and short");
    let expected = "it is[masked:configured_secret]and short";
    assert_eq!(masker.mask_text(&text), expected);
    assert_eq!(masker.for_tool("a").mask_text(&text), expected);
    let key = "Zq8Xw3Vn7Rt2Lk9Pf4";
    let masker = Masker::built_in().with_values([key]);
    let whole = format!("The key is {key}. Or \"{key}\" and\n{key}");
    for size in 1..20 {
        let mut stream = StreamMasker::new(masker.clone());
        let mut shown = String::new();
        for piece in whole.as_bytes().chunks(size) {
            let piece = stream.push(std::str::from_utf8(piece).unwrap());
            shown.push_str(&piece);
            assert!(!shown.contains(&key[..6]), "{shown}");
        }
        shown.push_str(&stream.finish());
        assert_eq!(shown, masker.mask_text(&whole), "in pieces of {size}");
        assert_eq!(shown.matches("[masked:configured_secret]").count(), 3);
    }
}

#[test]
fn what_costs_more_than_its_budget_is_withheld() {
    let text = "password=hunter2abc the rest\n".repeat(1000);
    let masker = Masker::built_in();
    assert!(masker.mask_text(&text).contains("the rest"));
    let poor = masker.clone().with_budget(10_000);
    assert_eq!(
        poor.try_mask_text(&text).unwrap_err(),
        Withheld { bytes: text.len() }
    );
    let notice = format!("[withheld: too costly to mask, {} bytes]", text.len());
    assert_eq!(poor.mask_text(&text), notice);
    assert_eq!(masker.mask_text(&notice), notice);
    assert_eq!(
        poor.mask_text("password=hunter2abc"),
        "password=[masked:password]"
    );
    let mut value = json!({ "a": text, "b": ["word", { "c": "password=hunter2abc" }], "d": 1 });
    assert!(poor.mask_value(&mut value) > 0);
    let written = value.to_string();
    assert!(
        written.contains("too costly to mask") && !written.contains("hunter2abc"),
        "{written}"
    );
    // Names that were not looked at are not shown either.
    assert!(written.contains(":1"), "{written}");
    assert_eq!(poor.explain(&text).0, notice);
    let mut stream = StreamMasker::new(masker.with_budget(10));
    let mut shown = stream.push("password=hunter2abc\nnext");
    shown.push_str(&stream.finish());
    assert!(
        shown.contains("withheld") && !shown.contains("hunter2abc"),
        "{shown}"
    );
}
