//! Alerts: list, one, history, findings; resolve, dismiss.

use std::time::Duration;

use interlock_gate::Started;
use interlock_infra::alertmanager::{Alert, Alertmanager};
use interlock_infra::prometheus::{Prometheus, Range, Series};
use interlock_protocol::{AlertState, ErrorCode, Observation, ResourceId};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::Failure;
use crate::local::arguments;
use crate::{Done, Reading};

/// For how long a dismissed alert is put aside.
const DISMISSED_FOR: Duration = Duration::from_hours(24);
/// How far back the history goes.
const HISTORY: SignedDuration = SignedDuration::from_hours(24);
/// How close together the history is looked at, in seconds.
const HISTORY_STEP: u64 = 120;

impl Fleet {
    pub(super) async fn alerts(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let infra = &self.inner.infra;
        if infra.alertmanagers().is_empty() && infra.prometheus().is_empty() {
            return Err(Failure::failed(
                "nothing that knows alerts is connected; see `infrastructure.alertmanager` and \
                 `infrastructure.prometheus`",
            ));
        }
        let id = match (&plan.target, arguments::text(plan, "alert_id")) {
            (Some(target), _) => Some(target.id.clone()),
            (None, Some(name)) => Some(self.alert_named(name).await?),
            (None, None) => None,
        };
        match (plan.action.as_deref(), id) {
            (Some("list"), None) => self.alert_list().await,
            (Some("list" | "get"), Some(id)) => self.alert_get(&id).await,
            (Some("history"), id) => self.alert_history(id.as_ref()).await,
            (Some("findings"), _) => self.alert_findings().await,
            (Some(action @ ("resolve" | "dismiss")), Some(id)) => {
                self.alert_change(started, &id, action).await
            }
            (Some("get" | "resolve" | "dismiss"), None) => Err(Failure::missing("alert_id")),
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    /// Where an alert stands, by our own question. One that is not there any more is over.
    pub(super) async fn observe_alert(&self, id: &ResourceId) -> Option<Reading> {
        let taken_at = Timestamp::now();
        let (data, state) = match self.alert_of(id).await.ok()? {
            Some((_, alert)) => (shown(&alert), alert.state()),
            None if self.inner.infra.alertmanagers().is_empty() => return None,
            None => (
                json!({"alert_id": id, "state": AlertState::Resolved}),
                AlertState::Resolved,
            ),
        };
        Some(Reading {
            resource: Some(id.clone()),
            taken_at,
            data,
            observations: vec![Observation::Alert { state }],
            walls: None,
        })
    }

    /// An alert, with the Alertmanager that has it. It must have been possible to ask all of them.
    async fn alert_of(&self, id: &ResourceId) -> Result<Option<(&Alertmanager, Alert)>, Failure> {
        let mut problem = None;
        for manager in self.inner.infra.alertmanagers() {
            match manager.alert(id).await {
                Ok(Some(alert)) => return Ok(Some((manager, alert))),
                Ok(None) => {}
                Err(error) => problem = Some(error),
            }
        }
        match problem {
            Some(error) => Err(error.into()),
            None => Ok(None),
        }
    }

    /// The one alert that goes by this id, fingerprint or name.
    async fn alert_named(&self, name: &str) -> Result<ResourceId, Failure> {
        if let Ok(id) = name.parse::<ResourceId>() {
            return Ok(id);
        }
        let (alerts, _) = self.alerts_now().await;
        let ids: Vec<ResourceId> = alerts
            .iter()
            .filter(|alert| alert.fingerprint == name || alert.name().eq_ignore_ascii_case(name))
            .filter_map(Alert::id)
            .collect();
        match ids.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(no_alert(name)),
            several => {
                let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
                Err(Failure::invalid(format!(
                    "`{name}` may be any of {}; name one by its id",
                    ids.join(", ")
                )))
            }
        }
    }

    pub(super) async fn alerts_now(&self) -> (Vec<Alert>, Vec<String>) {
        let mut all = Vec::new();
        let mut problems = Vec::new();
        for manager in self.inner.infra.alertmanagers() {
            match manager.alerts().await {
                Ok(alerts) => all.extend(alerts),
                Err(error) => problems.push(error.to_string()),
            }
        }
        (all, problems)
    }

    async fn alert_list(&self) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let (alerts, mut problems) = self.alerts_now().await;
        let mut rows: Vec<Value> = alerts.iter().map(shown).collect();
        // Where nobody gathers alerts, those who evaluate rules are asked.
        if self.inner.infra.alertmanagers().is_empty() {
            for prometheus in self.inner.infra.prometheus() {
                match prometheus.alerts().await {
                    Ok(alerts) => rows.extend(alerts.into_iter().map(|alert| json!(alert))),
                    Err(error) => problems.push(error.to_string()),
                }
            }
        }
        let data = self.rows("alerts", rows, &problems)?;
        Ok(read(taken_at, data, "listed the alerts"))
    }

