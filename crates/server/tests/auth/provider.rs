//! An `OpenID Connect` provider for tests: discovery, keys, codes with PKCE, tokens with real signatures; and ways to lie.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use rustls::SignatureScheme;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) const CLIENT: &str = "interlock";
pub(crate) const SECRET: &str = "the-secret-of-the-client";
/// With what the provider can be asked about a person.
const ACCESS: &str = "the-access-token";

/// How the provider, or somebody in between, lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    No,
    Issuer,
    Audience,
    TwoAudiences,
    Nonce,
    NoNonce,
    Expired,
    /// `alg: none`, without a signature.
    Unsigned,
    /// `alg: HS256`, with the client's secret as key.
    Symmetric,
    /// A signature of another key.
    OtherKey,
    /// The claims were changed after they were signed.
    Changed,
    /// No id token at all.
    Missing,
}

/// What a code stands for.
struct Code {
    nonce: String,
    challenge: String,
    redirect: String,
}

struct Inner {
    url: String,
    key: rcgen::KeyPair,
    other: rcgen::KeyPair,
    lie: Mutex<Lie>,
    claims: Mutex<Value>,
    /// What is said to whoever asks about the person; nothing, if that cannot be asked.
    info: Mutex<Option<(StatusCode, Value)>>,
    codes: Mutex<HashMap<String, Code>>,
}

#[derive(Clone)]
pub(crate) struct Provider(Arc<Inner>);

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Self(Arc::new(Inner {
            url: format!("http://{}", listener.local_addr().unwrap()),
            key: rcgen::KeyPair::generate().unwrap(),
            other: rcgen::KeyPair::generate().unwrap(),
            lie: Mutex::new(Lie::No),
            claims: Mutex::new(json!({})),
            info: Mutex::new(None),
            codes: Mutex::default(),
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    /// Who signs in next.
    pub(crate) fn person(&self, claims: Value) {
        *self.0.claims.lock().unwrap() = claims;
    }

    /// What is said about them when the provider is asked. To be set before anybody goes there.
    pub(crate) fn info(&self, status: u16, claims: Value) {
        let status = StatusCode::from_u16(status).unwrap();
        *self.0.info.lock().unwrap() = Some((status, claims));
    }

    pub(crate) fn lie(&self, lie: Lie) {
        *self.0.lie.lock().unwrap() = lie;
    }

    /// Somebody is at the provider's page and says yes: the parameters they came with become a code.
    pub(crate) fn consent(&self, parameters: &HashMap<String, String>) -> String {
        assert_eq!(parameters["response_type"], "code");
        assert_eq!(parameters["code_challenge_method"], "S256");
        assert_eq!(parameters["client_id"], CLIENT);
        assert!(parameters["scope"].split(' ').any(|scope| scope == "openid"));
        let code = format!("code-{}", parameters["state"]);
        let kept = Code {
            nonce: parameters["nonce"].clone(),
            challenge: parameters["code_challenge"].clone(),
            redirect: parameters["redirect_uri"].clone(),
        };
        self.0.codes.lock().unwrap().insert(code.clone(), kept);
        code
    }
}

async fn metadata(State(provider): State<Provider>) -> Json<Value> {
    let url = provider.url();
    let mut metadata = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        // A provider that would take anything: what counts is what we take.
        "id_token_signing_alg_values_supported": ["ES256", "RS256", "HS256", "none"],
    });
    if provider.0.info.lock().unwrap().is_some() {
        metadata["userinfo_endpoint"] = format!("{url}/userinfo").into();
    }
    Json(metadata)
}

async fn userinfo(State(provider): State<Provider>, headers: HeaderMap) -> Response {
    let known = format!("Bearer {ACCESS}");
    if headers
        .get("authorization")
        .is_none_or(|value| value != known.as_str())
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let (status, claims) = provider.0.info.lock().unwrap().clone().unwrap();
    (status, Json(claims)).into_response()
}

async fn keys(State(provider): State<Provider>) -> Json<Value> {
    let point = provider.0.key.public_key_raw();
    Json(json!({ "keys": [{
        "kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": "one",
        "x": URL.encode(&point[1..33]), "y": URL.encode(&point[33..65]),
    }] }))
}

