//! Ways to forge the record without the key that worked once: each is refused or found.

use std::fmt::Write as _;

use interlock_protocol::{Status, UserId};
use interlock_seal::Keyring;
use interlock_store::{AuditFilter, Deed, Error, NewSession, SealState, Store, Submitted, SwitchMove};
use rusqlite::Connection;

use crate::marks::{Place, deed, ended, signer, verify};
use crate::support::*;

const PLANTED: &str = "ses_000000000000000000000000deadbeef";

/// A session like the first one, with this key and status.
fn plant(place: &Place, key: i64, status: &str) {
    let conn = Connection::open(place.file()).unwrap();
    let columns: Vec<String> = conn
        .prepare("SELECT name FROM pragma_table_xinfo('sessions') WHERE hidden = 0 AND name NOT IN ('key', 'id', 'status')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let columns = columns.join(", ");
    place.forge(&format!(
        "INSERT INTO sessions (key, id, status, {columns}) SELECT {key}, '{PLANTED}', '{status}', {columns} FROM sessions LIMIT 1;
         INSERT INTO session_texts (session, title, input, options, answer, error)
         SELECT {key}, title, input, options, answer, error FROM session_texts LIMIT 1;"
    ));
}

/// What is planted in the schema while Interlock runs does nothing: the next transaction is refused, and nothing that was
/// changed is signed. Also when the number of the schema is set back, and when it is removed in time.
#[tokio::test]
async fn what_is_planted_while_interlock_runs_is_refused() {
    let trigger = "CREATE TRIGGER evil AFTER INSERT ON audit BEGIN
         UPDATE session_texts SET input = 'forged'; UPDATE sessions SET owner = 'eve'; END";
    let index = "CREATE INDEX evil ON audit (actor)";
    let table = "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'text ', 'text  ') WHERE name = 'notes'";
    for (planted, name) in [(trigger, "evil"), (index, "evil"), (table, "notes")] {
        for set_back in [false, true] {
            let place = Place::new();
            let store = place.open().unwrap();
            ended(&store, 1).await;
            store.audit(deed("user.created", 1)).await.unwrap();
            let before = store.last_checkpoint().await.unwrap();
            let conn = Connection::open(place.file()).unwrap();
            let version: i64 = conn
                .query_row("PRAGMA schema_version", [], |row| row.get(0))
                .unwrap();
            conn.execute_batch(planted).unwrap();
            for attempt in 0..3 {
                let refused = store.audit(deed("user.removed", 2)).await.unwrap_err();
                assert!(
                    matches!(&refused, Error::SchemaChanged(change) if change.name == name),
                    "{planted}, set back: {set_back}, {attempt}: {refused:?}"
                );
                if set_back {
                    conn.execute_batch(&format!("PRAGMA schema_version = {version}"))
                        .unwrap();
                }
            }
            assert_eq!(store.last_checkpoint().await.unwrap(), before);
            assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
            if name == "evil" {
                let removed = if planted == trigger {
                    "DROP TRIGGER evil"
                } else {
                    "DROP INDEX evil"
                };
                conn.execute_batch(removed).unwrap();
                if set_back {
                    conn.execute_batch(&format!("PRAGMA schema_version = {version}"))
                        .unwrap();
                }
                store.audit(deed("user.removed", 3)).await.unwrap();
                ended(&store, 2).await;
                assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
                assert!(store.verify_record(&place.keyring(), true).await.unwrap().holds());
            }
            store.close().await;
        }
    }
}

/// All writes can be stopped also while something is planted. Nothing is signed then, whatever was changed with it.
#[tokio::test]
async fn writes_are_stopped_while_something_is_planted() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    ended(&store, 2).await;
    let before = store.last_checkpoint().await.unwrap();
    let conn = Connection::open(place.file()).unwrap();
    conn.execute_batch(
        "CREATE TRIGGER evil AFTER INSERT ON audit BEGIN
         UPDATE session_texts SET input = 'forged' WHERE session = 1; UPDATE sessions SET owner = 'eve' WHERE key = 1; END",
    )
    .unwrap();
    let ada = "ada".parse().unwrap();
    let stop = SwitchMove::Stop { reason: None };
    store
        .move_switch(stop, &ada, at(4), Some(deed("writes.stopped", 4)))
        .await
        .unwrap();
    assert!(store.switch().await.unwrap().stopped);
    let resume = SwitchMove::Resume { seen: None };
    let refused = store
        .move_switch(resume, &ada, at(5), Some(deed("writes.resumed", 5)))
        .await;
    assert!(matches!(refused, Err(Error::SchemaChanged(_))), "{refused:?}");
    assert!(store.switch().await.unwrap().stopped);
    assert_eq!(store.last_checkpoint().await.unwrap(), before);
    conn.execute_batch("DROP TRIGGER evil").unwrap();
    // That writes were stopped is signed now; what the trigger wrote is not. The entry that could not be signed names nobody; who
    // it was is written down by the process that knows.
    store.audit(deed("user.created", 6)).await.unwrap();
    assert_eq!(
        told(&store).await,
        [
            (None, "writes.stopped".to_owned()),
            (None, "record.unsigned_stop".to_owned()),
            (Some("ada".to_owned()), "writes.stopped".to_owned()),
            (Some("ada".to_owned()), "user.created".to_owned()),
        ]
    );
    let state = store.seal_of(&session_id(1)).await.unwrap();
    assert!(matches!(state, SealState::Altered { .. }), "{state:?}");
    assert!(store.seal_of(&session_id(2)).await.unwrap().is_intact());
    let verified = store.verify_record(&place.keyring(), true).await.unwrap();
    let places: Vec<&str> = verified
        .problems
        .iter()
        .map(|problem| problem.place.as_str())
        .collect();
    assert_eq!(places, [session_id(1).as_str()]);
    store.close().await;
}

