//! Runs many sessions against a model that answers at once, with everything recorded as always, and says what they cost.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use interlock_assembly::Assembly;
use interlock_config::Config;
use interlock_engine::{Engine, Outcome, Submission};
use interlock_executor::{BoxFuture, Done, Executor, Inventory, Reading, Toolbox};
use interlock_gate::{Catalogue, ResolvedResource, Started};
use interlock_model::{Options as ModelOptions, Provider};
use interlock_protocol::{Expectation, ResourceId, Status, ToolName};
use interlock_store::{Options as StoreOptions, Store};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;

/// How long a result of the tool is, in bytes.
const RESULT: usize = 2048;

/// The one tool: it needs nothing and answers at once, from this process.
const TOOLS: &str = r#"
[[tool]]
name = "bench_read"
description = "Read two kilobytes. The number makes one call different from the next."
category = "read_only"
risk = "low"
kind = "read"
state = false
[tool.parameters]
type = "object"
[tool.parameters.properties]
number = { type = "integer", description = "Any number." }
"#;

/// Run many sessions against a server and say what each cost.
///
/// The server should answer at once: with a call to the tool that it is offered until seven results are in the
/// conversation, then with a text. Everything is recorded on one file, as in a real session.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock bench sessions --model-url http://127.0.0.1:8080/v1 --sessions 1000 --concurrency 64 --json

What is recorded goes to a temporary file, or to the one that --store names. With --json one line: per_s, cpu_ms_each, \
p50_ms, p99_ms, peak_rss_mb and more.

Exit codes: 0 every session completed, 1 one did not.")]
pub(crate) struct Arguments {
    /// Where the model is served, with its `/v1`
    #[arg(long, value_name = "URL")]
    model_url: String,
    /// How many sessions to measure
    #[arg(long, default_value_t = 1000, value_name = "N")]
    sessions: u64,
    /// How many at the same time
    #[arg(long, default_value_t = 64, value_name = "N")]
    concurrency: usize,
    /// How many to run before, unmeasured
    #[arg(long, default_value_t = 100, value_name = "N")]
    warm_up: u64,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let measured = arguments.measure(globals).await?;
    let ending = if measured.failed == 0 {
        Ending::Done
    } else {
        Ending::Unsuccessful
    };
    let mut out = io::stdout().lock();
    if globals.json {
        writeln!(
            out,
            "{}",
            serde_json::to_string(&measured).map_err(io::Error::from)?
        )?;
    } else {
        measured.print(&mut out)?;
    }
    Ok(ending)
}

#[derive(Debug, Serialize)]
struct Measured {
    sessions: u64,
    concurrency: usize,
    completed: u64,
    failed: u64,
    turns: u64,
    tool_calls: u64,
    per_s: f64,
    cpu_ms_each: f64,
    cpu_ms_per_turn: f64,
    p50_ms: f64,
    p99_ms: f64,
    peak_rss_mb: f64,
    /// Resident memory after each quarter of the sessions.
    rss_mb: Vec<f64>,
    store_mb: f64,
}

#[derive(Debug)]
struct InProcess {
    calls: AtomicU64,
    text: String,
}

impl Executor for InProcess {
    fn run<'a>(&'a self, _: &'a Started, _: &'a CancellationToken) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let number = self.calls.fetch_add(1, Ordering::Relaxed);
            let data = json!({ "number": number, "text": self.text });
            Done::succeeded(data.clone(), "read 2 KB").with_reading(Reading {
                resource: None,
                taken_at: Timestamp::now(),
                data,
                observations: Vec::new(),
                walls: None,
            })
        })
    }
}

impl Inventory for InProcess {
    fn find<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async { Vec::new() })
    }

    fn observe<'a>(&'a self, _: &'a ResourceId, _: &'a Expectation) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async { None })
    }
}

impl Measured {
    fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        let Self {
            sessions,
            failed,
            concurrency,
            turns,
            tool_calls,
            ..
        } = self;
        writeln!(
            out,
            "sessions      {sessions} ({failed} failed), {concurrency} at a time"
        )?;
        writeln!(out, "turns         {turns} ({tool_calls} tool calls)")?;
        writeln!(out, "per second    {:.0}", self.per_s)?;
        writeln!(
            out,
            "processor     {:.2} ms a session, {:.3} ms a turn",
            self.cpu_ms_each, self.cpu_ms_per_turn
        )?;
        writeln!(
            out,
            "took          {:.1} ms (median), {:.1} ms (99th percentile)",
            self.p50_ms, self.p99_ms
        )?;
        writeln!(
            out,
            "memory        {:.0} MB at most; {:?} MB after each quarter",
            self.peak_rss_mb, self.rss_mb
        )?;
        writeln!(out, "store         {:.1} MB", self.store_mb)
    }
}

