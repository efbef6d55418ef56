//! Taking questions and alerts: what they are, whether they may wait, and which session a repeated one joins.

use interlock_protocol::{ContentHash, ControlLevel, Label, SessionId, SessionKind, UserId};
use interlock_store::{NewSession, Submitted};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::engine::{Engine, Overrides, QUESTION};
use crate::error::{Error, draw, written};
use crate::masking;
use crate::writes::{ASKED, QUESTION_HASH, deed};

/// A question or an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// What it is a run of.
    pub kind: SessionKind,
    /// Where it came from.
    pub channel: String,
    /// Who asked for it.
    pub owner: Option<UserId>,
    /// The type, of an alert.
    pub alert_type: Option<String>,
    /// The question or the alert.
    pub input: String,
    /// How much may happen without a human; left out, what is configured.
    pub level: Option<ControlLevel>,
    /// Higher goes first.
    pub priority: i32,
    /// Two submissions with the same key are one session.
    pub idempotency_key: Option<String>,
    /// What tells an alert from others: a repeated alert joins the incident that is open.
    pub fingerprint: Option<String>,
    /// What differs from the configuration.
    pub overrides: Overrides,
}

impl Submission {
    /// A question.
    pub fn question(input: impl Into<String>) -> Self {
        Self {
            kind: SessionKind::Chat,
            channel: "cli".to_owned(),
            owner: None,
            alert_type: None,
            input: input.into(),
            level: None,
            priority: 0,
            idempotency_key: None,
            fingerprint: None,
            overrides: Overrides::default(),
        }
    }

    /// An alert.
    pub fn alert(alert_type: impl Into<String>, input: impl Into<String>) -> Self {
        Self {
            kind: SessionKind::Chain,
            alert_type: Some(alert_type.into()),
            ..Self::question(input)
        }
    }
}

/// The longest question or alert, in bytes.
pub const MAX_INPUT: usize = 1024 * 1024;
/// The longest title, in characters.
const TITLE: usize = 80;

impl Engine {
    /// Takes a question or an alert. It waits for a worker.
    pub async fn submit(&self, submission: Submission) -> Result<SessionId, Error> {
        let (session, _) = self.submit_or_join(submission).await?;
        Ok(session)
    }

    /// Takes a question or an alert, and says whether it is a new session. A submission with a known key, and an alert
    /// whose fingerprint an open session has, join the session that is there.
    pub async fn submit_or_join(&self, submission: Submission) -> Result<(SessionId, bool), Error> {
        let setup = self.settings();
        let now = Timestamp::now();
        let chain = match submission.kind {
            SessionKind::Chat => QUESTION.to_owned(),
            SessionKind::Chain => self.alert_chain(submission.alert_type.as_deref())?,
        };
        // Found out now, not when a worker has it.
        let overrides = written(
            "the overrides",
            &Overrides {
                configured_level: submission.level.map(|_| setup.level),
                ..submission.overrides.clone()
            },
        )?;
        self.inner
            .stages(&chain, &submission.overrides, self.tools().rules())?;
        if submission.input.trim().is_empty() {
            let what = match submission.kind {
                SessionKind::Chat => "the question is empty",
                SessionKind::Chain => "the alert is empty",
            };
            return Err(Error::NotNow(what.to_owned()));
        }
        if let Some(alert_type) = &submission.alert_type {
            Label::new(alert_type.clone())
                .map_err(|error| Error::NotNow(format!("that is no type of an alert: {error}")))?;
        }
        if submission.input.len() > MAX_INPUT {
            return Err(Error::NotNow(format!(
                "the input has {} bytes; at most {MAX_INPUT} are taken",
                submission.input.len()
            )));
        }
        if submission.kind == SessionKind::Chain {
            return self.submit_alert(submission).await;
        }
        let masker = &setup.masker;
        let input = masking::input(masker, &submission.input).await;
        let id = SessionId::from_bytes(draw()?);
        let session = NewSession {
            id: id.clone(),
            kind: submission.kind,
            title: title(&input, None),
            channel: submission.channel,
            owner: submission.owner,
            alert_type: None,
            chain,
            input,
            level: submission.level.unwrap_or(setup.level),
            priority: submission.priority,
            idempotency_key: submission.idempotency_key.map(|key| masking::key(masker, key)),
            fingerprint: None,
            options: overrides,
            at: now,
        };
        match self.store().submit(session, &setup.queue).await? {
            Submitted::Duplicate(other) => Ok((other, false)),
            Submitted::New => Ok((id, true)),
        }
    }

    /// Takes the next question of a chat, for the model that it had. Who asked is written down: where four eyes are wanted, they do not approve what
    /// comes of it.
    pub async fn ask_again(&self, session: &SessionId, by: &UserId, question: &str) -> Result<(), Error> {
        self.follow_up(session, by, question, None).await
    }

    /// Takes the next question of a chat for another model, which answers from here on.
    pub async fn ask_another(
        &self,
        session: &SessionId,
        by: &UserId,
        question: &str,
        model: &str,
    ) -> Result<(), Error> {
        let submitted = self.inner.store.session(session).await?.submitted;
        let mut overrides = Overrides::of(&submitted)?;
        overrides.model = Some(model.to_owned());
        // Found out now, not when a worker has it.
        self.inner
            .stages(&submitted.chain, &overrides, self.tools().rules())?;
        self.follow_up(session, by, question, Some(overrides)).await
    }

