//! What an analysis gathers while it walks a command.

use crate::verdict::{Category, Intent, Needs, Reason, Risk, Verdict};

/// Findings so far. They only ever get worse: nothing found later makes an earlier finding milder.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent findings, as the verdict has them"
)]
pub(crate) struct Report {
    pub(crate) intent: Intent,
    pub(crate) risk: Risk,
    pub(crate) endless: Option<Category>,
    pub(crate) sensitive: bool,
    pub(crate) network: bool,
    /// It is a read only inside a sandbox.
    pub(crate) needs_sandbox: bool,
    /// What it runs is outside of the sandbox around it.
    pub(crate) hands_over: bool,
    needs: Needs,
    /// What every program needs. Nothing before the first program.
    shared_needs: Option<Needs>,
    hosts: Vec<String>,
    host_unknown: bool,
    reasons: Vec<(u8, Reason)>,
    /// Replacements for endless simple commands: their first and last character in the text, and the new text.
    pub(crate) rewrites: Vec<Rewrite>,
}

/// A piece of the command that would end if it were written so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rewrite {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

const WRITE: u8 = 0;
const ENDLESS: u8 = 1;
const SECRET: u8 = 2;
const SANDBOX: u8 = 3;
const NETWORK: u8 = 4;
const CONDITION: u8 = 5;
const READ: u8 = 6;

impl Report {
    pub(crate) const fn new() -> Self {
        Self {
            intent: Intent::ReadOnlyCertain,
            risk: Risk::ReadOnly,
            endless: None,
            sensitive: false,
            network: false,
            needs_sandbox: false,
            hands_over: false,
            needs: Needs::NONE,
            shared_needs: None,
            hosts: Vec::new(),
            host_unknown: false,
            reasons: Vec::new(),
            rewrites: Vec::new(),
        }
    }

    fn reason(&mut self, rank: u8, part: &str, why: impl Into<String>) {
        let part = shorten(part);
        let why = why.into();
        if !self
            .reasons
            .iter()
            .any(|(r, reason)| *r == rank && reason.part == part && reason.why == why)
        {
            self.reasons.push((rank, Reason { part, why }));
        }
    }

    /// It writes, or might.
    pub(crate) fn write(&mut self, risk: Risk, part: &str, why: impl Into<String>) {
        self.intent = Intent::WriteOrUnknown;
        self.risk = self.risk.max(risk.max(Risk::LowWrite));
        self.reason(WRITE, part, why);
    }

    /// It might never end.
    pub(crate) fn endless(&mut self, category: Category, part: &str, why: impl Into<String>) {
        self.endless.get_or_insert(category);
        self.reason(ENDLESS, part, why);
    }

    /// It prints secrets.
    pub(crate) fn secret(&mut self, part: &str, why: impl Into<String>) {
        self.sensitive = true;
        self.reason(SECRET, part, why);
    }

    /// It reaches other hosts; `host` where it is written out.
    pub(crate) fn reaches(&mut self, host: Option<&str>, part: &str) {
        self.network = true;
        match host {
            Some(host) if plain_host(host) => {
                if !self.hosts.iter().any(|h| h == host) {
                    self.hosts.push(host.to_owned());
                }
                self.reason(NETWORK, part, format!("reaches {host}"));
            }
            _ => {
                self.host_unknown = true;
                self.reason(NETWORK, part, "reaches other hosts");
            }
        }
    }

    /// It is a read only inside a sandbox.
    pub(crate) fn only_in_sandbox(&mut self, part: &str, why: impl Into<String>) {
        self.needs_sandbox = true;
        self.intent = self.intent.max(Intent::ReadOnlyConditional);
        self.reason(SANDBOX, part, why);
    }

    /// It hands a command over to where no sandbox of ours holds it.
    pub(crate) fn hands_over(&mut self, part: &str, why: impl Into<String>) {
        self.hands_over = true;
        self.reason(SANDBOX, part, why);
    }

    /// The sockets that the program which is judged needs, as far as it was judged.
    pub(crate) const fn needed(&self) -> Needs {
        self.needs
    }

