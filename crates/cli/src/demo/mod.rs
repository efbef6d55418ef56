//! `interlock demo`: an incident in the lab, from the alert to the verified fix, told as it happens.

mod page;
mod play;
mod story;
mod summary;

use std::path::PathBuf;

use clap::Args;
use interlock_lab::{Incident, Lab};

pub(crate) use story::Story;

use self::play::Next;
use crate::Ending;
use crate::assemble::{self, Assembled};
use crate::drive::Interrupt;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::lab::{connect, serve, warning};
use crate::settings::{self, Folders};
use crate::terminal::Tone;

/// Play an incident in a simulated cluster, from the alert to the verified fix.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock demo
  interlock demo --terminal
  interlock demo --once --yes --incident disk-full
  interlock demo --once --yes --json
  interlock demo --model my-model --incident service-crash

On a terminal the story plays in a browser: a server on loopback, a sign-in link, an incident at once and an approval that
waits for you. --terminal, --once, --yes and --deny tell it here in place of that; without a terminal --web serves it.

The cluster is simulated; what runs in it are real processes with real files. The model is a script that makes the
usual mistakes, unless one of your configuration is named.

Exit codes: 0 the lab's oracle says that the incident is over and the action was verified, 1 not so, 2 wrong usage or
configuration.")]
pub(crate) struct Arguments {
    /// Which incident; `interlock lab incidents` lists them
    #[arg(long, value_name = "NAME", default_value = "service-crash", value_parser = crate::lab::incident)]
    incident: Incident,

    #[command(flatten)]
    place: Place,

    /// Where to listen; left out, 127.0.0.1:7878, or another port if that is taken
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<std::net::SocketAddr>,

    /// Play it once and end
    #[arg(long, conflicts_with = "web")]
    once: bool,

    /// Approve as the operator, whatever is proposed
    #[arg(long, conflicts_with_all = ["deny", "web"])]
    yes: bool,

    /// Deny as the operator, whatever is proposed
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "the demo was told to deny")]
    deny: Option<String>,

    /// A model of your configuration; left out, a script
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// How much faster than a real cluster its tasks are
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = serve::speed)]
    speed: f64,

    /// Where the record is kept; left out, a temporary folder
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

/// Where the story is told.
#[derive(Args)]
struct Place {
    /// Serve it for a browser, also without a terminal
    #[arg(long, conflicts_with_all = ["terminal", "deny"])]
    web: bool,

    /// Tell it in the terminal
    #[arg(long)]
    terminal: bool,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

/// Who decides about what is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operator {
    /// Always yes.
    Yes,
    /// Always no, for this reason.
    No(String),
    /// Whoever is at the terminal.
    Person,
}

impl Arguments {
    /// Whether the story is for a browser.
    fn is_page(&self, globals: &Globals) -> bool {
        let told_here = self.place.terminal || self.once || self.yes || self.deny.is_some();
        self.place.web || (!told_here && globals.can_ask())
    }

    fn operator(&self) -> Operator {
        match (&self.deny, self.yes) {
            (Some(reason), _) => Operator::No(reason.clone()),
            (None, true) => Operator::Yes,
            (None, false) => Operator::Person,
        }
    }
}

/// Everything that a story needs.
struct Stage {
    lab: Lab,
    assembled: Assembled,
    /// Removed with everything in it, unless its owner wants to keep it.
    _folder: Option<tempfile::TempDir>,
    data: PathBuf,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if arguments.is_page(globals) {
        return page::run(globals, arguments).await;
    }
    let operator = arguments.operator();
    let again = !arguments.once && operator == Operator::Person && globals.can_ask();
    let mut incident = arguments.incident;
    loop {
        let stage = set_up(globals, arguments, incident).await?;
        let ended = Box::pin(play::play(globals, &stage, incident, &operator)).await;
        let (lab, data) = (stage.lab.clone(), stage.data.clone());
        stage.assembled.store().close().await;
        drop(stage);
        lab.stop().await;
        let ending = ended?;
        if arguments.data.is_some() {
            globals.say(&format!("The record is kept in {}.", data.display()));
        }
        if !again {
            return Ok(ending);
        }
        match play::next(incident, &mut Interrupt::new()?, "Play another one?").await? {
            Next::Play(next) => incident = next,
            Next::End => return Ok(ending),
        }
    }
}

async fn set_up(globals: &Globals, arguments: &Arguments, incident: Incident) -> Result<Stage, Failure> {
    let (folder, data) = if let Some(data) = &arguments.data {
        std::fs::create_dir_all(data)?;
        (None, std::path::absolute(data)?)
    } else {
        let folder = tempfile::Builder::new().prefix("interlock-").tempdir()?;
        let path = folder.path().to_owned();
        (Some(folder), path)
    };
    let base = models(globals, arguments, incident, &data)?;
    let paint = globals.paint(&std::io::stderr());
    globals.say(&paint.paint(
        Tone::Strong,
        "Starting a cluster of three nodes and fourteen guests …",
    ));
    let place = data.join("lab");
    std::fs::create_dir_all(&place)?;
    let lab = Lab::start(serve::options(place, arguments.speed)?)
        .await
        .map_err(Failure::unsuccessful)?;
    if let Some(warning) = warning(&lab.access().isolation) {
        globals.say(&paint.paint(Tone::Careful, &warning));
    }
    let config = connect::config(lab.access(), base)?;
    let store = interlock_store::Options::file(data.join("interlock.db"));
    let folders = Folders {
        data: data.clone(),
        config: data.clone(),
    };
    let assembled = assemble::over(&config, &connect::credentials(lab.access()), &store, folders)?;
    Ok(Stage {
        lab,
        assembled,
        _folder: folder,
        data,
    })
}

/// A configuration with the one model that plays.
fn models(
    globals: &Globals,
    arguments: &Arguments,
    incident: Incident,
    data: &std::path::Path,
) -> Result<interlock_config::Config, Failure> {
    let mut config = interlock_config::Config::default();
    if let Some(name) = &arguments.model {
        let mut loaded = settings::load(globals)?.config;
        if !loaded.models.contains_key(name) {
            let known: Vec<&str> = loaded.models.keys().map(String::as_str).collect();
            return Err(Failure::wrong(format!(
                "there is no model `{name}` in the configuration; it has: {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            )));
        }
        config.models = std::mem::take(&mut loaded.models);
        config.defaults = loaded.defaults;
        config.defaults.model = Some(name.clone());
    } else if arguments.is_page(globals) {
        page::models(&mut config, data)?;
    } else {
        let script = data.join("script.yaml");
        std::fs::write(&script, incident.script())?;
        let options = serde_json::json!({ "provider": "scripted", "script": script });
        let options = serde_json::from_value(options).map_err(Failure::unsuccessful)?;
        config.models.insert("script".to_owned(), options);
    }
    Ok(config)
}
