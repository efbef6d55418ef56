//! What holds for every reply, whatever a model writes and however it arrives.

mod support;

use interlock_dialect::{
    CallDelta, CallIds, Channel, Chunk, Dialect, Fault, Limits, MAX_QUOTE_CHARS, NativeArguments, NativeCall,
    Parsed, Phase, Progress, Reader, Reply, Shown, Stop,
};
use interlock_protocol::Proposal;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use support::{IDS, offer};

/// Pieces of the dialects' own syntax, which arbitrary text would never hit.
const PIECES: &[&str] = &[
    "```",
    "```tool\n",
    "```json\n",
    "\n```\n",
    "~~~",
    "````",
    "```tool.result\n",
    "<think>",
    "</think>",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "\"tool_name\"",
    "\"arguments\"",
    "\"infra_read\"",
    "\"tool_call\"",
    "\"final_answer\"",
    "\"tool_result\"",
    "\"name\"",
    "\"parameters\"",
    "\"summary\"",
    "\"confidence\"",
    "{\"tool_name\":\"infra_read\",\"arguments\":{}}",
    "{\"tool_call\":{\"name\":\"infra_read\",\"parameters\":{}}}",
    "{\"final_answer\":{\"summary\":\"x\"}}",
    "Thought:",
    "Thought",
    "Action:",
    "Action Input:",
    "Final Answer:",
    "Observation:",
    "[Based on",
    "Please specify",
    "Error in reasoning",
    "action",
    "k8s.get_pods",
    "infra_read",
    "tool.result",
    ".",
    "!",
    "?",
    "*",
    "`",
    " ",
    "\n",
    "\r\n",
    "\t",
    "a: [1]",
    "- x",
    "key=value",
    "a: 1, b: 2",
    "é",
    "日",
    "\u{202e}",
    "\0",
    "1e9",
    "null",
    "&a",
    "*a",
    "<<: ",
    "...",
];

fn texts() -> impl Strategy<Value = String> {
    let biased =
        prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat());
    prop_oneof![1 => any::<String>(), 4 => biased]
}

fn dialects() -> impl Strategy<Value = Dialect> {
    prop::sample::select(Dialect::ALL)
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        4 => Just(Limits::DEFAULT),
        1 => (0..80_usize, 0..4_usize, 0..3_usize)
            .prop_map(|(reply_bytes, json_depth, calls)| Limits { reply_bytes, json_depth, calls }),
    ]
}

/// The text in pieces of these lengths, the last one with the rest.
fn split<'a>(text: &'a str, lengths: &[usize]) -> Vec<&'a str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    for &length in lengths {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(length));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// What was shown, neighbours on one channel joined.
fn joined(progress: impl IntoIterator<Item = Progress>) -> Vec<(Channel, String)> {
    let mut all: Vec<(Channel, String)> = Vec::new();
    for Shown { channel, text } in progress.into_iter().flat_map(|progress| progress.shown) {
        match all.last_mut() {
            Some((last, so_far)) if *last == channel => so_far.push_str(&text),
            _ => all.push((channel, text)),
        }
    }
    all
}

