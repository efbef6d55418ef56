//! The parts that a server of a test is made of: one host, people with tokens, an engine over a machine of the test's own.

use std::sync::Arc;

use interlock_assembly::Assembly;
use interlock_config::Config;
use interlock_engine::{AgentOptions, ChainOptions, Setup, StageOptions, Success};
use interlock_executor::{Executor, Inventory, Toolbox};
use interlock_gate::{Catalogue, FourEyes, Options as GateOptions, ResolvedResource};
use interlock_infra::Resource;
use interlock_mask::Masker;
use interlock_model::Models;
use interlock_protocol::{ContentHash, ControlLevel, ResourceId, Role, ToolName};
use interlock_store::{ApiToken, NewUser, Store};
use jiff::Timestamp;

/// The one host.
pub(crate) fn host() -> ResourceId {
    "host:web".parse().unwrap()
}

/// The host, if this is one of its names.
pub(crate) fn found(name: &str, state: &str) -> Vec<ResolvedResource> {
    let known = name == "web" || name == host().to_string();
    let resource = || ResolvedResource::new(host(), "web").in_state(state);
    known.then(resource).into_iter().collect()
}

/// The host as the connection `here` knows it.
pub(crate) fn resource() -> Resource {
    Resource {
        id: host(),
        name: "web".to_owned(),
        aliases: vec!["www".to_owned()],
        parent: None,
        state: Some("running".to_owned()),
        identity: interlock_protocol::Identity::default(),
        source: "here".to_owned(),
        facts: serde_json::Map::new(),
    }
}

/// Listens on a free port, with rate limits that no test reaches.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.server.listen = "127.0.0.1:0".parse().unwrap();
    config.server.limits.requests_per_minute = 1_000_000;
    config.server.limits.anonymous_per_minute = 1_000_000;
    config
}

/// The token of a person.
pub(crate) fn token(name: &str) -> String {
    format!("ilk_{}", ContentHash::of(name))
}

/// Makes a person with a token.
pub(crate) async fn person(store: &Store, name: &str, role: Role, scopes: &[&str]) {
    let new = NewUser {
        name: name.parse().unwrap(),
        role,
        password: None,
        identity: None,
        created_at: Timestamp::now(),
    };
    let user = store.create_user(new).await.unwrap().id;
    let token = ApiToken {
        id: format!("tok_{name}"),
        hash: ContentHash::of(token(name)),
        name: "test".to_owned(),
        user,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        created_at: Timestamp::now(),
        expires_at: None,
        used_at: None,
        revoked_at: None,
    };
    store.create_token(token).await.unwrap();
}

/// Every scope of a token.
pub(crate) const SCOPES: &[&str] = &["read", "operate", "approve", "admin"];

/// What an engine is made of that differs from test to test.
pub(crate) struct Given<M> {
    pub(crate) store: Store,
    pub(crate) machine: Arc<M>,
    pub(crate) models: Models,
    /// The model that is asked.
    pub(crate) model: &'static str,
    pub(crate) masker: Masker,
    pub(crate) gate: GateOptions,
    pub(crate) level: ControlLevel,
    pub(crate) four_eyes: FourEyes,
    pub(crate) max_pending: u32,
}

/// An engine with one agent, whose tools all run on the machine.
pub(crate) fn setup<M: Executor + Inventory + 'static>(given: Given<M>) -> Setup {
    let mut builder = Toolbox::builder();
    for name in ["infra_query", "infra_read", "infra_control"] {
        let executor: Arc<dyn Executor> = given.machine.clone();
        builder = builder.register(ToolName::new(name).unwrap(), executor).unwrap();
    }
    let chain = ChainOptions {
        description: String::new(),
        alert_types: vec!["service_down".to_owned(), "disk_full".to_owned()],
        stages: vec![StageOptions {
            name: "look".to_owned(),
            agents: vec!["operator".to_owned()],
            success: Success::Any,
            synthesis: None,
        }],
    };
    let mut config = Config::default();
    config
        .agents
        .insert("operator".to_owned(), AgentOptions::default());
    config.chains.insert("down".to_owned(), chain);
    config.defaults.model = Some(given.model.to_owned());
    config.queue.max_pending = given.max_pending;
    config.control.level = given.level;
    let (mut setup, _) = Assembly::of(&config)
        .models(given.models)
        .tools(Catalogue::built_in().unwrap(), builder.build(), given.machine)
        .gate(given.gate)
        .setup(given.store)
        .unwrap();
    setup.settings.masker = given.masker;
    setup.settings.four_eyes = given.four_eyes;
    setup
}
