//! Prometheus: its answers are typed, its warnings kept, its refusals named; and what is none of its answers is an error.

use interlock_infra::prometheus::{Prometheus, Range};
use interlock_infra::{Error, Secrets, Source as _, options};
use jiff::Timestamp;

use crate::server::{Asked, Reply, Server, cut, ok, said, serve};

pub(crate) fn connection(server: &Server) -> options::Http {
    options::Http {
        name: "metrics".to_owned(),
        url: format!("http://{}", server.address),
        token_env: None,
        user: None,
        password_env: None,
        tls: options::Tls::default(),
    }
}

fn prometheus(server: &Server) -> Prometheus {
    Prometheus::new(&connection(server), &Secrets::environment()).unwrap()
}

const VECTOR: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
  {"metric":{"__name__":"pve_cpu_usage_ratio","id":"lxc/141","instance":"delly"},"value":[1763196000.781,"0.8125"]},
  {"metric":{"__name__":"pve_cpu_usage_ratio","id":"lxc/142","instance":"delly"},"value":[1763196000.781,"NaN"]},
  {"metric":{"__name__":"h"},"histogram":[1763196000.781,{"count":"1","sum":"1","buckets":[]}]}]},
  "warnings":["a remote store did not answer"],"infos":["PromQL info: metric might not be a counter"]}"#;
const MATRIX: &str = r#"{"status":"success","data":{"resultType":"matrix","result":[
  {"metric":{"id":"lxc/141"},"values":[[1763196000,"1"],[1763196060,"+Inf"],[1763196120,"3e2"]]}]}}"#;
const ALERTS: &str = r#"{"status":"success","data":{"alerts":[{"labels":{"alertname":"DiskFull","id":"lxc/141"},
  "annotations":{"summary":"The disk is full"},"state":"firing","activeAt":"2026-11-15T08:00:00.123456789Z","value":"9.8e-01"}]}}"#;
const RULES: &str = r#"{"status":"success","data":{"groups":[{"name":"g","file":"r.yml","interval":15,"rules":[
  {"state":"firing","name":"DiskFull","query":"a > 1","duration":60,"labels":{},"annotations":{},"alerts":[],"health":"ok",
   "evaluationTime":0.001,"lastEvaluation":"2026-11-15T08:00:00Z","type":"alerting"},
  {"name":"a:b","query":"sum(a)","health":"err","lastError":"many-to-many","evaluationTime":0,"lastEvaluation":"2026-11-15T08:00:00Z","type":"recording"}]}]}}"#;
const TARGETS: &str = r#"{"status":"success","data":{"activeTargets":[{"discoveredLabels":{},"labels":{"instance":"delly:9100","job":"node"},
  "scrapePool":"node","scrapeUrl":"http://delly:9100/metrics","lastError":"connection refused","lastScrape":"2026-11-15T08:00:00Z",
  "lastScrapeDuration":0.01,"health":"down"}],"droppedTargets":[]}}"#;

