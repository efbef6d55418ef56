//! Says what a model can do, by asking it.

use crate::{Chunk, Client, Completion, Failure, Flow, Message, ModelInfo, Request};
use interlock_dialect::{CallIds, Dialect, Limits, Offer};
use interlock_protocol::ToolDefinition;
use serde::Serialize;
use serde_json::json;
use std::fmt;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The tool that a model is asked to call. Nothing runs it.
const TOOL: &str = "echo_number";
/// The number that it is asked to give.
const NUMBER: u64 = 7;
/// Enough to think and to answer.
const MAX_TOKENS: u32 = 2000;

/// What a model can do.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one finding that a person reads"
)]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Who was asked.
    pub model: ModelInfo,
    /// Whether it answers.
    pub answers: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether its answer comes in pieces.
    pub streams: bool,
    /// Whether it thinks where one can see it.
    pub thinks: bool,
    /// Whether the provider counts tokens.
    pub reports_usage: bool,
    /// How long until the first piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_chunk_ms: Option<u64>,
    /// How long for the whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<u64>,
    /// How many tokens a second it writes, where the provider counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
    /// Whether it calls a tool when asked to, by dialect. Empty where it does not answer at all.
    pub dialects: Vec<Spoken>,
}

/// How a model fares in one dialect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spoken {
    /// The dialect.
    pub dialect: Dialect,
    /// Whether it made the call that it was asked for.
    pub works: bool,
    /// What it did instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Report {
    /// The dialect to configure: the first that works.
    pub fn recommended(&self) -> Option<Dialect> {
        self.dialects
            .iter()
            .find(|spoken| spoken.works)
            .map(|spoken| spoken.dialect)
    }
}

/// Asks a model for an answer, and for one harmless tool call in each dialect.
pub async fn check(client: &Client, cancel: &CancellationToken) -> Report {
    let mut pieces = 0;
    let asked = Request {
        system: "You are being tested. Answer briefly.".to_owned(),
        messages: vec![Message::user(
            "Write the numbers from one to twenty as English words, separated by commas.",
        )],
        max_output_tokens: Some(MAX_TOKENS),
        ..Request::default()
    };
    let answer = client
        .generate(&asked, cancel, &mut |chunk| {
            if matches!(chunk, Chunk::Text(_) | Chunk::Thinking(_)) {
                pieces += 1;
            }
            Flow::Continue
        })
        .await;
    let mut report = Report {
        model: client.info().clone(),
        answers: answer.is_ok(),
        failure: None,
        streams: pieces > 1,
        thinks: false,
        reports_usage: false,
        first_chunk_ms: None,
        total_ms: None,
        tokens_per_second: None,
        dialects: Vec::new(),
    };
    match answer {
        Ok(completion) => measure(&mut report, &completion),
        Err(Failure { message, .. }) => {
            report.failure = Some(message);
            return report;
        }
    }
    for &dialect in Dialect::ALL {
        let problem = call(client, dialect, cancel).await.err();
        report.dialects.push(Spoken {
            dialect,
            works: problem.is_none(),
            problem,
        });
        if cancel.is_cancelled() {
            break;
        }
    }
    report
}

fn measure(report: &mut Report, completion: &Completion) {
    let millis = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let timing = completion.timing;
    report.thinks = !completion.reply.thinking.is_empty();
    report.reports_usage = completion.usage.reported;
    report.first_chunk_ms = timing.first_chunk.map(millis);
    report.total_ms = Some(millis(timing.total));
    let writing = timing
        .total
        .saturating_sub(timing.first_chunk.unwrap_or_default());
    if completion.usage.output_tokens > 1 && writing > Duration::from_millis(1) {
        #[expect(clippy::cast_precision_loss, reason = "no reply has 2^52 tokens")]
        let speed = completion.usage.output_tokens as f64 / writing.as_secs_f64();
        report.tokens_per_second = Some((speed * 10.0).round() / 10.0);
    }
}

/// Whether the model makes the call in this dialect; else what it did instead.
async fn call(client: &Client, dialect: Dialect, cancel: &CancellationToken) -> Result<(), String> {
    let offer = offer()?;
    let instructions = dialect.instructions(&offer);
    let request = Request {
        system: format!("You are being tested. You act only through tools.\n\n{instructions}"),
        messages: vec![Message::user(format!(
            "Call the tool {TOOL} now, with the argument number set to {NUMBER}. Do nothing else."
        ))],
        tools: if dialect == Dialect::Native {
            offer.wire_tools().collect()
        } else {
            Vec::new()
        },
        max_output_tokens: Some(MAX_TOKENS),
        ..Request::default()
    };
    let completion = client
        .generate(&request, cancel, &mut |_| Flow::Continue)
        .await
        .map_err(|failure| failure.message)?;
    let parsed = dialect.parse(
        &completion.reply,
        &offer,
        CallIds::from_bytes([0; 16]),
        Limits::DEFAULT,
    );
    let made = parsed.calls().next();
    match made {
        Some(call) if call.tool.as_str() == TOOL => {
            let number = serde_json::to_value(&call.arguments)
                .ok()
                .and_then(|arguments| arguments.get("number").cloned());
            if number.as_ref().is_some_and(|number| *number == json!(NUMBER)) {
                Ok(())
            } else {
                Err("it called the tool with other arguments".to_owned())
            }
        }
        Some(call) => Err(format!("it called `{}`", call.tool)),
        None => Err(parsed.feedback().map_or_else(
            || "it answered without calling the tool".to_owned(),
            |feedback| feedback.lines().next().unwrap_or_default().to_owned(),
        )),
    }
}

fn offer() -> Result<Offer, String> {
    let definition: ToolDefinition = serde_json::from_value(json!({
        "name": TOOL,
        "description": "Gives back the number that it is given.",
        "parameters": {
            "type": "object",
            "properties": { "number": { "type": "integer" } },
            "required": ["number"],
            "additionalProperties": false,
        },
        "category": "check",
        "risk": "low",
        "kind": { "rule": "fixed", "kind": "read" },
        "modes": [],
        "timeout_seconds": 1,
        "target": { "rule": "none" },
    }))
    .map_err(|error| error.to_string())?;
    Offer::new([&definition]).map_err(|error| error.to_string())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |value| if value { "yes" } else { "no" };
        writeln!(f, "Model {}", self.model)?;
        writeln!(f, "  answers        {}", yes(self.answers))?;
        if let Some(failure) = &self.failure {
            return writeln!(f, "  {failure}");
        }
        writeln!(f, "  streams        {}", yes(self.streams))?;
        writeln!(f, "  shows thinking {}", yes(self.thinks))?;
        writeln!(f, "  counts tokens  {}", yes(self.reports_usage))?;
        if let Some(first) = self.first_chunk_ms {
            writeln!(f, "  first piece    {first} ms")?;
        }
        if let Some(total) = self.total_ms {
            writeln!(f, "  whole answer   {total} ms")?;
        }
        if let Some(speed) = self.tokens_per_second {
            writeln!(f, "  speed          {speed} tokens/s")?;
        }
        writeln!(f, "  calls a tool in")?;
        for spoken in &self.dialects {
            write!(f, "    {:<12} {}", spoken.dialect, yes(spoken.works))?;
            match &spoken.problem {
                Some(problem) => writeln!(f, ": {problem}")?,
                None => writeln!(f)?,
            }
        }
        match self.recommended() {
            Some(dialect) => writeln!(f, "  use            dialect: {dialect}"),
            None => writeln!(
                f,
                "  use            another model: this one calls no tool in any dialect"
            ),
        }
    }
}
