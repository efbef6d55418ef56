//! Nothing that somebody else wrote is signed, and a store that was cut off or exchanged for an older copy is not taken for
//! the newest one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use interlock_protocol::{ContentHash, Status};
use interlock_seal::{Keyring, Signer};
use interlock_store::{
    Deed, Error, HeadFound, MarkState, Note, Options, Retention, SealState, Store, SwitchMove,
};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::json;

use crate::support::*;

const SECRET: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

pub(crate) fn signer() -> Signer {
    Signer::from_text(SECRET).unwrap()
}

/// A folder for a store and, beside it, one for marks.
pub(crate) struct Place {
    pub(crate) root: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.root.path().join("interlock.db")
    }

    pub(crate) fn options(&self) -> Options {
        Options::sqlite(self.file())
    }

    pub(crate) fn marks(&self) -> PathBuf {
        self.root.path().join("record.marks")
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::signing(signer()).keeping_marks(self.marks())
    }

    pub(crate) fn open(&self) -> Result<Store, Error> {
        Store::open_signed(&self.options(), self.keyring())
    }

    /// The one file with the mark by the path of the store.
    pub(crate) fn mark(&self) -> PathBuf {
        let mut files: Vec<PathBuf> = self
            .marks()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|file| !file.file_name().unwrap().to_string_lossy().starts_with("begun-"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.pop().unwrap()
    }

    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        let to = self.root.path().join(name);
        std::fs::copy(self.file(), &to).unwrap();
        to
    }

    pub(crate) fn put(&self, copy: &Path) {
        std::fs::copy(copy, self.file()).unwrap();
    }

    /// Somebody with the file and without the key: no trigger and no constraint stops them, and the schema stays as it is.
    pub(crate) fn forge(&self, sql: &str) {
        forger(&self.file()).execute_batch(sql).unwrap();
    }
}

/// A connection without triggers and foreign keys.
pub(crate) fn forger(file: &Path) -> Connection {
    let conn = Connection::open(file).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        .unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    conn
}

pub(crate) fn deed(action: &str, second: i64) -> Deed {
    Deed {
        at: at(second),
        actor: Some("ada".parse().unwrap()),
        action: action.to_owned(),
        subject: None,
        details: json!({}),
    }
}

/// A session that has ended.
pub(crate) async fn ended(store: &Store, number: u64) {
    let claim = claimed(store, number).await;
    store
        .append(batch(&claim, vec![event("done"), status(Status::Completed)]))
        .await
        .unwrap();
}

pub(crate) async fn verify(place: &Place) -> interlock_store::RecordVerified {
    let store = Store::open(&place.options().read_only()).unwrap();
    let verified = store.verify_record(&place.keyring(), true).await.unwrap();
    store.close().await;
    verified
}

/// Every older copy of a store is refused, whatever was done since; the newest one is not.
#[tokio::test]
async fn an_older_copy_is_not_taken_for_the_newest_one() {
    let place = Place::new();
    let mut copies = Vec::new();
    for step in 0..8_u64 {
        let store = place.open().unwrap();
        match step {
            0 | 3 | 5 => ended(&store, step).await,
            1 => drop(store.audit(deed("user.created", 1)).await.unwrap()),
            2 => drop(store.submit(new_session(step), &ROOM).await.unwrap()),
            4 => {
                let stop = SwitchMove::Stop { reason: None };
                let ada = "ada".parse().unwrap();
                let deed = deed("writes.stopped", 4);
                drop(store.move_switch(stop, &ada, at(4), Some(deed)).await.unwrap());
            }
            6 => {
                let cancelled = store.request_cancel(&session_id(2), None, at(6)).await;
                assert!(cancelled.is_ok());
            }
            _ => drop(store.audit(deed("user.removed", 7)).await.unwrap()),
        }
        store.close().await;
        copies.push(place.copy(&format!("copy-{step}.db")));
    }
    let newest = copies.pop().unwrap();
    for (step, copy) in copies.iter().enumerate() {
        place.put(copy);
        let refused = place.open().unwrap_err();
        assert!(
            matches!(&refused, Error::Behind { mark, .. } if *mark == place.mark().display().to_string()),
            "step {step}: {refused}"
        );
        assert!(
            refused.to_string().contains("interlock record adopt"),
            "{refused}"
        );
        let verified = verify(&place).await;
        assert!(!verified.holds(), "step {step}: {verified:?}");
        assert!(
            verified.problems[0].place.starts_with("mark "),
            "{:?}",
            verified.problems
        );
    }
    // Nothing at all, and a store that was begun again, are not the newest one either.
    std::fs::remove_file(place.file()).unwrap();
    assert!(matches!(place.open(), Err(Error::Behind { .. })));
    place.put(&newest);
    place.open().unwrap().close().await;
    assert!(verify(&place).await.holds());
}

