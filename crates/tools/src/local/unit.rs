//! What systemd says about a unit.

use std::path::Path;

use interlock_exec::{Exit, Output, UnitName};
use interlock_protocol::{Observation, RunIdentity, UnitActivity};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Failure;

/// What a unit is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) loaded: bool,
    pub(crate) activity: UnitActivity,
    pub(crate) active_since: Option<Timestamp>,
    /// Which activation this is, by the service manager's own count.
    pub(crate) run: RunIdentity,
}

/// Whether systemd runs this machine; the program may be installed where it does not.
pub(crate) fn require_systemd() -> Result<(), Failure> {
    if Path::new("/run/systemd/system").is_dir() {
        Ok(())
    } else {
        Err(Failure::failed(
            "this machine is not run by systemd, so it has no units; use what manages its services instead",
        ))
    }
}

impl Unit {
    /// Reads what [`Probe::Unit`](interlock_exec::Probe::Unit) prints.
    pub(crate) fn read(output: &Output) -> Result<Self, Failure> {
        if output.exit != Exit::Code(0) {
            return Err(Failure::failed("systemd did not say what the unit is doing")
                .detail("stderr", output.stderr.text()));
        }
        Ok(Self::parse(&output.stdout.text()))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let property = |name: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.trim())
        };
        let activity = property("ActiveState")
            .and_then(|word| {
                UnitActivity::ALL
                    .iter()
                    .copied()
                    .find(|known| known.as_str() == word)
            })
            .unwrap_or(UnitActivity::Unknown);
        let active_since = property("ActiveEnterTimestamp").and_then(timestamp);
        let run = property("InvocationID")
            .filter(|id| !id.is_empty())
            .map(|id| format!("invocation {id}"))
            .or_else(|| {
                // Before systemd 232: the time since boot at which it became active.
                let moment = property("ActiveEnterTimestampMonotonic")?;
                (!matches!(moment, "" | "0")).then(|| format!("active at {moment} us"))
            });
        Self {
            loaded: property("LoadState") == Some("loaded"),
            activity,
            active_since,
            run: run.map(RunIdentity::named).unwrap_or_default(),
        }
    }

    /// The unit by the name that was used for it and by its other spelling: what is expected is named by one of them.
    pub(crate) fn observations(&self, name: &UnitName) -> Vec<Observation> {
        let name = name.as_str();
        let other = match name.strip_suffix(".service") {
            Some(short) => short.to_owned(),
            None => format!("{name}.service"),
        };
        // A name with another suffix is of another kind of unit.
        let other = Some(other).filter(|other| !name.contains('.') || !other.contains('.'));
        [Some(name.to_owned()), other]
            .into_iter()
            .flatten()
            .map(|unit| Observation::Unit {
                unit,
                activity: self.activity,
                active_since: self.active_since,
                run: self.run.clone(),
            })
            .collect()
    }

    pub(crate) fn data(&self, name: &UnitName) -> Value {
        json!({
            "unit": name.as_str(),
            "loaded": self.loaded,
            "activity": self.activity,
            "active_since": self.active_since,
        })
    }
}

/// `Sun 2026-11-15 05:28:26.123456 UTC`, as systemd writes it when asked for microseconds in UTC.
fn timestamp(text: &str) -> Option<Timestamp> {
    let (_, rest) = text.split_once(' ')?;
    let (day, time) = rest.strip_suffix(" UTC")?.split_once(' ')?;
    format!("{day}T{time}Z").parse().ok()
}

/// The services that [`Probe::Services`](interlock_exec::Probe::Services) prints, each with what it is doing.
pub(crate) fn services(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let unit = words.next()?;
            let _load = words.next()?;
            let active = words.next()?;
            unit.ends_with(".service")
                .then(|| (unit.to_owned(), active.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_read_from_what_systemd_prints() {
        let text = "LoadState=loaded\nActiveState=active\nSubState=running\n\
                    ActiveEnterTimestamp=Sun 2026-11-15 05:28:26.123456 UTC\nActiveEnterTimestampMonotonic=7\nInvocationID=ab12\n";
        let unit = Unit::parse(text);
        assert_eq!(
            unit,
            Unit {
                loaded: true,
                activity: UnitActivity::Active,
                active_since: Some("2026-11-15T05:28:26.123456Z".parse().unwrap()),
                run: RunIdentity::named("invocation ab12"),
            }
        );
        let names: Vec<String> = unit
            .observations(&UnitName::new("nginx").unwrap())
            .into_iter()
            .map(|observation| match observation {
                Observation::Unit { unit, .. } => unit,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["nginx", "nginx.service"]);
        for (name, count) in [("nginx.service", 2), ("apt.timer", 1), ("getty@tty1", 2)] {
            let name = UnitName::new(name).unwrap();
            assert_eq!(unit.observations(&name).len(), count, "{name}");
        }
    }

    #[test]
    fn what_systemd_does_not_say_is_unknown() {
        for text in ["", "ActiveState=frozen", "ActiveEnterTimestamp=\nActiveState=n/a"] {
            let unit = Unit::parse(text);
            assert_eq!(
                (unit.activity, unit.active_since),
                (UnitActivity::Unknown, None),
                "{text}"
            );
        }
    }

    #[test]
    fn services_are_read_line_by_line() {
        let text =
            "cron.service loaded active running Regular jobs\nx.service not-found inactive dead x\nbad\n";
        assert_eq!(
            services(text),
            [
                ("cron.service".to_owned(), "active".to_owned()),
                ("x.service".to_owned(), "inactive".to_owned()),
            ]
        );
    }
}
