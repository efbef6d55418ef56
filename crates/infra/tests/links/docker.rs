//! A Docker engine: what it says is understood, what it should not say is an error, and nothing is done without a plan.

use std::time::Duration;

use interlock_infra::docker::{Docker, Freshness, LogQuery};
use interlock_infra::{Error, Exit, Limits, Resource, Source as _, options};
use interlock_protocol::{ContentHash, Observation, RunIdentity, RunState};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::server::{Asked, Reply, Server, cut, ok, said, serve};
use crate::stage::{reading, started};

const VERSION: &str =
    r#"{"Version":"27.3.1","ApiVersion":"1.47","MinAPIVersion":"1.24","Os":"linux","Arch":"amd64"}"#;
const LIST: &str = r#"[
 {"Id":"4f1c9e0d2b7a61c3f5e8d9a0b1c2d3e4f5061728394a5b6c7d8e9f0011223344","Names":["/web"],"Image":"nginx:1.27",
  "ImageID":"sha256:aa","Command":"/docker-entrypoint.sh nginx","Created":1763190000,
  "Ports":[{"IP":"0.0.0.0","PrivatePort":80,"PublicPort":8080,"Type":"tcp"},{"IP":"::","PrivatePort":80,"PublicPort":8080,"Type":"tcp"}],
  "Labels":{},"State":"running","Status":"Up 3 hours (healthy)","HostConfig":{"NetworkMode":"bridge"},
  "NetworkSettings":{"Networks":{}},"Mounts":[]},
 {"Id":"9a8b7c6d5e4f30211a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7081","Names":["/proxy/alias","/api"],
  "Image":"api:2","ImageID":"sha256:bb","Command":"api","Created":1763180000,"Ports":[],"Labels":{},
  "State":"restarting","Status":"Restarting (1) 4 seconds ago","HostConfig":{},"NetworkSettings":{},"Mounts":[]}]"#;

/// The whole id of the container `web`.
pub(crate) const ID: &str = "4f1c9e0d2b7a61c3f5e8d9a0b1c2d3e4f5061728394a5b6c7d8e9f0011223344";

pub(crate) fn inspected(name: &str, status: &str, image: &str, restarts: u32) -> Value {
    json!({
        "Id": ID,
        "Created": "2026-11-15T05:00:00.123456789Z", "Path": "/docker-entrypoint.sh", "Args": ["nginx"],
        "State": {"Status": status, "Running": status == "running", "Paused": false, "Restarting": false,
            "OOMKilled": false, "Dead": false, "Pid": 4711, "ExitCode": 0, "Error": "",
            "StartedAt": "2026-11-15T06:00:00.5Z", "FinishedAt": "0001-01-01T00:00:00Z"},
        "Image": "sha256:aa", "Name": format!("/{name}"), "RestartCount": restarts, "Driver": "overlay2",
        "HostConfig": {"NetworkMode": "front", "Binds": ["/srv/web:/usr/share/nginx/html:ro"],
            "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
            "PortBindings": {"80/tcp": [{"HostIp": "", "HostPort": "8080"}]}},
        "Mounts": [
            {"Type": "bind", "Source": "/srv/web", "Destination": "/usr/share/nginx/html", "Mode": "ro", "RW": false},
            {"Type": "volume", "Name": "0a1b2c", "Source": "/var/lib/docker/volumes/0a1b2c/_data",
                "Destination": "/var/cache/nginx", "Driver": "local", "Mode": "", "RW": true}],
        "Config": {"Hostname": "4f1c9e0d2b7a", "Env": ["PATH=/usr/bin", "DB_PASSWORD=hush"], "Cmd": ["nginx"],
            "Image": image, "Entrypoint": ["/docker-entrypoint.sh"], "Labels": {"maintainer": "x", "tier": "front"},
            "ExposedPorts": {"80/tcp": {}}, "Volumes": {"/var/cache/nginx": {}}},
        "NetworkSettings": {
            "Ports": {"80/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8080"}], "443/tcp": null},
            "Networks": {
                "front": {"Aliases": ["web", "4f1c9e0d2b7a"], "NetworkID": "n1", "IPAddress": "172.20.0.3"},
                "back": {"Aliases": null, "NetworkID": "n2", "IPAddress": "172.21.0.3"}}},
    })
}

