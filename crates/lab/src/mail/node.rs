//! The node of the gateway: its load, services, log and the way of each message.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Core;
use super::api::{Fault, number};
use super::traffic::{between, whole};
use crate::docker::wire::{Call, digest_number};

const MOST_ROWS: i64 = 2_000;
const SERVICES: [(&str, &str); 8] = [
    ("postfix", "Postfix Mail Transport Agent"),
    ("pmg-smtp-filter", "Proxmox SMTP Filter Daemon"),
    ("pmgpolicy", "Proxmox Mail Gateway Policy Daemon"),
    ("pmgproxy", "Proxmox Mail Gateway API"),
    ("pmgdaemon", "Proxmox Mail Gateway Daemon"),
    ("clamav-daemon", "Clam AntiVirus userspace daemon"),
    ("postgres", "PostgreSQL RDBMS"),
    ("sshd", "OpenBSD Secure Shell server"),
];

/// Which services run.
#[derive(Debug)]
pub(super) struct Services {
    running: BTreeMap<&'static str, bool>,
}

impl Services {
    pub(super) fn new() -> Self {
        Self {
            running: SERVICES.iter().map(|(name, _)| (*name, true)).collect(),
        }
    }

    pub(super) fn list(&self) -> Value {
        SERVICES
            .iter()
            .map(|(name, about)| self.one(name, about))
            .collect()
    }

    fn one(&self, name: &str, about: &str) -> Value {
        let running = self.running.get(name).copied().unwrap_or(false);
        json!({
            "service": name, "name": name, "desc": about, "state": if running { "running" } else { "stopped" },
            "active-state": if running { "active" } else { "inactive" }, "unit-state": "enabled",
        })
    }

    pub(super) fn state(&self, name: &str) -> Option<Value> {
        SERVICES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(name, about)| self.one(name, about))
    }

    /// Starts, stops or restarts a service. Whether there is such a one.
    pub(super) fn set(&mut self, name: &str, runs: bool) -> bool {
        self.running
            .get_mut(name)
            .map(|running| *running = runs)
            .is_some()
    }
}

pub(super) fn status(core: &Core) -> Value {
    let now = Timestamp::now().as_second();
    let busy = between(now - 600, now).inward / 60.0;
    let waiting = core.queues().len();
    let total = 8_u64 << 30;
    let used = (2_u64 << 30) + whole(busy * 2e7) + waiting as u64 * 16_384;
    let disk = 40_u64 << 30;
    let disk_used = (9_u64 << 30) + waiting as u64 * 42_000;
    json!({
        "uptime": now - core.began.as_second() + 1_203_441,
        "time": now,
        "cpu": (0.02 + busy / 100.0).min(0.95),
        "wait": 0.002,
        "loadavg": [format!("{:.2}", 0.1 + busy / 10.0), "0.21", "0.18"],
        "memory": { "total": total, "used": used, "free": total.saturating_sub(used) },
        "swap": { "total": 1_u64 << 30, "used": 0, "free": 1_u64 << 30 },
        "rootfs": { "total": disk, "used": disk_used, "avail": disk.saturating_sub(disk_used), "free": disk.saturating_sub(disk_used) },
        "cpuinfo": { "cpus": 2, "cores": 2, "sockets": 1, "model": "QEMU Virtual CPU", "mhz": "2400.000", "hvm": 1 },
        "kversion": "Linux 6.8.12-4-pve",
        "pmgversion": "pmg-api/8.1.4/8ff4cdbbb2d4",
        "insync": 1,
    })
}

/// A message that passed, made from the time at which it did.
fn passed(time: i64) -> Value {
    let number = digest_number(&time.to_be_bytes());
    let status = match number % 20 {
        0 => "N",
        1 => "G",
        2 => "Q",
        _ => "2",
    };
    json!({
        "id": format!("{:010X}", number >> 24),
        "qid": format!("{:010X}", number >> 23),
        "time": time,
        "from": format!("sender{}@example.com", number % 60),
        "to": format!("user{}@lab.example", number % 23),
        "size": 1500 + number % 80_000,
        "client": "mx.example.com[192.0.2.25]",
        "msgid": format!("<{number:x}@example.com>"),
        "dstatus": status,
        "rstatus": "A",
        "relay": "mailstore.lab.example[10.0.10.30]:25",
    })
}

