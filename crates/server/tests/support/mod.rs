//! A server that really listens, over a real database, with a scripted model and nothing connected.
//!
//! ```ignore
//! let server = Running::start(Wish::default()).await;
//! let admin = server.admin().await;               // signed in, with cookie and CSRF token
//! let reply = admin.get("/api/v1/me").await;      // reply.status, reply.json
//! let token = server.token(Role::Viewer, &["read"]).await;   // for `Authorization: Bearer`
//! ```

#![expect(dead_code, reason = "each test uses a part of it")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the functions that tests share are test code too"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use interlock_assembly::{Assembly, Folders};
use interlock_config::Config;
use interlock_engine::{AgentOptions, ChainOptions, Engine};
use interlock_infra::Infra;
use interlock_model::{Client as Model, Models, Options as ModelOptions, Provider, Script};
use interlock_protocol::{ContentHash, Role, UserId};
use interlock_server::{App, Parts, Recorded, Serving, install_metrics, serve, sign_in_link};
use interlock_store::{ApiToken, NewUser, Options as StoreOptions, Store};
use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// What may differ from one test to the next.
pub(crate) struct Wish {
    /// The configuration; it listens on a free port of loopback unless it says otherwise.
    pub(crate) config: Config,
    /// What the model says, as a script.
    pub(crate) script: Value,
    /// The agents.
    pub(crate) agents: BTreeMap<String, AgentOptions>,
    /// The chains.
    pub(crate) chains: BTreeMap<String, ChainOptions>,
    /// Whether workers run sessions.
    pub(crate) works: bool,
}

impl Default for Wish {
    fn default() -> Self {
        let mut config = Config::default();
        config.server.listen = "127.0.0.1:0".parse().unwrap();
        config.infrastructure.local = false;
        Self {
            config,
            script: json!({ "replies": [{ "text": "All is well." }] }),
            agents: BTreeMap::new(),
            chains: BTreeMap::new(),
            works: false,
        }
    }
}

impl Wish {
    /// With this changed in its configuration.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut wish = Self::default();
        change(&mut wish.config);
        wish
    }
}

/// A server that runs.
pub(crate) struct Running {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    pub(crate) serving: Serving,
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) folder: PathBuf,
    _root: tempfile::TempDir,
}

/// Counters are for the whole process.
fn metrics() -> Recorded {
    static METRICS: std::sync::OnceLock<Recorded> = std::sync::OnceLock::new();
    METRICS.get_or_init(install_metrics).clone()
}

/// An engine over a new database in this folder, with nothing connected.
pub(crate) fn engine(wish: &Wish, folder: &std::path::Path) -> (Engine, Infra) {
    let config = &wish.config;
    let store = Store::open(&StoreOptions::sqlite(folder.join("interlock.db"))).unwrap();
    let text = wish.script.to_string();
    let mut options = ModelOptions::new(Provider::Scripted, "script");
    let file = folder.join("script.yaml");
    std::fs::write(&file, &text).unwrap();
    options.script = Some(file);
    let entries = BTreeMap::from([("script".to_owned(), options.clone())]);
    let models = Models::with_secrets(entries, interlock_model::Secrets::environment()).unwrap();
    models.insert(Model::scripted_with(
        "script",
        Script::parse("script", &text).unwrap(),
        options,
    ));
    let mut config = config.clone();
    config.agents.clone_from(&wish.agents);
    config.chains.clone_from(&wish.chains);
    config.defaults.model = Some("script".to_owned());
    config.infrastructure.local = false;
    let assembled = Assembly::of(&config)
        .folders(Folders::within(folder))
        .models(models)
        .over(store)
        .unwrap();
    (assembled.engine, assembled.infra)
}

impl Running {
    /// Starts one.
    pub(crate) async fn start(wish: Wish) -> Self {
        Self::try_start(wish).await.expect("the server starts")
    }

    /// Starts one, or says why it does not.
    pub(crate) async fn try_start(wish: Wish) -> Result<Self, interlock_server::Error> {
        let root = tempfile::tempdir().unwrap();
        let (engine, infra) = engine(&wish, root.path());
        let app = App::new(Parts {
            engine: engine.clone(),
            infra,
            config: wish.config,
            file: None,
            reloader: None,
            metrics: metrics(),
            demo: false,
        })
        .await?;
        let serving = serve(app).await?;
        Ok(Self {
            url: format!("http://{}", serving.address),
            serving,
            store: engine.store().clone(),
            engine,
            folder: root.path().to_owned(),
            _root: root,
        })
    }

