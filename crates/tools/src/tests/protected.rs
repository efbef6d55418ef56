//! Interlock's own files, and what processes hold, by every tool and every way.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::stage::{Stage, with};

#[tokio::test]
async fn interlocks_own_files_are_refused_by_every_way() {
    let mut stage = Stage::discovered().await;
    symlink(stage.own(""), stage.path("link")).unwrap();
    symlink(stage.own("key"), stage.path("file-link")).unwrap();
    let root = stage.own("..");
    for path in [
        stage.own("key"),
        stage.path("link/key"),
        stage.path("file-link"),
        stage.own("../own/./key"),
        stage.path("link"),
    ] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("infra_read", stage.read("file", json!({"path": path}))),
            ("infra_read", stage.read("tail", json!({"path": path}))),
            ("list_directory", json!({"path": path})),
            ("infra_read", stage.read("find", json!({"path": path}))),
        ] {
            let (code, message) = stage.error(tool, arguments).await;
            assert_eq!(code, "ACTION_NOT_ALLOWED", "{tool} {path} {message}");
        }
    }
    let found = stage.read("find", json!({"path": root}));
    let data = stage.data("infra_read", found).await;
    assert!(!data.to_string().contains("key"), "{data}");
}

#[tokio::test]
async fn interlocks_own_files_are_neither_written_nor_deleted() {
    for (tool, name) in [
        ("write_file", "own/key"),
        ("write_file", "own/new"),
        ("write_file", "link/key"),
        ("delete_file", "own/key"),
        ("delete_file", "link/key"),
        ("infra_file_edit", "own/key"),
    ] {
        let mut stage = Stage::discovered().await;
        symlink(stage.own(""), stage.path("link")).unwrap();
        let path = match name.strip_prefix("own/") {
            Some(name) => stage.own(name),
            None => stage.path(name),
        };
        let mut arguments = stage.at(&path);
        match tool {
            "write_file" => arguments["content"] = "x".into(),
            "infra_file_edit" => arguments = with(arguments, json!({"action": "append", "content": "x"})),
            _ => {}
        }
        let (code, _) = stage.error(tool, arguments).await;
        assert_eq!(code, "ACTION_NOT_ALLOWED", "{tool} {name}");
        assert_eq!(fs::read_to_string(stage.own("key")).unwrap(), "hush");
        assert_eq!(fs::read_dir(stage.own("")).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn what_processes_and_the_kernel_hold_is_refused() {
    let mut stage = Stage::discovered().await;
    let us = std::process::id();
    for path in [
        "/proc/self/environ".to_owned(),
        "/proc/thread-self/environ".to_owned(),
        format!("/proc/{us}/environ"),
        format!("/proc/{us}/status"),
        format!("/proc/{us}/task/{us}/environ"),
        "/proc/self/maps".to_owned(),
        "/proc/1/environ".to_owned(),
        "/proc/1/mem".to_owned(),
        "/proc/kcore".to_owned(),
        "/proc/kmsg".to_owned(),
    ] {
        // What this kernel does not have at all cannot be shown either.
        if !fs::exists(&path).unwrap() {
            continue;
        }
        let (code, message) = stage.error("read_file", json!({"path": path})).await;
        assert_eq!(code, "ACTION_NOT_ALLOWED", "{path} {message}");
    }
    for path in [
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        "/proc/self/cwd/x",
        "/dev/fd/0",
    ] {
        let (code, message) = stage.error("read_file", json!({"path": path})).await;
        assert_ne!(code, "NOT_FOUND", "{path} {message}");
    }
}

#[tokio::test]
async fn a_link_is_no_way_around_asking_for_secrets() {
    let mut stage = Stage::discovered().await;
    symlink("/etc/shadow", stage.path("harmless")).unwrap();
    let path = stage.path("harmless");
    let (code, message) = stage.error("read_file", json!({"path": path})).await;
    assert_eq!(code, "ACTION_NOT_ALLOWED");
    assert!(message.contains("/etc/shadow"), "{message}");
}

#[tokio::test]
async fn a_command_does_not_reach_interlocks_own_files() {
    let mut stage = Stage::discovered().await;
    let path = stage.own("key");
    let command = stage.read("exec", json!({"command": format!("cat {path}")}));
    let data = stage.data("infra_read", command).await;
    if data.get("without_sandbox").is_some() {
        eprintln!("skipped: no sandbox on this machine");
        return;
    }
    assert_eq!((&data["stdout"], &data["exit_code"]), (&json!(""), &json!(1)));
}
