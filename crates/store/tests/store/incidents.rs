//! Incidents: which one an alert belongs to, and what happens to it.

use interlock_protocol::{
    ContentHash, IncidentEventKind, IncidentId, IncidentStatus, SessionKind, Severity, Status, ToolKind,
    UserId, Verification,
};
use interlock_store::{
    Deed, Error, Filed, IncidentCounts, IncidentMove, IncidentQuery, NewAlert, NewSession, Options,
    QueueLimits, Record, RejectedAlert, Retention, Store, Submitted,
};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

fn id(number: u64) -> IncidentId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&ContentHash::of(number.to_be_bytes()).as_bytes()[..16]);
    IncidentId::from_bytes(bytes)
}

fn alert(number: u64, fingerprint: &str, firing: bool, starts: Option<i64>) -> NewAlert {
    NewAlert {
        id: id(number),
        fingerprint: Some(fingerprint.to_owned()),
        idempotency_key: None,
        firing,
        starts_at: starts.map(at),
        severity: Severity::Warning,
        title: "nginx is down".to_owned(),
        summary: String::new(),
        source: "alertmanager".to_owned(),
        owner: None,
        alert_type: None,
        rule: Some("Down".to_owned()),
        about: None,
        priority: 0,
        alert: format!("{{\"number\": {number}}}"),
    }
}

async fn file(store: &Store, alert: NewAlert, now: i64) -> Filed {
    store
        .file_alerts(vec![alert], HOUR, at(now))
        .await
        .unwrap()
        .remove(0)
}

async fn kinds(store: &Store, number: u64) -> Vec<(IncidentEventKind, u64)> {
    let mut events = store.incident_events(&id(number), 100).await.unwrap();
    events.reverse();
    events.iter().map(|event| (event.kind, event.count)).collect()
}

fn deed(action: &str) -> Deed {
    Deed {
        at: at(500),
        actor: Some("ada".parse().unwrap()),
        action: action.to_owned(),
        subject: None,
        details: json!({}),
    }
}

fn ada() -> UserId {
    "ada".parse().unwrap()
}

fn all() -> IncidentQuery {
    IncidentQuery {
        statuses: Vec::new(),
        severity: None,
        resource: None,
        offset: 0,
        limit: 200,
    }
}

#[tokio::test]
async fn a_steady_alert_is_one_incident_and_its_repeats_are_one_event() {
    let store = memory();
    assert_eq!(
        file(&store, alert(1, "a", true, Some(0)), 1).await,
        Filed::Opened(id(1))
    );
    for now in 2..=9 {
        let again = file(&store, alert(10, "a", true, Some(0)), now).await;
        assert_eq!(again, Filed::Repeated(id(1)));
    }
    assert_eq!(
        file(&store, alert(11, "a", false, Some(0)), 10).await,
        Filed::Resolved(id(1))
    );
    let incident = store.incident(&id(1)).await.unwrap();
    assert_eq!(
        (incident.repeats, incident.status, incident.firing),
        (8, IncidentStatus::Resolved, false)
    );
    assert_eq!(incident.resolved_at, Some(at(10)));
    assert_eq!(incident.alert, "{\"number\": 11}", "the newest form is kept");
    assert_eq!(
        kinds(&store, 1).await,
        [
            (IncidentEventKind::Opened, 1),
            (IncidentEventKind::Repeated, 8),
            (IncidentEventKind::AlertResolved, 1)
        ]
    );
    let (_, total) = store.incidents(&all()).await.unwrap();
    assert_eq!(total, 1);
}

/// What becomes of the second alert, by when it comes and what it says. The first fired at 0 and was resolved at 100.
#[tokio::test]
async fn an_alert_after_the_end_reopens_joins_or_opens() {
    let cases = [
        // A new firing within the hour opens it again; later it is a new incident.
        (true, Some(200), 200, Filed::Reopened(id(1))),
        (true, Some(3_699), 3_700, Filed::Reopened(id(1))),
        (true, Some(3_701), 3_702, Filed::Opened(id(2))),
        // Without a time it is taken as a new firing.
        (true, None, 200, Filed::Reopened(id(1))),
        (true, None, 9_000, Filed::Opened(id(2))),
        // The same firing, sent late, changes nothing, whenever it comes.
        (true, Some(0), 200, Filed::Repeated(id(1))),
        (true, Some(0), 9_000, Filed::Repeated(id(1))),
        // It is over already.
        (false, Some(0), 200, Filed::NothingToResolve),
        (false, None, 200, Filed::NothingToResolve),
    ];
    for (firing, starts, now, expected) in cases {
        let store = memory();
        file(&store, alert(1, "a", true, Some(0)), 1).await;
        file(&store, alert(1, "a", false, Some(0)), 100).await;
        let filed = file(&store, alert(2, "a", firing, starts), now).await;
        assert_eq!(filed, expected, "{firing} {starts:?} {now}");
        let incident = store.incident(&id(1)).await.unwrap();
        let reopened = matches!(expected, Filed::Reopened(_));
        assert_eq!(incident.status == IncidentStatus::Open, reopened);
        assert_eq!(incident.resolved_at.is_none(), reopened);
    }
}

