//! Incidents: what an alert is about. A session is one run of work on it.

use crate::word::words;

words! {
    /// How bad it is, the worst first.
    Severity {
        /// People are affected or soon will be.
        Critical = "critical",
        /// Something is wrong.
        Warning = "warning",
        /// Good to know.
        Info = "info",
    }
}

impl Severity {
    /// What the label of an alert means, in the words that monitoring systems use. An unknown word is a warning: an alert was
    /// sent, so something is wrong.
    pub fn of_label(label: &str) -> Self {
        match label.trim().to_ascii_lowercase().as_str() {
            "critical" | "crit" | "page" | "fatal" | "emergency" | "emerg" | "disaster" | "high"
            | "error" | "err" | "major" | "p1" | "p0" | "sev1" | "sev0" | "1" | "0" => Self::Critical,
            "info" | "informational" | "information" | "notice" | "none" | "low" | "debug" | "ok" | "p4"
            | "p5" | "sev4" | "sev5" | "4" | "5" => Self::Info,
            _ => Self::Warning,
        }
    }
}

words! {
    /// Where an incident stands.
    IncidentStatus {
        /// Nobody has said anything about it.
        Open = "open",
        /// A person has seen it.
        Acknowledged = "acknowledged",
        /// An action on it was verified. The alert may still fire.
        Mitigated = "mitigated",
        /// The alert was resolved, or a person said so.
        Resolved = "resolved",
    }
}

impl IncidentStatus {
    /// Whether somebody still has to look after it.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Open | Self::Acknowledged | Self::Mitigated => true,
            Self::Resolved => false,
        }
    }
}

words! {
    /// What happened to an incident.
    IncidentEventKind {
        /// Its alert fired for the first time.
        Opened = "opened",
        /// The alert was sent again while it was known.
        Repeated = "repeated",
        /// The alert fired again after it was resolved.
        Reopened = "reopened",
        /// A session was started for it.
        SessionStarted = "session_started",
        /// A person has seen it.
        Acknowledged = "acknowledged",
        /// A session ended with a verified action.
        Mitigated = "mitigated",
        /// The alert was resolved by whoever sent it.
        AlertResolved = "alert_resolved",
        /// A person resolved it.
        Resolved = "resolved",
        /// Holds that waited for a decision were withdrawn, because the alert was resolved.
        HoldsWithdrawn = "holds_withdrawn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_monitoring_systems_are_understood() {
        for (label, severity) in [
            ("critical", Severity::Critical),
            (" Page ", Severity::Critical),
            ("P1", Severity::Critical),
            ("warning", Severity::Warning),
            ("warn", Severity::Warning),
            ("average", Severity::Warning),
            ("", Severity::Warning),
            ("purple", Severity::Warning),
            ("info", Severity::Info),
            ("none", Severity::Info),
        ] {
            assert_eq!(Severity::of_label(label), severity, "{label:?}");
        }
    }
}
