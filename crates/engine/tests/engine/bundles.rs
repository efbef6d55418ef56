//! A bundle proves itself offline, and a change of any byte is found.

use interlock_engine::bundle::{bundle, page, verify};
use interlock_protocol::{ContentHash, ControlLevel};
use interlock_seal::{Keyring, Purpose, Signer};
use interlock_store::Store;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, keyring, operator};

async fn made() -> String {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    lab.engine.approve_by(&hold, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    bundle(&lab.store, &session, Timestamp::now()).await.unwrap()
}

#[tokio::test]
async fn a_bundle_proves_itself_and_says_who_approved_what() {
    let file = made().await;
    let verified = verify(&file, &keyring());
    assert!(verified.holds(), "{:#?}", verified.faults);
    let page = page(&verified);
    for part in [
        "VERIFIED: this bundle is as it was signed",
        "put the flag there",
        " on host:web: succeeded",
        "\n  | touch /srv/flag\n",
        "approved by olga",
        "hold.approved",
        "What the model answered (not checked by this bundle)",
    ] {
        assert!(page.contains(part), "{part} is missing in:\n{page}");
    }
}

#[tokio::test]
async fn a_changed_byte_is_found_with_its_line() {
    let file = made().await;
    let keyring = keyring();
    let bytes = file.as_bytes();
    let steps = (bytes.len() / 500).max(1);
    for at in (0..bytes.len()).step_by(steps) {
        let mut changed = bytes.to_vec();
        // Another character that keeps the text readable.
        changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
        let text = String::from_utf8_lossy(&changed);
        let verified = verify(&text, &keyring);
        let line = file[..file.floor_char_boundary(at)].matches('\n').count() + 1;
        assert!(!verified.holds(), "byte {at} was changed unseen");
        // A line end that is gone makes one line of two: the first of them is named.
        assert!(
            verified.faults.iter().any(|fault| fault.line == Some(line)),
            "byte {at} is in line {line}: {:?}",
            verified.faults
        );
    }
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    for (what, text) in [
        ("the last line is missing", lines[..lines.len() - 1].concat()),
        ("a line more", format!("{file}{}", lines[1])),
        ("cut in the middle", file[..file.len() / 2].to_owned()),
        ("empty", String::new()),
        ("not a bundle", "{}\n".to_owned()),
    ] {
        assert!(!verify(&text, &keyring).holds(), "unseen: {what}");
    }
}

#[tokio::test]
async fn only_the_key_that_was_named_counts() {
    let file = made().await;
    let other = Keyring::signing(Signer::generate().unwrap());
    let verified = verify(&file, &other);
    assert!(!verified.holds());
    assert!(
        verified.faults[0]
            .what
            .contains("which is not the one that you named"),
        "{:?}",
        verified.faults
    );
}

/// The first line of a bundle, in the order in which it is written.
#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    session: String,
    made_at: String,
    made_by: String,
    lines: Vec<(String, String)>,
    public_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// Writes a bundle with other lines, every hash and the signature made again: what somebody with the key could write.
fn signed_again(file: &str, change: impl Fn(&mut Vec<(String, Value)>)) -> String {
    signed_by(file, keyring().signer().unwrap(), change)
}

/// The same, by this key.
fn signed_by(file: &str, signer: &Signer, change: impl Fn(&mut Vec<(String, Value)>)) -> String {
    let mut all = file.lines();
    let mut header: Header = serde_json::from_str(all.next().unwrap()).unwrap();
    let mut lines: Vec<(String, Value)> = all
        .zip(&header.lines)
        .map(|(text, (name, _))| (name.clone(), serde_json::from_str(text).unwrap()))
        .collect();
    change(&mut lines);
    let texts: Vec<String> = lines
        .iter_mut()
        .map(|(_, line)| {
            if line["line"] == "audit" {
                let entry = &mut line["content"];
                entry["hash"] = json!(entry_hash(entry));
            }
            line.to_string()
        })
        .collect();
    header.lines = lines
        .iter()
        .zip(&texts)
        .map(|((name, _), text)| (name.clone(), ContentHash::of(text).to_string()))
        .collect();
    header.public_key = signer.public().to_string();
    header.signature = None;
    let unsigned = serde_json::to_string(&header).unwrap();
    let signature = signer.sign(Purpose::Bundle, unsigned.as_bytes());
    header.signature = Some(signature.to_string());
    let mut file = serde_json::to_string(&header).unwrap();
    for text in texts {
        file.push('\n');
        file.push_str(&text);
    }
    file.push('\n');
    file
}

/// The hash of an entry of the audit log, which has no key: anybody can make it again.
fn entry_hash(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str();
    let at: Timestamp = text("at").unwrap().parse().unwrap();
    let mut bytes = Vec::new();
    let mut field = |text: &[u8]| {
        bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
        bytes.extend_from_slice(text);
    };
    let previous: ContentHash = text("previous").unwrap().parse().unwrap();
    field(previous.as_bytes());
    field(&entry["number"].as_i64().unwrap().to_be_bytes());
    field(&i64::try_from(at.as_nanosecond()).unwrap().to_be_bytes());
    field(text("action").unwrap().as_bytes());
    field(entry["details"].to_string().as_bytes());
    for name in ["actor", "subject"] {
        match text(name) {
            None => field(&[0]),
            Some(text) => {
                field(&[1]);
                field(text.as_bytes());
            }
        }
    }
    ContentHash::of(bytes).to_string()
}

fn line<'a>(lines: &'a mut [(String, Value)], kind: &str, action: Option<&str>) -> &'a mut Value {
    let found = lines.iter_mut().find(|(_, line)| {
        line["line"] == kind && action.is_none_or(|action| line["content"]["action"] == action)
    });
    &mut found.unwrap().1["content"]
}