fn read(dialect: Dialect, limits: Limits, pieces: &[&str]) -> (Parsed, Vec<Progress>) {
    let mut reader = Reader::new(dialect, limits);
    let mut progress: Vec<Progress> = pieces
        .iter()
        .map(|piece| reader.push(Chunk::Text(piece)))
        .collect();
    progress.push(reader.end());
    (reader.finish(&offer(), IDS), progress)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..ProptestConfig::default() })]

    #[test]
    fn pieces_come_to_the_same_as_the_whole(
        dialect in dialects(), limits in limits(), text in texts(), lengths in prop::collection::vec(0..12_usize, 0..60),
    ) {
        let (whole, shown_whole) = read(dialect, limits, &[&text]);
        prop_assert_eq!(&whole, &dialect.parse(&Reply::text(text.as_str()), &offer(), IDS, limits));
        let (parsed, shown) = read(dialect, limits, &split(&text, &lengths));
        prop_assert_eq!(&parsed, &whole);
        prop_assert_eq!(joined(shown), joined(shown_whole));
    }

    #[test]
    fn a_reply_cut_where_the_reader_says_stop_comes_to_the_same(dialect in dialects(), text in texts()) {
        let (whole, _) = read(dialect, Limits::DEFAULT, &[&text]);
        let mut reader = Reader::new(dialect, Limits::DEFAULT);
        let stop = text.char_indices().find(|&(at, c)| {
            reader.push(Chunk::Text(&text[at..at + c.len_utf8()])).stop.is_some()
        });
        if let Some((at, c)) = stop {
            prop_assert_eq!(dialect.parse(&Reply::text(&text[..at + c.len_utf8()]), &offer(), IDS, Limits::DEFAULT), whole);
        }
    }

    #[test]
    fn what_comes_out_is_well_formed(dialect in dialects(), limits in limits(), text in texts()) {
        let parsed = dialect.parse(&Reply::text(text.as_str()), &offer(), IDS, limits);
        prop_assert!(parsed.proposals.len() <= 1, "{parsed:?}");
        prop_assert!(!parsed.proposals.is_empty() || !parsed.problems.is_empty(), "a reply cannot come to nothing");
        for proposal in &parsed.proposals {
            match proposal {
                Proposal::ToolCall(call) => {
                    prop_assert!(offer().names().any(|name| *name == call.tool));
                    prop_assert!(dialect != Dialect::Native, "text is never a native call");
                }
                Proposal::FinalAnswer { text } => prop_assert!(!text.trim().is_empty()),
            }
        }
        if parsed.final_answer().is_some() && dialect != Dialect::Envelope {
            prop_assert!(parsed.problems.is_empty(), "{parsed:?}");
        }
        if let Some(feedback) = parsed.feedback() {
            // Every line is a sentence with at most one quotation, or the form or the list of tools.
            prop_assert!(feedback.lines().all(|line| line.chars().count() <= MAX_QUOTE_CHARS + 300), "{feedback}");
        }
    }

    #[test]
    fn what_is_shown_as_text_is_never_a_call(dialect in dialects(), text in texts()) {
        let (_, progress) = read(dialect, Limits::DEFAULT, &[&text]);
        let said = |(channel, text): (Channel, String)| (channel == Channel::Text).then_some(text);
        let shown: String = joined(progress).into_iter().filter_map(said).collect();
        prop_assert!(shown.len() <= text.len());
        let again = dialect.parse(&Reply::text(shown.as_str()), &offer(), IDS, Limits::DEFAULT);
        prop_assert_eq!(again.calls().count(), 0, "{}", shown);
    }

    #[test]
    fn native_calls_come_to_the_same_whole_or_in_pieces(
        names in prop::collection::vec(prop::sample::select(&["infra_read", "k8s__get_pods", "rm", "", "tool__result"][..]), 0..4),
        arguments in prop::collection::vec(texts(), 4),
        lengths in prop::collection::vec(0..9_usize, 0..20),
    ) {
        let calls: Vec<NativeCall> = names
            .iter()
            .zip(&arguments)
            .enumerate()
            .map(|(n, (name, arguments))| NativeCall {
                id: Some(format!("c{n}")),
                name: (*name).to_owned(),
                arguments: NativeArguments::Text(arguments.clone()),
            })
            .collect();
        let mut reader = Reader::new(Dialect::Native, Limits::DEFAULT);
        for (n, (name, arguments)) in names.iter().zip(&arguments).enumerate() {
            let id = format!("c{n}");
            let index = u32::try_from(n).ok();
            reader.push(Chunk::CallDelta(CallDelta { index, id: Some(&id), name: Some(name), arguments: "" }));
            for piece in split(arguments, &lengths) {
                reader.push(Chunk::CallDelta(CallDelta { index, arguments: piece, ..CallDelta::default() }));
            }
        }
        let reply = Reply { calls, ..Reply::default() };
        prop_assert_eq!(reader.finish(&offer(), IDS), Dialect::Native.parse(&reply, &offer(), IDS, Limits::DEFAULT));
    }
}

