//! What must hold for every text.

use interlock_mask::{Masker, StreamMasker};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Pieces of text that mean something to the masker, to be put together in every way.
const WORDS: &[&str] = &[
    "password",
    "token",
    "secret",
    "api_key",
    "=",
    ":",
    " ",
    "\n",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "&",
    "@",
    "://",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "kind: Secret",
    "data:",
    "  a: b",
    "\"data\":{",
    "\"kind\":\"Secret\"",
    "[masked:",
    "[masked:jwt]",
    "]",
    "|",
    "hunter2",
    "eyJhbGciOi.x.y",
    "sk-ant-aaaaaaaaaaaaaaaa",
    "--password ",
    "Bearer ",
    "Cookie: ",
    "a=b",
    "machine h login x password ",
    "$6$salt$hashhashhash",
    "ä",
    "apiVersion: v1",
    "- ",
    "\\n",
    "\\\"",
    "mysql -p",
    "PRIVATE",
    "name: DB_PASSWORD",
    "value: x",
    "<password>",
    "</password>",
    "Authorization: ",
    "12",
    "...",
    "---",
    "\n\nThe disk is full now.\n",
    "\n\n## Cause\n",
    "\u{200b}",
    "\u{a0}",
    "ｐａｓｓｗｏｒｄ：",
    "\u{8}",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.concat())
}

/// Secrets within one line, and secrets over several lines.
const PLANTED: &[&str] = &[
    "DB_PASSWORD=CANARY",
    "password: CANARY1",
    "{\"password\": \"CANARY one\", \"a\": 1}",
    "postgres://bob:CANARY@db/x and more",
    "Authorization: Bearer CANARY0123456789",
    "ghp_CANARYaaaaBBBBccccDDDDeeeeFFFF0000 is it",
    "run --token CANARY01 now",
    "mysql -u root -pCANARY db",
    "<password>CANARY one two</password>",
    "Cookie: a=CANARY1; b=CANARY2",
    "-----BEGIN RSA PRIVATE KEY-----\nCANARY+/=\nCANARY\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nCANARYaaaa\nCANARYbbbb",
    "apiVersion: v1\ndata:\n  a: CANARY\n  b: CANARY\nkind: Secret\nmetadata:\n  name: x",
    "items:\n- apiVersion: v1\n  data:\n    a: CANARY\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap",
    "{\n  \"apiVersion\": \"v1\",\n  \"data\": {\n    \"a\": \"CANARY\"\n  },\n  \"kind\": \"Secret\"\n}",
    "password: |\n  CANARY\n  CANARY",
    "machine h\n  login bob\n  password CANARY",
    "- name: DB_PASSWORD\n  value: CANARY",
    "an ordinary line of a log, with words",
    "  indented: value",
    "2026-11-15T05:28:26Z nginx[812]: GET / 200",
    "",
];