/// Who did what, in order, but for what the log says about sessions.
async fn told(store: &Store) -> Vec<(Option<String>, String)> {
    let filter = AuditFilter {
        limit: 100,
        ..AuditFilter::default()
    };
    let mut entries = store.audit_entries(&filter).await.unwrap();
    entries.reverse();
    let named = |actor: Option<UserId>| actor.map(|actor| actor.to_string());
    entries
        .into_iter()
        .filter(|entry| !entry.deed.action.starts_with("session."))
        .map(|entry| (named(entry.deed.actor), entry.deed.action))
        .collect()
}

/// One entry that stops all writes is signed although it was written without the key, if it can be true, and only together with an
/// entry that says so. Nothing else is, and nobody gets words put into their mouth.
#[tokio::test]
async fn a_stop_without_the_key_is_signed_only_as_that() {
    let on = "INSERT OR REPLACE INTO settings VALUES ('kill_switch', 'engaged')";
    let off = "INSERT OR REPLACE INTO settings VALUES ('kill_switch', 'released')";
    let stop = |change: fn(&mut Deed)| {
        let mut deed = Deed {
            actor: Some("local:root".parse().unwrap()),
            details: serde_json::json!({ "reason": "it burns" }),
            ..deed("writes.stopped", 4)
        };
        change(&mut deed);
        deed
    };
    let right = stop(|_| {});
    for (what, switch, entries, signed) in [
        ("by a user of this machine", on, vec![right.clone()], true),
        ("by nobody", on, vec![stop(|deed| deed.actor = None)], true),
        (
            "without a reason",
            on,
            vec![stop(|deed| deed.details = serde_json::json!({ "reason": null }))],
            true,
        ),
        ("while writes go on", off, vec![right.clone()], false),
        ("twice", on, vec![right.clone(), right.clone()], false),
        (
            "by somebody else",
            on,
            vec![stop(|deed| deed.actor = Some("zoe".parse().unwrap()))],
            false,
        ),
        (
            "before the entry before it",
            on,
            vec![stop(|deed| deed.at = at(0))],
            false,
        ),
        ("in the future", on, vec![stop(|deed| deed.at = at(3_600))], false),
        (
            "about something",
            on,
            vec![stop(|deed| deed.subject = Some("ses_1".to_owned()))],
            false,
        ),
        (
            "with more to say",
            on,
            vec![stop(|deed| {
                deed.details = serde_json::json!({ "approved_by": "zoe" });
            })],
            false,
        ),
        (
            "with a reason that is none",
            on,
            vec![stop(|deed| {
                deed.details = serde_json::json!({ "reason": { "by": "zoe" } });
            })],
            false,
        ),
        (
            "another deed",
            on,
            vec![stop(|deed| deed.action = "writes.resumed".to_owned())],
            false,
        ),
    ] {
        // While a process runs, and when one starts.
        for running in [false, true] {
            let case = format!("{what}, running {running}");
            let place = Place::new();
            let mut store = place.open().unwrap();
            ended(&store, 1).await;
            store.audit(deed("user.created", 1)).await.unwrap();
            if !running {
                store.close().await;
            }
            let outsider = Store::open_without_key(&place.options()).unwrap();
            place.forge(switch);
            for entry in &entries {
                outsider.audit(entry.clone()).await.unwrap();
            }
            outsider.close().await;
            if !running {
                match place.open() {
                    Ok(opened) => store = opened,
                    Err(error) => {
                        assert!(
                            !signed && matches!(error, Error::Unsigned { .. }),
                            "{case}: {error}"
                        );
                        continue;
                    }
                }
            }
            store.audit(deed("user.removed", 5)).await.unwrap();
            let told = told(&store).await;
            let noted = told.iter().any(|(_, action)| action == "record.unsigned_stop");
            let verified = store.verify_record(&place.keyring(), true).await.unwrap();
            assert_eq!((noted, verified.holds()), (signed, signed), "{case}: {told:?}");
            if signed {
                let actions: Vec<&str> = told.iter().map(|(_, action)| action.as_str()).collect();
                let expected = [
                    "user.created",
                    "writes.stopped",
                    "record.unsigned_stop",
                    "user.removed",
                ];
                assert_eq!(actions, expected, "{case}");
            }
            store.close().await;
        }
    }
}