/// The newest session, its seals, the checkpoints and the audit entries about it: all are removed, and what is left fits
/// together. The mark and a checkpoint that was kept elsewhere say that it is not all.
#[tokio::test]
async fn a_store_that_was_cut_off_row_by_row_is_found() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    let first = store.audit(deed("user.created", 1)).await.unwrap();
    let early = store.last_checkpoint().await.unwrap().unwrap();
    ended(&store, 2).await;
    let second = store.audit(deed("user.removed", 2)).await.unwrap();
    let late = store.last_checkpoint().await.unwrap().unwrap();
    store.close().await;
    let seals = early.seal_number;
    place.forge(&format!(
        "DELETE FROM seals WHERE number > {seals}; DELETE FROM checkpoints WHERE number > {};
         DELETE FROM audit WHERE number > 1; UPDATE audit_end SET number = 1, hash = (SELECT hash FROM audit);
         DELETE FROM session_texts WHERE session = 2; DELETE FROM events WHERE session = 2;
         DELETE FROM sessions WHERE key = 2;",
        early.number
    ));
    assert!(matches!(place.open(), Err(Error::Behind { .. })));
    // Without the mark all that is left is as it was signed.
    let blind = Keyring::signing(signer());
    let store = Store::open(&place.options().read_only()).unwrap();
    let verified = store.verify_record(&blind, true).await.unwrap();
    assert!(verified.holds(), "{verified:?}");
    assert_eq!(verified.mark, MarkState::None);
    assert!(!store.verify_record(&place.keyring(), true).await.unwrap().holds());
    let compared = store
        .compare(&blind, vec![early.clone(), late.clone()])
        .await
        .unwrap();
    assert_eq!(compared[0].fault, None);
    let fault = compared[1].fault.as_deref().unwrap();
    assert_eq!(
        fault,
        format!(
            "audit entry 2 is missing, and seal {} is missing",
            late.seal_number
        )
    );
    // Each part of a checkpoint is compared.
    let mut forged = Vec::new();
    for part in 0..6 {
        let mut one = early.clone();
        match part {
            0 => one.number += 1,
            1 => one.audit_number = 0,
            2 => one.audit_hash = ContentHash::of("x"),
            3 => one.seal_number += 1,
            4 => one.seal_hash = ContentHash::of("x"),
            _ => one.at = at(999),
        }
        forged.push(one);
    }
    for compared in store.compare(&blind, forged).await.unwrap() {
        assert_eq!(compared.fault.as_deref(), Some("its signature does not fit"));
    }
    let other = Keyring::signing(Signer::generate().unwrap());
    let fault = store.compare(&other, vec![early.clone()]).await.unwrap()[0]
        .fault
        .clone()
        .unwrap();
    assert!(fault.contains(&early.public_key.to_string()), "{fault}");
    // A hash says what has it, and no more.
    for (hash, found) in [
        (first.hash, Some(HeadFound::Entry(1))),
        (second.hash, None),
        (early.seal_hash, Some(HeadFound::Seal(seals))),
        (late.seal_hash, None),
    ] {
        assert_eq!(store.find_head(&hash).await.unwrap(), found);
    }
}

