//! Why something may not happen, in a form that people, models, the record and the metrics all read.
//!
//! A refusal carries facts. It never carries a prompt: no sentence in it addresses a model, names what it should
//! feel or tells a story.

use interlock_protocol::{Details, ErrorCode, RefusalRecord, Retry, RuleName, ToolName, ToolResponse};
use serde_json::Value;

use crate::rule::Rule;
use crate::state::State;
use interlock_protocol::ToolKind;

/// Whether the refusal only stops this call, or counts as a failure of the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The call may not run; another may.
    Blocked,
    /// The proposer does not get past it: the execution should conclude.
    Failed,
}

/// Whether a model can get past a refusal by itself, by doing what the details say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// It can.
    Automatic,
    /// Something outside must change first.
    Outside,
}

/// A typed answer other than "yes".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The rule that decided.
    pub rule: Rule,
    /// The stable code.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// What would make the call possible, if something would.
    pub recovery_hint: Option<String>,
    /// Whether the proposer can do that by itself.
    pub recovery: Recovery,
    /// How much it stops.
    pub severity: Severity,
    /// The facts.
    pub details: Details,
    /// What the refusal was about.
    pub about: About,
}

/// What a refusal was about: the labels of its metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The tool; nothing for a final answer.
    pub tool: Option<ToolName>,
    /// The action, where the tool has actions.
    pub action: Option<String>,
    /// What the call would do.
    pub kind: Option<ToolKind>,
    /// The state of the execution.
    pub state: State,
}

impl Refusal {
    pub(crate) fn new(rule: Rule, code: ErrorCode, about: About, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            rule,
            code,
            message: message.into(),
            recovery_hint: None,
            recovery: if code.auto_recoverable() {
                Recovery::Automatic
            } else {
                Recovery::Outside
            },
            severity: Severity::Blocked,
            details: Details::new(),
            about,
        })
    }

    pub(crate) fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.recovery_hint = Some(hint.into());
        self
    }

    pub(crate) fn recovery(mut self: Box<Self>, recovery: Recovery) -> Box<Self> {
        self.recovery = recovery;
        self
    }

    pub(crate) fn failed(mut self: Box<Self>) -> Box<Self> {
        self.severity = Severity::Failed;
        self.recovery = Recovery::Outside;
        self
    }

    pub(crate) fn detail(mut self: Box<Self>, key: &str, value: impl Into<Value>) -> Box<Self> {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Whether the proposer can get past it by itself.
    pub const fn auto_recoverable(&self) -> bool {
        matches!(self.recovery, Recovery::Automatic)
    }

    /// The facts with the rule, the hint and whether it is recoverable: what a model is shown.
    pub fn all_details(&self) -> Details {
        let mut details = self.details.clone();
        details.insert("rule".to_owned(), self.rule.as_str().into());
        details.insert("auto_recoverable".to_owned(), self.auto_recoverable().into());
        if let Some(hint) = &self.recovery_hint {
            details.insert("recovery_hint".to_owned(), hint.as_str().into());
        }
        details
    }

    /// The envelope that the caller gets.
    pub fn to_response(&self) -> ToolResponse {
        match self.severity {
            Severity::Blocked => ToolResponse::blocked(self.code, self.message.as_str(), self.all_details()),
            Severity::Failed => ToolResponse::failed(
                self.code,
                self.message.as_str(),
                Retry::Useless,
                self.all_details(),
            ),
        }
    }

    /// The form that the record keeps.
    pub fn to_record(&self) -> Result<RefusalRecord, interlock_protocol::id::Error> {
        Ok(RefusalRecord {
            code: self.code,
            rule: RuleName::new(self.rule.as_str())?,
            message: self.message.clone(),
            recovery_hint: self.recovery_hint.clone(),
            auto_recoverable: self.auto_recoverable(),
            details: self.details.clone(),
        })
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} (rule: {})", self.code, self.message, self.rule)
    }
}

impl std::error::Error for Refusal {}
