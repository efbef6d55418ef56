//! What another terminal does to the running lab.

use std::process::ExitCode;

use console::Style;
use interlock_lab::{Incident, Remote};
use interlock_protocol::visible;
use serde_json::Value;

use super::{ACCESS_FILE, Failure, Globals, folder_of_user};

/// The lab that this user runs.
fn running() -> Result<Remote, Failure> {
    let text = std::fs::read_to_string(folder_of_user().join(ACCESS_FILE))
        .map_err(|_| Failure::Wrong("no lab is running; start one with `interlock lab serve`".to_owned()))?;
    let access: Value = serde_json::from_str(&text).map_err(Failure::unsuccessful)?;
    let part = |name: &str| {
        access
            .pointer(&format!("/control/{name}"))
            .and_then(Value::as_str)
    };
    match (part("url"), part("token")) {
        (Some(url), Some(token)) => Ok(Remote::new(url, token)),
        _ => Err(Failure::unsuccessful(
            "the file with the addresses of the running lab cannot be read; end that lab and start it again",
        )),
    }
}

pub(super) async fn inject(globals: &Globals, incident: Incident) -> Result<ExitCode, Failure> {
    let document = running()?.inject(incident).await.map_err(Failure::unsuccessful)?;
    globals.print(&document, |_| {
        format!(
            "{}: {}\nThe alert {} fires in a moment.\n",
            incident.name(),
            incident.summary(),
            incident.alert()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn clear(globals: &Globals, incident: Incident) -> Result<ExitCode, Failure> {
    let document = running()?.clear(incident).await.map_err(Failure::unsuccessful)?;
    globals.print(&document, |_| format!("{} is mended\n", incident.name()))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn verdict(globals: &Globals, incident: Incident) -> Result<ExitCode, Failure> {
    let document = running()?
        .verdict(incident)
        .await
        .map_err(Failure::unsuccessful)?;
    let resolved = document.get("resolved").and_then(Value::as_bool) == Some(true);
    globals.print(&document, |globals| {
        let checks = document.get("checks").and_then(Value::as_array);
        let mut text = String::new();
        for check in checks.into_iter().flatten() {
            let part = |name: &str| visible::line(check.get(name).and_then(Value::as_str).unwrap_or(""));
            let mark = match check.get("holds").and_then(Value::as_bool) {
                Some(true) => globals.style(Style::new().green(), "✓"),
                _ => globals.style(Style::new().red(), "✗"),
            };
            for word in [mark.as_str(), " ", &part("wanted"), ": ", &part("found"), "\n"] {
                text.push_str(word);
            }
        }
        text
    })?;
    Ok(ExitCode::from(u8::from(!resolved)))
}
