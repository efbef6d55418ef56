use super::*;
use proptest::prelude::*;
use serde_json::Map;

fn user(text: &str) -> Entry {
    Entry::User {
        text: text.to_owned(),
    }
}

fn says(text: &str, calls: &[&str]) -> Entry {
    let calls = calls.iter().map(|id| AssistantCall {
        id: (*id).to_owned(),
        name: "infra_read".to_owned(),
        arguments: Map::new(),
        signature: None,
    });
    Entry::Assistant {
        text: text.to_owned(),
        thinking: Vec::new(),
        calls: calls.collect(),
        answer: false,
    }
}

fn answers(text: &str) -> Entry {
    Entry::Assistant {
        text: text.to_owned(),
        thinking: Vec::new(),
        calls: Vec::new(),
        answer: true,
    }
}

fn result(id: &str, text: &str, failed: bool) -> Entry {
    Entry::Tool {
        call: id.to_owned(),
        name: "infra_read".to_owned(),
        text: text.to_owned(),
        failed,
        brief: format!("left out: {id}"),
    }
}

fn note(text: &str) -> Entry {
    Entry::Note {
        text: text.to_owned(),
    }
}

/// A conversation of runs; the last one is the present one.
fn history(runs: Vec<Vec<Entry>>) -> History {
    let mut history = History::default();
    history.push(Entry::System {
        text: "instructions".to_owned(),
    });
    for run in runs {
        history.begin_run();
        for entry in run {
            history.push(entry);
        }
    }
    history
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::text).collect()
}

#[test]
fn old_results_go_first_and_errors_and_the_last_turns_stay() {
    let big = "x".repeat(4000);
    let wrong = "denied ".repeat(100);
    let present = vec![
        user("the question"),
        says("one", &["a"]),
        result("a", &big, false),
        says("two", &["b"]),
        result("b", &wrong, true),
        says("three", &["c"]),
        result("c", &big, false),
        says("four", &["d"]),
        result("d", &big, false),
    ];
    let history = history(vec![present]);
    let room = tokens(4000 * 2 + 1500);
    let messages = history.messages(Results::Messages, room).unwrap();
    let shown = texts(&messages);
    assert_eq!(shown[2], "left out: a", "the oldest result goes first");
    assert_eq!(shown[4], wrong, "an error stays");
    assert_eq!(
        (shown[6], shown[8]),
        (big.as_str(), big.as_str()),
        "the last turns stay"
    );
}

#[test]
fn a_long_chat_drops_its_oldest_runs_whole() {
    let big = "x".repeat(300);
    let run = |at: usize| {
        vec![
            user(&format!("question {at}")),
            says("look", &["a"]),
            result("a", &big, false),
            answers(&format!("answer {at}")),
        ]
    };
    let mut runs: Vec<Vec<Entry>> = (0..20).map(run).collect();
    runs.push(vec![user("the question")]);
    let history = history(runs);
    let messages = history.messages(Results::Messages, tokens(2000)).unwrap();
    let shown = texts(&messages);
    assert_eq!(shown.last(), Some(&"the question"));
    assert!(shown[0].starts_with("question "), "{shown:?}");
    assert!(
        shown.contains(&"answer 19") && !shown.contains(&"answer 0"),
        "{shown:?}"
    );
}

#[test]
fn several_large_results_of_one_reply_share_the_room() {
    let big = "x".repeat(20_000);
    let mut present = vec![user("the question"), says("all at once", &["a", "b", "c", "d"])];
    present.extend(["a", "b", "c", "d"].iter().map(|id| result(id, &big, false)));
    let history = history(vec![present]);
    for results in [Results::Messages, Results::Text] {
        let room = 4000;
        let messages = history.messages(results, room).unwrap();
        let bytes: usize = messages.iter().map(|message| message.text().len()).sum();
        assert!(tokens(bytes) <= room, "{bytes}");
        assert!(messages[2].text().contains("left out to fit the model"));
    }
}

