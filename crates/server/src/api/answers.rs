//! What can go wrong, for the description of the API: one type for each group of answers that belong together.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::problem::Code;

/// The type of every problem's body.
const PROBLEM: &str = "application/problem+json";

/// The name of a kind of problem among the responses of the description.
fn name(code: Code) -> String {
    format!("{code:?}")
}

fn group(members: &[Code]) -> BTreeMap<String, RefOr<Response>> {
    members
        .iter()
        .map(|code| {
            let there = RefOr::Ref(Ref::from_response_name(name(*code)));
            (code.status().as_str().to_owned(), there)
        })
        .collect()
}

/// Every problem that a group names, once, for the description as a whole.
pub(super) fn problems() -> impl Iterator<Item = (String, Response)> {
    SAID.iter().map(|(code, says)| {
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("Problem")))
            .build();
        let response = ResponseBuilder::new()
            .description(format!("`{}`: {says}", code.as_str()))
            .content(PROBLEM, content)
            .build();
        (name(*code), response)
    })
}

const SAID: &[(Code, &str)] = &[
    (Code::InvalidInput, "something is wrong with what was sent"),
    (
        Code::Unauthenticated,
        "you are not signed in, or (`SIGN_IN_FAILED`) signing in did not work",
    ),
    (
        Code::Forbidden,
        "the caller's role, token, origin or CSRF header does not allow it, or the gate does not",
    ),
    (Code::NotFound, "there is no such thing"),
    (Code::Timeout, "it took too long"),
    (Code::Conflict, "it does not fit where things stand"),
    (Code::TooLarge, "the body is too large"),
    (Code::UnsupportedMediaType, "the body is not `application/json`"),
    (
        Code::ConfigurationRefused,
        "the configuration cannot be used; the one before stays in use",
    ),
    (Code::WrongOrigin, "the request was meant for another host"),
    (
        Code::RateLimited,
        "too much at once, or (`QUEUE_FULL`) too many sessions wait, or (`TOO_MANY_STREAMS`) too many streams are open",
    ),
    (Code::Internal, "a mistake of ours; the server's log says more"),
    (
        Code::Unavailable,
        "a part of the server does not work at the moment",
    ),
];

macro_rules! group {
    ($(#[$doc:meta])* $name:ident: $($code:ident),+ $(,)?) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                group(&[$(Code::$code),+])
            }
        }
    };
}

group! {
    /// What can be said to every request.
    Anybody: InvalidInput, Timeout, WrongOrigin, RateLimited, Internal, Unavailable
}
group! {
    /// What can be said to somebody who need not be signed in, and says wrongly that they are.
    Known: Unauthenticated
}
group! {
    /// What can be said to somebody who must be signed in.
    Signed: Unauthenticated, Forbidden
}
group! {
    /// What is asked for is not there.
    Missing: NotFound
}
group! {
    /// It does not fit where things stand.
    Clash: Conflict
}
group! {
    /// The configuration cannot be used.
    Unusable: ConfigurationRefused
}
group! {
    /// What a body can be wrong with.
    Bodies: TooLarge, UnsupportedMediaType
}
