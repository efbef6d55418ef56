//! The counters of the loop, recorded where the thing happens.

use interlock_gate::Metric;
use metrics::{Label, counter, gauge, histogram};

/// Adds one.
pub(crate) fn count(metric: Metric) {
    let Metric { name, labels } = metric;
    let labels: Vec<Label> = labels
        .into_iter()
        .map(|(name, value)| Label::new(name, value))
        .collect();
    counter!(name, labels).increment(1);
}

/// A reply that was no proposal.
pub(crate) fn problem(dialect: &'static str) {
    counter!("interlock_proposal_problem_total", "dialect" => dialect).increment(1);
}

/// A tool ran.
pub(crate) fn tool_call(tool: &str, outcome: &'static str, seconds: f64) {
    let tool = interlock_gate::sanitize_label(tool);
    counter!("interlock_tool_call_total", "tool" => tool.clone(), "outcome" => outcome).increment(1);
    histogram!("interlock_tool_call_seconds", "tool" => tool).record(seconds);
}

/// A model was asked.
pub(crate) fn model_call(provider: &'static str, outcome: &'static str, seconds: f64, tokens: (u64, u64)) {
    counter!("interlock_model_call_total", "provider" => provider, "outcome" => outcome).increment(1);
    histogram!("interlock_model_call_seconds", "provider" => provider).record(seconds);
    counter!("interlock_model_input_tokens_total", "provider" => provider).increment(tokens.0);
    counter!("interlock_model_output_tokens_total", "provider" => provider).increment(tokens.1);
}

/// Somebody was refused who may not decide about a hold.
pub(crate) fn barred(because: &'static str) {
    counter!("interlock_approval_refused_total", "barred_as" => because).increment(1);
}

/// A person asked for something that is refused.
pub(crate) fn person_refused(act: &'static str, because: &'static str) {
    counter!("interlock_person_refused_total", "act" => act, "because" => because).increment(1);
}

/// An alert was taken.
pub(crate) fn alert(filed: &interlock_store::Filed) {
    use interlock_store::Filed;
    let outcome = match filed {
        Filed::Opened(_) => "opened",
        Filed::Repeated(_) => "repeated",
        Filed::Reopened(_) => "reopened",
        Filed::Resolved(_) => "resolved",
        Filed::NothingToResolve => "nothing_to_resolve",
    };
    counter!("interlock_alert_total", "outcome" => outcome).increment(1);
}

/// An alert was not taken.
pub(crate) fn alert_rejected() {
    counter!("interlock_alert_total", "outcome" => "rejected").increment(1);
}

/// A session ended.
pub(crate) fn session(status: &'static str) {
    counter!("interlock_session_total", "status" => status).increment(1);
}

/// The configuration was reloaded, or a reload was refused.
pub fn reload(succeeded: bool) {
    let outcome = if succeeded { "reloaded" } else { "refused" };
    counter!("interlock_config_reload_total", "outcome" => outcome).increment(1);
    if succeeded {
        configured();
    } else {
        gauge!("interlock_config_last_reload_successful").set(0.0);
    }
}

/// The configuration file is in use from now on. Prometheus has the same gauges for its own configuration.
pub fn configured() {
    gauge!("interlock_config_last_reload_successful").set(1.0);
    #[expect(clippy::cast_precision_loss, reason = "a time to the millisecond fits")]
    let now = jiff::Timestamp::now().as_millisecond() as f64 / 1000.0;
    gauge!("interlock_config_last_reload_success_timestamp_seconds").set(now);
}
