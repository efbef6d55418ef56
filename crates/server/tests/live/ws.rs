//! The WebSocket: what may be said and what comes back, the past, what happens, slow readers, hostile ones.

use interlock_server::install_metrics;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::site::{Site, append, open};

#[tokio::test]
async fn every_frame_has_its_answer() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let channel = format!("session:{session}");
    append(&site.store, &session, 4, "x").await;
    let unknown = format!("session:{}", interlock_protocol::SessionId::from_bytes([9; 16]));
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let cases: Vec<(String, Value)> = vec![
        (r#"{"action":"ping"}"#.into(), json!({ "type": "pong" })),
        (
            json!({ "action": "subscribe", "channel": channel }).to_string(),
            json!({ "type": "subscription.confirmed", "channel": channel, "position": 5 }),
        ),
        (
            json!({ "action": "unsubscribe", "channel": channel }).to_string(),
            json!({ "type": "subscription.ended", "channel": channel }),
        ),
        (
            r#"{"action":"unsubscribe","channel":"sessions"}"#.into(),
            json!({ "type": "subscription.ended", "channel": "sessions" }),
        ),
        (
            json!({ "action": "subscribe", "channel": unknown }).to_string(),
            json!({ "type": "subscription.error", "channel": unknown, "code": "NOT_FOUND" }),
        ),
        (
            r#"{"action":"subscribe","channel":"users"}"#.into(),
            json!({ "type": "subscription.error", "channel": "users", "code": "INVALID_INPUT" }),
        ),
        (
            json!({ "action": "catchup", "channel": channel, "after": 0, "limit": 1001 }).to_string(),
            json!({ "type": "subscription.error", "channel": channel, "code": "INVALID_INPUT" }),
        ),
        (
            json!({ "action": "catchup", "channel": unknown, "after": 0 }).to_string(),
            json!({ "type": "subscription.error", "channel": unknown, "code": "NOT_FOUND" }),
        ),
        (
            json!({ "action": "catchup", "channel": channel, "after": 5 }).to_string(),
            json!({ "type": "catchup.page", "channel": channel, "events": [], "more": false }),
        ),
        (
            r#"{"action":"shout"}"#.into(),
            json!({ "type": "error", "code": "INVALID_INPUT" }),
        ),
        (
            "nonsense".into(),
            json!({ "type": "error", "code": "INVALID_INPUT" }),
        ),
        (deep, json!({ "type": "error", "code": "INVALID_INPUT" })),
    ];
    let mut client = site.connect().await;
    for (text, expected) in cases {
        let shown: String = text.chars().take(80).collect();
        client.send(Message::text(text)).await;
        let answer = client.next().await;
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[key], value, "{shown}: {answer}");
        }
        if answer["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("error"))
        {
            assert!(
                answer["message"].as_str().is_some_and(|text| text.len() > 10),
                "{answer}"
            );
        }
    }
    let page = |after: u64| json!({ "action": "catchup", "channel": channel, "after": after, "limit": 3 });
    for (after, places, more) in [(0, vec![1, 2, 3], true), (3, vec![4, 5], false)] {
        client.say(page(after)).await;
        let answer = client.next().await;
        let events = answer["events"].as_array().unwrap();
        let positions: Vec<u64> = events
            .iter()
            .filter_map(|event| event["position"].as_u64())
            .collect();
        assert_eq!(
            (positions, &answer["more"]),
            (places, &Value::Bool(more)),
            "{answer}"
        );
        assert!(
            events
                .iter()
                .all(|event| event["position"] == event["sequence"] && event["channel"] == channel)
        );
    }
}

#[tokio::test]
async fn what_happens_comes_to_those_who_watch_it() {
    let site = Site::start().await;
    let (mine, other) = (site.session(1).await, site.session(2).await);
    let own = format!("session:{mine}");
    let mut client = site.connect().await;
    assert_eq!(client.subscribe(&own, None).await, 1);
    let stands = client.subscribe("sessions", None).await;
    append(&site.store, &other, 3, "not watched").await;
    append(&site.store, &mine, 2, "watched").await;
    let third = site.session(3).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(client.next().await);
    }
    for (frame, place) in seen[..2].iter().zip([2, 3]) {
        assert_eq!(frame["channel"], own.as_str(), "{frame}");
        assert_eq!(frame["position"], place);
        assert_eq!(frame["sequence"], place);
        assert_eq!(frame["type"], "answer.given");
        assert_eq!(frame["data"]["text"], "watched");
        assert_eq!(frame["session"], mine.as_str());
    }
    assert_eq!(seen[2]["channel"], "sessions");
    assert_eq!(seen[2]["type"], "session.created");
    assert_eq!(seen[2]["session"], third.as_str());
    assert!(seen[2]["position"].as_u64() > Some(stands));
    // After the end nothing comes: the next frame is the answer to the next question.
    client
        .say(json!({ "action": "unsubscribe", "channel": own }))
        .await;
    assert_eq!(client.next().await["type"], "subscription.ended");
    append(&site.store, &mine, 1, "no longer watched").await;
    let fourth = site.session(4).await;
    assert_eq!(client.next().await["session"], fourth.as_str());
}