/// A backup that was restored goes on once somebody says so, and is marked from there.
#[tokio::test]
async fn a_restored_backup_is_adopted_by_a_person() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    store.close().await;
    let backup = place.copy("backup.db");
    let store = place.open().unwrap();
    ended(&store, 2).await;
    store.close().await;
    place.put(&backup);
    assert!(matches!(place.open(), Err(Error::Behind { .. })));
    let store = Store::adopt(&place.options(), place.keyring()).unwrap();
    store.audit(deed("record.adopted", 9)).await.unwrap();
    store.close().await;
    let store = place.open().unwrap();
    assert!(store.verify_record(&place.keyring(), true).await.unwrap().holds());
    ended(&store, 3).await;
    store.close().await;
    place.put(&backup);
    assert!(
        matches!(place.open(), Err(Error::Behind { .. })),
        "the mark counts again"
    );
    // Stopping all writes never depends on any of it.
    let store = Store::open_without_key(&place.options()).unwrap();
    let stop = SwitchMove::Stop { reason: None };
    let ada = "ada".parse().unwrap();
    store
        .move_switch(stop, &ada, at(9), Some(deed("writes.stopped", 9)))
        .await
        .unwrap();
    assert!(store.switch().await.unwrap().stopped);
    store.close().await;
}

/// A loss of power may take what was not synced. So the mark follows what was synced alone, and is never ahead.
#[tokio::test]
async fn a_mark_is_never_ahead_of_the_disk() {
    let place = Place::new();
    let store = place.open().unwrap();
    store.submit(new_session(1), &ROOM).await.unwrap();
    let synced = store.last_checkpoint().await.unwrap().unwrap();
    let marked = || {
        let text = std::fs::read_to_string(place.mark()).unwrap();
        let last = text.lines().last().unwrap().to_owned();
        serde_json::from_str::<interlock_store::Checkpoint>(&last).unwrap()
    };
    assert_eq!(marked(), synced);
    // Taking up a session is not synced.
    let claim = store.claim(&session_id(1), &worker(1), at(1)).await.unwrap();
    assert_ne!(store.last_checkpoint().await.unwrap().unwrap(), synced);
    assert_eq!(marked(), synced);
    store
        .append(batch(&claim, vec![status(Status::Completed)]))
        .await
        .unwrap();
    assert_eq!(marked(), store.last_checkpoint().await.unwrap().unwrap());
    store.close().await;
}

#[tokio::test]
async fn a_mark_stays_small_private_and_its_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let store = place.open().unwrap();
    for number in 0..300 {
        store.audit(deed("user.changed", number)).await.unwrap();
    }
    store.close().await;
    let mark = place.mark();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&mark), mode(&place.marks())), (0o600, 0o700));
    assert!(mark.metadata().unwrap().len() < 70_000);
    let good = std::fs::read(&mark).unwrap();
    let cut = |lines: &[u8], at: usize| lines[..lines.len() - at].to_vec();
    // A line that was cut short is not one; the others count.
    std::fs::write(&mark, cut(&good, 40)).unwrap();
    place.open().unwrap().close().await;
    std::fs::write(&mark, b"").unwrap();
    place.open().unwrap().close().await;
    for damaged in [b"{}\n".to_vec(), b"\xff\xfe".to_vec()] {
        std::fs::write(&mark, damaged).unwrap();
        assert!(matches!(place.open(), Err(Error::Mark { .. })));
    }
    // Another key's mark does not count, and says so.
    let other = Place::new();
    let keyring = Keyring::signing(Signer::generate().unwrap()).keeping_marks(other.marks());
    let store = Store::open_signed(&other.options(), keyring).unwrap();
    ended(&store, 1).await;
    store.close().await;
    std::fs::copy(other.mark(), &mark).unwrap();
    let refused = place.open().unwrap_err();
    assert!(refused.to_string().contains("ed25519:"), "{refused}");
    // A link is not followed.
    std::fs::remove_file(&mark).unwrap();
    let elsewhere = place.root.path().join("elsewhere");
    std::fs::write(&elsewhere, &good).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &mark).unwrap();
    assert!(matches!(place.open(), Err(Error::Mark { .. })));
}

