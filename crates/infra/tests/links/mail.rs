//! A mail gateway: one sign-in serves many questions, and is repeated when its ticket is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_infra::mail::MailGateway;
use interlock_infra::{Error, Secrets, Source as _, options};
use jiff::SignedDuration;

use crate::server::{Asked, Reply, Server, cut, ok, said, serve};

fn gateway(server: &Server, password: &str) -> MailGateway {
    let options = options::MailGateway {
        name: "mail".to_owned(),
        url: format!("http://{}", server.address),
        user: "audit@pmg".to_owned(),
        password_env: "PMG".to_owned(),
        tls: options::Tls::default(),
        runs_on: Some("lxc:delly:110".parse().unwrap()),
    };
    MailGateway::new(&options, &Secrets::given([("PMG", password)])).unwrap()
}

/// A gateway whose first ticket is taken back after two questions.
fn gateway_says() -> impl Fn(&Asked) -> Reply + Send + Sync {
    let (signed, asked_for) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    move |asked| {
        let path = asked
            .path
            .split('?')
            .next()
            .unwrap()
            .strip_prefix("/api2/json")
            .unwrap();
        if path == "/access/ticket" {
            if !asked.body.contains("password=p%26w") {
                return said("401 Unauthorized", r#"{"data":null}"#);
            }
            let number = signed.fetch_add(1, Ordering::SeqCst);
            return ok(&format!(
                r#"{{"data":{{"ticket":"PMG:audit@pmg:{number}::a+b==","CSRFPreventionToken":"x","username":"audit@pmg"}}}}"#
            ));
        }
        let count = asked_for.fetch_add(1, Ordering::SeqCst);
        let wanted = i32::from(count >= 2);
        if asked.header("cookie")
            != Some(&format!(
                "PMGAuthCookie=PMG%3Aaudit%40pmg%3A{wanted}%3A%3Aa%2Bb%3D%3D"
            ))
        {
            return said("401 permission denied - invalid PMG ticket", r#"{"data":null}"#);
        }
        match path {
            "/version" => ok(r#"{"data":{"version":"8.1.4","release":"8.1","repoid":"ad"}}"#),
            "/nodes" => ok(r#"{"data":[{"node":"mail"}]}"#),
            "/nodes/mail/status" => {
                ok(r#"{"data":{"uptime":86400,"cpu":0.02,"loadavg":["0.1","0.2","0.3"]}}"#)
            }
            "/nodes/mail/postfix/qshape" => ok(
                r#"{"data":[{"domain":"TOTAL","total":7,"5m":7},{"domain":"example.org","total":"4","5m":4},{"domain":"example.net","total":3,"5m":3}]}"#,
            ),
            "/statistics/mail" => {
                ok(r#"{"data":{"count":100,"count_in":60,"spamcount_in":10,"viruscount_in":1}}"#)
            }
            "/statistics/domains" | "/statistics/spamscores" | "/statistics/virus" | "/config/domains" => {
                ok(r#"{"data":[]}"#)
            }
            "/quarantine/spamstatus" => ok(r#"{"data":{"count":3,"mbytes":0.1,"avgbytes":1,"avgspam":9}}"#),
            "/quarantine/virusstatus" => ok(r#"{"data":{"count":0}}"#),
            "/statistics/recent" => ok(r#"{"data":[{"index":0,"count":5}]}"#),
            _ => said("501 Method 'GET' not implemented", r#"{"data":null}"#),
        }
    }
}

#[tokio::test]
async fn one_sign_in_serves_and_is_repeated_when_refused() {
    let server = serve(gateway_says()).await;
    let gateway = gateway(&server, "p&w");
    let found = gateway.discover().await.unwrap();
    assert_eq!(found[0].id.to_string(), "mail_gateway:mail");
    assert_eq!(found[0].parent.as_ref().unwrap().to_string(), "lxc:delly:110");
    let queues = gateway.queues().await.unwrap();
    assert_eq!(
        (&queues[0]["node"], &queues[0]["total"]),
        (&"mail".into(), &7.into())
    );
    let day = SignedDuration::from_hours(24);
    assert_eq!(gateway.statistics(day).await.unwrap()["mail"]["count_in"], 60);
    assert_eq!(gateway.spam(day).await.unwrap()["quarantine"]["spam"]["count"], 3);
    assert_eq!(
        gateway.status().await.unwrap()["nodes"][0]["status"]["uptime"],
        86400
    );
    assert_eq!(gateway.recent(6).await.unwrap()[0]["count"], 5);
    assert_eq!(gateway.domains().await.unwrap().as_array().map(Vec::len), Some(0));
    let signed = server
        .lines()
        .iter()
        .filter(|line| line.ends_with("/access/ticket"))
        .count();
    assert_eq!(signed, 2);
}

#[tokio::test]
async fn a_wrong_password_is_said_without_it() {
    let server = serve(gateway_says()).await;
    let error = gateway(&server, "wrong-one").discover().await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
    assert!(!format!("{error:?}").contains("wrong-one"));
}

#[tokio::test]
async fn what_is_no_answer_of_a_gateway_is_an_error() {
    type Expected = fn(&Error) -> bool;
    let cases: Vec<(Reply, Expected)> = vec![
        (ok("<html>"), |error| matches!(error, Error::Protocol { .. })),
        (ok("[]"), |error| matches!(error, Error::Protocol { .. })),
        (cut("{"), |error| matches!(error, Error::Unreachable { .. })),
        (said("403 Permission check failed", r#"{"data":null}"#), |error| {
            error.to_string().contains("Permission check failed")
        }),
        (said("500 Internal Server Error", ""), |error| {
            matches!(
                error,
                Error::Refused {
                    status: Some(500),
                    ..
                }
            )
        }),
    ];
    for (place, (reply, expected)) in cases.into_iter().enumerate() {
        let server = serve(move |asked| match asked.path.as_str() {
            "/api2/json/access/ticket" => ok(r#"{"data":{"ticket":"t"}}"#),
            _ => reply.clone(),
        })
        .await;
        let error = gateway(&server, "x").version().await.unwrap_err();
        assert!(expected(&error), "{place}: {error:?}");
    }
}
