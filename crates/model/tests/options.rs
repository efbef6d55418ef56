//! What an entry of `models` may say.

#![allow(clippy::expect_used, reason = "a test that cannot be set up has failed")]

use interlock_dialect::Dialect;
use interlock_model::{Options, Price, Provider, Span, Thinking};

const EVERYTHING: &str = r"
provider: openai
model: gpt-x
base_url: https://someone:secret@gate.example/v1
api_key_env: GATE_KEY
headers: { x-team: ops }
ca_file: /etc/ssl/gate.pem
dialect: fenced
max_output_tokens: 4096
temperature: 0.2
context_tokens: 128000
timeouts: { first_chunk: 30s, call: 10m }
retries: { attempts: 5, base: 250ms }
price: { input_per_million: 2.5, output_per_million: 10, cached_input_per_million: 0.25 }
fallback: [local]
thinking: { effort: low }
extra: { top_p: 0.9 }
";

#[test]
fn everything_can_be_set() {
    let options: Options = serde_saphyr::from_str(EVERYTHING).expect("options");
    assert_eq!(options.provider, Provider::Openai);
    assert_eq!(options.dialect(), Dialect::Fenced);
    assert_eq!(
        (
            options.timeouts.first_chunk,
            options.timeouts.stall,
            options.timeouts.call
        ),
        (Span::from_secs(30), Span::from_secs(60), Span::from_secs(600))
    );
    assert_eq!(
        (options.retries.attempts, options.retries.cap),
        (5, Span::from_secs(30))
    );
    let price = Price {
        input_per_million: 2.5,
        output_per_million: 10.0,
        cached_input_per_million: Some(0.25),
    };
    assert_eq!(options.price, Some(price));
    assert_eq!(
        options.thinking,
        Some(Thinking {
            budget_tokens: None,
            effort: Some(interlock_model::Effort::Low)
        })
    );
    // What is shown of it has neither the password nor a header's value.
    let shown = serde_json::to_string_pretty(&options).expect("JSON");
    assert!(!shown.contains("secret") && !shown.contains("ops"), "{shown}");
}

#[test]
fn little_is_needed() {
    let options: Options = serde_saphyr::from_str("provider: ollama\nmodel: qwen3\n").expect("options");
    assert_eq!(options, Options::new(Provider::Ollama, "qwen3"));
}

#[test]
fn what_is_not_known_is_refused() {
    for text in [
        "provider: openai\nmodel: x\napi_key: sk-1\n",
        "provider: opnai\nmodel: x\n",
        "provider: openai\nmodel: x\ntimeouts: { first_chunk: 30 }\n",
        "provider: openai\nmodel: x\nretries: { times: 3 }\n",
        "provider: openai\nmodel: x\ndialect: morse\n",
        "provider: openai\nmodel: x\nprice: { input_per_million: 1 }\n",
        "model: x\n",
    ] {
        assert!(serde_saphyr::from_str::<Options>(text).is_err(), "{text}");
    }
}

#[test]
fn the_schema_describes_everything() {
    let schema = schemars::schema_for!(Options);
    insta::assert_json_snapshot!(schema);
    let properties = schema
        .get("properties")
        .and_then(|all| all.as_object())
        .expect("properties");
    for (name, property) in properties {
        assert!(property.get("description").is_some(), "{name} is not described");
    }
}
