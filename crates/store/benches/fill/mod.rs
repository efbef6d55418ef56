//! A hundred thousand sessions to look through.

use std::error::Error;

use interlock_protocol::{Decision, EventBody, SessionKind, Status, ToolKind};
use interlock_store::{Record, Store, Submitted};

use crate::support::{
    ROOM, at, batch, call, event, finished, interaction, new_session, permit_id, run, session_id, worker,
};

/// How many.
pub(crate) const SESSIONS: u64 = 100_000;
/// How many are made at the same time.
const AT_ONCE: u64 = 64;
const STATUSES: [Status; 5] = [
    Status::Completed,
    Status::Completed,
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
];

/// What may go wrong.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Makes them all.
pub(crate) async fn fill_all(store: &Store) -> Outcome {
    let lanes: Vec<_> = (0..AT_ONCE)
        .map(|lane| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (1 + lane..=SESSIONS).step_by(usize::try_from(AT_ONCE)?) {
                    fill(&store, number).await?;
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for lane in lanes {
        lane.await??;
    }
    Ok(())
}

/// One session, from its submission to its end; some wait, some are in hand.
async fn fill(store: &Store, number: u64) -> Outcome {
    let second = i64::try_from(number)?;
    let mut session = new_session(number);
    session.title = format!("Disk of node {} is full ({number})", number % 997);
    session.input = format!(
        "/var of node {} is {}% used. {}",
        number % 997,
        number % 100,
        "More about it. ".repeat(8)
    );
    session.at = at(second);
    if number.is_multiple_of(2) {
        session.kind = SessionKind::Chain;
        session.alert_type =
            Some(["disk-full", "cpu-high", "backup-failed"][usize::try_from(number % 3)?].to_owned());
        session.owner = None;
    }
    if store.submit(session, &ROOM).await? != Submitted::New || number.is_multiple_of(500) {
        return Ok(());
    }
    let claim = store
        .claim(&session_id(number), &worker(1), at(second + 1))
        .await?;
    let read = call(number, number, ToolKind::Read, number % 200);
    let decision = Decision::Allowed {
        permit: permit_id(number),
        kind: ToolKind::Read,
        plan_hash: read.plan_hash,
    };
    let mut asked = interaction(number, 1, b"", b"body");
    asked.at = at(second + 2);
    let mut records = vec![
        Record::Run(run(number)),
        Record::Interaction(asked),
        Record::Event {
            stage: None,
            execution: None,
            body: EventBody::DecisionMade {
                call: Some(read.plan.call.clone()),
                decision,
            },
        },
        Record::Started(read.clone()),
        finished(&read),
        event("It is the log volume."),
    ];
    if number % 1_000 != 1 {
        records.push(Record::Status {
            status: STATUSES[usize::try_from(number % 5)?],
            answer: Some(format!("The log volume of node {} was vacuumed.", number % 997)),
            error: None,
        });
    }
    let mut last = batch(&claim, records);
    last.at = at(second + 2 + second % 300);
    store.append(last).await?;
    Ok(())
}