/// Whatever is done to a session that was changed outside Interlock, it is never signed as if it were whole.
#[tokio::test]
async fn no_change_is_washed_clean() {
    let month = Duration::from_hours(720);
    let whole = Place::new();
    let store = whole.open().unwrap();
    ended(&store, 1).await;
    store.close().await;
    let whole = whole.copy("whole.db");
    let changed: Vec<(&str, Place)> = [
        ("input", "UPDATE session_texts SET input = 'something else'"),
        ("owner", "UPDATE sessions SET owner = 'eve'"),
        (
            "status",
            "UPDATE sessions SET status = 'in_progress', worker = 'wrk_gone', completed_at = NULL",
        ),
        ("deleted", "UPDATE sessions SET deleted_at = 1"),
        (
            "waiting",
            "UPDATE sessions SET status = 'pending', completed_at = NULL",
        ),
    ]
    .into_iter()
    .map(|(part, change)| {
        let place = Place::new();
        place.put(&whole);
        place.forge(change);
        (part, place)
    })
    .collect();
    for operation in [
        "soft_delete",
        "restore",
        "request_cancel",
        "resubmit",
        "retain",
        "purge",
        "take_over",
        "claim_next",
        "remember",
        "append",
        "submit_input",
        "claim",
        "reopen",
    ] {
        for (part, template) in &changed {
            let place = Place::new();
            place.put(&template.file());
            let store = Store::open_signed(&place.options(), Keyring::signing(signer())).unwrap();
            let session = session_id(1);
            let later = at(10_000_000);
            let old = Retention {
                sessions_days: Some(1),
                purge_days: None,
            };
            let purge = Retention {
                sessions_days: None,
                purge_days: Some(1),
            };
            // Whether it is refused or done: neither signs what somebody else wrote.
            match operation {
                "soft_delete" => drop(store.soft_delete(&session, later).await),
                "restore" => drop(store.restore(&session).await),
                "request_cancel" => drop(store.request_cancel(&session, None, later).await),
                "resubmit" => drop(store.resubmit(&session, later).await),
                "retain" => drop(store.retain(&old, later).await),
                "purge" => drop(store.retain(&purge, later).await),
                "take_over" => drop(store.take_over(later, month).await),
                "claim_next" => drop(store.claim_next(&worker(7), later, MANY).await),
                "remember" => {
                    let note = Note {
                        id: "note_1".to_owned(),
                        about: Some("node:a".to_owned()),
                        text: "a note".to_owned(),
                        session: session.to_string(),
                        written_at: later,
                    };
                    drop(store.remember(note).await);
                }
                "append" => drop(store.append(unclaimed(1, vec![event("more")])).await),
                "submit_input" => drop(store.submit_input(&session, "more", &ROOM, later).await),
                "claim" => drop(store.claim(&session, &worker(7), later).await),
                _ => drop(store.reopen(&session, &worker(7), later).await),
            }
            let verified = store.verify_record(&place.keyring(), true).await.unwrap();
            assert!(
                !verified.holds(),
                "{operation} after a change of {part}: {verified:?}"
            );
            // Also not later.
            drop(store.soft_delete(&session, later).await);
            let verified = store.verify_record(&place.keyring(), true).await.unwrap();
            assert!(!verified.holds(), "{operation} after a change of {part}, later");
            store.close().await;
        }
    }
}

/// A session that was changed outside Interlock and then touched by it is in the audit log, once.
#[tokio::test]
async fn a_change_that_is_met_is_in_the_audit_log() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    store.close().await;
    place.forge("UPDATE session_texts SET input = 'something else'");
    let store = place.open().unwrap();
    for _ in 0..3 {
        drop(store.soft_delete(&session_id(1), at(9)).await);
        drop(store.restore(&session_id(1)).await);
    }
    let all = interlock_store::AuditFilter {
        limit: 10,
        ..interlock_store::AuditFilter::default()
    };
    let entries = store.audit_entries(&all).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.deed.action.as_str()).collect();
    assert_eq!(actions, ["session.altered"]);
    assert_eq!(
        entries[0].deed.details,
        json!({ "what": "title, input and answer" })
    );
    let state = store.seal_of(&session_id(1)).await.unwrap();
    assert!(matches!(state, SealState::Altered { .. }), "{state:?}");
    store.close().await;
}