pub(super) fn tracker(core: &Core, call: &Call) -> Result<Value, Fault> {
    let now = Timestamp::now().as_second();
    let to = number(call, "endtime")?.unwrap_or(now).min(now);
    let from = number(call, "starttime")?.unwrap_or(to.saturating_sub(3600));
    let limit = number(call, "limit")?.unwrap_or(MOST_ROWS).clamp(0, MOST_ROWS);
    let wants = |row: &Value| {
        ["from", "to"].into_iter().all(|key| {
            let target = if key == "to" { "target" } else { key };
            call.get(target)
                .is_none_or(|text| row[key].as_str().is_some_and(|value| value.contains(text)))
        })
    };
    let waiting = core.queues();
    let deferred = waiting.all().iter().filter(|one| (from..=to).contains(&one.arrived.as_second())).map(|one| {
        json!({
            "id": one.id, "qid": one.id, "time": one.arrived.as_second(), "from": one.sender, "to": one.receiver,
            "size": one.size, "dstatus": "4", "rstatus": "A",
        })
    });
    let delivered = (0..MOST_ROWS).map(|index| to.div_euclid(30).saturating_sub(index).saturating_mul(30));
    let delivered = delivered.take_while(|time| *time >= from).map(passed);
    let mut rows: Vec<Value> = deferred.chain(delivered).filter(wants).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row["time"].as_i64()));
    rows.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(Value::Array(rows))
}

pub(super) fn syslog(core: &Core, call: &Call) -> Result<(Value, i64), Fault> {
    let start = number(call, "start")?.unwrap_or(0).clamp(0, MOST_ROWS);
    let limit = number(call, "limit")?.unwrap_or(50).clamp(0, MOST_ROWS);
    let service = call.get("service").unwrap_or_default();
    let now = Timestamp::now();
    let refused = core.queues().all().iter().rev().take(50).map(|one| {
        let text = format!("postfix/smtp[811]: {}: to=<{}>, status=deferred (connect to mailstore.lab.example[10.0.10.30]:25: Connection refused)", one.id, one.receiver);
        (one.arrived.as_second(), text)
    }).collect::<Vec<_>>();
    let usual = (0..200).flat_map(|index| {
        let time = (now.as_second().div_euclid(30) - index) * 30;
        let message = passed(time);
        let line = |text: String| (time, text);
        [
            line(format!(
                "postfix/smtpd[702]: connect from {}",
                message["client"].as_str().unwrap_or_default()
            )),
            line(format!(
                "pmg-smtp-filter[655]: {}: SA score=0/5 time=0.412",
                message["id"].as_str().unwrap_or_default()
            )),
            line(format!(
                "postfix/qmgr[688]: {}: removed",
                message["qid"].as_str().unwrap_or_default()
            )),
        ]
    });
    let mut lines: Vec<(i64, String)> = refused
        .into_iter()
        .chain(usual)
        .filter(|(_, text)| text.starts_with(service))
        .collect();
    lines.sort_by_key(|(time, _)| *time);
    let total = i64::try_from(lines.len()).unwrap_or(0);
    let rows = lines
        .into_iter()
        .enumerate()
        .skip(usize::try_from(start).unwrap_or(0));
    let rows = rows
        .take(usize::try_from(limit).unwrap_or(0))
        .map(|(index, (time, text))| {
            let at = Timestamp::from_second(time)
                .unwrap_or_default()
                .strftime("%b %d %H:%M:%S")
                .to_string();
            json!({ "n": index + 1, "t": format!("{at} {} {text}", core.node) })
        });
    Ok((rows.collect(), total))
}
