//! Lines that a person types, read by a thread of its own: a question can be given up while nobody answers it.

use std::io;
use std::sync::mpsc;

use tokio::sync::mpsc as answers;

/// Reads standard input line by line, when asked.
pub(crate) struct Keyboard {
    wanted: mpsc::Sender<()>,
    lines: answers::UnboundedReceiver<Option<String>>,
    /// Whether the thread is reading a line that nobody waited for to the end.
    reading: bool,
}

impl Keyboard {
    pub(crate) fn new() -> Self {
        let (wanted, asked) = mpsc::channel::<()>();
        let (tell, lines) = answers::unbounded_channel();
        // Not waited for at the end: it may sit in a read that never returns.
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let mut line = String::new();
                let read = match io::stdin().read_line(&mut line) {
                    Ok(0) | Err(_) => None,
                    Ok(_) => Some(line),
                };
                if tell.send(read).is_err() {
                    break;
                }
            }
        });
        Self {
            wanted,
            lines,
            reading: false,
        }
    }

    /// The next line, without its end; nothing at the end of the input. Giving up on it loses nothing.
    pub(crate) async fn line(&mut self) -> Option<String> {
        if !self.reading {
            self.wanted.send(()).ok()?;
            self.reading = true;
        }
        let line = self.lines.recv().await.flatten();
        self.reading = false;
        line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned())
    }
}
