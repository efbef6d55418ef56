//! Lists over all sessions: what a page has, and that pages together are the whole.

use std::collections::BTreeSet;

use interlock_protocol::{
    CallId, Decision, ErrorCode, EventBody, Proposal, RefusalRecord, Sequence, SessionId, SessionKind,
    Status, ToolCall, ToolKind, ToolName, Verification,
};
use interlock_store::{
    DecisionFilter, ListedSession, NewSession, Record, SessionPage, SessionQuery, SortBy, Store, Submitted,
    Tally, UsageBy,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

const SORTS: [SortBy; 5] = [
    SortBy::CreatedAt,
    SortBy::LastInteraction,
    SortBy::Status,
    SortBy::Title,
    SortBy::Duration,
];

fn all() -> SessionQuery {
    SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    }
}

async fn page(store: &Store, query: SessionQuery) -> SessionPage {
    store.session_page(&query).await.unwrap()
}

fn ids(page: &SessionPage) -> Vec<SessionId> {
    page.sessions
        .iter()
        .map(|listed| listed.session.submitted.id.clone())
        .collect()
}

async fn submit(store: &Store, session: NewSession) {
    assert_eq!(store.submit(session, &ROOM).await, Ok(Submitted::New));
}

fn event_of(body: EventBody) -> Record {
    Record::Event {
        stage: None,
        execution: None,
        body,
    }
}

fn call_id(number: u64) -> CallId {
    format!("call_{number}").parse().unwrap()
}

pub(crate) fn proposed(number: u64, tool: &str) -> Record {
    event_of(EventBody::ProposalReceived {
        proposal: Proposal::ToolCall(ToolCall {
            id: call_id(number),
            tool: ToolName::new(tool).unwrap(),
            arguments: serde_json::Map::new(),
        }),
    })
}

pub(crate) fn decided(number: u64, decision: Decision) -> Record {
    event_of(EventBody::DecisionMade {
        call: Some(call_id(number)),
        decision,
    })
}

pub(crate) fn refused(number: u64, code: ErrorCode) -> Record {
    decided(
        number,
        Decision::Refused(RefusalRecord {
            code,
            rule: "resolution".parse().unwrap(),
            message: "look first".to_owned(),
            recovery_hint: None,
            auto_recoverable: true,
            details: serde_json::Map::new(),
        }),
    )
}

pub(crate) fn allowed(number: u64) -> Record {
    let plan = plan(1, ToolKind::Read, None);
    decided(
        number,
        Decision::Allowed {
            permit: permit_id(number),
            kind: ToolKind::Read,
            plan_hash: plan.hash(),
        },
    )
}

/// A final answer that may go out.
pub(crate) fn answered() -> Record {
    event_of(EventBody::DecisionMade {
        call: None,
        decision: Decision::AnswerAllowed,
    })
}

/// Five sessions that differ in everything that a filter asks for.
async fn five() -> Store {
    let store = memory();
    for number in 1..=5_u64 {
        let mut session = new_session(number);
        let alert = number % 2 == 0;
        session.kind = if alert {
            SessionKind::Chain
        } else {
            SessionKind::Chat
        };
        session.alert_type = alert.then(|| format!("alert-{number}"));
        if number < 3 { "default" } else { "deep" }.clone_into(&mut session.chain);
        session.owner = (!alert).then(|| ["ada", "eve"][usize::from(number == 5)].parse().unwrap());
        session.title = format!(
            "{} Node {number} is full",
            ["b", "A", "c", "E", "d"][usize::try_from(number).unwrap() - 1]
        );
        session.input = format!("needle-{number} in \"quotes\" 100%");
        session.at = at(i64::try_from(number).unwrap() * 10);
        submit(&store, session).await;
    }
    // The second is done, the third is in hand.
    let done = store.claim(&session_id(2), &worker(1), at(60)).await.unwrap();
    let answer = Record::Status {
        status: Status::Completed,
        answer: Some("Ein Kühlschrank".to_owned()),
        error: None,
    };
    let mut last = batch(&done, vec![answer]);
    last.at = at(65);
    store.append(last).await.unwrap();
    store.claim(&session_id(3), &worker(1), at(70)).await.unwrap();
    store
}

