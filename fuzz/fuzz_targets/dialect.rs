//! Every dialect, whatever the reply: it reads it, comes to the same in pieces, and calls nothing that is not offered.

#![no_main]

use interlock_dialect::{
    CallIds, Chunk, Dialect, Limits, NativeArguments, NativeCall, Offer, Reader, Reply, Stop,
};
use interlock_protocol::ToolDefinition;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use std::sync::LazyLock;

const IDS: CallIds = CallIds::from_bytes([7; 16]);

static OFFER: LazyLock<Offer> = LazyLock::new(|| {
    let definitions = ["infra_read", "infra_query", "k8s.get_pods"].map(|name| -> ToolDefinition {
        serde_json::from_value(json!({
            "name": name,
            "description": "",
            "parameters": {"type": "object", "properties": {}},
            "category": "read_only",
            "risk": "low",
            "kind": {"rule": "fixed", "kind": "read"},
            "modes": ["normal"],
            "timeout_seconds": 10,
            "target": {"rule": "none"},
        }))
        .expect("a definition")
    });
    Offer::new(&definitions).expect("an offer")
});

/// What was shown, and what the reply came to.
fn in_pieces(
    dialect: Dialect,
    text: &str,
    mut length: impl FnMut() -> usize,
) -> (String, interlock_dialect::Parsed) {
    let mut reader = Reader::new(dialect, Limits::DEFAULT);
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(length()));
        let progress = reader.push(Chunk::Text(piece));
        shown.extend(progress.shown.into_iter().map(|shown| shown.text));
        assert_ne!(progress.stop, Some(Stop::TooLong));
        rest = after;
    }
    shown.extend(reader.end().shown.into_iter().map(|shown| shown.text));
    (shown, reader.finish(&OFFER, IDS))
}

fuzz_target!(|text: &str| {
    for &dialect in Dialect::ALL {
        let parsed = dialect.parse(&Reply::text(text), &OFFER, IDS, Limits::DEFAULT);
        let whole = in_pieces(dialect, text, || text.len());
        let mut state = text.len() % 17;
        let pieces = in_pieces(dialect, text, || {
            state = (state * 5 + 3) % 17;
            state + 1
        });
        assert_eq!(
            whole.1, parsed,
            "{dialect}: the reader and the parser differ on {text:?}"
        );
        assert_eq!(pieces, whole, "{dialect}: pieces differ on {text:?}");
        assert!(
            parsed.proposals.len() <= 1,
            "{dialect}: more than one proposal in {text:?}"
        );
        assert!(
            !parsed.proposals.is_empty() || !parsed.problems.is_empty(),
            "{dialect}: nothing from {text:?}"
        );
        for call in parsed.calls() {
            assert!(dialect != Dialect::Native && OFFER.names().any(|name| *name == call.tool));
        }
        let _ = parsed.feedback();
    }
    let call = NativeCall {
        id: Some(text.to_owned()),
        name: text.to_owned(),
        arguments: NativeArguments::Text(text.to_owned()),
    };
    let arguments = NativeCall {
        id: None,
        name: "infra_read".to_owned(),
        ..call.clone()
    };
    let reply = Reply {
        calls: vec![call, arguments],
        ..Reply::default()
    };
    let parsed = Dialect::Native.parse(&reply, &OFFER, IDS, Limits::DEFAULT);
    assert_eq!(
        parsed.proposals.len() + parsed.problems.len(),
        reply.calls.len(),
        "a call of {text:?} was lost"
    );
});
