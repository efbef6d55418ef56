//! Puts a reply together from its pieces while it passes them on.

use crate::degenerate::Watch;
use crate::failure::{Fault, Kind};
use crate::{Chunk, Finish, Flow, Sink, Thought, Usage};
use interlock_dialect::{CallDelta, NativeArguments, NativeCall, Reply};
use serde_json::Value;
use std::collections::BTreeMap;

/// The most tool calls of one reply that are kept; far more than any dialect looks at.
const MAX_CALLS: usize = 1024;

/// A call as far as it has arrived.
#[derive(Debug)]
struct Draft {
    call: NativeCall,
    whole: bool,
    signature: Option<String>,
}

/// What a reply has come to so far.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) reply: Reply,
    pub(crate) thoughts: Vec<Thought>,
    pub(crate) call_signatures: Vec<Option<String>>,
    pub(crate) usage: Usage,
    pub(crate) finish: Option<Finish>,
    pub(crate) served_by: Option<String>,
    pub(crate) groundings: Vec<Value>,
    pub(crate) code_executions: Vec<Value>,
}

impl Collected {
    /// Whether the model said nothing and called nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.reply.text.trim().is_empty() && self.reply.calls.is_empty() && self.code_executions.is_empty()
    }
}

/// Takes the pieces of a reply from a wire, keeps them and passes them on.
pub(crate) struct Collector<'s> {
    sink: &'s mut Sink<'s>,
    collected: Collected,
    drafts: Vec<Draft>,
    /// Which call an index means at present.
    by_index: BTreeMap<u32, usize>,
    by_id: BTreeMap<String, usize>,
    latest: Option<usize>,
    text_watch: Watch,
    thinking_watch: Watch,
    arguments_watch: Watch,
    visible: bool,
    stopped: bool,
}

impl<'s> Collector<'s> {
    pub(crate) fn new(sink: &'s mut Sink<'s>) -> Self {
        Self {
            sink,
            collected: Collected::default(),
            drafts: Vec::new(),
            by_index: BTreeMap::new(),
            by_id: BTreeMap::new(),
            latest: None,
            text_watch: Watch::default(),
            thinking_watch: Watch::default(),
            arguments_watch: Watch::default(),
            visible: false,
            stopped: false,
        }
    }

    /// Whether anything was passed on.
    pub(crate) const fn visible(&self) -> bool {
        self.visible
    }

    /// Whether the receiver wants no more.
    pub(crate) const fn stopped(&self) -> bool {
        self.stopped
    }

    fn pass(&mut self, chunk: Chunk<'_>) {
        self.visible = true;
        if (self.sink)(chunk) == Flow::Stop {
            self.stopped = true;
        }
    }

    pub(crate) fn text(&mut self, piece: &str) -> Result<(), Fault> {
        if self.stopped || piece.is_empty() {
            return Ok(());
        }
        self.collected.reply.text.push_str(piece);
        self.pass(Chunk::Text(piece));
        match self.text_watch.grown(&self.collected.reply.text, piece) {
            Some(cut) => {
                self.collected.reply.text.truncate(cut);
                Err(degenerate())
            }
            None => Ok(()),
        }
    }

    /// More of the thought that is being thought.
    pub(crate) fn thinking(&mut self, piece: &str) -> Result<(), Fault> {
        if self.stopped || piece.is_empty() {
            return Ok(());
        }
        match self.collected.thoughts.last_mut() {
            Some(thought) if thought.signature.is_none() => thought.text.push_str(piece),
            _ => self.collected.thoughts.push(Thought {
                text: piece.to_owned(),
                signature: None,
            }),
        }
        self.collected.reply.thinking.push_str(piece);
        self.pass(Chunk::Thinking(piece));
        match self.thinking_watch.grown(&self.collected.reply.thinking, piece) {
            Some(cut) => {
                self.collected.reply.thinking.truncate(cut);
                Err(degenerate())
            }
            None => Ok(()),
        }
    }

    /// Begins another thought, or adds one that is not shown.
    pub(crate) fn thought(&mut self, thought: Thought) {
        if !self.stopped {
            self.collected.thoughts.push(thought);
        }
    }

    /// What the provider wants back with the latest thought.
    pub(crate) fn seal_thought(&mut self, more: &str, seal: impl FnOnce(&str) -> String) {
        if self.stopped {
            return;
        }
        if self.collected.thoughts.is_empty() {
            self.collected.thoughts.push(Thought::default());
        }
        if let Some(thought) = self.collected.thoughts.last_mut() {
            match &mut thought.signature {
                Some(signature) => signature.push_str(more),
                None => thought.signature = Some(seal(more)),
            }
        }
    }