#[tokio::test]
async fn filters_find_what_they_name() {
    let store = five().await;
    let text = |text: &str| SessionQuery {
        search: Some(text.to_owned()),
        ..all()
    };
    let cases = [
        (all(), vec![5, 4, 3, 2, 1]),
        (
            SessionQuery {
                statuses: vec![Status::Pending],
                ..all()
            },
            vec![5, 4, 1],
        ),
        (
            SessionQuery {
                statuses: vec![Status::InProgress, Status::Completed],
                ..all()
            },
            vec![3, 2],
        ),
        (
            SessionQuery {
                statuses: vec![Status::Failed],
                ..all()
            },
            vec![],
        ),
        (
            SessionQuery {
                kind: Some(SessionKind::Chain),
                ..all()
            },
            vec![4, 2],
        ),
        (
            SessionQuery {
                alert_type: Some("alert-4".to_owned()),
                ..all()
            },
            vec![4],
        ),
        (
            SessionQuery {
                chain: Some("deep".to_owned()),
                ..all()
            },
            vec![5, 4, 3],
        ),
        (
            SessionQuery {
                owner: Some("ada".parse().unwrap()),
                ..all()
            },
            vec![3, 1],
        ),
        (
            SessionQuery {
                from: Some(at(20)),
                to: Some(at(40)),
                ..all()
            },
            vec![3, 2],
        ),
        (
            SessionQuery {
                from: Some(jiff::Timestamp::MIN),
                to: Some(jiff::Timestamp::MAX),
                ..all()
            },
            vec![5, 4, 3, 2, 1],
        ),
        (text("needle-3"), vec![3]),
        (text("NEEDLE"), vec![5, 4, 3, 2, 1]),
        (text("n \"quotes\" 100%"), vec![5, 4, 3, 2, 1]),
        (text("kühlsch"), vec![2]),
        (text("Node 4"), vec![4]),
        (text("nowhere"), vec![]),
        (text("\" OR title:x"), vec![]),
        (text("  "), vec![5, 4, 3, 2, 1]),
        // Too short for the index: titles alone.
        (text("a "), vec![2]),
        (text("A"), vec![2]),
        (text("3"), vec![]),
        (text("c"), vec![3]),
        (text("%"), vec![]),
        (
            SessionQuery {
                chain: Some("deep".to_owned()),
                ..text("needle")
            },
            vec![5, 4, 3],
        ),
        (
            SessionQuery {
                chain: Some("default".to_owned()),
                statuses: vec![Status::Pending],
                kind: Some(SessionKind::Chat),
                ..all()
            },
            vec![1],
        ),
    ];
    for (query, expected) in cases {
        let found = page(&store, query.clone()).await;
        let expected: Vec<SessionId> = expected.into_iter().map(session_id).collect();
        assert_eq!(
            (ids(&found), found.total),
            (expected.clone(), expected.len() as u64),
            "{query:?}"
        );
    }
}

#[tokio::test]
async fn each_order_is_what_it_says() {
    let store = five().await;
    let cases = [
        (SortBy::CreatedAt, [1, 2, 3, 4, 5]),
        (SortBy::LastInteraction, [1, 4, 5, 2, 3]),
        (SortBy::Status, [2, 3, 1, 4, 5]),
        (SortBy::Title, [2, 1, 3, 5, 4]),
        // What has not ended has taken no time yet.
        (SortBy::Duration, [1, 3, 4, 5, 2]),
    ];
    for (sort, up) in cases {
        let mut expected: Vec<SessionId> = up.into_iter().map(session_id).collect();
        for ascending in [true, false] {
            let found = page(
                &store,
                SessionQuery {
                    sort,
                    ascending,
                    ..all()
                },
            )
            .await;
            assert_eq!(ids(&found), expected, "{sort:?} {ascending}");
            let found = page(
                &store,
                SessionQuery {
                    sort,
                    ascending,
                    search: Some("needle".to_owned()),
                    ..all()
                },
            )
            .await;
            assert_eq!(ids(&found), expected, "{sort:?} {ascending}, found");
            expected.reverse();
        }
    }
}

