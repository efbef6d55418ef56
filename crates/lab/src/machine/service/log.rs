//! The log of a service: a file that is rotated, or its standard output; what is severe goes to both.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many logs that were put aside are kept.
const KEPT: u32 = 3;

/// How severe a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Debug,
    Info,
    Error,
    Fatal,
}

impl Severity {
    fn words(self) -> (&'static str, u8) {
        match self {
            Self::Debug => ("DEBUG", 7),
            Self::Info => ("INFO", 6),
            Self::Error => ("ERROR", 3),
            Self::Fatal => ("FATAL", 2),
        }
    }
}

/// The log.
#[derive(Debug)]
pub(super) struct Log {
    file: Option<PathBuf>,
    rotate_bytes: Option<u64>,
    /// Whether the journal reads the standard output.
    journal: bool,
    bytes: AtomicU64,
    /// When it last said that it cannot write.
    complained: Mutex<Option<Instant>>,
}

impl Log {
    pub(super) fn new(file: Option<PathBuf>, rotate_bytes: Option<u64>) -> Self {
        Self {
            file,
            rotate_bytes,
            journal: std::env::var_os("JOURNAL_STREAM").is_some(),
            bytes: AtomicU64::new(0),
            complained: Mutex::new(None),
        }
    }

    /// How much was written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Writes a line.
    pub(super) fn write(&self, severity: Severity, text: &str) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        let (word, _) = severity.words();
        let Some(file) = &self.file else {
            self.print(severity, &format!("{word} {text}"));
            return;
        };
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
        let line = format!("{now} {word} {text}\n");
        match self.add(file, line.as_bytes()) {
            Ok(()) => {
                self.bytes.fetch_add(line.len() as u64, Ordering::Relaxed);
                if matches!(severity, Severity::Error | Severity::Fatal) {
                    self.print(severity, &format!("{word} {text}"));
                }
            }
            Err(cause) => {
                if severity != Severity::Debug {
                    self.print(severity, &format!("{word} {text}"));
                }
                if complained.is_none_or(|last| last.elapsed() > Duration::from_secs(1)) {
                    *complained = Some(Instant::now());
                    let text = format!("ERROR cannot write log {}: {}", file.display(), reason(&cause));
                    self.print(Severity::Error, &text);
                }
            }
        }
    }

    fn print(&self, severity: Severity, text: &str) {
        let (_, level) = severity.words();
        let line = if self.journal {
            format!("<{level}>{text}\n")
        } else {
            format!("{text}\n")
        };
        if self.file.is_none() {
            self.bytes.fetch_add(line.len() as u64, Ordering::Relaxed);
        }
        let mut out = io::stdout();
        // Nobody may be reading.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }

    fn add(&self, file: &Path, line: &[u8]) -> io::Result<()> {
        let full = |most: u64| fs::metadata(file).is_ok_and(|found| found.len() > most);
        if self.rotate_bytes.is_some_and(full) {
            rotate(file)?;
        }
        let open = || OpenOptions::new().append(true).create(true).open(file);
        let mut opened = match open() {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                if let Some(above) = file.parent() {
                    fs::create_dir_all(above)?;
                }
                open()?
            }
            other => other?,
        };
        opened.write_all(line)
    }
}

/// What the system says, without the number of the error.
pub(super) fn reason(cause: &io::Error) -> String {
    let text = cause.to_string();
    match text.find(" (os error") {
        Some(at) => text.get(..at).unwrap_or(&text).to_owned(),
        None => text,
    }
}

fn rotate(file: &Path) -> io::Result<()> {
    let aside = |number: u32| PathBuf::from(format!("{}.{number}", file.display()));
    for number in (1..KEPT).rev() {
        if aside(number).exists() {
            fs::rename(aside(number), aside(number + 1))?;
        }
    }
    fs::rename(file, aside(1))
}
