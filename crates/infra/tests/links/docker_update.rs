//! A container from another image: everything else as it was, and the old one back if the new one does not run.

use std::sync::{Arc, Mutex};

use interlock_infra::Error;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::docker::{ID, docker, inspected, path};
use crate::server::{Asked, Reply, Server, ok, said, serve};
use crate::stage::started;

/// Name, image and state of a container.
type Row = (String, String, &'static str);

/// The engine's own name for it.
fn id_of(row: &Row) -> &'static str {
    if row.1 == "nginx:1.27" { ID } else { "new1" }
}

/// A small engine with one container, which remembers what was made of it.
#[derive(Clone)]
struct Engine {
    /// Name and image of each container.
    containers: Arc<Mutex<Vec<Row>>>,
    /// What a container of the new image comes to.
    new_state: &'static str,
    can_pull: bool,
}

impl Engine {
    fn new(new_state: &'static str) -> Self {
        Self {
            containers: Arc::new(Mutex::new(vec![(
                "web".to_owned(),
                "nginx:1.27".to_owned(),
                "running",
            )])),
            new_state,
            can_pull: true,
        }
    }

    fn all(&self) -> Vec<Row> {
        self.containers.lock().unwrap().clone()
    }

    fn answer(&self, asked: &Asked) -> Reply {
        let parts: Vec<&str> = path(asked).trim_start_matches('/').split('/').collect();
        let mut containers = self.containers.lock().unwrap();
        let found = parts.get(1).and_then(|name| {
            let is_it = |container: &Row| container.0 == *name || id_of(container) == *name;
            containers.iter().position(is_it)
        });
        match (asked.method.as_str(), parts.as_slice(), found) {
            ("GET", ["version"], _) => ok(r#"{"ApiVersion":"1.47"}"#),
            ("POST", ["images", "create"], _) if self.can_pull => {
                ok("{\"status\":\"Pulling\"}\n{\"status\":\"Downloaded newer image\"}\n")
            }
            ("POST", ["images", "create"], _) => said("404 Not Found", r#"{"message":"manifest unknown"}"#),
            ("GET", ["images", "sha256:aa", "json"], _) => ok(&json!({"Id": "sha256:aa", "Config": {
                "Env": ["PATH=/usr/bin"], "Cmd": ["nginx"], "Entrypoint": ["/docker-entrypoint.sh"],
                "Labels": {"maintainer": "x"}, "ExposedPorts": {"80/tcp": {}}, "Volumes": {"/var/cache/nginx": {}}}})
            .to_string()),
            ("GET", ["containers", _, "json"], Some(at)) => {
                let (name, image, state) = &containers[at];
                ok(&inspected(name, state, image, 0).to_string())
            }
            ("POST", ["containers", _, "stop"], Some(at)) => {
                containers[at].2 = "exited";
                said("204 No Content", "")
            }
            ("POST", ["containers", _, "rename"], Some(at)) => {
                asked.path.split("name=").nth(1).unwrap().clone_into(&mut containers[at].0);
                said("204 No Content", "")
            }
            ("POST", ["containers", "create"], _) => {
                let name = asked.path.split("name=").nth(1).unwrap().split('&').next().unwrap();
                let image = asked.json()["Image"].as_str().unwrap().to_owned();
                containers.push((name.to_owned(), image, "created"));
                said("201 Created", r#"{"Id":"new1","Warnings":[]}"#)
            }
            ("POST", ["networks", _, "connect"], _) => ok(""),
            ("POST", ["containers", _, "start"], Some(at)) => {
                containers[at].2 = if containers[at].1 == "nginx:1.27" { "running" } else { self.new_state };
                said("204 No Content", "")
            }
            ("DELETE", ["containers", _], Some(at)) => {
                containers.remove(at);
                said("204 No Content", "")
            }
            _ => said("404 Not Found", r#"{"message":"No such thing"}"#),
        }
    }
}

async fn update(engine: &Engine, image: &str) -> (Server, Result<Value, Error>) {
    let answering = engine.clone();
    let server = serve(move |asked| answering.answer(asked)).await;
    let web = "docker_container:server1:web";
    let plan = started(
        web,
        "infra_docker",
        json!({"action": "update", "resource_id": web, "image": image}),
    );
    let updated = match image.parse() {
        Ok(image) => {
            docker(&server)
                .update(&plan, "web", &image, &CancellationToken::new())
                .await
        }
        Err(error) => Err(error),
    };
    (server, updated.map(|updated| json!(updated)))
}

#[tokio::test]
async fn the_new_container_is_the_old_one_from_another_image() {
    let engine = Engine::new("running");
    let (server, updated) = update(&engine, "nginx:1.28").await;
    assert_eq!(
        updated.unwrap(),
        json!({"id": "new1", "image": "nginx:1.28", "image_before": "nginx:1.27"})
    );
    assert_eq!(
        engine.all(),
        [("web".to_owned(), "nginx:1.28".to_owned(), "running")]
    );
    let asked = server.asked();
    let pull = asked
        .iter()
        .find(|asked| path(asked) == "/images/create")
        .unwrap();
    assert!(
        pull.path.contains("fromImage=nginx&") && pull.path.contains("tag=1.28"),
        "{}",
        pull.path
    );
    let body = asked
        .iter()
        .find(|asked| path(asked) == "/containers/create")
        .unwrap()
        .json();
    assert_eq!(
        body["Env"],
        json!(["DB_PASSWORD=hush"]),
        "what the old image had set is the new one's matter"
    );
    assert_eq!(body["Labels"], json!({"tier": "front"}));
    assert_eq!(body["Cmd"], Value::Null);
    assert_eq!(
        body["Hostname"],
        Value::Null,
        "it was named after the old container"
    );
    assert_eq!(
        body["HostConfig"]["Binds"],
        json!(["/srv/web:/usr/share/nginx/html:ro", "0a1b2c:/var/cache/nginx"]),
        "a volume without a name comes along"
    );
    assert_eq!(body["HostConfig"]["RestartPolicy"]["Name"], "unless-stopped");
    assert_eq!(
        body["NetworkingConfig"]["EndpointsConfig"],
        json!({"front": {"Aliases": ["web"]}})
    );
    let network = asked
        .iter()
        .find(|asked| path(asked).starts_with("/networks/"))
        .unwrap();
    assert_eq!(path(network), "/networks/back/connect");
}

#[tokio::test]
async fn the_old_container_comes_back_if_the_new_one_does_not_stay_up() {
    for state in ["exited", "restarting"] {
        let engine = Engine::new(state);
        let (_server, updated) = update(&engine, "nginx:broken").await;
        let error = updated.unwrap_err().to_string();
        assert!(error.contains("the old container was put back"), "{error}");
        assert_eq!(
            engine.all(),
            [("web".to_owned(), "nginx:1.27".to_owned(), "running")],
            "{state}"
        );
    }
}

#[tokio::test]
async fn an_image_that_is_nowhere_changes_nothing() {
    let engine = Engine {
        can_pull: false,
        ..Engine::new("running")
    };
    let before = engine.all();
    for image in ["nginx:nowhere", "nginx:1 evil", "../../etc"] {
        let (server, updated) = update(&engine, image).await;
        assert!(updated.is_err(), "{image}");
        assert_eq!(engine.all(), before);
        assert!(
            !server.lines().iter().any(|line| line.contains("/stop")),
            "{image}"
        );
    }
}