/// Entries that were added without the key are not signed: at the next start the store is refused, and while a process runs
/// the end of the log stays unsigned.
#[tokio::test]
async fn entries_that_were_added_without_the_key_are_not_signed() {
    // Not even the last one, under a name that anybody can write.
    for action in ["hold.approved", "writes.resumed", "writes.stopped"] {
        let refused = true;
        let place = Place::new();
        let store = place.open().unwrap();
        ended(&store, 1).await;
        store.audit(deed("user.created", 1)).await.unwrap();
        let running = store.last_checkpoint().await.unwrap().unwrap();
        // Somebody else, with the file and without the key.
        let outsider = Store::open_without_key(&place.options()).unwrap();
        outsider.audit(deed(action, 2)).await.unwrap();
        outsider.close().await;
        store.audit(deed("user.removed", 3)).await.unwrap();
        let after = store.last_checkpoint().await.unwrap().unwrap();
        let verified = store.verify_record(&place.keyring(), true).await.unwrap();
        assert_eq!(verified.holds(), !refused, "{action}: {verified:?}");
        assert_eq!(after == running, refused, "{action}");
        store.close().await;
        match place.open() {
            Ok(store) => {
                assert!(!refused, "{action}");
                store.close().await;
            }
            Err(error) => {
                assert!(refused, "{action}: {error}");
                assert!(matches!(error, Error::Unsigned { .. }), "{error}");
                let store = Store::adopt(&place.options(), place.keyring()).unwrap();
                store.audit(deed("record.adopted", 4)).await.unwrap();
                store.close().await;
                place.open().unwrap().close().await;
            }
        }
    }
}

/// What a planted trigger writes would be signed with the rest.
#[tokio::test]
async fn a_planted_trigger_is_refused() {
    for (planted, name) in [
        (
            "CREATE TRIGGER evil AFTER INSERT ON holds BEGIN UPDATE holds SET body = 'x'; END",
            "evil",
        ),
        (
            "DROP TRIGGER audit_stays; CREATE TRIGGER audit_stays AFTER INSERT ON audit BEGIN DELETE FROM notes; END",
            "audit_stays",
        ),
        ("CREATE VIEW spare AS SELECT 1", "spare"),
    ] {
        let place = Place::new();
        place.open().unwrap().close().await;
        Connection::open(place.file())
            .unwrap()
            .execute_batch(planted)
            .unwrap();
        let refused = place.open().unwrap_err();
        assert!(
            matches!(&refused, Error::SchemaChanged(change) if change.name == name),
            "{refused:?}"
        );
        assert_eq!(
            Store::adopt(&place.options(), place.keyring()).unwrap_err(),
            refused
        );
        // Stopping all writes never depends on it.
        Store::open_without_key(&place.options()).unwrap().close().await;
    }
}

/// The first start with a new key signs the end of the log with it: who has the new key alone can check it.
#[tokio::test]
async fn a_new_key_signs_the_end_at_once() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    store.audit(deed("user.created", 1)).await.unwrap();
    store.close().await;
    let earlier = signer().public();
    let new = Keyring::signing(Signer::generate().unwrap())
        .trusting([earlier])
        .keeping_marks(place.marks());
    let store = Store::open_signed(&place.options(), new.clone()).unwrap();
    let last = store.last_checkpoint().await.unwrap().unwrap();
    assert_eq!(last.public_key, new.signer().unwrap().public());
    assert!(last.verifies(&Keyring::checking([last.public_key])));
    assert!(store.verify_record(&new, true).await.unwrap().holds());
    store.close().await;
    // Once is enough.
    let store = Store::open_signed(&place.options(), new.clone()).unwrap();
    assert_eq!(store.last_checkpoint().await.unwrap().unwrap(), last);
    store.close().await;
    // The earlier key alone does not open it any more, and is told which key it needs.
    let refused = place.open().unwrap_err().to_string();
    assert!(refused.contains(&last.public_key.to_string()), "{refused}");
}

/// Old notes are forgotten by Interlock itself, so the sessions that wrote them are not "changed outside".
#[tokio::test]
async fn a_forgotten_note_is_no_forgery() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    let note = |number: u32, session: bool| Note {
        id: format!("note_{number}"),
        about: None,
        text: format!("note {number}"),
        session: session_id(if session { 1 } else { 2 }).to_string(),
        written_at: at(i64::from(number)),
    };
    store.remember(note(0, true)).await.unwrap();
    assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
    store.close().await;
    // So many of others that the next one is one too many.
    Connection::open(place.file())
        .unwrap()
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
             INSERT INTO notes (id, text, session, written_at) SELECT 'other_' || i, 'text', 'ses_other', i FROM n",
        )
        .unwrap();
    let store = place.open().unwrap();
    assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
    store.remember(note(10_000, false)).await.unwrap();
    assert_eq!(store.recall("note 0", None, 10).await.unwrap().len(), 1);
    assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
    store.close().await;
}