#[tokio::test]
async fn a_long_past_comes_whole_while_more_happens() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let channel = format!("session:{session}");
    append(&site.store, &session, 4_999, "past").await;
    let mut client = site.connect().await;
    let (store, writes) = (site.store.clone(), session.clone());
    let writing = tokio::spawn(async move {
        for _ in 0..200 {
            append(&store, &writes, 5, "now").await;
        }
    });
    let stands = client.subscribe(&channel, Some(0)).await;
    assert!(stands >= 5_000, "{stands}");
    let positions = client.positions(&channel, 6_000).await;
    assert!(
        positions.iter().copied().eq(1..=6_000),
        "a gap, a duplicate or another order"
    );
    writing.await.unwrap();
    // And nothing comes twice after that.
    client.say(json!({ "action": "ping" })).await;
    assert_eq!(client.next().await["type"], "pong");
}

#[tokio::test]
async fn whoever_comes_back_goes_on_where_they_were() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let channel = format!("session:{session}");
    let mut client = site.connect().await;
    client.subscribe(&channel, Some(0)).await;
    append(&site.store, &session, 10, "one").await;
    let last = client.positions(&channel, 7).await.pop().unwrap();
    drop(client);
    append(&site.store, &session, 300, "while away").await;
    let mut client = site.connect().await;
    assert_eq!(client.subscribe(&channel, Some(last)).await, 311);
    append(&site.store, &session, 5, "back").await;
    let positions = client.positions(&channel, 316 - 7).await;
    assert!(positions.iter().copied().eq(8..=316), "{positions:?}");
    // A place that is ahead of the channel is where it stands.
    let mut client = site.connect().await;
    assert_eq!(client.subscribe(&channel, Some(99_999)).await, 316);
    append(&site.store, &session, 1, "next").await;
    assert_eq!(client.positions(&channel, 1).await, [317]);
}

#[tokio::test]
async fn the_list_of_sessions_has_a_past_too() {
    let site = Site::start().await;
    let mut expected = Vec::new();
    for number in 1..=250 {
        let session = site.session(number).await;
        append(&site.store, &session, 1, "not in the list").await;
        expected.push(session.to_string());
    }
    let mut client = site.connect().await;
    client.subscribe("sessions", Some(0)).await;
    let mut last = 0;
    for session in &expected {
        let frame = client.next().await;
        assert_eq!(frame["session"], session.as_str());
        assert_eq!(frame["type"], "session.created");
        let position = frame["position"].as_u64().unwrap();
        assert!(position > last);
        last = position;
    }
}

#[tokio::test]
async fn a_slow_reader_is_let_go_and_loses_nothing() {
    const EVENTS: usize = 400;
    const LAST: u64 = EVENTS as u64 + 1;
    let site = Site::start().await;
    let session = site.session(1).await;
    let channel = format!("session:{session}");
    let mut client = site.connect().await;
    client.subscribe(&channel, None).await;
    // More than the system and the server keep for somebody who does not read.
    append(&site.store, &session, EVENTS, &"x".repeat(100_000)).await;
    let mut seen: Vec<u64> = Vec::new();
    let resume = loop {
        let frame = client.next().await;
        if frame["type"] == "connection.slow" {
            break frame["resume"][&channel].as_u64().unwrap();
        }
        seen.extend(frame["position"].as_u64());
    };
    assert_eq!(client.closed().await, 1013);
    assert!(seen.len() < EVENTS, "it was not slow");
    assert_eq!(seen.last().copied().unwrap_or(1), resume);
    let mut client = site.connect().await;
    client.subscribe(&channel, Some(resume)).await;
    let rest = usize::try_from(LAST - resume).unwrap();
    seen.extend(client.positions(&channel, rest).await);
    assert!(seen.iter().copied().eq(2..=LAST), "{seen:?}");
}