#[tokio::test]
async fn what_has_no_fingerprint_is_never_the_same_and_a_key_always_is() {
    let store = memory();
    let bare = |number| NewAlert {
        fingerprint: None,
        ..alert(number, "", true, None)
    };
    assert_eq!(file(&store, bare(1), 1).await, Filed::Opened(id(1)));
    assert_eq!(file(&store, bare(2), 1).await, Filed::Opened(id(2)));
    let keyed = |number| NewAlert {
        idempotency_key: Some("k".to_owned()),
        ..bare(number)
    };
    assert_eq!(file(&store, keyed(3), 1).await, Filed::Opened(id(3)));
    assert_eq!(file(&store, keyed(4), 100_000).await, Filed::Repeated(id(3)));
    assert_eq!(
        kinds(&store, 3).await.len(),
        1,
        "the same message tells nothing new"
    );
}

#[tokio::test]
async fn late_news_about_an_earlier_firing_does_not_end_the_one_now() {
    let store = memory();
    file(&store, alert(1, "a", true, Some(100)), 101).await;
    assert_eq!(
        file(&store, alert(1, "a", false, Some(50)), 102).await,
        Filed::NothingToResolve
    );
    assert!(store.incident(&id(1)).await.unwrap().firing);
}

fn for_alert(number: u64) -> NewSession {
    NewSession {
        kind: SessionKind::Chain,
        ..new_session(number)
    }
}

#[tokio::test]
async fn a_session_starts_once_and_when_there_is_room() {
    let store = memory();
    for number in 1..=3 {
        file(&store, alert(number, &number.to_string(), true, Some(0)), 1).await;
    }
    let waiting = store.waiting_incidents(10).await.unwrap();
    assert_eq!(
        waiting.iter().map(|one| one.id.clone()).collect::<Vec<_>>(),
        [1, 2, 3].map(id)
    );
    let one = QueueLimits { max_pending: 1 };
    let both = vec![id(1), id(2)];
    let started = store.start_incidents(for_alert(1), both.clone(), &one).await;
    assert_eq!(started, Ok(Some(Submitted::New)));
    assert_eq!(
        store
            .start_incidents(for_alert(2), vec![id(2), id(3)], &ROOM)
            .await,
        Ok(None),
        "another process was first; nothing was done"
    );
    assert_eq!(
        store.start_incidents(for_alert(2), vec![id(3)], &one).await,
        Err(Error::QueueFull { max: 1 })
    );
    assert!(store.incident(&id(3)).await.unwrap().waiting, "it waits on");
    assert_eq!(
        store.incident_counts().await.unwrap(),
        IncidentCounts {
            warning: 3,
            waiting: 1,
            ..IncidentCounts::default()
        }
    );
    let of: Vec<IncidentId> = store
        .incidents_of(&session_id(1))
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(of, both);
    let session = store.incident(&id(1)).await.unwrap().session.unwrap();
    assert_eq!(
        (session.id, session.status, session.open_holds),
        (session_id(1), Status::Pending, 0)
    );
    assert_eq!(store.incident_sessions(&id(3)).await.unwrap(), []);
}

#[tokio::test]
async fn a_verified_action_mitigates_and_an_end_without_one_does_not() {
    for (verified, expected) in [(true, IncidentStatus::Mitigated), (false, IncidentStatus::Open)] {
        let store = memory();
        file(&store, alert(1, "a", true, Some(0)), 1).await;
        store
            .start_incidents(for_alert(1), vec![id(1)], &ROOM)
            .await
            .unwrap();
        let claim = store.claim(&session_id(1), &worker(1), at(2)).await.unwrap();
        let write = call(1, 1, ToolKind::Write, 1);
        store
            .append(batch(&claim, vec![Record::Started(write.clone())]))
            .await
            .unwrap();
        let mut records = vec![finished(&write)];
        if verified {
            records.push(Record::Verified {
                permit: permit_id(1),
                outcome: Verification::Verified,
            });
        }
        store.append(batch(&claim, records)).await.unwrap();
        store
            .append(batch(&claim, vec![status(Status::Completed)]))
            .await
            .unwrap();
        assert_eq!(
            store.incident(&id(1)).await.unwrap().status,
            expected,
            "verified: {verified}"
        );
        assert!(
            store.incident(&id(1)).await.unwrap().firing,
            "the alert fires until it is resolved"
        );
    }
}

