//! `lab-service CONFIG.toml`: a small real HTTP server that stands for every service of the lab. It logs, fills its disk,
//! breaks under load and recovers, as its file tells it.

mod config;
mod log;
mod page;

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use self::config::{Config, Level};
use self::log::{Log, Severity, reason};
use super::places::{self, Root};

/// How often a service looks after itself.
const TICK: Duration = Duration::from_millis(100);
/// How long a connection may say nothing.
const IDLE: Duration = Duration::from_secs(60);
/// How many it refuses before it breaks.
const REFUSED_BEFORE_ABORT: usize = 3;
/// The exit code for a configuration that is wrong.
const EXIT_CONFIG: u8 = 78;

/// A service that runs.
struct Service {
    root: Root,
    path: PathBuf,
    config: RwLock<Config>,
    log: Log,
    requests: AtomicU64,
    sessions: AtomicUsize,
    refused: AtomicUsize,
    failing: Mutex<Option<String>>,
}

/// Runs it.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let [path] = arguments else {
        eprintln!("usage: lab-service CONFIG.toml");
        return ExitCode::from(2);
    };
    // Where machines are plain folders, nothing else would end it with its machine.
    if std::env::var_os(places::ROOT).is_some() && super::isolate::end_with_parent().is_err() {
        return ExitCode::FAILURE;
    }
    match begin(path) {
        Ok((service, listener)) => {
            let ticking = Arc::clone(&service);
            thread::spawn(move || ticking.tick());
            service.serve(&listener);
            ExitCode::SUCCESS
        }
        Err(code) => code,
    }
}

fn read(path: &Path) -> Result<Config, String> {
    let text = fs::read_to_string(path).map_err(|cause| reason(&cause))?;
    toml::from_str(&text).map_err(|cause| cause.to_string().trim().replace('\n', " "))
}

fn begin(path: &str) -> Result<(Arc<Service>, TcpListener), ExitCode> {
    let root = Root::of_environment();
    let at = root.at(path).unwrap_or_else(|_| path.into());
    let config = read(&at).map_err(|why| {
        Log::new(None, None).write(Severity::Fatal, &format!("cannot read {path}: {why}"));
        ExitCode::from(EXIT_CONFIG)
    })?;
    let file = config.log.as_ref().and_then(|log| root.at(log).ok());
    let log = Log::new(file, config.rotate_bytes);
    log.write(
        Severity::Info,
        &format!("{} {} starting", config.name, config.version),
    );
    for name in &config.requires {
        if std::env::var_os(name).is_none_or(|value| value.is_empty()) {
            let text = format!("required environment variable {name} is not set");
            log.write(Severity::Fatal, &text);
            return Err(ExitCode::from(EXIT_CONFIG));
        }
    }
    if let Some(why) = &config.fails {
        log.write(Severity::Fatal, why);
        return Err(ExitCode::FAILURE);
    }
    let address = std::env::var(places::ADDRESS)
        .ok()
        .and_then(|address| address.parse().ok());
    let address = (address.unwrap_or(Ipv4Addr::UNSPECIFIED), config.listen);
    let listener = TcpListener::bind(address).map_err(|cause| {
        let text = format!("cannot listen on port {}: {}", config.listen, reason(&cause));
        log.write(Severity::Fatal, &text);
        ExitCode::FAILURE
    })?;
    log.write(Severity::Info, &format!("listening on port {}", config.listen));
    let service = Service {
        root,
        path: at,
        config: RwLock::new(config),
        log,
        requests: AtomicU64::new(0),
        sessions: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
        failing: Mutex::new(None),
    };
    Ok((Arc::new(service), listener))
}