fn remove(lines: &mut Vec<(String, Value)>, kind: &str, action: Option<&str>) {
    let before = lines.len();
    lines.retain(|(_, line)| {
        line["line"] != kind || action.is_some_and(|action| line["content"]["action"] != action)
    });
    assert!(lines.len() < before);
}

type Change = fn(&mut Vec<(String, Value)>);

/// Who approved what stands in the call, in the hold and in the audit log. If one of them says something else, the bundle is
/// not verified, also where every signature fits.
#[tokio::test]
async fn approvers_are_the_same_in_every_place() {
    let file = made().await;
    let whole = signed_again(&file, |_| {});
    assert_eq!(verify(&whole, &keyring()).faults, []);
    let changes: [(&str, Change); 12] = [
        ("who decided", |lines| {
            line(lines, "hold", None)["status"]["by"] = json!("eve");
        }),
        ("which nobody decided", |lines| {
            line(lines, "hold", None)["status"] = json!({ "status": "pending" });
        }),
        ("which is missing", |lines| remove(lines, "hold", None)),
        ("is there twice", |lines| {
            let hold = lines
                .iter()
                .find(|(_, line)| line["line"] == "hold")
                .unwrap()
                .clone();
            lines.push(hold);
        }),
        ("is not for the plan that it shows", |lines| {
            line(lines, "hold", None)["plan"]["command"] = json!("touch /srv/evil");
        }),
        ("who decided", |lines| {
            line(lines, "audit", Some("hold.approved"))["actor"] = json!("eve");
        }),
        ("who decided", |lines| {
            line(lines, "audit", Some("hold.approved"))["actor"] = Value::Null;
        }),
        ("what was decided", |lines| {
            line(lines, "audit", Some("hold.approved"))["action"] = json!("hold.denied");
        }),
        ("about the plan", |lines| {
            line(lines, "audit", Some("hold.approved"))["details"]["plan_hash"] = json!("0".repeat(64));
        }),
        ("about the session", |lines| {
            line(lines, "audit", Some("hold.approved"))["details"]["session"] = json!("ses_other");
        }),
        ("0 entries of the audit log say so", |lines| {
            remove(lines, "audit", Some("hold.approved"));
        }),
        ("2 entries of the audit log say so", |lines| {
            let entry = lines
                .iter()
                .find(|(_, line)| line["content"]["action"] == "hold.approved")
                .unwrap()
                .clone();
            lines.push(entry);
        }),
    ];
    for (says, change) in changes {
        let verified = verify(&signed_again(&file, change), &keyring());
        assert!(
            verified.faults.iter().any(|fault| fault.what.contains(says)),
            "no `{says}` in {:?}",
            verified.faults
        );
        assert!(page(&verified).starts_with("NOT VERIFIED"));
    }
}

