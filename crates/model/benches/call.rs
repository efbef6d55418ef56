//! What a call costs us in processor time. Prints it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that cannot be set up has failed"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use support::{DONE, client, ignore, options, question, said};
use tokio_util::sync::CancellationToken;

/// Answers every request at once with the same stream.
fn instant_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let body = (0..8).map(|_| said("some words ")).collect::<String>() + DONE;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut request = vec![0; 65536];
                // A small request comes in one piece.
                while stream.read(&mut request).is_ok_and(|read| read > 0) {
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    url
}

/// Nanoseconds that this thread has run.
fn cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .expect("a number")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = client(&options(&instant_server()));
    let cancel = CancellationToken::new();
    let request = question();
    for calls in [200_u64, 5000] {
        let before = cpu();
        for _ in 0..calls {
            client
                .generate(&request, &cancel, &mut ignore)
                .await
                .expect("a reply");
        }
        let micros = (cpu() - before) / calls / 1000;
        println!("{calls} calls: {micros} µs of processor time each");
    }
}
