//! A person decides about a held plan: sees all of it, then says yes or no.

use std::io::{self, Write as _};
use std::time::Duration;

use interlock_gate::{Hold, HoldStatus};
use interlock_protocol::UserId;
use interlock_store::Store;
use jiff::Timestamp;

use crate::assemble::Assembled;
use crate::drive::Driver;
use crate::failure::Failure;
use crate::globals::say;
use crate::plan;
use crate::terminal::{Paint, Tone};

/// How often to look whether someone else decided.
const POLL: Duration = Duration::from_millis(500);

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decided {
    /// Approved here.
    Yes,
    /// Denied here.
    No,
    /// Decided by someone else, or by the clock.
    Elsewhere,
    /// Not decided: it still waits.
    Later,
    /// The session was stopped.
    Cancelled,
}

/// What a person typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Yes,
    No(String),
    Details,
    Unclear,
}

/// Reads an answer to a yes-or-no question. Nothing counts as a yes but a yes.
pub(crate) fn typed(line: &str) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" if rest.trim().is_empty() => Typed::Yes,
        "n" | "no" => Typed::No(rest.trim().to_owned()),
        "d" | "details" | "?" if rest.trim().is_empty() => Typed::Details,
        _ => Typed::Unclear,
    }
}

/// How someone who is not at this terminal can decide.
pub(crate) async fn how_to_decide(assembled: &Assembled, hold: &Hold) -> String {
    if barred(assembled, hold).await.is_some() {
        return format!(
            "four eyes are required here: another person must decide, on the page or with their own token:\n  \
             INTERLOCK_TOKEN=TOKEN interlock --server URL approvals approve {} --plan-hash {}",
            hold.id, hold.plan_hash
        );
    }
    format!(
        "approve it with\n  interlock approvals approve {} --plan-hash {}\nor deny it with\n  interlock approvals deny {} --reason WHY",
        hold.id, hold.plan_hash, hold.id
    )
}

/// Why the person at this terminal may not approve a hold, in a sentence; nothing if they may. Where it cannot be found out,
/// they are told that, and do not approve.
pub(crate) async fn barred(assembled: &Assembled, hold: &Hold) -> Option<String> {
    match assembled.engine.barred(hold, &assembled.person()).await {
        Ok(barred) => barred.map(|barred| format!("{} {}", barred.message(), barred.hint())),
        Err(error) => Some(error.to_string()),
    }
}

/// Shows the plan and asks. Gives up when someone else decides.
pub(crate) async fn ask(driver: &mut Driver<'_>, hold: &Hold) -> Result<Decided, Failure> {
    let paint = driver.globals.paint(&io::stderr());
    say(&paint.paint(Tone::Careful, "This waits for a human:"));
    say(&plan::render(hold, Timestamp::now(), paint));
    if let Some(why) = barred(driver.assembled, hold).await {
        say(&format!("not decided here: {why}"));
        return Ok(Decided::Later);
    }
    loop {
        prompt(hold, paint);
        let line = tokio::select! {
            line = driver.keyboard.line() => line,
            () = decided_elsewhere(driver.assembled.store(), hold) => {
                say("\nit was decided elsewhere");
                return Ok(Decided::Elsewhere);
            }
            () = driver.interrupt.recv() => {
                say("\nstopping");
                driver.assembled.engine.cancel(&hold.plan.session, &driver.assembled.by).await?;
                return Ok(Decided::Cancelled);
            }
        };
        let Some(line) = line else {
            say(&format!(
                "\nnot decided; {}",
                how_to_decide(driver.assembled, hold).await
            ));
            return Ok(Decided::Later);
        };
        let done = match typed(&line) {
            Typed::Yes => driver.assembled.approve(&hold.id).await.map(|_| Decided::Yes),
            Typed::No(reason) => driver
                .assembled
                .deny(&hold.id, &reason)
                .await
                .map(|_| Decided::No),
            Typed::Details => {
                details(hold);
                continue;
            }
            Typed::Unclear => {
                say("please answer y, n (with a reason if you like), or d for details");
                continue;
            }
        };
        return match done {
            Ok(decided) => Ok(decided),
            Err(error) => {
                say(&format!("not done: {error}"));
                Ok(if still_open(driver, hold).await {
                    Decided::Later
                } else {
                    Decided::Elsewhere
                })
            }
        };
    }
}

fn prompt(hold: &Hold, paint: Paint) {
    let left = plan::left(hold, Timestamp::now());
    let question = paint.paint(Tone::Strong, "Approve exactly this?");
    let _ = write!(io::stderr(), "{question} [y]es, [n]o, [d]etails ({left} left): ");
    let _ = io::stderr().flush();
}

fn details(hold: &Hold) {
    match serde_json::to_string_pretty(&plan::HoldForm::new(hold, Timestamp::now())) {
        // Escaped as JSON, so that it stays the same document.
        Ok(text) => say(&interlock_protocol::visible::json(&text)),
        Err(error) => say(&error.to_string()),
    }
}

async fn still_open(driver: &Driver<'_>, hold: &Hold) -> bool {
    match driver.assembled.store().hold(&hold.id).await {
        Ok(hold) => hold.is_open(Timestamp::now()),
        Err(_) => false,
    }
}

async fn decided_elsewhere(store: &Store, hold: &Hold) {
    loop {
        tokio::time::sleep(POLL).await;
        match store.hold(&hold.id).await {
            Ok(now) if now.status == HoldStatus::Pending && Timestamp::now() < now.expires_at => {}
            _ => return,
        }
    }
}

/// Who decided a hold, where someone did.
pub(crate) fn decider(hold: &Hold) -> Option<&UserId> {
    match &hold.status {
        HoldStatus::Approved { by, .. } | HoldStatus::Denied { by, .. } | HoldStatus::Edited { by, .. } => {
            Some(by)
        }
        HoldStatus::Pending | HoldStatus::Expired { .. } | HoldStatus::Withdrawn { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let no = |reason: &str| Typed::No(reason.to_owned());
        let cases = [
            ("y", Typed::Yes),
            (" Yes ", Typed::Yes),
            ("n", no("")),
            ("no not on a Friday", no("not on a Friday")),
            ("d", Typed::Details),
            ("?", Typed::Details),
            ("", Typed::Unclear),
            ("yes please", Typed::Unclear),
            ("ye", Typed::Unclear),
            ("да", Typed::Unclear),
        ];
        for (line, expected) in cases {
            assert_eq!(typed(line), expected, "{line:?}");
        }
    }
}
