//! The parameters of a request: from its query, and from its form if it is posted.

use std::time::Duration;

use axum::extract::{Form, FromRequest, Query, Request};
use axum::http::Method;
use jiff::Timestamp;

use super::answer::Refusal;

/// Names and values, in their order; a name may occur several times.
#[derive(Debug)]
pub(in super::super) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Params {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let unreadable = |why: String| Refusal::bad(format!("error parsing form values: {why}"));
        let mut all = Query::<Vec<(String, String)>>::try_from_uri(request.uri())
            .map_err(|why| unreadable(why.to_string()))?
            .0;
        if request.method() == Method::POST {
            let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
            all.extend(form.map_err(|why| unreadable(why.to_string()))?.0);
        }
        Ok(Self(all))
    }
}

impl Params {
    /// The first value of a parameter, if it is not empty.
    pub(in super::super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next().filter(|value| !value.is_empty())
    }

    /// Every value of a parameter.
    pub(in super::super) fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        self.0
            .iter()
            .filter(move |(held, _)| held == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn time(&self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        self.get(name).map(|text| read_time(name, text)).transpose()
    }

    pub(super) fn required_time(&self, name: &str) -> Result<Timestamp, Refusal> {
        read_time(name, self.get(name).unwrap_or_default())
    }

    pub(super) fn duration(&self, name: &str) -> Result<Option<Duration>, Refusal> {
        self.get(name).map(|text| read_duration(name, text)).transpose()
    }

    pub(super) fn limit(&self) -> Result<Option<usize>, Refusal> {
        let read = |text: &str| {
            let limit = text.parse::<usize>();
            limit.map_err(|_| {
                Refusal::bad("invalid parameter \"limit\": limit must be a non-negative number".to_owned())
            })
        };
        let limit = self.get("limit").map(read).transpose()?;
        Ok(limit.filter(|limit| *limit > 0))
    }
}

/// A Unix time in seconds or a date and time.
fn read_time(name: &str, text: &str) -> Result<Timestamp, Refusal> {
    let bad = || {
        Refusal::bad(format!(
            "invalid parameter {name:?}: cannot parse {text:?} to a valid timestamp"
        ))
    };
    if let Ok(seconds) = text.parse::<f64>() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the cast saturates, and what is too large is refused"
        )]
        let millis = (seconds * 1_000.0).round() as i64;
        return if seconds.is_nan() {
            Err(bad())
        } else {
            Timestamp::from_millisecond(millis).map_err(|_| bad())
        };
    }
    text.parse().map_err(|_| bad())
}

/// Seconds or a duration such as `1m30s`.
fn read_duration(name: &str, text: &str) -> Result<Duration, Refusal> {
    let bad = || {
        Refusal::bad(format!(
            "invalid parameter {name:?}: cannot parse {text:?} to a valid duration"
        ))
    };
    if let Ok(seconds) = text.parse::<f64>() {
        if seconds <= 0.0 {
            return Ok(Duration::ZERO);
        }
        return Duration::try_from_secs_f64(seconds).map_err(|_| bad());
    }
    promql_parser::util::parse_duration(text).map_err(|_| bad())
}
