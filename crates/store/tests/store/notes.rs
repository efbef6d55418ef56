//! Notes are found by their words, and by nothing else.

use interlock_store::{Error, Note, Options, Store};
use jiff::Timestamp;

fn note(number: i64, about: Option<&str>, text: &str) -> Note {
    Note {
        id: format!("n{number}"),
        about: about.map(str::to_owned),
        text: text.to_owned(),
        written_at: Timestamp::from_second(1_700_000_000 + number).unwrap(),
        session: "ses_1".to_owned(),
    }
}

fn all() -> Vec<Note> {
    vec![
        note(
            1,
            Some("lxc:delly:141"),
            "The homepage reads its services from /opt/homepage.",
        ),
        note(2, None, "Backups run at night; nginx is slow then."),
        note(
            3,
            Some("lxc:delly:142"),
            "nginx needs a restart after certificates change. nginx -t first.",
        ),
        note(4, None, "Der Kühlschrank piept."),
    ]
}

async fn filled(options: &Options) -> Store {
    let store = Store::open(options).unwrap();
    for note in all() {
        store.remember(note).await.unwrap();
    }
    store
}

fn ids(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(|note| note.id.as_str()).collect()
}

#[tokio::test]
async fn notes_are_found_by_their_words() {
    let store = filled(&Options::memory()).await;
    let cases: &[(&str, Option<&str>, &[&str])] = &[
        ("", None, &["n4", "n3", "n2", "n1"]),
        ("  ?! ", None, &["n4", "n3", "n2", "n1"]),
        ("", Some("lxc:delly:141"), &["n1"]),
        ("nginx", None, &["n3", "n2"]),
        ("NGINX backups", None, &["n2", "n3"]),
        ("nginx", Some("lxc:delly:142"), &["n3"]),
        ("homep", None, &["n1"]),
        ("kuhlschrank", None, &["n4"]),
        ("delly 142", None, &["n3", "n1"]),
        ("absent", None, &[]),
        // Nothing in a question is grammar.
        ("text:nginx", None, &["n3", "n2"]),
        ("\"nginx", None, &["n3", "n2"]),
        ("nginx NOT nginx", None, &["n3", "n2"]),
        ("nginx*) OR (", None, &["n3", "n2"]),
    ];
    for (query, about, expected) in cases {
        let found = store.recall(query, *about, 10).await.unwrap();
        assert_eq!(ids(&found), *expected, "{query:?} {about:?}");
    }
    assert_eq!(store.recall("", None, 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_note_comes_back_as_it_was_and_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let store = filled(&options).await;
    store.remember(note(1, None, "another text")).await.unwrap();
    store.close().await;
    let store = Store::open(&options).unwrap();
    let mut kept = store.recall("", None, 10).await.unwrap();
    kept.reverse();
    assert_eq!(kept, all());
    store.integrity().await.unwrap();
}

#[tokio::test]
async fn a_note_that_is_too_long_is_refused() {
    let store = Store::open(&Options::memory()).unwrap();
    let long = note(1, None, &"a".repeat(64 * 1024 + 1));
    let error = store.remember(long).await.unwrap_err();
    assert!(matches!(error, Error::Unstorable { .. }), "{error}");
}