#[tokio::test]
async fn a_row_has_its_counts_and_the_beginning_of_its_texts() {
    let store = memory();
    let mut long = new_session(1);
    long.input = "é".repeat(1_000);
    long.fingerprint = Some("disk/delly".to_owned());
    submit(&store, long).await;
    let claim = store.claim(&session_id(1), &worker(1), at(1)).await.unwrap();
    let (first, second) = (call(1, 1, ToolKind::Write, 1), call(1, 2, ToolKind::Write, 2));
    let read = call(1, 3, ToolKind::Read, 1);
    store
        .append(batch(
            &claim,
            vec![
                Record::Started(first.clone()),
                Record::Started(second.clone()),
                Record::Started(read.clone()),
                finished(&first),
                finished(&read),
                Record::Abandoned {
                    permit: second.permit.clone(),
                },
                refused(1, ErrorCode::NotFound),
                refused(2, ErrorCode::FsmBlocked),
                allowed(3),
                Record::Verified {
                    permit: first.permit.clone(),
                    outcome: Verification::Verified,
                },
                Record::Hold(hold(1, 1)),
                Record::Hold(hold(1, 2)),
                Record::Hold(approved(hold(1, 2), "ada")),
            ],
        ))
        .await
        .unwrap();
    let listed: ListedSession = page(&store, all()).await.sessions.remove(0);
    let tally = Tally {
        open_holds: 1,
        writes: 1,
        writes_verified: 1,
        refusals: 2,
    };
    assert_eq!(listed.tally, tally);
    assert_eq!(store.outline(&session_id(1)).await.unwrap().tally, tally);
    assert_eq!(listed.session.submitted.input, "é".repeat(400));
    let mut kept = store.session(&session_id(1)).await.unwrap();
    assert_eq!(kept.submitted.fingerprint.as_deref(), Some("disk/delly"));
    kept.submitted.input = "é".repeat(400);
    assert_eq!(listed.session, kept);

    let counts = store.counts().await.unwrap();
    assert_eq!(
        (counts.by_status, counts.open_holds),
        (vec![(Status::InProgress, 1)], 1)
    );
}

#[tokio::test]
async fn what_is_deleted_is_in_no_list_and_comes_back() {
    let store = five().await;
    store.soft_delete(&session_id(2), at(100)).await.unwrap();
    let hidden = page(&store, all()).await;
    assert_eq!((ids(&hidden).contains(&session_id(2)), hidden.total), (false, 4));
    let found = SessionQuery {
        search: Some("kühlschrank".to_owned()),
        ..all()
    };
    assert_eq!(page(&store, found.clone()).await.total, 0);
    let completed = |counts: &interlock_store::Counts| {
        counts
            .by_status
            .iter()
            .any(|(status, _)| *status == Status::Completed)
    };
    assert!(!completed(&store.counts().await.unwrap()));
    store.restore(&session_id(2)).await.unwrap();
    assert_eq!(page(&store, all()).await.total, 5);
    assert_eq!(page(&store, found).await.total, 1);
    assert!(completed(&store.counts().await.unwrap()));
}

/// What a session left in the lists over all of them: decisions, calls, holds, events.
async fn left(store: &Store) -> [usize; 6] {
    let all = DecisionFilter {
        limit: 100,
        ..DecisionFilter::default()
    };
    let own = DecisionFilter {
        session: Some(session_id(1)),
        ..all.clone()
    };
    [
        store.decisions(&all).await.unwrap().len(),
        store.decisions(&own).await.unwrap().len(),
        store.calls_on(&resource(5), 100).await.unwrap().len(),
        store.decided_holds(None, 100).await.unwrap().len(),
        store
            .decided_holds(Some(&session_id(1)), 100)
            .await
            .unwrap()
            .len(),
        usize::try_from(store.counts().await.unwrap().open_holds).unwrap(),
    ]
}