/// Replies that make a careless scanner look at everything again and again.
fn hostile(bytes: usize) -> Vec<String> {
    let fill = |piece: &str| piece.repeat(bytes / piece.len());
    let mut texts: Vec<String> = [
        "{",
        "{\"",
        "{\"a\":",
        "[",
        "\"",
        "\\",
        "```\n",
        "```tool\n",
        "~~~\n",
        "`",
        "{\"tool_call\"",
        "{\"tool_call\":{}}",
        ". ",
        ".`*",
        "!   ",
        ".Action",
        ".Action: ",
        "Action:\n",
        "Action: a\nAction Input: b\n",
        "Action",
        "Final Answer: a\n",
        "Thought\n",
        "Thought ",
        " ",
        "\n",
        "\t \n",
        "Observation: Please specify\n",
        "<think>",
        "</think",
        "é.",
        "a: ",
        "a,",
        "a=1,",
        "{a: ",
    ]
    .iter()
    .map(|piece| fill(piece))
    .collect();
    for head in [
        "Action: infra_read\nAction Input: ",
        "Action Input: ",
        "<think>",
        "```json\n{",
        "Observation: ",
    ] {
        texts.extend(
            ["{a: ", "[", "- ", "a: b\n", ". ", "action ", "`", " "]
                .map(|piece| format!("{head}{}", fill(piece))),
        );
    }
    texts
}

#[test]
fn time_grows_with_the_length_however_it_arrives() {
    let offer = offer();
    for dialect in Dialect::ALL {
        for text in hostile(60_000) {
            let begun = Instant::now();
            let mut reader = Reader::new(*dialect, Limits::DEFAULT);
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(3));
                reader.push(Chunk::Text(piece));
                rest = after;
            }
            reader.finish(&offer, IDS);
            // Quadratic would be half a minute.
            let taken = begun.elapsed();
            assert!(
                taken < Duration::from_secs(5),
                "{dialect}: {taken:?} for {:?}…",
                &text[..text.ceil_char_boundary(40)]
            );
        }
    }
}

#[test]
fn a_reply_that_is_too_long_is_refused_whole_and_stops_the_stream() {
    let limits = Limits {
        reply_bytes: 100,
        ..Limits::DEFAULT
    };
    for dialect in Dialect::ALL {
        let mut reader = Reader::new(*dialect, limits);
        assert_eq!(reader.push(Chunk::Text(&"x".repeat(100))).stop, None);
        assert_eq!(reader.push(Chunk::Text("é")).stop, Some(Stop::TooLong));
        assert_eq!(
            reader.push(Chunk::Text("more")),
            Progress {
                stop: Some(Stop::TooLong),
                ..Progress::default()
            }
        );
        let parsed = reader.finish(&offer(), IDS);
        assert_eq!(parsed.proposals, []);
        assert_eq!(parsed.problems[0].fault, Fault::ReplyTooLong { limit: 100 });
    }
    let mut reader = Reader::new(Dialect::Native, limits);
    let arguments = NativeArguments::Value(serde_json::json!({"a": "x".repeat(100)}));
    let call = NativeCall {
        id: None,
        name: "infra_read".to_owned(),
        arguments,
    };
    assert_eq!(reader.push(Chunk::Call(call)).stop, Some(Stop::TooLong));
}

#[test]
fn a_stream_shows_what_is_safe_as_soon_as_it_is() {
    let shown = |dialect, pieces: &[&str]| {
        let mut reader = Reader::new(dialect, Limits::DEFAULT);
        pieces
            .iter()
            .map(|piece| joined([reader.push(Chunk::Text(piece))]))
            .collect::<Vec<_>>()
    };
    let text = |text: &str| vec![(Channel::Text, text.to_owned())];
    let thinking = |text: &str| vec![(Channel::Thinking, text.to_owned())];
    let answer = |text: &str| vec![(Channel::Answer, text.to_owned())];
    assert_eq!(
        shown(
            Dialect::Fenced,
            &[
                "I lo",
                "ok.\n`",
                "``to",
                "ol\n{\"tool_name\": ",
                "\"infra_read\", \"arguments\": {}}\n```",
                "\nand"
            ]
        ),
        [text("I lo"), text("ok.\n"), vec![], vec![], vec![], vec![]],
    );
    assert_eq!(
        shown(
            Dialect::Fenced,
            &[
                "a\n``",
                "`bash\nls",
                " -l\n",
                "```\n`x` is",
                " it\n```json\n",
                "{\"a\"",
                ":1}\n```\nb"
            ]
        ),
        [
            text("a\n"),
            text("```bash\nls"),
            text(" -l\n"),
            text("```\n`x` is"),
            text(" it\n"),
            vec![],
            text("```json\n{\"a\":1}\n```\nb")
        ],
    );
    assert_eq!(
        shown(
            Dialect::Envelope,
            &[
                "See {x} ",
                "{",
                " \"a\": 1",
                "} then {\"tool",
                "_call\": {}} more"
            ]
        ),
        [
            text("See {x} "),
            vec![],
            vec![],
            text("{ \"a\": 1} then "),
            vec![]
        ],
    );
    assert_eq!(
        shown(
            Dialect::React,
            &[
                "Tho",
                "ught: I look",
                " now. Act",
                "ually no. Act",
                "ion: infra_read\nAction Inp",
                "ut: {}\nFinal",
                " Answer: x"
            ]
        ),
        [
            vec![],
            thinking(" I look"),
            thinking(" now."),
            thinking(" Actually no."),
            vec![],
            vec![],
            answer(" x")
        ],
    );
    assert_eq!(
        shown(Dialect::Native, &["<thi", "nk>a</thi", "nk>b"]),
        [vec![], thinking("a"), text("b")],
    );
}

