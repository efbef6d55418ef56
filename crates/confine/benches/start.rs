//! What the sandbox costs: from the start of `interlock-confine` to the end of a command that does nothing.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use criterion::{Criterion, criterion_group, criterion_main};
use interlock_confine::{Ended, Ending, Orders, Policy, Profile, Report, Resources, Stage, Stderr, VERSION};

fn orders(ending: Ending) -> Vec<u8> {
    let orders = Orders {
        version: VERSION,
        profile: Profile::ReadOnly,
        policy: Policy::WhereAvailable,
        folder: "/".into(),
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        stages: vec![Stage {
            argv: vec!["true".to_owned()],
            sockets: Vec::new(),
            stderr: Stderr::Kept,
        }],
        protected: Vec::new(),
        temporary: std::env::temp_dir(),
        resources: Resources {
            cpu_seconds: 10,
            memory_bytes: 1 << 30,
            processes: 512,
            open_files: 1024,
            file_bytes: 1 << 20,
        },
        ending,
    };
    let mut line = serde_json::to_vec(&orders).unwrap_or_default();
    line.push(b'\n');
    line
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "a benchmark starts the program as the room `exec` does"
)]
fn run(orders: &[u8]) -> Ended {
    let (mut ours, theirs) = UnixStream::pair().expect("a socket");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_interlock-confine"))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    ours.write_all(orders).expect("it reads its orders");
    let mut ended = Ended::Code(-1);
    for line in BufReader::new(&ours).lines().map_while(Result::ok) {
        if let Ok(Report::Ended(how)) = serde_json::from_str(&line) {
            ended = how;
            break;
        }
    }
    child.wait().expect("it ends");
    ended
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the same command without a sandbox, to compare with"
)]
fn bare() {
    let status = std::process::Command::new("true").status().expect("it runs");
    black_box(status);
}

fn start(c: &mut Criterion) {
    let mut group = c.benchmark_group("confine");
    group.bench_function("no sandbox", |b| b.iter(bare));
    for (name, ending) in [
        ("signal scope", Ending::SignalScope),
        ("control group", Ending::ControlGroup),
        ("one by one", Ending::OneByOne),
    ] {
        let orders = orders(ending);
        assert_eq!(run(&orders), Ended::Code(0));
        group.bench_function(name, |b| b.iter(|| run(black_box(&orders))));
    }
    group.finish();
}

criterion_group!(benches, start);
criterion_main!(benches);