#[tokio::test]
async fn what_a_deleted_session_did_is_in_no_list_and_comes_back() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let read = call(1, 1, ToolKind::Read, 5);
    let records = vec![
        proposed(1, "infra_read"),
        allowed(1),
        Record::Started(read.clone()),
        finished(&read),
        Record::Hold(hold(1, 1)),
        Record::Hold(approved(hold(1, 2), "ada")),
        status(Status::Completed),
    ];
    store.append(batch(&claim, records)).await.unwrap();
    claimed(&store, 2).await;
    let before = left(&store).await;
    assert_eq!(before, [1, 1, 1, 1, 1, 1]);
    let kinds: &[&str] = &["session.created"];
    let sessions = |events: Vec<interlock_store::Placed>| -> BTreeSet<SessionId> {
        events.into_iter().map(|event| event.session).collect()
    };
    let both = BTreeSet::from([session_id(1), session_id(2)]);
    let asked = vec![session_id(1), session_id(2), session_id(3)];
    assert_eq!(store.gone(asked.clone()).await, Ok(vec![session_id(3)]));
    store.soft_delete(&session_id(1), at(100)).await.unwrap();
    assert_eq!(left(&store).await, [0; 6]);
    assert_eq!(store.gone(asked).await, Ok(vec![session_id(1), session_id(3)]));
    for kinds in [&[], kinds] {
        let events = store.feed_page(0, kinds, 100).await.unwrap().events;
        assert_eq!(sessions(events), BTreeSet::from([session_id(2)]));
    }
    let own = store.session_events(&session_id(1), Sequence::START, 100).await;
    assert_eq!(own, Ok(vec![]));
    store.restore(&session_id(1)).await.unwrap();
    assert_eq!(left(&store).await, before);
    assert_eq!(
        sessions(store.feed_page(0, kinds, 100).await.unwrap().events),
        both
    );
}

#[tokio::test]
async fn filters_can_be_chosen_from_what_is_there() {
    let store = five().await;
    let options = store.filter_options().await.unwrap();
    assert_eq!(options.alert_types, ["alert-2", "alert-4"]);
    assert_eq!(options.chains, ["deep", "default"]);
    assert_eq!(options.owners, ["ada", "eve"].map(|name| name.parse().unwrap()));
}

#[tokio::test]
async fn a_repeated_alert_joins_the_open_session() {
    let store = memory();
    let alert = |number| NewSession {
        fingerprint: Some("disk/delly".to_owned()),
        ..new_session(number)
    };
    submit(&store, alert(1)).await;
    let joined = Ok(Submitted::Duplicate(session_id(1)));
    assert_eq!(store.submit(alert(2), &ROOM).await, joined);
    assert_eq!(
        store.open_with_fingerprint("disk/delly").await,
        Ok(Some(session_id(1)))
    );
    assert_eq!(store.open_with_fingerprint("disk").await, Ok(None));
    let claim = store.claim(&session_id(1), &worker(1), at(1)).await.unwrap();
    assert_eq!(
        store.submit(alert(2), &ROOM).await,
        joined,
        "while it is worked on"
    );
    store.release(&claim, Status::Failed, at(2)).await.unwrap();
    assert_eq!(store.open_with_fingerprint("disk/delly").await, Ok(None));
    submit(&store, alert(2)).await;
}

