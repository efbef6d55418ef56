//! Files of this machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use interlock_protocol::{ContentHash, Observation, Outcome, Verification};
use serde_json::{Value, json};

use super::stage::{Stage, names_in, outcomes, with};

#[tokio::test]
async fn a_file_is_read_with_its_hash() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("text", "Grüße\n");
    for (tool, arguments) in [
        ("infra_read", stage.read("file", json!({"path": path}))),
        ("read_file", json!({"path": path})),
        ("read_file", stage.at(&path)),
        (
            "infra_file_edit",
            with(json!({"action": "read"}), stage.at(&path)),
        ),
    ] {
        let done = stage.run(tool, arguments).await;
        let data = done.response.outcome().unwrap();
        assert_eq!(
            (&data["content"], &data["truncated"], &data["total_bytes"]),
            (&json!("Grüße\n"), &json!(false), &json!(8)),
            "{tool}"
        );
        assert_eq!(data.get("not_text"), None);
        let hash = ContentHash::of("Grüße\n");
        let reading = done.reading.unwrap();
        assert_eq!(reading.resource.as_ref(), Some(stage.host.id()));
        assert_eq!(
            reading.observations,
            [
                Observation::Present,
                Observation::File {
                    path: path.clone(),
                    hash: Some(hash)
                }
            ]
        );
        assert_eq!(done.output_hash, Some(hash));
    }
}

#[tokio::test]
async fn what_is_no_text_is_shown_as_far_as_it_is() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("binary", [b'a', 0xff, b'b']);
    let data = stage.data("read_file", json!({"path": path})).await;
    assert_eq!(data["content"], "a\u{fffd}b");
    assert!(data["not_text"].is_string());
}

#[tokio::test]
async fn a_part_of_a_file_can_be_had() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("long", "11\n22\n33\n44\n55\n");
    let data = stage.data("read_file", json!({"path": path})).await;
    assert_eq!(
        (&data["content"], &data["truncated"]),
        (&json!("11\n22\n33\n44\n55\n"), &json!(false))
    );
    let tail = stage.read("tail", json!({"path": path, "lines": 2}));
    let data = stage.data("infra_read", tail).await;
    assert_eq!(
        (&data["content"], &data["total_bytes"]),
        (&json!("44\n55\n"), &json!(15))
    );
    let data = stage
        .data("read_file", json!({"path": path, "max_size_mb": 0.000_003}))
        .await;
    assert_eq!(data["content"], "11\n");
}

