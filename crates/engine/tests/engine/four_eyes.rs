//! Four eyes: what is said before somebody tries, what happens when they try, and what is left of it are one thing.

use interlock_engine::{Barred, Called, Channel, Error, EyesChecked, Person, Submission};
use interlock_gate::{ApprovalToken, FourEyes, Hold};
use interlock_protocol::{ControlLevel, Role, SessionId, UserId, UserName};
use interlock_store::{AuditEntry, AuditFilter, NewUser, UserChange};
use serde_json::{Value, json};

use crate::fixture::{DecidesByName, Lab, Wish, asker, calls, find, says, user, write};
use crate::gates::Counts;

fn lab() -> Lab {
    let mut wish = Wish::replies([
        says("What shall I do?"),
        calls([find()]),
        calls([write("touch /srv/flag")]),
        says("Done."),
    ])
    .level(ControlLevel::Controlled);
    wish.four_eyes = FourEyes::On;
    Lab::new(wish)
}

async fn chat(lab: &Lab) -> SessionId {
    let mut question = Submission::question("hello");
    question.owner = Some(user("owner"));
    let session = lab.engine.submit(question).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    session
}

async fn edited(lab: &Lab, hold: &Hold, by: &str, command: &str) -> Hold {
    let mut arguments = hold.plan.arguments.clone();
    arguments.insert("command".to_owned(), json!(command));
    lab.engine.edit_by(&hold.id, &user(by), arguments).await.unwrap()
}

/// What was refused to people, oldest first.
async fn refused(lab: &Lab) -> Vec<AuditEntry> {
    let of_holds = AuditFilter {
        action: Some("hold.".to_owned()),
        limit: 1000,
        ..AuditFilter::default()
    };
    let mut entries = lab.store.audit_entries(&of_holds).await.unwrap();
    entries.retain(|entry| entry.deed.action.ends_with("_refused"));
    entries.reverse();
    entries
}

/// Nobody asks at a shell and approves on the page.
#[tokio::test]
async fn whoever_has_the_same_name_at_a_shell_is_the_same_person() {
    let lab = lab();
    let mut question = Submission::question("hello");
    question.owner = Some(user("local:ada"));
    let session = lab.engine.submit(question).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    lab.again(&session, "put the flag there").await;
    let first = lab.store.hold(&lab.hold().await).await.unwrap();
    let hold = edited(&lab, &first, "local:otto", "touch /srv/two").await;
    let asked = format!("local:{}", asker());
    for (who, expected) in [
        ("ada", Some("owner")),
        ("Ada", Some("owner")),
        ("local:ada", Some("owner")),
        ("otto", Some("editor")),
        (asked.as_str(), Some("asker")),
        ("adam", None),
        ("local:adam", None),
    ] {
        let barred = lab.engine.barred_by(&hold, &user(who)).await.unwrap();
        assert_eq!(barred.map(Barred::as_str), expected, "{who}");
    }
}