/// However often writes are stopped without the key, the next process with the key opens the store.
#[tokio::test]
async fn writes_are_stopped_again_and_again_without_the_key() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    store.audit(deed("user.created", 9)).await.unwrap();
    store.close().await;
    let root: UserId = "local:root".parse().unwrap();
    for second in [3, 4, 5] {
        let outsider = Store::open_without_key(&place.options()).unwrap();
        let stop = SwitchMove::Stop { reason: None };
        // The clock went back.
        let deed = Deed {
            actor: Some(root.clone()),
            ..deed("writes.stopped", second)
        };
        outsider
            .move_switch(stop, &root, at(second), Some(deed))
            .await
            .unwrap();
        assert!(outsider.switch().await.unwrap().stopped);
        outsider.close().await;
    }
    let store = place.open().unwrap();
    assert!(store.verify_record(&place.keyring(), true).await.unwrap().holds());
    let actions: Vec<String> = told(&store).await.into_iter().map(|(_, action)| action).collect();
    assert_eq!(
        actions,
        ["user.created", "writes.stopped", "record.unsigned_stop"]
    );
    store.close().await;
}

/// No session without a seal counts as older than signing, whatever its key; nobody goes on with it, and it is never signed as
/// whole.
#[tokio::test]
async fn a_planted_session_is_not_older_than_signing() {
    for adopted in [false, true] {
        for key in [-5, 0, 2, 50] {
            for status in ["pending", "completed", "in_progress"] {
                let place = Place::new();
                if adopted {
                    let store = Store::open(&place.options()).unwrap();
                    ended(&store, 1).await;
                    ended(&store, 3).await;
                    ended(&store, 4).await;
                    store.close().await;
                    place.forge("DELETE FROM events WHERE session = 2; DELETE FROM session_texts WHERE session = 2; DELETE FROM sessions WHERE key = 2");
                    Store::adopt(&place.options(), place.keyring())
                        .unwrap()
                        .close()
                        .await;
                } else {
                    let store = place.open().unwrap();
                    ended(&store, 1).await;
                    store.close().await;
                }
                let case = format!("adopted {adopted}, key {key}, {status}");
                plant(&place, key, status);
                let planted = PLANTED.parse().unwrap();
                let store = place.open().unwrap();
                let state = store.seal_of(&planted).await.unwrap();
                assert!(matches!(state, SealState::Altered { .. }), "{case}: {state:?}");
                assert!(store.claim(&planted, &worker(1), at(9)).await.is_err(), "{case}");
                assert!(
                    store.claim_next(&worker(1), at(9), MANY).await.unwrap().is_none(),
                    "{case}"
                );
                drop(store.submit_input(&planted, "more", &ROOM, at(9)).await);
                drop(store.reopen(&planted, &worker(1), at(9)).await);
                drop(store.soft_delete(&planted, at(9)).await);
                drop(store.restore(&planted).await);
                let state = store.seal_of(&planted).await.unwrap();
                assert!(matches!(state, SealState::Altered { .. }), "{case}: {state:?}");
                store.close().await;
                let verified = verify(&place).await;
                assert!(!verified.holds(), "{case}: {verified:?}");
                assert_eq!(verified.sessions_older, if adopted { 2 } else { 0 }, "{case}");
            }
        }
    }
}