fn server_says(asked: &Asked) -> Reply {
    match asked.path.split('?').next().unwrap() {
        "/api/v1/query" => ok(VECTOR),
        "/api/v1/query_range" => ok(MATRIX),
        "/api/v1/alerts" => ok(ALERTS),
        "/api/v1/rules" => ok(RULES),
        "/api/v1/targets" => ok(TARGETS),
        "/api/v1/labels" => ok(r#"{"status":"success","data":["__name__","id"]}"#),
        "/api/v1/label/a%2Fb/values" => ok(r#"{"status":"success","data":["x"]}"#),
        "/api/v1/series" => ok(r#"{"status":"success","data":[{"__name__":"up","job":"node"}]}"#),
        _ => said("404 Not Found", "404 page not found"),
    }
}

#[tokio::test]
async fn what_is_measured_is_typed() {
    let server = serve(server_says).await;
    let prometheus = prometheus(&server);
    let now = prometheus.query("pve_cpu_usage_ratio", None).await.unwrap();
    assert_eq!(now.data.len(), 2, "a histogram has no value");
    assert_eq!(now.data[0].metric["id"], "lxc/141");
    assert!((now.data[0].value.value - 0.8125).abs() < f64::EPSILON && now.data[1].value.value.is_nan());
    assert_eq!(now.warnings.len(), 2);
    let range = Range {
        from: Timestamp::from_second(1_763_196_000).unwrap(),
        to: Timestamp::from_second(1_763_196_120).unwrap(),
        step_seconds: 60,
    };
    let over_time = prometheus.query_range("a", range).await.unwrap();
    let values: Vec<f64> = over_time.data[0].values.iter().map(|point| point.value).collect();
    assert_eq!(values, [1.0, f64::INFINITY, 300.0]);
    let last = server.lines().pop().unwrap();
    assert_eq!(
        last,
        "GET /api/v1/query_range?query=a&start=1763196000&end=1763196120&step=60"
    );
    assert_eq!(prometheus.alerts().await.unwrap()[0].state, "firing");
    let rules = prometheus.rules().await.unwrap();
    assert_eq!(rules[1].last_error.as_deref(), Some("many-to-many"));
    assert_eq!(prometheus.targets().await.unwrap()[0].health, "down");
    assert_eq!(prometheus.labels().await.unwrap().data, ["__name__", "id"]);
    assert_eq!(prometheus.label_values("a/b").await.unwrap().data, ["x"]);
    assert_eq!(prometheus.series(&["up"]).await.unwrap().data[0]["job"], "node");
    assert_eq!(prometheus.discover().await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_long_question_is_posted() {
    let server = serve(server_says).await;
    let question = format!("up{{job=\"{}\"}}", "x".repeat(2000));
    prometheus(&server).query(&question, None).await.unwrap();
    let asked = &server.asked()[0];
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/api/v1/query")
    );
    assert_eq!(
        asked.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert!(
        asked.body.starts_with("query=up%7Bjob%3D%22xxx"),
        "{}",
        asked.body
    );
}

#[tokio::test]
async fn requests_are_signed_in_as_configured() {
    let server = serve(server_says).await;
    let secrets = Secrets::given([("TOKEN", "t0p"), ("PASSWORD", "open sesame")]);
    let mut token = connection(&server);
    token.token_env = Some("TOKEN".to_owned());
    let mut basic = connection(&server);
    (basic.user, basic.password_env) = (Some("Aladdin".to_owned()), Some("PASSWORD".to_owned()));
    for (options, header) in [
        (&token, "Bearer t0p"),
        (&basic, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ] {
        let prometheus = Prometheus::new(options, &secrets).unwrap();
        prometheus.query("up", None).await.unwrap();
        assert_eq!(
            server.asked().pop().unwrap().header("authorization"),
            Some(header)
        );
        assert!(!format!("{prometheus:?}").contains("t0p"));
    }
    let mut both = token.clone();
    both.user = Some("x".to_owned());
    let mut unset = token;
    unset.token_env = Some("NOT_SET_ANYWHERE".to_owned());
    for wrong in [both, unset] {
        let error = Prometheus::new(&wrong, &secrets).unwrap_err();
        assert!(matches!(error, Error::Configuration { .. }), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_answer_of_prometheus_is_an_error() {
    type Expected = fn(&Error) -> bool;
    let cases: Vec<(Reply, Expected)> = vec![
        (ok("<html>sign in</html>"), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (ok("{\"status\":\"success\"}"), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (
            ok(
                r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}}"#,
            ),
            |error| matches!(error, Error::Protocol { .. }),
        ),
        (ok(MATRIX), |error| matches!(error, Error::Protocol { .. })),
        (cut("{\"status\""), |error| {
            matches!(error, Error::Unreachable { .. } | Error::Protocol { .. })
        }),
        (
            ok(&format!(
                "{{\"status\":\"success\",\"x\":\"{}\"}}",
                "y".repeat(17 * 1024 * 1024)
            )),
            |error| matches!(error, Error::TooLarge { .. }),
        ),
        (said("401 Unauthorized", "no"), |error| {
            matches!(error, Error::Unauthorized { .. })
        }),
        (said("403 Forbidden", "no"), |error| {
            matches!(error, Error::Forbidden { .. })
        }),
        (said("500 Internal Server Error", "<html>"), |error| {
            matches!(
                error,
                Error::Refused {
                    status: Some(500),
                    ..
                }
            )
        }),
        (said("302 Found", ""), |error| {
            matches!(
                error,
                Error::Refused {
                    status: Some(302),
                    ..
                }
            )
        }),
        (
            said(
                "400 Bad Request",
                r#"{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": parse error"}"#,
            ),
            |error| error.to_string().contains("bad_data: invalid parameter"),
        ),
        (
            said(
                "422 Unprocessable Entity",
                r#"{"status":"error","errorType":"execution","error":"many-to-many"}"#,
            ),
            |error| {
                matches!(
                    error,
                    Error::Refused {
                        status: Some(422),
                        ..
                    }
                )
            },
        ),
    ];
    for (place, (reply, expected)) in cases.into_iter().enumerate() {
        let server = serve(move |_| reply.clone()).await;
        let error = prometheus(&server).query("up", None).await.unwrap_err();
        assert!(expected(&error), "{place}: {error:?}");
    }
}
