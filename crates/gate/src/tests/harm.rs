//! What does more harm than its tool says waits for a human in `autonomous`, whichever tool does it.

use interlock_protocol::RiskLevel;
use serde_json::{Value, json};

use super::fixture::{Stage, id};
use crate::context::ResolvedResource;
use crate::gate::Decision;
use crate::rule::Rule;

fn stage() -> Stage {
    Stage::discovered().discover(vec![
        ResolvedResource::new(id("host:box"), "box").in_state("running"),
        ResolvedResource::new(id("docker_container:server1:web"), "web").in_state("running"),
    ])
}

/// Whether a call waits for a human, and its risk.
fn decided(tool: &str, arguments: Value) -> (bool, RiskLevel) {
    match stage().propose(tool, arguments.clone()) {
        Decision::Allow(permit) => (false, permit.plan().risk),
        Decision::Hold(hold) => (true, hold.plan.risk),
        Decision::Block(refusal) => panic!("{tool} {arguments}: {refusal}"),
    }
}

#[test]
fn tools_and_commands_that_write_files_agree_on_every_path() {
    let paths = [
        ("/etc/cron.d/x", true),
        ("/etc/systemd/system/x.service", true),
        ("/root/.bashrc", true),
        ("/root/.ssh/authorized_keys", true),
        ("/etc/sudoers.d/x", true),
        ("/srv/app/.git/hooks/post-merge", true),
        ("/usr/local/bin/x", true),
        ("/etc/../etc/cron.d/x", true),
        ("/etc/shadow", true),
        ("/etc/nginx/nginx.conf", true),
        ("/etc/unknown", true),
        ("/srv/app/config.yaml", true),
        ("/etc/motd", false),
        ("/srv/notes.txt", false),
        // Named by the operator.
        ("/opt/content/page", false),
        ("/opt/bin/x", true),
    ];
    for (path, holds) in paths {
        let target = "lxc:delly:105";
        let write = json!({"path": path, "content": "x", "target_resource_id": target});
        let mut edit = write.clone();
        edit["action"] = "write".into();
        let mut append = edit.clone();
        append["action"] = "append".into();
        let patch = json!({
            "action": "patch", "path": path, "target_resource_id": target, "edits": [{"find": "a", "replace": "b"}],
        });
        let by_write_file = decided("write_file", write);
        for arguments in [edit, append, patch] {
            let by_edit = decided("infra_file_edit", arguments.clone());
            assert_eq!(by_edit, by_write_file, "{arguments}");
        }
        assert_eq!(by_write_file.0, holds, "{path}");
        assert_eq!(by_write_file.1 == RiskLevel::High, holds, "{path}");
        for command in [
            format!("touch {path}"),
            format!("echo x > {path}"),
            format!("cp -T /tmp/x {path}"),
        ] {
            let arguments = json!({"action": "command", "target_resource_id": target, "command": command});
            assert_eq!(
                decided("infra_control", arguments.clone()).0,
                holds,
                "{arguments}"
            );
        }
    }
}

#[test]
fn power_of_hosts_and_images_wait_for_a_human() {
    let control = |action: &str, target: &str| json!({"action": action, "target_resource_id": target});
    let cases = [
        ("infra_control", control("restart", "node:delly"), true),
        ("infra_control", control("shutdown", "node:delly"), true),
        ("infra_control", control("restart", "host:box"), true),
        ("infra_control", control("shutdown", "host:box"), true),
        ("infra_control", control("restart", "lxc:delly:105"), false),
        (
            "infra_docker",
            json!({"action": "update", "resource_id": "docker_container:server1:web", "image": "nginx:2"}),
            true,
        ),
        (
            "infra_docker",
            json!({"action": "restart", "resource_id": "docker_container:server1:web"}),
            false,
        ),
    ];
    for (tool, arguments, holds) in cases {
        assert_eq!(decided(tool, arguments.clone()).0, holds, "{tool} {arguments}");
    }
}

#[test]
fn a_placeholder_is_never_written_and_the_model_is_told_what_to_do() {
    for arguments in [
        json!({"action": "write", "path": "/srv/app.env", "content": "user=x\npassword=[masked:password]\n"}),
        json!({"action": "append", "path": "/srv/app.env", "content": "token=[masked:token]"}),
        json!({"action": "patch", "path": "/srv/app.env", "edits": [{"find": "a", "replace": "[masked:jwt]"}]}),
        json!({"action": "patch", "path": "/srv/app.env", "edits": [{"find": "p=[masked:password]", "replace": "p=x"}]}),
    ] {
        let mut arguments = arguments;
        arguments["target_resource_id"] = "lxc:delly:105".into();
        let refusal = stage().refused("infra_file_edit", arguments.clone());
        assert_eq!(refusal.rule, Rule::Arguments, "{arguments}");
        assert!(refusal.auto_recoverable(), "{arguments}");
        assert!(refusal.details.contains_key("masked_placeholders"), "{arguments}");
        assert!(
            refusal.recovery_hint.unwrap().contains("action=patch"),
            "{arguments}"
        );
    }
    // Looking for a placeholder is no write.
    let look = json!({"action": "file", "path": "/srv/[masked:x]", "target_resource_id": "lxc:delly:105"});
    let _permit = stage().allowed("infra_read", look);
}