#[tokio::test]
async fn decisions_are_found_by_session_answer_and_code() {
    let store = memory();
    let (one, two) = (claimed(&store, 1).await, claimed(&store, 2).await);
    // The proposal is in the same batch, in another, or nowhere.
    store
        .append(batch(
            &one,
            vec![
                proposed(1, "infra_read"),
                allowed(1),
                proposed(2, "infra_control"),
            ],
        ))
        .await
        .unwrap();
    store
        .append(batch(&one, vec![refused(2, ErrorCode::NotFound)]))
        .await
        .unwrap();
    let held = Decision::Held {
        hold: hold_id(7),
        plan_hash: hold(1, 7).plan_hash,
    };
    store
        .append(batch(
            &two,
            vec![decided(3, held), refused(4, ErrorCode::FsmBlocked)],
        ))
        .await
        .unwrap();
    store
        .append(batch(
            &two,
            vec![event_of(EventBody::DecisionMade {
                call: None,
                decision: Decision::AnswerAllowed,
            })],
        ))
        .await
        .unwrap();
    let filter = DecisionFilter {
        limit: 10,
        ..DecisionFilter::default()
    };
    let found = store.decisions(&filter).await.unwrap();
    let short: Vec<_> = found
        .iter()
        .map(|row| {
            (
                row.call.clone(),
                row.tool.as_ref().map(ToolName::as_str),
                row.answer.as_str(),
                row.code,
            )
        })
        .collect();
    assert_eq!(
        short,
        [
            (None, None, "answer_allowed", None),
            (Some(call_id(4)), None, "refused", Some(ErrorCode::FsmBlocked)),
            (Some(call_id(3)), None, "held", None),
            (
                Some(call_id(2)),
                Some("infra_control"),
                "refused",
                Some(ErrorCode::NotFound)
            ),
            (Some(call_id(1)), Some("infra_read"), "allowed", None),
        ]
    );
    assert_eq!(found[2].hold, Some(hold_id(7)));
    assert_eq!(
        found[1].rule.as_ref().map(interlock_protocol::RuleName::as_str),
        Some("resolution")
    );
    assert_eq!(found[1].message.as_deref(), Some("look first"));
    let cases = [
        (
            DecisionFilter {
                session: Some(session_id(1)),
                ..filter.clone()
            },
            vec![3, 4],
        ),
        (
            DecisionFilter {
                answer: Some("refused".to_owned()),
                ..filter.clone()
            },
            vec![1, 3],
        ),
        (
            DecisionFilter {
                code: Some("NOT_FOUND".to_owned()),
                ..filter.clone()
            },
            vec![3],
        ),
        (
            DecisionFilter {
                session: Some(session_id(2)),
                answer: Some("refused".to_owned()),
                ..filter.clone()
            },
            vec![1],
        ),
        (
            DecisionFilter {
                session: Some(session_id(1)),
                call: Some(call_id(2)),
                ..filter.clone()
            },
            vec![3],
        ),
        (
            DecisionFilter {
                session: Some(session_id(2)),
                call: Some(call_id(2)),
                ..filter.clone()
            },
            vec![],
        ),
        (
            DecisionFilter {
                code: Some("NOT_FOUND".to_owned()),
                answer: Some("held".to_owned()),
                ..filter.clone()
            },
            vec![],
        ),
        (
            DecisionFilter {
                before: Some(found[1].position),
                limit: 2,
                ..filter.clone()
            },
            vec![2, 3],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|place: usize| found[place].clone())
            .collect();
        assert_eq!(store.decisions(&filter).await, Ok(expected), "{filter:?}");
    }
}

