//! The API over real HTTP: who may ask, what can be read, what is refused.

use interlock_lab::cluster::Place;
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_must_be_known_and_may_do_what_their_role_may() {
    let world = World::start().await;
    let credentials = &world.credentials;
    let reply = world.ask_with(&[], "GET", "/nodes", "").await;
    assert_eq!(reply.status, "401 No ticket");

    let wrong = world
        .ask_with(&[], "POST", "/access/ticket", "username=root@pam&password=wrong")
        .await;
    assert_eq!(wrong.status, "401 authentication failure");
    assert_eq!(
        wrong.body,
        json!({ "data": null, "message": "authentication failure\n" })
    );
    let form = format!("username=root&realm=pam&password={}", credentials.password);
    let right = world.ask_with(&[], "POST", "/access/ticket", &form).await;
    let data = &right.body["data"];
    let ticket = data["ticket"].as_str().expect("a ticket");
    assert!(ticket.starts_with("PVE:root@pam:") && ticket.contains("::"));
    assert_eq!(data["username"], "root@pam");
    assert_eq!(data["cap"]["vms"]["VM.PowerMgmt"], 1);

    let cookie = format!("Cookie: PVEAuthCookie={ticket}");
    let csrf = format!(
        "CSRFPreventionToken: {}",
        data["CSRFPreventionToken"].as_str().expect("a token")
    );
    let start = "/nodes/delly/lxc/142/status/start";
    assert_eq!(
        world.ask_with(&[&cookie], "GET", "/nodes", "").await.status,
        "200 OK"
    );
    let reply = world.ask_with(&[&cookie], "POST", start, "").await;
    assert_eq!(reply.status, "401 Permission denied - invalid csrf token");

    let auditor = format!("Authorization: {}", credentials.auditor_authorization());
    assert_eq!(
        world.ask_with(&[&auditor], "GET", "/nodes", "").await.status,
        "200 OK"
    );
    let reply = world
        .ask_with(&[&auditor], "POST", "/nodes/delly/lxc/141/status/stop", "")
        .await;
    assert_eq!(
        reply.status,
        "403 Permission check failed (/vms/141, VM.PowerMgmt)"
    );
    assert!(
        world.cluster.machine(&Place::Guest(141)).is_some(),
        "nothing happened"
    );

    let reply = world.ask_with(&[&cookie, &csrf], "POST", start, "").await;
    let upid = reply.body["data"].as_str().expect("a UPID");
    assert!(
        upid.starts_with("UPID:delly:") && upid.ends_with(":vzstart:142:root@pam:"),
        "{upid}"
    );
    assert_eq!(world.follow(upid).await, "OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_can_be_read() {
    let world = World::start().await;
    let resources = world.get("/cluster/resources").await;
    let find = |id: &str| -> Value {
        let list = resources.as_array().expect("a list");
        list.iter()
            .find(|entry| entry["id"] == id)
            .cloned()
            .unwrap_or_else(|| panic!("no {id}"))
    };
    let lxc = find("lxc/141");
    assert_eq!(lxc["vmid"], 141);
    assert_eq!(lxc["status"], "running");
    assert_eq!(lxc["tags"], "web;prod");
    assert_eq!(lxc["template"], 0);
    assert!(lxc["cpu"].is_f64() && lxc["maxmem"] == 1 << 30 && lxc["uptime"].is_i64());
    assert!(lxc["disk"].as_u64() > Some(0), "from the real disk: {lxc}");
    assert_eq!(find("qemu/204")["status"], "stopped");
    assert_eq!(find("node/tower")["status"], "online");
    assert_eq!(find("storage/delly/local-lvm")["plugintype"], "lvmthin");
    assert_eq!(
        world
            .get("/cluster/resources?type=vm")
            .await
            .as_array()
            .map(Vec::len),
        Some(4)
    );

    // The real one gives the number of a container as a string in its list, that of a virtual machine as a number.
    assert_eq!(world.get("/nodes/delly/lxc").await[0]["vmid"], "141");
    assert_eq!(world.get("/nodes/delly/qemu").await[0]["vmid"], 203);
    assert_eq!(world.get("/cluster/status").await[0]["quorate"], 1);
    assert_eq!(world.get("/cluster/nextid").await, "100");
    assert_eq!(
        world.get("/nodes/delly/lxc/141/status/current").await["name"],
        "homepage"
    );
    let current = world.get("/nodes/delly/qemu/203/status/current").await;
    assert_eq!(
        (&current["qmpstatus"], &current["agent"]),
        (&json!("running"), &json!(1))
    );
    let config = world.get("/nodes/delly/lxc/141/config").await;
    assert_eq!(config["hostname"], "homepage");
    assert_eq!(config["rootfs"], "local-lvm:vm-141-disk-0,size=64M");
    assert_eq!(
        world.get("/nodes/delly/lxc/141/interfaces").await[1]["inet"],
        "10.77.0.141/24"
    );
    let services = world.get("/nodes/delly/services").await;
    let smartd = services
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == "smartd");
    let smartd = smartd.unwrap_or_else(|| panic!("{services}"));
    assert_eq!(
        (&smartd["desc"], &smartd["active-state"]),
        (&json!("Disk watcher"), &json!("inactive"))
    );
    for timeframe in ["hour", "day", "week", "month", "year"] {
        let data = world
            .get(&format!("/nodes/delly/rrddata?timeframe={timeframe}&cf=AVERAGE"))
            .await;
        assert_eq!(data.as_array().map(Vec::len), Some(70));
        let data = world
            .get(&format!("/nodes/delly/lxc/141/rrddata?timeframe={timeframe}"))
            .await;
        assert!(data[69]["cpu"].is_f64());
    }
    for path in [
        "/version",
        "/storage",
        "/cluster/tasks",
        "/cluster/log",
        "/cluster/ha/resources",
        "/cluster/ha/status/current",
        "/cluster/backup-info/not-backed-up",
        "/cluster/replication",
        "/nodes/delly/status",
        "/nodes/delly/version",
        "/nodes/delly/time",
        "/nodes/delly/storage",
        "/nodes/delly/storage/local-lvm/status",
        "/nodes/delly/storage/local-lvm/content",
        "/nodes/delly/disks/list",
        "/nodes/delly/disks/smart?disk=/dev/nvme0n1",
        "/nodes/delly/services",
        "/nodes/delly/syslog",
        "/nodes/delly/journal",
        "/nodes/delly/network",
        "/nodes/delly/replication",
        "/nodes/delly/qemu/203/migrate",
        "/nodes/delly/lxc/141/pending",
        "/nodes/delly/lxc/141/snapshot",
    ] {
        assert!(!world.get(path).await.is_null(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_refused_in_the_words_of_the_real_one() {
    let world = World::start().await;
    let missing = "500 Configuration file 'nodes/delly/lxc/999.conf' does not exist";
    let cases = [
        ("GET", "/x", "501 Method 'GET /x' not implemented"),
        (
            "PUT",
            "/nodes/delly/lxc/141",
            "501 Method 'PUT /nodes/delly/lxc/141' not implemented",
        ),
        ("GET", "/nodes/delly/lxc/999/config", missing),
        (
            "GET",
            "/nodes/minipc/lxc/141/config",
            "500 Configuration file 'nodes/minipc/lxc/141.conf' does not exist",
        ),
        (
            "GET",
            "/nodes/delly/lxc/abc/config",
            "400 Parameter verification failed.",
        ),
        (
            "GET",
            "/nodes/delly/rrddata",
            "400 Parameter verification failed.",
        ),
        (
            "GET",
            "/nodes/delly/tasks?limit=x",
            "400 Parameter verification failed.",
        ),
        (
            "GET",
            "/nodes/delly/tasks/UPID:x/status",
            "400 Parameter verification failed.",
        ),
        (
            "GET",
            "/nodes/delly/ceph/status",
            "500 binary not installed: /usr/bin/ceph-mon",
        ),
        (
            "POST",
            "/nodes/delly/lxc/141/status/start",
            "500 CT 141 already running",
        ),
        (
            "POST",
            "/nodes/delly/lxc/142/status/stop",
            "500 CT 142 not running",
        ),
        (
            "POST",
            "/nodes/delly/qemu/204/status/reboot",
            "500 VM 204 not running",
        ),
        (
            "POST",
            "/nodes/delly/lxc/141/status/reset",
            "501 Method 'POST /nodes/delly/lxc/141/status/reset' not implemented",
        ),
        (
            "POST",
            "/nodes/delly/lxc/141/migrate?target=minipc",
            "500 can't migrate running container without --online or --restart",
        ),
        (
            "POST",
            "/nodes/delly/qemu/203/migrate?target=minipc",
            "500 can't migrate running VM without --online",
        ),
        (
            "POST",
            "/nodes/delly/qemu/203/migrate?target=nowhere&online=1",
            "500 no such cluster node 'nowhere'",
        ),
        (
            "DELETE",
            "/nodes/delly/lxc/141",
            "500 unable to destroy CT 141 - container is running",
        ),
        (
            "DELETE",
            "/nodes/delly/qemu/203",
            "500 VM 203 is running - destroy failed",
        ),
        (
            "POST",
            "/nodes/delly/qemu/204/agent/ping",
            "500 VM 204 is not running",
        ),
    ];
    for (method, path, status) in cases {
        assert_eq!(
            world.ask(method, path, "").await.status,
            status,
            "{method} {path}"
        );
    }
    let reply = world
        .ask("POST", "/nodes/delly/lxc/141/migrate", "target=delly")
        .await;
    assert_eq!(reply.body["errors"], json!({ "target": "target is local node." }));
    let reply = world
        .ask("POST", "/nodes/delly/lxc/142/status/start", "sudo=1")
        .await;
    assert!(reply.body["errors"]["sudo"].is_string(), "{reply:?}");
    // A virtual machine is told so by its task.
    let end = world.task("POST", "/nodes/delly/qemu/203/status/start", "").await;
    assert_eq!(end, "VM 203 already running");
    let failed = world
        .get("/nodes/delly/tasks?errors=1&vmid=203&typefilter=qmstart")
        .await;
    assert_eq!(failed[0]["status"], "VM 203 already running");
    let large = "x".repeat(2 << 20);
    let reply = world
        .ask("POST", "/nodes/delly/lxc/142/status/start", &large)
        .await;
    assert_eq!(reply.status, "501 for data too large");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_asked_brings_it_down() {
    let world = World::start().await;
    let token = format!("Authorization: {}", world.credentials.authorization());
    let paths = [
        "/",
        "//",
        "/nodes/%FF%00/status",
        "/nodes/../../etc/passwd",
        "/nodes/delly/tasks/%00/status",
        "/nodes/delly/tasks?start=18446744073709551615&limit=0",
        "/nodes/delly/tasks?start=-1",
        "/nodes/delly/lxc/4294967296/config",
        "/nodes/delly/lxc/-141/config",
        "/nodes/delly/lxc/141/config?snapshot=%5B%5D",
        "/nodes/delly/qemu/203/agent/exec-status?pid=99999999999",
        "/nodes/delly/journal?lastentries=99999999999999",
        "/cluster/resources?type[]=vm&&&=",
        "/cluster/log?max=18446744073709551615",
    ];
    for path in paths {
        for (method, kind, body) in [
            ("GET", "text/plain", ""),
            ("POST", "application/json", "{\"a\":[[[["),
            ("PUT", "application/json", "[1]"),
            ("DELETE", "application/x-www-form-urlencoded", "%%%=&=&a"),
            ("PATCH", "text/plain", "x"),
        ] {
            let headers = [token.as_str(), &format!("Content-Type: {kind}")];
            let reply = world
                .send(&headers, method, &format!("/api2/json{path}"), body)
                .await;
            let code: u16 = reply.status.split(' ').next().unwrap().parse().expect("a code");
            assert!((200..=599).contains(&code), "{method} {path}: {reply:?}");
        }
    }
    assert_eq!(
        world.send(&[&token], "GET", "/else", "").await.status,
        "404 no such file '/else'"
    );
    assert_eq!(world.get("/version").await["release"], "8.4");
}
