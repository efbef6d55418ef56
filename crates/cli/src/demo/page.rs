//! The demo in a browser: the server over the lab, an incident that plays at once, and an approval that waits.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use interlock_config::Config;
use interlock_engine::{Overrides, Submission};
use interlock_protocol::{SessionId, Status};
use interlock_server::{Serving, install_metrics, sign_in_link};
use serde::Serialize;

use super::lab::{Incident, Incidents, Lab};
use super::play::{self, Next};
use super::{Arguments, Stage, summary};
use crate::Ending;
use crate::drive::{Interrupt, is_end};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::report::Facts;
use crate::serve::{link, start};
use crate::terminal::{Paint, Tone};

/// How often to look whether a session has ended.
const LOOK: Duration = Duration::from_millis(300);
/// A person reads along: each reply takes a moment, and comes in pieces.
const PACE: &str = "  - delay: 700ms\n    chunk_size: 6\n    chunk_delay: 25ms\n    ";
/// What the script says to whatever it has no reply for.
const NO_MORE: &str = "  - repeat: forever
    text: >-
      I am a script and have no answer to that. With a real model configured, `interlock demo --model NAME` plays the same
      cluster with it.
";
/// What the model of the demo's chat says: it looks, and admits what it is.
const CHAT: &str = include_str!("chat.yaml");

/// The models of the demo: one script for each incident, and one for questions.
pub(super) async fn models(
    config: &mut Config,
    lab: &Lab,
    incidents: &Incidents,
    data: &Path,
) -> Result<(), Failure> {
    let mut add = |name: String, text: String| -> Result<(), Failure> {
        let script = data.join(format!("{name}.yaml"));
        std::fs::write(&script, text)?;
        let options = serde_json::json!({ "provider": "scripted", "script": script });
        let options = serde_json::from_value(options).map_err(Failure::unsuccessful)?;
        config.models.insert(name, options);
        Ok(())
    };
    for incident in incidents.all() {
        let paced = lab
            .script(incident)
            .await?
            .replace("\n  - ", &format!("\n{PACE}"));
        add(script_of(incident), format!("{}\n{NO_MORE}", paced.trim_end()))?;
    }
    add("script".to_owned(), CHAT.replace("\n  - ", &format!("\n{PACE}")))?;
    config.defaults.model = Some("script".to_owned());
    Ok(())
}

fn script_of(incident: &Incident) -> String {
    format!("script-{}", incident.name)
}

#[derive(Serialize)]
struct Started<'a> {
    url: &'a str,
    sign_in_link: &'a str,
    incident: &'a str,
    session_id: &'a SessionId,
}

/// Serves the story until somebody ends it.
pub(super) async fn run(
    globals: &Globals,
    arguments: &Arguments,
    incidents: &Incidents,
    incident: Incident,
) -> Result<Ending, Failure> {
    let metrics = install_metrics();
    let mut interrupt = Interrupt::new()?;
    let mut stage = tokio::select! {
        stage = super::set_up(globals, arguments, incidents, &incident) => stage?,
        () = interrupt.recv() => return Err(Failure::Interrupted),
    };
    let paint = globals.paint(&std::io::stderr());
    stage.assembled.config.server.listen = arguments.listen.unwrap_or_else(free_address);
    let serving = start(&stage.assembled, metrics, None, true).await?;
    let workers = stage.assembled.engine.start(&stage.assembled.queue);
    let told = Telling {
        globals,
        arguments,
        incidents,
        stage: &stage,
        serving: &serving,
        paint,
    }
    .tell(incident, &mut interrupt)
    .await;
    globals.say("stopping the server and the cluster …");
    serving.stop().await;
    workers.drain().await;
    stage.strike(globals, arguments).await;
    told
}

/// What the story is told with.
struct Telling<'a> {
    globals: &'a Globals,
    arguments: &'a Arguments,
    incidents: &'a Incidents,
    stage: &'a Stage,
    serving: &'a Serving,
    paint: Paint,
}

