//! Starts the process of a service, and puts what it prints into the journal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;

use super::Init;
use super::process;
use super::unit_file::UnitFile;
use super::units::Units;
use crate::machine::journal;

/// The longest line of a service that is kept whole.
const LINE_BYTES: u64 = 48 << 10;

impl Units {
    pub(super) fn spawn(
        &self,
        init: &Init,
        name: &str,
        file: &UnitFile,
        invocation: &str,
    ) -> std::io::Result<process::Started> {
        let mut env = file.environment.clone();
        if let Some(path) = &file.environment_file {
            let optional = path.strip_prefix('-');
            match self
                .root
                .at(optional.unwrap_or(path))
                .and_then(fs::read_to_string)
            {
                Ok(text) => env.extend(environment(&text)),
                Err(_) if optional.is_some() => {}
                Err(cause) => return Err(cause),
            }
        }
        env.insert("JOURNAL_STREAM".to_owned(), "8:1".to_owned());
        let argv: Vec<String> = file.start.iter().map(|word| expand(word, &env)).collect();
        let folder = file.folder.as_deref().map(Path::new);
        let mut command = init.command(&argv, &env, folder, ("INVOCATION_ID", invocation))?;
        let (reader, writer) = std::io::pipe()?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        let started = init.processes.spawn(command)?;
        let identifier = file.identifier.clone().unwrap_or_else(|| identifier(name, &argv));
        let (journal, name, pid) = (Arc::clone(&self.journal), name.to_owned(), started.pid);
        thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = std::io::Read::take(&mut reader, LINE_BYTES).read_until(b'\n', &mut line);
                if !read.is_ok_and(|length| length > 0) {
                    return;
                }
                let text = String::from_utf8_lossy(&line);
                let (priority, text) = priority(text.trim_end());
                journal.append(&name, &identifier, pid.as_raw_nonzero().get(), priority, text);
            }
        });
        Ok(started)
    }
}

/// Who a service is in the journal.
fn identifier(name: &str, argv: &[String]) -> String {
    let program = argv
        .first()
        .and_then(|program| program.rsplit('/').next())
        .unwrap_or(name);
    if program == "lab-service" {
        name.trim_end_matches(".service").to_owned()
    } else {
        program.to_owned()
    }
}

/// `<3>text` is more severe than `text`.
fn priority(line: &str) -> (u8, &str) {
    let told = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    match told.and_then(|(level, text)| Some((level.parse::<u8>().ok().filter(|level| *level < 8)?, text))) {
        Some(known) => known,
        None => (journal::INFO, line),
    }
}

fn environment(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        .collect()
}

/// `$NAME` and `${NAME}`.
pub(super) fn expand(word: &str, env: &BTreeMap<String, String>) -> String {
    let mut text = word.to_owned();
    for (name, value) in env {
        text = text.replace(&format!("${{{name}}}"), value);
        if text == format!("${name}") {
            value.clone_into(&mut text);
        }
    }
    text
}
