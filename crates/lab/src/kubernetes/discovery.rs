//! What the API tells about itself.

use serde_json::{Value, json};

use super::kind::{ALL, Kind};

pub(super) fn version() -> Value {
    json!({
        "major": "1", "minor": "31", "gitVersion": "v1.31.3+k3s1", "gitCommit": "6e6af988", "gitTreeState": "clean",
        "buildDate": "2024-12-06T00:00:00Z", "goVersion": "go1.22.8", "compiler": "gc", "platform": "linux/amd64",
    })
}

pub(super) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

fn group(name: &str) -> Value {
    let version = json!({ "groupVersion": format!("{name}/v1"), "version": "v1" });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

pub(super) fn groups() -> Value {
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [group("apps"), group("batch")] })
}

pub(super) fn one_group(name: &str) -> Option<Value> {
    let mut found = matches!(name, "apps" | "batch").then(|| group(name))?;
    found["kind"] = json!("APIGroup");
    found["apiVersion"] = json!("v1");
    Some(found)
}

pub(super) fn resources(group: &str) -> Option<Value> {
    let kinds: Vec<Kind> = ALL.into_iter().filter(|kind| kind.group() == group).collect();
    let version = kinds.first()?.api_version();
    let mut resources = Vec::new();
    for kind in kinds {
        let verbs: &[&str] = match kind {
            _ if !kind.changes() => &["get", "list", "watch"],
            Kind::Node => &["get", "list", "patch", "update", "watch"],
            _ => &["delete", "get", "list", "patch", "update", "watch"],
        };
        resources.push(json!({
            "name": kind.plural(), "singularName": kind.name().to_lowercase(), "namespaced": kind.namespaced(),
            "kind": kind.name(), "verbs": verbs, "shortNames": kind.short(),
            "categories": if kind.namespaced() && kind != Kind::Event && kind != Kind::ConfigMap { json!(["all"]) } else { json!([]) },
        }));
        if kind.scales() {
            resources.push(json!({
                "name": format!("{}/scale", kind.plural()), "singularName": "", "namespaced": true,
                "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
            }));
        }
        if kind == Kind::Pod {
            resources.push(json!({
                "name": "pods/log", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get"],
            }));
            resources.push(json!({
                "name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy", "version": "v1",
                "kind": "Eviction", "verbs": ["create"],
            }));
        }
    }
    Some(
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources }),
    )
}
