//! Every body of a request: a form or an error, never a panic; and a key that no form knows is always an error.

#![no_main]

use interlock_server::wire::{
    Approve, Bulk, ChangeUser, Deny, Edit, NewAlert, NewChat, NewMessage, NewToken, NewUser, NewView,
    SetPassword, SignIn, StopWrites, UseLink,
};
use libfuzzer_sys::fuzz_target;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn strict<T: DeserializeOwned>(text: &str) {
    if serde_json::from_str::<T>(text).is_err() {
        return;
    }
    let Ok(Value::Object(mut body)) = serde_json::from_str(text) else {
        // A list of its fields in order is not how a form is written, but it holds nothing that is not a field.
        return;
    };
    body.insert("no form has this key".to_owned(), Value::Null);
    assert!(serde_json::from_value::<T>(Value::Object(body)).is_err());
}

fuzz_target!(|text: &str| {
    strict::<Approve>(text);
    strict::<Bulk>(text);
    strict::<ChangeUser>(text);
    strict::<Deny>(text);
    strict::<Edit>(text);
    strict::<NewAlert>(text);
    strict::<NewChat>(text);
    strict::<NewMessage>(text);
    strict::<NewToken>(text);
    strict::<NewUser>(text);
    strict::<NewView>(text);
    strict::<SetPassword>(text);
    strict::<SignIn>(text);
    strict::<StopWrites>(text);
    strict::<UseLink>(text);
});