pub(crate) fn docker(server: &Server) -> Docker {
    Docker::new(&options::Docker {
        name: "server1".to_owned(),
        url: format!("tcp://{}", server.address),
        runs_on: Some("lxc:delly:141".parse().unwrap()),
    })
    .unwrap()
}

/// The path without its query.
pub(crate) fn path(asked: &Asked) -> &str {
    asked.path.split('?').next().unwrap()
}

fn engine(asked: &Asked) -> Reply {
    match (asked.method.as_str(), path(asked).replace(ID, "web").as_str()) {
        ("GET", "/version") => ok(VERSION),
        ("GET", "/containers/json") => ok(LIST),
        ("GET", "/containers/web/json") => ok(&inspected("web", "running", "nginx:1.27", 0).to_string()),
        ("GET", "/containers/api/json") => ok(&inspected("api", "restarting", "api:2", 7).to_string()),
        ("GET", "/containers/web/logs") => Reply::Bytes(
            [
                b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nconnection: close\r\n\r\n"
                    .as_slice(),
                &frame(1, b"2026-11-15T06:00:01Z started\n"),
                &frame(2, "2026-11-15T06:00:02Z déjà vu\n".as_bytes()),
            ]
            .concat(),
        ),
        ("POST", "/containers/web/start" | "/containers/web/stop" | "/containers/web/restart") => {
            said("204 No Content", "")
        }
        ("GET", "/services" | "/tasks" | "/swarm") => said(
            "503 Service Unavailable",
            r#"{"message":"This node is not a swarm manager. Use \"docker swarm init\" to connect."}"#,
        ),
        ("POST", "/containers/web/exec") if asks_for_timeout(asked) => said("201 Created", r#"{"Id":"e0"}"#),
        ("POST", "/exec/e0/start") => Reply::Stream(|_| frame(1, b"\n")),
        ("GET", "/exec/e0/json") => ok(r#"{"ID":"e0","Running":false,"ExitCode":0,"Pid":11}"#),
        ("POST", "/containers/web/exec") => said("201 Created", r#"{"Id":"e1"}"#),
        ("POST", "/exec/e1/start") => Reply::Stream(|input| {
            if input.is_empty() {
                return Vec::new();
            }
            [frame(1, b"got: "), frame(1, input), frame(2, b"warned\n")].concat()
        }),
        ("GET", "/exec/e1/json") => ok(r#"{"ID":"e1","Running":false,"ExitCode":3,"Pid":12}"#),
        ("GET", "/images/sha256:aa/json") => ok(r#"{"Id":"sha256:aa","RepoDigests":["nginx@sha256:1111"]}"#),
        ("GET", "/distribution/nginx:1.27/json") => ok(
            r#"{"Descriptor":{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:2222","size":3},"Platforms":[]}"#,
        ),
        _ => said("404 Not Found", r#"{"message":"No such container"}"#),
    }
}

pub(crate) fn frame(stream: u8, bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![stream, 0, 0, 0];
    frame.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(bytes);
    frame
}

#[tokio::test]
async fn a_host_and_its_containers_are_resources_by_name() {
    let server = serve(engine).await;
    let found = docker(&server).discover().await.unwrap();
    let ids: Vec<String> = found.iter().map(|resource| resource.id.to_string()).collect();
    assert_eq!(
        ids,
        [
            "docker_host:server1",
            "docker_container:server1:api",
            "docker_container:server1:web"
        ]
    );
    let host: &Resource = &found[0];
    assert_eq!(host.parent.as_ref().unwrap().to_string(), "lxc:delly:141");
    let api = &found[1];
    assert_eq!(api.parent.as_ref(), Some(&host.id));
    assert_eq!(api.state.as_deref(), Some("restarting"));
    assert_eq!(api.facts["restart_count"], 7);
    let web = &found[2];
    assert_eq!(
        web.aliases,
        [
            "server1/web",
            "4f1c9e0d2b7a",
            "4f1c9e0d2b7a61c3f5e8d9a0b1c2d3e4f5061728394a5b6c7d8e9f0011223344"
        ]
    );
    assert_eq!(
        (&web.facts["image"], &web.facts["ports"]),
        (&json!("nginx:1.27"), &json!(["8080->80/tcp"]))
    );
}

#[tokio::test]
async fn a_container_is_looked_at_without_its_secrets() {
    let server = serve(engine).await;
    let found = docker(&server).inspect("web").await.unwrap();
    assert_eq!(found.environment, ["PATH", "DB_PASSWORD"]);
    assert!(!serde_json::to_string(&found).unwrap().contains("hush"));
    assert_eq!(found.finished_at, None, "it never ended");
    assert_eq!(
        found.observation(),
        Observation::Container {
            state: RunState::Running,
            image: Some("nginx:1.27".to_owned()),
            started_at: Some("2026-11-15T06:00:00.5Z".parse().unwrap()),
            run: RunIdentity::named(format!("{} 2026-11-15T06:00:00.5Z", found.id)),
            instance: Some(found.id.clone()),
            image_id: Some(found.image_id.clone()),
            current_image_id: None,
        }
    );
}

#[tokio::test]
async fn logs_of_both_streams_come_in_order() {
    let server = serve(engine).await;
    let query = LogQuery {
        lines: 10,
        since: None,
        bytes: 1000,
    };
    let logs = docker(&server).logs("web", query).await.unwrap();
    assert_eq!(
        logs.lines,
        ["2026-11-15T06:00:01Z started", "2026-11-15T06:00:02Z déjà vu"]
    );
    assert!(server.lines().last().unwrap().contains("tail=10"));
}

#[tokio::test]
async fn a_host_without_swarm_says_so() {
    let server = serve(engine).await;
    let docker = docker(&server);
    for error in [
        docker.services().await.unwrap_err(),
        docker.tasks().await.unwrap_err(),
        docker.swarm().await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("no manager of a swarm"), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_engine_is_an_error() {
    type Expected = fn(&Error) -> bool;
    let cases: Vec<(Reply, Expected)> = vec![
        (ok("<html>hello</html>"), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (ok(r#"[{"Id": 5}]"#), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (cut("[{\"Id\":"), |error| {
            matches!(error, Error::Protocol { .. } | Error::Unreachable { .. })
        }),
        (Reply::Bytes(Vec::new()), |error| {
            matches!(error, Error::Protocol { .. } | Error::Unreachable { .. })
        }),
        (said("401 Unauthorized", r#"{"message":"no"}"#), |error| {
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
    ];
    for (reply, expected) in cases {
        let shown = format!("{reply:?}");
        let server = serve(move |asked| match path(asked) {
            "/version" => ok(VERSION),
            _ => reply.clone(),
        })
        .await;
        let error = docker(&server).containers().await.unwrap_err();
        assert!(expected(&error), "{shown}: {error:?}");
    }
    let nobody = Docker::new(&options::Docker {
        name: "x".to_owned(),
        url: "unix:///nowhere/docker.sock".to_owned(),
        runs_on: None,
    });
    let error = nobody.unwrap().containers().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn containers_change_for_a_plan_about_them_only() {
    let server = serve(engine).await;
    let docker = docker(&server);
    let web = "docker_container:server1:web";
    let plan = |action: &str| started(web, "infra_docker", json!({"action": action, "resource_id": web}));
    docker.start(&plan("start"), "web").await.unwrap();
    docker.stop(&plan("stop"), "web").await.unwrap();
    docker.restart(&plan("restart"), "web").await.unwrap();
    let sent: Vec<String> = server
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("POST"))
        .collect();
    assert_eq!(
        sent,
        [
            format!("POST /containers/{ID}/start"),
            format!("POST /containers/{ID}/stop?t=10"),
            format!("POST /containers/{ID}/restart?t=10"),
        ]
    );
    let reads = reading(web);
    for refused in [
        docker.start(&reads, "web").await,
        docker.stop(&reads, "web").await,
        docker.restart(&reads, "web").await,
        docker.remove(&reads, "web").await,
    ] {
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    }
    for other in ["api", "web/../api", "", "4f1c9e0d2b7a"] {
        let error = docker.stop(&plan("stop"), other).await.unwrap_err();
        assert!(
            matches!(error, Error::Unsupported(_) | Error::NotFound { .. }),
            "{other}: {error:?}"
        );
    }
    assert_eq!(
        server
            .lines()
            .iter()
            .filter(|line| line.starts_with("POST"))
            .count(),
        3
    );
}

#[tokio::test]
async fn a_command_gets_its_input_and_says_how_it_ended() {
    let server = serve(engine).await;
    let web = "docker_container:server1:web";
    let plan = started(
        web,
        "infra_read",
        json!({"action": "exec", "target_resource_id": web, "command": "cat /etc/hosts"}),
    );
    let argv = ["cat".to_owned()];
    let cancel = CancellationToken::new();
    let output = docker(&server)
        .exec(&plan, "web", &argv, Some(b"hello\n"), Limits::default(), &cancel)
        .await
        .unwrap();
    assert_eq!(
        (output.stdout.text().as_str(), output.stderr.text().as_str()),
        ("got: hello\n", "warned\n")
    );
    assert_eq!(output.exit, Exit::Code(3));
    assert_eq!(output.stdout.hash, ContentHash::of("got: hello\n"));
    let body = server
        .asked()
        .iter()
        .find(|asked| asked.path.ends_with("/exec") && !asks_for_timeout(asked))
        .unwrap()
        .json();
    assert_eq!(
        (&body["Cmd"], &body["AttachStdin"]),
        (&json!(["timeout", "-k", "2", "30", "cat"]), &json!(true))
    );
}

/// Whether this is our own question whether a container has `timeout`.
fn asks_for_timeout(asked: &Asked) -> bool {
    asked.json()["Cmd"] == json!(["timeout", "-k", "2", "10", "true"])
}

#[tokio::test]
async fn in_a_container_without_a_time_limit_only_our_own_commands_run() {
    let server = serve(|asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", path) if path.ends_with("/exec/e0/json") => {
            ok(r#"{"ID":"e0","Running":false,"ExitCode":127,"Pid":11}"#)
        }
        _ => engine(asked),
    })
    .await;
    let docker = docker(&server);
    let web = "docker_container:server1:web";
    let plan = started(
        web,
        "infra_read",
        json!({"action": "exec", "target_resource_id": web, "command": "cat /etc/hosts"}),
    );
    let argv = ["cat".to_owned()];
    let cancel = CancellationToken::new();
    for _ in 0..2 {
        let error = docker
            .exec(&plan, "web", &argv, Some(b"x"), Limits::default(), &cancel)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("no `timeout` program"), "{error}");
    }
    let asked = server.asked();
    let execs = asked.iter().filter(|asked| asked.path.ends_with("/exec"));
    assert_eq!(execs.count(), 1, "it is asked once, and nothing else runs");
}

#[tokio::test]
async fn a_command_ends_with_its_time() {
    // Without input the test's engine waits for it for ever.
    let server = serve(engine).await;
    let web = "docker_container:server1:web";
    let plan = started(
        web,
        "infra_read",
        json!({"action": "exec", "target_resource_id": web, "command": "cat /etc/hosts"}),
    );
    let limits = Limits {
        wall: Duration::from_millis(200),
        ..Limits::default()
    };
    let argv = ["cat".to_owned()];
    let docker = docker(&server);
    let output = docker
        .exec(&plan, "web", &argv, None, limits, &CancellationToken::new())
        .await;
    assert_eq!(output.unwrap().exit, Exit::TimedOut);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = docker
        .exec(&plan, "web", &argv, None, Limits::default(), &cancel)
        .await;
    assert_eq!(output.unwrap().exit, Exit::Cancelled);
}

#[tokio::test]
async fn newer_images_are_found_without_pulling() {
    let server = serve(engine).await;
    let host = "docker_host:server1";
    let plan = started(
        host,
        "infra_docker",
        json!({"action": "check_updates", "resource_id": host}),
    );
    let checks = docker(&server).check_updates(&plan, None).await.unwrap();
    let found: Vec<(&str, &Freshness)> = checks
        .iter()
        .map(|check| (check.container.as_str(), &check.freshness))
        .collect();
    assert_eq!(
        found,
        [("api", &Freshness::Unknown), ("web", &Freshness::UpdateAvailable)]
    );
    assert!(checks[0].problem.is_some());
    assert!(
        server.lines().iter().all(|line| line.starts_with("GET")),
        "nothing is pulled"
    );
}
