//! Every route, each with the rule that says who may use it. There is no other way to make one.

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::{OpenApi, PathItem};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt as _};

use crate::access::{Access, guard};
use crate::app::App;

/// Who may use what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The path, with `{names}`.
    pub path: String,
    /// The method, in capitals.
    pub method: &'static str,
    /// Who.
    pub access: Access,
}

/// Routes that are guarded.
#[derive(Default)]
pub(crate) struct Routes {
    router: OpenApiRouter<App>,
    rules: Vec<Rule>,
}

impl Routes {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds one: `route(Access::Read, routes!(list))`.
    #[must_use]
    pub(crate) fn route(mut self, access: Access, route: UtoipaMethodRouter<App>) -> Self {
        let (schemas, mut paths, methods) = route;
        for (path, item) in &mut paths.paths {
            for method in describe(item, access) {
                self.rules.push(Rule {
                    path: path.clone(),
                    method,
                    access,
                });
            }
        }
        let guarded =
            (schemas, paths, methods).map(|methods| methods.route_layer(from_fn_with_state(access, guard)));
        self.router = self.router.routes(guarded);
        self
    }

    /// Adds those of another part.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.rules.extend(other.rules);
        self
    }

    /// The router, what describes it, and who may do what.
    pub(crate) fn split(self) -> (Router<App>, OpenApi, Vec<Rule>) {
        let (router, description) = self.router.split_for_parts();
        (router, description, self.rules)
    }
}

/// Notes in the description who may, and says which methods there are.
fn describe(item: &mut PathItem, access: Access) -> Vec<&'static str> {
    let mut methods = Vec::new();
    let operations = [
        ("GET", &mut item.get),
        ("PUT", &mut item.put),
        ("POST", &mut item.post),
        ("DELETE", &mut item.delete),
        ("PATCH", &mut item.patch),
    ];
    for (method, operation) in operations {
        if let Some(operation) = operation {
            methods.push(method);
            let note = ExtensionsBuilder::new().add("x-access", access.as_str()).build();
            operation.extensions.get_or_insert_default().merge(note);
        }
    }
    methods
}

/// Everything that is served under a path of the API.
pub(crate) fn all() -> Routes {
    crate::api::routes()
        .and(crate::auth::routes())
        .and(crate::live::routes())
        .and(crate::metrics::routes())
}

/// The description of the API.
pub fn openapi() -> OpenApi {
    let (_, description, _) = all().split();
    crate::api::describe(description)
}

/// Who may use what, by path and method.
pub fn rules() -> Vec<Rule> {
    let (_, _, mut rules) = all().split();
    rules.sort();
    rules
}
