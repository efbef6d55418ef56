//! Reads checkpoints that were kept elsewhere: the files that `record.ship` and syslog servers write.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use interlock_store::Checkpoint;

use crate::failure::Failure;

/// No line of a checkpoint is longer.
const LINE: u64 = 64 << 10;
/// How many checkpoints are read.
const MOST: usize = 1_000_000;
/// How many files of a folder are read.
const FILES: usize = 10_000;

/// What a line of a checkpoint holds in any case, so that a damaged one is known for what it was.
const MEMBERS: [&[u8]; 2] = [b"\"audit_hash\"", b"\"seal_hash\""];

/// What was read.
#[derive(Default)]
pub(crate) struct Read {
    /// Every checkpoint, with its place.
    pub(crate) checkpoints: Vec<(String, Checkpoint)>,
    /// The places of lines that were checkpoints and cannot be read: what they said is not compared.
    pub(crate) damaged: Vec<String>,
    /// The places of last lines without an end: another process was writing them while they were read.
    pub(crate) unfinished: Vec<String>,
    /// How many other lines there are, as in the file of a syslog server.
    pub(crate) other_lines: usize,
}

/// Every checkpoint in these files and folders. A file without one is an error: a check must not pass because there was
/// nothing to check.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Read, Failure> {
    let mut all = Read::default();
    for path in paths {
        let before = all.checkpoints.len();
        if path.is_dir() {
            for file in files(path)? {
                read_file(&file, &mut all)?;
            }
        } else {
            read_file(path, &mut all)?;
        }
        if all.checkpoints.len() == before {
            return Err(Failure::wrong(format!(
                "{} holds no checkpoint; name what `record.ship` wrote, or the output of `interlock record head --json`",
                path.display()
            )));
        }
    }
    Ok(all)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed =
        |error: std::io::Error| Failure::wrong(format!("{} cannot be read: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
        if files.len() > FILES {
            return Err(Failure::wrong(format!(
                "{} holds more than {FILES} files; name some of them",
                folder.display()
            )));
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(path: &Path, all: &mut Read) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::wrong(format!("{} cannot be read: {error}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut whole = Vec::new();
    let (mut damaged, mut unfinished, mut other) = (Vec::new(), None, 0);
    for number in 1_usize.. {
        let mut line = Vec::new();
        let length = (&mut file)
            .take(LINE)
            .read_until(b'\n', &mut line)
            .map_err(failed)?;
        if length == 0 {
            break;
        }
        if all.checkpoints.len() >= MOST {
            return Err(Failure::wrong(format!(
                "{} and the files before it hold more than {MOST} checkpoints; name some of them",
                path.display()
            )));
        }
        let place = || format!("{}:{number}", path.display());
        if let Some(checkpoint) = parse(&line) {
            all.checkpoints.push((place(), checkpoint));
            continue;
        }
        if u64::try_from(whole.len()).unwrap_or(u64::MAX) < LINE {
            whole.extend_from_slice(&line);
        }
        let holds = |member: &[u8]| line.windows(member.len()).any(|part| part == member);
        if !MEMBERS.into_iter().any(holds) {
            other += 1;
        } else if line.ends_with(b"\n") {
            damaged.push(place());
        } else {
            unfinished = Some(place());
        }
    }
    // One document over several lines, as people and programs format them.
    if let Ok(checkpoint) = serde_json::from_slice::<Checkpoint>(&whole) {
        all.checkpoints.push((path.display().to_string(), checkpoint));
    } else {
        all.damaged.extend(damaged);
        all.unfinished.extend(unfinished);
        all.other_lines += other;
    }
    Ok(())
}

/// A line of JSON, also behind what a syslog server puts before it.
fn parse(line: &[u8]) -> Option<Checkpoint> {
    let start = line.iter().position(|byte| *byte == b'{')?;
    serde_json::from_slice(line.get(start..)?).ok()
}
