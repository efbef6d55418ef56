//! What can be said in a conversation besides questions.

use std::io::{self, Write as _};

use interlock_engine::{Called, Submission};
use interlock_gate::Hold;
use interlock_protocol::{Arguments, SessionId, SessionKind};
use interlock_store::{Cancelled, Filter};

use super::{Chat, Next};
use crate::decide;
use crate::failure::Failure;
use crate::globals::say;

use crate::sessions::{short, tone};
use crate::steps::moment;
use crate::table::Table;
use crate::terminal::{Paint, Tone, screen, stdout_width, visible_lines};
use crate::tools::{listed, nearest};
use crate::trace;

/// How many conversations are listed.
const LISTED: u32 = 20;

/// Each command with what it takes and does.
const COMMANDS: [(&str, &str, &str); 12] = [
    ("/new", "", "begin another conversation"),
    ("/chats", "", "list conversations"),
    ("/resume", "ID", "go on with one of them"),
    ("/tools", "", "list the tools"),
    (
        "/tool",
        "NAME JSON",
        "call a tool yourself, through the same gate",
    ),
    ("/approve", "[ID [HASH]]", "approve what waits"),
    ("/deny", "[ID] [REASON]", "deny what waits"),
    ("/cancel", "", "stop the session"),
    ("/trace", "", "show what the last run did"),
    ("/help", "", "this list"),
    ("/quit", "", "leave"),
    ("/exit", "", "leave"),
];

/// What can be said besides questions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    New,
    Chats,
    Resume(String),
    Tools,
    Tool { name: String, arguments: Arguments },
    Approve(Option<String>),
    Deny { hold: Option<String>, reason: String },
    Cancel,
    Trace,
    Help,
    Quit,
}

impl Command {
    /// Reads a line that begins with a slash.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let alone = |command: Self| {
            if rest.is_empty() {
                Ok(command)
            } else {
                Err(format!("{word} takes nothing behind it"))
            }
        };
        match word {
            "/new" => alone(Self::New),
            "/chats" => alone(Self::Chats),
            "/tools" => alone(Self::Tools),
            "/cancel" => alone(Self::Cancel),
            "/trace" => alone(Self::Trace),
            "/help" => alone(Self::Help),
            "/quit" | "/exit" => alone(Self::Quit),
            "/resume" if rest.is_empty() => {
                Err("/resume takes the id of a session; /chats lists them".to_owned())
            }
            "/resume" => Ok(Self::Resume(rest.to_owned())),
            "/tool" => tool(rest),
            "/approve" => Ok(Self::Approve(
                Some(rest).filter(|id| !id.is_empty()).map(str::to_owned),
            )),
            "/deny" => {
                let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                // A reason may begin at once; an id shows itself.
                let (hold, reason) = if first.starts_with("hold_") {
                    (Some(first.to_owned()), more.trim())
                } else {
                    (None, rest)
                };
                Ok(Self::Deny {
                    hold,
                    reason: reason.to_owned(),
                })
            }
            unknown => {
                let near = nearest(unknown, COMMANDS.iter().map(|(name, _, _)| *name))
                    .map_or_else(|| ".".to_owned(), |near| format!("; did you mean {near}?"));
                Err(format!("there is no {unknown}{near} /help lists what there is"))
            }
        }
    }
}

fn tool(rest: &str) -> Result<Command, String> {
    let (name, json) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(
            "/tool takes a name and its arguments: /tool infra_query {\"query\": \"this host\"}".to_owned(),
        );
    }
    let arguments = match json.trim() {
        "" => Arguments::new(),
        json => serde_json::from_str(json)
            .map_err(|error| format!("the arguments of {name} are no JSON object: {error}"))?,
    };
    Ok(Command::Tool {
        name: name.to_owned(),
        arguments,
    })
}