#[tokio::test]
async fn a_resource_has_its_calls_and_a_tool_its_times() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let (read, write, other) = (
        call(1, 1, ToolKind::Read, 5),
        call(1, 2, ToolKind::Write, 5),
        call(1, 3, ToolKind::Read, 6),
    );
    let gone = call(1, 4, ToolKind::Write, 7);
    let failed = Record::Finished {
        receipt: receipt(&write, interlock_protocol::Outcome::Failed),
        pending: None,
    };
    store
        .append(batch(
            &claim,
            vec![
                Record::Started(read.clone()),
                finished(&read),
                Record::Started(write.clone()),
                failed,
                Record::Started(other.clone()),
                Record::Started(gone.clone()),
                Record::Abandoned {
                    permit: gone.permit.clone(),
                },
            ],
        ))
        .await
        .unwrap();
    let on = store.calls_on(&resource(5), 10).await.unwrap();
    let permits: Vec<_> = on
        .iter()
        .map(|(session, call)| (session.clone(), call.started.permit.clone()))
        .collect();
    assert_eq!(
        permits,
        [(session_id(1), write.permit), (session_id(1), read.permit)]
    );
    assert_eq!(store.calls_on(&resource(5), 1).await.unwrap().len(), 1);
    assert_eq!(store.calls_on(&resource(7), 10).await, Ok(vec![]), "nothing ran");
    let tools = store.tool_use(at(0)).await.unwrap();
    let tool = &tools[0];
    assert_eq!(tools.len(), 1);
    assert_eq!((tool.calls, tool.failed, tool.writes), (3, 1, 1));
    assert_eq!(
        (tool.seconds_p50, tool.seconds_p95, tool.last_at),
        (1.0, 1.0, Some(at(2)))
    );
    assert_eq!(store.tool_use(at(3)).await, Ok(vec![]));
}

#[tokio::test]
async fn what_models_cost_is_added_up() {
    let store = memory();
    let mut alert = new_session(2);
    alert.alert_type = Some("disk".to_owned());
    submit(&store, alert).await;
    let claims = [
        claimed(&store, 1).await,
        store.claim(&session_id(2), &worker(1), at(1)).await.unwrap(),
    ];
    // As the engine writes them: one that replied, one that failed, one whose provider did not count.
    let facts = |seconds: u64, cost: Option<u64>| {
        json!({ "name": "small", "usage": { "reported": true, "input_tokens": 100, "output_tokens": 10 },
            "cost": cost.map(|micro| json!({ "micro_dollars": micro })),
            "timing": { "first_chunk": null, "total": { "secs": seconds, "nanos": 500_000_000 } } })
    };
    let mut broken = facts(9, None);
    broken["error"] = json!({ "kind": "timeout_call", "message": "late", "visible": false });
    broken["name"] = json!("large");
    let day = 24 * 60 * 60;
    let rows = [
        (0, 1, facts(1, Some(1_500_000)), 0),
        (0, 2, facts(3, Some(500_000)), day),
        (1, 1, broken, day),
        (1, 2, json!({}), 3 * day),
    ];
    for (session, number, facts, later) in rows {
        let mut asked = interaction(session + 1, number, b"", b"body");
        (asked.facts, asked.at) = (facts, at(later));
        store
            .append(batch(
                &claims[usize::try_from(session).unwrap()],
                vec![Record::Interaction(asked)],
            ))
            .await
            .unwrap();
    }
    let grouped = |by| {
        let store = store.clone();
        async move {
            let rows = store.usage(at(0), at(2 * day), by).await.unwrap();
            rows.into_iter()
                .map(|row| {
                    (
                        row.group,
                        row.calls,
                        row.failed,
                        row.sessions,
                        row.input_tokens,
                        row.output_tokens,
                        row.cost,
                        row.seconds_p50,
                        row.seconds_p95,
                    )
                })
                .collect::<Vec<_>>()
        }
    };
    let name = str::to_owned;
    assert_eq!(
        grouped(UsageBy::Model).await,
        [
            (name("large"), 1, 1, 1, 100, 10, None, 9.5, 9.5),
            (name("small"), 2, 0, 1, 200, 20, Some(2.0), 1.5, 3.5)
        ]
    );
    assert_eq!(
        grouped(UsageBy::Day).await,
        [
            (name("2027-01-15"), 1, 0, 1, 100, 10, Some(1.5), 1.5, 1.5),
            (name("2027-01-16"), 2, 1, 2, 200, 20, Some(0.5), 3.5, 9.5)
        ]
    );
    assert_eq!(
        grouped(UsageBy::AlertType).await,
        [
            (name("chat"), 2, 0, 1, 200, 20, Some(2.0), 1.5, 3.5),
            (name("disk"), 1, 1, 1, 100, 10, None, 9.5, 9.5)
        ]
    );
    let rest = store
        .usage(at(2 * day), at(4 * day), UsageBy::Model)
        .await
        .unwrap();
    assert_eq!(
        (rest[0].group.as_str(), rest[0].calls, rest[0].cost),
        ("small-1", 1, None)
    );
}

