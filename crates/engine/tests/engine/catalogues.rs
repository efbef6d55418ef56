//! A session runs on the catalogue of tools of its moment, and its record keeps that catalogue.

use std::sync::Arc;

use interlock_engine::{ReplayError, RulesError, ToolSet, Trace, TraceError};
use interlock_gate::{Catalogue, CatalogueRecord, Gate, Options};
use interlock_protocol::{ContentHash, ControlLevel, SessionId, Status};
use serde_json::{Value, json};

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, operator};

/// The built-in catalogue as it could be in another release.
fn other(change: impl Fn(&mut Value)) -> Catalogue {
    let mut tools = serde_json::to_value(Catalogue::built_in().unwrap().record().unwrap()).unwrap();
    for tool in tools.as_array_mut().unwrap() {
        if tool["definition"]["name"] == "infra_control" {
            change(tool);
        }
    }
    let record: CatalogueRecord = serde_json::from_value(tools).unwrap();
    Catalogue::from_record(record).unwrap()
}

fn reworded(tool: &mut Value) {
    tool["definition"]["description"] = json!("Does what is asked.");
}

fn riskier(tool: &mut Value) {
    tool["definition"]["risk"] = json!("high");
    for action in tool["actions"].as_object_mut().unwrap().values_mut() {
        action["risk"] = json!("high");
    }
}

/// As if another release had been started.
fn with_tools(lab: &Lab, catalogue: Catalogue) -> ContentHash {
    let toolbox = lab.engine.tools().toolbox().clone();
    let tools = ToolSet::new(Gate::new(Arc::new(catalogue), Options::default()), toolbox).unwrap();
    let hash = tools.hash();
    lab.engine.replace_tools(tools);
    hash
}

async fn trace(lab: &Lab, session: &SessionId) -> Trace {
    let run = lab.store.runs(session).await.unwrap().pop().unwrap();
    let trace = Trace::of(&lab.store, session, run).await.unwrap();
    // What is checked is what somebody else has as a file.
    serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap()
}

async fn replays(lab: &Lab, session: &SessionId, hash: ContentHash) {
    let trace = trace(lab, session).await;
    assert_eq!(trace.catalogues.keys().collect::<Vec<_>>(), [&hash]);
    let traced = trace.check(lab.store.keyring()).unwrap();
    assert!(traced.holds(), "{:?}", traced.sentences());
}

/// As a release recorded it whose definitions had a field that this one does not have.
fn earlier(catalogue: &Catalogue) -> CatalogueRecord {
    let mut tools = serde_json::to_value(catalogue.record().unwrap()).unwrap();
    for tool in tools.as_array_mut().unwrap() {
        tool["definition"]["requires_sandbox"] = json!(true);
    }
    serde_json::from_value(tools).unwrap()
}

type Change = fn(&mut Value);

#[test]
fn a_record_with_a_field_that_is_gone_keeps_its_hash() {
    let now = Catalogue::built_in().unwrap();
    let recorded = earlier(&now);
    assert_ne!(recorded.hash(), now.record().unwrap().hash());
    let text = serde_json::to_string(&recorded).unwrap();
    let read: CatalogueRecord = serde_json::from_str(&text).unwrap();
    assert_eq!(read.hash(), recorded.hash());
    let decides = Catalogue::from_record(read).unwrap();
    assert_eq!(decides.record().unwrap(), now.record().unwrap());

    let unknown = text.replacen("requires_sandbox", "requires_something", 1);
    assert!(serde_json::from_str::<CatalogueRecord>(&unknown).is_err());
}

#[test]
fn a_record_makes_the_same_catalogue_and_its_hash_covers_everything_that_decides() {
    let record = Catalogue::built_in().unwrap().record().unwrap();
    let again = Catalogue::from_record(record.clone()).unwrap().record().unwrap();
    assert_eq!(record, again);
    let hash = record.hash();
    assert_eq!(again.hash(), hash);
    let changes: [(&str, Change); 6] = [
        ("description", reworded),
        ("risk", riskier),
        ("time limit", |tool| {
            tool["definition"]["timeout_seconds"] = json!(31);
        }),
        ("unlisted actions", |tool| tool["unclear"]["power"] = json!(true)),
        ("where it runs", |tool| {
            tool["always"]["placement"] = json!("inside");
        }),
        ("parameters", |tool| {
            tool["definition"]["parameters"]["properties"]["extra"] = json!({"type": "string"});
        }),
    ];
    for (what, change) in changes {
        assert_ne!(other(change).record().unwrap().hash(), hash, "{what}");
    }
}

#[tokio::test]
async fn what_was_recorded_before_the_tools_changed_replays_after_it() {
    let wish = || Wish::script(RESTART).level(ControlLevel::Autonomous);
    let lab = Lab::new(wish());
    let old = lab.engine.tools().hash();
    let (first, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    replays(&lab, &first, old).await;

    // Another process, with other tools, on the same store.
    let later = Lab::in_folder(&lab.folder.path, wish());
    let reworded = with_tools(&later, other(reworded));
    let (second, _) = later.ask("put the flag there").await;
    let riskier = with_tools(&later, other(riskier));
    let (third, _) = later.ask("put the flag there").await;
    for (session, hash) in [(&first, old), (&second, reworded), (&third, riskier)] {
        replays(&later, session, hash).await;
        replays(&lab, session, hash).await;
    }
}

/// A plan that was shown with one catalogue is not run with another: the approval was for what it said then.
#[tokio::test]
async fn a_session_that_waited_goes_on_with_the_tools_of_now() {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let old = lab.engine.tools().hash();
    let (session, _) = lab.ask("put the flag there").await;
    let new = with_tools(&lab, other(riskier));
    lab.engine
        .approve_by(&lab.hold().await, &operator())
        .await
        .unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let trace = trace(&lab, &session).await;
    assert_eq!(trace.catalogues.len(), 2);
    assert!(trace.catalogues.contains_key(&old) && trace.catalogues.contains_key(&new));
    let traced = trace.check(lab.store.keyring()).unwrap();
    assert!(traced.holds(), "{:?}", traced.sentences());
}

#[tokio::test]
async fn a_catalogue_that_was_changed_or_is_missing_is_noticed() {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Autonomous));
    let hash = lab.engine.tools().hash();
    let (session, _) = lab.ask("put the flag there").await;
    let whole = trace(&lab, &session).await;

    let mut missing = whole.clone();
    missing.catalogues.clear();
    let mut changed = whole.clone();
    changed.catalogues.insert(hash, other(reworded).record().unwrap());
    for (trace, is_expected) in [
        (
            missing,
            (|error| matches!(error, RulesError::Missing(_))) as fn(&RulesError) -> bool,
        ),
        (changed, |error| matches!(error, RulesError::Changed(_))),
    ] {
        let Err(TraceError::Replay(ReplayError::Rules(error))) = trace.check(None) else {
            panic!("it was not noticed")
        };
        assert!(is_expected(&error), "{error}");
    }

    let mut more = whole.clone();
    let extra = other(reworded).record().unwrap();
    more.catalogues.insert(extra.hash(), extra);
    let traced = more.check(None).unwrap();
    assert!(
        traced
            .problems
            .iter()
            .any(|problem| problem.contains("no step was decided with")),
        "{:?}",
        traced.problems
    );
}
