//! Reads unit files: as much of their language as services need.

use std::collections::BTreeMap;
use std::time::Duration;

/// When a service is started again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Restart {
    #[default]
    No,
    OnSuccess,
    OnFailure,
    OnAbnormal,
    Always,
}

/// What starting a service waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Type {
    /// Nothing.
    #[default]
    Simple,
    /// Its end.
    Oneshot,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitFile {
    pub(crate) description: String,
    pub(crate) kind: Type,
    pub(crate) start: Vec<String>,
    pub(crate) reload: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) environment_file: Option<String>,
    pub(crate) folder: Option<String>,
    pub(crate) restart: Restart,
    pub(crate) restart_after: Duration,
    pub(crate) stop_within: Duration,
    pub(crate) burst: usize,
    pub(crate) interval: Duration,
    pub(crate) identifier: Option<String>,
    pub(crate) stays: bool,
    pub(crate) wanted_by: Vec<String>,
    pub(crate) after: Vec<String>,
}

impl UnitFile {
    /// Reads a unit file; what it does not know it leaves out, as systemd does.
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut unit = Self {
            description: name.to_owned(),
            kind: Type::Simple,
            start: Vec::new(),
            reload: Vec::new(),
            environment: BTreeMap::new(),
            environment_file: None,
            folder: None,
            restart: Restart::No,
            restart_after: Duration::from_millis(100),
            stop_within: Duration::from_secs(10),
            burst: 5,
            interval: Duration::from_secs(10),
            identifier: None,
            stays: false,
            wanted_by: Vec::new(),
            after: Vec::new(),
        };
        let mut section = "";
        let text = text.replace("\\\n", " ");
        for line in text.lines().map(str::trim) {
            if let Some(named) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = match named {
                    "Unit" => "Unit",
                    "Service" => "Service",
                    "Install" => "Install",
                    _ => "",
                };
            } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';']))
            {
                unit.set(section, key.trim(), value.trim());
            }
        }
        unit
    }

    fn set(&mut self, section: &str, key: &str, value: &str) {
        match (section, key) {
            ("Unit", "Description") => value.clone_into(&mut self.description),
            ("Unit", "After") => self.after.extend(words(value)),
            ("Unit" | "Service", "StartLimitBurst") => self.burst = value.parse().unwrap_or(self.burst),
            ("Unit" | "Service", "StartLimitIntervalSec" | "StartLimitInterval") => {
                self.interval = duration(value).unwrap_or(self.interval);
            }
            ("Service", "Type") => {
                self.kind = if value == "oneshot" {
                    Type::Oneshot
                } else {
                    Type::Simple
                };
            }
            ("Service", "ExecStart") => {
                self.start = words(value.trim_start_matches(['-', '@', '+', '!', ':']))
            }
            ("Service", "ExecReload") => {
                self.reload = words(value.trim_start_matches(['-', '@', '+', '!', ':']))
            }
            ("Service", "Environment") => self.environment.extend(
                words(value)
                    .iter()
                    .filter_map(|word| word.split_once('='))
                    .map(|(name, value)| (name.to_owned(), value.to_owned())),
            ),
            ("Service", "EnvironmentFile") => self.environment_file = Some(value.to_owned()),
            ("Service", "WorkingDirectory") => self.folder = Some(value.to_owned()),
            ("Service", "Restart") => {
                self.restart = match value {
                    "always" => Restart::Always,
                    "on-failure" => Restart::OnFailure,
                    "on-success" => Restart::OnSuccess,
                    "on-abnormal" | "on-abort" | "on-watchdog" => Restart::OnAbnormal,
                    _ => Restart::No,
                }
            }
            ("Service", "RestartSec") => self.restart_after = duration(value).unwrap_or(self.restart_after),
            ("Service", "TimeoutStopSec" | "TimeoutSec") => {
                self.stop_within = duration(value).unwrap_or(self.stop_within);
            }
            ("Service", "SyslogIdentifier") => self.identifier = Some(value.to_owned()),
            ("Service", "RemainAfterExit") => self.stays = matches!(value, "yes" | "true" | "on" | "1"),
            ("Install", "WantedBy") => self.wanted_by.extend(words(value)),
            _ => {}
        }
    }
}

/// Takes a line apart as systemd does: spaces divide, quotes keep together.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (' ' | '\t', None) => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// `5`, `5s`, `500ms`, `2min`, `1min 30s`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    let mut some = false;
    for word in text.split_whitespace() {
        let digits = word
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(word.len());
        let (number, unit) = word.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let seconds = match unit {
            "" | "s" | "sec" => 1.0,
            "ms" => 0.001,
            "us" => 0.000_001,
            "m" | "min" => 60.0,
            "h" | "hr" => 3600.0,
            _ => return None,
        };
        sum += Duration::try_from_secs_f64(number * seconds).ok()?;
        some = true;
    }
    some.then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_file_is_read() {
        let unit = UnitFile::parse(
            "x.service",
            "# why\n[Unit]\nDescription=A Server\n[Service]\nExecStart=-/usr/bin/x --name \"a b\" \\\n  last\n\
             Environment=A=1 \"B=two words\"\nRestart=on-failure\nRestartSec=1min 500ms\nUser=nobody\n\
             [Install]\nWantedBy=multi-user.target\n",
        );
        assert_eq!(unit.start, ["/usr/bin/x", "--name", "a b", "last"]);
        assert_eq!(unit.environment.get("B").map(String::as_str), Some("two words"));
        assert_eq!(unit.restart, Restart::OnFailure);
        assert_eq!(unit.restart_after, Duration::from_millis(60_500));
        assert_eq!((unit.description.as_str(), unit.wanted_by.len()), ("A Server", 1));
    }
}
