//! Every body of a request: a form or an error, never a panic; and a key that no form knows is always an error.

#![no_main]

use interlock_server::fuzzing::body;
use interlock_server::wire::{
    AlertmanagerPush, Approve, Bulk, ChangeUser, Deny, Edit, NewAlert, NewChat, NewMessage, NewToken, NewUser, NewView,
    SetPassword, SignIn, StopWrites, UseLink,
};
use libfuzzer_sys::fuzz_target;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A body that is a form is an object, which has no key twice and none too many.
fn strict<T: DeserializeOwned>(text: &str) {
    if body::<T>(text).is_err() {
        return;
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
        panic!("a form is an object");
    };
    fields.insert("no form has this key".to_owned(), Value::Null);
    assert!(body::<T>(&Value::Object(fields).to_string()).is_err());
}

/// A form of somebody else, of which only a part is read.
fn lenient<T: DeserializeOwned>(text: &str) {
    if body::<T>(text).is_ok() {
        let read: Result<Value, _> = serde_json::from_str(text);
        assert!(read.is_ok_and(|value| value.is_object()));
    }
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
    lenient::<AlertmanagerPush>(text);
});
