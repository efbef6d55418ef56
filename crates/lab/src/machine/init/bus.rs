//! How `systemctl` talks to init: a line of JSON each way.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;

use serde::{Deserialize, Serialize};

use super::Init;
use crate::machine::places::{self, Root};

/// What `systemctl` asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    Start(String),
    Stop(String),
    Restart(String),
    Reload(String),
    Show(String),
    List,
    DaemonReload,
    ResetFailed(Option<String>),
    PowerOff,
}

/// What init answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    /// Its exit code, and what it says.
    Failed(u8, String),
    Units(Vec<About>),
}

/// What a unit is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) load: String,
    pub(crate) active: String,
    pub(crate) sub: String,
    /// Microseconds since 1970.
    pub(crate) active_enter: Option<i64>,
    pub(crate) inactive_enter: Option<i64>,
    pub(crate) main_pid: i32,
    pub(crate) restarts: u32,
    pub(crate) result: String,
    /// `exited` or `killed`, the code or signal of the last main process, and its number.
    pub(crate) ended: Option<(String, i32, i32)>,
    pub(crate) path: String,
    pub(crate) command: Vec<String>,
    /// Whether the file was changed since it was read.
    pub(crate) stale: bool,
}

/// Serves `systemctl`.
pub(super) fn serve(init: &Arc<Init>) -> io::Result<()> {
    let path = init.root.at(places::BUS)?;
    if let Some(above) = path.parent() {
        // That it exists tells programs that systemd runs this machine.
        std::fs::create_dir_all(above.join("system"))?;
    }
    let _ = std::fs::remove_file(&path);
    let listener = with_short_path(&path, |path| UnixListener::bind(path))?;
    let init = Arc::clone(init);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let init = Arc::clone(&init);
            thread::spawn(move || {
                let _ = answer(&init, &connection);
            });
        }
    });
    Ok(())
}

/// A root that is a plain folder may have a path too long for a socket.
fn with_short_path<T>(
    path: &std::path::Path,
    use_it: impl Fn(&std::path::Path) -> io::Result<T>,
) -> io::Result<T> {
    use std::os::fd::AsRawFd as _;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return use_it(path);
    };
    let opened = std::fs::File::open(folder)?;
    use_it(&places::socket_path(opened.as_raw_fd(), name))
}

fn answer(init: &Arc<Init>, connection: &UnixStream) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    let question: Question = serde_json::from_str(&line)?;
    let units = &init.units;
    let done = |done: Result<(), (u8, String)>| match done {
        Ok(()) => Answer::Done,
        Err((code, text)) => Answer::Failed(code, text),
    };
    let answer = match question {
        Question::Start(name) => done(units.start(init, &name)),
        Question::Stop(name) => done(units.stop(&name)),
        Question::Restart(name) => done(units.restart(init, &name)),
        Question::Reload(name) => done(units.reload(init, &name)),
        Question::Show(name) => Answer::Units(vec![units.about(&name)]),
        Question::List => Answer::Units(units.list()),
        Question::DaemonReload => {
            units.load_all();
            Answer::Done
        }
        Question::ResetFailed(name) => {
            units.reset_failed(name.as_deref());
            Answer::Done
        }
        Question::PowerOff => {
            units.stop_all(std::time::Instant::now() + std::time::Duration::from_secs(10));
            std::process::exit(0)
        }
    };
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    let mut connection = connection;
    connection.write_all(&text)
}

/// Asks init.
pub(crate) fn ask(question: &Question) -> io::Result<Answer> {
    let path = Root::of_environment().at(places::BUS)?;
    let mut connection = with_short_path(&path, |path| UnixStream::connect(path))?;
    let mut text = serde_json::to_vec(question)?;
    text.push(b'\n');
    connection.write_all(&text)?;
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
