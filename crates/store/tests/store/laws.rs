//! What holds for any batches in any order.

use interlock_protocol::{Sequence, ToolKind};
use interlock_store::{Batch, Claim, Error, Options, Record, Store};
use proptest::prelude::*;

use crate::support::*;

/// What one batch of a session does.
#[derive(Debug, Clone)]
enum Turn {
    /// So many events and a message.
    Events(u8),
    /// A write of a resource begins, and ends in the same batch.
    Write { permit: u64, target: u64 },
    /// A write begins, and nobody ends it.
    Begin { permit: u64, target: u64 },
    /// The receipt of a write that may never have begun.
    Finish { permit: u64 },
    /// Something after which a mistake comes: nothing of it may stay.
    Mistake(u8),
}

fn turns() -> impl Strategy<Value = Vec<(u64, Turn)>> {
    let turn = prop_oneof![
        3 => (0..5_u8).prop_map(Turn::Events),
        1 => (0..6_u64, 0..3_u64).prop_map(|(permit, target)| Turn::Write { permit, target }),
        1 => (0..6_u64, 0..3_u64).prop_map(|(permit, target)| Turn::Begin { permit, target }),
        1 => (0..6_u64).prop_map(|permit| Turn::Finish { permit }),
        1 => (0..3_u8).prop_map(Turn::Mistake),
    ];
    prop::collection::vec((1..4_u64, turn), 1..40)
}

fn to_batch(claim: &Claim, session: u64, place: usize, turn: &Turn) -> Batch {
    let mut records = Vec::new();
    match *turn {
        Turn::Events(count) => {
            records.extend((0..count).map(|number| event(&format!("{place}.{number}"))));
            records.push(Record::Message(message(
                session,
                u32::try_from(place).unwrap(),
                "text",
            )));
        }
        Turn::Write { permit, target } => {
            let call = call(session, permit, ToolKind::Write, target);
            records.extend([Record::Started(call.clone()), event("wrote"), finished(&call)]);
        }
        Turn::Begin { permit, target } => {
            records.push(Record::Started(call(session, permit, ToolKind::Write, target)));
            records.push(event("began"));
        }
        Turn::Finish { permit } => {
            records.extend([
                event("ended"),
                finished(&call(session, permit, ToolKind::Write, 0)),
            ]);
        }
        Turn::Mistake(count) => {
            records.extend((0..count).map(|_| event("never")));
            let twice = Record::Message(message(session, 1_000, "never"));
            records.extend([twice.clone(), twice]);
        }
    }
    batch(claim, records)
}

/// Everything that can be seen of a store with sessions 1 to 3.
async fn seen(store: &Store) -> String {
    let mut all = Vec::new();
    for session in 1..4 {
        let snapshot = store.snapshot(&session_id(session)).await.unwrap();
        all.push((snapshot, texts(store, session).await));
    }
    format!("{all:#?}{:?}", store.writers().await.unwrap())
}