#[test]
fn json_that_ends_and_begins_again_is_read_the_same_in_pieces() {
    let text =
        "Action: infra_read\nAction Input: {\"a\": [0\n]} y: {\"b\": [1, ought. Action: k8s.get_pods\n";
    let (whole, _) = read(Dialect::React, Limits::DEFAULT, &[text]);
    for at in 0..text.len() {
        let (pieces, _) = read(Dialect::React, Limits::DEFAULT, &[&text[..at], &text[at..]]);
        assert_eq!(pieces, whole, "cut at {at}");
    }
}

#[test]
fn a_made_up_result_is_reported_while_it_begins() {
    let stop = |dialect, text: &str| {
        let mut reader = Reader::new(dialect, Limits::DEFAULT);
        reader.push(Chunk::Text(text)).stop
    };
    let react = "Action: infra_read\nAction Input: {}\n";
    assert_eq!(stop(Dialect::React, &format!("{react}Observ")), None);
    assert_eq!(
        stop(Dialect::React, &format!("{react}Observation: 3 p")),
        None,
        "our own words may follow"
    );
    assert_eq!(
        stop(Dialect::React, &format!("{react}Observation: 3 pods\n")),
        Some(Stop::InventedResult)
    );
    assert_eq!(
        stop(
            Dialect::React,
            &format!("{react}Observation: {}", "x".repeat(200))
        ),
        Some(Stop::InventedResult)
    );
    assert_eq!(
        stop(
            Dialect::React,
            &format!("{react}Observation: Error in reasoning\n")
        ),
        None
    );
    assert_eq!(
        stop(Dialect::React, &format!("{react}[Based on")),
        Some(Stop::InventedResult)
    );
    assert_eq!(
        stop(Dialect::Fenced, "```tool.result\n"),
        Some(Stop::InventedResult)
    );
    assert_eq!(
        stop(Dialect::Envelope, "{\"tool_result\": {}}"),
        Some(Stop::InventedResult)
    );
}

#[test]
fn the_phase_only_goes_forward() {
    let mut reader = Reader::new(Dialect::React, Limits::DEFAULT);
    let phases: Vec<Phase> = [
        "Hm\n",
        "Thought: a\nAct",
        "ion: b\nThought: c\n",
        "Final Answer: d",
        "\nThought: e",
    ]
    .iter()
    .map(|piece| reader.push(Chunk::Text(piece)).phase)
    .collect();
    assert_eq!(
        phases,
        [
            Phase::Idle,
            Phase::Thought,
            Phase::Action,
            Phase::FinalAnswer,
            Phase::FinalAnswer
        ]
    );
}

#[test]
fn the_same_bytes_give_the_same_ids_and_others_give_others() {
    let reply = Reply::text("Action: infra_read\nAction Input: {}");
    let id = |seed| {
        let parsed = Dialect::React.parse(&reply, &offer(), CallIds::from_bytes([seed; 16]), Limits::DEFAULT);
        parsed.calls().next().expect("a call").id.clone()
    };
    assert_eq!(id(1), id(1));
    assert_ne!(id(1), id(2));
}
