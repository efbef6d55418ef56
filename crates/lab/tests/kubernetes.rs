//! The cluster and its API, over HTTP and with `kubectl`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up must stop"
)]

use std::time::{Duration, Instant};

use interlock_lab::kubernetes::{ClusterSpec, Kubernetes, Role};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

async fn cluster() -> Kubernetes {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Kubernetes::start(ClusterSpec::k3s(), 5.0).await.unwrap()
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

async fn call(
    cluster: &Kubernetes,
    role: Role,
    method: &str,
    path: &str,
    body: Option<(&str, String)>,
) -> Answer {
    let url = format!("http://{}{path}", cluster.address());
    let mut request = reqwest::Client::new()
        .request(method.parse().unwrap(), url)
        .header("authorization", format!("Bearer {}", cluster.token(role)));
    if let Some((kind, body)) = body {
        request = request.header("content-type", kind).body(body);
    }
    let response = request.send().await.unwrap();
    Answer {
        status: response.status().as_u16(),
        text: response.text().await.unwrap(),
    }
}

async fn get(cluster: &Kubernetes, path: &str) -> Value {
    let answer = call(cluster, Role::Viewer, "GET", path, None).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

/// Waits until this holds of what the API says.
async fn until(cluster: &Kubernetes, path: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let found = get(cluster, path).await;
        if holds(&found) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} did not come to be: {found:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const WEB_PODS: &str = "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_comes_to_be() {
    let cluster = cluster().await;
    let all_ready = |count: usize| {
        move |list: &Value| {
            let pods = list["items"].as_array().unwrap();
            pods.len() == count
                && pods
                    .iter()
                    .all(|pod| pod["status"]["containerStatuses"][0]["ready"] == true)
        }
    };
    let first = until(&cluster, WEB_PODS, "three pods", all_ready(3)).await;

    let scale = format!("{WEB}/scale");
    let body = json!({ "spec": { "replicas": 5 } }).to_string();
    let answer = call(&cluster, Role::Admin, "PATCH", &scale, Some((MERGE, body))).await;
    assert_eq!(
        (answer.status, &answer.json()["spec"]["replicas"]),
        (200, &json!(5))
    );
    until(&cluster, WEB_PODS, "five pods", all_ready(5)).await;
    // Its status is written after its pods are ready; what was read before that is refused as a conflict.
    until(&cluster, WEB, "a status of five", |web| {
        web["status"]["readyReplicas"] == 5 && web["status"]["availableReplicas"] == 5
    })
    .await;
    let mut now = get(&cluster, &scale).await;
    now["spec"]["replicas"] = json!(2);
    let answer = call(
        &cluster,
        Role::Admin,
        "PUT",
        &scale,
        Some(("application/json", now.to_string())),
    )
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let two = until(&cluster, WEB_PODS, "two pods", all_ready(2)).await;
    assert!(
        names(&two).iter().any(|name| names(&first).contains(name)),
        "the oldest stay"
    );

    let gone = names(&two).remove(0);
    let path = format!("/api/v1/namespaces/default/pods/{gone}");
    assert_eq!(
        call(&cluster, Role::Admin, "DELETE", &path, None).await.status,
        200
    );
    until(&cluster, WEB_PODS, "another pod", |list| {
        all_ready(2)(list) && !names(list).contains(&gone)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_rolls_pods_one_by_one_and_is_never_short_of_them() {
    let cluster = cluster().await;
    let before = names(&get(&cluster, WEB_PODS).await);
    let annotation = json!({ "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" });
    let patch = json!({ "spec": { "template": { "metadata": { "annotations": annotation } } } }).to_string();
    let answer = call(&cluster, Role::Admin, "PATCH", WEB, Some((STRATEGIC, patch))).await;
    let generation = answer.json()["metadata"]["generation"].clone();
    assert_eq!((answer.status, &generation), (200, &json!(2)));
    let done = until(&cluster, WEB, "the rollout", |web| {
        let status = &web["status"];
        assert!(status["availableReplicas"].as_u64().unwrap() >= 3, "{status:#}");
        assert!(status["replicas"].as_u64().unwrap() <= 4, "{status:#}");
        status["observedGeneration"] == generation
            && status["updatedReplicas"] == 3
            && status["replicas"] == 3
    })
    .await;
    assert_eq!(
        done["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "2"
    );
    let after = until(&cluster, WEB_PODS, "new pods", |list| names(list).len() == 3).await;
    assert!(names(&after).iter().all(|name| !before.contains(name)));
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_are_not_there_or_crash_show_as_such() {
    let cluster = cluster().await;
    for (image, reason) in [
        ("ghcr.io/example/web:9.9", "ImagePullBackOff"),
        ("ghcr.io/example/web:1.5.0-rc1", "CrashLoopBackOff"),
    ] {
        let containers = json!([{ "name": "web", "image": image }]);
        let patch = json!({ "spec": { "template": { "spec": { "containers": containers } } } }).to_string();
        let answer = call(&cluster, Role::Admin, "PATCH", WEB, Some((STRATEGIC, patch))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let stuck = until(&cluster, WEB_PODS, reason, |list| {
            list.to_string().contains(reason)
        })
        .await;
        let ready = stuck["items"].as_array().unwrap().iter();
        let ready = ready
            .filter(|pod| pod["status"]["containerStatuses"][0]["ready"] == true)
            .count();
        assert_eq!(ready, 3, "the old ones stay");
    }
    let events = get(
        &cluster,
        "/api/v1/namespaces/default/events?fieldSelector=reason%3DFailed",
    )
    .await;
    assert!(events.to_string().contains("Failed to pull image"), "{events:#}");
    let crashed = until(&cluster, WEB_PODS, "a restart", |list| {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|pod| pod["status"]["containerStatuses"][0]["restartCount"] != 0)
    })
    .await;
    let pods = crashed["items"].as_array().unwrap();
    let pod = pods
        .iter()
        .find(|pod| pod["status"]["containerStatuses"][0]["restartCount"] != 0)
        .unwrap();
    let name = pod["metadata"]["name"].as_str().unwrap();
    let path = format!("/api/v1/namespaces/default/pods/{name}/log?previous=true");
    let log = call(&cluster, Role::Viewer, "GET", &path, None).await;
    assert!(log.text.contains("level=fatal"), "{}", log.text);

    let good = json!([{ "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "ghcr.io/example/web:1.4.2" }]);
    let body = Some(("application/json-patch+json", good.to_string()));
    assert_eq!(call(&cluster, Role::Admin, "PATCH", WEB, body).await.status, 200);
    until(&cluster, WEB_PODS, "the good image alone", |list| {
        names(list).len() == 3
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_status_objects() {
    let cluster = cluster().await;
    let body = |value: Value| Some((MERGE, value.to_string()));
    let stale = json!({ "metadata": { "resourceVersion": "1" }, "spec": { "replicas": 1 } });
    let none = || json!({ "spec": { "template": { "spec": { "containers": [] } } } });
    for (role, method, path, body, status, reason) in [
        (
            Role::Viewer,
            "GET",
            "/api/v1/namespaces/default/pods/nope",
            None,
            404,
            "NotFound",
        ),
        (
            Role::Viewer,
            "GET",
            "/api/v1/namespaces/default/wolves",
            None,
            404,
            "NotFound",
        ),
        (
            Role::Viewer,
            "GET",
            "/apis/apps/v2/deployments",
            None,
            404,
            "NotFound",
        ),
        (
            Role::Viewer,
            "GET",
            "/api/v1/pods?labelSelector=%3D%3D",
            None,
            400,
            "BadRequest",
        ),
        (
            Role::Viewer,
            "GET",
            "/api/v1/pods?limit=x",
            None,
            400,
            "BadRequest",
        ),
        (
            Role::Viewer,
            "GET",
            "/api/v1/pods?continue=x",
            None,
            400,
            "BadRequest",
        ),
        (
            Role::Viewer,
            "GET",
            "/api/v1/pods?watch=1&resourceVersion=x",
            None,
            400,
            "BadRequest",
        ),
        (Role::Viewer, "DELETE", WEB, None, 403, "Forbidden"),
        (Role::Viewer, "PATCH", WEB, body(json!({})), 403, "Forbidden"),
        (Role::Admin, "PATCH", WEB, body(stale), 409, "Conflict"),
        (Role::Admin, "PATCH", WEB, body(none()), 422, "Invalid"),
        (
            Role::Admin,
            "PATCH",
            WEB,
            body(json!({ "spec": { "replicas": -1 } })),
            422,
            "Invalid",
        ),
        (
            Role::Admin,
            "PATCH",
            WEB,
            body(json!({ "spec": { "replicas": "x" } })),
            422,
            "Invalid",
        ),
        (
            Role::Admin,
            "PATCH",
            WEB,
            body(json!({ "spec": null })),
            422,
            "Invalid",
        ),
        (Role::Admin, "PATCH", WEB, body(json!(7)), 422, "Invalid"),
        (
            Role::Admin,
            "PATCH",
            WEB,
            Some((MERGE, "{".to_owned())),
            400,
            "BadRequest",
        ),
        (
            Role::Admin,
            "PATCH",
            WEB,
            Some(("text/plain", "{}".to_owned())),
            415,
            "UnsupportedMediaType",
        ),
        (
            Role::Admin,
            "DELETE",
            "/api/v1/nodes/k3s-1",
            None,
            405,
            "MethodNotAllowed",
        ),
        (
            Role::Admin,
            "POST",
            "/api/v1/namespaces/default/pods",
            body(json!({})),
            405,
            "MethodNotAllowed",
        ),
    ] {
        let answer = call(&cluster, role, method, path, body).await;
        let found = answer.json();
        assert_eq!(
            (answer.status, &found["kind"], &found["reason"]),
            (status, &json!("Status"), &json!(reason)),
            "{method} {path}"
        );
    }
    let url = format!("http://{}/api/v1/pods", cluster.address());
    assert_eq!(reqwest::get(url).await.unwrap().status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged_and_watches_go_on() {
    let cluster = cluster().await;
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = get(&cluster, &format!("/api/v1/pods?limit=4&continue={token}")).await;
        assert!(names(&page).len() <= 4);
        seen.extend(names(&page));
        match page["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => break,
        }
    }
    assert_eq!(seen, names(&get(&cluster, "/api/v1/pods").await));
    assert!(seen.len() > 10);

    let url = format!(
        "http://{}/apis/apps/v1/deployments?watch=true&fieldSelector=metadata.name%3Dweb",
        cluster.address()
    );
    let request = reqwest::Client::new()
        .get(url)
        .bearer_auth(cluster.token(Role::Viewer));
    let mut response = request.send().await.unwrap();
    let added = response.chunk().await.unwrap().unwrap();
    assert!(added.starts_with(b"{\"type\":\"ADDED\""), "{added:?}");
    assert!(cluster.set_image("default", "web", "ghcr.io/example/web:1.5.0"));
    let more = tokio::time::timeout(PATIENCE, response.chunk())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let more = String::from_utf8_lossy(&more).into_owned();
    assert!(
        more.contains("\"type\":\"MODIFIED\"") && more.contains("web:1.5.0"),
        "{more}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_lost_loses_its_pods_to_others() {
    let cluster = cluster().await;
    cluster.set_node_ready("k3s-2", false);
    let began = Instant::now();
    while cluster
        .pods()
        .iter()
        .any(|pod| pod.node.as_deref() == Some("k3s-2"))
        || !cluster
            .pods()
            .iter()
            .all(|pod| pod.ready || pod.status == "Completed")
    {
        assert!(began.elapsed() < PATIENCE, "{:#?}", cluster.pods());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        cluster
            .pods()
            .iter()
            .filter(|pod| pod.name.starts_with("web-"))
            .count(),
        3
    );
}

/// What `kubectl` prints; nothing, said aloud, where it is not installed.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "somebody else's client is the test"
)]
async fn kubectl(cluster: &Kubernetes, arguments: &str) -> Option<(bool, String)> {
    let server = format!("http://{}", cluster.proxy_address());
    let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let home = tempfile::tempdir().unwrap();
    let run = tokio::task::spawn_blocking(move || {
        std::process::Command::new("kubectl")
            .args(["--server", &server])
            .args(words)
            .env("HOME", home.path())
            .env_remove("KUBECONFIG")
            .output()
    });
    match run.await.unwrap() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Some((
                output.status.success(),
                String::from_utf8_lossy(&text).into_owned(),
            ))
        }
        Err(error) => {
            eprintln!("SKIPPED: kubectl could not be run ({error}); install it to check the API with it");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_works() {
    let cluster = cluster().await;
    for (arguments, expected) in [
        ("version", vec!["Server Version: v1.31.3+k3s1"]),
        (
            "get nodes",
            vec!["NAME", "STATUS", "ROLES", "k3s-1   Ready", "control-plane,master"],
        ),
        (
            "get pods -A",
            vec![
                "NAMESPACE",
                "RESTARTS",
                "prometheus-0",
                "1/1",
                "Running",
                "Completed",
            ],
        ),
        (
            "get deploy web -o wide",
            vec!["UP-TO-DATE", "3/3", "ghcr.io/example/web:1.4.2"],
        ),
        (
            "get po,svc,sts,ds,jobs,cm -A",
            vec!["pod/", "service/", "statefulset.apps/", "job.batch/"],
        ),
        (
            "logs deploy/web --tail=2 --timestamps",
            vec!["msg=\"request\"", "Z level=info"],
        ),
        (
            "scale deploy web --replicas=4",
            vec!["deployment.apps/web scaled"],
        ),
        (
            "rollout status deploy/web --timeout=30s",
            vec!["successfully rolled out"],
        ),
        (
            "rollout restart deploy/web",
            vec!["deployment.apps/web restarted"],
        ),
        (
            "rollout status deploy/web --timeout=30s",
            vec!["successfully rolled out"],
        ),
        ("rollout restart sts/prometheus -n monitoring", vec!["restarted"]),
        (
            "rollout status sts/prometheus -n monitoring --timeout=30s",
            vec!["partitioned roll out complete", "1"],
        ),
        (
            "rollout restart ds/node-exporter -n monitoring",
            vec!["restarted"],
        ),
        (
            "rollout status ds/node-exporter -n monitoring --timeout=30s",
            vec!["successfully rolled out"],
        ),
        ("rollout history deploy/web", vec!["REVISION", "2"]),
        (
            "describe pod prometheus-0 -n monitoring",
            vec!["Controlled By:  StatefulSet/prometheus", "Events:", "Started"],
        ),
        (
            "describe node k3s-1",
            vec!["Ready", "Allocatable", "KubeletReady"],
        ),
        (
            "set image deploy/web web=ghcr.io/example/web:1.5.0",
            vec!["image updated"],
        ),
        (
            "rollout status deploy/web --timeout=30s",
            vec!["successfully rolled out"],
        ),
        ("rollout undo deploy/web", vec!["rolled back"]),
        (
            "rollout status deploy/web --timeout=30s",
            vec!["successfully rolled out"],
        ),
        (
            "get deploy web -o jsonpath={.spec.template.spec.containers[0].image}",
            vec!["ghcr.io/example/web:1.4.2"],
        ),
        ("cordon k3s-3", vec!["node/k3s-3 cordoned"]),
        ("get nodes", vec!["Ready,SchedulingDisabled"]),
        ("uncordon k3s-3", vec!["node/k3s-3 uncordoned"]),
        ("get events -n default", vec!["ScalingReplicaSet"]),
        (
            "delete pod prometheus-0 -n monitoring --wait=true",
            vec!["deleted"],
        ),
        (
            "wait --for=condition=Ready pod/prometheus-0 -n monitoring --timeout=30s",
            vec!["condition met"],
        ),
    ] {
        let Some((good, text)) = kubectl(&cluster, arguments).await else {
            return;
        };
        assert!(good, "kubectl {arguments}: {text}");
        for part in expected {
            assert!(text.contains(part), "kubectl {arguments} lacks {part:?}: {text}");
        }
    }
    let (good, text) = kubectl(&cluster, "get pod nope").await.unwrap();
    assert!(
        !good && text.contains("Error from server (NotFound): pods \"nope\" not found"),
        "{text}"
    );
}
