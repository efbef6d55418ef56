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
    AccessToken, AdditionalClaims, AuthorizationCode, ClaimsVerificationError, Client, ClientId,
    ClientSecret, CsrfToken, EmptyExtraTokenFields, EndUserEmail, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IdToken, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, StandardErrorResponse,
    StandardTokenResponse, SubjectIdentifier, TokenResponse as _, UserInfoClaims, UserInfoError,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::pending::OnTheirWay;
use super::people::{Person, lists_groups, names, role};
use super::refused::Refused;

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

/// What the provider told about somebody.
struct Told {
    name: Option<String>,
    email: Option<String>,
    further: Map<String, Value>,
}

impl Told {
    /// What was not told before. Names that were told stay: they are signed. Claims are taken whole: groups that stand deep
    /// in one are not put together out of two answers.
    fn learn(&mut self, more: Self) {
        self.name = self.name.take().or(more.name);
        self.email = self.email.take().or(more.email);
        self.further = more.further;
    }
}

/// An address that nobody verified is nobody's.
fn verified(is: Option<bool>, email: Option<&EndUserEmail>) -> Option<String> {
    email.filter(|_| is == Some(true)).map(|email| email.to_string())
}

type Claims = IdTokenClaims<Further, CoreGenderClaim>;
type Token = IdToken<Further, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;
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
    /// Whether it is set in the same way, with the same secret.
    pub(in crate::auth) fn is_like(&self, other: &Self) -> bool {
        let secret = |oidc: &Self| {
            oidc.secret
                .as_ref()
                .map(|secret| secret.expose_secret().to_owned())
        };
        self.options == other.options && secret(self) == secret(other)
    }

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
        let claims = self.verified(&client, token, &nonce, redirect).await?;
        let subject = claims.subject();
        let mut told = Told {
            name: claims.preferred_username().map(|name| name.to_string()),
            email: verified(claims.email_verified(), claims.email()),
            further: claims.additional_claims().all.clone(),
        };
        // Where groups mean nothing here, nobody is asked for them.
        let mut told_groups = lists_groups(&self.options, &told.further);
        if !told_groups
            && !self.options.roles.is_empty()
            && let Some(more) = self.user_info(&client, answer.access_token(), subject).await?
        {
            told_groups = lists_groups(&self.options, &more.further);
            told.learn(more);
        }
        let issuer = claims.issuer().to_string();
        let subject = subject.to_string();
        Ok(Person {
            names: names(told.name, told.email, &issuer, &subject),
            issuer,
            subject,
            role: role(&self.options, &told.further),
            told_groups,
        })
    }

    /// What an id token says, if the provider said it, to us, for this sign-in.
    async fn verified(
        &self,
        client: &Known,
        token: &Token,
        nonce: &Nonce,
        redirect: &str,
    ) -> Result<Claims, Refused> {
        let untrusted = |error: &ClaimsVerificationError| Refused::Token(brief(&error.to_string()));
        let verifier = client.id_token_verifier().set_allowed_algs(SIGNATURES);
        match token.claims(&verifier, nonce) {
            Ok(claims) => Ok(claims.clone()),
            // The provider may have new keys.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                let client = self.client(redirect, AGAIN).await?;
                let verifier = client.id_token_verifier().set_allowed_algs(SIGNATURES);
                let claims = token.claims(&verifier, nonce);
                Ok(claims.map_err(|error| untrusted(&error))?.clone())
            }
            Err(error) => Err(untrusted(&error)),
        }
    }

    /// What the provider says about the same person when it is asked: many list groups only there. Nothing, if it
    /// cannot be asked that.
    async fn user_info(
        &self,
        client: &Known,
        access: &AccessToken,
        subject: &SubjectIdentifier,
    ) -> Result<Option<Told>, Refused> {
        let Ok(request) = client.user_info(access.clone(), Some(subject.clone())) else {
            return Ok(None);
        };
        let asking = |request| self.ask(request);
        let answer: Result<UserInfoClaims<Further, CoreGenderClaim>, _> =
            request.request_async(&asking).await;
        // Whoever cannot be asked about is not somebody without groups: that would take away what they have.
        let said = answer.map_err(|error| match error {
            UserInfoError::Request(error) => Refused::Unreachable(brief(&error.to_string())),
            other => Refused::UserInfo(brief(&other.to_string())),
        })?;
        Ok(Some(Told {
            name: said.preferred_username().map(|name| name.to_string()),
            email: verified(said.email_verified(), said.email()),
            further: said.additional_claims().all.clone(),
        }))
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
        metadata.userinfo_endpoint().map(openidconnect::UserInfoUrl::url),
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