/// Every part of a bundle is signed by the key of its header: an earlier key that is trusted, too, signs no part of it.
#[tokio::test]
async fn a_bundle_is_signed_by_one_key() {
    let file = made().await;
    let (newest, earlier) = (Signer::generate().unwrap(), keyring().signer().unwrap().public());
    let mixed = signed_by(&file, &newest, |_| {});
    let verified = verify(&mixed, &Keyring::checking([newest.public(), earlier]));
    assert!(!verified.holds(), "{:?}", verified.faults);
    // The whole by one of them is.
    assert_eq!(
        verify(&file, &Keyring::checking([newest.public(), earlier])).faults,
        []
    );
}

/// A session that is older than the signing of its store can be bundled, and the page says what that is worth.
#[tokio::test]
async fn a_session_that_is_older_than_signing_says_so() {
    let root = tempfile::tempdir().unwrap();
    let lab = Lab::in_folder(root.path(), Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    lab.engine.approve_by(&hold, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let sealed = bundle(&lab.store, &session, Timestamp::now()).await.unwrap();
    lab.store.close().await;
    crate::rows::forger(root.path())
        .execute_batch("DELETE FROM seals; DELETE FROM checkpoints")
        .unwrap();
    let options = interlock_store::Options::sqlite(root.path().join("interlock.db"));
    let store = Store::adopt(&options, keyring()).unwrap();
    let older = bundle(&store, &session, Timestamp::now()).await.unwrap();
    for (file, says, is_older) in [
        (sealed, "Record     sealed in the store", false),
        (older, "Record     NOT SEALED: the session is older", true),
    ] {
        let verified = verify(&file, &keyring());
        assert!(verified.holds(), "{:?}", verified.faults);
        let shown = page(&verified);
        assert!(shown.contains(says), "{shown}");
        assert_eq!(verified.bundle.unwrap().is_older_than_signing(), is_older);
    }
    store.close().await;
}

/// The bundle of `interlock demo`, as it was written once with a key that everybody knows. `crates/cli/tests/record.rs`
/// writes it again and says how.
const GOLDEN: &str = include_str!("../golden/demo.bundle");
const GOLDEN_KEY: &str = "ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=";

fn golden_keyring() -> Keyring {
    Keyring::checking([GOLDEN_KEY.parse().unwrap()])
}

/// Whatever changes in Interlock, a bundle that was signed once is verified, and its page says the same.
#[test]
fn the_golden_bundle_is_verified_offline() {
    let verified = verify(GOLDEN, &golden_keyring());
    assert!(
        verified.holds(),
        "the golden bundle is not verified any more: {:#?}\nIf the form of bundles or the rules of the gate changed on purpose, \
         write it again: UPDATE_GOLDEN=1 cargo nextest run -p interlock --test record golden",
        verified.faults
    );
    insta::assert_snapshot!("golden_page", page(&verified));
}

/// The same demo by a version that weighed readings by their words and kept no arguments with them. It is never written again.
const EARLIER: &str = include_str!("../golden/earlier.bundle");

#[test]
fn a_bundle_of_an_earlier_version_is_replayed_with_the_rules_of_its_time() {
    assert!(!EARLIER.contains("\"by_reading\"") && GOLDEN.contains("\"by_reading\""));
    let verified = verify(EARLIER, &golden_keyring());
    assert!(verified.holds(), "{:#?}", verified.faults);
}

/// 300 bytes all over the file, each changed alone in two ways: each is found, with its line.
#[test]
fn every_changed_byte_of_the_golden_bundle_is_found() {
    let keyring = golden_keyring();
    let bytes = GOLDEN.as_bytes();
    let line_of = |at: usize| bytes[..at].split(|byte| *byte == b'\n').count();
    let mut tried = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 300) {
        for other in [bytes[at] ^ 1, b' '] {
            if other == bytes[at] {
                continue;
            }
            let mut changed = bytes.to_vec();
            changed[at] = other;
            // What is not text is refused before anything is read.
            let Ok(changed) = String::from_utf8(changed) else {
                continue;
            };
            tried += 1;
            let verified = verify(&changed, &keyring);
            assert!(!verified.holds(), "byte {at} was changed unseen");
            assert!(
                verified
                    .faults
                    .iter()
                    .any(|fault| fault.line == Some(line_of(at))),
                "byte {at} is in line {}: {:?}",
                line_of(at),
                verified.faults
            );
        }
    }
    assert!(tried > 500, "{tried}");
}
