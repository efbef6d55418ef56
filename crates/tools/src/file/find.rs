//! Looks for files by name, in bounds: so many looked at, so many found, so deep, so long, on one file system.

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use interlock_protocol::ErrorCode;
use rustix::fs::FileType;
use serde_json::{Value, json};

use super::open::{Guard, Missing};
use crate::Failure;

/// How long a search may take.
const MOST_TIME: Duration = Duration::from_secs(20);

/// What to look for, and how far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    /// A part of a name; with `*` or `?` a pattern of the whole name, or of the whole path if it has a `/`. Left out,
    /// everything.
    pub(crate) pattern: Option<&'a str>,
    pub(crate) found: usize,
    pub(crate) visited: usize,
    pub(crate) depth: usize,
}

/// The files and folders below `path` that match, nearest first. Symbolic links are found, not followed.
pub(crate) fn find(guard: Guard<'_>, path: &str, search: Search<'_>) -> Result<Value, Failure> {
    let start = guard.entry(path).map_err(|missing| match missing {
        Missing::Nothing => {
            Failure::new(ErrorCode::NotFound, format!("there is no folder `{path}`")).detail("path", path)
        }
        Missing::Refused(failure) => failure,
    })?;
    if start.file_type() != FileType::Directory {
        return Err(
            Failure::invalid(format!("`{path}` is no folder; give the folder to look in"))
                .detail("path", path),
        );
    }
    let began = Instant::now();
    let mut matches: Vec<Value> = Vec::new();
    let mut visited = 0;
    let mut stopped: Option<&str> = None;
    let mut unreadable = 0;
    let mut folders: VecDeque<(PathBuf, usize)> = VecDeque::from([(start.real.clone(), 1)]);
    'walk: while let Some((folder, depth)) = folders.pop_front() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            unreadable += 1;
            continue;
        };
        for entry in entries.flatten() {
            visited += 1;
            let reached = if visited > search.visited {
                Some("entries")
            } else if began.elapsed() > MOST_TIME {
                Some("time")
            } else if matches.len() >= search.found {
                Some("findings")
            } else {
                None
            };
            if reached.is_some() {
                stopped = reached;
                break 'walk;
            }
            let place = entry.path();
            if guard.admit(&place).is_err() {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if search.pattern.is_none_or(|pattern| {
                let whole = pattern.contains('/');
                let text = if whole {
                    place.to_string_lossy()
                } else {
                    entry.file_name().to_string_lossy().into_owned().into()
                };
                matches_pattern(&text, pattern)
            }) {
                let kind = if metadata.is_dir() {
                    "folder"
                } else if metadata.is_symlink() {
                    "link"
                } else {
                    "file"
                };
                matches.push(json!({"path": place.to_string_lossy(), "type": kind, "size": metadata.len()}));
            }
            // Another file system may be a network, or the kernel's own.
            if metadata.is_dir() && metadata.dev() == start.stat.st_dev {
                if depth < search.depth {
                    folders.push_back((place, depth + 1));
                } else {
                    stopped = Some("depth");
                }
            }
        }
    }
    Ok(json!({
        "path": path,
        "matches": matches,
        "visited": visited,
        "unreadable_folders": unreadable,
        "truncated": stopped.is_some(),
        "stopped_by": stopped,
    }))
}

fn matches_pattern(text: &str, pattern: &str) -> bool {
    if pattern.contains(['*', '?']) {
        let text: Vec<char> = text.chars().collect();
        let pattern: Vec<char> = pattern.chars().collect();
        glob(&text, &pattern)
    } else {
        text.contains(pattern)
    }
}

/// `*` stands for any text, `?` for one character. Goes back only to the last `*`, so its time is bounded by the
/// product of the lengths.
fn glob(text: &[char], pattern: &[char]) -> bool {
    let (mut at, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, at));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[at] => {
                at += 1;
                p += 1;
            }
            _ => match star {
                Some((star_at, from)) => {
                    star = Some((star_at, from + 1));
                    p = star_at + 1;
                    at = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("nginx.conf", "conf", true),
            ("nginx.conf", "*.conf", true),
            ("nginx.conf", "*.con", false),
            ("nginx.conf", "n?inx*", true),
            ("nginx.conf", "*n*n*", true),
            ("", "*", true),
            ("a", "?", true),
            ("", "?", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*c", false),
            ("/etc/x/y.conf", "/etc/*/y.conf", true),
        ] {
            assert_eq!(matches_pattern(text, pattern), expected, "{text} {pattern}");
        }
    }
}