async fn three(store: &Store) -> Vec<Claim> {
    let mut claims = Vec::new();
    for session in 1..4 {
        claims.push(claimed(store, session).await);
    }
    claims
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The writing thread keeps whatever waits together. Nobody can tell.
    #[test]
    fn kept_together_is_kept_one_by_one(turns in turns()) {
        runtime().block_on(async {
            let (alone, together) = (memory(), memory());
            let claims = three(&alone).await;
            prop_assert_eq!(&three(&together).await, &claims);
            let batches = |place: usize, (session, turn): &(u64, Turn)| {
                to_batch(&claims[usize::try_from(*session).unwrap() - 1], *session, place, turn)
            };
            let mut one_by_one = Vec::new();
            for (place, turn) in turns.iter().enumerate() {
                one_by_one.push(alone.append(batches(place, turn)).await);
            }
            // All of them wait before the first is taken up: a task that starts sends at once, in this order.
            let waiting: Vec<_> = turns
                .iter()
                .enumerate()
                .map(|(place, turn)| {
                    let (store, batch) = (together.clone(), batches(place, turn));
                    tokio::spawn(async move { store.append(batch).await })
                })
                .collect();
            for (waiting, expected) in waiting.into_iter().zip(one_by_one) {
                prop_assert_eq!(waiting.await.unwrap(), expected);
            }
            prop_assert_eq!(seen(&together).await, seen(&alone).await);
            Ok(())
        })?;
    }

    /// Whatever is brought, from however many tasks: places without gaps, each session's own order, and what came
    /// back from `append` is what is read.
    #[test]
    fn what_is_appended_comes_back_in_order(counts in prop::collection::vec(1..12_usize, 1..8)) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(4).enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::open(&Options::sqlite(folder.path().join("a.db"))).unwrap();
            let mut tasks = Vec::new();
            for (session, count) in (1..).zip(counts) {
                let claim = claimed(&store, session).await;
                let store = store.clone();
                tasks.push((session, tokio::spawn(async move {
                    let mut kept = Vec::new();
                    for number in 0..count {
                        let records = (0..=number % 3).map(|part| event(&format!("{number}.{part}")));
                        kept.extend(store.append(batch(&claim, records.collect())).await.unwrap().events);
                    }
                    kept
                })));
            }
            for (session, task) in tasks {
                let kept = task.await.unwrap();
                let read = store.events(&session_id(session), Sequence::new(2), 1_000).await.unwrap();
                prop_assert_eq!(&read, &kept);
                let places: Vec<u64> = read.iter().map(|event| event.sequence.get()).collect();
                prop_assert_eq!(places, (3..).take(read.len()).collect::<Vec<u64>>());
                // In pages it is the same.
                let mut paged = Vec::new();
                let mut after = Sequence::new(2);
                while let Some(page) = Some(store.events(&session_id(session), after, 2).await.unwrap())
                    .filter(|page| !page.is_empty())
                {
                    after = page[page.len() - 1].sequence;
                    paged.extend(page);
                }
                prop_assert_eq!(paged, read);
            }
            Ok(())
        })?;
    }

    /// Bodies that share any beginning come back whole.
    #[test]
    fn bodies_come_back_whole(bodies in prop::collection::vec("[ab]{0,8}", 1..8)) {
        runtime().block_on(async {
            let store = memory();
            let claim = claimed(&store, 1).await;
            let mut records = vec![Record::Run(run(1))];
            let mut before = String::new();
            for (number, body) in (1..).zip(&bodies) {
                records.push(Record::Interaction(interaction(1, number, before.as_bytes(), body.as_bytes())));
                before.clone_from(body);
            }
            store.append(batch(&claim, records)).await.unwrap();
            let whole = store.interactions(&run_id(1)).await.unwrap();
            let whole: Vec<String> = whole
                .into_iter()
                .map(|interaction| String::from_utf8(interaction.body).unwrap())
                .collect();
            prop_assert_eq!(whole, bodies);
            Ok(())
        })?;
    }

    /// A beginning of an id finds it, or says between which it cannot choose.
    #[test]
    fn a_beginning_of_an_id_finds_it_or_says_why_not(length in 0..=36_usize) {
        runtime().block_on(async {
            let store = memory();
            for number in 0..40 {
                store.submit(new_session(number), &ROOM).await.unwrap();
            }
            let whole = session_id(7).to_string();
            let bare = whole.trim_start_matches("ses_");
            for prefix in [&whole[..length], &bare[..length.min(bare.len())]] {
                match store.find_session(prefix).await {
                    Ok(session) => prop_assert_eq!(session.submitted.id, session_id(7)),
                    Err(Error::Ambiguous { candidates, .. }) => {
                        prop_assert!(candidates.len() > 1);
                        let full = format!("ses_{prefix}");
                        prop_assert!(candidates.iter().all(|id| id.starts_with(prefix) || id.starts_with(&full)));
                    }
                    Err(error) => prop_assert!(false, "{prefix}: {error}"),
                }
            }
            Ok(())
        })?;
    }
}
