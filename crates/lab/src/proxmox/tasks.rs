//! Tasks by their UPID.

use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::routes::Ask;
use crate::cluster::{Cluster, Outcome, Task, Upid};

fn entry(task: &Task) -> Value {
    let upid = &task.upid;
    let mut value = json!({
        "upid": upid.to_string(), "node": upid.node, "pid": upid.pid, "pstart": upid.pstart,
        "starttime": upid.starttime, "type": upid.kind.as_str(), "id": upid.id,
        "user": upid.user.split('!').next(),
    });
    if let Some(fields) = value.as_object_mut() {
        if let Some((_, token)) = upid.user.split_once('!') {
            fields.insert("tokenid".to_owned(), json!(token));
        }
        if let (Some(ended), Some(status)) = (task.ended_at, task.outcome.exit_status()) {
            fields.insert("endtime".to_owned(), json!(ended));
            fields.insert("status".to_owned(), json!(status));
        }
    }
    value
}

/// `/cluster/tasks`: the newest of all nodes.
pub(super) fn recent(cluster: &Cluster) -> Value {
    cluster.tasks().iter().take(25).map(entry).collect()
}

/// `/nodes/{node}/tasks`.
pub(super) fn list(ask: Ask<'_>, node: &str) -> Result<Answer, Refusal> {
    let params = ask.params;
    let start = params.integer("start")?.unwrap_or(0);
    let limit = params.integer("limit")?.unwrap_or(50);
    let vmid = params.integer("vmid")?.map(|vmid| vmid.to_string());
    let (since, until) = (params.integer("since")?, params.integer("until")?);
    let errors = params.flag("errors")?;
    let (archive, active) = match params.get("source").unwrap_or("archive") {
        "archive" => (true, false),
        "active" => (false, true),
        "all" => (true, true),
        other => {
            return Err(Refusal::parameter(
                "source",
                format!("value '{other}' does not have a value in the enumeration 'archive, active, all'"),
            ));
        }
    };
    let kind = params.get("typefilter");
    let user = params.get("userfilter");
    let fits = |task: &Task| {
        let upid = &task.upid;
        let wanted = match task.outcome {
            Outcome::Running => active && !errors,
            Outcome::Ok => archive && !errors,
            Outcome::Failed(_) => archive,
        };
        wanted
            && upid.node == node
            && vmid.as_ref().is_none_or(|vmid| upid.id == *vmid)
            && kind.is_none_or(|kind| upid.kind.as_str() == kind)
            && user.is_none_or(|user| upid.user.contains(user))
            && since.is_none_or(|since| u64::from(upid.starttime) >= since)
            && until.is_none_or(|until| u64::from(upid.starttime) <= until)
    };
    let found: Vec<Value> = ask
        .cluster
        .tasks()
        .iter()
        .filter(|task| fits(task))
        .map(entry)
        .collect();
    let total = found.len();
    Ok(Answer::page(page(found, start, limit), total))
}

fn page(all: Vec<Value>, start: u64, limit: u64) -> Value {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let limit = usize::try_from(limit)
        .ok()
        .filter(|limit| *limit > 0)
        .unwrap_or(usize::MAX);
    all.into_iter().skip(start).take(limit).collect()
}

fn find(cluster: &Cluster, upid: &str) -> Result<Task, Refusal> {
    let name: Upid = upid
        .parse()
        .map_err(|error: crate::cluster::NoUpid| Refusal::parameter("upid", error.to_string()))?;
    cluster
        .task(&name)
        .ok_or_else(|| Refusal::parameter("upid", "no such task"))
}

pub(super) fn status(cluster: &Cluster, upid: &str) -> Result<Value, Refusal> {
    let task = find(cluster, upid)?;
    let mut value = entry(&task);
    if let Some(fields) = value.as_object_mut() {
        let running = task.outcome == Outcome::Running;
        fields.shift_remove("endtime");
        fields.insert(
            "status".to_owned(),
            json!(if running { "running" } else { "stopped" }),
        );
        if let Some(exit) = task.outcome.exit_status() {
            fields.insert("exitstatus".to_owned(), json!(exit));
        }
    }
    Ok(value)
}

pub(super) fn log(ask: Ask<'_>, upid: &str) -> Result<Answer, Refusal> {
    let start = ask.params.integer("start")?.unwrap_or(0);
    let limit = ask.params.integer("limit")?.unwrap_or(50);
    let mut lines = find(ask.cluster, upid)?.log;
    if lines.is_empty() {
        lines.push("no content".to_owned());
    }
    let total = lines.len();
    let numbered = lines
        .into_iter()
        .enumerate()
        .map(|(index, line)| json!({ "n": index + 1, "t": line }))
        .collect();
    Ok(Answer::page(page(numbered, start, limit), total))
}

pub(super) fn stop(cluster: &Cluster, upid: &str) -> Result<Value, Refusal> {
    cluster.stop_task(&find(cluster, upid)?.upid);
    Ok(Value::Null)
}
