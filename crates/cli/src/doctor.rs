//! `interlock doctor`: what works here, what does not, and what to do about it.

mod checks;
mod connections;

use std::fmt::Write as _;

use clap::Args;
use interlock_mask::Masker;
use interlock_model::Models;
use serde::Serialize;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings;
use crate::terminal::{Paint, Tone, visible_lines};

/// Look at everything that Interlock depends on.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock doctor
  interlock doctor --online --json

Nothing leaves this machine without --online.

Exit codes: 0 nothing failed (there may be warnings), 1 something did.")]
pub(crate) struct Arguments {
    /// Also ask each model and each connection whether it answers
    #[arg(long)]
    online: bool,
}

/// How a check came out.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    name: String,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Check {
    fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(name, State::Ok, found, None)
    }

    fn warn(name: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(name, State::Warn, found, Some(remedy.into()))
    }

    fn fail(name: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(name, State::Fail, found, Some(remedy.into()))
    }

    fn new(name: impl Into<String>, state: State, found: impl Into<String>, remedy: Option<String>) -> Self {
        Self {
            name: name.into(),
            state,
            found: crate::outside::hide(&found.into()).into_owned(),
            remedy: remedy.map(|remedy| crate::outside::hide(&remedy).into_owned()),
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Form<'a> {
    ok: bool,
    version: &'static str,
    checks: &'a [Check],
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let mut checks = checks::all(globals, arguments.online).await;
    // What a provider or a connection says about an error can hold a secret.
    let masker = masker(globals);
    for check in &mut checks {
        check.found = masker.mask_text(&check.found).into_owned();
    }
    let ok = checks.iter().all(|check| check.state != State::Fail);
    let form = Form {
        ok,
        version: env!("CARGO_PKG_VERSION"),
        checks: &checks,
    };
    globals.print(&form, |paint| render(&checks, paint))?;
    Ok(if ok { Ending::Done } else { Ending::Unsuccessful })
}

/// What was found may have several lines; they stand under each other.
fn found(text: &str, width: usize) -> String {
    visible_lines(text.trim_end()).replace('\n', &format!("\n{:>width$}", "", width = width + 8))
}

/// What masks by the configuration; every built-in kind where that cannot be read.
fn masker(globals: &Globals) -> Masker {
    let configured = || {
        let config = settings::load(globals).ok()?.config;
        let models = Models::new(config.models.clone()).ok()?;
        interlock_assembly::masker(&config, &models).ok()
    };
    configured().unwrap_or_default()
}

fn render(checks: &[Check], paint: Paint) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let word = match check.state {
            State::Ok => paint.paint(Tone::Good, "ok  "),
            State::Warn => paint.paint(Tone::Careful, "warn"),
            State::Fail => paint.paint(Tone::Bad, "fail"),
        };
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "{word}  {:<width$}  {}",
            check.name,
            found(&check.found, width)
        );
        if let Some(remedy) = &check.remedy {
            let _ = writeln!(text, "{:>width$}  → {remedy}", "", width = width + 4);
        }
    }
    text
}
