//! A Kubernetes cluster: pages are followed, states are told, and workloads change for a plan about them only.

use interlock_infra::kubernetes::{Kind, Kubernetes, LogTail};
use interlock_infra::{Error, Secrets, Source as _, options};
use interlock_protocol::{Observation, ResourceId};
use serde_json::{Value, json};

use crate::server::{Asked, Reply, Server, cut, ok, said, serve};
use crate::stage::{reading, started};

fn kubernetes(server: &Server) -> Kubernetes {
    let options = options::Kubernetes {
        name: "prod".to_owned(),
        kubeconfig: None,
        context: None,
        url: Some(format!("http://{}", server.address)),
        token_env: Some("KUBE".to_owned()),
        tls: options::Tls::default(),
    };
    Kubernetes::new(&options, &Secrets::given([("KUBE", "tok3n")])).unwrap()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "its callers write the items down where they call it"
)]
fn list(kind: &str, version: &str, items: Value, more: &str) -> Reply {
    let list = json!({"kind": format!("{kind}List"), "apiVersion": version,
        "metadata": {"resourceVersion": "1", "continue": more}, "items": items});
    ok(&list.to_string())
}

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code});
    said(&format!("{code} {reason}"), &body.to_string())
}

fn pod(name: &str, state: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": "u"},
        "spec": {"nodeName": "k1", "containers": [{"name": "web", "image": "web:2",
            "env": [{"name": "PASSWORD", "value": "hush"}]}]},
        "status": {"phase": "Running", "podIP": "10.0.0.9", "startTime": "2026-11-15T06:00:00Z", "containerStatuses": [
            {"name": "web", "image": "web:2", "imageID": "x", "ready": false, "restartCount": 5, "started": false,
                "state": state, "lastState": {}}]}})
}

fn deployment(ready: u32, wanted: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": wanted, "selector": {}, "template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}},
        "status": {"replicas": wanted, "readyReplicas": ready}})
}

