//! `interlock record`: the key that signs the record, and the signed end of the audit log.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use interlock_assembly::Folders;
use interlock_seal::{KeySource, PublicKey};
use interlock_store::{Deed, Error, Store};
use serde::Serialize;

use crate::Ending;
use crate::assemble::open_store_to_read;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings;
use crate::terminal::Tone;

/// Show the key that signs the record, or create one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock record key                    # the public key, for `interlock verify --key`
  interlock record key --new next.key     # a new key, to replace the present one
  interlock record head --json            # the signed end of the audit log, to keep elsewhere

To replace the key: create a new one, put the present public key first under `record.previous_keys` and the new file under \
`record.key`, and restart. What was signed before stays valid. The earlier key signs nothing more.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Show the public key
    #[command(after_help = "Example:\n  interlock record key --json")]
    Key {
        /// Create a new signing key in this file, which must not exist
        #[arg(long, value_name = "FILE")]
        new: Option<PathBuf>,
    },
    /// Show the signed end of the audit log
    #[command(after_help = "Example:\n  interlock record head --json >> elsewhere.jsonl")]
    Head,
    /// Go on with a store that is refused because it is not as it was left: sign it as it is
    #[command(after_help = "\
Example:
  interlock record adopt

For a store that is older than the signing of records (its sessions count as \"older than signing\"), and for a backup that you \
restored: the store then ends before the mark that is kept beside the signing key. Only do this if you know why the store is \
refused: a store that was cut off or changed on purpose looks the same. The audit log says who did it and why the store was refused.")]
    Adopt,
}

#[derive(Serialize)]
struct AdoptForm {
    adopted: bool,
    older: u64,
    refused_because: Option<String>,
}

#[derive(Serialize)]
struct KeyForm {
    public_key: PublicKey,
    kept_in: String,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    match &arguments.what {
        What::Key { new } => key(globals, new.as_ref()),
        What::Head => head(globals).await,
        What::Adopt => adopt(globals).await,
    }
}

fn key(globals: &Globals, new: Option<&PathBuf>) -> Result<Ending, Failure> {
    let (signer, kept_in) = if let Some(path) = new {
        let signer = KeySource::create(path).map_err(Failure::wrong)?;
        (signer, path.display().to_string())
    } else {
        let loaded = settings::load(globals)?;
        let source = interlock_assembly::key_source(&loaded.config, &Folders::of_user());
        let kept_in = match &source {
            KeySource::File(path) => path.display().to_string(),
            KeySource::Environment(name) => format!("environment variable {name}"),
            KeySource::Credential(name) => format!("systemd credential {name}"),
        };
        (source.load().map_err(Failure::wrong)?, kept_in)
    };
    let form = KeyForm {
        public_key: signer.public(),
        kept_in,
    };
    globals.print(&form, |paint| {
        format!(
            "{}\nthe secret key is in {}\n",
            paint.paint(Tone::Strong, &form.public_key.to_string()),
            form.kept_in
        )
    })?;
    Ok(Ending::Done)
}

async fn adopt(globals: &Globals) -> Result<Ending, Failure> {
    let loaded = settings::load(globals)?;
    let options = settings::store(globals, &loaded)?;
    let keyring = interlock_assembly::keyring(&loaded.config, &Folders::of_user())?;
    let why = match Store::open_signed(&options, keyring.clone()) {
        Ok(store) => {
            store.close().await;
            let form = AdoptForm {
                adopted: false,
                older: 0,
                refused_because: None,
            };
            globals.print(&form, |_| {
                "the store is as it was signed; there is nothing to adopt\n".to_owned()
            })?;
            return Ok(Ending::Done);
        }
        Err(
            error @ (Error::Unsealed { .. }
            | Error::KeyOrder { .. }
            | Error::Behind { .. }
            | Error::Mark { .. }
            | Error::Unsigned { .. }),
        ) => error.to_string(),
        Err(error) => return Err(error.into()),
    };
    let store = Store::adopt(&options, keyring.clone())?;
    let older = store.verify_record(&keyring, true).await?.sessions_older;
    store
        .audit(Deed {
            actor: Some(crate::person::whoami()?),
            action: "record.adopted".to_owned(),
            subject: None,
            details: serde_json::json!({ "older": older, "why": why }),
            at: jiff::Timestamp::now(),
        })
        .await?;
    store.close().await;
    let form = AdoptForm {
        adopted: true,
        older,
        refused_because: Some(why.clone()),
    };
    globals.print(&form, |_| {
        format!(
            "the store was refused: {}\nit is signed as it is from now on; {older} sessions are older than signing\n",
            crate::terminal::visible(&why)
        )
    })?;
    Ok(Ending::Done)
}

async fn head(globals: &Globals) -> Result<Ending, Failure> {
    let (store, _) = open_store_to_read(globals)?;
    let Some(checkpoint) = store.last_checkpoint().await? else {
        return Err(Failure::unsuccessful(
            "the audit log has no signed end yet; it is signed when its next entry is written",
        ));
    };
    globals.print(&checkpoint, |_| {
        format!(
            "{} entries; the hash of the last one is\n{}\n",
            checkpoint.audit_number, checkpoint.audit_hash
        )
    })?;
    Ok(Ending::Done)
}
