//! How long the slowest texts take that can be made for the rules.
//!
//! Logs of a server (`system-log.txt`) come first, for comparison. Every seed and many pairs of them are tried with 64 KiB, some
//! with every rule awake; the slowest are then measured with 1 MiB. The last line is the maximum of everything that was measured
//! with 1 MiB. Seeds of your own:
//! `cargo bench -p interlock-mask --bench worst -- 'password=' 'token:'`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use interlock_mask::{Masker, adversary};

const SHORT: usize = 64 << 10;
const LONG: usize = 1 << 20;
const SHOWN: usize = 25;
/// Lines as the logs of a server have them.
const LOGS: &str = include_str!("system-log.txt");

/// The time that this thread was running: on a machine with other work, the time of the clock says nothing.
fn running() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = stat.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

fn once(masker: &Masker, text: &str) -> Duration {
    let (began, before) = (Instant::now(), running());
    black_box(masker.mask_text(black_box(text)));
    let elapsed = began.elapsed();
    running()
        .zip(before)
        .map_or(elapsed, |(after, before)| after.saturating_sub(before))
}

fn main() {
    let masker = Masker::built_in();
    once(&masker, "password=x");
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| !given.starts_with("--"))
        .collect();
    for seed in &given {
        let text = match seed.as_str() {
            "everything" => adversary::repeated(&adversary::everything(), LONG),
            seed => adversary::repeated(seed, LONG),
        };
        let best = (0..10).map(|_| once(&masker, &text)).min().unwrap_or_default();
        println!("{:>8.1} ms  {seed:?}", best.as_secs_f64() * 1e3);
    }
    if !given.is_empty() {
        return;
    }
    let logs = adversary::repeated(LOGS, LONG);
    let best = (0..10).map(|_| once(&masker, &logs)).min().unwrap_or_default();
    println!("{:>8.1} ms  logs of a server", best.as_secs_f64() * 1e3);
    let everything = adversary::everything();
    let mixed = |seed: &str| {
        format!(
            "{everything}{}",
            adversary::repeated(seed, LONG - everything.len().min(LONG))
        )
    };
    println!(
        "every rule awake ({} KiB of seeds in front):",
        everything.len() >> 10
    );
    let mut slowest = Duration::ZERO;
    for seed in [
        everything.as_str(),
        "a",
        "a ",
        "a\n",
        "key",
        "-",
        "token: a1\n",
        "://a:b@",
        "secrets:\n  a: b\n",
        "{\"data\":{",
        "12:token: x\n",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n",
    ] {
        let text = mixed(seed);
        let best = (0..3).map(|_| once(&masker, &text)).min().unwrap_or_default();
        slowest = slowest.max(best);
        println!(
            "{:>8.1} ms  {:?}",
            best.as_secs_f64() * 1e3,
            seed.get(..20).unwrap_or(seed)
        );
    }
    let mut tried: Vec<(Duration, String)> = adversary::seeds()
        .into_iter()
        .chain(adversary::pairs())
        .map(|seed| {
            let text = adversary::repeated(&seed, SHORT);
            (once(&masker, &text).min(once(&masker, &text)), seed)
        })
        .collect();
    tried.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    println!(
        "{} texts; the slowest of them with {} KiB:",
        tried.len(),
        LONG >> 10
    );
    for (_, seed) in tried.iter().take(SHOWN) {
        for (text, how) in [
            (adversary::repeated(seed, LONG), ""),
            (mixed(seed), ", every rule awake"),
        ] {
            let best = (0..3).map(|_| once(&masker, &text)).min().unwrap_or_default();
            slowest = slowest.max(best);
            println!("{:>8.1} ms  {seed:?}{how}", best.as_secs_f64() * 1e3);
        }
    }
    println!("slowest: {:.1} ms", slowest.as_secs_f64() * 1e3);
}