fn cluster(asked: &Asked) -> Reply {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    match (asked.method.as_str(), path) {
        ("GET", "/version") => ok(
            r#"{"major":"1","minor":"34","gitVersion":"v1.34.1","gitCommit":"x","gitTreeState":"clean","buildDate":"2026","goVersion":"go","compiler":"gc","platform":"linux/amd64"}"#,
        ),
        ("GET", "/api/v1/pods" | "/api/v1/namespaces/shop/pods") if query.contains("continue=more") => {
            list("Pod", "v1", json!([pod("web-2", &json!({"running": {}}))]), "")
        }
        ("GET", "/api/v1/pods" | "/api/v1/namespaces/shop/pods") => {
            let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}});
            list("Pod", "v1", json!([pod("web-1", &waiting)]), "more")
        }
        ("GET" | "DELETE", "/api/v1/namespaces/shop/pods/web-1") => ok(&pod("web-1", &json!({})).to_string()),
        ("GET", "/api/v1/namespaces/shop/pods/web-1/log") => ok("2026-11-15T06:00:00Z cannot open /etc/web.conf\n"),
        ("GET", "/api/v1/nodes") => list(
            "Node",
            "v1",
            json!([{"metadata": {"name": "k1"}, "status": {"conditions": [
                {"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]}}]),
            "",
        ),
        ("GET", "/api/v1/namespaces") => {
            list("Namespace", "v1", json!([{"metadata": {"name": "shop"}, "status": {"phase": "Active"}}]), "")
        }
        ("GET", "/apis/apps/v1/deployments") => list("Deployment", "apps/v1", json!([deployment(1, 3)]), ""),
        ("GET" | "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web") => ok(&deployment(1, 3).to_string()),
        ("GET", "/apis/apps/v1/statefulsets") => list("StatefulSet", "apps/v1", json!([]), ""),
        ("GET", "/apis/apps/v1/daemonsets") => status(403, "Forbidden", "daemonsets.apps is forbidden"),
        ("GET", "/api/v1/services") => list("Service", "v1", json!([{"metadata": {"name": "web", "namespace": "shop"},
            "spec": {"clusterIP": "10.1.0.1", "ports": [{"port": 80, "protocol": "TCP"}]}}]), ""),
        ("GET", "/api/v1/namespaces/shop/events") => list("Event", "v1", json!([
            {"metadata": {"name": "e1", "namespace": "shop"}, "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
             "reason": "BackOff", "message": "Back-off restarting failed container", "type": "Warning", "count": 12,
             "lastTimestamp": "2026-11-15T08:00:00Z"},
            {"metadata": {"name": "e2", "namespace": "shop"}, "involvedObject": {"kind": "Pod", "name": "other"},
             "reason": "Started", "message": "Started", "type": "Normal", "lastTimestamp": "2026-11-15T08:30:00Z"}]), ""),
        ("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale") => ok(
            &json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"replicas": 2}, "status": {"replicas": 3}})
            .to_string(),
        ),
        _ => status(404, "NotFound", "not found"),
    }
}

fn id(text: &str) -> ResourceId {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_cluster_and_what_is_in_it_are_resources() {
    let server = serve(cluster).await;
    let found = kubernetes(&server).discover().await.unwrap();
    let seen: Vec<(String, &str)> = found
        .iter()
        .map(|resource| (resource.id.to_string(), resource.state.as_deref().unwrap()))
        .collect();
    let seen: Vec<(&str, &str)> = seen.iter().map(|(id, state)| (id.as_str(), *state)).collect();
    assert_eq!(
        seen,
        [
            ("kubernetes_cluster:prod", "running"),
            ("kubernetes_node:prod:k1", "ready"),
            ("kubernetes_namespace:prod:shop", "active"),
            ("kubernetes_pod:prod:shop/web-1", "CrashLoopBackOff"),
            ("kubernetes_pod:prod:shop/web-2", "running"),
            ("kubernetes_deployment:prod:shop/web", "degraded"),
            ("kubernetes_service:prod:shop/web", "present"),
        ],
        "both pages of pods; daemon sets are forbidden and left out"
    );
    assert_eq!(found[1].facts["problems"], json!(["DiskPressure"]));
    let asked = server.asked();
    assert!(
        asked
            .iter()
            .all(|asked| asked.header("authorization") == Some("Bearer tok3n"))
    );
}

#[tokio::test]
async fn one_object_is_looked_at_closely() {
    let server = serve(cluster).await;
    let cluster = kubernetes(&server);
    let pods = cluster.list(Kind::Pod, Some("shop")).await.unwrap();
    assert_eq!(pods[0].facts["restarts"], 5);
    let described = cluster
        .describe(&id("kubernetes_pod:prod:shop/web-1"))
        .await
        .unwrap();
    assert!(!described.to_string().contains("hush"), "{described}");
    let events = cluster.events(Some("shop"), Some("web-1")).await.unwrap();
    assert_eq!(
        (events.len(), events[0].reason.as_str(), events[0].count),
        (1, "BackOff", 12)
    );
    let tail = LogTail {
        container: None,
        lines: 20,
        bytes: 1000,
        previous: false,
    };
    let log = cluster.logs("shop", "web-1", &tail).await.unwrap();
    assert!(log.contains("cannot open"), "{log}");
    assert!(server.lines().pop().unwrap().contains("tailLines=20"));
    let (_, observed) = cluster
        .observe(&id("kubernetes_deployment:prod:shop/web"))
        .await
        .unwrap();
    assert_eq!(
        observed,
        [
            Observation::Present,
            Observation::Replicas {
                ready: 1,
                wanted: 3,
                updated: Some(0),
                generation: None,
                observed_generation: None,
            }
        ]
    );
    for (namespace, name) in [
        ("shop", "../../nodes"),
        ("shop?x=1", "web-1"),
        ("", "web-1"),
        ("shop", "WEB"),
    ] {
        let error = cluster.logs(namespace, name, &tail).await.unwrap_err();
        assert!(
            matches!(error, Error::NotFound { .. }),
            "{namespace}/{name}: {error:?}"
        );
    }
}

#[tokio::test]
async fn workloads_change_for_a_plan_about_them_only() {
    let server = serve(cluster).await;
    let cluster = kubernetes(&server);
    let web = "kubernetes_deployment:prod:shop/web";
    let pod = "kubernetes_pod:prod:shop/web-1";
    let plan = |target: &str, kind: &str| {
        let mut arguments = json!({"type": kind, "resource_id": target});
        if kind == "scale" {
            arguments["replicas"] = 2.into();
        }
        started(target, "infra_kubernetes", arguments)
    };
    cluster.scale(&plan(web, "scale"), &id(web), 2).await.unwrap();
    cluster.restart(&plan(web, "restart"), &id(web)).await.unwrap();
    cluster
        .delete_pod(&plan(pod, "delete_pod"), &id(pod))
        .await
        .unwrap();
    let changes: Vec<Asked> = server.asked();
    assert_eq!(changes[0].json(), json!({"spec": {"replicas": 2}}));
    let annotations = &changes[1].json()["spec"]["template"]["metadata"]["annotations"];
    assert!(
        annotations["kube.kubernetes.io/restartedAt"].is_string()
            || annotations["kubectl.kubernetes.io/restartedAt"].is_string()
    );
    assert_eq!(changes[2].method, "DELETE");
    let elsewhere = "kubernetes_deployment:prod:shop/other";
    let error = cluster
        .restart(&plan(web, "restart"), &id(elsewhere))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
    for refused in [
        cluster.scale(&reading(web), &id(web), 0).await,
        cluster.restart(&reading(web), &id(web)).await,
        cluster.delete_pod(&reading(pod), &id(pod)).await,
    ] {
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    }
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn what_is_no_cluster_is_an_error() {
    type Expected = fn(&Error) -> bool;
    let cases: Vec<(Reply, Expected)> = vec![
        (ok("<html>"), |error| matches!(error, Error::Protocol { .. })),
        (ok(r#"{"items": 5}"#), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (cut("{"), |error| {
            matches!(error, Error::Unreachable { .. } | Error::Protocol { .. })
        }),
        (status(401, "Unauthorized", "Unauthorized"), |error| {
            matches!(error, Error::Unauthorized { .. })
        }),
        (status(403, "Forbidden", "pods is forbidden"), |error| {
            error.to_string().contains("pods is forbidden")
        }),
        (status(404, "NotFound", "x"), |error| {
            matches!(error, Error::NotFound { .. })
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
    ];
    for (place, (reply, expected)) in cases.into_iter().enumerate() {
        let server = serve(move |_| reply.clone()).await;
        let error = kubernetes(&server).list(Kind::Pod, None).await.unwrap_err();
        assert!(expected(&error), "{place}: {error:?}");
        assert!(!error.to_string().contains("tok3n"));
    }
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let with_program = folder.path().join("config");
    std::fs::write(
        &with_program,
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
         clusters: [{name: a, cluster: {server: 'https://x'}}]\nusers: [{name: a, user: {exec: {command: id}}}]\n",
    )
    .unwrap();
    let options = |kubeconfig: Option<std::path::PathBuf>, url: Option<&str>, token_env: Option<&str>| {
        options::Kubernetes {
            name: "prod".to_owned(),
            kubeconfig,
            context: None,
            url: url.map(str::to_owned),
            token_env: token_env.map(str::to_owned),
            tls: options::Tls::default(),
        }
    };
    let cases = [
        (options(Some(with_program), None, None), "is not started here"),
        (
            options(Some(folder.path().join("nothing")), None, None),
            "nothing",
        ),
        (options(None, None, None), "give `kubeconfig`"),
        (options(None, Some("ftp://x"), None), "`url` must begin"),
        (
            options(None, Some("https://x"), Some("NOT_SET_ANYWHERE")),
            "is not set",
        ),
    ];
    for (options, expected) in cases {
        let error = Kubernetes::new(&options, &Secrets::environment()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
