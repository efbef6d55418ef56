//! What another terminal does to the running lab.

use std::fmt::Write as _;

use clap::Args;
use interlock_lab::{Incident, Remote};
use serde_json::Value;

use super::serve::access_file;
use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::terminal::{Tone, visible};

/// Which incident.
#[derive(Args)]
pub(super) struct Which {
    /// The incident; `interlock lab incidents` lists them
    #[arg(value_name = "NAME", value_parser = incident)]
    incident: Incident,
}

/// An incident by its name, or what the names are.
pub(crate) fn incident(name: &str) -> Result<Incident, String> {
    Incident::named(name).ok_or_else(|| {
        let names: Vec<&str> = Incident::ALL.iter().map(|incident| incident.name()).collect();
        format!("the incidents are {}", names.join(", "))
    })
}

/// The lab that this user runs.
fn running() -> Result<Remote, Failure> {
    let text = std::fs::read_to_string(access_file())
        .map_err(|_| Failure::wrong("no lab is running; start one with `interlock lab serve`"))?;
    let access: Value = serde_json::from_str(&text).map_err(Failure::unsuccessful)?;
    let part = |name: &str| {
        access
            .pointer(&format!("/control/{name}"))
            .and_then(Value::as_str)
    };
    match (part("url"), part("token")) {
        (Some(url), Some(token)) => Ok(Remote::new(url, token)),
        _ => Err(Failure::unsuccessful(
            "what the running lab wrote down cannot be read",
        )),
    }
}

pub(super) async fn inject(globals: &Globals, which: &Which) -> Result<Ending, Failure> {
    let document = running()?
        .inject(which.incident)
        .await
        .map_err(Failure::unsuccessful)?;
    globals.print(&document, |_| {
        format!(
            "{}: {}\nThe alert {} fires in a moment.\n",
            which.incident.name(),
            which.incident.summary(),
            which.incident.alert()
        )
    })?;
    Ok(Ending::Done)
}

pub(super) async fn clear(globals: &Globals, which: &Which) -> Result<Ending, Failure> {
    let document = running()?
        .clear(which.incident)
        .await
        .map_err(Failure::unsuccessful)?;
    globals.print(&document, |_| format!("{} is mended\n", which.incident.name()))?;
    Ok(Ending::Done)
}

pub(super) async fn verdict(globals: &Globals, which: &Which) -> Result<Ending, Failure> {
    let document = running()?
        .verdict(which.incident)
        .await
        .map_err(Failure::unsuccessful)?;
    let resolved = document.get("resolved").and_then(Value::as_bool) == Some(true);
    globals.print(&document, |paint| {
        let mut text = String::new();
        for check in document
            .get("checks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let part = |name: &str| visible(check.get(name).and_then(Value::as_str).unwrap_or(""));
            let mark = match check.get("holds").and_then(Value::as_bool) {
                Some(true) => paint.paint(Tone::Good, "✓"),
                _ => paint.paint(Tone::Bad, "✗"),
            };
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{mark} {}: {}", part("wanted"), part("found"));
        }
        text
    })?;
    Ok(if resolved {
        Ending::Done
    } else {
        Ending::Unsuccessful
    })
}