/// A session that is older than signing is gone on with if it is what it was when signing began, and stays older.
#[tokio::test]
async fn an_older_session_stays_older() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    ended(&store, 1).await;
    store.submit(new_session(2), &ROOM).await.unwrap();
    let running = claimed(&store, 3).await;
    ended(&store, 4).await;
    store.close().await;
    assert_eq!(place.open().unwrap_err(), Error::Unsealed { sessions: 4 });
    let store = Store::adopt(&place.options(), place.keyring()).unwrap();
    for (number, state) in [
        (1, SealState::Older),
        (2, SealState::Older),
        (3, SealState::InProgress),
        (4, SealState::Older),
    ] {
        assert_eq!(
            store.seal_of(&session_id(number)).await.unwrap(),
            state,
            "{number}"
        );
    }
    let claim = store.claim(&session_id(2), &worker(1), at(3)).await.unwrap();
    for claim in [claim, running] {
        assert_eq!(
            store.seal_of(&claim.session).await.unwrap(),
            SealState::InProgress
        );
        store
            .append(batch(&claim, vec![event("done"), status(Status::Completed)]))
            .await
            .unwrap();
        assert_eq!(store.seal_of(&claim.session).await.unwrap(), SealState::Older);
    }
    store.soft_delete(&session_id(1), at(5)).await.unwrap();
    assert_eq!(store.seal_of(&session_id(1)).await.unwrap(), SealState::Older);
    store.close().await;
    let verified = verify(&place).await;
    assert!(verified.holds() && verified.sessions_older == 4, "{verified:?}");
    place.forge("UPDATE session_texts SET input = 'something else' WHERE session = 4");
    let store = place.open().unwrap();
    let state = store.seal_of(&session_id(4)).await.unwrap();
    assert!(matches!(state, SealState::Altered { .. }), "{state:?}");
    assert!(matches!(
        store.submit_input(&session_id(4), "more", &ROOM, at(9)).await,
        Err(Error::Altered { .. })
    ));
    store.close().await;
}

