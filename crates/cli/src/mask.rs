//! `interlock mask`: what masking leaves of a text, so that people can try it on their own logs.

use std::io::{self, Read as _, Write as _};

use clap::Args;
use interlock_mask::{Finding, Masker};
use serde::Serialize;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::settings;

/// The longest text that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Show what masking leaves of a text.
#[derive(Args)]
#[command(after_help = "\
Examples:
  journalctl -n 500 | interlock mask
  kubectl get secret web -o yaml | interlock mask --explain
  interlock mask --json < app.log | jq '.findings[].kind'

The text is read from standard input. The patterns of your configuration are applied as well; --built-in leaves them out.
docs/masking.md says what is masked and what cannot be found.

Exit codes: 0 the masked text was printed, 2 wrong usage, configuration or input.")]
pub(crate) struct Arguments {
    /// Say on standard error which kind of secret was masked on which line
    #[arg(long)]
    explain: bool,

    /// Mask with the built-in patterns alone, and read no configuration
    #[arg(long, conflicts_with_all = ["alert", "tool"])]
    built_in: bool,

    /// Mask as alerts are masked
    #[arg(long, conflicts_with = "tool")]
    alert: bool,

    /// Mask as the results of this tool are masked
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

/// What `interlock mask --json` prints.
#[derive(Serialize)]
struct Masked {
    text: String,
    findings: Vec<Finding>,
}

pub(crate) fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let masker = if arguments.built_in {
        Masker::built_in()
    } else {
        Masker::new(&settings::load(globals)?.config.mask).map_err(Failure::wrong)?
    };
    let masker = match (&arguments.tool, arguments.alert) {
        (Some(tool), _) => masker.for_tool(tool),
        (None, true) => masker.for_alerts(),
        (None, false) => &masker,
    };
    // A person waits for this, and may take longer than a server should.
    let masker = masker.clone().with_budget(u64::MAX);
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::wrong(format!(
            "the input has more than {} MiB; split it, for example with `split -b 50M`",
            MOST_BYTES >> 20
        )));
    }
    // Bytes that are no text are shown as such; a secret beside them is still found.
    let text = String::from_utf8_lossy(&bytes);
    let (text, findings) = masker.explain(&text);
    let mut out = io::stdout().lock();
    if globals.json {
        let document = serde_json::to_string_pretty(&Masked { text, findings }).map_err(Failure::wrong)?;
        writeln!(out, "{document}")?;
        return Ok(Ending::Done);
    }
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if arguments.explain {
        for finding in &findings {
            say(&sentence(finding));
        }
        say(&format!("{} masked", findings.len()));
    }
    Ok(Ending::Done)
}

fn sentence(finding: &Finding) -> String {
    let Finding {
        line,
        column,
        kind,
        origin,
        characters,
    } = finding;
    let whose = origin
        .as_ref()
        .map(|origin| format!(" ({origin})"))
        .unwrap_or_default();
    format!("line {line}, column {column}: {kind}{whose}, {characters} characters")
}
