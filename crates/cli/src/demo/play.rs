//! Plays an incident: breaks the world, hands the alert over, decides or asks about what is held, and asks the oracle.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use interlock_engine::Submission;
use interlock_gate::Hold;
use interlock_protocol::{SessionId, Status};
use jiff::Timestamp;

use super::lab::{Incident, Incidents, Verdict};
use super::summary::Played;
use super::{Operator, Stage, Story};
use crate::Ending;
use crate::decide::{self, Decided};
use crate::drive::{Driver, Interrupt};
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::keyboard::Keyboard;
use crate::plan;
use crate::progress::Progress;
use crate::report::Facts;
use crate::terminal::{Tone, visible};

/// How long the world may take to come back after it was mended.
const SETTLE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

pub(super) async fn play(
    globals: &Globals,
    stage: &Stage,
    incident: &Incident,
    operator: &Operator,
) -> Result<Ending, Failure> {
    let began = Instant::now();
    let paint = globals.paint(&io::stderr());
    globals.say(&paint.paint(
        Tone::Strong,
        &format!("\nIncident {}: {}", incident.name, incident.summary),
    ));
    let alert = stage.lab.break_in(incident).await?;
    globals.say(&format!(
        "Alert {}: {}",
        incident.alert,
        visible(
            alert
                .pointer("/annotations/summary")
                .and_then(serde_json::Value::as_str)
                .unwrap_or("")
        )
    ));
    let assembled = &stage.assembled;
    let text = serde_json::to_string_pretty(&alert).map_err(Failure::unsuccessful)?;
    let submission = Submission {
        owner: Some(assembled.by.clone()),
        ..Submission::alert(&incident.alert, text)
    };
    let session = assembled.engine.submit(submission).await?;
    let mut driver = Driver::new(globals, assembled)?;
    driver.progress = Progress::telling(globals, Story::new(paint, assembled.store().clone()));
    work(&mut driver, &session, operator).await?;
    let verdict = settled(stage, incident).await?;
    let facts = Facts::of(assembled.store(), &session).await?;
    let proof = super::summary::proof(assembled, &facts).await;
    let isolation = stage.lab.isolation().clone();
    let played = Played::new(incident, isolation, &facts, verdict, proof, began.elapsed());
    played.tell(globals, &facts)?;
    Ok(played.ending())
}

/// Asks the oracle. What was mended may take a moment to come back.
pub(super) async fn settled(stage: &Stage, incident: &Incident) -> Result<Verdict, Failure> {
    let until = Instant::now() + SETTLE;
    loop {
        let verdict = stage.lab.verdict(incident).await?;
        if verdict.resolved || Instant::now() >= until {
            return Ok(verdict);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Works until the session ends, or waits for someone who is not here.
async fn work(driver: &mut Driver<'_>, session: &SessionId, operator: &Operator) -> Result<(), Failure> {
    loop {
        let status = driver.work(session).await?;
        if status != Status::Held {
            return Ok(());
        }
        for hold in driver.open_holds(session).await? {
            match operator {
                Operator::Yes => {
                    show(driver, &hold);
                    driver.assembled.approve(&hold.id).await?;
                }
                Operator::No(reason) => {
                    show(driver, &hold);
                    driver.assembled.deny(&hold.id, reason).await?;
                }
                Operator::Person if driver.globals.can_ask() => match decide::ask(driver, &hold).await? {
                    Decided::Yes | Decided::No | Decided::Elsewhere => {}
                    Decided::Later | Decided::Cancelled => return Ok(()),
                },
                Operator::Person => {
                    show(driver, &hold);
                    return Ok(());
                }
            }
        }
    }
}

fn show(driver: &Driver<'_>, hold: &Hold) {
    if driver.globals.json {
        return;
    }
    let paint = driver.globals.paint(&io::stderr());
    say(&format!(
        "\n{}",
        paint.paint(Tone::Careful, "This waits for a human:")
    ));
    say(&plan::render(hold, Timestamp::now(), paint));
}

/// What comes after an incident.
pub(super) enum Next {
    /// Another one.
    Play(Incident),
    /// Nothing.
    End,
}

/// Asks which incident comes next.
pub(super) async fn next(
    incidents: &Incidents,
    last: &Incident,
    interrupt: &mut Interrupt,
    question: &str,
) -> Result<Next, Failure> {
    let mut keyboard = Keyboard::new();
    let all = incidents.all();
    say(&format!("\n{question}"));
    for (number, incident) in (1..).zip(all) {
        let mark = if incident == last { " (just played)" } else { "" };
        say(&format!("  {number}  {}{mark}", incident.name));
    }
    loop {
        let _ = write!(io::stderr(), "A number or a name, or Enter to end: ");
        let _ = io::stderr().flush();
        let line = tokio::select! {
            line = keyboard.line() => line,
            () = interrupt.recv() => None,
        };
        let Some(line) = line else {
            say("");
            return Ok(Next::End);
        };
        let line = line.trim();
        if matches!(line, "" | "q" | "quit" | "exit") {
            return Ok(Next::End);
        }
        let by_number = line
            .parse::<usize>()
            .ok()
            .and_then(|number| all.get(number.checked_sub(1)?));
        if let Some(incident) = by_number.cloned().or_else(|| incidents.named(line).ok()) {
            return Ok(Next::Play(incident));
        }
        say("there is no such incident");
    }
}
