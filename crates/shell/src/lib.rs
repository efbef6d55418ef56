//! What a shell command can do.
mod verdict;
pub use verdict::{Category, Intent, Reason, Risk, Verdict};

/// Judges a command.
pub fn classify(command: &str) -> Verdict {
    Verdict {
        intent: Intent::WriteOrUnknown,
        risk: Risk::MediumWrite,
        bounded: true,
        category: None,
        sensitive: false,
        network: false,
        hosts: Vec::new(),
        reasons: vec![Reason { part: command.to_owned(), why: "not analysed".to_owned() }],
        rewrite: None,
    }
}
