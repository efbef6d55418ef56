//! Opens a page of our own in the user's browser. What is opened is a file that we wrote: nothing of a model's.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;

#[cfg(target_os = "macos")]
const OPENER: &str = "/usr/bin/open";
#[cfg(not(target_os = "macos"))]
const OPENER: &str = "/usr/bin/xdg-open";

/// Whether there is a screen and a program that opens pages on it.
pub fn is_there() -> bool {
    let screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    screen && Path::new(OPENER).exists()
}

/// Writes a file that only this user can read. One that is there is an error: it may be somebody else's.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// Opens a file in the browser, and does not wait for it.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this room may start processes; this one is the user's own browser, on a file of ours"
)]
pub fn open(file: &Path) -> io::Result<()> {
    let mut child = std::process::Command::new(OPENER)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Somebody has to wait for it, or it stays behind as a zombie.
    std::thread::spawn(move || child.wait());
    Ok(())
}
