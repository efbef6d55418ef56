//! Who may use a route.

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use interlock_engine::{Channel, Person};
use interlock_protocol::{ContentHash, Role, UserId};

use crate::problem::{Code, Problem};
use crate::wire::Scope;

/// Who may use a route. A route cannot be made without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Everybody, signed in or not: health, readiness, signing in, the page itself.
    Public,
    /// Everybody who is signed in: a viewer.
    Read,
    /// An operator: asks, submits, stops.
    Operate,
    /// An approver: decides about what waits for a human.
    Approve,
    /// An admin: people, tokens, letting writes go again.
    Admin,
}

impl Access {
    /// The least role that has it; nothing for everybody.
    pub const fn role(self) -> Option<Role> {
        match self {
            Self::Public => None,
            Self::Read => Some(Role::Viewer),
            Self::Operate => Some(Role::Operator),
            Self::Approve => Some(Role::Approver),
            Self::Admin => Some(Role::Admin),
        }
    }

    /// The scope that an API token must have for it.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::Public => None,
            Self::Read => Some(Scope::Read),
            Self::Operate => Some(Scope::Operate),
            Self::Approve => Some(Scope::Approve),
            Self::Admin => Some(Scope::Admin),
        }
    }

    /// The word for it in the API's description.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }
}

/// How somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Via {
    /// A browser's cookie; its login and the token against other sites.
    Cookie {
        /// The login.
        login: ContentHash,
        /// What must come with each change.
        csrf: String,
    },
    /// An API token.
    Token {
        /// Its public id.
        id: String,
        /// The hash of its secret.
        hash: ContentHash,
        /// What it may do.
        scopes: Vec<Scope>,
    },
}

/// Who is asking. Put into the request by `auth`; a handler of a route that is not public takes it as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Who.
    pub(crate) user: UserId,
    /// What they may do.
    pub(crate) role: Role,
    /// The user's revision when they were looked up: a stream that lives on compares it.
    pub(crate) revision: u64,
    /// How they are known.
    pub(crate) via: Via,
}

impl Caller {
    /// As the engine asks for whoever decides about a hold. The engine looks up the role itself.
    pub(crate) fn person(&self) -> Person {
        Person {
            user: self.user.clone(),
            channel: match &self.via {
                Via::Cookie { .. } => Channel::Page,
                Via::Token { id, .. } => Channel::Token(id.clone()),
            },
        }
    }

    /// Whether they may.
    pub(crate) fn may(&self, access: Access) -> Result<(), Problem> {
        let Some(role) = access.role() else {
            return Ok(());
        };
        if self.role < role {
            return Err(Problem::new(
                Code::Forbidden,
                format!("this needs the role `{role}`; {} has `{}`", self.user, self.role),
            )
            .hint("ask an admin for that role"));
        }
        if let (Via::Token { scopes, .. }, Some(scope)) = (&self.via, access.scope())
            && !scopes.contains(&scope)
        {
            return Err(Problem::new(
                Code::Forbidden,
                format!(
                    "this token may not do that; it needs the scope `{}`",
                    access.as_str()
                ),
            )
            .hint("make another token with that scope"));
        }
        Ok(())
    }

    /// Whether they may make people, make them more, or let them in again: with a token only if it may everything. Whoever
    /// comes in so could do what the token itself may not.
    pub(crate) fn may_make_people(&self) -> Result<(), Problem> {
        let Via::Token { scopes, .. } = &self.via else {
            return Ok(());
        };
        let all = [Scope::Read, Scope::Operate, Scope::Approve, Scope::Admin];
        if all.iter().all(|scope| scopes.contains(scope)) {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            "a token makes users and sign-in links, raises roles and enables users only with all of the scopes \
             `read`, `operate`, `approve` and `admin`",
        )
        .hint("do it on the page, or use a token with all four scopes"))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(unauthenticated)
    }
}

/// The request comes from no signed-in person and carries no token.
pub(crate) fn unauthenticated() -> Problem {
    Problem::new(Code::Unauthenticated, "you are not signed in").hint(
        "sign in on the page, or send an API token in the header `Authorization`, behind the word `Bearer`",
    )
}

/// Stands in front of every route.
pub(crate) async fn guard(State(access): State<Access>, request: Request, next: Next) -> Response {
    if access != Access::Public {
        let allowed = match request.extensions().get::<Caller>() {
            None => Err(unauthenticated()),
            Some(caller) => caller.may(access),
        };
        if let Err(problem) = allowed {
            return problem.into_response();
        }
    }
    next.run(request).await
}