    /// Its reading needs these sockets.
    pub(crate) fn needs(&mut self, needs: Needs) {
        self.needs = self.needs.union(needs);
    }

    /// Starts to collect the needs of one program. Gives back what those before it need.
    pub(crate) const fn begin_program(&mut self) -> Needs {
        std::mem::replace(&mut self.needs, Needs::NONE)
    }

    /// Ends what [`Report::begin_program`] began. A builtin of the shell is no program of its own.
    pub(crate) fn end_program(&mut self, before: Needs, builtin: bool) {
        if !builtin {
            self.share(self.needs);
        }
        self.needs = self.needs.union(before);
    }

    fn share(&mut self, needs: Needs) {
        self.shared_needs = Some(self.shared_needs.map_or(needs, |all| all.intersection(needs)));
    }

    /// It reads, as far as its content was inspected.
    pub(crate) fn condition(&mut self, part: &str, why: impl Into<String>) {
        self.intent = self.intent.max(Intent::ReadOnlyConditional);
        self.reason(CONDITION, part, why);
    }

    /// It reads, whatever its arguments.
    pub(crate) fn read(&mut self, part: &str, why: impl Into<String>) {
        self.reason(READ, part, why);
    }

    /// Takes over what a nested analysis found.
    pub(crate) fn absorb(&mut self, inner: Self) {
        self.intent = self.intent.max(inner.intent);
        self.risk = self.risk.max(inner.risk);
        self.endless = self.endless.or(inner.endless);
        self.sensitive |= inner.sensitive;
        self.network |= inner.network;
        self.needs_sandbox |= inner.needs_sandbox;
        self.hands_over |= inner.hands_over;
        self.host_unknown |= inner.host_unknown;
        self.needs = self.needs.union(inner.needs);
        if let Some(needs) = inner.shared_needs {
            self.share(needs);
        }
        for host in inner.hosts {
            if !self.hosts.contains(&host) {
                self.hosts.push(host);
            }
        }
        for (rank, reason) in inner.reasons {
            if !self
                .reasons
                .iter()
                .any(|(r, known)| *r == rank && *known == reason)
            {
                self.reasons.push((rank, reason));
            }
        }
        self.rewrites.extend(inner.rewrites);
    }

    /// A wrapper ends what it runs. Says whether that was needed.
    pub(crate) fn bounded_by(&mut self, part: &str) -> bool {
        let needed = self.endless == Some(Category::UnboundedStream);
        if needed {
            self.endless = None;
            self.rewrites.clear();
            self.reasons.retain(|(rank, _)| *rank != ENDLESS);
            self.condition(part, "ends what it runs");
        }
        needed
    }

    pub(crate) const fn is_write(&self) -> bool {
        matches!(self.intent, Intent::WriteOrUnknown)
    }

    pub(crate) fn into_verdict(mut self) -> Verdict {
        if self.reasons.is_empty() {
            self.read("", "nothing in it writes");
        }
        self.reasons.sort_by_key(|(rank, _)| *rank);
        Verdict {
            intent: self.intent,
            risk: self.risk,
            bounded: self.endless.is_none(),
            category: self.endless,
            sensitive: self.sensitive,
            network: self.network,
            needs_sandbox: self.needs_sandbox,
            hands_over: self.hands_over,
            needs: self.needs,
            shared_needs: self.shared_needs.unwrap_or(Needs::NONE),
            hosts: if self.host_unknown { Vec::new() } else { self.hosts },
            reasons: self.reasons.into_iter().map(|(_, reason)| reason).collect(),
            rewrite: None,
        }
    }
}

/// A host that every program would read the same way.
fn plain_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%'))
}

/// Reasons are read by people and fed back to models: a part is quoted, not dumped.
fn shorten(part: &str) -> String {
    const MOST: usize = 120;
    if part.chars().count() <= MOST {
        return part.to_owned();
    }
    let mut short: String = part.chars().take(MOST).collect();
    short.push('…');
    short
}
