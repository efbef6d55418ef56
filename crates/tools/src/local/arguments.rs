//! What a call says, after the gate has checked it against its tool's schema.

use interlock_gate::Plan;
use serde_json::Value;

use crate::Failure;

pub(crate) fn text<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
    plan.arguments.get(name).and_then(Value::as_str)
}

pub(crate) fn needed<'a>(plan: &'a Plan, name: &str) -> Result<&'a str, Failure> {
    text(plan, name)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Failure::missing(name))
}

pub(crate) fn count(plan: &Plan, name: &str) -> Option<usize> {
    plan.arguments
        .get(name)
        .and_then(Value::as_u64)
        .and_then(|number| usize::try_from(number).ok())
}
