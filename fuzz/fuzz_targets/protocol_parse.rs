//! Every type that is read from JSON, whatever the JSON: an error or a value that is written and read back the same.

#![no_main]

use interlock_protocol::{
    ContentHash, ErrorCode, Event, Evidence, Expectation, Observation, Proposal, Receipt, ResourceId, SessionId,
    ToolCall, ToolDefinition, ToolResponse,
};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) {
    if let Ok(value) = serde_json::from_str::<T>(text) {
        let written = serde_json::to_string(&value).expect("what was read can be written");
        let again: T = serde_json::from_str(&written).expect("what was written can be read");
        assert_eq!(again, value);
    }
}

fuzz_target!(|text: &str| {
    round_trip::<SessionId>(text);
    round_trip::<ContentHash>(text);
    round_trip::<ErrorCode>(text);
    round_trip::<ToolCall>(text);
    round_trip::<Proposal>(text);
    round_trip::<ToolDefinition>(text);
    round_trip::<ToolResponse>(text);
    round_trip::<Expectation>(text);
    round_trip::<Observation>(text);
    round_trip::<Receipt>(text);
    round_trip::<Evidence>(text);
    round_trip::<Event>(text);
    if let Ok(id) = text.parse::<ResourceId>() {
        assert_eq!(id.to_string(), text);
    }
});
