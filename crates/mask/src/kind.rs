//! The kinds of secrets, as they appear in `[masked:KIND]`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
        /// What kind of secret was masked. The words are stable: people search for them.
        ///
        /// Where two finders see the same secret, the kind that comes first here names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "MaskKind")]
        pub enum Kind {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }

        impl Kind {
            /// Every kind, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word in the marker.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// What stands in the place of a secret of this kind.
            pub const fn marker(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("[masked:", $word, "]"),)+
                }
            }
        }
    };
}

kinds! {
    /// A secret that Interlock uses itself, as the key of a model, found by its value. Always masked.
    Configured = "configured_secret",
    /// A value in a Kubernetes Secret.
    KubernetesSecret = "kubernetes_secret",
    /// A private or preshared key of `WireGuard`.
    WireguardKey = "wireguard_key",
    /// A private key: PEM, `OpenSSH`, PGP, `PuTTY`, age, or a key that is called private.
    PrivateKey = "private_key",
    /// Authority and client key data of a kubeconfig.
    Kubeconfig = "kubeconfig",
    /// An API key of Anthropic.
    AnthropicKey = "anthropic_key",
    /// An API key of `OpenAI`, or of a service with keys in the same form.
    OpenaiKey = "openai_key",
    /// An API key or OAuth secret of Google.
    GoogleKey = "google_key",
    /// The id of an AWS access key.
    AwsKeyId = "aws_key_id",
    /// A secret access key of AWS.
    AwsSecretKey = "aws_secret_key",
    /// A token of GitHub.
    GithubToken = "github_token",
    /// A token of GitLab.
    GitlabToken = "gitlab_token",
    /// A token or webhook of Slack.
    SlackToken = "slack_token",
    /// A secret key of Stripe.
    StripeKey = "stripe_key",
    /// A token of npm.
    NpmToken = "npm_token",
    /// A token of `PyPI`.
    PypiToken = "pypi_token",
    /// A token of Hugging Face.
    HuggingfaceToken = "huggingface_token",
    /// An API key of `SendGrid`.
    SendgridKey = "sendgrid_key",
    /// An API key of Twilio.
    TwilioKey = "twilio_key",
    /// A token of `DigitalOcean`.
    DigitaloceanToken = "digitalocean_token",
    /// An API token or ticket of Proxmox.
    ProxmoxToken = "proxmox_token",
    /// A token that shows by its beginning which service it is for.
    VendorToken = "vendor_token",
    /// A JSON web token, also one of a Kubernetes service account.
    Jwt = "jwt",
    /// What a password hash in a file of passwords says.
    PasswordHash = "password_hash",
    /// The password within an address or connection string.
    UrlPassword = "url_password",
    /// A registry login in Docker's configuration.
    DockerAuth = "docker_auth",
    /// The credentials of an authorization header.
    Authorization = "authorization",
    /// The value of a cookie.
    Cookie = "cookie",
    /// What is assigned to a key called password or the like.
    Password = "password",
    /// What is assigned to a key called API key, access key or the like.
    ApiKey = "api_key",
    /// What is assigned to a key called token.
    Token = "token",
    /// What is assigned to a key called secret or the like.
    Secret = "secret",
    /// A certificate. Masked only where a group of a source names it.
    Certificate = "certificate",
    /// An email address. Masked only where a group of a source names it.
    Email = "email",
    /// What an operator's own pattern found.
    Custom = "custom",
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