#[tokio::test]
async fn what_another_process_does_is_seen_too() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let channel = format!("session:{session}");
    let mut client = site.connect().await;
    client.subscribe(&channel, None).await;
    client.subscribe("sessions", None).await;
    let elsewhere = open(site.folder());
    append(&elsewhere, &session, 3, "from elsewhere").await;
    append(&site.store, &session, 2, "from here").await;
    assert_eq!(client.positions(&channel, 5).await, [2, 3, 4, 5, 6]);
    // Also the switch that stops all writes.
    elsewhere.set_setting("kill_switch", "engaged").await.unwrap();
    let frame = client.next().await;
    assert_eq!(
        (&frame["channel"], &frame["type"]),
        (&json!("sessions"), &json!("writes.changed"))
    );
    assert_eq!(frame["data"]["stopped"], true);
    assert_eq!(frame.get("position"), None);
}

#[tokio::test]
async fn what_a_model_writes_comes_before_what_is_kept_of_it() {
    let site = Site::start().await;
    let submission = interlock_engine::Submission::question("how is it?");
    let session = site.engine.submit(submission).await.unwrap();
    let channel = format!("session:{session}");
    let mut client = site.connect().await;
    client.subscribe(&channel, Some(0)).await;
    let (engine, work) = (site.engine.clone(), session.clone());
    let worker = tokio::spawn(async move { engine.work_on(&work).await.unwrap() });
    let (mut text, mut asked, mut answered) = (String::new(), false, false);
    loop {
        let frame = client.next().await;
        match frame["type"].as_str().unwrap() {
            "model.asked" => {
                asked = true;
                assert_eq!(frame["model"], "script");
            }
            "stream.chunk" => {
                assert!(asked && !answered, "{frame}");
                assert_eq!(frame["kind"], "text");
                text.push_str(frame["delta"].as_str().unwrap());
            }
            "answer.given" => answered = true,
            "session.completed" => break,
            _ => assert!(frame["position"].is_u64(), "{frame}"),
        }
    }
    worker.await.unwrap();
    assert_eq!(text.trim(), "Everything is as it should be.");
    assert!(answered);
}

#[tokio::test]
async fn whoever_comes_in_the_middle_of_a_text_has_the_whole_of_it() {
    // Long enough that it is shown in many pieces: masking looks at some words together.
    let said = ["Everything is as it should be."; 12].join(" ");
    let reply = json!({ "text": said, "chunk_size": 8, "chunk_delay": "50ms" });
    let site = Site::start_saying(&reply, install_metrics(), |_| {}).await;
    let submission = interlock_engine::Submission::question("how is it?");
    let session = site.engine.submit(submission).await.unwrap();
    let channel = format!("session:{session}");
    let (mut first, mut second) = (site.connect().await, site.connect().await);
    first.subscribe(&channel, Some(0)).await;
    let (engine, work) = (site.engine.clone(), session.clone());
    let worker = tokio::spawn(async move { engine.work_on(&work).await.unwrap() });
    let mut seen = 0;
    while seen < 3 {
        seen += usize::from(first.next().await["type"] == "stream.chunk");
    }
    second.subscribe(&channel, Some(0)).await;
    let (mut text, mut snapshots) = (String::new(), 0);
    loop {
        let frame = second.next().await;
        match frame["type"].as_str().unwrap() {
            "stream.chunk" => {
                if frame["snapshot"] == true {
                    snapshots += 1;
                    assert_eq!((frame["offset"].as_u64(), text.as_str()), (Some(0), ""));
                }
                text.push_str(frame["delta"].as_str().unwrap());
            }
            "session.completed" => break,
            _ => {}
        }
    }
    worker.await.unwrap();
    assert_eq!((text.trim(), snapshots), (said.as_str(), 1));
    // What was kept is in the record, and told from there alone.
    let mut third = site.connect().await;
    third.subscribe(&channel, Some(0)).await;
    loop {
        let frame = third.next().await;
        assert_ne!(frame["type"], "stream.chunk");
        if frame["type"] == "session.completed" {
            break;
        }
    }
}

