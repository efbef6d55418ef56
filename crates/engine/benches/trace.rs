//! How long traces take to load and to check: twice as many steps must take about twice as long.

use std::time::{Duration, Instant};

use interlock_engine::Trace;
use interlock_engine::bundle::verify;
use interlock_seal::Keyring;

/// The bundle of the demo.
const GOLDEN: &str = include_str!("../tests/golden/demo.bundle");
const KEY: &str = "ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=";
/// More than this for twice as many steps is not linear.
const DOUBLE: f64 = 3.0;

/// The demo's trace, its steps again and again.
fn long(trace: &Trace, steps: usize) -> Trace {
    let mut long = trace.clone();
    long.steps = trace.steps.iter().cycle().take(steps).cloned().collect();
    for (number, step) in (1..).zip(&mut long.steps) {
        step.number = number;
    }
    long
}

/// The best of three: loading the document, and checking it.
fn measure(text: &str) -> Option<(Duration, Duration)> {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        let began = Instant::now();
        let trace: Trace = serde_json::from_str(text).ok()?;
        best.0 = best.0.min(began.elapsed());
        let began = Instant::now();
        let _ = trace.check(None).ok()?;
        best.1 = best.1.min(began.elapsed());
    }
    Some(best)
}

fn main() {
    let keys = KEY.parse();
    let trace = keys
        .ok()
        .and_then(|key| verify(GOLDEN, &Keyring::checking([key])).bundle)
        .and_then(|bundle| bundle.traces.into_iter().next());
    let Some(trace) = trace else {
        eprintln!("the golden bundle cannot be read");
        std::process::exit(1);
    };
    let mut last: Option<(Duration, Duration)> = None;
    for steps in [5_000, 10_000, 20_000] {
        let text = serde_json::to_string(&long(&trace, steps)).unwrap_or_default();
        let Some((load, check)) = measure(&text) else {
            eprintln!("a trace of {steps} steps cannot be checked");
            std::process::exit(1);
        };
        let times = |now: Duration, before: Duration| now.as_secs_f64() / before.as_secs_f64();
        let growth = last.map(|last| (times(load, last.0), times(check, last.1)));
        let shown = growth.map_or_else(String::new, |(load, check)| {
            format!(" (times {load:.1} and {check:.1})")
        });
        println!(
            "trace: {steps} steps, {:.1} MB: loaded in {load:.0?}, checked in {check:.0?}{shown}",
            f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX)) / 1e6
        );
        if growth.is_some_and(|(load, check)| load > DOUBLE || check > DOUBLE) {
            eprintln!("that is not linear");
            std::process::exit(1);
        }
        last = Some((load, check));
    }
}
