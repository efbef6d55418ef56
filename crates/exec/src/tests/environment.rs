//! What a process finds around itself.

use interlock_protocol::ToolKind;

use super::stage::{LONG, code, limits, run, run_in, runner};
use crate::{Error, Exit, Program};

#[tokio::test]
async fn nothing_of_our_environment_reaches_a_child() {
    let planted = std::env::var("CARGO_MANIFEST_DIR").expect("cargo tells a test where it is");
    let program = Program::new(["env"]).unwrap().with_env("GIVEN", "yes");
    let output = run_in(&runner(), ToolKind::Read, program, limits())
        .await
        .unwrap();
    let text = output.stdout.text();
    assert!(!text.contains(&planted), "{text}");
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "HOME", "LANG", "PATH", "TERM", "TMPDIR"]);
}

#[tokio::test]
async fn standard_input_is_empty() {
    let output = run(ToolKind::Read, "cat; echo end").await;
    assert_eq!(output.stdout.text(), "end\n");
}

#[tokio::test]
async fn no_open_file_of_ours_reaches_a_child() {
    let _open = std::fs::File::open("/etc/passwd").unwrap();
    let output = run(ToolKind::Read, "ls -l /proc/self/fd").await;
    let text = output.stdout.text();
    assert!(
        text.contains("/dev/null") && !text.contains("/etc/passwd"),
        "{text}"
    );
}

#[tokio::test]
async fn exit_codes_and_signals_come_back() {
    let cases = [
        ("exit 0", Exit::Code(0)),
        ("exit 7", Exit::Code(7)),
        ("kill -9 $$", Exit::Signal(9)),
        ("no-such-program-at-all", Exit::Code(127)),
    ];
    for (script, exit) in cases {
        assert_eq!(run(ToolKind::Write, script).await.exit, exit, "{script}");
    }
}

#[tokio::test]
async fn streams_are_kept_apart() {
    let output = run(ToolKind::Read, "echo out; echo err >&2").await;
    assert_eq!(
        (output.stdout.text(), output.stderr.text(), code(&output)),
        ("out\n".to_owned(), "err\n".to_owned(), 0)
    );
    assert!(output.duration < LONG);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let run = |program: Program| async { run_in(&runner(), ToolKind::Read, program, limits()).await };
    let missing = run(Program::new(["no-such-program-at-all"]).unwrap()).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    let denied = run(Program::new(["/etc/passwd"]).unwrap()).await;
    assert!(matches!(denied, Err(Error::Denied { .. })), "{denied:?}");
    let folder = run(Program::new(["ls"]).unwrap().in_folder("/no/such/folder")).await;
    assert!(matches!(folder, Err(Error::Folder { .. })), "{folder:?}");
    assert!(matches!(Program::new(Vec::<String>::new()), Err(Error::Empty)));
    assert!(matches!(Program::new([""]), Err(Error::Empty)));
}

#[tokio::test]
async fn a_program_runs_in_its_folder() {
    let program = Program::new(["pwd"]).unwrap().in_folder("/usr");
    let output = run_in(&runner(), ToolKind::Read, program, limits())
        .await
        .unwrap();
    assert_eq!(output.stdout.text(), "/usr\n");
    assert_eq!(run(ToolKind::Read, "pwd").await.stdout.text(), "/\n");
}

#[test]
fn this_process_hides() {
    crate::hide_this_process().unwrap();
    let behaviour = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(behaviour, rustix::process::DumpableBehavior::NotDumpable);
}
