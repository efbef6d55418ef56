//! A bundle proves itself offline, and a change of any byte is found.

use interlock_engine::bundle::{bundle, page, verify};
use interlock_protocol::ControlLevel;
use interlock_seal::{Keyring, Signer};
use jiff::Timestamp;

use crate::fixture::{Lab, RESTART, Wish, keyring, operator};

async fn made() -> String {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    lab.engine.approve(&hold, &operator()).await.unwrap();
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
        "touch /srv/flag on host:web: succeeded",
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
