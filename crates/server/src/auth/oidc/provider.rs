//! The provider: found, remembered, asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_config::Oidc as Options;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreErrorResponseType, CoreGenderClaim,
    CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata,
    CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AuthorizationCode, Client, ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IdTokenFields, IssuerUrl,
    Nonce, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, StandardErrorResponse,
    StandardTokenResponse, TokenResponse as _,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::pending::OnTheirWay;
use super::people::{Person, role};
use crate::problem::Code;

/// How long what the provider says about itself is believed.
const FRESH: Duration = Duration::from_hours(1);
/// How soon it may be asked again because a key is unknown.
const AGAIN: Duration = Duration::from_secs(10);
const TRIES: u32 = 3;
/// More than any answer of a provider.
const MAX_ANSWER: usize = 1024 * 1024;
/// Signatures that only the provider can make. Never `none`, and never one that our own secret makes.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Every claim that has no name of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Further {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for Further {}

type Fields = IdTokenFields<
    Further,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type Known = Client<
    Further,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Why somebody could not sign in with the provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::auth) enum Refused {
    #[error("the state is unknown, was used or is too old")]
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
    #[error("none of their groups has a role")]
    NoRole,
    #[error("every name of theirs is taken by somebody else")]
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
            Self::State
            | Self::OtherBrowser
            | Self::Provider
            | Self::Code(_)
            | Self::NoToken
            | Self::Token(_) => Code::SignInFailed,
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

/// A failed request to the provider.
#[derive(Debug, thiserror::Error)]
enum Asking {
    #[error("{0}")]
    Http(#[from] reqwest::Error),
    #[error("{0}")]
    Form(#[from] http::Error),
    #[error("the answer is too large")]
    TooLarge,
}

/// A provider that one can sign in with.
pub(in crate::auth) struct Oidc {
    options: Options,
    secret: Option<SecretString>,
    http: reqwest::Client,
    found: Mutex<Option<(Instant, Arc<CoreProviderMetadata>)>>,
    pub(super) pending: OnTheirWay,
}

impl Oidc {
    /// As configured. The provider is asked when somebody comes: it may start after us.
    pub(in crate::auth) fn new(options: &Options) -> Result<Self, crate::Error> {
        let wrong = |key: &'static str, reason: String| crate::Error::Setting { key, reason };
        let secret = match (&options.client_secret_env, &options.client_secret_file) {
            (Some(name), _) => Some(std::env::var(name).map_err(|_| {
                wrong(
                    "server.oidc.client_secret_env",
                    format!("the variable `{name}` is not set"),
                )
            })?),
            (None, Some(file)) => Some(
                std::fs::read_to_string(file)
                    .map_err(|error| wrong("server.oidc.client_secret_file", error.to_string()))?,
            ),
            (None, None) => None,
        };
        let secret = secret.map(|text| SecretString::from(text.trim().to_owned()));
        // Whoever was first has chosen: any provider of cryptography will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .timeout(Duration::from_secs(10))
            .user_agent(concat!("interlock/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| wrong("server.oidc", error.to_string()))?;
        Ok(Self {
            options: options.clone(),
            secret,
            http,
            found: Mutex::default(),
            pending: OnTheirWay::default(),
        })
    }

    /// Where a browser goes.
    pub(super) async fn authorize(
        &self,
        redirect: &str,
        state: &str,
        nonce: &str,
        challenge: PkceCodeChallenge,
    ) -> Result<String, Refused> {
        let client = self.client(redirect, FRESH).await?;
        let (state, nonce) = (state.to_owned(), nonce.to_owned());
        let request = client.authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            move || CsrfToken::new(state),
            move || Nonce::new(nonce),
        );
        let scopes = self
            .options
            .scopes
            .iter()
            .filter(|scope| *scope != "openid")
            .cloned()
            .map(Scope::new);
        let (address, _, _) = request.add_scopes(scopes).set_pkce_challenge(challenge).url();
        Ok(address.to_string())
    }

    /// Who it is, by a code.
    pub(super) async fn exchange(
        &self,
        code: String,
        verifier: PkceCodeVerifier,
        nonce: Nonce,
        redirect: &str,
    ) -> Result<Person, Refused> {
        let client = self.client(redirect, FRESH).await?;
        let asking = |request| self.ask(request);
        let answer = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| Refused::Unreachable(error.to_string()))?
            .set_pkce_verifier(verifier)
            .request_async(&asking)
            .await
            .map_err(|error| Refused::Code(brief(&error.to_string())))?;
        let token = answer.id_token().ok_or(Refused::NoToken)?;
        let untrusted =
            |error: &openidconnect::ClaimsVerificationError| Refused::Token(brief(&error.to_string()));
        let verifier = client.id_token_verifier().set_allowed_algs(SIGNATURES);
        let claims = match token.claims(&verifier, &nonce) {
            Ok(claims) => claims.clone(),
            // The provider may have new keys.
            Err(openidconnect::ClaimsVerificationError::SignatureVerification(_)) => {
                let client = self.client(redirect, AGAIN).await?;
                let verifier = client.id_token_verifier().set_allowed_algs(SIGNATURES);
                let claims = token.claims(&verifier, &nonce);
                claims.map_err(|error| untrusted(&error))?.clone()
            }
            Err(error) => return Err(untrusted(&error)),
        };
        let subject = claims.subject().to_string();
        let mut names = Vec::new();
        names.extend(claims.preferred_username().map(|name| name.to_string()));
        if claims.email_verified() == Some(true) {
            names.extend(claims.email().map(|email| email.to_string()));
        }
        names.push(format!("oidc:{subject}"));
        Ok(Person {
            issuer: claims.issuer().to_string(),
            subject,
            names,
            role: role(&self.options, &claims.additional_claims().all),
        })
    }

    async fn client(&self, redirect: &str, fresh: Duration) -> Result<Known, Refused> {
        let found = self.discover(fresh).await?;
        let redirect = RedirectUrl::new(redirect.to_owned())
            .map_err(|error| Refused::Unreachable(format!("our own address: {error}")))?;
        let secret = self
            .secret
            .as_ref()
            .map(|secret| ClientSecret::new(secret.expose_secret().to_owned()));
        let id = ClientId::new(self.options.client_id.clone());
        Ok(Client::from_provider_metadata((*found).clone(), id, secret).set_redirect_uri(redirect))
    }

    /// What the provider says about itself.
    async fn discover(&self, fresh: Duration) -> Result<Arc<CoreProviderMetadata>, Refused> {
        let mut found = self.found.lock().await;
        if let Some((at, metadata)) = &*found
            && at.elapsed() < fresh
        {
            return Ok(Arc::clone(metadata));
        }
        let issuer = IssuerUrl::new(self.options.issuer.clone())
            .map_err(|error| Refused::Unreachable(error.to_string()))?;
        let asking = |request| self.ask(request);
        let mut wait = Duration::from_millis(200);
        let mut reason = String::new();
        for attempt in 1..=TRIES {
            match CoreProviderMetadata::discover_async(issuer.clone(), &asking).await {
                Ok(metadata) => {
                    safe(&metadata)?;
                    let metadata = Arc::new(metadata);
                    *found = Some((Instant::now(), Arc::clone(&metadata)));
                    return Ok(metadata);
                }
                Err(error) => reason = brief(&error.to_string()),
            }
            if attempt < TRIES {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
        }
        tracing::warn!(reason, "the OpenID Connect provider does not answer");
        match &*found {
            // Better what it said before than nobody signing in; its keys are still only its keys.
            Some((_, metadata)) => Ok(Arc::clone(metadata)),
            None => Err(Refused::Unreachable(reason)),
        }
    }

    /// One request to the provider, with an answer that is bounded.
    fn ask(&self, request: HttpRequest) -> impl Future<Output = Result<HttpResponse, Asking>> + Send + use<> {
        let client = self.http.clone();
        async move {
            let request = reqwest::Request::try_from(request)?;
            let mut response = client.execute(request).await?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_ANSWER {
                    return Err(Asking::TooLarge);
                }
            }
            Ok(answer.body(body)?)
        }
    }
}

/// A provider that is reached safely does not send us elsewhere in the open.
fn safe(metadata: &CoreProviderMetadata) -> Result<(), Refused> {
    let endpoints = [
        Some(metadata.authorization_endpoint().url()),
        metadata.token_endpoint().map(openidconnect::TokenUrl::url),
        Some(metadata.jwks_uri().url()),
    ];
    for url in endpoints.into_iter().flatten() {
        let loopback = match url.host_str() {
            Some("localhost" | "[::1]") => true,
            Some(host) => host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback()),
            None => false,
        };
        if url.scheme() != "https" && !loopback {
            return Err(Refused::Unreachable("it names an address without TLS".to_owned()));
        }
    }
    Ok(())
}

/// What a library says, on one line and not too long; never what the provider sent.
fn brief(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(300)
        .collect()
}
