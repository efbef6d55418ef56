//! How a resource did over time.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use interlock_infra::prometheus::Range;
use interlock_protocol::ResourceId;
use interlock_tools::{Measured, measure};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At, missing, number};
use super::resources::NOT_OLDER;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Metrics, Series};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(metrics))
}

/// How far back.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Back {
    /// How many hours
    #[param(minimum = 1, maximum = 720, default = 6)]
    pub(crate) hours: Option<u32>,
}

/// Show a resource's numbers over time.
#[utoipa::path(
    get, path = "/api/v1/resources/{id}/metrics", operation_id = "getResourceMetrics", tag = "infrastructure",
    params(
        ("id" = String, Path, min_length = 1, max_length = 512, description = "The resource", example = "lxc:delly:141"),
        Back,
    ),
    responses(
        (status = 200, description = "The series; none where nothing measures it", body = Metrics),
        Anybody, Signed, Missing,
    ),
)]
async fn metrics(
    State(app): State<App>,
    At(id): At<ResourceId>,
    Asked(back): Asked<Back>,
) -> Result<Json<Metrics>, Problem> {
    let hours = number("hours", back.hours.unwrap_or(6), 1, 720)?;
    let infra = app.infra();
    let graph = infra.graph(NOT_OLDER).await;
    let resource = graph.get(&id).ok_or_else(|| missing("resource", &id))?;
    let to = Timestamp::now();
    let seconds = u64::from(hours) * 3600;
    let from = to
        .checked_sub(SignedDuration::from_hours(i64::from(hours)))
        .unwrap_or(Timestamp::UNIX_EPOCH);
    let range = Range {
        from,
        to,
        step_seconds: (seconds / POINTS).max(15),
    };
    let (measured, problems) = match tokio::time::timeout(LONGEST, measure(&infra, resource, range)).await {
        Ok(found) => found,
        Err(_) => (Vec::new(), vec!["it took too long to ask".to_owned()]),
    };
    let note = match (measured.is_empty(), problems.first()) {
        (true, None) => Some(format!("nothing that is connected measures `{id}`")),
        (_, Some(problem)) => Some(problem.clone()),
        (false, None) => None,
    };
    Ok(Json(Metrics {
        series: measured.iter().take(MOST_SERIES).map(series).collect(),
        note,
    }))
}

/// How many points a series has, at most.
const POINTS: u64 = 240;
/// How many series are shown.
const MOST_SERIES: usize = 40;
/// How long asking may take.
const LONGEST: Duration = Duration::from_secs(20);

fn series(measured: &Measured) -> Series {
    let (unit, times) = match measured.unit {
        "ratio" => ("percent", 100.0),
        other => (other, 1.0),
    };
    let name = match measured.metric.as_str() {
        "processor" => "cpu",
        other => other,
    };
    // Several series of one name are told apart by what they are about.
    let about = ["mountpoint", "device", "sensor"]
        .iter()
        .find_map(|label| measured.labels.get(*label))
        .map_or_else(String::new, |value| format!(" {value}"));
    Series {
        name: format!("{name}{about}"),
        unit: unit.to_owned(),
        points: measured
            .points
            .iter()
            .filter(|point| point.value.is_finite() && point.at.is_finite())
            .map(|point| (point.at, point.value * times))
            .collect(),
    }
}
