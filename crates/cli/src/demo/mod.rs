//! `interlock demo`: an incident in the lab, from the alert to the verified fix, told as it happens.

mod lab;
mod page;
mod play;
mod story;
mod summary;

use std::path::PathBuf;

use clap::Args;
use interlock_assembly::Folders;

pub(crate) use story::Story;

use self::lab::{Incident, Incidents, Lab};
use self::play::Next;
use crate::Ending;
use crate::assemble::{self, Assembled};
use crate::drive::Interrupt;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings;
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
    #[arg(long, value_name = "NAME", default_value = "service-crash")]
    incident: String,

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
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
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

/// A speed that makes sense.
fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed: &f64| (0.01..=1000.0).contains(speed))
        .ok_or_else(|| "a number between 0.01 and 1000".to_owned())
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

impl Stage {
    /// Ends everything of it.
    async fn strike(self, globals: &Globals, arguments: &Arguments) {
        self.assembled.store().close().await;
        if arguments.data.is_some() {
            globals.say(&format!("The record is kept in {}.", self.data.display()));
        }
        // What is connected to the lab ends before it, and the folder of both last.
        drop(self.assembled);
        self.lab.stop().await;
    }
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let incidents = Incidents::of_lab().await?;
    let mut incident = incidents.named(&arguments.incident)?;
    if arguments.is_page(globals) {
        return Box::pin(page::run(globals, arguments, &incidents, incident)).await;
    }
    let operator = arguments.operator();
    let again = !arguments.once && operator == Operator::Person && globals.can_ask();
    loop {
        let stage = set_up(globals, arguments, &incidents, &incident).await?;
        let ended = Box::pin(play::play(globals, &stage, &incident, &operator)).await;
        stage.strike(globals, arguments).await;
        let ending = ended?;
        if !again {
            return Ok(ending);
        }
        match play::next(&incidents, &incident, &mut Interrupt::new()?, "Play another one?").await? {
            Next::Play(next) => incident = next,
            Next::End => return Ok(ending),
        }
    }
}

async fn set_up(
    globals: &Globals,
    arguments: &Arguments,
    incidents: &Incidents,
    incident: &Incident,
) -> Result<Stage, Failure> {
    let (folder, data) = if let Some(data) = &arguments.data {
        std::fs::create_dir_all(data)?;
        (None, std::path::absolute(data)?)
    } else {
        let folder = tempfile::Builder::new().prefix("interlock-").tempdir()?;
        let path = folder.path().to_owned();
        (Some(folder), path)
    };
    let configured = configured_model(globals, arguments)?;
    let paint = globals.paint(&std::io::stderr());
    globals.say(&paint.paint(
        Tone::Strong,
        "Starting a cluster of three nodes and fourteen guests …",
    ));
    let place = data.join("lab");
    std::fs::create_dir_all(&place)?;
    let lab = Lab::start(&place, arguments.speed).await?;
    if let Some(warning) = lab.warning() {
        globals.say(&paint.paint(Tone::Careful, warning));
    }
    let mut config = lab.config()?;
    if let Some(loaded) = configured {
        config.models = loaded.models;
        config.defaults = loaded.defaults;
    } else if arguments.is_page(globals) {
        page::models(&mut config, &lab, incidents, &data).await?;
    } else {
        let script = data.join("script.yaml");
        std::fs::write(&script, lab.script(incident).await?)?;
        let options = serde_json::json!({ "provider": "scripted", "script": script });
        let options = serde_json::from_value(options).map_err(Failure::unsuccessful)?;
        config.models.insert("script".to_owned(), options);
    }
    let store = interlock_store::Options::sqlite(data.join("interlock.db"));
    let assembled = assemble::over(config, lab.credentials(), &store, Folders::within(&data))?;
    Ok(Stage {
        lab,
        assembled,
        _folder: folder,
        data,
    })
}

/// The configuration of this user, if one of its models is to play: it is then the default.
fn configured_model(
    globals: &Globals,
    arguments: &Arguments,
) -> Result<Option<interlock_config::Config>, Failure> {
    let Some(name) = &arguments.model else {
        return Ok(None);
    };
    let mut config = settings::load(globals)?.config;
    if !config.models.contains_key(name) {
        let known: Vec<&str> = config.models.keys().map(String::as_str).collect();
        return Err(Failure::wrong(format!(
            "there is no model `{name}` in the configuration; it has: {}",
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            }
        )));
    }
    config.defaults.model = Some(name.clone());
    Ok(Some(config))
}
