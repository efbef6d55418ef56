//! Everything that somebody could see of what came in.

use interlock_engine::{Trace, bundle};
use interlock_protocol::SessionId;
use jiff::Timestamp;
use serde_json::Value;

use crate::place::Place;

impl Place {
    /// What each sink holds, by its name.
    pub(crate) async fn sinks(&self) -> Vec<(String, Vec<u8>)> {
        let mut sinks = self.watched.clone();
        let sessions = self.sessions().await;
        self.routes(&sessions, &mut sinks).await;
        for session in &sessions {
            let id = SessionId::new(session).unwrap();
            let mut traces = Vec::new();
            for run in self.store.runs(&id).await.unwrap() {
                let trace = Trace::of(&self.store, &id, run).await.unwrap();
                serde_json::to_writer(&mut traces, &trace).unwrap();
            }
            sinks.push(("trace".to_owned(), traces));
            let file = bundle::bundle(&self.store, &id, Timestamp::now()).await.unwrap();
            let verified = bundle::verify(&file, &self.keyring);
            assert!(verified.holds(), "{:?}", verified.faults);
            sinks.push((
                "page of a bundle".to_owned(),
                bundle::page(&verified).into_bytes(),
            ));
            sinks.push(("bundle".to_owned(), file.into_bytes()));
        }
        sinks.push(("request to a model".to_owned(), self.provider.asked()));
        let (right, wrong) = self.answers.lock().unwrap().clone();
        sinks.push(("answer of the API".to_owned(), right));
        sinks.push(("error of the API".to_owned(), wrong));
        sinks.push(("log as text".to_owned(), self.logs.text.bytes()));
        sinks.push(("log as JSON".to_owned(), self.logs.json.bytes()));
        for entry in std::fs::read_dir(self.folder()).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            sinks.push((format!("file {name}"), std::fs::read(&file).unwrap()));
        }
        sinks
    }

    async fn sessions(&self) -> Vec<String> {
        let (_, body) = self.get("/api/v1/sessions?page_size=100").await;
        let list: Value = serde_json::from_slice(&body).unwrap();
        let sessions = list["sessions"].as_array().unwrap();
        sessions
            .iter()
            .map(|session| session["id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// What every route that only looks answers: those of the description of the API, so that a new one is looked at too.
    async fn routes(&self, sessions: &[String], sinks: &mut Vec<(String, Vec<u8>)>) {
        let (_, description) = self.get("/api/v1/openapi.json").await;
        let description: Value = serde_json::from_slice(&description).unwrap();
        let holds = self.ids("/api/v1/approvals?status=all", "approvals").await;
        let mut asked = 0;
        for (path, item) in description["paths"].as_object().unwrap() {
            if item.get("get").is_none() || path.ends_with("/stream") || path.ends_with("/ws") {
                continue;
            }
            let ids: Vec<String> = match path.split('/').nth(3).unwrap_or_default() {
                _ if !path.contains('{') => vec![String::new()],
                "sessions" => sessions.to_vec(),
                "approvals" => holds.clone(),
                "resources" => vec!["host:web".to_owned()],
                // Sign-in with a provider, which is not configured.
                _ => Vec::new(),
            };
            for id in ids {
                let evidence = if path.contains("{evidence") {
                    self.ids(&format!("/api/v1/sessions/{id}/evidence"), "evidence")
                        .await
                } else {
                    vec![String::new()]
                };
                for evidence in evidence {
                    let mut parts = path.split('/').map(|part| match part {
                        "{id}" => id.clone(),
                        part if part.starts_with('{') => evidence.clone(),
                        part => part.to_owned(),
                    });
                    let first = parts.next().unwrap();
                    let mut place = parts.fold(first, |path, part| format!("{path}/{part}"));
                    // The first page of a list holds only the newest sessions.
                    if path == "/api/v1/sessions" {
                        place.push_str("?page_size=100");
                    }
                    let (status, body) = self.get(&place).await;
                    assert!(status < 500 || path == "/ready", "{place}: {status}");
                    asked += usize::from(status == 200);
                    sinks.push((format!("GET {path}"), body));
                }
            }
        }
        assert!(asked > 30, "only {asked} routes answered");
    }

    async fn ids(&self, path: &str, list: &str) -> Vec<String> {
        let (_, body) = self.get(path).await;
        let found: Value = serde_json::from_slice(&body).unwrap();
        let entries = found[list].as_array().into_iter().flatten();
        entries
            .filter_map(|entry| entry["id"].as_str().map(str::to_owned))
            .collect()
    }
}
