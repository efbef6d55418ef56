//! Why what was approved did not run: the gate looks again at the moment of running, and things may stand differently.

use interlock_gate::{Hold, HoldStatus, Rule};
use interlock_store::{DecisionFilter, DecisionRow};
use serde_json::Value;

use crate::app::App;
use crate::problem::Problem;
use crate::wire::{ActionTaken, Change, NotRun};

/// Why an approved hold did not run, as far as that is known.
pub(super) async fn not_run(
    app: &App,
    hold: &Hold,
    action: Option<&ActionTaken>,
) -> Result<Option<NotRun>, Problem> {
    let HoldStatus::Approved { at, .. } = &hold.status else {
        return Ok(None);
    };
    if action.is_some() {
        return Ok(None);
    }
    let refused = DecisionFilter {
        session: Some(hold.plan.session.clone()),
        answer: Some("refused".to_owned()),
        call: Some(hold.call.clone()),
        limit: 1,
        ..DecisionFilter::default()
    };
    let newest = app.store().decisions(&refused).await?.pop();
    Ok(newest.filter(|refusal| refusal.at >= *at).map(refusal))
}

/// What the record says of a call that was not run.
fn refusal(row: DecisionRow) -> NotRun {
    // Some refusals are made by other code before the gate is asked. Their names are not rules of the gate.
    let asked = |rule: &str| Rule::ALL.iter().any(|known| known.as_str() == rule);
    let rule = row.rule.map(|rule| rule.to_string()).filter(|rule| asked(rule));
    NotRun {
        at: row.at,
        code: row.code.filter(|_| rule.is_some()).map(|code| code.to_string()),
        rule,
        message: row.message.unwrap_or_default(),
        changes: changes(row.details.get("changes")),
    }
}

/// What differs, out of a refusal's facts.
fn changes(found: Option<&Value>) -> Vec<Change> {
    let found = found.and_then(Value::as_array).into_iter().flatten();
    found
        .filter_map(|change| {
            let value = |name: &str| change.get(name).filter(|value| !value.is_null()).cloned();
            Some(Change {
                field: change.get("field")?.as_str()?.to_owned(),
                before: value("was"),
                after: value("now"),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_and_a_code_are_told_where_the_gate_was_asked() {
        let cases = [
            ("live_state", Some("live_state".to_owned())),
            // The session was stopped before the gate was asked.
            ("stopping", None),
            ("next_question", None),
        ];
        for (rule, expected) in cases {
            let row = DecisionRow {
                position: 7,
                session: interlock_protocol::SessionId::from_bytes([1; 16]),
                sequence: interlock_protocol::Sequence::new(3),
                at: jiff::Timestamp::UNIX_EPOCH,
                call: None,
                tool: None,
                answer: "refused".to_owned(),
                rule: interlock_protocol::RuleName::new(rule).ok(),
                code: Some(interlock_protocol::ErrorCode::NotFound),
                message: Some("no".to_owned()),
                details: serde_json::Map::new(),
                hold: None,
            };
            let told = refusal(row);
            assert_eq!((told.code.is_some(), told.rule), (expected.is_some(), expected));
            assert_eq!(told.message, "no");
        }
    }

    #[test]
    fn what_changed_is_told_field_by_field() {
        let found = json!([
            {"field": "state", "was": "running", "now": "stopped"},
            {"field": "name", "was": null, "now": "web"},
            {"was": 1},
            "nonsense",
        ]);
        let told: Vec<(String, Option<Value>, Option<Value>)> = changes(Some(&found))
            .into_iter()
            .map(|change| (change.field, change.before, change.after))
            .collect();
        assert_eq!(
            told,
            [
                ("state".to_owned(), Some(json!("running")), Some(json!("stopped"))),
                ("name".to_owned(), None, Some(json!("web"))),
            ]
        );
        assert!(changes(None).is_empty());
    }
}