#[tokio::test]
async fn whoever_may_not_approve_is_told_so_refused_counted_and_written_down() {
    let counts = Counts::default();
    let guard = metrics::set_default_local_recorder(&counts);
    let lab = lab();
    let session = chat(&lab).await;
    lab.again(&session, "put the flag there").await;
    let first = lab.store.hold(&lab.hold().await).await.unwrap();
    let second = edited(&lab, &first, "first-editor", "touch /srv/two").await;
    let hold = edited(&lab, &second, "last-editor", "touch /srv/three").await;
    let token = [7; 32];
    let people = [
        (user("owner"), "owner"),
        (asker(), "asker"),
        (user("first-editor"), "editor"),
        (user("last-editor"), "editor"),
    ];
    let mut expected = Vec::new();
    for (who, barred_as) in &people {
        let barred = lab.engine.barred_by(&hold, who).await.unwrap().unwrap();
        assert_eq!(barred.as_str(), *barred_as, "{who}");
        let opened = lab.engine.open_hold_by(&hold.id, who).await.map(|_| ());
        let token = ApprovalToken::from_bytes(token);
        let approved = lab
            .engine
            .approve_with_by(&hold.id, who, &token)
            .await
            .map(|_| ());
        for (answer, action) in [
            (opened, "hold.approval_refused"),
            (approved, "hold.approval_refused"),
        ] {
            let Err(Error::Refused(why)) = answer else {
                panic!("{who}: {answer:?}")
            };
            assert_eq!(why.message, barred.message(), "{who}");
            expected.push((who.clone(), action.to_owned(), *barred_as, barred.message()));
        }
    }
    let found = refused(&lab).await;
    let told = |entry: &AuditEntry, name: &str| entry.deed.details[name].as_str().unwrap().to_owned();
    let short: Vec<_> = found
        .iter()
        .map(|entry| {
            let who = entry.deed.actor.clone().unwrap();
            let action = entry.deed.action.clone();
            (who, action, told(entry, "barred_as"), told(entry, "reason"))
        })
        .collect();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(who, action, barred_as, reason)| (who, action, barred_as.to_owned(), reason.to_owned()))
        .collect();
    assert_eq!(short, expected);
    let secret = "07".repeat(32);
    for entry in &found {
        assert_eq!(entry.deed.subject.as_deref(), Some(hold.id.as_str()));
        assert_eq!(entry.deed.details["session"], session.as_str());
        assert!(!entry.deed.details.to_string().contains(&secret));
    }
    for (barred_as, times) in [("owner", 2), ("asker", 2), ("editor", 4)] {
        let counter = format!("interlock_approval_refused_total{{barred_as={barred_as}}}");
        assert_eq!(counts.of(&counter), times, "{barred_as}");
    }
    assert!(lab.store.tokens(&hold.id).await.unwrap().is_empty());

    let otto = user("otto");
    assert_eq!(lab.engine.barred_by(&hold, &otto).await.unwrap(), None);
    lab.engine.approve_by(&hold.id, &otto).await.unwrap();
    // What is decided is refused as that, to everybody: it does not depend on who asks.
    let late = lab
        .engine
        .open_hold_by(&hold.id, &user("owner"))
        .await
        .unwrap_err();
    assert!(
        matches!(&late, Error::Refused(why) if why.details["hold_status"] == "approved"),
        "{late:?}"
    );
    let all = refused(&lab).await;
    assert_eq!(all.len(), expected.len() + 1);
    let last = &all[expected.len()].deed.details;
    assert_eq!(
        (&last["because"], &last["rule"]),
        (&json!("gate"), &json!("hold"))
    );
    assert_eq!(last.get("barred_as"), None);
    let counter = "interlock_person_refused_total{act=approve,because=gate}";
    assert_eq!(counts.of(counter), 1);
    drop(guard);
}

/// Without four eyes nobody is barred, and nothing is written down about it.
#[tokio::test]
async fn without_four_eyes_nobody_is_barred() {
    let lab = Lab::new(Wish::script(crate::fixture::RESTART).level(ControlLevel::Controlled));
    lab.ask("put the flag there").await;
    let first = lab.store.hold(&lab.hold().await).await.unwrap();
    let hold = edited(&lab, &first, "editor", "touch /srv/two").await;
    assert_eq!(lab.engine.barred_by(&hold, &user("editor")).await.unwrap(), None);
    lab.engine.approve_by(&hold.id, &user("editor")).await.unwrap();
    assert!(refused(&lab).await.is_empty());
}

/// Whoever calls a tool by hand in somebody's session proposes what waits then.
#[tokio::test]
async fn whoever_called_a_tool_by_hand_does_not_approve_it() {
    let lab = lab();
    let session = chat(&lab).await;
    let bob = user("bob");
    for (tool, arguments) in [find(), write("touch /srv/flag")] {
        let Value::Object(arguments) = arguments else {
            panic!("no arguments")
        };
        let called = lab.engine.call(&session, &bob, tool, arguments).await.unwrap();
        assert_eq!(
            matches!(called, Called::Held { .. }),
            tool == "infra_control",
            "{called:?}"
        );
    }
    let hold = lab.hold().await;
    lab.engine.open_hold_by(&hold, &bob).await.unwrap_err();
    lab.engine.approve_by(&hold, &user("otto")).await.unwrap();
}