    async fn alert_get(&self, id: &ResourceId) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let (_, alert) = self
            .alert_of(id)
            .await?
            .ok_or_else(|| no_alert(&id.to_string()))?;
        let data = shown(&alert);
        Ok(
            Done::succeeded(data.clone(), "looked at an alert").with_reading(Reading {
                resource: Some(id.clone()),
                taken_at,
                data,
                observations: vec![Observation::Present, alert.observation()],
                walls: None,
            }),
        )
    }

    /// When alerts fired, by what Prometheus recorded.
    async fn alert_history(&self, id: Option<&ResourceId>) -> Result<Done, Failure> {
        if self.inner.infra.prometheus().is_empty() {
            return Err(Failure::failed(
                "nothing that records alerts is connected; see `infrastructure.prometheus`",
            ));
        }
        let wanted = match id {
            Some(id) => self.alert_of(id).await?.map(|(_, alert)| alert),
            None => None,
        };
        let taken_at = Timestamp::now();
        let range = Range {
            from: taken_at.checked_sub(HISTORY).unwrap_or(Timestamp::UNIX_EPOCH),
            to: taken_at,
            step_seconds: HISTORY_STEP,
        };
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for prometheus in self.inner.infra.prometheus() {
            match prometheus
                .query_range("ALERTS{alertstate=\"firing\"}", range)
                .await
            {
                Ok(answer) => rows.extend(
                    answer
                        .data
                        .iter()
                        .filter(|series| wanted.as_ref().is_none_or(|alert| is_of(series, alert)))
                        .map(fired),
                ),
                Err(error) => problems.push(error.to_string()),
            }
        }
        let data = self.rows("history", rows, &problems)?;
        Ok(read(taken_at, data, "read when alerts fired"))
    }

    /// What is wrong by what Prometheus knows: alerts, rules that cannot be evaluated, targets that are down.
    async fn alert_findings(&self) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let (alerts, mut problems) = self.alerts_now().await;
        rows.extend(
            alerts
                .iter()
                .map(|alert| json!({"kind": "alert", "alert": shown(alert)})),
        );
        for prometheus in self.inner.infra.prometheus() {
            if let Err(error) = findings(prometheus, &mut rows).await {
                problems.push(error.to_string());
            }
        }
        let data = self.rows("findings", rows, &problems)?;
        Ok(read(taken_at, data, "listed findings"))
    }

    async fn alert_change(&self, started: &Started, id: &ResourceId, action: &str) -> Result<Done, Failure> {
        let (manager, alert) = self
            .alert_of(id)
            .await?
            .ok_or_else(|| no_alert(&id.to_string()))?;
        let mut data = json!({"alert_id": id, "alert": alert.name(), "action": action});
        if action == "resolve" {
            manager.resolve(started, id).await?;
        } else {
            let note = arguments::text(started.plan(), "note").unwrap_or("dismissed");
            let silence = manager.silence(started, id, note, DISMISSED_FOR).await?;
            data["silence"] = json!(silence);
            data["until"] = json!(started.at().checked_add(DISMISSED_FOR).ok());
        }
        let done = Done::succeeded(data, format!("Alertmanager took the {action} of an alert"));
        // For people: only a later, separate reading verifies.
        Ok(match self.observe_alert(id).await {
            Some(reading) => done.with_reading(reading),
            None => done,
        })
    }
}

async fn findings(prometheus: &Prometheus, rows: &mut Vec<Value>) -> Result<(), interlock_infra::Error> {
    let alerts = prometheus.alerts().await?;
    rows.extend(
        alerts
            .into_iter()
            .map(|alert| json!({"kind": "evaluated_alert", "alert": alert})),
    );
    let rules = prometheus.rules().await?;
    rows.extend(
        rules
            .into_iter()
            .filter(|rule| rule.health == "err")
            .map(|rule| json!({"kind": "broken_rule", "rule": rule})),
    );
    let targets = prometheus.targets().await?;
    rows.extend(
        targets
            .into_iter()
            .filter(|target| target.health == "down")
            .map(|target| json!({"kind": "target_down", "target": target})),
    );
    Ok(())
}

fn shown(alert: &Alert) -> Value {
    json!({
        "alert_id": alert.id(),
        "name": alert.name(),
        "state": alert.state(),
        "labels": alert.labels,
        "annotations": alert.annotations,
        "starts_at": alert.starts_at,
        "silenced_by": alert.status.silenced_by,
        "inhibited_by": alert.status.inhibited_by,
    })
}

/// Whether a recorded series is that of an alert: it has all of its labels.
fn is_of(series: &Series, alert: &Alert) -> bool {
    alert
        .labels
        .iter()
        .all(|(name, value)| series.metric.get(name) == Some(value))
}

/// When an alert fired: spans without a gap.
fn fired(series: &Series) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "a step is a small number")]
    let gap = HISTORY_STEP as f64 * 1.5;
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for place in 0..series.values.len() {
        match spans.last_mut() {
            Some(span) if series.values[place].at - series.values[span.1].at <= gap => span.1 = place,
            _ => spans.push((place, place)),
        }
    }
    let spans: Vec<Value> = spans
        .into_iter()
        .map(|(from, to)| json!({"from": series.values[from].time(), "to": series.values[to].time()}))
        .collect();
    let labels: serde_json::Map<String, Value> = series
        .metric
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "__name__" | "alertstate"))
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    json!({"labels": labels, "fired": spans})
}

fn read(taken_at: Timestamp, data: Value, summary: &str) -> Done {
    Done::succeeded(data.clone(), summary).with_reading(Reading {
        resource: None,
        taken_at,
        data,
        observations: Vec::new(),
        walls: None,
    })
}

fn no_alert(name: &str) -> Failure {
    Failure::new(
        ErrorCode::NotFound,
        format!("no alert `{name}` fires; it may be over. The action `list` shows what does"),
    )
    .detail("alert_id", name)
}
