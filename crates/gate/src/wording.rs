//! What a person reads about a plan before deciding: what must be seen afterwards, what it touches, whether it can be
//! undone. One wording for the terminal, the API and the page. What a model or a provider wrote is inside these
//! sentences as it is: whoever shows them makes it safe for where it is shown.

use interlock_protocol::{Expectation, ResourceKind, RiskLevel, ToolKind};
use jiff::Timestamp;
use serde_json::Value;

use crate::catalogue::Undo;
use crate::hold::{Hold, HoldStatus};
use crate::plan::Plan;

/// What must be observed after a write, in words.
pub fn expected(expectation: &Expectation) -> String {
    match expectation {
        Expectation::GuestState { state } => format!("it must be {state}"),
        Expectation::GuestRestarted | Expectation::ContainerRestarted => {
            "it must have started again".to_owned()
        }
        Expectation::UnitActivity { unit, activity } => format!("unit {unit} must be {activity}"),
        Expectation::UnitRestarted { unit } => format!("unit {unit} must have started again"),
        Expectation::FileHash { path, hash } => format!("{path} must have exactly this content ({hash})"),
        Expectation::FilePatched { path } => format!("{path} must have exactly what the edits make of it"),
        Expectation::FileAbsent { path } => format!("{path} must be gone"),
        Expectation::FileAppended { path, added } => {
            format!("{path} must have the content from before and exactly this text after it ({added})")
        }
        Expectation::ContainerState { state } => format!("the container must be {state}"),
        Expectation::ContainerImage { image } => {
            format!("the container must have been replaced and run the image that {image} names now")
        }
        Expectation::ContainerUpdated => {
            "the container must have been replaced and run the image that its image name names now".to_owned()
        }
        Expectation::RolledOut => "all replicas must be ready and created after the change".to_owned(),
        Expectation::Replaced => "it must be gone, or another of its name must be in its place".to_owned(),
        Expectation::NoteKept { .. } => "the note must be kept".to_owned(),
        Expectation::ReadyReplicas { count } => format!("{count} replicas must be ready"),
        Expectation::AlertState { state } => format!("the alert must be {state}"),
        Expectation::Property { name, value } => format!("{name} must be {value}"),
        Expectation::Present => "it must exist".to_owned(),
        Expectation::Absent => "it must be gone".to_owned(),
        Expectation::FreeForm => {
            "nothing particular can be expected; the state of the resource is read afterwards".to_owned()
        }
    }
}

impl Hold {
    /// Where it stands, in one word. What nobody decided in time is expired, noticed or not.
    pub fn word(&self, now: Timestamp) -> &'static str {
        match self.status {
            HoldStatus::Pending if now >= self.expires_at => "expired",
            HoldStatus::Pending => "pending",
            HoldStatus::Approved { .. } => "approved",
            HoldStatus::Denied { .. } => "denied",
            HoldStatus::Edited { .. } => "edited",
            HoldStatus::Expired { .. } => "expired",
            HoldStatus::Withdrawn { .. } => "withdrawn",
        }
    }
}

impl Plan {
    /// What it touches and whether that can be undone, in a sentence: `1 service on 1 container; reversible`.
    pub fn blast_radius(&self) -> String {
        let place = self.target.as_ref().map(|target| kind_word(target.id.kind()));
        let unit = self.text("unit");
        let path = self.text("path").or_else(|| self.text("file_path"));
        let what = match (unit, path, &self.command, place) {
            (Some(_), _, _, Some(place)) => format!("1 service on 1 {place}"),
            (None, Some(_), None, Some(place)) => format!("1 file on 1 {place}"),
            (None, None, Some(_), Some(place)) => {
                format!("whatever the command reaches on 1 {place}")
            }
            (None, Some(_), Some(_), Some(place)) => format!("1 {place}"),
            (None, None, None, Some(place)) => format!("1 {place} and what runs on it"),
            (_, Some(_), _, None) => "1 file".to_owned(),
            (_, None, _, None) => "nothing that has a name".to_owned(),
        };
        if self.kind != ToolKind::Write {
            return format!("looks at {what}; changes nothing");
        }
        let undo = match self.undo {
            Undo::Reversible => "reversible",
            Undo::NotByItself => "not reversible by itself",
            Undo::Unknown => "reversibility unknown",
        };
        let risk = match self.risk {
            RiskLevel::High => "; high risk",
            RiskLevel::Low | RiskLevel::Medium => "",
        };
        format!("{what}; {undo}{risk}")
    }