async fn made(lab: &Lab, name: &str, role: Role) -> UserId {
    let new = NewUser {
        name: UserName::new(name).unwrap(),
        role,
        password: None,
        identity: None,
        created_at: jiff::Timestamp::now(),
    };
    lab.store.create_user(new).await.unwrap().id
}

/// The role is the one that the store has, whatever channel somebody comes from, and the audit log says how they came.
#[tokio::test]
async fn the_store_says_who_may_decide_and_the_record_says_how_they_came() {
    let lab = Lab::new(Wish::script(crate::fixture::RESTART).level(ControlLevel::Controlled));
    lab.ask("put the flag there").await;
    let hold = lab.store.hold(&lab.hold().await).await.unwrap();
    let petra = made(&lab, "petra", Role::Approver).await;
    let off = made(&lab, "off", Role::Approver).await;
    let change = UserChange {
        enabled: Some(false),
        ..UserChange::default()
    };
    lab.store.change_user(&off, change).await.unwrap();
    let page = |user: &UserId| Person {
        user: user.clone(),
        channel: Channel::Page,
    };
    let token = |user: &UserId| Person {
        user: user.clone(),
        channel: Channel::Token("tok_1".to_owned()),
    };
    let viewer = made(&lab, "viewer", Role::Viewer).await;
    let operator = made(&lab, "operator", Role::Operator).await;
    let mut refusals = 0;
    for who in [viewer, operator, off, user("nobody"), user("local:root")] {
        for person in [page(&who), token(&who)] {
            assert_eq!(
                lab.engine.barred(&hold, &person).await.unwrap(),
                Some(Barred::Role)
            );
            let told = [
                lab.engine.approver(&hold.id, &person).await.map(|_| ()),
                lab.engine.decider(&hold.id, &person).await.map(|_| ()),
            ];
            for told in told {
                let Err(Error::Refused(why)) = told else {
                    panic!("{person:?}: {told:?}")
                };
                assert_eq!(why.message, Barred::Role.message());
                refusals += 1;
            }
        }
    }
    assert_eq!(refused(&lab).await.len(), refusals);

    let approver = lab.engine.approver(&hold.id, &token(&petra)).await.unwrap();
    assert_eq!(
        (
            approver.decider().user(),
            approver.decider().role(),
            approver.four_eyes()
        ),
        (&petra, Role::Approver, EyesChecked::NotWanted)
    );
    lab.engine.approve(&approver).await.unwrap();
    let filter = AuditFilter {
        action: Some("hold.approved".to_owned()),
        limit: 10,
        ..AuditFilter::default()
    };
    let entries = lab.store.audit_entries(&filter).await.unwrap();
    let details = &entries[0].deed.details;
    let told = ["channel", "token", "role", "four_eyes"].map(|fact| details[fact].as_str().unwrap());
    assert_eq!(told, ["token", "tok_1", "approver", "not_wanted"]);
    // The proof was for one decision: the hold is decided.
    lab.engine.approve(&approver).await.unwrap_err();
    lab.engine.deny(approver.decider(), "too late").await.unwrap_err();
}

/// Where people have accounts and four eyes are wanted, the name of a shell decides nothing.
#[tokio::test]
async fn four_eyes_want_a_person_who_has_signed_in() {
    let lab = lab();
    let session = chat(&lab).await;
    lab.again(&session, "put the flag there").await;
    let hold = lab.store.hold(&lab.hold().await).await.unwrap();
    let petra = made(&lab, "petra", Role::Approver).await;
    let shell = Person::at_shell(user("local:otto"));
    assert_eq!(
        lab.engine.barred(&hold, &shell).await.unwrap(),
        Some(Barred::NotSignedIn)
    );
    lab.engine.approver(&hold.id, &shell).await.unwrap_err();
    lab.engine.decider(&hold.id, &shell).await.unwrap_err();
    let page = Person {
        user: petra,
        channel: Channel::Page,
    };
    let approver = lab.engine.approver(&hold.id, &page).await.unwrap();
    assert_eq!(approver.four_eyes(), EyesChecked::Passed);
    lab.engine.approve(&approver).await.unwrap();
}
