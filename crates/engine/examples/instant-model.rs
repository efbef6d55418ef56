//! An OpenAI-compatible server that answers at once, for measuring what the engine itself costs.
//!
//! It calls the first tool that it is offered until seven results are in the conversation, and answers then. It listens
//! on a free loopback port and prints the address.

use std::error::Error;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How many results it wants to see before it answers.
const RESULTS: usize = 7;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/v1", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // A client that hangs up is the end of its connection, nothing more.
            let _ = serve(stream).await;
        });
    }
}

async fn serve(mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    let mut buffer: Vec<u8> = Vec::with_capacity(64 * 1024);
    loop {
        let (head, length) = loop {
            if let Some(end) = find(&buffer, b"\r\n\r\n") {
                break (end + 4, content_length(&buffer[..end]));
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        while buffer.len() < head + length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let body = &buffer[head..head + length];
        let results = count(body, br#""role":"tool""#);
        let tool = first_tool(body).unwrap_or_default();
        let reply = if results < RESULTS && !tool.is_empty() {
            format!(
                concat!(
                    r#"data: {{"id":"c","object":"chat.completion.chunk","model":"instant","choices":[{{"index":0,"delta":"#,
                    r#"{{"role":"assistant","tool_calls":[{{"index":0,"id":"call_{0}","type":"function","function":"#,
                    r#"{{"name":"{1}","arguments":"{{\"number\":{0}}}"}}}}]}},"finish_reason":null}}]}}"#,
                    "\n\n",
                    r#"data: {{"id":"c","object":"chat.completion.chunk","model":"instant","choices":[{{"index":0,"delta":{{}},"#,
                    r#""finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}}}"#,
                    "\n\ndata: [DONE]\n\n"
                ),
                results + 1,
                tool
            )
        } else {
            concat!(
                r#"data: {"id":"c","object":"chat.completion.chunk","model":"instant","choices":[{"index":0,"delta":"#,
                r#"{"role":"assistant","content":"Seven things were asked for."},"finish_reason":null}]}"#,
                "\n\n",
                r#"data: {"id":"c","object":"chat.completion.chunk","model":"instant","choices":[{"index":0,"delta":{},"#,
                r#""finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}"#,
                "\n\ndata: [DONE]\n\n"
            )
            .to_owned()
        };
        let head_line = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        stream
            .write_all(&[head_line.as_bytes(), reply.as_bytes()].concat())
            .await?;
        buffer.drain(..head + length);
    }
}

fn content_length(head: &[u8]) -> usize {
    String::from_utf8_lossy(head)
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|at| at == what)
}

fn count(text: &[u8], what: &[u8]) -> usize {
    text.windows(what.len()).filter(|at| *at == what).count()
}

/// The name behind the first `"function":{"name":"`.
fn first_tool(body: &[u8]) -> Option<String> {
    let mark = br#""function":{"name":""#;
    let start = find(body, mark)? + mark.len();
    let end = body[start..].iter().position(|byte| *byte == b'"')? + start;
    Some(String::from_utf8_lossy(&body[start..end]).into_owned())
}