fn streamed(masker: &Masker, text: &str, cuts: &[usize]) -> String {
    let mut cuts: Vec<usize> = cuts
        .iter()
        .map(|cut| text.floor_char_boundary(cut % (text.len() + 1)))
        .collect();
    cuts.sort_unstable();
    cuts.push(text.len());
    let mut stream = StreamMasker::new(masker.clone());
    let mut out = String::new();
    let mut at = 0;
    for cut in cuts {
        out.push_str(&stream.push(&text[at..cut]));
        at = cut;
    }
    out.push_str(&stream.finish());
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn masking_twice_is_masking_once(text in soup()) {
        let masker = Masker::built_in();
        let once = masker.mask_text(&text).into_owned();
        let twice = masker.mask_text(&once).into_owned();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn any_text_is_taken(text in ".{0,200}") {
        let masker = Masker::built_in();
        let once = masker.mask_text(&text).into_owned();
        prop_assert_eq!(masker.mask_text(&once).into_owned(), once);
    }

    #[test]
    fn json_stays_json(values in prop::collection::btree_map("[a-z]{1,6}|password|token|data|kind|a\\.key", ".{0,20}|Secret|hunter2|sk-ant-aaaaaaaaaaaa0", 0..6), number in any::<u32>()) {
        let mut value = json!(values);
        value["api_key"] = json!(number);
        let text = value.to_string();
        let masked = Masker::built_in().mask_text(&text).into_owned();
        let parsed: Result<Value, _> = serde_json::from_str(&masked);
        prop_assert!(parsed.is_ok(), "{} -> {}", text, masked);
        let keys = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
        prop_assert_eq!(parsed.ok().as_ref().and_then(keys), keys(&value));
    }

    #[test]
    fn values_are_masked_once(values in prop::collection::vec(("[a-z]{1,6}|password|token", soup()), 0..5)) {
        let masker = Masker::built_in();
        let mut value: Value = values.into_iter().map(|(key, text)| (key, Value::String(text))).collect::<serde_json::Map<_, _>>().into();
        masker.mask_value(&mut value);
        let once = value.clone();
        prop_assert_eq!(masker.mask_value(&mut value), 0);
        prop_assert_eq!(value, once);
    }

    #[test]
    fn pieces_come_to_the_same_as_the_whole(
        parts in prop::collection::vec(prop::sample::select(PLANTED), 1..8),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let text = parts.join("\n---\n");
        let masker = Masker::built_in();
        let whole = masker.mask_text(&text).into_owned();
        prop_assert!(!whole.contains("CANARY"), "{}", whole);
        prop_assert_eq!(streamed(&masker, &text, &cuts), whole);
    }

    #[test]
    fn no_piece_shows_a_secret(
        parts in prop::collection::vec(prop::sample::select(PLANTED), 1..12),
        filler in 0..6000_usize,
        cuts in prop::collection::vec(any::<usize>(), 0..24),
    ) {
        let text = format!("{}\n{}\n{}", parts.join("\n"), "word ".repeat(filler / 5), parts.join("\n"));
        let out = streamed(&Masker::built_in(), &text, &cuts);
        prop_assert!(!out.contains("CANARY"), "{}", out);
    }
}

#[test]
fn letter_by_letter_is_the_same() {
    let masker = Masker::built_in();
    for text in PLANTED {
        let cuts: Vec<usize> = (0..text.len()).collect();
        assert_eq!(streamed(&masker, text, &cuts), masker.mask_text(text), "{text}");
    }
}

#[test]
fn what_is_longer_than_the_hold_is_masked_to_its_end() {
    let masker = Masker::built_in();
    let line = "CANARYaaaaBBBBccccDDDDeeeeFFFFgggg0000CANARYaaaaBBBBccccDDDDeeee\n";
    let key = format!(
        "a\n-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----\nb\n",
        line.repeat(300)
    );
    let yaml = format!(
        "apiVersion: v1\ndata:\n{}kind: Secret\nmetadata:\n  name: x\n",
        "  a: CANARYaaaa\n".repeat(600)
    );
    let json = format!(
        "{{\n  \"apiVersion\": \"v1\",\n  \"data\": {{\n{}    \"z\": \"CANARY\"\n  }},\n  \"kind\": \"Secret\"\n}}\n",
        "    \"a\": \"CANARYaaaa\",\n".repeat(600)
    );
    let block = format!("password: |\n{}user: bob\n", "  CANARYaaaa\n".repeat(600));
    let one_line = format!(
        "{{\"apiVersion\":\"v1\",\"data\":{{{}\"z\":\"CANARY\"}},\"kind\":\"Secret\"}}\nb\n",
        "\"a\":\"CANARYaaaa\", ".repeat(6000)
    );
    let value = format!("token: {} user\nb\n", "CANARY0".repeat(20_000));
    for text in [key, yaml, json, block, one_line, value] {
        let cuts: Vec<usize> = (0..text.len()).step_by(37).collect();
        let out = streamed(&masker, &text, &cuts);
        assert!(
            !out.contains("CANARY"),
            "{}",
            &out[out.find("CANARY").unwrap().saturating_sub(300)..][..400]
        );
        assert!(out.len() < text.len() * 4, "bounded");
    }
}

#[test]
fn time_grows_with_the_length() {
    let masker = Masker::built_in();
    // The best of several, because other programs run too.
    let time = |text: &str| {
        let once = || {
            let start = std::time::Instant::now();
            std::hint::black_box(masker.mask_text(text));
            start.elapsed()
        };
        (0..4).map(|_| once()).min().unwrap_or_default()
    };
    for seed in [
        "token: a ",
        "password=\"",
        "\\\"token\\\":\\\"",
        "data:\n",
        "{\"data\":{",
        "-----BEGIN PRIVATE KEY-----\n",
        "mysql ",
        "machine h ",
        "- data:\n  kind: Secret\n",
        "Authorization: x=1, ",
        "--token ' ",
        "://a:b",
        "<password>",
    ] {
        let small = seed.repeat(4_000 / seed.len());
        time(&small);
        let (once, ten) = (time(&small), time(&small.repeat(10)));
        assert!(
            ten < once * 50 + std::time::Duration::from_millis(200),
            "{seed:?}: {once:?} then {ten:?}"
        );
    }
}