    async fn follow_up(
        &self,
        session: &SessionId,
        by: &UserId,
        question: &str,
        overrides: Option<Overrides>,
    ) -> Result<(), Error> {
        if question.trim().is_empty() {
            return Err(Error::NotNow("the question is empty".to_owned()));
        }
        if question.len() > MAX_INPUT {
            return Err(Error::NotNow(format!(
                "the input has {} bytes; at most {MAX_INPUT} are taken",
                question.len()
            )));
        }
        let input = masking::input(&self.inner.settings().masker, question).await;
        // Kept with the question or not at all: nothing comes of a question whose asker is not known, and nobody is said to have
        // asked what was refused. The hash says which question it was.
        let asked = json!({ QUESTION_HASH: ContentHash::of(&input) });
        let asked = deed(by, ASKED, Some(session.as_str()), asked);
        let (store, queue) = (&self.inner.store, &self.settings().queue);
        let options = overrides
            .map(|overrides| written("the overrides", &overrides))
            .transpose()?;
        let next = (input, options.as_ref());
        store
            .submit_input_with(session, next, queue, Timestamp::now(), Some(asked))
            .await?;
        Ok(())
    }
}

/// A title: what an alert is called, or the first line.
pub(crate) fn title(input: &str, alert_type: Option<&str>) -> String {
    let structured = input.trim_start().starts_with(['{', '[']);
    let named = structured.then(|| alert_title(input)).flatten();
    let text = match &named {
        Some(named) => named.as_str(),
        // A brace says nothing to anybody.
        None if structured => alert_type.unwrap_or("question"),
        None => input,
    };
    let line: String = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("(empty)")
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(TITLE)
        .collect();
    let mut line = line.trim().to_owned();
    while Label::new(line.clone()).is_err() {
        // What is left after taking out what no label may have.
        line = line
            .chars()
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .collect();
        line = line.trim().to_owned();
        if line.is_empty() {
            return "question".to_owned();
        }
        if Label::new(line.clone()).is_err() {
            line.truncate(line.len() - 1);
        }
    }
    line
}

/// What an alert in one of the usual forms is called: its name, and what it is about.
fn alert_title(input: &str) -> Option<String> {
    let alert: Value = serde_json::from_str(input).ok()?;
    let alert = match &alert {
        Value::Array(several) => several.first()?,
        one => one,
    };
    let several = alert.get("alerts").and_then(Value::as_array);
    let first = several.and_then(|several| several.first());
    let look = |paths: &[&str]| {
        let found = |of: &Value, path: &str| match of.pointer(path)? {
            Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        };
        let mut places = [Some(alert), first].into_iter().flatten();
        places.find_map(|place| paths.iter().find_map(|path| found(place, path)))
    };
    let name = look(&[
        "/labels/alertname",
        "/commonLabels/alertname",
        "/groupLabels/alertname",
        "/alertname",
        "/title",
        "/name",
    ]);
    let about = look(&[
        "/annotations/summary",
        "/commonAnnotations/summary",
        "/summary",
        "/labels/instance",
        "/commonLabels/instance",
        "/instance",
        "/annotations/description",
        "/message",
        "/description",
    ]);
    let mut title = match (name, about) {
        (Some(name), Some(about)) => format!("{name}: {about}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return None,
    };
    if let Some(more) = several.map(Vec::len).filter(|count| *count > 1) {
        title = format!("{title} (and {} more)", more - 1);
    }
    Some(title)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TITLE, title};

    #[test]
    fn a_title_says_what_it_is_about_and_is_never_a_brace() {
        let summary = "/srv is 97 % full";
        let labels = json!({ "alertname": "DiskFull", "instance": "web:9100" });
        let cases = [
            ("how is the load?\nand the disk?".to_owned(), "how is the load?"),
            (
                json!({ "labels": labels, "annotations": { "summary": summary } }).to_string(),
                "DiskFull: /srv is 97 % full",
            ),
            (json!({ "labels": labels }).to_string(), "DiskFull: web:9100"),
            (
                serde_json::to_string_pretty(&json!({
                    "receiver": "interlock",
                    "commonLabels": labels,
                    "commonAnnotations": {},
                    "alerts": [{ "labels": labels, "annotations": { "summary": summary } }, {}, {}],
                }))
                .unwrap_or_default(),
                "DiskFull: web:9100 (and 2 more)",
            ),
            (
                json!({ "alerts": [{ "labels": { "alertname": "Down" } }] }).to_string(),
                "Down",
            ),
            (json!([{ "labels": { "alertname": "Down" } }]).to_string(), "Down"),
            (json!({ "message": "it broke\nbadly" }).to_string(), "it broke"),
            (json!({ "a": 1 }).to_string(), "disk"),
            ("{ not json".to_owned(), "disk"),
            ("[]".to_owned(), "disk"),
            (json!({ "labels": { "alertname": 7 } }).to_string(), "disk"),
        ];
        for (input, wanted) in cases {
            assert_eq!(title(&input, Some("disk")), wanted, "{input}");
        }
        assert_eq!(title("{}", None), "question");
        let long = json!({ "alertname": "x".repeat(500) }).to_string();
        assert_eq!(title(&long, None).len(), TITLE);
    }
}
