//! What is logged, as text and as JSON, at the finest level.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use interlock_engine::MaskedLog;
use interlock_mask::Masker;
use tracing_subscriber::Layer as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Where a log goes.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// As the program writes its log.
#[derive(Clone)]
struct Masked {
    masker: Masker,
    log: Log,
}

impl<'a> MakeWriter<'a> for Masked {
    type Writer = MaskedLog<Log>;

    fn make_writer(&'a self) -> Self::Writer {
        MaskedLog::new(self.masker.clone(), self.log.clone())
    }
}

/// The logs of this process: as the program writes them, text and JSON, and as they are before.
#[derive(Clone, Default)]
pub(crate) struct Logs {
    pub(crate) text: Log,
    pub(crate) json: Log,
}

/// The first in a process says which masker.
pub(crate) fn logs(masker: &Masker) -> Logs {
    static LOGS: OnceLock<Logs> = OnceLock::new();
    let start = || {
        let logs = Logs::default();
        let to = |log: &Log| Masked {
            masker: masker.clone(),
            log: log.clone(),
        };
        // Other libraries say at finer levels what goes over their sockets.
        let level = || tracing_subscriber::EnvFilter::new("debug,interlock=trace");
        tracing_subscriber::registry()
            .with(
                tracing_subscriber::fmt::layer()
                    .with_ansi(false)
                    .with_writer(to(&logs.text))
                    .with_filter(level()),
            )
            .with(
                tracing_subscriber::fmt::layer()
                    .json()
                    .with_writer(to(&logs.json))
                    .with_filter(level()),
            )
            .init();
        logs
    };
    LOGS.get_or_init(start).clone()
}
