//! What reads what strangers wrote, for the fuzzer alone.

use crate::live::Request;

/// Reads a frame of a client; gives it back as it would be written.
pub fn client_frame(text: &str) -> Result<String, String> {
    let request = Request::parse(text)?;
    serde_json::to_string(&request).map_err(|error| error.to_string())
}
