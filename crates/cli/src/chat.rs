//! `interlock chat`: a conversation, on a terminal or line by line from a pipe.

mod commands;
mod history;
mod prompt;

use std::io;

use clap::Args;
use interlock_engine::Submission;
use interlock_gate::Hold;
use interlock_protocol::{SessionId, Status};

use crate::Ending;
use crate::assemble::assemble;
use crate::chat::commands::Command;
use crate::chat::prompt::Prompt;
use crate::decide::{barred, how_to_decide};
use crate::drive::{Driver, ending, is_end};
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::plan;
use crate::report::Facts;
use crate::run::{How, footer};
use crate::terminal::{Tone, visible};

/// Talk, with live tools.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock chat
  interlock chat --resume ses_1f2e3d
  printf 'is nginx up?\\nsince when?\\n' | interlock chat

Type /help for what can be said besides questions. In a pipe each line is one turn.

With --json: JSON Lines, one document for each turn, as `interlock run --json` prints it.

Exit codes: those of the last turn.")]
pub(crate) struct Arguments {
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    resume: Option<String>,

    #[command(flatten)]
    how: How,
}

/// A conversation.
pub(crate) struct Chat<'a> {
    pub(crate) driver: Driver<'a>,
    how: How,
    /// The session, once something was asked.
    pub(crate) session: Option<SessionId>,
    /// How the last turn ended.
    last: Ending,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    Quit,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let assembled = assemble(globals)?;
    let session = match &arguments.resume {
        Some(id) => Some(assembled.store().find_session(id).await?.submitted.id),
        None => None,
    };
    let mut prompt = Prompt::new(globals, &assembled.folders.data)?;
    let mut chat = Chat {
        driver: Driver::new(globals, &assembled)?,
        how: arguments.how.clone(),
        session,
        last: Ending::Done,
    };
    if prompt.is_for_people() {
        say("Ask something, or /help. Ctrl-D leaves.");
    }
    while let Some(line) = prompt.line(&mut chat.driver).await? {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        match Box::pin(chat.turn(line)).await {
            Ok(Next::Go) => {}
            Ok(Next::Quit) => break,
            // Whoever read the output is gone.
            Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Err(error.into()),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            // What went wrong in one turn does not end the conversation.
            Err(failure) => {
                say(&format!("error: {failure}"));
                chat.last = Ending::Unsuccessful;
            }
        }
    }
    Ok(chat.last)
}

impl Chat<'_> {
    /// One line.
    async fn turn(&mut self, line: &str) -> Result<Next, Failure> {
        if line.starts_with('/') {
            if line != "/quit" && line != "/exit" {
                self.last = Ending::Done;
            }
            return match Command::parse(line) {
                Ok(command) => Box::pin(self.command(command)).await,
                Err(why) => Err(Failure::Wrong(why)),
            };
        }
        Box::pin(self.question(line)).await?;
        Ok(Next::Go)
    }

    /// Asks, in the session if there is one.
    async fn question(&mut self, question: &str) -> Result<(), Failure> {
        let assembled = self.driver.assembled;
        let session = match &self.session {
            None => {
                let submission = Submission {
                    channel: "chat".to_owned(),
                    ..Submission::question(question)
                };
                let session = assembled
                    .engine
                    .submit(self.how.apply(submission, assembled))
                    .await?;
                self.session = Some(session.clone());
                session
            }
            Some(session) => {
                let status = assembled.store().session(session).await?.status;
                if status == Status::Held {
                    return Err(Failure::unsuccessful(
                        "a plan of this session waits for a human: /approve or /deny it first, or /cancel",
                    ));
                }
                assembled
                    .engine
                    .ask_again(session, &assembled.by, question)
                    .await?;
                session.clone()
            }
        };
        self.work(&session).await
    }

    /// Works on the session, and says what came of it.
    pub(crate) async fn work(&mut self, session: &SessionId) -> Result<(), Failure> {
        let status = Box::pin(self.driver.work_to_end(session)).await?;
        self.last = ending(status);
        let globals = self.driver.globals;
        let facts = Facts::of(self.driver.assembled.store(), session).await?;
        if globals.json {
            return globals.print_lines(&[facts.report()], |_| String::new());
        }
        if is_end(status) {
            crate::answer::print(globals, &facts.head, facts.session.answer.as_deref())?;
        }
        let paint = globals.paint(&io::stderr());
        if status == Status::Held && !globals.can_ask() {
            for hold in self.driver.open_holds(session).await? {
                self.show_hold(&hold).await;
            }
        }
        if let Some(error) = &facts.session.error {
            say(&format!(
                "{}: {}",
                paint.paint(Tone::Bad, status.as_str()),
                visible(error)
            ));
        }
        say(&paint.paint(Tone::Quiet, &footer(&facts)));
        Ok(())
    }

    async fn show_hold(&self, hold: &Hold) {
        let paint = self.driver.globals.paint(&io::stderr());
        // A person who would be refused is not told to try.
        let head = match barred(self.driver.assembled, hold).await {
            None => "This waits for a human; /approve or /deny it here:",
            Some(_) => "This waits for a human:",
        };
        say(&paint.paint(Tone::Careful, head));
        say(&plan::render(hold, jiff::Timestamp::now(), paint));
        say(&how_to_decide(self.driver.assembled, hold).await);
    }
}
