//! Mail gateways.

use interlock_gate::Started;
use interlock_infra::mail::MailGateway;
use interlock_protocol::ResourceKind;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::reading;
use crate::Failure;
use crate::local::arguments;
use crate::{Done, Reading};

/// How far back statistics go.
const DAY: SignedDuration = SignedDuration::from_hours(24);

impl Fleet {
    pub(super) async fn mail(&self, started: &Started, _cancel: &CancellationToken) -> Result<Done, Failure> {
        let plan = started.plan();
        let all = self.inner.infra.mail_gateways();
        if all.is_empty() {
            return Err(Failure::failed(
                "no mail gateway is connected; they are configured under `infrastructure.mail_gateways`",
            ));
        }
        let id = match (&plan.target, arguments::text(plan, "resource_id")) {
            (Some(target), _) => Some(target.id.clone()),
            (None, Some(name)) => Some(self.named(name).await?),
            (None, None) => None,
        };
        if let Some(id) = id.as_ref().filter(|id| id.kind() != ResourceKind::MailGateway) {
            return Err(Failure::invalid(format!("`{id}` is no mail gateway")));
        }
        let gateways: Vec<&MailGateway> = all
            .iter()
            .filter(|gateway| id.as_ref().is_none_or(|id| gateway.id() == id))
            .collect();
        let action = arguments::text(plan, "action").unwrap_or("status");
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for gateway in gateways {
            match ask(gateway, action).await? {
                Ok(found) => {
                    let mut row = json!({"resource_id": gateway.id()});
                    row[action] = found;
                    rows.push(row);
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        let data = self.rows("gateways", rows, &problems)?;
        let done = Done::succeeded(data.clone(), format!("asked mail gateways for {action}"));
        Ok(done.with_reading(match &id {
            Some(id) => reading(id, taken_at, data, Vec::new()),
            None => Reading {
                resource: None,
                taken_at,
                data,
                observations: Vec::new(),
                walls: None,
            },
        }))
    }
}

async fn ask(gateway: &MailGateway, action: &str) -> Result<Result<Value, interlock_infra::Error>, Failure> {
    Ok(match action {
        "status" => gateway.status().await,
        "queues" => gateway.queues().await,
        "spam" => gateway.spam(DAY).await,
        "statistics" => gateway.statistics(DAY).await,
        _ => return Err(Failure::invalid("`action` is none that this tool has")),
    })
}
