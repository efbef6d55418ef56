//! The description of the API as a whole: what it is, who may do what, how to sign in.

use utoipa::PartialSchema as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Components, Info, License, OpenApi, RefOr, Server};

use super::answers;
use crate::wire::ProblemForm;

const TAGS: &[(&str, &str)] = &[
    ("alerts", "Alerts in"),
    ("chats", "Questions of people"),
    ("sessions", "What was asked for, what happened, what was read"),
    ("approvals", "What waits for a human"),
    ("infrastructure", "What is connected and what there is"),
    ("record", "What the gate answered and what people did"),
    ("site", "How things stand, tools, models, configuration"),
    ("auth", "Signing in, and what is one's own"),
    ("people", "Who may sign in, and with what"),
    ("live", "What happens, as it happens"),
    ("health", "Whether the server works"),
];

const ABOUT: &str = "The model proposes; code decides. \
Every problem is `application/problem+json` with a stable `code`. \
A browser signs in and sends `x-csrf-token` with every change; a program sends `Authorization: Bearer ilk_…`. \
`x-access` says who may use a route: everybody (`public`), a viewer (`read`), an operator (`operate`), an approver \
(`approve`) or an admin (`admin`).";

/// Puts title, version, servers and ways of signing in into the description.
pub(crate) fn describe(mut description: OpenApi) -> OpenApi {
    let mut info = Info::new("Interlock", env!("CARGO_PKG_VERSION"));
    info.description = Some(ABOUT.to_owned());
    let mut license = License::new("Apache-2.0");
    license.identifier = Some("Apache-2.0".to_owned());
    info.license = Some(license);
    description.info = info;
    description.servers = Some(vec![Server::new("/")]);
    description.tags = Some(
        TAGS.iter()
            .map(|(name, says)| TagBuilder::new().name(*name).description(Some(*says)).build())
            .collect(),
    );
    let components = description.components.get_or_insert_with(Components::new);
    components
        .schemas
        .insert("Problem".to_owned(), ProblemForm::schema());
    components
        .responses
        .extend(answers::problems().map(|(name, response)| (name, RefOr::T(response))));
    components.add_security_scheme(
        "cookie",
        SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("interlock_session"))),
    );
    components.add_security_scheme(
        "token",
        SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build()),
    );
    for item in description.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ];
        operations.into_iter().flatten().for_each(secure);
    }
    description
}

/// Whoever is not public needs to be signed in, one way or the other.
fn secure(operation: &mut Operation) {
    let public = operation
        .extensions
        .as_ref()
        .and_then(|extensions| extensions.get("x-access"))
        .is_some_and(|access| access == "public");
    operation.security = Some(if public {
        Vec::new()
    } else {
        let none: [&str; 0] = [];
        vec![
            SecurityRequirement::new("cookie", none),
            SecurityRequirement::new("token", none),
        ]
    });
}
