//! History: the same numbers as now, at other times.

use serde_json::{Value, json};

use super::answer::Refusal;
use super::cluster::disk_used;
use super::routes::{Ask, Target};
use crate::cluster::{Cluster, Health, node_load, now, part_of};

/// How many points there are, whatever the time.
const POINTS: i64 = 70;

/// The distance between points, in seconds.
fn step(ask: Ask<'_>) -> Result<i64, Refusal> {
    ask.params.only(&["timeframe", "cf"])?;
    if let Some(function) = ask
        .params
        .get("cf")
        .filter(|word| !["AVERAGE", "MAX"].contains(word))
    {
        return Err(Refusal::parameter(
            "cf",
            format!("value '{function}' does not have a value in the enumeration 'AVERAGE, MAX'"),
        ));
    }
    match ask.params.required("timeframe")? {
        "hour" => Ok(60),
        "day" => Ok(1800),
        "week" => Ok(10_800),
        "month" => Ok(43_200),
        "year" => Ok(604_800),
        other => Err(Refusal::parameter(
            "timeframe",
            format!(
                "value '{other}' does not have a value in the enumeration 'hour, day, week, month, year'"
            ),
        )),
    }
}

/// The times of the points, the last one now or just before.
fn times(step: i64) -> impl Iterator<Item = i64> {
    let last = now() / step * step;
    (0..POINTS).map(move |index| last - (POINTS - 1 - index) * step)
}

pub(super) async fn guest(ask: Ask<'_>, target: Target<'_>) -> Result<Value, Refusal> {
    let step = step(ask)?;
    let missing = || Refusal::Failed(format!("there is no guest {}", target.vmid));
    let guest = ask.cluster.guest(target.vmid).await.ok_or_else(missing)?;
    Ok(times(step)
        .map(|at| {
            if !ask.cluster.ran_at(target.vmid, at) {
                return json!({ "time": at });
            }
            let load = Cluster::guest_load(&guest.name, at);
            json!({
                "time": at, "cpu": load.cpu, "maxcpu": guest.cores,
                "mem": part_of(load.memory, guest.memory_bytes), "maxmem": guest.memory_bytes,
                "disk": disk_used(&guest), "maxdisk": guest.disk_bytes, "netin": load.net_in,
                "netout": load.net_out, "diskread": load.disk_read, "diskwrite": load.disk_write,
            })
        })
        .collect())
}

pub(super) async fn node(ask: Ask<'_>, name: &str) -> Result<Value, Refusal> {
    let step = step(ask)?;
    let guests = ask.cluster.guests().await;
    let nodes = ask.cluster.nodes().await;
    let node = nodes
        .iter()
        .find(|node| node.name == name)
        .ok_or(Refusal::NoRoute)?;
    Ok(times(step)
        .map(|at| {
            let health = if at + step >= node.health_since {
                node.health
            } else {
                Health::Online
            };
            let load = node_load(name, health, node.memory_bytes, &guests, at);
            json!({
                "time": at, "cpu": load.cpu, "maxcpu": node.cpus, "iowait": load.wait, "loadavg": load.load,
                "memused": part_of(load.memory, node.memory_bytes), "memtotal": node.memory_bytes,
                "swapused": 0, "swaptotal": 8_u64 << 30, "rootused": node.disk_used,
                "roottotal": node.disk_bytes, "netin": load.net_in, "netout": load.net_out,
            })
        })
        .collect())
}
