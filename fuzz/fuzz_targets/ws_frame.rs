//! Every frame that a client can send: understood or refused, and what was understood is understood again as it is written.

#![no_main]

use interlock_server::fuzzing::client_frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match client_frame(text) {
        Ok(written) => assert_eq!(client_frame(&written).as_ref(), Ok(&written)),
        // Whatever was sent, the answer is short and does not send it back.
        Err(message) => assert!(message.len() < 400),
    }
});