/// What happens to one session.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Waits,
    InHand,
    Ended(Status),
    Deleted,
}

fn fates() -> impl Strategy<Value = Vec<(u8, i64, Fate)>> {
    let fate = prop_oneof![
        Just(Fate::Waits),
        Just(Fate::InHand),
        Just(Fate::Ended(Status::Completed)),
        Just(Fate::Ended(Status::Failed)),
        Just(Fate::Deleted),
    ];
    // Few titles and times, so that many are the same.
    prop::collection::vec((0..3_u8, 0..3_i64, fate), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// For every order, both ways, with and without a search: the pages one after the other are the whole list, in
    /// order, each session once.
    #[test]
    fn pages_put_together_are_the_whole(fates in fates(), size in 1..7_u32) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = memory();
            let mut expected = BTreeSet::new();
            for (number, (title, second, fate)) in (1..).zip(fates) {
                let mut session = new_session(number);
                session.title = format!("title {title}");
                session.at = at(second);
                submit(&store, session).await;
                if !matches!(fate, Fate::Deleted) {
                    expected.insert(session_id(number));
                }
                if matches!(fate, Fate::Waits) {
                    continue;
                }
                let claim = store.claim(&session_id(number), &worker(1), at(second)).await.unwrap();
                match fate {
                    Fate::Ended(status) => store.release(&claim, status, at(5 - second)).await.unwrap(),
                    Fate::Deleted => {
                        store.release(&claim, Status::Completed, at(5)).await.unwrap();
                        store.soft_delete(&session_id(number), at(6)).await.unwrap();
                    }
                    Fate::Waits | Fate::InHand => {}
                }
            }
            for (sort, ascending, search) in SORTS.into_iter().flat_map(|sort| {
                [(sort, true, None), (sort, false, None), (sort, true, Some("disk")), (sort, false, Some("t"))]
            }) {
                let query = SessionQuery { sort, ascending, search: search.map(str::to_owned), ..all() };
                let whole = page(&store, query.clone()).await;
                prop_assert_eq!(&ids(&whole).into_iter().collect::<BTreeSet<_>>(), &expected);
                prop_assert_eq!(whole.sessions.len(), expected.len());
                let key = |listed: &ListedSession| -> (i128, String) {
                    let session = &listed.session;
                    match sort {
                        SortBy::CreatedAt => (session.submitted.at.as_nanosecond(), String::new()),
                        SortBy::LastInteraction => (session.last_interaction_at.as_nanosecond(), String::new()),
                        SortBy::Status => (0, session.status.to_string()),
                        SortBy::Title => (0, session.submitted.title.clone()),
                        SortBy::Duration => {
                            let took = session.completed_at.zip(session.started_at);
                            (took.map_or(i128::MIN, |(end, start)| end.as_nanosecond() - start.as_nanosecond()), String::new())
                        }
                    }
                };
                prop_assert!(whole.sessions.windows(2).all(|two| {
                    if ascending { key(&two[0]) <= key(&two[1]) } else { key(&two[0]) >= key(&two[1]) }
                }), "{:?}", query);
                let mut paged = Vec::new();
                for offset in (0..).step_by(usize::try_from(size).unwrap()) {
                    let next = page(&store, SessionQuery { offset, limit: size, ..query.clone() }).await;
                    prop_assert_eq!(next.total, whole.total);
                    if next.sessions.is_empty() {
                        break;
                    }
                    paged.extend(next.sessions);
                }
                prop_assert_eq!(&paged, &whole.sessions);
            }
            Ok(())
        })?;
    }
}