    /// Somebody whom nobody knows yet.
    pub(crate) fn anybody(&self) -> Caller {
        Caller::new(&self.url)
    }

    /// The first admin, signed in with the link.
    pub(crate) async fn admin(&self) -> Caller {
        let (_, link) = sign_in_link(&self.store, None).await.unwrap();
        let mut caller = self.anybody();
        caller.link(&link).await;
        caller
    }

    /// A user of this role, made at once.
    pub(crate) async fn user(&self, name: &str, role: Role) -> UserId {
        let new = NewUser {
            name: name.parse().unwrap(),
            role,
            password: None,
            identity: None,
            created_at: Timestamp::now(),
        };
        self.store.create_user(new).await.unwrap().id
    }

    /// Somebody of this role, signed in with a link.
    pub(crate) async fn signed_in(&self, name: &str, role: Role) -> Caller {
        let id = self.user(name, role).await;
        let (_, link) = sign_in_link(&self.store, Some(&id)).await.unwrap();
        let mut caller = self.anybody();
        caller.link(&link).await;
        caller
    }

    /// The secret of a new token with these scopes, of a new user with this role.
    pub(crate) async fn token(&self, role: Role, scopes: &[&str]) -> String {
        let secret = format!(
            "ilk_{}",
            ContentHash::of(format!("{role} {scopes:?} {:?}", Timestamp::now()))
        );
        let user = self.user(&format!("owner-{}", &secret[4..16]), role).await;
        let token = ApiToken {
            id: format!("tok_{}", &secret[4..20]),
            hash: ContentHash::of(&secret),
            name: "a test".to_owned(),
            user,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            created_at: Timestamp::now(),
            expires_at: None,
            used_at: None,
            revoked_at: None,
        };
        self.store.create_token(token).await.unwrap();
        secret
    }

    /// A program with a new token.
    pub(crate) async fn program(&self, role: Role, scopes: &[&str]) -> Caller {
        let secret = self.token(role, scopes).await;
        self.anybody().with("authorization", &format!("Bearer {secret}"))
    }
}

/// Somebody who calls the API.
#[derive(Clone)]
pub(crate) struct Caller {
    url: String,
    client: reqwest::Client,
    /// What goes with each request.
    pub(crate) headers: HeaderMap,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// `null` if it is no JSON.
    pub(crate) json: Value,
}

impl Reply {
    /// The status and, for an error, its code.
    pub(crate) fn short(&self) -> (u16, &str) {
        (
            self.status.as_u16(),
            self.json["code"].as_str().unwrap_or_default(),
        )
    }
}

impl Caller {
    pub(crate) fn new(url: &str) -> Self {
        // The second call in one process finds it installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .unwrap();
        Self {
            url: url.to_owned(),
            client,
            headers: HeaderMap::new(),
        }
    }

    /// With another client.
    #[must_use]
    pub(crate) fn over(mut self, client: reqwest::Client) -> Self {
        self.client = client;
        self
    }

    /// With one more header on each request.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
    }

    /// Without a header.
    #[must_use]
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// The cookie, `interlock_session=…`.
    pub(crate) fn cookie(&self) -> String {
        self.headers["cookie"].to_str().unwrap().to_owned()
    }

    /// Signs in with a link: keeps the cookie and the token against other sites.
    pub(crate) async fn link(&mut self, link: &str) -> Reply {
        let reply = self.post("/api/v1/auth/link", &json!({ "link": link })).await;
        self.keep(&reply);
        reply
    }

    /// Keeps the cookie and the token of an answer to signing in.
    pub(crate) fn keep(&mut self, reply: &Reply) {
        assert_eq!(reply.status, 200, "{}", reply.text);
        let cookie = reply.headers["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        self.set("cookie", &cookie);
        self.set("x-csrf-token", reply.json["csrf"].as_str().unwrap());
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Reply {
        self.ask(Method::PUT, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.ask(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.ask(Method::DELETE, path, None).await
    }

    /// Asks. The body, if there is one, goes as JSON.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Reply {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .headers(self.headers.clone());
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        Self::reply(request.send().await.unwrap()).await
    }

    pub(crate) async fn reply(response: reqwest::Response) -> Reply {
        let status = response.status();
        let headers = response.headers().clone();
        let text = response.text().await.unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Reply {
            status,
            headers,
            text,
            json,
        }
    }
}
