//! A signing key that was replaced signs nothing more: whatever it signs after its successor is refused or found.

use interlock_protocol::ContentHash;
use interlock_seal::{Keyring, PublicKey, Purpose, Signer};
use interlock_store::{AuditFilter, Error, SealState, Store};
use rusqlite::{Connection, params};

use crate::marks::{Place, deed, ended, forger};
use crate::support::*;

/// The keys in the order in which they sign.
const SECRETS: [&str; 3] = [
    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
    "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",
];

fn signer(index: usize) -> Signer {
    Signer::from_text(SECRETS[index]).unwrap()
}

fn public(index: usize) -> PublicKey {
    signer(index).public()
}

/// Signs with this key, and trusts those before it, the newest first.
fn signing(place: &Place, index: usize) -> Keyring {
    Keyring::signing(signer(index))
        .trusting((0..index).rev().map(public))
        .keeping_marks(place.marks())
}

fn open(place: &Place, index: usize) -> Result<Store, Error> {
    Store::open_signed(&place.options(), signing(place, index))
}

/// A store in which each of the first keys signed a session of its own.
async fn rotated(place: &Place, keys: usize) {
    for index in 0..keys {
        let store = open(place, index).unwrap();
        ended(&store, index as u64 + 1).await;
        store
            .audit(deed("user.created", i64::try_from(index).unwrap()))
            .await
            .unwrap();
        store.close().await;
    }
}

fn field(bytes: &mut Vec<u8>, value: &[u8]) {
    bytes.extend_from_slice(&(value.len() as u64).to_be_bytes());
    bytes.extend_from_slice(value);
}

/// A seal over the present title, input and answer of a session, by this key, in this place of the chain.
fn seal(conn: &Connection, key: &Signer, session: u64, number: i64) {
    let id = session_id(session).to_string();
    let (status, at, mut parts): (String, i64, Vec<u8>) = conn
        .query_row(
            "SELECT status, at, parts FROM seals WHERE session = ? ORDER BY number DESC LIMIT 1",
            [&id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    let previous: Vec<u8> = conn
        .query_row("SELECT hash FROM seals WHERE number = ?", [number - 1], |row| {
            row.get(0)
        })
        .unwrap();
    let mut rows = vec![b'r'];
    conn.query_row(
        "SELECT title, input, options, answer, error FROM session_texts JOIN sessions ON key = session WHERE id = ?",
        [&id],
        |row| {
            for column in 0..5 {
                let text: Option<String> = row.get(column)?;
                rows.push(if text.is_some() { b't' } else { b'n' });
                field(&mut rows, text.unwrap_or_default().as_bytes());
            }
            Ok(())
        },
    )
    .unwrap();
    parts[32..64].copy_from_slice(ContentHash::of(&rows).as_bytes());
    let mut statement = Vec::new();
    for value in [
        &number.to_be_bytes()[..],
        id.as_bytes(),
        status.as_bytes(),
        &at.to_be_bytes(),
        ContentHash::of(&parts).as_bytes(),
        &previous,
    ] {
        field(&mut statement, value);
    }
    let signature = key.sign(Purpose::Session, &statement);
    let mut whole = statement;
    whole.extend_from_slice(key.public().as_bytes());
    whole.extend_from_slice(signature.as_bytes());
    conn.execute(
        "INSERT OR REPLACE INTO seals (number, session, status, at, parts, previous, public_key, signature, hash) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            number,
            id,
            status,
            at,
            parts,
            previous,
            key.public().as_bytes(),
            signature.as_bytes(),
            ContentHash::of(&whole).as_bytes()
        ],
    )
    .unwrap();
}

/// A checkpoint over the present end, by this key.
fn checkpoint(conn: &Connection, key: &Signer) {
    let (number, at): (i64, i64) = conn
        .query_row("SELECT max(number) + 1, max(at) FROM checkpoints", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let end = |sql: &str| -> (i64, Vec<u8>) {
        conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
    };
    let audit = end("SELECT number, hash FROM audit_end");
    let sealed = end("SELECT number, hash FROM seals ORDER BY number DESC LIMIT 1");
    let mut statement = Vec::new();
    for value in [
        &number.to_be_bytes()[..],
        &at.to_be_bytes(),
        &audit.0.to_be_bytes(),
        &audit.1,
        &sealed.0.to_be_bytes(),
        &sealed.1,
    ] {
        field(&mut statement, value);
    }
    conn.execute(
        "INSERT INTO checkpoints (number, at, audit_number, audit_hash, seal_number, seal_hash, public_key, signature) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            number,
            at,
            audit.0,
            audit.1,
            sealed.0,
            sealed.1,
            key.public().as_bytes(),
            key.sign(Purpose::Checkpoint, &statement).as_bytes()
        ],
    )
    .unwrap();
}

/// What somebody with an earlier key and the file writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forgery {
    /// An answer, its seal and a checkpoint.
    Whole,
    /// The same without the checkpoint.
    SealAlone,
    /// The seal of a session that the earlier key had signed itself, exchanged where it is.
    InPlace,
}

