//! Kinds that belong together, so that an operator can name them in one word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Kind;

/// Kinds of secrets that are masked together in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MaskGroup")]
pub enum Group {
    /// API keys and passwords.
    Basic,
    /// `basic`, and tokens, private keys and other secrets.
    Secrets,
    /// `secrets`, and certificates, the data of a kubeconfig and email addresses.
    Security,
    /// Kubernetes Secrets, the data of a kubeconfig, tokens, API keys and passwords.
    Kubernetes,
    /// The keys and tokens of cloud services, API keys and tokens.
    Cloud,
    /// Every kind, certificates and email addresses included.
    All,
}

impl Group {
    /// Every group.
    pub const ALL: &'static [Self] = &[
        Self::Basic,
        Self::Secrets,
        Self::Security,
        Self::Kubernetes,
        Self::Cloud,
        Self::All,
    ];

    /// Whether a kind belongs to this group.
    pub fn has(self, kind: Kind) -> bool {
        let class = Class::of(kind);
        match self {
            Self::Basic => matches!(class, Class::ApiKey | Class::Password),
            Self::Secrets => matches!(
                class,
                Class::ApiKey
                    | Class::Password
                    | Class::Cloud
                    | Class::Token
                    | Class::PrivateKey
                    | Class::Secret
            ),
            Self::Security => class != Class::Kubernetes,
            Self::Kubernetes => matches!(
                class,
                Class::Kubernetes | Class::Kubeconfig | Class::Token | Class::ApiKey | Class::Password
            ),
            Self::Cloud => matches!(class, Class::Cloud | Class::ApiKey | Class::Token),
            Self::All => true,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    ApiKey,
    Password,
    Token,
    PrivateKey,
    Secret,
    Cloud,
    Kubernetes,
    Kubeconfig,
    Public,
}

impl Class {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::KubernetesSecret => Self::Kubernetes,
            Kind::Kubeconfig => Self::Kubeconfig,
            Kind::WireguardKey | Kind::PrivateKey => Self::PrivateKey,
            Kind::AnthropicKey
            | Kind::OpenaiKey
            | Kind::StripeKey
            | Kind::SendgridKey
            | Kind::TwilioKey
            | Kind::ApiKey => Self::ApiKey,
            Kind::GoogleKey | Kind::AwsKeyId | Kind::AwsSecretKey | Kind::DigitaloceanToken => Self::Cloud,
            Kind::GithubToken
            | Kind::GitlabToken
            | Kind::SlackToken
            | Kind::NpmToken
            | Kind::PypiToken
            | Kind::HuggingfaceToken
            | Kind::ProxmoxToken
            | Kind::VendorToken
            | Kind::Jwt
            | Kind::Authorization
            | Kind::Token => Self::Token,
            Kind::PasswordHash | Kind::UrlPassword | Kind::DockerAuth | Kind::Password => Self::Password,
            Kind::Configured | Kind::Cookie | Kind::Secret | Kind::Custom => Self::Secret,
            Kind::Certificate | Kind::Email => Self::Public,
        }
    }
}