/// Puts an index in the schema or takes it out, and leaves its pages alone.
fn set_index(place: &Place, (table, name): (&str, &str), there: Option<&(i64, String)>) -> (i64, String) {
    let conn = Connection::open(place.file()).unwrap();
    let found = conn
        .query_row(
            "SELECT rootpage, sql FROM sqlite_schema WHERE name = ?",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap_or_default();
    conn.execute_batch("PRAGMA writable_schema = ON").unwrap();
    match there {
        Some((page, sql)) => conn
            .execute(
                "INSERT INTO sqlite_schema VALUES ('index', ?1, ?4, ?2, ?3)",
                (name, page, sql, table),
            )
            .unwrap(),
        None => conn
            .execute("DELETE FROM sqlite_schema WHERE name = ?", [name])
            .unwrap(),
    };
    let version: i64 = conn
        .query_row("PRAGMA schema_version", [], |row| row.get(0))
        .unwrap();
    conn.execute_batch(&format!("PRAGMA schema_version = {}", version + 1))
        .unwrap();
    found
}

/// The session is put back to what an earlier seal says, and the index of the seals leaves the later seals out, or says that
/// they are of something else.
#[tokio::test]
async fn an_index_that_disagrees_with_its_table_hides_no_seal() {
    for renamed in [false, true] {
        for size in ["small", "large"] {
            let place = Place::new();
            let store = place.open().unwrap();
            store.submit(new_session(1), &ROOM).await.unwrap();
            let early = store.last_checkpoint().await.unwrap().unwrap().seal_number;
            store.close().await;
            let copy = place.copy("pending.db");
            let store = place.open().unwrap();
            let claim = store.claim(&session_id(1), &worker(1), at(1)).await.unwrap();
            store
                .append(batch(&claim, vec![event("done"), status(Status::Completed)]))
                .await
                .unwrap();
            store.close().await;
            // Roll back every row of the session.
            let mut sql = format!("ATTACH '{}' AS early;", copy.display());
            for table in ["events", "session_texts", "sessions"] {
                let columns: Vec<String> = Connection::open(place.file())
                    .unwrap()
                    .prepare(&format!(
                        "SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0"
                    ))
                    .unwrap()
                    .query_map([], |row| row.get(0))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                let columns = columns.join(", ");
                write!(
                    sql,
                    "DELETE FROM main.{table}; INSERT INTO main.{table} ({columns}) SELECT {columns} FROM early.{table};"
                )
                .unwrap();
            }
            if size == "large" {
                // Beyond the size up to which a store is looked at when it is opened.
                sql += "INSERT INTO settings (name, value) VALUES ('padding', hex(zeroblob(3000000)));";
            }
            place.forge(&sql);
            place.forge(&format!(
                "CREATE TABLE kept AS SELECT * FROM seals WHERE number > {early}; {}",
                if renamed {
                    format!("UPDATE seals SET session = 'genesis' WHERE number > {early}")
                } else {
                    format!("DELETE FROM seals WHERE number > {early}")
                }
            ));
            let index = set_index(&place, ("seals", "seals_session"), None);
            place.forge(&format!(
                "DELETE FROM seals WHERE number > {early}; INSERT INTO seals SELECT * FROM kept; DROP TABLE kept"
            ));
            set_index(&place, ("seals", "seals_session"), Some(&index));
            let by_index: i64 = Connection::open(place.file())
                .unwrap()
                .query_row(
                    "SELECT max(number) FROM seals INDEXED BY seals_session WHERE session = ?",
                    [session_id(1).as_str()],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(
                u64::try_from(by_index).unwrap(),
                early,
                "the forgery is the one that is meant"
            );
            let verified = verify(&place).await;
            let places: Vec<&str> = verified
                .problems
                .iter()
                .map(|problem| problem.place.as_str())
                .collect();
            assert!(places.contains(&"table seals"), "{verified:?}");
            assert!(places.contains(&session_id(1).as_str()), "{verified:?}");
            match place.open() {
                Err(error) => {
                    assert_eq!(size, "small", "{error}");
                    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
                }
                Ok(store) => {
                    assert_eq!(size, "large");
                    let state = store.seal_of(&session_id(1)).await.unwrap();
                    assert!(matches!(state, SealState::Altered { .. }), "{state:?}");
                    assert!(matches!(
                        store.claim(&session_id(1), &worker(1), at(9)).await,
                        Err(Error::Altered { .. })
                    ));
                    assert!(store.claim_next(&worker(1), at(9), MANY).await.unwrap().is_none());
                    store.close().await;
                }
            }
        }
    }
}

/// The index of the sessions that wait says of one that has ended that it waits. A large store is not compared when it is opened.
#[tokio::test]
async fn a_session_that_ended_is_not_run_again_because_an_index_says_that_it_waits() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    store.close().await;
    place.forge(
        "INSERT INTO settings (name, value) VALUES ('padding', hex(zeroblob(3000000)));
         CREATE TABLE kept AS SELECT key, status, completed_at FROM sessions;
         UPDATE sessions SET status = 'pending', completed_at = NULL;",
    );
    let name = ("sessions", "sessions_open");
    let index = set_index(&place, name, None);
    place.forge(
        "UPDATE sessions SET (status, completed_at) = (SELECT status, completed_at FROM kept WHERE kept.key = sessions.key);
         DROP TABLE kept;",
    );
    set_index(&place, name, Some(&index));
    let store = place.open().unwrap();
    let refused = store.claim_next(&worker(1), at(9), MANY).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Corrupt { what, .. } if what.contains("sessions_open")),
        "{refused}"
    );
    assert!(store.seal_of(&session_id(1)).await.unwrap().is_intact());
    store.close().await;
}

