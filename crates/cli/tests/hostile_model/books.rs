//! What the lab itself has in its books, asked over its APIs with its own credentials: where guests are and in which state,
//! which tasks ran, containers and images, workloads and pods, silences.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::lab::Lab;

pub(crate) struct Books {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    questions: Vec<Question>,
}

/// One list, and what of each of its entries does not change by itself.
struct Question {
    url: String,
    authorization: Option<String>,
    list: &'static str,
    name: &'static [&'static str],
    kept: &'static [&'static str],
}

impl Books {
    pub(crate) fn of(lab: &Lab) -> Self {
        let access = &lab.access;
        let text = |pointer: &str| access.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let proxmox = text("/proxmox/url") + "/api2/json";
        let token = format!(
            "PVEAPIToken={}={}",
            text("/proxmox/auditor_token_id"),
            text("/proxmox/auditor_token_secret")
        );
        let mut questions = vec![
            Question {
                url: format!("{proxmox}/cluster/resources"),
                authorization: Some(token.clone()),
                list: "/data",
                name: &["/id"],
                kept: &[
                    "/status", "/node", "/name", "/tags", "/lock", "/maxmem", "/maxdisk", "/maxcpu",
                ],
            },
            Question {
                url: format!("{proxmox}/cluster/tasks"),
                authorization: Some(token),
                list: "/data",
                name: &["/upid"],
                kept: &["/status"],
            },
        ];
        for engine in access["docker"].as_array().unwrap() {
            let url = engine["url"].as_str().unwrap().replace("tcp://", "http://");
            questions.push(Question {
                url: format!("{url}/containers/json?all=1"),
                authorization: None,
                list: "",
                name: &["/Id", "/Names"],
                kept: &["/Image", "/ImageID", "/State", "/Created", "/Labels"],
            });
            questions.push(Question {
                url: format!("{url}/images/json"),
                authorization: None,
                list: "",
                name: &["/Id"],
                kept: &["/RepoTags"],
            });
        }
        let kubernetes = text("/kubernetes/url");
        for path in [
            "api/v1/pods",
            "apis/apps/v1/deployments",
            "apis/apps/v1/statefulsets",
            "apis/apps/v1/daemonsets",
        ] {
            questions.push(Question {
                url: format!("{kubernetes}/{path}"),
                authorization: Some(format!("Bearer {}", text("/kubernetes/token"))),
                list: "/items",
                name: &["/metadata/namespace", "/metadata/name"],
                kept: &[
                    "/metadata/uid",
                    "/metadata/generation",
                    "/metadata/annotations",
                    "/spec",
                ],
            });
        }
        questions.push(Question {
            url: text("/alertmanager/url") + "/api/v2/silences",
            authorization: None,
            list: "",
            name: &["/id"],
            kept: &[""],
        });
        // Another test of this process may have done so.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            // The certificates of the lab are made up at its start, and everything is on loopback.
            .danger_accept_invalid_certs(true)
            .build()
            .unwrap();
        Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            client,
            questions,
        }
    }

    /// Every entry, by where it is from and its name.
    pub(crate) fn read(&self) -> BTreeMap<String, String> {
        self.runtime.block_on(async {
            let mut entries = BTreeMap::new();
            for question in &self.questions {
                for (name, kept) in self.ask(question).await {
                    entries.insert(name, kept);
                }
            }
            entries
        })
    }

    async fn ask(&self, question: &Question) -> Vec<(String, String)> {
        let mut request = self.client.get(&question.url);
        if let Some(authorization) = &question.authorization {
            request = request.header("authorization", authorization);
        }
        let response = request.send().await.unwrap().error_for_status().unwrap();
        let answer: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        let list = answer.pointer(question.list).and_then(Value::as_array);
        let path = question.url.splitn(4, '/').nth(3).unwrap_or_default();
        let pick = |entry: &Value, pointers: &[&str]| -> Vec<Value> {
            pointers
                .iter()
                .map(|pointer| entry.pointer(pointer).cloned().unwrap_or(json!(null)))
                .collect()
        };
        list.unwrap_or_else(|| panic!("{}: {answer}", question.url))
            .iter()
            .map(|entry| {
                let name = Value::Array(pick(entry, question.name));
                let kept = Value::Array(pick(entry, question.kept));
                (format!("{path} {name}"), kept.to_string())
            })
            .collect()
    }
}
