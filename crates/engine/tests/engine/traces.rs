//! A trace proves itself, and notices when it was touched: by its signature every change, and by what it says about
//! itself every change that matters, even where every hash was made again.

use interlock_engine::{SignatureState, Trace, Traced};
use interlock_protocol::{ContentHash, ControlLevel};
use interlock_seal::{Keyring, Signer};
use serde_json::{Value, json};

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, keyring, operator};

/// A session with a refused call, a write that a human approved, and its verification.
async fn trace() -> Value {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    lab.engine.approve_by(&hold, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let text = lab.traces(&session).await;
    serde_json::from_str(&text).unwrap()
}

/// Whoever touches a document can make its own hashes again; a signature they cannot make.
fn rehash(document: &mut Value) {
    for asked in document["asked"].as_array_mut().unwrap() {
        if let Some(request) = asked["request"].as_str().map(ContentHash::of) {
            asked["request_hash"] = json!(request);
        }
    }
    for evidence in document["evidence"].as_array_mut().unwrap() {
        evidence["hash"] = json!(ContentHash::of_json(&evidence["data"]));
    }
    if let Some(input) = document["input"].as_str().map(ContentHash::of) {
        document["input_hash"] = json!(input);
    }
    let mut whole = document.clone();
    let members = whole.as_object_mut().unwrap();
    members.remove("hash");
    members.remove("signed");
    document["hash"] = json!(ContentHash::of_json(&whole));
}

fn check(document: &Value, keyring: Option<&Keyring>) -> Option<Traced> {
    let trace: Trace = serde_json::from_value(document.clone()).ok()?;
    trace.check(keyring).ok()
}

/// Whether a document still proves itself. What cannot be read or replayed does not.
fn holds(document: &Value, keyring: Option<&Keyring>) -> bool {
    check(document, keyring).is_some_and(|traced| traced.holds())
}

/// The paths of all values below a value.
fn nodes(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                nodes(value, &format!("{path}/{at}"), found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                nodes(value, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// A value that is like this one and not the same.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => json!(false),
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(number.as_f64().unwrap_or(0.0) + 1.0),
        Value::String(text) => match text.chars().next_back() {
            None => json!("a"),
            Some(last) => {
                let other = if last == 'a' { 'b' } else { 'a' };
                json!(format!("{}{other}", &text[..text.len() - last.len_utf8()]))
            }
        },
        Value::Array(_) => json!([]),
        Value::Object(_) => json!({}),
    }
}

/// Every way to touch one node: change it, remove it, double it, or swap it with the next.
fn mutations(document: &Value, path: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut mutate = |what: &str, change: &dyn Fn(&mut Value) -> bool| {
        let mut copy = document.clone();
        if change(&mut copy) && copy != *document {
            all.push((format!("{what} {path}"), copy));
        }
    };
    mutate("change", &|copy| {
        copy.pointer_mut(path).is_some_and(|node| {
            *node = changed(node);
            true
        })
    });
    let Some((parent, last)) = path.rsplit_once('/') else {
        return all;
    };
    let name = last.replace("~1", "/").replace("~0", "~");
    mutate("remove", &|copy| match copy.pointer_mut(parent) {
        Some(Value::Array(values)) => {
            values.remove(last.parse().unwrap());
            true
        }
        Some(Value::Object(members)) => members.remove(&name).is_some(),
        _ => false,
    });
    mutate("double", &|copy| match copy.pointer_mut(parent) {
        Some(Value::Array(values)) => {
            let at: usize = last.parse().unwrap();
            values.insert(at, values[at].clone());
            true
        }
        _ => false,
    });
    mutate("swap", &|copy| match copy.pointer_mut(parent) {
        Some(Value::Array(values)) => {
            let at: usize = last.parse().unwrap();
            let swappable = at + 1 < values.len();
            if swappable {
                values.swap(at, at + 1);
            }
            swappable
        }
        _ => false,
    });
    all
}

/// No node of a signed trace can be changed, removed, doubled or moved, whatever hashes are made again.
#[tokio::test]
async fn no_change_of_any_node_goes_unnoticed() {
    let document = trace().await;
    let keyring = keyring();
    assert!(
        holds(&document, Some(&keyring)),
        "{:#?}",
        check(&document, Some(&keyring))
    );
    let mut paths = Vec::new();
    nodes(&document, "", &mut paths);
    let mut tried = 0;
    for path in &paths {
        for (what, mut copy) in mutations(&document, path) {
            if copy.get("asked").is_some_and(Value::is_array)
                && copy.get("evidence").is_some_and(Value::is_array)
            {
                rehash(&mut copy);
            }
            if copy == document {
                // Only a hash was touched, and made again.
                continue;
            }
            tried += 1;
            let trace = serde_json::from_value::<Trace>(copy);
            let noticed = trace.is_ok_and(|trace| trace.is_as_signed(&keyring));
            assert!(!noticed, "unnoticed: {what}");
        }
    }
    assert!(tried > 1000, "only {tried} changes were tried");
}

/// Without the key of the server a forger can sign with a key of their own, or not at all. Neither counts.
#[tokio::test]
async fn another_key_and_no_signature_do_not_count() {
    let document = trace().await;
    let mut unsigned = document.clone();
    unsigned.as_object_mut().unwrap().remove("signed");
    let traced = check(&unsigned, Some(&keyring())).unwrap();
    assert_eq!(traced.signature, SignatureState::Missing);
    assert!(!traced.holds());
    let other = Keyring::signing(Signer::generate().unwrap());
    let traced = check(&document, Some(&other)).unwrap();
    assert!(
        matches!(traced.signature, SignatureState::UnknownKey { .. }),
        "{traced:?}"
    );
    assert!(!traced.holds());
}

/// A way to touch a trace, given the place of its write.
type Change = fn(&mut Value, usize);

/// What matters most does not even need the signature: with every hash made again it contradicts the rest.
#[tokio::test]
async fn what_matters_contradicts_the_rest_without_a_signature() {
    let document = trace().await;
    assert!(holds(&document, None));
    let write = document["calls"]
        .as_array()
        .unwrap()
        .iter()
        .position(|call| call["approved_by"].is_string())
        .unwrap();
    let cases: [(&str, Change); 12] = [
        ("a write is removed", |document, write| {
            document["calls"].as_array_mut().unwrap().remove(write);
        }),
        ("another approver", |document, write| {
            document["calls"][write]["approved_by"] = json!("mallory");
        }),
        ("no approver", |document, write| {
            document["calls"][write]["approved_by"] = Value::Null;
        }),
        ("another hold", |document, write| {
            document["calls"][write]["hold"] = json!("hold_ffffffff");
        }),
        ("another receipt", |document, write| {
            document["calls"][write]["receipt"]["summary"] = json!("nothing");
        }),
        ("no receipt", |document, write| {
            document["calls"][write]["receipt"] = Value::Null;
        }),
        ("another verification", |document, write| {
            document["calls"][write]["verification"] = json!("failed");
        }),
        ("another plan", |document, write| {
            document["calls"][write]["plan"]["arguments"]["command"] = json!("true");
        }),
        ("a reading more", |document, _| {
            let mut more = document["evidence"][0].clone();
            more["id"] = json!("ev_ffffffff");
            document["evidence"].as_array_mut().unwrap().push(more);
        }),
        ("a reading twice", |document, _| {
            let more = document["evidence"][0].clone();
            document["evidence"].as_array_mut().unwrap().push(more);
        }),
        ("the end is missing", |document, _| {
            document["steps"].as_array_mut().unwrap().pop();
        }),
        ("another status", |document, _| {
            document["status"] = json!("unverified");
        }),
    ];
    for (what, change) in cases {
        let mut copy = document.clone();
        change(&mut copy, write);
        rehash(&mut copy);
        assert!(!holds(&copy, None), "unnoticed: {what}");
    }
}
