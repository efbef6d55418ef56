//! What is changed over the API changes the world.

use interlock_lab::cluster::{Failure, Place};
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn guests_live_move_and_die() {
    let world = World::start().await;
    let write = world.cluster.machine(&Place::Guest(141)).expect("a machine");
    write.write("/root/note", b"mine").await.expect("written");
    let base = "/nodes/delly/lxc/141";
    let move_on = world
        .task("POST", &format!("{base}/migrate"), "target=minipc&restart=1")
        .await;
    assert_eq!(move_on, "OK");
    let guest = world.cluster.guest(141).await.expect("a guest");
    assert_eq!(guest.node, "minipc");
    let machine = world.cluster.machine(&Place::Guest(141)).expect("a machine");
    assert_eq!(
        machine.read("/root/note").await.expect("its disk came along"),
        b"mine"
    );

    let end = world
        .task("POST", "/nodes/delly/qemu/203/migrate", "target=tower&online=1")
        .await;
    assert!(end.contains("can't live migrate attached local disks"), "{end}");
    let form = "target=tower&online=1&with-local-disks=1";
    assert_eq!(
        world.task("POST", "/nodes/delly/qemu/203/migrate", form).await,
        "OK"
    );

    let vm = "/nodes/tower/qemu/203";
    assert_eq!(
        world.task("POST", &format!("{vm}/status/suspend"), "").await,
        "OK"
    );
    assert_eq!(
        world.get(&format!("{vm}/status/current")).await["qmpstatus"],
        "paused"
    );
    assert_eq!(world.task("POST", &format!("{vm}/status/resume"), "").await, "OK");
    let end = world
        .task("POST", &format!("{vm}/config"), "description=moved")
        .await;
    assert_eq!(end, "OK");
    assert_eq!(world.get(&format!("{vm}/config")).await["description"], "moved");
    for word in ["reboot", "reset", "shutdown", "start", "stop"] {
        assert_eq!(
            world.task("POST", &format!("{vm}/status/{word}"), "").await,
            "OK",
            "{word}"
        );
    }
    assert!(world.cluster.machine(&Place::Guest(203)).is_none());

    let base = "/nodes/minipc/lxc/141";
    assert_eq!(
        world
            .task("POST", &format!("{base}/snapshot"), "snapname=before")
            .await,
        "OK"
    );
    let digest = world.get(&format!("{base}/config")).await["digest"].clone();
    let form = format!("memory=2048&digest={}", digest.as_str().expect("a digest"));
    assert_eq!(
        world.ask("PUT", &format!("{base}/config"), &form).await.status,
        "200 OK"
    );
    let again = world.ask("PUT", &format!("{base}/config"), &form).await.status;
    assert!(
        again.starts_with("500 detected modified configuration"),
        "{again}"
    );
    assert_eq!(world.get(&format!("{base}/config")).await["memory"], 2048);
    assert_eq!(
        world
            .task("POST", &format!("{base}/snapshot/before/rollback"), "")
            .await,
        "OK"
    );
    assert_eq!(world.get(&format!("{base}/config")).await["memory"], 1024);
    assert_eq!(
        world.task("DELETE", &format!("{base}/snapshot/before"), "").await,
        "OK"
    );
    assert_eq!(
        world
            .get(&format!("{base}/snapshot"))
            .await
            .as_array()
            .map(Vec::len),
        Some(1)
    );

    let form = "vmid=141&storage=backup";
    assert_eq!(world.task("POST", "/nodes/minipc/vzdump", form).await, "OK");
    let content = world
        .get("/nodes/minipc/storage/backup/content?content=backup")
        .await;
    assert_eq!(content[0]["vmid"], 141);
    assert_eq!(world.task("DELETE", base, "purge=1").await, "OK");
    assert!(world.cluster.guest(141).await.is_none());
    let log = world.get("/cluster/log?max=1").await;
    assert!(
        log[0]["msg"].as_str().is_some_and(|text| text.ends_with(" OK")),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_runs_real_programs() {
    let world = World::start().await;
    if !world.runs_everything() {
        return;
    }
    let base = "/nodes/delly/qemu/203/agent";
    assert_eq!(
        world.ask("POST", &format!("{base}/ping"), "").await.body["data"]["result"],
        json!({})
    );
    let token = format!("Authorization: {}", world.credentials.authorization());
    let headers = [token.as_str(), "Content-Type: application/json"];
    let body =
        json!({ "command": ["sh", "-c", "cat; cat /etc/motd; echo no >&2; exit 3"], "input-data": "in\n" });
    let path = format!("/api2/json{base}/exec");
    let reply = world.send(&headers, "POST", &path, &body.to_string()).await;
    let pid = reply.body["data"]["pid"]
        .as_u64()
        .unwrap_or_else(|| panic!("{reply:?}"));
    let status = loop {
        let status = world.get(&format!("{base}/exec-status?pid={pid}")).await;
        if status["exited"] == 1 {
            break status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(
        status,
        json!({ "exited": 1, "exitcode": 3, "out-data": "in\nthis is database\n", "err-data": "no\n" })
    );
    let reply = world
        .ask("POST", &format!("{base}/exec"), "command=/no/such/program")
        .await;
    assert!(
        reply
            .status
            .starts_with("500 Agent error: Failed to execute child process"),
        "{reply:?}"
    );
    let form = "file=/root/new&content=written";
    assert_eq!(
        world
            .ask("POST", &format!("{base}/file-write"), form)
            .await
            .status,
        "200 OK"
    );
    let read = world.get(&format!("{base}/file-read?file=/root/new")).await;
    assert_eq!(read["content"], "written");
    assert_eq!(
        world.get(&format!("{base}/get-host-name")).await["result"]["host-name"],
        "database"
    );
    let systems = world.get(&format!("{base}/get-fsinfo")).await;
    assert!(systems["result"][0]["used-bytes"].as_u64() > Some(0), "{systems}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_breaks_and_is_mended() {
    let world = World::start().await;
    if !world.runs_everything() {
        return;
    }
    world
        .cluster
        .fail_node("delly", Failure::Disk)
        .await
        .expect("broken");
    assert_eq!(world.get("/nodes/delly/disks/list").await[0]["health"], "FAILED");
    assert!(world.get("/nodes/delly/status").await["wait"].as_f64() > Some(0.3));
    let journal = world.get("/nodes/delly/journal").await.to_string();
    assert!(
        journal.contains("blk_update_request: I/O error, dev nvme0n1"),
        "{journal}"
    );

    world
        .cluster
        .fail_node("delly", Failure::Offline)
        .await
        .expect("gone");
    let reply = world.ask("GET", "/nodes/delly/status", "").await;
    assert_eq!(reply.status, "595 No route to host");
    let reply = world.ask("POST", "/nodes/delly/lxc/141/status/start", "").await;
    assert_eq!(reply.status, "595 No route to host");
    let vms = world.get("/cluster/resources?type=vm").await;
    assert!(
        vms.as_array().unwrap().iter().all(|vm| vm["status"] == "unknown"),
        "{vms}"
    );
    assert_eq!(world.get("/cluster/status").await[0]["quorate"], 1);
    assert!(world.cluster.machine(&Place::Guest(141)).is_none());

    // What an administrator does then: the file of the guest is moved, on a node that lives.
    let node = world
        .cluster
        .machine(&Place::Node("minipc".to_owned()))
        .expect("a node");
    let exec = interlock_lab::machine::Exec {
        argv: [
            "mv",
            "/etc/pve/nodes/delly/lxc/141.conf",
            "/etc/pve/nodes/minipc/lxc/141.conf",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Default::default()
    };
    let moved = node.exec(exec).await.expect("moved");
    assert_eq!(moved.code, 0, "{}", String::from_utf8_lossy(&moved.stderr));
    assert_eq!(
        world.task("POST", "/nodes/minipc/lxc/141/status/start", "").await,
        "OK"
    );

    world
        .cluster
        .fail_node("tower", Failure::Offline)
        .await
        .expect("gone");
    assert_eq!(world.get("/cluster/status").await[0]["quorate"], 0);
    let reply = world.ask("DELETE", "/nodes/minipc/lxc/141", "").await;
    assert_eq!(reply.status, "500 cluster not ready - no quorum?");
    for node in ["delly", "tower"] {
        world.cluster.heal_node(node).await.expect("mended");
    }
    assert_eq!(world.get("/nodes/delly/disks/list").await[0]["health"], "PASSED");
    assert_eq!(
        world.task("POST", "/nodes/delly/qemu/203/status/start", "").await,
        "OK"
    );
}