/// A link in place of the store or of its folder, or another name, does not switch the mark off.
#[tokio::test]
async fn a_link_does_not_switch_the_mark_off() {
    for case in ["store", "folder", "other name", "no mark"] {
        let place = Place::new();
        let root = place.root.path().to_owned();
        let folder = root.join("data");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("interlock.db");
        let mut options = interlock_store::Options::sqlite(&file);
        let store = Store::open_signed(&options, place.keyring()).unwrap();
        ended(&store, 1).await;
        store.close().await;
        let elsewhere = root.join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let older = elsewhere.join("interlock.db");
        std::fs::copy(&file, &older).unwrap();
        let store = Store::open_signed(&options, place.keyring()).unwrap();
        ended(&store, 2).await;
        store.close().await;
        let newest = root.join("newest.db");
        std::fs::copy(&file, &newest).unwrap();
        match case {
            "store" => {
                std::fs::remove_file(&file).unwrap();
                std::os::unix::fs::symlink(&older, &file).unwrap();
            }
            "folder" => {
                std::fs::rename(&folder, root.join("away")).unwrap();
                std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
            }
            "other name" => options = interlock_store::Options::sqlite(&older),
            _ => {
                std::fs::remove_dir_all(place.marks()).unwrap();
                std::fs::copy(&older, &file).unwrap();
            }
        }
        let refused = Store::open_signed(&options, place.keyring()).unwrap_err();
        assert!(
            refused.to_string().contains("interlock record adopt"),
            "{refused}"
        );
        match case {
            "no mark" => assert!(matches!(refused, Error::Mark { .. }), "{refused}"),
            _ => assert!(matches!(refused, Error::Behind { .. }), "{case}: {refused}"),
        }
        // The newest copy behind a link is another place than the one that the mark was made for; under another name it is not.
        if case != "no mark" {
            std::fs::copy(&newest, &older).unwrap();
            match Store::open_signed(&options, place.keyring()) {
                Ok(store) => {
                    assert_eq!(case, "other name");
                    store.close().await;
                }
                Err(error) => {
                    assert_ne!(case, "other name", "{error}");
                    assert!(error.to_string().contains("symbolic link"), "{error}");
                }
            }
        }
        // A person who knows why goes on, and the mark counts again.
        Store::adopt(&options, place.keyring()).unwrap().close().await;
        Store::open_signed(&options, place.keyring())
            .unwrap()
            .close()
            .await;
    }
}

/// Two stores of one key do not stand in each other's way, and a store that nothing was written to opens again.
#[tokio::test]
async fn stores_of_one_key_are_apart() {
    let place = Place::new();
    for name in ["one.db", "two.db"] {
        let options = interlock_store::Options::sqlite(place.root.path().join(name));
        for number in 0..3 {
            let store = Store::open_signed(&options, place.keyring()).unwrap();
            if number > 0 {
                ended(&store, number).await;
            }
            store.close().await;
        }
    }
    // Where no mark can be written, a store is gone on with.
    let blocked = place.root.path().join("blocked");
    std::fs::write(&blocked, "a file").unwrap();
    let keyring = Keyring::signing(signer()).keeping_marks(blocked.join("marks"));
    let options = interlock_store::Options::sqlite(place.root.path().join("one.db"));
    Store::open_signed(&options, keyring).unwrap().close().await;
}

