//! The mail gateway and its API, over HTTP.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up must stop"
)]

use interlock_lab::mail::{Gateway, Role};
use serde_json::{Value, json};

struct Session {
    base: String,
    ticket: String,
    token: String,
}

struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

async fn gateway() -> Gateway {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Gateway::start("mail").await.unwrap()
}

async fn sign_in(gateway: &Gateway, role: Role) -> Session {
    let base = format!("http://{}/api2/json", gateway.address());
    let form = format!("username={}&password={}", role.user(), gateway.password(role));
    let request = reqwest::Client::new()
        .post(format!("{base}/access/ticket"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    let text = request.send().await.unwrap().text().await.unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let word = |key: &str| found["data"][key].as_str().unwrap().to_owned();
    Session {
        base,
        ticket: word("ticket"),
        token: word("CSRFPreventionToken"),
    }
}

impl Session {
    async fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let request = reqwest::Client::new()
            .request(method.parse().unwrap(), format!("{}{path}", self.base))
            .header("cookie", format!("PMGAuthCookie={}", self.ticket))
            .header("csrfpreventiontoken", &self.token)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.to_owned());
        let response = request.send().await.unwrap();
        Answer {
            status: response.status().as_u16(),
            text: response.text().await.unwrap(),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.call("GET", path, "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()["data"].clone()
    }
}

#[tokio::test]
async fn everything_that_can_be_read_has_its_fields() {
    let gateway = gateway().await;
    let session = sign_in(&gateway, Role::Auditor).await;
    for (path, pointers) in [
        ("/version", vec!["/release", "/version"]),
        ("/nodes", vec!["/0/node"]),
        (
            "/nodes/mail/status",
            vec!["/uptime", "/memory/used", "/rootfs/total", "/loadavg/0", "/cpu"],
        ),
        (
            "/nodes/mail/postfix/qshape",
            vec!["/0/domain", "/0/total", "/0/5m", "/0/1280m+", "/1/domain"],
        ),
        (
            "/nodes/mail/postfix/queue/deferred",
            vec!["/0/queue_id", "/0/reason", "/0/arrival_time"],
        ),
        ("/nodes/mail/services", vec!["/0/service", "/0/state"]),
        (
            "/nodes/mail/tracker",
            vec!["/0/id", "/0/from", "/0/to", "/0/dstatus"],
        ),
        ("/nodes/mail/syslog", vec!["/0/n", "/0/t"]),
        (
            "/statistics/mail",
            vec![
                "/count_in",
                "/spamcount_in",
                "/viruscount_in",
                "/bytes_in",
                "/glcount",
            ],
        ),
        ("/statistics/mailcount", vec!["/0/time", "/0/count_in"]),
        ("/statistics/spamscores", vec!["/0/level", "/10/count"]),
        ("/statistics/virus", vec![]),
        ("/statistics/domains", vec!["/0/domain", "/0/count_in"]),
        ("/statistics/sender", vec!["/0/sender", "/0/count"]),
        ("/statistics/receiver", vec!["/0/receiver", "/0/count"]),
        ("/statistics/recent", vec!["/0/time", "/0/count"]),
        ("/statistics/recentreceivers", vec!["/0/receiver"]),
        ("/statistics/rejectcount", vec!["/0/rbl_rejects"]),
        ("/quarantine/spamstatus", vec!["/count", "/mbytes"]),
        ("/quarantine/virusstatus", vec!["/count"]),
        ("/quarantine/spam", vec!["/0/id", "/0/subject", "/0/spamlevel"]),
    ] {
        let data = session.get(path).await;
        for pointer in pointers {
            assert!(
                data.pointer(pointer).is_some_and(|value| !value.is_null()),
                "{path} lacks {pointer}: {data:#}"
            );
        }
    }
    let count = |data: &Value| data["count_in"].as_u64().unwrap();
    let day = session
        .get("/statistics/mail?starttime=1700000000&endtime=1700086400")
        .await;
    let half = session
        .get("/statistics/mail?starttime=1700000000&endtime=1700043200")
        .await;
    assert!(count(&half) > 0 && count(&half) < count(&day));
    assert_eq!(
        day,
        session
            .get("/statistics/mail?starttime=1700000000&endtime=1700086400")
            .await
    );
}

#[tokio::test]
async fn a_queue_grows_while_the_relay_is_down_and_empties_when_it_is_flushed() {
    let gateway = gateway().await;
    let root = sign_in(&gateway, Role::Root).await;
    let before = gateway.queued();
    gateway.fill_queue(500);
    let shape = root.get("/nodes/mail/postfix/qshape?queues=deferred").await;
    assert!(shape[0]["total"].as_u64().unwrap() >= 500, "{shape:#}");
    assert_eq!(shape[1]["domain"], "lab.example");
    let first = root.get("/nodes/mail/postfix/queue/deferred?limit=1").await;
    assert!(
        first[0]["reason"]
            .as_str()
            .unwrap()
            .contains("Connection refused"),
        "{first:#}"
    );
    let flush = "/nodes/mail/postfix/flush_queues";
    assert_eq!(root.call("POST", flush, "").await.status, 200);
    assert!(
        gateway.queued() >= before + 500,
        "nothing is delivered to a server that is down"
    );

    let id = first[0]["queue_id"].as_str().unwrap();
    let message = format!("/nodes/mail/postfix/queue/deferred/{id}");
    assert_eq!(root.call("DELETE", &message, "").await.status, 200);
    assert_eq!(root.call("DELETE", &message, "").await.status, 500, "it is gone");
    gateway.set_relay_up(true);
    let second = root.get("/nodes/mail/postfix/queue/deferred?limit=1").await;
    let ids = format!("action=deliver&ids={}", second[0]["queue_id"].as_str().unwrap());
    let held = gateway.queued();
    assert_eq!(
        root.call("POST", "/nodes/mail/postfix/queue/deferred", &ids)
            .await
            .status,
        200
    );
    assert_eq!(gateway.queued(), held - 1);
    assert_eq!(root.call("POST", flush, "").await.status, 200);
    assert_eq!(gateway.queued(), before);
    assert_eq!(
        root.call("DELETE", "/nodes/mail/postfix/queue/deferred", "")
            .await
            .status,
        200
    );
    assert_eq!(gateway.queued(), 0);

    let stop = root.call("POST", "/nodes/mail/services/postfix/stop", "").await;
    assert!(stop.text.contains("UPID:mail:"), "{}", stop.text);
    assert_eq!(
        root.get("/nodes/mail/services/postfix/state").await["state"],
        json!("stopped")
    );
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_breaks_nothing() {
    let gateway = gateway().await;
    let root = sign_in(&gateway, Role::Root).await;
    let auditor = sign_in(&gateway, Role::Auditor).await;
    let stranger = Session {
        base: root.base.clone(),
        ticket: "PMG:root@pam:00::00".to_owned(),
        token: String::new(),
    };
    let without = Session {
        base: root.base.clone(),
        ticket: root.ticket.clone(),
        token: "00:00".to_owned(),
    };
    let bell = format!("/nodes/{}/status", "%07".repeat(9));
    for (session, method, path, body, status) in [
        (&stranger, "GET", "/version", "", 401),
        (
            &stranger,
            "POST",
            "/access/ticket",
            "username=root@pam&password=x",
            401,
        ),
        (&stranger, "POST", "/access/ticket", "username=root@pam", 400),
        (&stranger, "POST", "/access/ticket", "[1,2", 400),
        (&without, "POST", "/nodes/mail/postfix/flush_queues", "", 401),
        (&auditor, "POST", "/nodes/mail/postfix/flush_queues", "", 403),
        (&root, "GET", "/nope", "", 501),
        (&root, "GET", "/nodes/other/status", "", 500),
        (&root, "GET", bell.as_str(), "", 500),
        (&root, "GET", "/nodes/mail/postfix/queue/bad", "", 400),
        (
            &root,
            "GET",
            "/nodes/mail/postfix/queue/deferred?limit=x",
            "",
            400,
        ),
        (
            &root,
            "GET",
            "/nodes/mail/postfix/queue/deferred?start=-9223372036854775808&limit=-1",
            "",
            200,
        ),
        (
            &root,
            "GET",
            "/statistics/mail?starttime=9223372036854775807",
            "",
            400,
        ),
        (
            &root,
            "GET",
            "/statistics/mail?starttime=-9223372036854775808&endtime=9223372036854775807",
            "",
            200,
        ),
        (
            &root,
            "GET",
            "/statistics/mailcount?starttime=0&timespan=1",
            "",
            400,
        ),
        (
            &root,
            "GET",
            "/nodes/mail/tracker?starttime=-9223372036854775808&endtime=-9223372036854775807",
            "",
            200,
        ),
        (
            &root,
            "GET",
            "/quarantine/spam?endtime=-9223372036854775808",
            "",
            200,
        ),
        (
            &root,
            "POST",
            "/nodes/mail/postfix/queue/deferred",
            "action=burn&ids=1",
            400,
        ),
        (&root, "POST", "/nodes/mail/services/nope/restart", "", 400),
        (&root, "PUT", "/nodes/mail/status", "{}", 501),
    ] {
        let answer = session.call(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        assert!(
            answer.json().get("data").is_some(),
            "{method} {path}: {}",
            answer.text
        );
    }
    gateway.shut();
    let url = format!("{}/version", root.base);
    assert!(reqwest::get(&url).await.is_err());
    gateway.open();
    assert_eq!(reqwest::get(&url).await.unwrap().status(), 401);
}
