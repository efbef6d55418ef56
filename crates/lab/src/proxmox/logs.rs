//! What a node has written down: its journal is asked in its machine.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::routes::Ask;
use crate::cluster::Place;
use crate::machine::Exec;

/// How many lines are looked through at most.
const MOST: u64 = 5000;

async fn lines(ask: Ask<'_>, node: &str, arguments: Vec<String>) -> Result<Vec<String>, Refusal> {
    let machine = ask
        .cluster
        .machine(&Place::Node(node.to_owned()))
        .ok_or(Refusal::NoRoute)?;
    let mut argv = vec!["journalctl".to_owned(), "--no-pager".to_owned()];
    argv.extend(arguments);
    let exec = Exec {
        argv,
        timeout: Some(Duration::from_secs(15)),
        ..Exec::default()
    };
    let finished = machine.exec(exec).await?;
    if finished.code != 0 {
        let why = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
        return Err(Refusal::Failed(format!("journalctl: {why}")));
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

/// `/nodes/{node}/syslog`
pub(super) async fn syslog(ask: Ask<'_>, node: &str) -> Result<Answer, Refusal> {
    let params = ask.params;
    let start = params.integer("start")?.unwrap_or(0);
    let limit = params.integer("limit")?.unwrap_or(50);
    let mut arguments = vec!["-n".to_owned(), MOST.to_string()];
    for (parameter, option) in [("since", "--since"), ("until", "--until"), ("service", "-u")] {
        if let Some(value) = params.get(parameter) {
            arguments.extend([option.to_owned(), value.to_owned()]);
        }
    }
    let lines = lines(ask, node, arguments).await?;
    let total = lines.len();
    let page = lines
        .into_iter()
        .enumerate()
        .skip(usize::try_from(start).unwrap_or(usize::MAX))
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .map(|(index, line)| json!({ "n": index + 1, "t": line }))
        .collect();
    Ok(Answer::page(page, total))
}

/// `/nodes/{node}/journal`
pub(super) async fn journal(ask: Ask<'_>, node: &str) -> Result<Value, Refusal> {
    let params = ask.params;
    let mut arguments = Vec::new();
    let (since, until) = (params.integer("since")?, params.integer("until")?);
    for (option, value) in [("--since", since), ("--until", until)] {
        if let Some(value) = value {
            arguments.extend([option.to_owned(), format!("@{value}")]);
        }
    }
    let last = params.integer("lastentries")?.unwrap_or(MOST).min(MOST);
    arguments.extend(["-n".to_owned(), last.to_string()]);
    Ok(json!(lines(ask, node, arguments).await?))
}
