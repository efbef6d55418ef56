//! What comes in: bodies, queries and paths, each refused in the same form where something is wrong with it.
//!
//! Nothing here decides anything. A value that does not fit is told with its place; it never becomes a plain text of the
//! framework, and never a panic.

use std::fmt;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use interlock_protocol::{EvidenceId, HoldId, IncidentId, ResourceId, SessionId};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::problem::{Code, Problem};
use crate::wire::Object;

/// The largest place of an event that every client can write as a number.
pub(super) const MOST_PLACE: u64 = 9_007_199_254_740_991;

/// A JSON body: an object.
pub(crate) struct Sent<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        is_json(&parts.headers)?;
        let bytes = read(body).await?;
        serde_json::from_slice(&bytes)
            .map(|Object(form)| Self(form))
            .map_err(|error| unreadable(&error))
    }
}

/// Any JSON body.
pub(crate) struct SentJson(pub(crate) serde_json::Value);

impl<S: Send + Sync> FromRequest<S> for SentJson {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        is_json(&parts.headers)?;
        let bytes = read(body).await?;
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| unreadable(&error))
    }
}

/// A JSON body that may be left out.
pub(crate) struct MaySend<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for MaySend<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(body).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        is_json(&parts.headers)?;
        serde_json::from_slice(&bytes)
            .map(|form: Option<Object<T>>| Self(form.map_or_else(T::default, |Object(form)| form)))
            .map_err(|error| unreadable(&error))
    }
}

/// All of it. How large it may be is looked at before, for every request.
async fn read(body: Body) -> Result<bytes::Bytes, Problem> {
    to_bytes(body, usize::MAX).await.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = cause {
            let said = error.to_string();
            if said.contains("length limit exceeded") {
                return Problem::new(
                    Code::TooLarge,
                    "the body is larger than this server takes (`server.limits.body_bytes`, for alerts `server.limits.alert_bytes`)",
                )
                .hint("send less at once");
            }
            cause = error.source();
        }
        Problem::new(Code::InvalidInput, "the body broke off").hint("send it again")
    })
}

fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers
        .get(CONTENT_TYPE)
        .map(HeaderValue::to_str)
        .and_then(Result::ok);
    let essence = kind.map(|kind| {
        let end = kind.find(';').unwrap_or(kind.len());
        kind[..end].trim().to_ascii_lowercase()
    });
    let is = essence.as_deref().is_some_and(|essence| {
        essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
    });
    if is {
        return Ok(());
    }
    let found = kind.map_or_else(|| "none".to_owned(), |kind| format!("`{}`", short(kind)));
    Err(Problem::new(
        Code::UnsupportedMediaType,
        format!("the body must be `application/json`; its type is {found}"),
    )
    .hint("send the header `Content-Type: application/json`"))
}

fn unreadable(error: &serde_json::Error) -> Problem {
    let what = match error.classify() {
        serde_json::error::Category::Data => "the body does not fit",
        serde_json::error::Category::Eof => "the body ends too early",
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => "the body is no JSON",
    };
    Problem::new(
        Code::InvalidInput,
        format!("{what}: {}", short(&error.to_string())),
    )
    .hint("compare it with the description of the API under /api/v1/openapi.json")
    .details(json!({"line": error.line(), "column": error.column()}))
}

/// What stands behind the `?`.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Query::<T>::try_from_uri(&parts.uri)
            .map(|Query(value)| Self(value))
            .map_err(|error| {
                use std::error::Error as _;
                let said = error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string);
                Problem::new(
                    Code::InvalidInput,
                    format!("the query does not fit: {}", short(&said)),
                )
                .hint("compare it with the description of the API under /api/v1/openapi.json")
            })
    }
}

/// An id that stands in a path.
pub(super) trait InPath: Sized {
    /// What it is the id of.
    const WHAT: &'static str;

    /// Reads it.
    fn read(text: &str) -> Option<Self>;
}

macro_rules! in_path {
    ($($name:ty = $what:literal),+ $(,)?) => {
        $(impl InPath for $name {
            const WHAT: &'static str = $what;

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })+
    };
}

in_path! {
    SessionId = "session",
    HoldId = "approval",
    IncidentId = "incident",
    EvidenceId = "evidence",
    ResourceId = "resource",
}

/// The ids in a path, in order. What is no id names nothing, so it is not found.
pub(super) struct At<T>(pub(super) T);

impl<S: Send + Sync, T: InPath> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = names(parts, state).await?;
        Ok(Self(one(&named, 0)?))
    }
}

impl<S: Send + Sync, T: InPath, U: InPath> FromRequestParts<S> for At<(T, U)> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = names(parts, state).await?;
        Ok(Self((one(&named, 0)?, one(&named, 1)?)))
    }
}

async fn names<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<String>, Problem> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Problem::new(Code::InvalidInput, "the path is not UTF-8 once it is decoded"))?;
    Ok(params.iter().map(|(_, value)| value.to_owned()).collect())
}

fn one<T: InPath>(named: &[String], at: usize) -> Result<T, Problem> {
    let text = named.get(at).map_or("", String::as_str);
    T::read(text).ok_or_else(|| missing(T::WHAT, text))
}

/// There is no such thing.
pub(super) fn missing(what: &str, id: &(impl fmt::Display + ?Sized)) -> Problem {
    Problem::new(
        Code::NotFound,
        format!("there is no {what} `{}`", short(&id.to_string())),
    )
}

/// A text of somebody else, short enough for a message and without what a terminal would act on.
pub(super) fn short(text: &str) -> String {
    const MOST: usize = 200;
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(MOST).collect();
    if text.chars().count() > MOST {
        shown.push('…');
    }
    shown
}

/// A text between two lengths, in characters.
pub(super) fn text<'t>(field: &str, text: &'t str, least: usize, most: usize) -> Result<&'t str, Problem> {
    let count = text.chars().count();
    if (least..=most).contains(&count) {
        return Ok(text);
    }
    Err(wrong(
        field,
        format!("`{field}` has {count} characters; {least} to {most} are taken"),
    ))
}

/// A number between two others.
pub(super) fn number<N: PartialOrd + Copy + fmt::Display>(
    field: &str,
    number: N,
    least: N,
    most: N,
) -> Result<N, Problem> {
    if number >= least && number <= most {
        return Ok(number);
    }
    Err(wrong(
        field,
        format!("`{field}` is {number}; {least} to {most} are taken"),
    ))
}

/// A field that does not fit.
pub(crate) fn wrong(field: &str, detail: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidInput, detail).details(json!({"field": field}))
}

/// A moment, within what can be kept: what lies beyond is its end.
pub(super) fn moment(field: &str, text: &str) -> Result<Timestamp, Problem> {
    let at: Timestamp = text.parse().map_err(|_| {
        wrong(
            field,
            format!("`{field}` is no moment; write it as `2026-01-31T12:00:00Z`"),
        )
    })?;
    let first = Timestamp::from_second(-8_000_000_000).unwrap_or(Timestamp::UNIX_EPOCH);
    let last = Timestamp::from_second(9_000_000_000).unwrap_or(Timestamp::MAX);
    Ok(at.clamp(first, last))
}
