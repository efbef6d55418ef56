//! `interlock model`: which models there are, and what one can do.

use clap::{Args, Subcommand};
use interlock_model::{Models, Options, Provider, check};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::outside;
use crate::settings;
use crate::table::Table;
use crate::terminal::{Tone, visible_lines};

/// List models, or ask one what it can do.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  interlock model list
  interlock model check main"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the models of the configuration
    #[command(
        after_help = "Example:\n  interlock model list --json\n\nWith --json: JSON Lines, one model on each line."
    )]
    List,
    /// Ask a model for an answer and for a harmless tool call in each dialect
    #[command(after_help = "\
Example:
  interlock model check main --json

Exit codes: 0 it answers and calls tools in some dialect, 1 it does not, 2 wrong usage or configuration.")]
    Check {
        /// The model, by its name in the configuration
        name: String,
    },
}

/// A model, for programs.
#[derive(Serialize)]
struct ModelForm {
    name: String,
    provider: Provider,
    model: String,
    dialect: &'static str,
    base_url: Option<String>,
    key: Key,
    fallback: Vec<String>,
}

/// Where the key of a model is, and whether it is there. Never what it is.
#[derive(Serialize, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) variable: Option<String>,
    pub(crate) present: bool,
}

impl Key {
    /// The key that a model would use.
    pub(crate) fn of(options: &Options) -> Self {
        let own_address = options.base_url.is_none();
        let default = match options.provider {
            Provider::Openai if own_address => Some("OPENAI_API_KEY"),
            Provider::Anthropic if own_address => Some("ANTHROPIC_API_KEY"),
            Provider::Gemini if own_address => Some("GEMINI_API_KEY"),
            Provider::Openai
            | Provider::Anthropic
            | Provider::Gemini
            | Provider::Ollama
            | Provider::Scripted => None,
        };
        let variable = options.api_key_env.clone().or_else(|| default.map(str::to_owned));
        let present = variable
            .as_ref()
            .is_some_and(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        Self { variable, present }
    }

    /// Whether one is needed and not there.
    pub(crate) const fn is_missing(&self) -> bool {
        self.variable.is_some() && !self.present
    }

    fn words(&self) -> String {
        match (&self.variable, self.present) {
            (None, _) => "none needed".to_owned(),
            (Some(variable), true) => format!("from {variable}"),
            (Some(variable), false) => format!("{variable} is not set"),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let loaded = settings::load(globals)?;
    let options = &loaded.config.models;
    match &arguments.what {
        What::List => {
            // What the configuration took from the environment is shown by its origin: it can be a key.
            let shown = |text: &str| outside::hide(text).into_owned();
            let forms: Vec<ModelForm> = options
                .iter()
                .map(|(name, model)| ModelForm {
                    name: shown(name),
                    provider: model.provider,
                    model: shown(&model.model),
                    dialect: model.dialect().as_str(),
                    base_url: model.base_url.as_ref().map(|url| shown(&url.to_string())),
                    key: Key::of(model),
                    fallback: model.fallback.iter().map(|name| shown(name)).collect(),
                })
                .collect();
            globals.print_lines(&forms, |paint| {
                if forms.is_empty() {
                    return "no models; add one under `models` in interlock.yaml\n".to_owned();
                }
                let mut table = Table::new(&["name", "provider", "model", "dialect", "key"]);
                for form in &forms {
                    let tone = form.key.is_missing().then_some(Tone::Bad);
                    table.row(vec![
                        (form.name.clone(), None),
                        (form.provider.to_string(), None),
                        (form.model.clone(), None),
                        (form.dialect.to_owned(), None),
                        (form.key.words(), tone),
                    ]);
                }
                table.render(paint)
            })?;
            Ok(Ending::Done)
        }
        What::Check { name } => {
            let models = Models::new(options.clone()).map_err(Failure::wrong)?;
            let client = models.get(name).map_err(Failure::wrong)?;
            let cancel = CancellationToken::new();
            let stop = cancel.clone();
            tokio::spawn(async move {
                if tokio::signal::ctrl_c().await.is_ok() {
                    stop.cancel();
                }
            });
            let report = check::check(&client, &cancel).await;
            // What a model answers or a provider says about an error can hold the key that was sent.
            let masker = interlock_assembly::masker(&loaded.config, &models).map_err(Failure::wrong)?;
            let mut form = serde_json::to_value(&report).map_err(Failure::wrong)?;
            masker.mask_value(&mut form);
            globals.print(&form, |_| visible_lines(&masker.mask_text(&report.to_string())))?;
            if cancel.is_cancelled() {
                return Err(Failure::Interrupted);
            }
            Ok(if report.recommended().is_some() {
                Ending::Done
            } else {
                Ending::Unsuccessful
            })
        }
    }
}