impl Arguments {
    async fn measure(&self, globals: &Globals) -> Result<Measured, Failure> {
        let temporary = tempfile::tempdir()?;
        let options: StoreOptions = match &globals.store {
            Some(store) => store.parse()?,
            None => StoreOptions::sqlite(temporary.path().join("bench.db")),
        };
        // Signed, as everywhere: what it costs is part of what is measured.
        let signer = interlock_seal::Signer::generate().map_err(Failure::unsuccessful)?;
        let store = Store::open_signed(&options, interlock_seal::Keyring::signing(signer))?;
        let tool = Arc::new(InProcess {
            calls: AtomicU64::new(0),
            text: "0123456789abcdef ".chars().cycle().take(RESULT - 64).collect(),
        });
        let engine = self.engine(store.clone(), &tool)?;
        let limit = Arc::new(Semaphore::new(self.concurrency.max(1)));
        // One alone shows whether the server is one, before hundreds say that it is not.
        let first = one(&engine, 0).await?;
        if first.status != Status::Completed {
            let why = first.error.unwrap_or_else(|| first.status.to_string());
            return Err(Failure::unsuccessful(format!(
                "the first session did not complete: {why}"
            )));
        }
        self.batch(&engine, &limit, self.warm_up, &mut Vec::new()).await?;
        let calls_before = tool.calls.load(Ordering::Relaxed);
        let cpu_before = cpu();
        let began = Instant::now();
        let mut rss_mb = Vec::new();
        let results = self.batch(&engine, &limit, self.sessions, &mut rss_mb).await?;
        let failed: u64 = results.iter().map(|(_, completed)| u64::from(!completed)).sum();
        let mut times: Vec<Duration> = results.into_iter().map(|(time, _)| time).collect();
        let elapsed = began.elapsed().as_secs_f64();
        let cpu_ms = cpu().saturating_sub(cpu_before).as_secs_f64() * 1000.0;
        let tool_calls = tool.calls.load(Ordering::Relaxed) - calls_before;
        store.close().await;
        times.sort_unstable();
        let at = |part: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a place in a list"
            )]
            let place = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
            times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
        };
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let sessions = self.sessions as f64;
        let turns = tool_calls + self.sessions - failed;
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let (turns_f, bytes) = (turns.max(1) as f64, store.size_bytes().await.unwrap_or(0) as f64);
        Ok(Measured {
            sessions: self.sessions,
            concurrency: self.concurrency,
            completed: self.sessions - failed,
            failed,
            turns,
            tool_calls,
            per_s: sessions / elapsed,
            cpu_ms_each: cpu_ms / sessions,
            cpu_ms_per_turn: cpu_ms / turns_f,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            peak_rss_mb: memory("VmHWM:"),
            rss_mb,
            store_mb: bytes / 1e6,
        })
    }

    /// Runs so many sessions. How long each took, and whether it completed.
    async fn batch(
        &self,
        engine: &Engine,
        limit: &Arc<Semaphore>,
        sessions: u64,
        rss_mb: &mut Vec<f64>,
    ) -> Result<Vec<(Duration, bool)>, Failure> {
        let quarter = sessions.div_ceil(4).max(1);
        let mut running = tokio::task::JoinSet::new();
        let mut results = Vec::new();
        for number in 0..sessions {
            if number > 0 && number % quarter == 0 {
                rss_mb.push(memory("VmRSS:"));
            }
            let permit = Arc::clone(limit)
                .acquire_owned()
                .await
                .map_err(Failure::unsuccessful)?;
            let engine = engine.clone();
            running.spawn(async move {
                let began = Instant::now();
                let outcome = one(&engine, number).await;
                drop(permit);
                (began.elapsed(), outcome)
            });
            while let Some(done) = running.try_join_next() {
                results.push(judged(done.map_err(Failure::unsuccessful)?));
            }
        }
        while let Some(done) = running.join_next().await {
            results.push(judged(done.map_err(Failure::unsuccessful)?));
        }
        rss_mb.push(memory("VmRSS:"));
        Ok(results)
    }

    fn engine(&self, store: Store, tool: &Arc<InProcess>) -> Result<Engine, Failure> {
        let mut model = ModelOptions::new(Provider::Openai, "bench");
        model.base_url = Some(self.model_url.clone().into());
        model.context_tokens = Some(128_000);
        let mut config = Config::default();
        config.models.insert("bench".to_owned(), model);
        config.queue.max_pending = u32::MAX;
        let executor: Arc<dyn Executor> = Arc::clone(tool) as _;
        let toolbox = Toolbox::builder()
            .register(ToolName::new("bench_read").map_err(Failure::wrong)?, executor)
            .map_err(Failure::wrong)?
            .build();
        let catalogue = Catalogue::from_toml(TOOLS).map_err(Failure::wrong)?;
        let assembled = Assembly::of(&config)
            .tools(catalogue, toolbox, Arc::clone(tool) as _)
            .over(store)?;
        Ok(assembled.engine)
    }
}

async fn one(engine: &Engine, number: u64) -> Result<Outcome, interlock_engine::Error> {
    let question = Submission::question(format!(
        "Read seven things and say what they are. This is session {number}."
    ));
    let session = engine.submit(question).await?;
    engine.work_on(&session).await
}

fn judged((took, outcome): (Duration, Result<Outcome, interlock_engine::Error>)) -> (Duration, bool) {
    match outcome {
        Ok(outcome) if outcome.status == Status::Completed => (took, true),
        Ok(outcome) => {
            let why = outcome.error.unwrap_or_default();
            tracing::error!(status = %outcome.status, "a session did not complete: {why}");
            (took, false)
        }
        Err(error) => {
            tracing::error!(%error, "a session stopped");
            (took, false)
        }
    }
}

/// The processor time that this process has used.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// A line of what the system says about our memory, in MB.
fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb = status
        .lines()
        .find_map(|found| found.strip_prefix(line))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or(0.0);
    (kb / 1024.0 * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_of_the_benchmark_is_one() {
        let catalogue = Catalogue::from_toml(TOOLS).unwrap();
        assert!(catalogue.get("bench_read").is_some());
    }
}
