//! What was run or asked to get a piece of evidence: people judge a reading by the question that it answers.

use interlock_gate::Plan;
use interlock_mask::Masker;
use interlock_protocol::Evidence;
use interlock_store::Call;
use serde_json::Value;

use super::forms;

/// The longest value of an argument that is told, in characters.
const VALUE: usize = 120;
/// The longest question, in characters.
const LONGEST: usize = 2000;

/// What was run or asked to get it, masked; nothing where no call did: then code took the reading by itself.
pub(super) fn asked(masker: &Masker, calls: &[Call], evidence: &Evidence) -> Option<String> {
    // A model may name two of its calls alike: it is the last that had begun.
    let call = calls.iter().rfind(|call| {
        let (started, plan) = (&call.started, &call.started.plan);
        plan.execution == evidence.execution
            && plan.call == evidence.call
            && started.started_at <= evidence.taken_at
    })?;
    let words = words(masker, &call.started.plan);
    Some(forms::cut(&masker.mask_text(&words), LONGEST))
}

/// The command, or the tool with its action and its arguments. Where it was asked stands next to it.
fn words(masker: &Masker, plan: &Plan) -> String {
    if let Some(command) = &plan.command {
        return command.clone();
    }
    let mut words = vec![plan.tool.to_string()];
    words.extend(plan.action.clone());
    for (name, value) in &plan.arguments {
        if name == "action" || name.starts_with("target_") || value.is_null() {
            continue;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // Masked before it is cut: half a secret does not look like one.
        words.push(format!("{name}={}", forms::cut(&masker.mask_text(&text), VALUE)));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(at: &str, command: Option<&str>, arguments: &Value) -> Call {
        let plan = json!({
            "session": "ses_1", "execution": "exe_1", "call": "call_1", "tool": "infra_query", "action": "get",
            "arguments": arguments, "kind": "read", "risk": "low", "timeout_seconds": 30, "command": command,
        });
        serde_json::from_value(json!({
            "permit": "prm_1", "run": "run_1", "plan": plan, "plan_hash": "0".repeat(64), "started_at": at,
        }))
        .unwrap()
    }

    fn evidence(call: &str) -> Evidence {
        serde_json::from_value(json!({
            "id": "evd_1", "session": "ses_1", "execution": "exe_1", "call": call, "tool": "infra_query",
            "resource": "node:delly", "taken_at": "2026-01-01T00:00:10Z", "hash": "0".repeat(64), "data": {},
        }))
        .unwrap()
    }

    #[test]
    fn evidence_says_what_was_asked_without_its_secrets() {
        let masker = Masker::built_in();
        let get =
            json!({"action": "get", "target_resource_id": "node:delly", "unit": "jellyfin", "lines": 5});
        let early = "2026-01-01T00:00:00Z";
        let late = "2026-01-01T00:00:30Z";
        let shown = |calls: &[Call]| asked(&masker, calls, &evidence("call_1"));
        assert_eq!(
            shown(&[call(early, None, &get)]).as_deref(),
            Some("infra_query get unit=jellyfin lines=5")
        );
        let command = call(early, Some("df -h /srv"), &get);
        // What began later did not read it.
        assert_eq!(
            shown(&[command, call(late, None, &get)]).as_deref(),
            Some("df -h /srv")
        );
        let secret = "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijklmnopqrstuvwxyz' localhost";
        let cut = shown(&[call(early, Some(secret), &get)]).unwrap();
        assert!(!cut.contains("ghp_0123"), "{cut}");
        assert_eq!(
            asked(&masker, &[call(early, None, &get)], &evidence("other")),
            None
        );
    }
}
