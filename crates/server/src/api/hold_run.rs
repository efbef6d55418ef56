//! Why what was approved did not run: the gate looks again at the moment of running, and things may stand differently.

use interlock_gate::{Hold, HoldStatus};
use interlock_store::TimelineEntry;
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
    if action.is_some() || !matches!(hold.status, HoldStatus::Approved { .. }) {
        return Ok(None);
    }
    let timeline = app.store().timeline(&hold.plan.session).await?;
    Ok(timeline.iter().rev().find_map(|entry| refusal(entry, hold)))
}

/// What an entry says of a hold that was not run.
fn refusal(entry: &TimelineEntry, hold: &Hold) -> Option<NotRun> {
    let fact = |name: &str| entry.metadata.get(name).and_then(Value::as_str);
    if fact("hold") != Some(hold.id.as_str()) || !matches!(entry.status.as_str(), "refused" | "cancelled") {
        return None;
    }
    Some(NotRun {
        at: entry.updated_at,
        code: fact("code").map(str::to_owned),
        rule: fact("rule").map(str::to_owned),
        message: entry.content.clone(),
        changes: changes(entry.metadata.pointer("/details/changes")),
    })
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
