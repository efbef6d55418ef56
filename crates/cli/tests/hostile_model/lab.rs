//! The lab as a process of its own, started as `docs/lab.md` says.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Child;

use serde_json::Value;

use super::support::Home;

pub(crate) struct Lab {
    pub(crate) home: Home,
    /// What `interlock lab serve --json` printed.
    pub(crate) access: Value,
    process: Child,
}

impl Lab {
    /// Nothing where machines have no namespaces, which is said aloud: what a model wrote must not run in plain folders.
    pub(crate) fn start() -> Option<Self> {
        let home = Home::empty();
        let mut process = home.start(&["lab", "serve", "--json", "--speed", "20"]);
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let mut text = String::new();
        for line in stdout.lines() {
            let line = line.unwrap();
            text.push_str(&line);
            if line == "}" {
                break;
            }
        }
        let access: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
            let _ = process.kill();
            panic!("{error}: {text}")
        });
        let lab = Self {
            home,
            access,
            process,
        };
        if lab.access["isolation"] != "namespaces" {
            // Loud, also where a runner keeps what a passed test prints to itself.
            let why = format!(
                "SKIPPED: the hostile model did not run, because there are no namespaces for machines here ({})",
                lab.access["why"]
            );
            eprintln!("{why}");
            if let Ok(mut terminal) = std::fs::OpenOptions::new().write(true).open("/dev/tty") {
                let _ = std::io::Write::write_all(&mut terminal, format!("{why}\n").as_bytes());
            }
            assert!(std::env::var_os("CI").is_none(), "{why}, and CI is set");
            return None;
        }
        Some(lab)
    }

    /// The process of the lab.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The folder with the configuration and the credentials.
    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(self.access["folder"].as_str().unwrap())
    }

    /// The credentials, as the file for a shell has them.
    pub(crate) fn credentials(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.folder().join("credentials.sh")).unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
            .collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Its machines end with it: they wait for the end of its standard input.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
