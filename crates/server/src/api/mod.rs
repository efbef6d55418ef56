//! The handlers: one module for each kind of thing.

use utoipa::openapi::OpenApi;

use crate::routes::Routes;

/// The routes of the API proper.
pub(crate) fn routes() -> Routes {
    Routes::new()
}

/// Puts title, version, servers and ways of signing in into the description.
pub(crate) fn describe(description: OpenApi) -> OpenApi {
    description
}