impl Telling<'_> {
    /// Plays one incident after the other, until Ctrl-C or an empty answer ends it.
    async fn tell(self, mut incident: Incident, interrupt: &mut Interrupt) -> Result<Ending, Failure> {
        let Self {
            globals,
            arguments,
            incidents,
            stage,
            serving,
            paint,
        } = self;
        let (_, secret) = sign_in_link(stage.assembled.store(), None).await?;
        let link = link(&serving.url(), &secret);
        let mut session = begin(stage, &incident, arguments.model.as_deref()).await?;
        let started = Started {
            url: &serving.url(),
            sign_in_link: &link,
            incident: &incident.name,
            session_id: &session,
        };
        if globals.json {
            globals.print(&started, |_| String::new())?;
        }
        globals.say(&format!(
            "\n{}\n\n  {link}\n\nThe incident {} plays already. Sign in with the link (once, within 15 minutes), watch, and \
             decide about what waits for you. Ctrl-C ends everything.",
            paint.paint(Tone::Strong, "Open this in a browser:"),
            incident.name,
        ));
        if !arguments.place.no_open {
            open(globals, stage, &link);
        }
        loop {
            tokio::select! {
                status = ended(stage, &session) => {
                    verdict(globals, stage, &incident, &session, status?, paint).await?;
                }
                () = interrupt.recv() => return Ok(Ending::Done),
            }
            if !globals.can_ask() {
                interrupt.recv().await;
                return Ok(Ending::Done);
            }
            let question = "Play another one? The page stays.";
            match play::next(incidents, &incident, interrupt, question).await? {
                Next::Play(next) => incident = next,
                Next::End => return Ok(Ending::Done),
            }
            session = begin(stage, &incident, arguments.model.as_deref()).await?;
            globals.say(&format!(
                "The incident {} plays: {}/sessions/{session}",
                incident.name,
                serving.url()
            ));
        }
    }
}

/// Breaks the world and hands the alert over.
async fn begin(stage: &Stage, incident: &Incident, model: Option<&str>) -> Result<SessionId, Failure> {
    let alert = stage.lab.break_in(incident).await?;
    let text = serde_json::to_string_pretty(&alert).map_err(Failure::unsuccessful)?;
    let submission = Submission {
        channel: "demo".to_owned(),
        overrides: Overrides {
            model: Some(model.map_or_else(|| script_of(incident), str::to_owned)),
            ..Overrides::default()
        },
        ..Submission::alert(&incident.alert, text)
    };
    Ok(stage.assembled.engine.submit(submission).await?)
}

async fn ended(stage: &Stage, session: &SessionId) -> Result<Status, Failure> {
    loop {
        let status = stage.assembled.store().session(session).await?.status;
        if is_end(status) {
            return Ok(status);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn verdict(
    globals: &Globals,
    stage: &Stage,
    incident: &Incident,
    session: &SessionId,
    status: Status,
    paint: Paint,
) -> Result<(), Failure> {
    let verdict = play::settled(stage, incident).await?;
    let facts = Facts::of(stage.assembled.store(), session).await?;
    let proof = summary::proof(&stage.assembled, &facts).await;
    let (tone, word) = if verdict.resolved {
        (Tone::Good, "resolved")
    } else {
        (Tone::Careful, "not resolved")
    };
    globals.say(&format!(
        "\nThe session {session} is {status}; the lab says that the incident is {}. {}",
        paint.paint(tone, word),
        proof.sentence()
    ));
    Ok(())
}

/// The usual port, if it is free.
fn free_address() -> SocketAddr {
    let usual = interlock_config::LISTEN;
    match std::net::TcpListener::bind(usual) {
        Ok(_) => usual,
        Err(_) => SocketAddr::new(usual.ip(), 0),
    }
}

/// Opens the link in the user's browser, if there is one. The link goes through a file that nobody else can read: the
/// arguments of a process are seen by everybody on the machine.
fn open(globals: &Globals, stage: &Stage, link: &str) {
    if !globals.can_ask() || !interlock_exec::browser::is_there() {
        return;
    }
    let page = stage.data.join("sign-in.html");
    let text = format!(
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
         <meta http-equiv=refresh content=\"0;url={link}\"><a href=\"{link}\">Sign in</a>\n"
    );
    let opened = interlock_exec::browser::write_private(&page, &text)
        .and_then(|()| interlock_exec::browser::open(&page));
    if let Err(error) = opened {
        tracing::debug!(%error, "no browser was opened");
    }
}
