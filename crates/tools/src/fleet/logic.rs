//! Questions in logic about what is connected.

use std::sync::Arc;
use std::time::Duration;

use interlock_gate::Started;
use interlock_logic::{Knowledge, Limits, Rules};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::local::arguments;
use crate::{Done, Failure, Reading};

/// How old facts may be.
const NOT_OLDER: Duration = Duration::from_secs(10);
/// The most answers: a model reads them all.
const MOST_ANSWERS: usize = 50;

impl Fleet {
    pub(super) async fn logic_query(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let text = arguments::needed(plan, "goal")?.to_owned();
        let explain = plan.arguments.get("explain").and_then(Value::as_bool) == Some(true);
        let (facts, problems) = tokio::select! {
            found = self.facts(NOT_OLDER) => found,
            () = cancel.cancelled() => return Err(Failure::failed("the question was cancelled")),
        };
        let now = Timestamp::now();
        let taken_at = facts.taken_at.unwrap_or(now);
        let rules = Arc::clone(&self.rules);
        // Checking and searching take processor time, up to some seconds.
        let searched = tokio::task::spawn_blocking(move || answered(&facts, rules, &text, explain, now));
        let mut data = searched
            .await
            .map_err(|error| Failure::failed(error.to_string()))??;
        if !problems.is_empty() {
            data["problems"] = json!(problems);
        }
        let summary = "asked a question in logic";
        Ok(Done::succeeded(data.clone(), summary).with_reading(Reading {
            resource: None,
            taken_at,
            data,
            observations: Vec::new(),
            walls: None,
        }))
    }
}

fn answered(
    facts: &interlock_logic::Facts,
    rules: Arc<Rules>,
    goal: &str,
    explain: bool,
    now: Timestamp,
) -> Result<Value, Failure> {
    let knowledge =
        Knowledge::new(facts, rules, 1, now).map_err(|error| Failure::failed(error.to_string()))?;
    let goal = knowledge.check(goal).map_err(|refusal| {
        Failure::invalid(refusal.message.clone())
            .detail("refused_goal", refusal.goal.clone())
            .detail("reason", json!(refusal.code))
    })?;
    let limits = Limits {
        answers: MOST_ANSWERS,
        ..Limits::default()
    };
    let document = if explain {
        serde_json::to_value(knowledge.explain(&goal, now, limits))
    } else {
        serde_json::to_value(knowledge.ask(&goal, now, limits))
    };
    document.map_err(|error| Failure::failed(error.to_string()))
}
