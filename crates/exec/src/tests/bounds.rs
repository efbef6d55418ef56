//! However a run ends, it ends in its bounds and leaves nothing behind.

use std::time::Duration;

use interlock_protocol::{ContentHash, ToolKind};
use tokio_util::sync::CancellationToken;

use super::stage::{LONG, Lifeline, limits, run, run_in, runner, started};
use crate::{Error, Exit, Limits, Program};

/// A process and one of its own, both deaf to being told to end, both holding the lifeline.
fn stubborn(lifeline: &Lifeline) -> Program {
    Program::shell(&format!(
        "exec 9> {}; trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & \
         printf ready >&9; while :; do sleep 1000; done",
        lifeline.path().display()
    ))
}

#[tokio::test]
async fn out_of_time_the_whole_group_dies() {
    let mut lifeline = Lifeline::new();
    let limits = Limits {
        wall: Duration::from_secs(1),
        grace: Duration::from_millis(50),
        ..limits()
    };
    let output = run_in(&runner(), ToolKind::Write, stubborn(&lifeline), limits)
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::TimedOut);
    lifeline.says("ready").await;
    lifeline.is_cut().await;
}

#[tokio::test]
async fn cancelled_the_whole_group_dies() {
    let mut lifeline = Lifeline::new();
    let cancel = CancellationToken::new();
    let limits = Limits {
        grace: Duration::from_millis(50),
        ..limits()
    };
    let started = started(ToolKind::Write);
    let runner = runner();
    let running = runner.run(&started, stubborn(&lifeline), limits, &cancel);
    let (output, ()) = tokio::join!(running, async {
        lifeline.says("ready").await;
        cancel.cancel();
    });
    assert_eq!(output.unwrap().exit, Exit::Cancelled);
    lifeline.is_cut().await;
}

#[tokio::test]
async fn dropped_the_whole_group_dies() {
    let mut lifeline = Lifeline::new();
    let started = started(ToolKind::Write);
    let runner = runner();
    let cancel = CancellationToken::new();
    let running = runner.run(&started, stubborn(&lifeline), limits(), &cancel);
    tokio::select! {
        output = running => panic!("{output:?}"),
        () = lifeline.says("ready") => {}
    }
    lifeline.is_cut().await;
}

#[tokio::test]
async fn one_that_ends_when_told_is_not_killed() {
    let mut lifeline = Lifeline::new();
    let cancel = CancellationToken::new();
    let script = format!(
        "exec 9> {}; trap 'printf bye; exit' TERM; printf ready >&9; while :; do sleep 0.01; done",
        lifeline.path().display()
    );
    let limits = Limits {
        grace: LONG,
        ..limits()
    };
    let started = started(ToolKind::Write);
    let runner = runner();
    let running = runner.run(&started, Program::shell(&script), limits, &cancel);
    let (output, ()) = tokio::join!(running, async {
        lifeline.says("ready").await;
        cancel.cancel();
    });
    let output = output.unwrap();
    assert_eq!(
        (output.exit, output.stdout.text()),
        (Exit::Cancelled, "bye".to_owned())
    );
}

#[tokio::test]
async fn what_stays_behind_in_the_background_neither_hangs_us_nor_lives_on() {
    let mut lifeline = Lifeline::new();
    let script = format!(
        "exec 9> {}; (while :; do sleep 1000; done) & printf ready >&9; echo done",
        lifeline.path().display()
    );
    let output = run(ToolKind::Write, &script).await;
    assert_eq!(
        (output.exit, output.stdout.text()),
        (Exit::Code(0), "done\n".to_owned())
    );
    assert!(output.duration < LONG);
    lifeline.says("ready").await;
    lifeline.is_cut().await;
}

#[tokio::test]
async fn cancelled_before_the_beginning_nothing_runs() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let started = started(ToolKind::Read);
    let output = runner()
        .run(&started, Program::shell("echo ran"), limits(), &cancel)
        .await;
    assert!(matches!(output, Err(Error::CancelledFirst)), "{output:?}");
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_the_hash_of_all() {
    let limits = Limits {
        output_bytes: 20,
        ..limits()
    };
    let program = Program::shell("printf 0123456789; seq 1 20000; printf 9876543210");
    let output = run_in(&runner(), ToolKind::Read, program, limits).await.unwrap();
    let numbers: Vec<String> = (1..=20000).map(|n| n.to_string()).collect();
    let all = format!("0123456789{}\n9876543210", numbers.join("\n"));
    let omitted = all.len() - 20;
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(
        output.stdout.text(),
        format!(
            "01234567891\n2\n3\n4\n5\n\n[… the last {omitted} bytes are left out: at most 20 are taken; narrow it down …]\n"
        )
    );
    assert_eq!(output.stdout.total, all.len() as u64);
    assert_eq!(output.stdout.hash, ContentHash::of(all));
    assert!(output.stdout.is_truncated());
}

#[tokio::test]
async fn endless_output_is_killed() {
    let limits = Limits {
        drain_bytes: 1024 * 1024,
        ..limits()
    };
    for script in ["yes", "yes >&2"] {
        let output = run_in(&runner(), ToolKind::Read, Program::shell(script), limits)
            .await
            .unwrap();
        assert_eq!(output.exit, Exit::OutputLimit, "{script}");
    }
}
