//! What fits into a model: a long run goes on by shortening what is old, and what cannot fit ends with a clear reason.

use interlock_dialect::Dialect;
use interlock_executor::{BoxFuture, Done};
use interlock_protocol::Status;
use serde_json::{Value, json};

use crate::fixture::{Lab, Wish, answer_in, call_in, find, read};

/// About how many tokens a request shows, as the engine counts.
fn size(body: &Value) -> usize {
    let messages: usize = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap_or_default().len())
        .sum();
    messages.div_ceil(4)
}

fn large(dialect: Dialect, turns: usize) -> Wish {
    let mut replies = vec![call_in(dialect, find())];
    // A conversation whose older messages are dropped is at an earlier place of the script: the place is in the text.
    replies.extend((0..turns).map(|at| call_in(dialect, read(&format!("cat /var/log/file{at}")))));
    replies.push(answer_in(dialect, "Nothing to report."));
    let mut wish = Wish::replies(replies).dialect(dialect).behaves(|_, started, _| {
        let command = started.plan().command.clone()?;
        let failed = command.ends_with("file3");
        let future: BoxFuture<'_, Done> = Box::pin(async move {
            if failed {
                let response = interlock_protocol::ToolResponse::failed(
                    interlock_protocol::ErrorCode::ExecutionFailed,
                    "THE-ERROR: no such file",
                    interlock_protocol::Retry::Useless,
                    serde_json::Map::new(),
                );
                return Done {
                    response,
                    outcome: interlock_protocol::Outcome::Failed,
                    ..Done::succeeded(json!(null), "failed")
                };
            }
            Done::succeeded(
                json!({ "stdout": format!("{command} {}", "line of a log\n".repeat(400)) }),
                "read",
            )
        });
        Some(future)
    });
    wish.context_tokens = Some(12_000);
    wish
}

#[tokio::test]
async fn a_long_run_fits_by_shortening_its_old_results() {
    for &dialect in Dialect::ALL {
        let lab = Lab::new(large(dialect, 14));
        let (session, outcome) = lab.ask("what do the logs say?").await;
        assert_eq!(outcome.status, Status::Completed, "{dialect}: {outcome:?}");
        let bodies = lab.requests(&session).await;
        assert_eq!(bodies.len(), 16, "{dialect}");
        for body in &bodies {
            assert!(size(body) <= 12_000, "{dialect}: {}", size(body));
        }
        let last = bodies.last().unwrap()["messages"].to_string();
        assert!(last.contains("what do the logs say?"), "{dialect}");
        assert!(last.contains("left out to save room"), "{dialect}");
        assert!(last.contains("THE-ERROR"), "{dialect}: an error went");
        assert!(
            last.contains("cat /var/log/file13 line of a log"),
            "{dialect}: the newest result went"
        );
        assert!(
            !last.contains("cat /var/log/file0 line of a log"),
            "{dialect}: the oldest result stayed"
        );
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_question_that_cannot_fit_fails_with_what_to_do() {
    let mut wish = Wish::replies([json!({ "text": "Fine.", "repeat": "forever" })]);
    wish.context_tokens = Some(4000);
    let lab = Lab::new(wish);
    let (session, outcome) = lab.ask(&"x y ".repeat(10_000)).await;
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    let why = outcome.error.unwrap();
    assert!(why.contains("context_tokens"), "{why}");
    assert!(lab.requests(&session).await.is_empty());
}

#[tokio::test]
async fn a_long_chat_drops_its_oldest_turns() {
    let words: Vec<String> = (0..400_u64)
        .map(|at| format!("{:x}", at * 2_654_435_761))
        .collect();
    let long = format!("Answer: {}", words.join(" "));
    let mut wish = Wish::replies([json!({ "text": long, "repeat": "forever" })]);
    wish.context_tokens = Some(8000);
    let lab = Lab::new(wish);
    let (session, _) = lab.ask("question number 0").await;
    for at in 1..20 {
        let outcome = lab.again(&session, &format!("question number {at}")).await;
        assert_eq!(outcome.status, Status::Completed, "{at}: {outcome:?}");
    }
    let last = lab.requests(&session).await.pop().unwrap();
    let messages = last["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["text"], "question number 19");
    assert!(messages.len() < 39, "nothing was dropped");
    assert_eq!(messages[0]["role"], "user", "a turn was dropped in part");
    lab.prove(&session).await;
}
