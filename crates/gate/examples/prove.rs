//! Runs the proofs from the command line of a developer: `cargo run --release --example prove -- gate 2`.

use interlock_gate::prove::{GateOptions, HostileOptions, gate, hostile};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        arguments
            .get(at)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let began = std::time::Instant::now();
    let mut progress = |done: u64| eprintln!("{done} after {:?}", began.elapsed());
    match arguments.first().map(String::as_str) {
        Some("hostile") => {
            let options = HostileOptions {
                steps: number(1, 100_000),
                seed: number(2, 1),
                progress: Some(&mut progress),
            };
            println!("{:#?}", hostile(options));
        }
        _ => {
            let executions = usize::try_from(number(1, 2)).unwrap_or(2);
            let max_states = usize::try_from(number(2, 5_000_000)).unwrap_or(usize::MAX);
            println!(
                "{:#?}",
                gate(GateOptions {
                    executions,
                    max_states,
                    progress: Some(&mut progress)
                })
            );
        }
    }
    eprintln!("took {:?}", began.elapsed());
}
