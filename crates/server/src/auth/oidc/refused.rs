//! Why somebody could not sign in with the provider: for the audit log, and for the page.

use crate::problem::Code;

/// Why somebody could not sign in with the provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::auth) enum Refused {
    #[error("the sign-in is not known: it was used, took too long, or began before a restart of the server")]
    State,
    #[error("another browser came back than the one that went")]
    OtherBrowser,
    #[error("the provider said no")]
    Provider,
    #[error("the provider cannot be asked: {0}")]
    Unreachable(String),
    #[error("the code was not taken: {0}")]
    Code(String),
    #[error("there is no id token")]
    NoToken,
    #[error("the id token is not to be trusted: {0}")]
    Token(String),
    #[error("what the provider says about them is not to be trusted: {0}")]
    UserInfo(String),
    #[error("none of their groups has a role")]
    NoRole,
    #[error("no name of theirs can be used here, or somebody else has it")]
    NoName,
    #[error("they may not sign in at present")]
    Disabled,
    #[error("nobody else would be an admin")]
    LastAdmin,
    #[error("the store does not work")]
    Store(Code),
}

impl Refused {
    /// A word for the audit log.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::State => "oidc: state",
            Self::OtherBrowser => "oidc: other browser",
            Self::Provider => "oidc: provider",
            Self::Unreachable(_) => "oidc: unreachable",
            Self::Code(_) => "oidc: code",
            Self::NoToken => "oidc: no token",
            Self::Token(_) => "oidc: token",
            Self::UserInfo(_) => "oidc: userinfo",
            Self::NoRole => "oidc: no role",
            Self::NoName => "oidc: no name",
            Self::Disabled => "oidc: disabled",
            Self::LastAdmin => "oidc: last admin",
            Self::Store(_) => "oidc: store",
        }
    }

    /// What the sign-in page is told.
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::NoRole | Self::Disabled => Code::Forbidden,
            Self::Unreachable(_) => Code::Unavailable,
            Self::NoName | Self::LastAdmin => Code::Conflict,
            Self::Store(code) => *code,
            Self::State => Code::SignInOver,
            Self::OtherBrowser
            | Self::Provider
            | Self::Code(_)
            | Self::NoToken
            | Self::Token(_)
            | Self::UserInfo(_) => Code::SignInFailed,
        }
    }
}

impl From<interlock_store::Error> for Refused {
    fn from(error: interlock_store::Error) -> Self {
        match error {
            interlock_store::Error::LastAdmin { .. } => Self::LastAdmin,
            error => Self::Store(crate::Problem::from(error).code()),
        }
    }
}