#[tokio::test]
async fn people_move_an_incident_and_the_audit_log_says_so() {
    use IncidentMove::{Acknowledge, Reopen, Resolve};
    let store = memory();
    file(&store, alert(1, "a", true, Some(0)), 1).await;
    let steps = [
        (Acknowledge, Some(IncidentStatus::Acknowledged)),
        (Acknowledge, None),
        (Reopen, None),
        (Resolve, Some(IncidentStatus::Resolved)),
        (Resolve, None),
        (Acknowledge, None),
        (Reopen, Some(IncidentStatus::Open)),
    ];
    let mut entries = 0;
    for (to, expected) in steps {
        let moved = store
            .move_incident(&id(1), to, &ada(), "because", deed("incident.moved"))
            .await;
        match expected {
            Some(stands) => {
                entries += 1;
                assert_eq!(moved.unwrap().status, stands, "{to:?}");
            }
            None => assert!(
                matches!(moved, Err(Error::IncidentStands { .. })),
                "{to:?}: {moved:?}"
            ),
        }
        assert_eq!(
            store.verify_audit().await.unwrap().entries,
            entries,
            "a move that is refused leaves no entry"
        );
    }
    // A person called it resolved and it fires on: both are shown.
    store
        .move_incident(&id(1), Resolve, &ada(), "", deed("incident.moved"))
        .await
        .unwrap();
    file(&store, alert(2, "a", true, Some(0)), 600).await;
    let incident = store.incident(&id(1)).await.unwrap();
    assert_eq!(
        (incident.status, incident.firing),
        (IncidentStatus::Resolved, true)
    );
    // Then the alert ends: nothing was open, and it does not fire any more.
    assert_eq!(
        file(&store, alert(2, "a", false, Some(0)), 601).await,
        Filed::NothingToResolve
    );
    assert!(!store.incident(&id(1)).await.unwrap().firing);
}

