//! A machine that runs one program, as a container does.

use std::time::{Duration, Instant};

use interlock_lab::machine::{Chunk, Machine, Runs, Stop};

use super::support::{file, get, lab, out, spec, text, until};

async fn printed(machine: &Machine) -> (String, Option<i32>) {
    let mut all = String::new();
    let mut output = machine.output();
    while let Some(chunk) = output.recv().await {
        match chunk {
            Chunk::Stdout(bytes) => all.push_str(&text(&bytes)),
            Chunk::Stderr(bytes) => all.push_str(&format!("! {}", text(&bytes))),
            Chunk::Exit(code) => return (all, Some(code)),
        }
    }
    (all, None)
}

fn program(line: &str) -> Runs {
    Runs::Program(["sh", "-c", line].iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn a_container_ends_with_its_program_and_its_output_stays() {
    let Some(lab) = lab().await else { return };
    let cases = [
        ("echo one; echo two >&2; exit 3", "one\n! two\n", 3),
        ("printf 'no end'; exit 0", "no end", 0),
        ("kill -ABRT $$", "", 134),
        ("echo $HOSTNAME $COLOR", "box blue\n", 0),
    ];
    for (line, expected, code) in cases {
        let mut spec = spec("box");
        spec.runs = program(line);
        spec.env.insert("COLOR".to_owned(), "blue".to_owned());
        let machine = lab.machines.start(&spec).await.unwrap();
        assert_eq!(machine.ended().await, Some(code), "{line}");
        let (mut all, exit) = printed(&machine).await;
        assert_eq!(exit, Some(code), "{line}");
        if expected.starts_with("one") && all.starts_with('!') {
            // Two streams have no order between them.
            all = "one\n! two\n".to_owned();
        }
        assert_eq!(all, expected, "{line}");
        assert!(
            machine
                .exec(interlock_lab::machine::Exec::default())
                .await
                .is_err()
        );
    }
}

#[tokio::test]
async fn a_container_serves_and_is_stopped() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("box");
    spec.files = vec![file("/etc/app.toml", "name = \"app\"\nlisten = 8080\n")];
    spec.runs = Runs::Program(vec!["lab-service".to_owned(), "/etc/app.toml".to_owned()]);
    let machine = lab.machines.start(&spec).await.unwrap();
    until("listens", || async {
        get(&machine, 8080, "/").await.contains("<h1>app</h1>")
    })
    .await;
    assert_eq!(out(&machine, "cat /etc/hostname").await, "box\n");
    let begun = Instant::now();
    machine.stop(Stop::Ask(Duration::from_secs(10))).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(machine.ended().await, Some(143));
    let (all, _) = printed(&machine).await;
    assert!(all.contains("INFO listening on port 8080\n"), "{all}");
}

#[tokio::test]
async fn of_much_output_the_beginning_and_the_end_are_kept() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("box");
    spec.runs = program("seq 1 400000");
    let machine = lab.machines.start(&spec).await.unwrap();
    assert_eq!(machine.ended().await, Some(0));
    let (all, _) = printed(&machine).await;
    assert!(all.starts_with("1\n2\n3\n") && all.ends_with("\n399999\n400000\n"));
    assert!(all.len() < 2 << 20);
}