async fn token(State(provider): State<Provider>, headers: HeaderMap, body: String) -> Response {
    let form = crate::oidc::pairs(&body);
    let refuse = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    let known = format!(
        "Basic {}",
        base64::prelude::BASE64_STANDARD.encode(format!("{CLIENT}:{SECRET}"))
    );
    if headers
        .get("authorization")
        .is_none_or(|value| value != known.as_str())
    {
        return refuse("invalid_client");
    }
    // A code is used once.
    let Some(code) = provider.0.codes.lock().unwrap().remove(&form["code"]) else {
        return refuse("invalid_grant");
    };
    let challenge = URL.encode(Sha256::digest(&form["code_verifier"]));
    if challenge != code.challenge || form["redirect_uri"] != code.redirect {
        return refuse("invalid_grant");
    }
    let lie = *provider.0.lie.lock().unwrap();
    let mut answer = json!({ "access_token": ACCESS, "token_type": "Bearer", "expires_in": 60 });
    if lie != Lie::Missing {
        answer["id_token"] = provider.id_token(&code.nonce, lie).into();
    }
    Json(answer).into_response()
}

impl Provider {
    fn id_token(&self, nonce: &str, lie: Lie) -> String {
        let now = Timestamp::now().as_second();
        let mut claims = json!({
            "iss": self.url(), "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": nonce,
        });
        for (name, value) in self.0.claims.lock().unwrap().as_object().unwrap() {
            claims[name] = value.clone();
        }
        let mut header = json!({ "typ": "JWT", "alg": "ES256", "kid": "one" });
        match lie {
            Lie::Issuer => claims["iss"] = json!("https://evil.example"),
            Lie::Audience => claims["aud"] = json!("somebody-else"),
            Lie::TwoAudiences => claims["aud"] = json!([CLIENT, "somebody-else"]),
            Lie::Nonce => claims["nonce"] = json!("of-another-sign-in"),
            Lie::NoNonce => drop(claims.as_object_mut().unwrap().remove("nonce")),
            Lie::Expired => {
                claims["iat"] = json!(now - 7200);
                claims["exp"] = json!(now - 3600);
            }
            Lie::Unsigned => header = json!({ "alg": "none" }),
            Lie::Symmetric => header = json!({ "alg": "HS256" }),
            Lie::No | Lie::OtherKey | Lie::Changed | Lie::Missing => {}
        }
        let encoded = |value: &Value| URL.encode(value.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = match lie {
            Lie::Unsigned => Vec::new(),
            Lie::Symmetric => hmac(SECRET.as_bytes(), signed.as_bytes()),
            Lie::OtherKey => es256(&self.0.other, &signed),
            _ => es256(&self.0.key, &signed),
        };
        if lie == Lie::Changed {
            claims["groups"] = json!(["admins"]);
            let changed = format!("{}.{}", encoded(&header), encoded(&claims));
            return format!("{changed}.{}", URL.encode(signature));
        }
        format!("{signed}.{}", URL.encode(signature))
    }
}

/// A signature as tokens carry it: two numbers of 32 bytes.
fn es256(key: &rcgen::KeyPair, text: &str) -> Vec<u8> {
    let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = rustls::crypto::ring::sign::any_ecdsa_type(&der).unwrap();
    let signer = key
        .choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256])
        .unwrap();
    let der = signer.sign(text.as_bytes()).unwrap();
    // SEQUENCE { INTEGER r, INTEGER s }
    let mut rest = &der[2..];
    let mut raw = Vec::new();
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let number = &rest[2..2 + length];
        let number = &number[number.len().saturating_sub(32)..];
        raw.extend(std::iter::repeat_n(0, 32 - number.len()));
        raw.extend_from_slice(number);
        rest = &rest[2 + length..];
    }
    raw
}

/// HMAC with SHA-256, for a key shorter than a block.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let pad = |byte: u8| -> Vec<u8> { (0..64).map(|at| key.get(at).unwrap_or(&0) ^ byte).collect() };
    let inner = Sha256::digest([pad(0x36).as_slice(), text].concat());
    Sha256::digest([pad(0x5c).as_slice(), inner.as_slice()].concat()).to_vec()
}
