//! Who may sign in, and the links that let them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::io::{BufRead as _, BufReader};

use serde_json::Value;

use support::{Home, ended};

#[test]
fn a_link_leads_to_the_server_that_runs() {
    let home = Home::with_script("replies: [{ text: Fine. }]");
    let link = |arguments: &[&str]| {
        let ran = home.run(arguments);
        assert_eq!(ran.exit, Some(0), "{ran}");
        (ran.json()["link"].as_str().unwrap().to_owned(), ran)
    };
    let before = home.run(&["user", "add", "zoe", "--role", "viewer"]);
    assert!(
        before.stdout.contains("http://127.0.0.1:7878/sign-in#link="),
        "{before}"
    );
    assert!(
        before.stderr.contains("no server of this store answers"),
        "{before}"
    );
    let mut server = home.start(&["--json", "serve", "--no-workers", "--listen", "127.0.0.1:0"]);
    let mut said = String::new();
    let mut out = BufReader::new(server.stdout.take().unwrap());
    let url = loop {
        assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended: {said}");
        if let Ok(document) = serde_json::from_str::<Value>(&said) {
            break document["url"].as_str().unwrap().to_owned();
        }
    };
    let (there, ran) = link(&["user", "link", "zoe", "--json"]);
    assert!(there.starts_with(&format!("{url}/sign-in#link=")), "{url}: {ran}");
    server.kill().unwrap();
    drop(out);
    ended(server);
    // It was not stopped in order, and nothing answers there any more.
    let (there, ran) = link(&["user", "link", "zoe", "--json"]);
    assert!(there.starts_with("http://127.0.0.1:7878/sign-in#link="), "{ran}");
}

#[test]
fn a_name_that_could_be_mistaken_is_refused_with_the_reason() {
    let home = Home::empty();
    for (name, exit, said) in [
        ("zoe", Some(0), ""),
        ("zoe", Some(1), "already"),
        ("ZOE", Some(1), "already"),
        ("zo\u{435}", Some(2), "could be mistaken"),
        ("zoe ", Some(2), "could be mistaken"),
        ("zo\u{200b}e", Some(2), "could be mistaken"),
        (".zoe", Some(2), "begins with a letter"),
    ] {
        let ran = home.run(&["user", "add", name, "--role", "viewer"]);
        assert_eq!(ran.exit, exit, "{name:?} {ran}");
        assert!(ran.stderr.contains(said), "{name:?} {ran}");
    }
}
