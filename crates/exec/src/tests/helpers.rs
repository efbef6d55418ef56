//! Programs of our own are a closed list, and nothing of a command is in their arguments.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use interlock_protocol::ToolKind;

use super::stage::run;

/// What is started, by file: the helper, or the constant path.
const STARTED: [(&str, &[&str]); 3] = [
    // Its only caller hands it the path of `Helper::Confine`.
    ("spawn.rs", &["confine"]),
    ("lab.rs", &["Helper::Lab.path()?"]),
    ("browser.rs", &["OPENER"]),
];

#[test]
fn this_room_starts_what_is_on_the_list_and_nothing_else() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for part in text.split("Command::new(").skip(1) {
            let mut depth = 1;
            let end = part
                .find(|character| {
                    depth += match character {
                        '(' => 1,
                        ')' => -1,
                        _ => 0,
                    };
                    depth == 0
                })
                .unwrap();
            found
                .entry(name.clone())
                .or_default()
                .push(part[..end].to_owned());
        }
    }
    let listed: BTreeMap<String, Vec<String>> = STARTED
        .iter()
        .map(|(file, what)| {
            (
                (*file).to_owned(),
                what.iter().map(|what| (*what).to_owned()).collect(),
            )
        })
        .collect();
    assert_eq!(found, listed);
}

/// The arguments of every process that runs `interlock-confine` at this moment and belongs to this one.
fn confiners() -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let folder = entry.path();
        let is_confine = std::fs::read_link(folder.join("exe"))
            .is_ok_and(|exe| exe.file_name().is_some_and(|name| name == "interlock-confine"))
            // Another user than root may not see what a protected process runs. The kernel cuts names.
            || std::fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.starts_with("interlock-conf"));
        if is_confine && let Ok(arguments) = std::fs::read(folder.join("cmdline")) {
            all.push(String::from_utf8_lossy(&arguments).replace('\0', " "));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_command_is_in_the_arguments_of_the_confiner() {
    let marker = format!("marker-of-a-model-{}", std::process::id());
    let command = format!("sleep 1; : {marker}");
    let running = tokio::spawn(async move { run(ToolKind::Read, &command).await });
    let mut seen = Vec::new();
    while !running.is_finished() {
        seen.extend(confiners());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    running.await.unwrap();
    assert!(!seen.is_empty(), "no confiner was seen");
    let telling: Vec<_> = seen
        .iter()
        .filter(|arguments| arguments.contains(&marker))
        .collect();
    assert!(telling.is_empty(), "{telling:?}");
}
