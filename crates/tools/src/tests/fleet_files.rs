//! Files inside guests: whole or not at all, whatever is in them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use interlock_protocol::Verification;
use serde_json::{Value, json};

use super::stage::{names_in, outcomes};
use super::world::World;

const GUEST: &str = "lxc:delly:141";

fn edit(action: &str, path: &str, content: &str) -> Value {
    json!({"action": action, "target_resource_id": GUEST, "path": path, "content": content})
}

fn at(path: &str) -> Value {
    json!({"target_resource_id": GUEST, "path": path})
}

#[tokio::test]
async fn what_is_written_is_there_to_the_byte_and_verified() {
    let long = "line of text\n".repeat(50_000);
    for (name, content) in [
        ("plain", "hello\n"),
        ("empty", ""),
        ("odd name $(id) 'x'", "a'b\"c$(id)`id`\\\n\u{0}é\u{1F600}\r\n"),
        ("long", long.as_str()),
    ] {
        let mut world = World::discovered().await;
        let path = world.path(name);
        world.data("infra_file_edit", edit("write", &path, content)).await;
        assert_eq!(fs::read_to_string(&path).unwrap(), content, "{name}");
        let (_, settled) = world.stage.settle("read_file", at(&path)).await;
        assert_eq!(outcomes(&settled), [Verification::Verified], "{name}");
        assert_eq!(names_in(&world.guest_folder()), [name], "nothing else is left");
    }
}

#[tokio::test]
async fn rights_are_kept_and_links_are_named() {
    let mut world = World::discovered().await;
    let path = world.path("real");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    world.data("infra_file_edit", edit("write", &path, "new")).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let (_, settled) = world.stage.settle("read_file", at(&path)).await;
    assert_eq!(outcomes(&settled), [Verification::Verified]);
    world
        .data("infra_file_edit", edit("append", &path, " and more"))
        .await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "new and more");

    // The plan must name the file that it changes.
    let mut world = World::discovered().await;
    let (path, link) = (world.path("real"), world.path("link"));
    fs::write(&path, "old").unwrap();
    symlink(&path, &link).unwrap();
    let (code, message) = world.error("infra_file_edit", edit("write", &link, "new")).await;
    assert_eq!(code, "INVALID_INPUT");
    assert!(message.contains(&path), "{message}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    for (action, name, code) in [
        ("write", "none/x", "NOT_FOUND"),
        ("append", "none", "NOT_FOUND"),
        ("write", "folder", "INVALID_INPUT"),
    ] {
        let mut world = World::discovered().await;
        fs::create_dir(world.path("folder")).unwrap();
        let arguments = edit(action, &world.path(name), "x");
        let (got, message) = world.error("infra_file_edit", arguments).await;
        assert_eq!(got, code, "{action} {name}: {message}");
        assert_eq!(names_in(&world.guest_folder()), ["folder"]);
    }
    let mut world = World::discovered().await;
    let (code, _) = world
        .error("infra_file_edit", edit("write", "relative", "x"))
        .await;
    assert_eq!(code, "INVALID_INPUT");
}

#[tokio::test]
async fn files_are_read_listed_found_and_deleted() {
    let mut world = World::discovered().await;
    let path = world.path("a.log");
    fs::write(&path, "one\ntwo\nthree\n").unwrap();
    fs::create_dir(world.path("sub")).unwrap();
    fs::write(world.path("sub/b.log"), [0xff, 0xfe]).unwrap();
    let read = world.data("read_file", at(&path)).await;
    assert_eq!(
        (&read["content"], &read["total_bytes"]),
        (&json!("one\ntwo\nthree\n"), &json!(14))
    );
    let mut tail = at(&path);
    tail["action"] = "tail".into();
    tail["lines"] = 1.into();
    assert_eq!(world.data("infra_read", tail).await["content"], "three\n");
    let folder = world.guest_folder();
    let listed = world.data("list_directory", at(folder.to_str().unwrap())).await;
    assert_eq!(listed["entries"][0]["name"], "a.log");
    assert_eq!(listed["entries"][1]["type"], "folder");
    let mut find = at(folder.to_str().unwrap());
    find["action"] = "find".into();
    find["pattern"] = "*.log".into();
    let found = world.data("infra_read", find).await;
    assert_eq!(found["matches"].as_array().unwrap().len(), 2, "{found}");
    world.data("delete_file", at(&path)).await;
    let (done, settled) = world.stage.settle("read_file", at(&path)).await;
    assert_eq!(done.response.outcome().unwrap()["exists"], false);
    assert_eq!(outcomes(&settled), [Verification::Verified]);
    let (code, _) = world.error("delete_file", at(&path)).await;
    assert_eq!(code, "NOT_FOUND");
}

fn patch(path: &str, edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = edits
        .iter()
        .map(|(find, replace)| json!({"find": find, "replace": replace}))
        .collect();
    json!({"action": "patch", "target_resource_id": GUEST, "path": path, "edits": edits})
}

#[tokio::test]
async fn a_patch_changes_its_parts_and_nothing_else_and_is_verified() {
    for by_code in [false, true] {
        let mut world = World::discovered().await;
        let path = world.path("app.env");
        fs::write(&path, "password=hunter2\nworkers=2\n\u{fffd}\r\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let data = world
            .data("infra_file_edit", patch(&path, &[("workers=2", "workers=4")]))
            .await;
        assert!(!data.to_string().contains("hunter2"), "{data}");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "password=hunter2\nworkers=4\n\u{fffd}\r\n"
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let ended = if by_code {
            world.observe().await
        } else {
            outcomes(&world.stage.settle("read_file", at(&path)).await.1)
        };
        assert_eq!(ended, [Verification::Verified]);
        assert_eq!(names_in(&world.guest_folder()), ["app.env"]);
    }
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing() {
    for (edits, code) in [
        (&[("none", "x")][..], "INVALID_INPUT"),
        (&[("a", "x")], "INVALID_INPUT"),
        (&[("b=1", "c=1"), ("b=1", "d=1")], "INVALID_INPUT"),
    ] {
        let mut world = World::discovered().await;
        let path = world.path("x");
        fs::write(&path, "a=1\na=2\nb=1\n").unwrap();
        let (got, message) = world.error("infra_file_edit", patch(&path, edits)).await;
        assert_eq!(got, code, "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "a=1\na=2\nb=1\n");
        assert_eq!(names_in(&world.guest_folder()), ["x"]);
    }
    let mut world = World::discovered().await;
    let path = world.path("gone");
    let (code, _) = world.error("infra_file_edit", patch(&path, &[("a", "b")])).await;
    assert_eq!(code, "NOT_FOUND");
}

#[tokio::test]
async fn nothing_runs_on_another_machine_that_took_the_name() {
    let mut world = World::discovered().await;
    let path = world.path("x");
    // The plan is made for the machine that was discovered; then its host key is another.
    world.forget_host_key();
    let (code, message) = world.error("infra_file_edit", edit("write", &path, "x")).await;
    assert_eq!(code, "STRICT_RESOLUTION", "{message}");
    assert!(message.contains("SSH key was SHA256:"), "{message}");
    assert!(!fs::exists(&path).unwrap());
}
