//! What the configuration sets, as one value that a reload replaces.
//!
//! A run keeps its models, prompts, limits and its catalogue from its beginning to its end. Everything else it asks for when it
//! needs it: masks, what code looks at, and what runs a call are those of the moment. Rules become stricter at once, also for a
//! run that has begun ([`crate::tape::Tape::follow`]); milder ones hold from the next run on.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use interlock_executor::Inventory;
use interlock_gate::FourEyes;
use interlock_mask::Masker;
use interlock_model::Models;
use interlock_protocol::ControlLevel;
use interlock_store::{NewSession, QueueLimits, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Inner, Overrides};
use crate::error::{Error, written};
use crate::incidents::AlertOptions;
use crate::options::{AgentOptions, ChainOptions, Defaults, Limits};
use crate::prompt::Prompts;
use crate::registry::ToolSet;

/// The setting of the store that says since when the configured level holds.
const LEVEL: &str = "control_level";

/// What the configuration sets. A reload replaces all of it at once ([`Engine::reconfigure`]).
#[derive(Clone)]
pub struct Settings {
    /// The models.
    pub models: Models,
    /// The tools: what decides about them and what runs them.
    pub tools: Arc<ToolSet>,
    /// What code itself looks at.
    pub inventory: Arc<dyn Inventory>,
    /// What hides secrets.
    pub masker: Masker,
    /// What models are told.
    pub prompts: Arc<Prompts>,
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentOptions>,
    /// The chains, by name.
    pub chains: BTreeMap<String, ChainOptions>,
    /// What holds where nothing closer says otherwise.
    pub defaults: Defaults,
    /// The bounds.
    pub limits: Limits,
    /// How many sessions may wait.
    pub queue: QueueLimits,
    /// How much may happen without a human, where a session does not say.
    pub level: ControlLevel,
    /// Whether the owner of a session may approve its holds.
    pub four_eyes: FourEyes,
    /// How alerts become incidents.
    pub alerts: AlertOptions,
}

/// A change of the configured level: sessions that were submitted before it get no more than it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LevelChange {
    level: ControlLevel,
    at: Timestamp,
}

impl LevelChange {
    /// The level of a session that was submitted with this one, at this time.
    fn apply(change: Option<&Self>, submitted: ControlLevel, at: Timestamp) -> ControlLevel {
        match change {
            Some(change) if at < change.at => submitted.min(change.level),
            Some(_) | None => submitted,
        }
    }
}

/// At most the configured level. A session that was submitted with a level of its own keeps it, unless the configured level
/// is lower now than it was then.
fn limited(
    level: ControlLevel,
    configured_then: Option<ControlLevel>,
    configured: ControlLevel,
) -> ControlLevel {
    match configured_then {
        Some(then) if configured >= then => level,
        Some(_) | None => level.min(configured),
    }
}

impl Engine {
    /// The settings as they are now. They stay so for whoever took them.
    pub fn settings(&self) -> Arc<Settings> {
        self.inner.settings()
    }

    /// Where everything is kept.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Other settings, from now on. A change of the level is kept first, so that it also holds after a restart and in every
    /// other process on the store; if that fails, nothing changes.
    pub async fn reconfigure(&self, settings: Settings) -> Result<(), Error> {
        let inner = &self.inner;
        let change = LevelChange {
            level: settings.level,
            at: Timestamp::now(),
        };
        let changed = inner.settings().level != settings.level;
        if changed {
            let text = written("the control level", &change)?.to_string();
            inner.store.set_setting(LEVEL, text).await?;
        }
        {
            let mut current = inner.settings.write().unwrap_or_else(PoisonError::into_inner);
            if changed {
                *inner.level.write().unwrap_or_else(PoisonError::into_inner) = Some(change);
            }
            *current = Arc::new(settings);
        }
        // What paused runs remember was decided with the old rules and holds on to old connections.
        inner.forget_parked();
        Ok(())
    }

    /// Other tools, for every run that begins from now on. A run that has begun keeps its catalogue; a tool that is gone or is
    /// described otherwise now is refused to it.
    pub fn replace_tools(&self, tools: ToolSet) {
        let mut current = self
            .inner
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut settings = Settings::clone(&current);
        settings.tools = Arc::new(tools);
        *current = Arc::new(settings);
    }
}

impl Inner {
    /// The settings as they are now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The tools as they are now.
    pub(crate) fn tools(&self) -> Arc<ToolSet> {
        Arc::clone(&self.settings().tools)
    }

    /// What hides secrets now.
    pub(crate) fn masker(&self) -> Masker {
        self.settings().masker.clone()
    }

    /// The level of a session that begins to be worked on: what it was submitted with, or less if the configured level was
    /// lowered since. That is so if a reload lowered it, in this process or another one, or if this process was started with a
    /// lower one.
    pub(crate) async fn level_of(&self, submitted: &NewSession) -> Result<ControlLevel, Error> {
        let change: Option<LevelChange> = match self.store.setting(LEVEL).await? {
            Some(text) => Some(serde_json::from_str(&text).map_err(|source| Error::Unreadable {
                what: "the last change of the control level".to_owned(),
                source,
            })?),
            None => None,
        };
        let level = LevelChange::apply(change.as_ref(), submitted.level, submitted.at);
        let configured_then = Overrides::of(submitted)?.configured_level;
        Ok(limited(level, configured_then, self.settings().level))
    }

    /// The level of a session that runs, after what was reloaded since it began.
    pub(crate) fn level_now(&self, level: ControlLevel, submitted: Timestamp) -> ControlLevel {
        let change = *self.level.read().unwrap_or_else(PoisonError::into_inner);
        LevelChange::apply(change.as_ref(), level, submitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowered_level_holds_for_sessions_of_before_and_a_raised_one_does_not() {
        use ControlLevel::{Autonomous, Controlled, ReadOnly};
        let second = |second| Timestamp::from_second(second).unwrap();
        for (change, submitted, at, expected) in [
            (None, Autonomous, 1, Autonomous),
            (Some((ReadOnly, 5)), Autonomous, 1, ReadOnly),
            (Some((Controlled, 5)), Autonomous, 1, Controlled),
            (Some((Controlled, 5)), ReadOnly, 1, ReadOnly),
            (Some((Autonomous, 5)), Controlled, 1, Controlled),
            // Asked for after the change, by somebody who may.
            (Some((ReadOnly, 5)), Autonomous, 6, Autonomous),
        ] {
            let change = change.map(|(level, at)| LevelChange {
                level,
                at: second(at),
            });
            assert_eq!(
                LevelChange::apply(change.as_ref(), submitted, second(at)),
                expected,
                "{change:?}"
            );
        }
    }

    #[test]
    fn a_session_has_at_most_the_configured_level_unless_it_named_its_own() {
        use ControlLevel::{Autonomous, Controlled, ReadOnly};
        let levels = [ReadOnly, Controlled, Autonomous];
        for submitted in levels {
            for configured in levels {
                assert_eq!(limited(submitted, None, configured), submitted.min(configured));
                for then in levels {
                    let expected = if configured < then {
                        submitted.min(configured)
                    } else {
                        submitted
                    };
                    assert_eq!(limited(submitted, Some(then), configured), expected);
                }
            }
        }
    }
}
