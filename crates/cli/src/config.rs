//! `interlock config`: is it right, what may stand in it, what does it come to.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use interlock_config::Problem;
use serde::Serialize;
use serde_json::Value;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::settings;
use crate::terminal::{Paint, Tone};

/// Check and explain the configuration.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  interlock config check
  interlock config schema > interlock.schema.json
  interlock config show --json | jq .models"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Say whether the configuration is right, and where it is not
    #[command(after_help = "\
Examples:
  interlock config check
  interlock config check /etc/interlock/interlock.yaml --json

Exit codes: 0 it is right, 2 it is not.")]
    Check {
        /// The file, in place of the one that would be used
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of interlock.yaml
    #[command(
        after_help = "Example:\n  interlock config schema > interlock.schema.json\n\nJSON in any case."
    )]
    Schema,
    /// Print the whole configuration, defaults included, without anything secret
    #[command(after_help = "Example:\n  interlock config show\n\nJSON in any case.")]
    Show,
}

/// What `config check --json` prints.
#[derive(Serialize)]
struct Checked {
    file: Option<String>,
    ok: bool,
    problems: Vec<ProblemForm>,
    warnings: Vec<ProblemForm>,
}

#[derive(Serialize)]
struct ProblemForm {
    line: Option<u64>,
    column: Option<u64>,
    path: String,
    message: String,
    help: Option<String>,
}

impl From<&Problem> for ProblemForm {
    fn from(problem: &Problem) -> Self {
        Self {
            line: problem.place.map(|place| place.line),
            column: problem.place.map(|place| place.column),
            path: problem.path.clone(),
            message: problem.message.clone(),
            help: problem.help.clone(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    match &arguments.what {
        What::Check { file } => check(globals, file.clone()),
        What::Schema => print(globals, &interlock_config::schema()),
        What::Show => {
            let loaded = settings::load(globals)?;
            print(globals, &loaded.config.sanitised())
        }
    }
}

fn print(globals: &Globals, document: &Value) -> Result<Ending, Failure> {
    let text = serde_json::to_string_pretty(document)? + "\n";
    globals.print(document, |_| text)?;
    Ok(Ending::Done)
}

fn check(globals: &Globals, file: Option<PathBuf>) -> Result<Ending, Failure> {
    let globals = &Globals {
        config: file.or_else(|| globals.config.clone()),
        ..globals.clone()
    };
    let loaded = match interlock_config::load(globals.config.as_deref()) {
        Ok(loaded) => loaded,
        Err(error) => {
            let file = match &error {
                interlock_config::Error::Unreadable { file, .. }
                | interlock_config::Error::Wrong { file, .. } => file.display().to_string(),
            };
            let mut problems: Vec<ProblemForm> = error.problems().iter().map(ProblemForm::from).collect();
            if problems.is_empty() {
                problems.push(ProblemForm {
                    line: None,
                    column: None,
                    path: String::new(),
                    message: error.to_string(),
                    help: None,
                });
            }
            let checked = Checked {
                file: Some(file),
                ok: false,
                problems,
                warnings: Vec::new(),
            };
            if globals.json {
                globals.print(&checked, |_| String::new())?;
            } else {
                say(&error.to_string());
            }
            return Ok(Ending::Wrong);
        }
    };
    let checked = Checked {
        file: loaded.file.as_ref().map(|file| file.display().to_string()),
        ok: true,
        problems: Vec::new(),
        warnings: loaded.warnings.iter().map(ProblemForm::from).collect(),
    };
    globals.print(&checked, |paint: Paint| {
        let mut text = String::new();
        for warning in &loaded.warnings {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{}: {warning}", paint.paint(Tone::Careful, "warning"));
        }
        let config = &loaded.config;
        let what = checked
            .file
            .clone()
            .unwrap_or_else(|| "no file: the built-in defaults".to_owned());
        let _ = writeln!(
            text,
            "{}: {what} (models: {}, agents: {}, chains: {})",
            paint.paint(Tone::Good, "ok"),
            config.models.len(),
            config.agents.len(),
            config.chains.len(),
        );
        text
    })?;
    Ok(Ending::Done)
}
