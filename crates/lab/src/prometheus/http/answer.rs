//! The envelope of every answer: a status with data, or with an error and its type.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Value as JsonValue, json};

use super::super::promql::{self, Item, Series, Value, number};

/// Data, with warnings if there are any.
pub(super) struct Answer {
    data: JsonValue,
    warnings: Vec<String>,
}

impl Answer {
    pub(super) fn new(data: JsonValue) -> Self {
        Self {
            data,
            warnings: Vec::new(),
        }
    }

    pub(super) fn truncated(data: JsonValue) -> Self {
        Self {
            data,
            warnings: vec!["results truncated due to limit".to_owned()],
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut body = json!({ "status": "success", "data": self.data });
        if !self.warnings.is_empty() {
            body["warnings"] = json!(self.warnings);
        }
        Json(body).into_response()
    }
}

/// An error with its type.
#[derive(Debug)]
pub(in super::super) struct Refusal {
    code: StatusCode,
    kind: &'static str,
    text: String,
}

impl Refusal {
    pub(super) fn bad(text: String) -> Self {
        Self {
            code: StatusCode::BAD_REQUEST,
            kind: "bad_data",
            text,
        }
    }

    pub(super) fn internal(text: String) -> Self {
        Self {
            code: StatusCode::INTERNAL_SERVER_ERROR,
            kind: "internal",
            text,
        }
    }
}

impl From<promql::Error> for Refusal {
    fn from(error: promql::Error) -> Self {
        let text = error.to_string();
        match error {
            promql::Error::Invalid(_) => Self::bad(text),
            promql::Error::Execution(_) => Self {
                code: StatusCode::UNPROCESSABLE_ENTITY,
                kind: "execution",
                text,
            },
            promql::Error::Timeout => Self {
                code: StatusCode::SERVICE_UNAVAILABLE,
                kind: "timeout",
                text,
            },
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "status": "error", "errorType": self.kind, "error": self.text });
        (self.code, Json(body)).into_response()
    }
}

/// A result with its type, at the time `at` in milliseconds.
pub(super) fn value(value: &Value, at: i64) -> JsonValue {
    match value {
        Value::Scalar(number) => json!({ "resultType": "scalar", "result": point(at, *number) }),
        Value::Text(text) => json!({ "resultType": "string", "result": [time(at), text] }),
        Value::Vector(items) => {
            let one = |item: &Item| json!({ "metric": item.labels, "value": point(at, item.value) });
            json!({ "resultType": "vector", "result": items.iter().map(one).collect::<Vec<_>>() })
        }
        Value::Matrix(series) => matrix(series),
    }
}

pub(super) fn matrix(series: &[Series]) -> JsonValue {
    let one = |series: &Series| {
        let values: Vec<JsonValue> = series
            .points
            .iter()
            .map(|&(at, value)| point(at, value))
            .collect();
        json!({ "metric": series.labels, "values": values })
    };
    json!({ "resultType": "matrix", "result": series.iter().map(one).collect::<Vec<_>>() })
}

fn point(at: i64, value: f64) -> JsonValue {
    json!([time(at), number::json(value)])
}

/// Seconds, with a fraction only if there is one.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of this century are exact in a float"
)]
fn time(at: i64) -> JsonValue {
    if at % 1_000 == 0 {
        json!(at / 1_000)
    } else {
        json!(at as f64 / 1_000.0)
    }
}