#[test]
fn what_cannot_fit_is_refused_with_what_to_do() {
    let history = history(vec![vec![user(&"x".repeat(4000))]]);
    let error = history.messages(Results::Messages, 100).unwrap_err();
    assert_eq!((error.needed, error.room), (1000, 100));
    assert!(error.to_string().contains("context_tokens"), "{error}");
}

#[test]
fn of_earlier_runs_a_wire_of_text_shows_questions_and_answers_alone() {
    let runs = vec![
        vec![
            user("first"),
            says("call", &[]),
            result("a", "output", false),
            note("no form"),
            answers("done"),
        ],
        vec![user("second"), says("call", &[]), result("b", "more", false)],
    ];
    let messages = history(runs).messages(Results::Text, 10_000).unwrap();
    assert_eq!(texts(&messages), ["first", "done", "second", "call", "more"]);
}

fn entries_of_a_run() -> impl Strategy<Value = Vec<Entry>> {
    let turn = (
        "[a-zé]{0,60}",
        proptest::collection::vec(("[a-zé\\n]{0,900}", any::<bool>()), 0..5),
        proptest::option::of("[a-z]{0,40}"),
    );
    (
        "[a-z]{1,80}",
        proptest::collection::vec(turn, 0..6),
        proptest::option::of("[a-z]{1,50}"),
    )
        .prop_map(|(question, turns, answer)| {
            let mut entries = vec![user(&format!("Q {question}"))];
            for (at, (text, results, feedback)) in turns.into_iter().enumerate() {
                // Ids come again in later runs, as providers do it.
                let ids: Vec<String> = (0..results.len())
                    .map(|place| format!("call_{at}_{place}"))
                    .collect();
                entries.push(says(&text, &ids.iter().map(String::as_str).collect::<Vec<_>>()));
                for (id, (text, failed)) in ids.iter().zip(&results) {
                    entries.push(result(id, text, *failed));
                }
                entries.extend(feedback.map(|text| note(&text)));
            }
            entries.extend(answer.map(|text| answers(&text)));
            entries
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever was said and however little fits: no call without its one result, no result without its call, the present
    /// question always there, and never more than fits.
    #[test]
    fn what_is_sent_is_well_formed_and_fits(
        runs in proptest::collection::vec(entries_of_a_run(), 1..6),
        room in 1_usize..3000,
        text in any::<bool>(),
    ) {
        let results = if text { Results::Text } else { Results::Messages };
        let present = runs.last().cloned().unwrap_or_default();
        let question = match &present[0] {
            Entry::User { text } => text.clone(),
            _ => String::new(),
        };
        let history = history(runs);
        let messages = match history.messages(results, room) {
            Ok(messages) => messages,
            Err(TooLong { needed, .. }) => {
                prop_assert!(needed > room);
                return Ok(());
            }
        };
        let mut open: Vec<&str> = Vec::new();
        for message in &messages {
            match message {
                Message::Tool { call, .. } => {
                    let at = open.iter().position(|id| id == call);
                    prop_assert!(at.is_some(), "a result without its call: {messages:#?}");
                    open.remove(at.unwrap_or_default());
                }
                Message::Assistant { calls, .. } => {
                    prop_assert!(open.is_empty(), "a call without its result: {messages:#?}");
                    open = calls.iter().map(|call| call.id.as_str()).collect();
                }
                Message::User { .. } => prop_assert!(open.is_empty(), "a call without its result: {messages:#?}"),
            }
        }
        prop_assert!(open.is_empty(), "a call without its result: {messages:#?}");
        prop_assert!(texts(&messages).contains(&question.as_str()));
        let bytes: usize = messages.iter().map(|message| message.text().len()).sum();
        prop_assert!(tokens(bytes) <= room);
        // Errors of the present run are there word for word, unless they alone are too long.
        for entry in &present {
            if let Entry::Tool { text, failed: true, .. } = entry
                && text.len() <= BRIEF
            {
                prop_assert!(texts(&messages).contains(&text.as_str()));
            }
        }
    }
}
