//! Queries: at an instant, over a range, and in their usual form.

use axum::extract::State;
use serde_json::json;

use super::super::Prometheus;
use super::super::promql::{self, Limits, Query};
use super::Params;
use super::answer::{self, Answer, Refusal};

pub(super) async fn instant(State(prometheus): State<Prometheus>, params: Params) -> Result<Answer, Refusal> {
    let at = params
        .time("time")?
        .unwrap_or_else(|| prometheus.shared.clock.now());
    let limits = limits(&params)?;
    let query = read(&params)?;
    let value = off_the_loop(move || query.instant(prometheus.tsdb(), at, limits)).await?;
    Ok(Answer::new(answer::value(&value, at.as_millisecond())))
}

pub(super) async fn range(State(prometheus): State<Prometheus>, params: Params) -> Result<Answer, Refusal> {
    let (start, end) = (params.required_time("start")?, params.required_time("end")?);
    let missing =
        || Refusal::bad("invalid parameter \"step\": cannot parse \"\" to a valid duration".to_owned());
    let step = params.duration("step")?.ok_or_else(missing)?;
    let limits = limits(&params)?;
    let query = read(&params)?;
    let series = off_the_loop(move || query.range(prometheus.tsdb(), start, end, step, limits)).await?;
    Ok(Answer::new(answer::matrix(&series)))
}

pub(super) async fn format(params: Params) -> Result<Answer, Refusal> {
    Ok(Answer::new(json!(read(&params)?.pretty())))
}

fn read(params: &Params) -> Result<Query, Refusal> {
    Query::parse(params.get("query").unwrap_or_default()).map_err(Refusal::from)
}

fn limits(params: &Params) -> Result<Limits, Refusal> {
    let default = Limits::default();
    let time = params
        .duration("timeout")?
        .map_or(default.time, |asked| asked.min(default.time));
    Ok(Limits { time, ..default })
}

/// A query may compute for seconds, and must not hold up the other requests.
async fn off_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, promql::Error> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| Refusal::internal(error.to_string()))??)
}