    /// What happens, row by row: what each row is called, and what it says. Nothing is cut.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let title = self.action.as_deref().map_or_else(
            || self.tool.to_string(),
            |action| format!("{} {action}", self.tool),
        );
        rows.push(("tool".to_owned(), title));
        if let Some(target) = &self.target {
            let state = target
                .state
                .as_deref()
                .map_or_else(String::new, |state| format!(", {state}"));
            rows.push((
                "resource".to_owned(),
                format!("{} ({}{state})", target.id, target.name),
            ));
            if !target.identity.is_empty() {
                rows.push(("machine".to_owned(), target.identity.to_string()));
            }
        }
        if let Some(command) = &self.command {
            rows.push(("command".to_owned(), command.clone()));
        }
        for (name, value) in &self.arguments {
            let said = match name.as_str() {
                "action" => self.action.is_some(),
                _ => self.command.as_deref().is_some_and(|command| value == command),
            };
            if said {
                continue;
            }
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            rows.push((format!("argument {name}"), text));
        }
        if let Some(before) = &self.before {
            rows.push(("file before".to_owned(), format!("the file {before}")));
        }
        rows.push(("risk".to_owned(), self.risk.to_string()));
        let afterwards = self
            .expectation
            .as_ref()
            .map_or_else(|| "nothing to look at".to_owned(), expected);
        rows.push(("afterwards".to_owned(), afterwards));
        rows.push(("at most".to_owned(), format!("{} s", self.timeout_seconds)));
        rows
    }

    fn text(&self, argument: &str) -> Option<&str> {
        self.arguments.get(argument).and_then(Value::as_str)
    }
}

fn kind_word(kind: ResourceKind) -> String {
    match kind {
        ResourceKind::Lxc | ResourceKind::DockerContainer => "container".to_owned(),
        ResourceKind::Vm => "virtual machine".to_owned(),
        ResourceKind::Host | ResourceKind::DockerHost => "host".to_owned(),
        other => other.as_str().replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Catalogue;

    fn plan(tool: &str, target: Option<&str>, arguments: Value, command: Option<&str>) -> Plan {
        let Value::Object(arguments) = arguments else {
            panic!("an object");
        };
        let target = target.map(|id| json!({"id": id, "name": "x", "state": "running"}));
        let action = arguments.get("action").cloned();
        let catalogue = Catalogue::built_in().unwrap();
        let undo = catalogue.get(tool).unwrap().action(&arguments).undo;
        serde_json::from_value(json!({
            "session": "ses_1", "execution": "exe_1", "call": "call_1", "tool": tool, "action": action,
            "arguments": arguments, "kind": "write", "risk": "medium", "target": target,
            "command": command, "undo": undo, "timeout_seconds": 30,
        }))
        .unwrap()
    }

    #[test]
    fn a_plan_says_what_it_touches_and_whether_that_can_be_undone() {
        let lxc = Some("lxc:delly:141");
        let cases = [
            (
                plan(
                    "infra_control",
                    lxc,
                    json!({"action": "service_restart", "unit": "nginx"}),
                    None,
                ),
                "1 service on 1 container; reversible",
            ),
            (
                plan(
                    "infra_control",
                    Some("vm:delly:1"),
                    json!({"action": "delete"}),
                    None,
                ),
                "1 virtual machine and what runs on it; not reversible by itself",
            ),
            (
                plan(
                    "infra_control",
                    lxc,
                    json!({"action": "command", "command": "rm -r /srv"}),
                    Some("rm -r /srv"),
                ),
                "whatever the command reaches on 1 container; reversibility unknown",
            ),
            (
                plan(
                    "infra_file_edit",
                    lxc,
                    json!({"action": "write", "path": "/etc/motd", "content": "hi"}),
                    None,
                ),
                "1 file on 1 container; not reversible by itself",
            ),
            (
                plan(
                    "infra_docker",
                    Some("docker_container:s:web"),
                    json!({"action": "update"}),
                    None,
                ),
                "1 container and what runs on it; not reversible by itself",
            ),
        ];
        for (plan, wanted) in cases {
            assert_eq!(plan.blast_radius(), wanted, "{plan:?}");
        }
    }

    #[test]
    fn no_argument_is_left_out_of_the_rows() {
        let plan = plan(
            "infra_control",
            Some("lxc:delly:141"),
            json!({"action": "command", "command": "true", "reason": "because", "extra": 7}),
            Some("true"),
        );
        let rows = plan.rows();
        let rows: Vec<(&str, &str)> = rows.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            rows,
            [
                ("tool", "infra_control command"),
                ("resource", "lxc:delly:141 (x, running)"),
                ("command", "true"),
                ("argument reason", "because"),
                ("argument extra", "7"),
                ("risk", "medium"),
                ("afterwards", "nothing to look at"),
                ("at most", "30 s"),
            ]
        );
    }
}
