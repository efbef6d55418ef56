//! The model: an OpenAI-compatible server on loopback whose replies were generated beforehand.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::generate::{Reply, Session};

/// The replies that are left, by the word in the question that names the session.
type Replies = Arc<Mutex<HashMap<String, Session>>>;

pub(crate) struct Model {
    pub(crate) url: String,
    replies: Replies,
}

impl Model {
    pub(crate) fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let replies = Replies::default();
        let shared = Arc::clone(&replies);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let replies = Arc::clone(&shared);
                std::thread::spawn(move || converse(stream, &replies));
            }
        });
        Self { url, replies }
    }

    /// The model will play this session when a question has its word.
    pub(crate) fn learn(&self, session: Session) {
        let word = session.word.clone();
        self.replies.lock().unwrap().insert(word, session);
    }

    /// Whether it proposed everything that it had to.
    pub(crate) fn is_over(&self, word: &str) -> bool {
        self.replies.lock().unwrap()[word].is_over()
    }
}

/// Answers requests until the other side hangs up.
fn converse(mut stream: TcpStream, replies: &Replies) -> Option<()> {
    let mut buffer = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let (head, length) = loop {
            if let Some(end) = buffer.windows(4).position(|at| at == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&buffer[..end]).to_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
                break (end + 4, length?.trim().parse::<usize>().ok()?);
            }
            let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
            buffer.extend_from_slice(&piece[..read]);
        };
        while buffer.len() < head + length {
            let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
            buffer.extend_from_slice(&piece[..read]);
        }
        let request: Value = serde_json::from_slice(&buffer[head..head + length]).ok()?;
        buffer.drain(..head + length);
        let body = written(&reply(&request, replies));
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream
            .write_all(&[head.into_bytes(), body.into_bytes()].concat())
            .ok()?;
    }
}

/// The next reply of the session that the conversation is about.
fn reply(request: &Value, replies: &Replies) -> Reply {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let asked = messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].to_string())
        .collect::<String>();
    let mut replies = replies.lock().unwrap();
    let session = replies.iter_mut().find(|(word, _)| asked.contains(word.as_str()));
    session.map_or_else(Reply::default, |(_, session)| session.next(&messages))
}

fn written(reply: &Reply) -> String {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            json!({
                "index": index,
                "id": call.id,
                "type": "function",
                "function": { "name": call.tool, "arguments": call.arguments },
            })
        })
        .collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut delta = json!({ "role": "assistant", "content": reply.text });
    if !calls.is_empty() {
        delta["tool_calls"] = Value::Array(calls);
    }
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk =
            json!({ "id": "c", "object": "chat.completion.chunk", "model": "hostile", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    format!(
        "{}{}data: [DONE]\n\n",
        chunk(delta, None),
        chunk(json!({}), Some(finish))
    )
}