fn forge(conn: &Connection, key: usize, session: u64, forgery: Forgery) {
    conn.execute(
        "UPDATE session_texts SET answer = 'forged' WHERE session = (SELECT key FROM sessions WHERE id = ?)",
        [session_id(session).as_str()],
    )
    .unwrap();
    let number: i64 = match forgery {
        Forgery::InPlace => conn
            .query_row(
                "SELECT max(number) FROM seals WHERE session = ?",
                [session_id(session).as_str()],
                |row| row.get(0),
            )
            .unwrap(),
        Forgery::Whole | Forgery::SealAlone => conn
            .query_row("SELECT max(number) + 1 FROM seals", [], |row| row.get(0))
            .unwrap(),
    };
    seal(conn, &signer(key), session, number);
    if forgery == Forgery::Whole {
        checkpoint(conn, &signer(key));
    }
}

fn is_altered(state: &SealState) -> bool {
    matches!(state, SealState::Altered { .. })
}

/// Each earlier key forges each session, in each way, in a store that is closed and in one that is open.
#[tokio::test]
async fn a_replaced_key_signs_no_more() {
    for keys in [2, 3] {
        let origin = Place::new();
        rotated(&origin, keys).await;
        for key in 0..keys - 1 {
            for session in 1..=keys {
                for forgery in [Forgery::Whole, Forgery::SealAlone, Forgery::InPlace] {
                    if forgery == Forgery::InPlace && session != key + 1 {
                        continue;
                    }
                    let case = format!("{keys} keys, key {key}, session {session}, {forgery:?}");
                    for running in [false, true] {
                        forged(&origin, (keys - 1, key, session as u64), forgery, running, &case).await;
                    }
                }
            }
        }
    }
}

async fn forged(
    origin: &Place,
    (current, key, session): (usize, usize, u64),
    forgery: Forgery,
    running: bool,
    case: &str,
) {
    origin.copy("whole.db");
    let whole = origin.root.path().join("whole.db");
    let marks = origin.root.path().join("marks-before");
    copy_folder(&origin.marks(), &marks);
    let keyring = signing(origin, current);
    let id = session_id(session);
    let store = running.then(|| open(origin, current).unwrap());
    let conn = forger(&origin.file());
    forge(&conn, key, session, forgery);
    drop(conn);
    // A look without the mark, as on another machine, finds it too.
    let elsewhere = Keyring::checking((0..=current).rev().map(public));
    let look = Store::open_signed(&origin.options().read_only(), elsewhere.clone()).unwrap();
    let verified = look.verify_record(&elsewhere, true).await.unwrap();
    assert!(!verified.holds(), "{case}: {verified:?}");
    let state = look.seal_of(&id).await.unwrap();
    assert!(is_altered(&state), "{case}: {state:?}");
    look.close().await;
    if let Some(store) = store {
        let state = store.seal_of(&id).await.unwrap();
        assert!(is_altered(&state), "{case}: {state:?}");
        let refused = store.submit_input(&id, "and then?", &ROOM, at(90)).await;
        assert!(
            matches!(refused, Err(Error::Altered { .. })),
            "{case}: {refused:?}"
        );
        store.audit(deed("user.removed", 91)).await.unwrap();
        if forgery != Forgery::InPlace {
            // The current key does not sign over it.
            let last = store.last_checkpoint().await.unwrap().unwrap();
            assert!(
                last.public_key != public(current) || last.audit_number < store_end(origin),
                "{case}: {last:?}"
            );
        }
        store.close().await;
    } else {
        let opened = open(origin, current);
        if forgery == Forgery::InPlace {
            let store = opened.unwrap();
            let refused = store.submit_input(&id, "and then?", &ROOM, at(90)).await;
            assert!(
                matches!(refused, Err(Error::Altered { .. })),
                "{case}: {refused:?}"
            );
            store.close().await;
        } else {
            let refused = opened.unwrap_err();
            let fits = match forgery {
                Forgery::Whole => matches!(refused, Error::KeyOrder { .. }),
                Forgery::SealAlone | Forgery::InPlace => matches!(refused, Error::Unsigned { .. }),
            };
            assert!(fits, "{case}: {refused}");
            // A person can go on; what was forged stays found.
            let store = Store::adopt(&origin.options(), keyring.clone()).unwrap();
            assert!(is_altered(&store.seal_of(&id).await.unwrap()), "{case}");
            store.close().await;
            let store = open(origin, current).unwrap();
            assert!(is_altered(&store.seal_of(&id).await.unwrap()), "{case}");
            assert!(
                !store.verify_record(&keyring, true).await.unwrap().holds(),
                "{case}"
            );
            store.close().await;
        }
    }
    for left in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(origin.root.path().join(format!("interlock.db{left}")));
    }
    origin.put(&whole);
    std::fs::remove_dir_all(origin.marks()).unwrap();
    copy_folder(&marks, &origin.marks());
    std::fs::remove_dir_all(&marks).unwrap();
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn store_end(place: &Place) -> u64 {
    let end: i64 = Connection::open(place.file())
        .unwrap()
        .query_row("SELECT number FROM audit_end", [], |row| row.get(0))
        .unwrap();
    end.unsigned_abs()
}