#[tokio::test]
async fn whoever_works_on_it_hears_what_its_alerts_say_later() {
    let store = memory();
    file(&store, alert(1, "a", true, Some(0)), 1).await;
    store
        .start_incidents(for_alert(1), vec![id(1)], &ROOM)
        .await
        .unwrap();
    assert_eq!(store.incident_news(&session_id(1), at(5)).await.unwrap(), []);
    file(&store, alert(1, "a", true, Some(0)), 6).await;
    file(&store, alert(1, "a", true, Some(0)), 7).await;
    file(&store, alert(1, "a", false, Some(0)), 8).await;
    let heard = |after: i64| {
        let store = store.clone();
        async move {
            let news = store.incident_news(&session_id(1), at(after)).await.unwrap();
            news.into_iter()
                .map(|one| (one.event.kind, one.event.count))
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        heard(5).await,
        [
            (IncidentEventKind::Repeated, 2),
            (IncidentEventKind::AlertResolved, 1)
        ]
    );
    assert_eq!(heard(7).await, [(IncidentEventKind::AlertResolved, 1)]);
    assert_eq!(heard(8).await, []);
}

#[tokio::test]
async fn open_ones_come_first_the_worst_first() {
    let store = memory();
    for (number, severity) in [
        (1, Severity::Info),
        (2, Severity::Critical),
        (3, Severity::Warning),
        (4, Severity::Critical),
    ] {
        let alert = NewAlert {
            severity,
            ..alert(number, &number.to_string(), true, Some(0))
        };
        file(&store, alert, 1).await;
    }
    file(&store, alert(2, "2", false, Some(0)), 50).await;
    let order = |query: IncidentQuery| {
        let store = store.clone();
        async move {
            let (page, total) = store.incidents(&query).await.unwrap();
            (page.into_iter().map(|one| one.id).collect::<Vec<_>>(), total)
        }
    };
    assert_eq!(order(all()).await, ([4, 3, 1, 2].map(id).to_vec(), 4));
    let open = IncidentQuery {
        statuses: vec![
            IncidentStatus::Open,
            IncidentStatus::Acknowledged,
            IncidentStatus::Mitigated,
        ],
        offset: 1,
        limit: 1,
        ..all()
    };
    assert_eq!(order(open).await, (vec![id(3)], 3));
    let critical = IncidentQuery {
        severity: Some(Severity::Critical),
        ..all()
    };
    assert_eq!(order(critical).await, ([4, 2].map(id).to_vec(), 2));
}

#[tokio::test]
async fn what_was_rejected_is_listed_and_counted_and_the_oldest_are_forgotten() {
    let store = memory();
    let rejected = |number: i64| RejectedAlert {
        at: at(number),
        source: "grafana".to_owned(),
        reason: format!("reason {number}"),
        alert: "{".to_owned(),
    };
    assert_eq!(store.rejected_alerts(10).await.unwrap(), (Vec::new(), 0));
    store
        .keep_rejected((1..=1_200).map(rejected).collect())
        .await
        .unwrap();
    let (kept, total) = store.rejected_alerts(2_000).await.unwrap();
    assert_eq!((kept.len(), total), (1_000, 1_200));
    assert_eq!(kept[0], rejected(1_200));
}

#[tokio::test]
async fn retention_removes_what_was_resolved_and_worked_on_long_ago() {
    let store = memory();
    let days = |days: i64| days * 24 * 60 * 60;
    file(&store, alert(1, "a", true, Some(0)), 1).await;
    store
        .start_incidents(for_alert(1), vec![id(1)], &ROOM)
        .await
        .unwrap();
    file(&store, alert(2, "b", true, Some(0)), 1).await;
    file(&store, alert(1, "a", false, Some(0)), 2).await;
    let retention = Retention {
        sessions_days: Some(1),
        purge_days: Some(1),
    };
    store.retain(&retention, at(days(10))).await.unwrap();
    assert!(store.incident(&id(1)).await.is_ok(), "its session is still there");
    let claim = store.claim(&session_id(1), &worker(1), at(3)).await.unwrap();
    store
        .append(batch(&claim, vec![status(Status::Completed)]))
        .await
        .unwrap();
    store.retain(&retention, at(days(10))).await.unwrap();
    store.retain(&retention, at(days(20))).await.unwrap();
    assert!(matches!(
        store.incident(&id(1)).await,
        Err(Error::NotFound { .. })
    ));
    assert!(store.incident(&id(2)).await.is_ok(), "it is open");
}

#[tokio::test]
async fn it_survives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let store = Store::open(&options).unwrap();
    file(&store, alert(1, "a", true, Some(0)), 1).await;
    let before = store.incident(&id(1)).await.unwrap();
    drop(store);
    let store = Store::open(&options).unwrap();
    assert_eq!(store.incident(&id(1)).await.unwrap(), before);
}

/// A model of one alert's life, simpler than the store: whether an incident is open, since when, and how many there were.
#[derive(Default)]
struct Model {
    /// The firing, when it was resolved, and whether it is open.
    current: Option<(i64, Option<i64>)>,
    incidents: usize,
}

impl Model {
    fn tell(&mut self, firing: bool, starts: i64, now: i64) {
        match (self.current, firing) {
            (None, true) => {
                self.incidents += 1;
                self.current = Some((starts, None));
            }
            (Some((_, None)), true) => self.current = Some((starts, None)),
            (Some((known, None)), false) if starts >= known => self.current = Some((known, Some(now))),
            (Some((known, Some(_))), true) if known == starts => {}
            (Some((_, Some(resolved))), true) => {
                if now - resolved > 3_600 {
                    self.incidents += 1;
                }
                self.current = Some((starts, None));
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever an alert says, in whatever order: the store agrees with the model about what is open and how many incidents
    /// there are, and never has two open ones for one fingerprint.
    #[test]
    fn any_story_of_one_alert_agrees_with_the_model(
        story in prop::collection::vec((any::<bool>(), 0_i64..4, 1_i64..2_500), 1..24)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = memory();
            let (mut model, mut now) = (Model::default(), 0);
            for (number, (firing, starts, later)) in story.into_iter().enumerate() {
                now += later;
                model.tell(firing, starts, now);
                file(&store, alert(number as u64, "a", firing, Some(starts)), now).await;
                let (page, total) = store.incidents(&all()).await.unwrap();
                prop_assert_eq!(total, model.incidents as u64);
                let open = page.iter().filter(|one| one.status.is_open()).count();
                let expected = usize::from(matches!(model.current, Some((_, None))));
                prop_assert_eq!(open, expected);
            }
            Ok(())
        })?;
    }
}
