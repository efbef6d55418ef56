//! What single sessions used, and how single models have been doing.

use interlock_protocol::SessionId;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::backend::on;
use crate::{Error, Store};

/// What one session used of models.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SessionUse {
    /// How many calls to models.
    pub calls: u64,
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// The cost in dollars: of the calls whose cost is known.
    pub cost: Option<f64>,
}

/// How a model has been doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelHealth {
    /// Its name in the configuration.
    pub name: String,
    /// When it last answered.
    pub last_success_at: Option<Timestamp>,
    /// When it last failed, and how: the error as it is kept. What somebody stopped is no failure.
    pub last_failure: Option<(Timestamp, Value)>,
}

impl Store {
    /// What these sessions used of models, in this order. One that is not there used nothing.
    pub async fn usage_of(&self, sessions: Vec<SessionId>) -> Result<Vec<SessionUse>, Error> {
        on!(self, usage_of(sessions))
    }

    /// How these models have been doing since a moment, in this order.
    pub async fn model_health(
        &self,
        names: Vec<String>,
        since: Timestamp,
    ) -> Result<Vec<ModelHealth>, Error> {
        on!(self, model_health(names, since))
    }
}