/// Everything of the newest key is cut off, and an earlier key signs again: the mark and a checkpoint that was sent elsewhere
/// say that the newest key had signed.
#[tokio::test]
async fn what_is_kept_outside_says_that_a_key_was_replaced() {
    let place = Place::new();
    let store = open(&place, 0).unwrap();
    ended(&store, 1).await;
    store.close().await;
    let before = place.copy("before.db");
    let store = open(&place, 1).unwrap();
    let shipped = store.last_checkpoint().await.unwrap().unwrap();
    store.close().await;
    let _ = std::fs::remove_file(place.root.path().join("interlock.db-wal"));
    place.put(&before);
    let earlier = Keyring::signing(signer(0));
    let store = Store::open_signed(&place.options(), earlier).unwrap();
    store.audit(deed("user.created", 5)).await.unwrap();
    ended(&store, 2).await;
    store.close().await;
    assert!(open(&place, 1).is_err());
    let keyring = signing(&place, 1);
    let look = Store::open_signed(&place.options().read_only(), keyring.clone()).unwrap();
    assert!(is_altered(&look.seal_of(&session_id(2)).await.unwrap()));
    assert!(!look.verify_record(&keyring, true).await.unwrap().holds());
    let compared = look.compare(&keyring, vec![shipped]).await.unwrap();
    assert!(compared[0].fault.is_some(), "{compared:?}");
    look.close().await;
}

/// Whatever was signed before a rotation still counts, also where a key was skipped and where nobody opened the store since.
#[tokio::test]
async fn what_was_signed_before_still_counts() {
    let place = Place::new();
    rotated(&place, 1).await;
    // The store was never opened with the second key, and is only read with the third.
    let keyring = signing(&place, 2);
    let look = Store::open_signed(&place.options().read_only(), keyring.clone()).unwrap();
    assert!(look.seal_of(&session_id(1)).await.unwrap().is_intact());
    assert!(look.verify_record(&keyring, true).await.unwrap().holds());
    look.close().await;
    let store = open(&place, 2).unwrap();
    assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
    store
        .submit_input(&session_id(1), "and then?", &ROOM, at(90))
        .await
        .unwrap();
    let verified = store.verify_record(&keyring, true).await.unwrap();
    assert!(verified.holds(), "{verified:?}");
    // The log says when the key was replaced, once.
    let filter = AuditFilter {
        action: Some("record.".to_owned()),
        limit: 10,
        ..AuditFilter::default()
    };
    let said = |entries: Vec<interlock_store::AuditEntry>| -> Vec<serde_json::Value> {
        entries
            .into_iter()
            .map(|entry| serde_json::json!([entry.deed.action, entry.deed.details]))
            .collect()
    };
    let expected = serde_json::json!(["record.key_replaced", { "earlier": public(0), "key": public(2) }]);
    assert_eq!(
        said(store.audit_entries(&filter).await.unwrap()),
        std::slice::from_ref(&expected)
    );
    store.close().await;
    let store = open(&place, 2).unwrap();
    assert_eq!(said(store.audit_entries(&filter).await.unwrap()), [expected]);
    store.close().await;
    let place = Place::new();
    rotated(&place, 3).await;
    let store = open(&place, 2).unwrap();
    for session in 1..=3 {
        assert!(store.seal_of(&session_id(session)).await.unwrap().is_intact());
    }
    let keyring = signing(&place, 2);
    let verified = store.verify_record(&keyring, true).await.unwrap();
    assert!(verified.holds(), "{verified:?}");
    store.close().await;
}

/// Earlier keys in the wrong order, and a key that was replaced and is to sign again, are refused with the reason.
#[tokio::test]
async fn keys_in_the_wrong_order_are_refused() {
    for opened in [false, true] {
        let place = Place::new();
        rotated(&place, if opened { 3 } else { 2 }).await;
        let wrong = Keyring::signing(signer(2))
            .trusting([public(0), public(1)])
            .keeping_marks(place.marks());
        let refused = Store::open_signed(&place.options(), wrong).unwrap_err();
        assert!(matches!(refused, Error::KeyOrder { .. }), "{refused}");
        let said = refused.to_string();
        for part in [
            "record.previous_keys",
            "newest earlier key first",
            &public(0).to_string(),
            &public(1).to_string(),
        ] {
            assert!(said.contains(part), "{said}");
        }
        let back = Keyring::signing(signer(0))
            .trusting([public(2), public(1)])
            .keeping_marks(place.marks());
        let refused = Store::open_signed(&place.options(), back).unwrap_err();
        assert!(matches!(refused, Error::KeyOrder { .. }), "{refused}");
        open(&place, 2).unwrap().close().await;
    }
}