#[tokio::test]
async fn hostile_frames_end_the_connection_or_are_answered() {
    let site = Site::start().await;
    let mut binary = site.connect().await;
    binary.send(Message::binary(vec![0xff; 10])).await;
    assert_eq!(binary.next().await["type"], "error");
    binary.say(json!({ "action": "ping" })).await;
    assert_eq!(binary.next().await["type"], "pong");
    let text = |bytes: &'static [u8]| Message::Frame(Frame::message(bytes, OpCode::Data(Data::Text), true));
    let cases = [
        ("too large", Message::text("x".repeat(64 * 1024 + 1)), 1009),
        ("not UTF-8", text(b"\xff\xfe"), 1007),
    ];
    for (name, message, code) in cases {
        let mut client = site.connect().await;
        client.send(message).await;
        assert_eq!(client.closed().await, code, "{name}");
    }
    let mut client = site.connect().await;
    for _ in 0..20 {
        client.send(Message::text("[]")).await;
        assert_eq!(client.next().await["type"], "error");
    }
    assert_eq!(client.closed().await, 1008);
    // And the server goes on.
    site.connect().await.subscribe("sessions", None).await;
}

#[tokio::test]
async fn whoever_asks_for_too_much_at_once_is_told_and_then_let_go() {
    let site = Site::start().await;
    let mut client = site.connect().await;
    for _ in 0..2_000 {
        client
            .say(json!({ "action": "catchup", "channel": "none", "after": 0 }))
            .await;
    }
    let mut codes = Vec::new();
    let closed = loop {
        match client.message().await {
            Some(Ok(Message::Text(text))) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                codes.push(frame["code"].as_str().unwrap().to_owned());
            }
            Some(Ok(Message::Close(Some(frame)))) => break u16::from(frame.code),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(closed, 1008);
    let first = codes.iter().position(|code| code == "RATE_LIMITED").unwrap();
    assert!(first >= 512, "{first}");
    assert!(codes[..first].iter().all(|code| code == "INVALID_INPUT"));
    assert_eq!(codes.iter().filter(|code| *code == "RATE_LIMITED").count(), 20);
}

#[tokio::test]
async fn a_server_that_goes_says_so() {
    let mut site = Site::start().await;
    let mut client = site.connect().await;
    client.subscribe("sessions", None).await;
    let (code, ()) = tokio::join!(client.closed(), site.stop());
    assert_eq!(code, 1001);
}

/// The clock is stopped, so that it jumps to whatever is due next.
#[tokio::test]
async fn whoever_is_silent_is_asked_and_then_let_go() {
    use tokio::io::AsyncReadExt as _;
    let site = Site::start().await;
    let client = site.connect().await;
    // Bytes as they come: nobody answers the pings.
    let mut raw = client.0.into_inner();
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let mut bytes = Vec::new();
    while !bytes
        .windows(4)
        .any(|window| window[0] == 0x88 && window[2..] == 1001_u16.to_be_bytes())
    {
        assert!(
            raw.read_buf(&mut bytes).await.unwrap() > 0,
            "closed without a word: {bytes:?}"
        );
    }
    assert!(bytes.starts_with(&[0x89, 0, 0x89, 0]), "{bytes:?}");
    let seconds = begun.elapsed().as_secs();
    assert!((60..120).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn what_is_watched_ends_when_its_session_is_deleted() {
    let site = Site::start().await;
    let (gone, stays) = (site.session(1).await, site.session(2).await);
    let (first, second) = (format!("session:{gone}"), format!("session:{stays}"));
    let mut client = site.connect().await;
    client.subscribe(&first, None).await;
    client.subscribe(&second, None).await;
    // By another process, as by anybody.
    let elsewhere = open(site.folder());
    elsewhere
        .request_cancel(&gone, None, jiff::Timestamp::now())
        .await
        .unwrap();
    elsewhere
        .soft_delete(&gone, jiff::Timestamp::now())
        .await
        .unwrap();
    let mut last = client.next().await;
    while last["channel"] == first.as_str() && last["type"] != "subscription.error" {
        last = client.next().await;
    }
    // Word for word what somebody gets who asks for it now, or for one that never was.
    client
        .say(json!({ "action": "subscribe", "channel": first }))
        .await;
    assert_eq!(last, client.next().await);
    assert_eq!(
        (&last["code"], &last["channel"]),
        (&json!("NOT_FOUND"), &json!(first))
    );
    client
        .say(json!({ "action": "catchup", "channel": "sessions", "after": 0 }))
        .await;
    let page = client.next().await;
    let sessions: Vec<&Value> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["session"])
        .collect();
    assert_eq!(sessions, [&json!(stays)], "{page}");
    // The others go on, and so does this one once it is back.
    append(&site.store, &stays, 1, "watched").await;
    assert_eq!(client.next().await["channel"], second.as_str());
    elsewhere.restore(&gone).await.unwrap();
    client.subscribe(&first, None).await;
}
