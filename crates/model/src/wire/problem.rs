//! What a provider's refusal means.

use crate::failure::{Fault, Kind};
use interlock_dialect::Quote;
use serde_json::Value;

/// What a provider says about its refusal, as far as it can be found.
#[derive(Debug, Default)]
struct Said {
    message: String,
    /// Types, codes and states, in the provider's words.
    words: String,
}

impl Said {
    fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => items.first().map(Self::of).unwrap_or_default(),
            Value::String(message) => Self {
                message: message.clone(),
                words: String::new(),
            },
            Value::Object(members) => {
                let inner = match members.get("error") {
                    Some(inner @ Value::Object(_)) => return Self::of(inner),
                    Some(Value::String(message)) => Some(message.as_str()),
                    _ => None,
                };
                let text = |key| members.get(key).and_then(Value::as_str);
                let message = inner.or_else(|| text("message")).or_else(|| text("detail"));
                let mut words: Vec<String> = ["type", "code", "status"]
                    .iter()
                    .filter_map(|key| match members.get(*key)? {
                        Value::String(word) => Some(word.clone()),
                        Value::Number(number) => Some(number.to_string()),
                        _ => None,
                    })
                    .collect();
                // Gemini's reasons stand deeper: `error.details[].reason`.
                for detail in members
                    .get("details")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    words.extend(detail.get("reason").and_then(Value::as_str).map(str::to_owned));
                }
                Self {
                    message: message.map_or_else(|| value.to_string(), str::to_owned),
                    words: words.join(" "),
                }
            }
            _ => Self::default(),
        }
    }

    /// The status that the words stand for, where an error comes inside a stream.
    fn status(&self) -> Option<u16> {
        let number = self
            .words
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .find(|status| (400..600).contains(status));
        number.or_else(|| {
            let has = |word| self.words.contains(word);
            Some(match () {
                () if has("overloaded") => 529,
                () if has("rate_limit") || has("RESOURCE_EXHAUSTED") => 429,
                () if has("authentication") || has("UNAUTHENTICATED") => 401,
                () if has("permission") || has("PERMISSION_DENIED") => 403,
                () if has("not_found") || has("NOT_FOUND") || self.message.contains("not found") => 404,
                () if has("invalid_request") || has("INVALID_ARGUMENT") => 400,
                () if has("api_error") || has("server_error") || has("INTERNAL") || has("UNAVAILABLE") => 500,
                () => return None,
            })
        })
    }
}

/// What an answer with this status and body means.
pub(crate) fn answered(status: u16, body: &[u8]) -> Fault {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => Said::of(&value),
        Err(_) => Said {
            message: String::from_utf8_lossy(&body[..body.len().min(1000)]).into_owned(),
            words: String::new(),
        },
    };
    let kind = classify(status, &said);
    let message = said.message.trim();
    let what = if message.is_empty() {
        format!("it answered {status} and nothing else")
    } else {
        format!("it answered {status}: {}", Quote::of_whole_words(message))
    };
    Fault::new(kind, what)
}

/// What an error inside a stream means.
pub(crate) fn in_stream(value: &Value) -> Fault {
    let said = Said::of(value);
    let kind = classify(said.status().unwrap_or(500), &said);
    let what = format!(
        "it broke off with an error: {}",
        Quote::of_whole_words(&said.message)
    );
    Fault::new(kind, what)
}

fn classify(status: u16, said: &Said) -> Kind {
    let text = format!("{} {}", said.words, said.message).to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let too_long = || {
        says(&[
            "context_length",
            "context length",
            "context window",
            "context size",
            "maximum context",
            "prompt is too long",
            "too many tokens",
            "input token count",
            "request_too_large",
        ])
    };
    match status {
        401 | 403 => Kind::Credentials,
        402 => Kind::Quota,
        429 if says(&[
            "insufficient_quota",
            "insufficient quota",
            "billing",
            "out of credits",
        ]) =>
        {
            Kind::Quota
        }
        429 => Kind::RateLimited,
        413 => Kind::ContextTooLong,
        408 | 500..=599 if too_long() => Kind::ContextTooLong,
        408 | 500..=599 => Kind::Overloaded,
        400 if says(&[
            "api_key_invalid",
            "api key not valid",
            "invalid api key",
            "invalid_api_key",
        ]) =>
        {
            Kind::Credentials
        }
        400..=499 if too_long() => Kind::ContextTooLong,
        _ => Kind::InvalidRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refusals_are_told_apart() {
        let cases: &[(u16, &str, Kind)] = &[
            (
                401,
                r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
                Kind::Credentials,
            ),
            (403, "", Kind::Credentials),
            (
                402,
                r#"{"error":{"message":"Insufficient Balance"}}"#,
                Kind::Quota,
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#,
                Kind::Quota,
            ),
            (
                429,
                r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
                Kind::RateLimited,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
                Kind::ContextTooLong,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                Kind::ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                Kind::Credentials,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum","status":"INVALID_ARGUMENT"}}]"#,
                Kind::ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error"}}"#,
                Kind::ContextTooLong,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                Kind::ContextTooLong,
            ),
            (404, r#"{"error":"model 'x' not found"}"#, Kind::InvalidRequest),
            (
                422,
                r#"{"detail":[{"msg":"field required"}]}"#,
                Kind::InvalidRequest,
            ),
            (408, "", Kind::Overloaded),
            (500, "Internal Server Error", Kind::Overloaded),
            (
                503,
                r#"{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}"#,
                Kind::Overloaded,
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Kind::Overloaded,
            ),
            (301, "", Kind::InvalidRequest),
        ];
        for (status, body, kind) in cases {
            assert_eq!(answered(*status, body.as_bytes()).kind, *kind, "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_a_stream_are_told_apart() {
        let cases = [
            (
                json!({"type": "overloaded_error", "message": "Overloaded"}),
                Kind::Overloaded,
            ),
            (
                json!({"type": "rate_limit_error", "message": "later"}),
                Kind::RateLimited,
            ),
            (json!({"code": 429, "message": "later"}), Kind::RateLimited),
            (
                json!({"code": "context_length_exceeded", "message": "too long"}),
                Kind::ContextTooLong,
            ),
            (json!("something broke"), Kind::Overloaded),
            (
                json!({"type": "invalid_request_error", "message": "no"}),
                Kind::InvalidRequest,
            ),
        ];
        for (value, kind) in cases {
            assert_eq!(in_stream(&value).kind, kind, "{value}");
        }
    }

    #[test]
    fn what_is_repeated_is_short() {
        let long = "x".repeat(10_000);
        assert!(answered(500, long.as_bytes()).what.len() < 300);
    }
}