    /// A piece of a call. Which call it belongs to is decided as [`CallDelta`] says.
    pub(crate) fn call_delta(
        &mut self,
        delta: CallDelta<'_>,
        signature: impl FnOnce() -> Option<String>,
    ) -> Result<(), Fault> {
        if self.stopped {
            return Ok(());
        }
        let id = delta.id.filter(|id| !id.is_empty());
        let at = if let Some(at) = self.find(delta.index, id) {
            at
        } else {
            self.arguments_watch = Watch::default();
            self.add(Draft {
                call: NativeCall {
                    id: None,
                    name: String::new(),
                    arguments: NativeArguments::Text(String::new()),
                },
                whole: false,
                signature: None,
            })?
        };
        self.latest = Some(at);
        if let Some(index) = delta.index {
            self.by_index.insert(index, at);
        }
        if let Some(id) = id {
            match self.by_id.get_mut(id) {
                Some(place) => *place = at,
                None => drop(self.by_id.insert(id.to_owned(), at)),
            }
        }
        let draft = &mut self.drafts[at];
        if draft.call.id.is_none() {
            draft.call.id = id.map(str::to_owned);
        }
        if let Some(name) = delta.name.filter(|&name| name != draft.call.name) {
            draft.call.name.push_str(name);
        }
        if let Some(signature) = signature() {
            draft.signature = Some(signature);
        }
        let mut looping = false;
        if let NativeArguments::Text(arguments) = &mut draft.call.arguments {
            arguments.push_str(delta.arguments);
            looping = self.arguments_watch.grown(arguments, delta.arguments).is_some();
        }
        self.pass(Chunk::CallDelta(delta));
        if looping { Err(degenerate()) } else { Ok(()) }
    }

    fn add(&mut self, draft: Draft) -> Result<usize, Fault> {
        if self.drafts.len() == MAX_CALLS {
            let what = format!("the reply has more than {MAX_CALLS} tool calls");
            return Err(Fault::new(Kind::TooLarge, what));
        }
        self.drafts.push(draft);
        Ok(self.drafts.len() - 1)
    }

    /// The call that a piece belongs to.
    fn find(&self, index: Option<u32>, id: Option<&str>) -> Option<usize> {
        match (index, id) {
            (Some(index), id) => {
                let at = *self.by_index.get(&index)?;
                match (self.drafts[at].call.id.as_deref(), id) {
                    (Some(known), Some(id)) if known != id => self.by_id.get(id).copied(),
                    _ => Some(at),
                }
            }
            (None, Some(id)) => self.by_id.get(id).copied(),
            (None, None) => self.latest.filter(|&at| !self.drafts[at].whole),
        }
    }

    /// A call that arrives whole.
    pub(crate) fn call(&mut self, call: NativeCall, signature: Option<String>) -> Result<(), Fault> {
        if self.stopped {
            return Ok(());
        }
        let at = self.add(Draft {
            call: call.clone(),
            whole: true,
            signature,
        })?;
        self.latest = Some(at);
        self.pass(Chunk::Call(call));
        Ok(())
    }

    pub(crate) fn grounding(&mut self, found: Value) {
        if !self.stopped {
            self.collected.groundings.push(found.clone());
            self.pass(Chunk::Grounding(found));
        }
    }

    pub(crate) fn code_execution(&mut self, part: Value) {
        if !self.stopped {
            self.collected.code_executions.push(part.clone());
            self.pass(Chunk::CodeExecution(part));
        }
    }

    /// How many tokens it took, as far as is known now.
    pub(crate) fn usage(&mut self) -> &mut Usage {
        self.collected.usage.reported = true;
        &mut self.collected.usage
    }

    pub(crate) fn finish(&mut self, finish: Finish) {
        self.collected.finish = Some(finish);
    }

    pub(crate) const fn has_finish(&self) -> bool {
        self.collected.finish.is_some()
    }

    pub(crate) fn served_by(&mut self, model: &str) {
        if self.collected.served_by.is_none() && !model.is_empty() {
            self.collected.served_by = Some(crate::wire::word(model));
        }
    }

    /// What it came to.
    pub(crate) fn into_collected(mut self) -> Collected {
        for draft in self.drafts {
            self.collected.reply.calls.push(draft.call);
            self.collected.call_signatures.push(draft.signature);
        }
        if self.stopped {
            self.collected.finish = Some(Finish::Stopped);
        } else if self.collected.finish == Some(Finish::Stop) && !self.collected.reply.calls.is_empty() {
            // Some wires call it a stop, although the model waits.
            self.collected.finish = Some(Finish::ToolCalls);
        }
        self.collected
    }
}

fn degenerate() -> Fault {
    Fault::new(Kind::Degenerate, "the model repeats the same words without end")
}
