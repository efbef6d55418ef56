//! Why work on a session stopped that could not go on.

use interlock_gate::{Hold, HoldStatus, Refusal, Rule};
use interlock_protocol::{ErrorCode, RefusalRecord, RuleName};

use crate::approver::Barred;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not keep or find something.
    #[error(transparent)]
    Store(#[from] interlock_store::Error),
    /// A model is not there, or not set up.
    #[error(transparent)]
    Model(#[from] interlock_model::Error),
    /// A prompt cannot be made.
    #[error(transparent)]
    Prompt(#[from] crate::prompt::Error),
    /// The tools cannot be offered together.
    #[error(transparent)]
    Offer(#[from] interlock_dialect::OfferError),
    /// The system gave no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// Something names what is not configured.
    #[error("there is no {what} `{name}`; configured: {known}")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// What was named.
        name: String,
        /// What there is.
        known: String,
    },
    /// Nothing says which model to ask.
    #[error("no model is configured: add one under `models` and name it in `defaults.model` or with --model")]
    NoModel,
    /// What was kept cannot be read back.
    #[error("what was kept of {what} cannot be read: {source}")]
    Unreadable {
        /// Of what.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// What is to be kept cannot be written.
    #[error("{what} cannot be written to the record: {source}")]
    Unwritable {
        /// What.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A text is not fit for the record.
    #[error(transparent)]
    Name(#[from] interlock_protocol::id::Error),
    /// What a person wanted was refused: by which rule, why, and what would make it possible.
    #[error("{}{}", .0.message, hint(.0))]
    Refused(Box<RefusalRecord>),
    /// A person put a secret into the arguments of a call.
    #[error(
        "the call was not taken: {} like a secret, and every call is recorded as it runs; put the secret into a file or a \
         variable on the target and name that instead",
        looks(names)
    )]
    Secret {
        /// The arguments that hold one.
        names: Vec<String>,
    },
    /// What was asked for does not fit where the session stands.
    #[error("{0}")]
    NotNow(String),
}

/// Something as the record has it.
pub(crate) fn written(what: &'static str, value: &impl serde::Serialize) -> Result<serde_json::Value, Error> {
    serde_json::to_value(value).map_err(|source| Error::Unwritable { what, source })
}

fn looks(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [one] => format!("its argument {one} holds what looks"),
        several => format!("its arguments {} hold what looks", several.join(", ")),
    }
}

/// What to do next, behind the message.
fn hint(refusal: &RefusalRecord) -> String {
    match &refusal.recovery_hint {
        Some(hint) => format!(" {hint}"),
        None => String::new(),
    }
}

impl Error {
    /// What the gate said about a hold, with where the hold stands.
    pub(crate) fn refused(refusal: &Refusal, hold: &Hold) -> Self {
        let mut record = match refusal.to_record() {
            Ok(record) => record,
            Err(error) => return error.into(),
        };
        let status = match &hold.status {
            HoldStatus::Pending => "pending",
            HoldStatus::Approved { .. } => "approved",
            HoldStatus::Denied { .. } => "denied",
            HoldStatus::Edited { .. } => "edited",
            HoldStatus::Expired { .. } => "expired",
            HoldStatus::Withdrawn { .. } => "withdrawn",
        };
        record.details.insert("hold_status".to_owned(), status.into());
        Self::Refused(Box::new(record))
    }

    /// Somebody may not decide about a hold.
    pub(crate) fn barred(hold: &Hold, barred: Barred) -> Self {
        let rule = match RuleName::new(Rule::Hold.as_str()) {
            Ok(rule) => rule,
            Err(error) => return error.into(),
        };
        let mut record = RefusalRecord {
            code: ErrorCode::ActionNotAllowed,
            rule,
            message: barred.message().to_owned(),
            recovery_hint: Some(barred.hint().to_owned()),
            auto_recoverable: false,
            details: serde_json::Map::new(),
        };
        record.details.insert("hold".to_owned(), hold.id.as_str().into());
        record.details.insert("hold_status".to_owned(), "pending".into());
        Self::Refused(Box::new(record))
    }

    pub(crate) fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        Self::Unknown {
            what,
            name: name.to_owned(),
            known: if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            },
        }
    }
}

/// Sixteen bytes for an id.
pub(crate) fn draw() -> Result<[u8; 16], Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes)
}

/// Thirty-two bytes for a token.
pub(crate) fn draw_token() -> Result<[u8; 32], Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes)
}