impl Service {
    fn config(&self) -> Config {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn failing(&self) -> Option<String> {
        self.failing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(TICK);
                continue;
            };
            let most = self.config().max_sessions;
            if let Some(most) = most.filter(|most| self.sessions() >= *most) {
                self.refuse(most);
                continue;
            }
            self.sessions.fetch_add(1, Ordering::Relaxed);
            let service = Arc::clone(self);
            let begun = thread::Builder::new().stack_size(256 << 10).spawn(move || {
                // Whatever goes wrong here is the other side's.
                let _ = service.session(stream);
                service.sessions.fetch_sub(1, Ordering::Relaxed);
            });
            if begun.is_err() {
                self.sessions.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Says no to a connection more than it bears, and breaks if that goes on.
    fn refuse(&self, most: usize) {
        let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let text = format!("session table full: {most} of {most} in use, new session refused");
        self.log.write(Severity::Error, &text);
        if refused >= REFUSED_BEFORE_ABORT {
            let text = "session table corrupted after overflow, aborting";
            self.log.write(Severity::Fatal, text);
            std::process::abort();
        }
    }

    fn session(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
        let mut head = Vec::new();
        let mut buffer = [0; 2048];
        while !head.windows(4).any(|window| window == b"\r\n\r\n") {
            let length = stream.read(&mut buffer)?;
            head.extend_from_slice(buffer.get(..length).unwrap_or_default());
            if length == 0 || head.len() > 16 << 10 {
                return Ok(());
            }
        }
        let text = String::from_utf8_lossy(&head);
        let mut words = text.lines().next().unwrap_or("").split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = page::answer(self, method, path);
        let (code, word) = answer.status;
        let size = answer.body.len();
        let mut response = format!(
            "HTTP/1.1 {code} {word}\r\nServer: {}\r\nContent-Type: {}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n",
            self.config().name,
            answer.kind
        );
        if method != "HEAD" {
            response.push_str(&answer.body);
        }
        let from = stream
            .peer_addr()
            .map(|peer| peer.ip().to_string())
            .unwrap_or_default();
        self.log.write(
            Severity::Info,
            &format!("{from} \"{method} {path}\" {code} {size}"),
        );
        stream.write_all(response.as_bytes())
    }

    /// Logs, writes its data and reads its file again, for ever.
    fn tick(&self) {
        let begun = Instant::now();
        let mut read_at = modified(&self.path);
        // Services that start together do not all speak at once.
        let stagger = self.config().name.bytes().map(u64::from).sum::<u64>() % 100;
        for tick in 1_u64.. {
            let due = begun + TICK * u32::try_from(tick).unwrap_or(u32::MAX);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let config = self.config();
            if config.level == Level::Debug {
                self.chatter(config.debug_bytes_per_second / 10);
            }
            if tick % 5 == 0 {
                let now = modified(&self.path);
                if now != read_at {
                    read_at = now;
                    self.read_again();
                }
            }
            if tick % 10 == 0
                && let Some(data) = &config.data
            {
                self.record(data, tick / 10);
            }
            if tick % 100 == stagger {
                let text = format!(
                    "alive: {} requests, {} sessions open",
                    self.requests(),
                    self.sessions()
                );
                self.log.write(Severity::Info, &text);
            }
        }
    }

    fn read_again(&self) {
        match read(&self.path) {
            Ok(config) => {
                let text = format!("configuration read again, level {:?}", config.level).to_lowercase();
                *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
                self.log.write(Severity::Info, &text);
            }
            Err(why) => {
                let text = format!("configuration is invalid, keeping the old one: {why}");
                self.log.write(Severity::Error, &text);
            }
        }
    }

    /// Says this many bytes of what only its makers want to know.
    fn chatter(&self, bytes: u64) {
        const LINE: u64 = 512;
        for number in 0..bytes.div_ceil(LINE) {
            let length = LINE.min(bytes - number * LINE);
            let filler = "trace ".repeat(usize::try_from(length / 6).unwrap_or(0));
            self.log.write(Severity::Debug, &format!("cache: {filler}"));
        }
    }

    /// Adds a record to its data, by way of a page of its own as databases do: a disk without room for that is full.
    fn record(&self, path: &str, number: u64) {
        let written = self.root.at(path).and_then(|at| {
            if let Some(above) = at.parent() {
                fs::create_dir_all(above)?;
            }
            let ahead = PathBuf::from(format!("{}-wal", at.display()));
            let mut page = vec![b' '; 4096];
            let record = format!("{number} {} {}\n", jiff::Timestamp::now(), self.requests());
            page.iter_mut()
                .zip(record.bytes())
                .for_each(|(to, from)| *to = from);
            fs::write(&ahead, &page)?;
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(&at)?
                .write_all(record.as_bytes())?;
            fs::remove_file(ahead)
        });
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => {
                if failing.take().is_some() {
                    self.log
                        .write(Severity::Info, &format!("writing {path} works again"));
                }
            }
            Err(cause) => {
                let why = format!("cannot write {path}: {}", reason(&cause));
                self.log.write(Severity::Error, &why);
                *failing = Some(why);
            }
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}
