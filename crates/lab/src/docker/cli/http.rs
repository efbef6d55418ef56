//! Plain HTTP over the engine's socket, one call per connection.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::Value;

/// Where the engine listens, in a guest.
const SOCKET: &str = "/var/run/docker.sock";
const MOST_BODY: u64 = 64 << 20;
const MOST_STDIN: u64 = 4 << 20;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The engine said no.
    Daemon(String),
    /// It was called in a wrong way.
    Usage(String),
    /// Something else.
    Other(String),
}

/// Calls the engine.
#[derive(Debug)]
pub(super) struct Client;

/// An answer whose body can be read.
pub(super) struct Answer {
    status: u16,
    body: Box<dyn Read>,
}

impl Client {
    /// Sends a call; the body is read as it comes. An error of the engine is a failure.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer, Failure> {
        let answer = self.send(method, path, body, "Connection: close\r\n")?;
        if answer.status < 400 {
            return Ok(answer);
        }
        let text = answer.text()?;
        let parsed: Option<Value> = serde_json::from_str(&text).ok();
        let message = parsed
            .and_then(|value| value["message"].as_str().map(str::to_owned))
            .unwrap_or(text);
        Err(Failure::Daemon(message))
    }

    /// Sends a call and reads its answer as JSON.
    pub(super) fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let text = self.ask(method, path, body)?.text()?;
        serde_json::from_str(&text).map_err(|error| Failure::Other(format!("error reading answer: {error}")))
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>, headers: &str) -> Result<Answer, Failure> {
        let stream = self.connect()?;
        self.send_on(stream, method, path, body, headers)
    }

    #[expect(clippy::unused_self, reason = "a client without a connection of its own")]
    fn connect(&self) -> Result<UnixStream, Failure> {
        UnixStream::connect(SOCKET).map_err(|_| {
            Failure::Other(format!(
                "Cannot connect to the Docker daemon at unix://{SOCKET}. Is the docker daemon running?"
            ))
        })
    }

    #[expect(clippy::unused_self, reason = "a client without a connection of its own")]
    fn send_on(
        &self,
        mut stream: UnixStream,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &str,
    ) -> Result<Answer, Failure> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(broken)?;
        answer(BufReader::new(stream))
    }

    /// Starts a program and passes on what it prints, and our input to it.
    pub(super) fn hijack(&self, path: &str, body: &Value, stdin: bool) -> Result<(), Failure> {
        let stream = self.connect()?;
        let mut ours = stream.try_clone().map_err(broken)?;
        let answer = self.send_on(
            stream,
            "POST",
            path,
            Some(body),
            "Connection: Upgrade\r\nUpgrade: tcp\r\n",
        )?;
        if answer.status >= 400 {
            return Err(Failure::Daemon(answer.text()?));
        }
        if stdin {
            let mut input = Vec::new();
            std::io::stdin()
                .take(MOST_STDIN)
                .read_to_end(&mut input)
                .map_err(broken)?;
            ours.write_all(&input).map_err(broken)?;
        }
        ours.shutdown(Shutdown::Write).map_err(broken)?;
        answer.print_frames()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn broken(error: std::io::Error) -> Failure {
    Failure::Other(format!("error during connect: {error}"))
}

fn answer(mut stream: BufReader<UnixStream>) -> Result<Answer, Failure> {
    let mut line = String::new();
    stream.read_line(&mut line).map_err(broken)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| Failure::Other("the daemon hung up".to_owned()))?;
    let (mut length, mut chunked) = (None, false);
    loop {
        line.clear();
        if stream.read_line(&mut line).map_err(broken)? == 0 || line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse::<u64>().ok();
        }
        chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
    }
    let body: Box<dyn Read> = match (chunked, length) {
        (true, _) => Box::new(Chunked {
            stream,
            left: 0,
            ended: false,
        }),
        (false, Some(length)) => Box::new(stream.take(length)),
        (false, None) => Box::new(stream),
    };
    Ok(Answer { status, body })
}

impl Answer {
    /// The whole body.
    pub(super) fn text(self) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        self.body
            .take(MOST_BODY)
            .read_to_end(&mut bytes)
            .map_err(broken)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The body, line by line.
    pub(super) fn lines(self) -> impl Iterator<Item = String> {
        BufReader::new(self.body).lines().map_while(Result::ok)
    }

    /// Prints frames to the streams that they belong to, to their end.
    pub(super) fn print_frames(mut self) -> Result<(), Failure> {
        let mut head = [0; 8];
        while self.body.read_exact(&mut head).is_ok() {
            let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            let mut text = Vec::new();
            (&mut self.body)
                .take(u64::from(length))
                .read_to_end(&mut text)
                .map_err(broken)?;
            let printed = if head[0] == 2 {
                std::io::stderr().write_all(&text)
            } else {
                std::io::stdout()
                    .write_all(&text)
                    .and_then(|()| std::io::stdout().flush())
            };
            if printed.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A body in chunks.
struct Chunked {
    stream: BufReader<UnixStream>,
    left: u64,
    ended: bool,
}

impl Read for Chunked {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.left == 0 && !self.ended {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() && !line.is_empty() {
                continue;
            }
            let size = line.trim().split(';').next().unwrap_or_default();
            self.left = u64::from_str_radix(size, 16).unwrap_or(0);
            self.ended = self.left == 0;
        }
        if self.ended {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.stream.read(&mut into[..most])?;
        self.left -= read as u64;
        self.ended = read == 0 && most > 0;
        Ok(read)
    }
}

/// Escapes what goes into an address.
pub(super) fn escape(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
