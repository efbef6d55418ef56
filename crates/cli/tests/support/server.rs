//! A server of a test's own, and a client that needs nothing but a socket.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use serde_json::{Value, json};

use super::Home;

pub(crate) struct Server {
    pub(crate) url: String,
    /// A token that may do everything.
    pub(crate) token: String,
    pub(crate) child: Child,
}

impl Server {
    /// Starts it as its user would, with these further arguments.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::started(home.start(&[&["--json", "serve", "--listen", "127.0.0.1:0"], arguments].concat()))
    }

    /// A server that was started with `--json`.
    pub(crate) fn started(mut child: Child) -> Self {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        let document: Value = loop {
            assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended: {said}");
            if let Ok(document) = serde_json::from_str(&said) {
                break document;
            }
        };
        // Whoever stops reading would stop it from writing.
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        let mut server = Self {
            url: document["url"].as_str().unwrap().to_owned(),
            token: String::new(),
            child,
        };
        let link = document["sign_in_link"].as_str().unwrap();
        server.token = server.token_of(link);
        server
    }

    /// Signs in with a link, and makes a token with every scope.
    pub(crate) fn token_of(&self, link: &str) -> String {
        let link = json!({ "link": link.split_once("#link=").unwrap().1 });
        let (status, head, me) = self.send("POST", "/api/v1/auth/link", &[], Some(&link));
        assert_eq!(status, 200, "{me}");
        let cookie = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "))
            .and_then(|cookie| cookie.split(';').next())
            .unwrap();
        let browser = [("cookie", cookie), ("x-csrf-token", me["csrf"].as_str().unwrap())];
        let scopes = json!({ "name": "test", "scopes": ["read", "operate", "approve", "admin"] });
        let (status, _, made) = self.send("POST", "/api/v1/me/tokens", &browser, Some(&scopes));
        assert!(status < 300, "{status} {made}");
        made["secret"].as_str().unwrap().to_owned()
    }

    /// Asks with the token.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let (status, _, body) = self.send(
            "GET",
            path,
            &[("authorization", &format!("Bearer {}", self.token))],
            None,
        );
        (status, body)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let authorization = format!("Bearer {}", self.token);
        let (status, _, body) = self.send("POST", path, &[("authorization", &authorization)], Some(body));
        (status, body)
    }

    /// One request: the status, the head in small letters, and the body as JSON.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> (u16, String, Value) {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        if !body.is_empty() {
            let (origin, length) = (&self.url, body.len());
            write!(
                request,
                "origin: {origin}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
            )
            .unwrap();
        }
        stream
            .write_all(format!("{request}\r\n{body}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        (status, head.to_owned(), body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