/// The next key of a session, an event or a call is known. A row that waits for it is found when it becomes a part of something,
/// and by checking the record: it is never signed as part of a session.
#[tokio::test]
async fn rows_that_are_planted_ahead_of_their_session_are_never_signed() {
    let links: Vec<(String, String, String)> = {
        let place = Place::new();
        let store = place.open().unwrap();
        store.close().await;
        let conn = Connection::open(place.file()).unwrap();
        conn.prepare(
            "SELECT s.name, f.\"from\", f.\"table\" FROM sqlite_schema s, pragma_foreign_key_list(s.name) f \
             WHERE s.type = 'table' AND f.\"to\" = 'key'",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
    };
    assert!(links.len() > 12, "{links:?}");
    for (table, column, owner) in links {
        for running in [false, true] {
            let place = Place::new();
            let store = place.open().unwrap();
            ended(&store, 1).await;
            let store = if running {
                store
            } else {
                store.close().await;
                place.open().unwrap()
            };
            ahead(&place, &table, &column, &owner);
            let verified = store.verify_record(&place.keyring(), true).await.unwrap();
            let found = verified
                .problems
                .iter()
                .any(|problem| problem.place == format!("table {table}"));
            assert!(found, "{table}: {:?}", verified.problems);
            // What is new is not signed as whole, or is not taken at all.
            let submitted = store.submit(new_session(2), &ROOM).await;
            if table == "session_texts" {
                assert!(matches!(submitted, Err(Error::Inconsistent(_))), "{submitted:?}");
            } else {
                submitted.unwrap();
                let state = store.seal_of(&session_id(2)).await.unwrap();
                assert!(
                    matches!(&state, SealState::Altered { what } if what.contains(&table)),
                    "{table}: {state:?}"
                );
            }
            store.close().await;
        }
    }
}

/// A row of this table for the next row of the other one, with values that fit its columns.
fn ahead(place: &Place, table: &str, column: &str, owner: &str) {
    let conn = Connection::open(place.file()).unwrap();
    let columns: Vec<(String, String, bool)> = conn
        .prepare(&format!(
            "SELECT name, type, \"notnull\" OR pk FROM pragma_table_xinfo('{table}') WHERE hidden = 0"
        ))
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let needed: Vec<&(String, String, bool)> = columns
        .iter()
        .filter(|(name, _, needed)| *needed && (name != "key" || column == "key"))
        .collect();
    let names: Vec<&str> = needed.iter().map(|(name, ..)| name.as_str()).collect();
    let values: Vec<String> = needed
        .iter()
        .map(|(name, kind, _)| match kind.as_str() {
            _ if name == column => format!("(SELECT coalesce(max(key), 0) + 1 FROM {owner})"),
            "INTEGER" => "7".to_owned(),
            "BLOB" => "x'00'".to_owned(),
            _ => "'{}'".to_owned(),
        })
        .collect();
    place.forge(&format!(
        "INSERT INTO {table} ({}) VALUES ({})",
        names.join(", "),
        values.join(", ")
    ));
}

/// A session that somebody hid in the file swallows no alert, and checking the record finds it.
#[tokio::test]
async fn a_hidden_session_swallows_no_alert() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    plant(&place, 50, "pending");
    place.forge(&format!(
        "UPDATE sessions SET deleted_at = 0, completed_at = NULL, fingerprint = 'web down', idempotency_key = 'once' \
         WHERE id = '{PLANTED}'"
    ));
    let verified = store.verify_record(&place.keyring(), true).await.unwrap();
    let places: Vec<&str> = verified
        .problems
        .iter()
        .map(|problem| problem.place.as_str())
        .collect();
    assert_eq!(places, [PLANTED]);
    let alert = NewSession {
        fingerprint: Some("web down".to_owned()),
        ..new_session(2)
    };
    let submitted = store.submit(alert, &ROOM).await.unwrap();
    assert!(matches!(submitted, Submitted::New), "{submitted:?}");
    let again = NewSession {
        idempotency_key: Some("once".to_owned()),
        ..new_session(3)
    };
    let refused = store.submit(again, &ROOM).await;
    assert!(matches!(refused, Err(Error::Altered { .. })), "{refused:?}");
    store.close().await;
}
