//! What a container uses: the structure is the real one, the numbers are plausible and grow as it runs.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Answer;
use crate::docker::ContainerState;
use crate::docker::container::Container;
use crate::docker::core::Core;
use crate::docker::wire::{self, Call};

const CPUS: u64 = 4;
const MEMORY_LIMIT: u64 = 4 << 30;
const SECOND: u64 = 1_000_000_000;

pub(super) fn stats(core: &Arc<Core>, id: &str, call: &Call) -> Answer {
    let container = core.find(id)?;
    let once = call
        .get("stream")
        .is_some_and(|value| matches!(value, "0" | "false"))
        || call.flag("one-shot");
    if once {
        return Ok(wire::json(StatusCode::OK, &sample(&container)));
    }
    let core = Arc::clone(core);
    let lines = stream::unfold(true, move |first| {
        let (core, id) = (Arc::clone(&core), container.id.clone());
        async move {
            if !first {
                core.alive
                    .run_until_cancelled(tokio::time::sleep(Duration::from_secs(1)))
                    .await?;
            }
            let container = core.find(&id).ok()?;
            Some((
                Ok::<_, std::convert::Infallible>(Bytes::from(format!("{}\n", sample(&container)))),
                false,
            ))
        }
    });
    Ok(wire::typed(
        StatusCode::OK,
        "application/json",
        Body::from_stream(lines),
    ))
}

fn sample(container: &Container) -> Value {
    let now = Timestamp::now();
    let running = container.state == ContainerState::Running;
    let ran = container
        .started
        .filter(|_| running)
        .map_or(0, |began| nanoseconds(began, now));
    let mut stats = json!({
        "id": container.id,
        "name": format!("/{}", container.name),
        "read": now.to_string(),
        "preread": "0001-01-01T00:00:00Z",
        "num_procs": 0,
        "pids_stats": {},
        "storage_stats": {},
        "blkio_stats": {},
        "cpu_stats": {},
        "precpu_stats": {},
        "memory_stats": {},
    });
    if !running {
        return stats;
    }
    // Between half and five in a hundred of one processor, different for each container and slowly changing.
    let seed = u64::from_str_radix(container.id.get(..8).unwrap_or("0"), 16).unwrap_or(0);
    let wave = (ran / SECOND + seed) % 60;
    let share = 5 + seed % 30 + wave.min(60 - wave) / 2;
    let system = now.as_second().unsigned_abs() * SECOND * CPUS;
    let before = ran.saturating_sub(SECOND);
    let memory = (24 << 20) + (seed % 64) * (1 << 20) + ran / SECOND % 600 * 4096;
    stats["preread"] = json!((now - jiff::SignedDuration::from_secs(1)).to_string());
    stats["pids_stats"] = json!({ "current": 1 + seed % 4, "limit": 4915 });
    stats["cpu_stats"] = cpu(ran * share / 1000, system);
    stats["precpu_stats"] = cpu(before * share / 1000, system.saturating_sub(SECOND * CPUS));
    stats["memory_stats"] = json!({
        "usage": memory + (3 << 20),
        "stats": { "inactive_file": 3 << 20, "active_file": 1 << 20, "anon": memory },
        "limit": MEMORY_LIMIT,
    });
    stats["blkio_stats"] = json!({ "io_service_bytes_recursive": [
        { "major": 8, "minor": 0, "op": "read", "value": 4 << 20 },
        { "major": 8, "minor": 0, "op": "write", "value": ran / SECOND * 512 },
    ] });
    let bytes = ran / SECOND * (900 + seed % 4000);
    stats["networks"] = json!({ "eth0": {
        "rx_bytes": 1118 + bytes, "rx_packets": 12 + bytes / 400, "rx_errors": 0, "rx_dropped": 0,
        "tx_bytes": 648 + bytes / 2, "tx_packets": 9 + bytes / 800, "tx_errors": 0, "tx_dropped": 0,
    } });
    stats
}

fn nanoseconds(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_nanos()).unwrap_or(0)
}

fn cpu(used: u64, system: u64) -> Value {
    json!({
        "cpu_usage": { "total_usage": used, "usage_in_kernelmode": used / 4, "usage_in_usermode": used / 4 * 3 },
        "system_cpu_usage": system,
        "online_cpus": CPUS,
        "throttling_data": { "periods": 0, "throttled_periods": 0, "throttled_time": 0 },
    })
}
