//! `interlock bundle` and `interlock verify`: one signed file with everything about a session, and its check offline.

use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;
use interlock_engine::bundle::{self, Fault};
use interlock_seal::{Keyring, PublicKey};
use jiff::Timestamp;
use serde::Serialize;

use crate::Ending;
use crate::assemble::open_existing_store;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::trace::write_private;

/// The largest bundle that is read.
const LARGEST: u64 = 1 << 30;

/// Write everything about a session into one signed file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock bundle ses_9a8b
  interlock bundle ses_9a8b --output incident.bundle

The file has the alert, every model call, every decision of the gate, every approval, what was read, what ran and how it was \
verified, and the signed end of the audit log. `interlock verify FILE --key KEY` checks it on any machine.

Exit codes: 0 written, 1 the session is in progress or its record was changed, 2 wrong usage.")]
pub(crate) struct Arguments {
    /// The session, or the beginning of its id
    #[arg(value_name = "SESSION")]
    session: String,

    /// The file to write. Left out, SESSION.bundle in this folder
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct BundleForm<'a> {
    session: &'a str,
    file: String,
    bytes: usize,
    public_key: String,
}

/// Runs `interlock bundle`.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let store = open_existing_store(globals)?;
    let session = store.find_session(&arguments.session).await?.submitted.id;
    let text = bundle::bundle(&store, &session, Timestamp::now())
        .await
        .map_err(Failure::unsuccessful)?;
    let file = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{session}.bundle")));
    write_private(&file, text.as_bytes())
        .map_err(|error| Failure::wrong(format!("{} cannot be written: {error}", file.display())))?;
    let signer = store.keyring().and_then(Keyring::signer);
    let form = BundleForm {
        session: session.as_str(),
        file: file.display().to_string(),
        bytes: text.len(),
        public_key: signer
            .map(|signer| signer.public().to_string())
            .unwrap_or_default(),
    };
    globals.print(&form, |_| {
        format!(
            "written to {} ({} kB)\ncheck it on any machine: interlock verify {} --key {}\n",
            form.file,
            form.bytes.div_ceil(1000),
            form.file,
            form.public_key
        )
    })?;
    Ok(Ending::Done)
}

/// Check a signed bundle offline.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock verify incident.bundle --key ed25519:AbC…=
  interlock verify incident.bundle --key ed25519:AbC…= --json

Needs no server, no store and no configuration. Get the public key from the operator over a channel that you trust \
(`interlock record key`), not from the person who gave you the bundle.

Exit codes: 0 verified, 1 not verified, 2 wrong usage.")]
pub(crate) struct VerifyArguments {
    /// The bundle
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The public key of the server; may be given several times
    #[arg(long, value_name = "KEY", required = true)]
    key: Vec<PublicKey>,
}

#[derive(Serialize)]
struct VerifyForm<'a> {
    verified: bool,
    session: Option<&'a str>,
    status: Option<String>,
    decisions: usize,
    /// Whether the session is older than signing, so that nothing proves what its rows were before.
    older_than_signing: Option<bool>,
    faults: &'a [Fault],
}

/// Runs `interlock verify`.
pub(crate) fn verify(globals: &Globals, arguments: &VerifyArguments) -> Result<Ending, Failure> {
    let shown = arguments.file.display();
    let unreadable = |error: std::io::Error| Failure::wrong(format!("{shown} cannot be read: {error}"));
    let length = std::fs::metadata(&arguments.file).map_err(unreadable)?.len();
    if length > LARGEST {
        return Err(Failure::wrong(format!(
            "{shown} is too large for a bundle: {length} bytes"
        )));
    }
    // A device has no length: what is read is bounded too.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&arguments.file).map_err(unreadable)?;
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::wrong(format!(
            "{shown} is too large for a bundle: more than {LARGEST} bytes"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::wrong(format!(
            "{shown} is not a bundle, or was changed: byte {at} is not text"
        ))
    })?;
    let keyring = Keyring::checking(arguments.key.iter().copied());
    let verified = bundle::verify(&text, &keyring);
    let session = verified.bundle.as_ref().map(|bundle| &bundle.session);
    let form = VerifyForm {
        verified: verified.holds(),
        session: session.map(|session| session.submitted.id.as_str()),
        status: session.map(|session| session.status.to_string()),
        decisions: verified
            .traces
            .iter()
            .map(|traced| traced.replayed.decisions)
            .sum(),
        older_than_signing: verified
            .bundle
            .as_ref()
            .map(bundle::Bundle::is_older_than_signing),
        faults: &verified.faults,
    };
    globals.print(&form, |_| bundle::page(&verified))?;
    Ok(if verified.holds() {
        Ending::Done
    } else {
        Ending::Unsuccessful
    })
}