#[tokio::test]
async fn what_is_no_file_is_not_opened() {
    let mut stage = Stage::discovered().await;
    let fifo = stage.path("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let folder = stage.path("");
    for path in [
        fifo.as_str(),
        "/dev/zero",
        "/dev/null",
        folder.as_str(),
        "relative",
    ] {
        let (code, _) = stage.error("read_file", json!({"path": path})).await;
        assert_eq!(code, "INVALID_INPUT", "{path}");
    }
}

#[tokio::test]
async fn what_the_kernel_writes_is_read_to_its_end() {
    let mut stage = Stage::discovered().await;
    let data = stage.data("read_file", json!({"path": "/proc/loadavg"})).await;
    assert!(data["content"].as_str().unwrap().contains('/'), "{data}");
}

#[tokio::test]
async fn a_folder_is_listed() {
    let mut stage = Stage::discovered().await;
    stage.file("b", "12345");
    stage.file("a", "");
    symlink("b", stage.path("c")).unwrap();
    let path = stage.path("");
    let data = stage.data("list_directory", json!({ "path": path })).await;
    let shown: Vec<(&str, &str)> = data["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["name"].as_str().unwrap(), entry["type"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [("a", "file"), ("b", "file"), ("c", "link")]);
    assert_eq!(
        (&data["entries"][1]["size"], &data["entries"][2]["target"]),
        (&json!(5), &json!("b"))
    );
    let path = stage.path("none");
    assert_eq!(
        stage.error("list_directory", json!({"path": path})).await.0,
        "NOT_FOUND"
    );
}

#[tokio::test]
async fn files_are_found_by_name() {
    let mut stage = Stage::discovered().await;
    fs::create_dir_all(stage.folder().join("x/y")).unwrap();
    stage.file("x/one.conf", "");
    stage.file("x/y/two.conf", "");
    stage.file("x/y/two.txt", "");
    symlink("/etc", stage.path("x/etc")).unwrap();
    for (pattern, expected) in [
        ("*.conf", vec!["x/one.conf", "x/y/two.conf"]),
        ("two", vec!["x/y/two.conf", "x/y/two.txt"]),
        ("key", vec![]),
        ("passwd", vec![]),
    ] {
        let arguments = stage.read("find", json!({"path": stage.path(""), "pattern": pattern}));
        let data = stage.data("infra_read", arguments).await;
        let mut found: Vec<String> = data["matches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["path"].as_str().unwrap().to_owned())
            .collect();
        found.sort_unstable();
        let expected: Vec<String> = expected.into_iter().map(|name| stage.path(name)).collect();
        assert_eq!(found, expected, "{pattern}");
        assert_eq!(data["truncated"], false);
    }
}

#[tokio::test]
async fn a_written_file_is_verified_by_reading_it() {
    for by_code in [false, true] {
        let mut stage = Stage::discovered().await;
        let path = stage.path("new");
        let arguments = with(stage.at(&path), json!({"content": "hello"}));
        let (done, settled) = stage.settle("write_file", arguments).await;
        assert_eq!(done.outcome, Outcome::Succeeded);
        assert!(settled.required.is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), "hello");
        assert_eq!(names_in(&stage.folder()), ["new"]);
        let ended = if by_code {
            stage.observe().await
        } else {
            let look = stage.at(&path);
            outcomes(&stage.settle("read_file", look).await.1)
        };
        assert_eq!(ended, [Verification::Verified]);
    }
}

#[tokio::test]
async fn a_file_that_changed_again_fails_its_verification() {
    let mut stage = Stage::discovered().await;
    let path = stage.path("new");
    let arguments = with(stage.at(&path), json!({"content": "hello"}));
    stage.run("write_file", arguments).await;
    fs::write(&path, "someone else").unwrap();
    assert_eq!(stage.observe().await, [Verification::Failed]);
}

#[tokio::test]
async fn a_deletion_is_verified_by_finding_nothing() {
    for by_code in [false, true] {
        let mut stage = Stage::discovered().await;
        let path = stage.file("old", "x");
        let arguments = stage.at(&path);
        assert_eq!(
            stage.run("delete_file", arguments).await.outcome,
            Outcome::Succeeded
        );
        let ended = if by_code {
            stage.observe().await
        } else {
            let look = stage.read("file", json!({"path": path}));
            let (done, settled) = stage.settle("infra_read", look).await;
            assert_eq!(done.response.outcome().unwrap()["exists"], false);
            outcomes(&settled)
        };
        assert_eq!(ended, [Verification::Verified]);
    }
}

#[tokio::test]
async fn writing_keeps_permissions_and_makes_no_folders() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("script", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let write = |stage: &Stage, path: &str, content: &str| -> Value {
        with(stage.at(path), json!({"action": "write", "content": content}))
    };
    let arguments = write(&stage, &path, "new");
    stage.run("infra_file_edit", arguments).await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");

    for (path, code) in [
        (stage.path("no/such/folder"), "NOT_FOUND"),
        (stage.path(".."), "INVALID_INPUT"),
    ] {
        let mut stage = Stage::discovered().await;
        let arguments = write(&stage, &path, "x");
        assert_eq!(stage.error("infra_file_edit", arguments).await.0, code, "{path}");
    }
}

#[tokio::test]
async fn adding_adds() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("log", "one\n");
    let arguments = with(stage.at(&path), json!({"action": "append", "content": "two\n"}));
    assert_eq!(stage.data("infra_file_edit", arguments).await["bytes_added"], 4);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn links_are_neither_written_through_nor_is_their_target_deleted() {
    let mut stage = Stage::discovered().await;
    let path = stage.file("real", "kept");
    let link = stage.path("link");
    symlink(&path, &link).unwrap();
    let arguments = with(stage.at(&link), json!({"content": "x"}));
    assert_eq!(stage.error("write_file", arguments).await.0, "INVALID_INPUT");
    stage.observe().await;
    let mut second = Stage::discovered().await;
    let arguments = second.at(&link);
    assert_eq!(
        second.run("delete_file", arguments).await.outcome,
        Outcome::Succeeded
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
    assert!(fs::symlink_metadata(&link).is_err());
}

#[tokio::test]
async fn a_patch_of_a_file_here_is_verified_by_its_whole_content() {
    for by_code in [false, true] {
        let mut stage = Stage::discovered().await;
        let path = stage.file("app.env", "password=hunter2\nworkers=2\n");
        let edits = json!({"action": "patch", "edits": [{"find": "workers=2", "replace": "workers=4"}]});
        let arguments = with(stage.at(&path), edits);
        let (done, settled) = stage.settle("infra_file_edit", arguments).await;
        assert_eq!(done.outcome, Outcome::Succeeded, "{done:?}");
        assert!(settled.required.is_some());
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "password=hunter2\nworkers=4\n"
        );
        let ended = if by_code {
            stage.observe().await
        } else {
            let look = stage.at(&path);
            outcomes(&stage.settle("read_file", look).await.1)
        };
        assert_eq!(ended, [Verification::Verified]);
    }
}
