//! What reads what strangers wrote, for the fuzzer alone.

use serde::de::DeserializeOwned;

use crate::live::Request;
use crate::wire::Object;

/// Reads a frame of a client; gives it back as it would be written.
pub fn client_frame(text: &str) -> Result<String, String> {
    let request = Request::parse(text)?;
    serde_json::to_string(&request).map_err(|error| error.to_string())
}

/// Reads the body of a request, as every handler does.
pub fn body<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let read: Result<Object<T>, _> = serde_json::from_str(text);
    read.map(|Object(form)| form).map_err(|error| error.to_string())
}