impl Chat<'_> {
    pub(super) async fn command(&mut self, command: Command) -> Result<Next, Failure> {
        match command {
            Command::New => {
                self.session = None;
                say("a new conversation");
            }
            Command::Chats => self.chats().await?,
            Command::Resume(id) => {
                let session = self.driver.assembled.store().find_session(&id).await?;
                say(&format!(
                    "{}: {} ({})",
                    session.submitted.id, session.submitted.title, session.status
                ));
                self.session = Some(session.submitted.id);
            }
            Command::Tools => {
                let now = self.driver.assembled.engine.tools();
                let tools: Vec<_> = now.runnable().collect();
                let paint = self.driver.globals.paint(&io::stdout());
                print(&listed(&tools, paint))?;
            }
            Command::Tool { name, arguments } => self.call(&name, arguments).await?,
            Command::Approve(words) => {
                let words = words.unwrap_or_default();
                let (id, hash) = words.split_once(char::is_whitespace).unwrap_or((&words, ""));
                let hold = self.hold(Some(id).filter(|id| !id.is_empty())).await?;
                // Whoever is not at the keyboard says which plan it is that they saw.
                if hash.trim() != hold.plan_hash.to_string()
                    && !(hash.is_empty() && self.driver.globals.can_ask())
                {
                    return Err(Failure::unsuccessful(format!(
                        "not approved: without a terminal write `/approve {} HASH`, with the hash of the plan that you saw",
                        hold.id
                    )));
                }
                if hash.is_empty() {
                    // Nothing is approved that was not shown, and nothing by a single word.
                    decide::ask(&mut self.driver, &hold).await?;
                } else {
                    let assembled = self.driver.assembled;
                    assembled.approve(&hold.id).await?;
                }
                self.work(&hold.plan.session).await?;
            }
            Command::Deny { hold, reason } => {
                let hold = self.hold(hold.as_deref()).await?;
                let assembled = self.driver.assembled;
                assembled.deny(&hold.id, &reason).await?;
                self.work(&hold.plan.session).await?;
            }
            Command::Cancel => {
                let session = self.current()?;
                let assembled = self.driver.assembled;
                let cancelled = assembled.engine.cancel(&session, &assembled.by).await?;
                match cancelled {
                    Cancelled::Requested => self.work(&session).await?,
                    Cancelled::Now => say("cancelled"),
                    Cancelled::Ended => say("it had ended before"),
                }
            }
            Command::Trace => {
                let session = self.current()?;
                let store = self.driver.assembled.store();
                let trace = trace::trace(store, session.as_str()).await?;
                print(&trace::render(&trace, self.driver.globals.paint(&io::stdout())))?;
            }
            Command::Help => {
                for (name, takes, does) in COMMANDS {
                    say(&format!("  {:<24}  {does}", format!("{name} {takes}")));
                }
            }
            Command::Quit => return Ok(Next::Quit),
        }
        Ok(Next::Go)
    }

    fn current(&self) -> Result<SessionId, Failure> {
        self.session.clone().ok_or_else(|| {
            Failure::unsuccessful("nothing was asked yet; ask something, or /resume a session")
        })
    }

    /// The hold that is meant: by its id, or the only one that waits.
    async fn hold(&self, id: Option<&str>) -> Result<Hold, Failure> {
        if let Some(id) = id {
            return Ok(self.driver.assembled.store().find_hold(id).await?);
        }
        let mut open = self.driver.open_holds(&self.current()?).await?;
        match (open.pop(), open.len()) {
            (Some(hold), 0) => Ok(hold),
            (None, _) => Err(Failure::unsuccessful("nothing waits for a human here")),
            (Some(last), _) => {
                let ids: Vec<String> = open
                    .iter()
                    .chain([&last])
                    .map(|hold| hold.id.to_string())
                    .collect();
                Err(Failure::Unsuccessful(format!(
                    "several wait, say which: {}",
                    ids.join(", ")
                )))
            }
        }
    }

    async fn chats(&self) -> Result<(), Failure> {
        let filter = Filter {
            kind: Some(SessionKind::Chat),
            limit: LISTED,
            ..Filter::default()
        };
        let sessions = self.driver.assembled.store().sessions(&filter).await?;
        let mut table = Table::new(&["session", "status", "when", "title"]);
        for session in &sessions {
            table.row(vec![
                (short(session.submitted.id.as_str()).to_owned(), None),
                (session.status.to_string(), Some(tone(session.status))),
                (moment(session.submitted.at), Some(Tone::Quiet)),
                (session.submitted.title.clone(), None),
            ]);
        }
        print(&table.render(self.driver.globals.paint(&io::stdout())))
    }

    /// Calls a tool for the person at the keyboard.
    async fn call(&mut self, name: &str, arguments: Arguments) -> Result<(), Failure> {
        let assembled = self.driver.assembled;
        let session = if let Some(session) = &self.session {
            session.clone()
        } else {
            let submission = Submission {
                channel: "chat".to_owned(),
                ..Submission::question(format!("(calls {name} directly)"))
            };
            let session = assembled
                .engine
                .submit(self.how.apply(submission, assembled))
                .await?;
            // Nobody asked a model anything: the session ends before one is asked, and the call reopens it.
            assembled.engine.cancel(&session, &assembled.by).await?;
            self.session = Some(session.clone());
            session
        };
        match assembled
            .engine
            .call(&session, &assembled.by, name, arguments)
            .await?
        {
            Called::Answered { text, failed, .. } => {
                print(&format!("{}\n", visible_lines(&text)))?;
                if failed {
                    say("it was refused, or it failed");
                }
            }
            Called::Held { .. } => {
                for hold in self.driver.open_holds(&session).await? {
                    self.show_hold(&hold).await;
                }
            }
        }
        Ok(())
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(screen(text, Paint::On, stdout_width()).as_bytes())?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_slash_is_a_command_or_an_error_that_helps() {
        let deny = |hold: Option<&str>, reason: &str| {
            Ok(Command::Deny {
                hold: hold.map(str::to_owned),
                reason: reason.to_owned(),
            })
        };
        let cases = [
            ("/new", Ok(Command::New)),
            ("/resume ses_1", Ok(Command::Resume("ses_1".to_owned()))),
            ("/approve", Ok(Command::Approve(None))),
            ("/approve hold_1", Ok(Command::Approve(Some("hold_1".to_owned())))),
            ("/deny", deny(None, "")),
            ("/deny not today", deny(None, "not today")),
            ("/deny hold_1 not today", deny(Some("hold_1"), "not today")),
            ("/exit", Ok(Command::Quit)),
            (
                "/aprove",
                Err("there is no /aprove; did you mean /approve? /help lists what there is".to_owned()),
            ),
            ("/new x", Err("/new takes nothing behind it".to_owned())),
        ];
        for (line, expected) in cases {
            assert_eq!(Command::parse(line), expected, "{line}");
        }
        let Ok(Command::Tool { name, arguments }) =
            Command::parse("/tool read_file {\"path\": \"/etc/hosts\"}")
        else {
            panic!("a tool");
        };
        assert_eq!(
            (name.as_str(), &arguments["path"]),
            ("read_file", &"/etc/hosts".into())
        );
        assert!(Command::parse("/tool read_file [1]").is_err());
    }
}
