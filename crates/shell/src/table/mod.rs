//! The table of programs: what each program's arguments can do.
//!
//! The entries are data, in `programs/*.toml`; its README is the format. An entry is read when its program is first
//! met, strictly: one that cannot be read is an error in the tests, and at run time its program is simply unknown,
//! which is a write.

mod flag;
mod load;
mod operand;
#[cfg(test)]
mod plain_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use crate::verdict::{Category, Needs, Risk};

pub(crate) use flag::{Flag, FlagEffect, FlagName, FlagValue};
pub(crate) use operand::{Kind, Operands};

/// How a program reads its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    #[default]
    Gnu,
    Posix,
    Exact,
    Long,
    Words,
}

/// What a program does when it gets no operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bare {
    Read,
    Write,
    Stdin,
    Repl,
    Pager,
    Stream,
    /// It reads everything below the folder where it runs.
    Tree,
    /// It reads its standard input where it is fed, and everything below the folder where it runs otherwise.
    TreeOrStdin,
}

/// Whether a program runs code that it finds in its working folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loads {
    /// It does not, although the level above does.
    Nowhere,
    /// It does, or runs code that the data which it reads names: a read only inside a sandbox, in any folder.
    Sandbox,
    /// It does: a read only inside a sandbox, and only in the folder where the command starts, which the command did not
    /// choose.
    Elsewhere,
    /// It does: never a read.
    Anywhere,
}

/// What the arguments of a program may hold. Scripts put them into command lines, and a shell reads them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AnyText {
    /// Plain words: it may be a script on some system.
    #[default]
    Words,
    /// Plain words with spaces between them.
    Spaced,
    /// Anything: it is compiled on every system, and hands no argument to a shell.
    Compiled,
    /// Anything: it is a script on some system, of which no place is known that evaluates an argument again.
    Script,
}

impl AnyText {
    /// Whether an argument may hold this text.
    pub(crate) fn allows(self, text: &str) -> bool {
        let plain = |text: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._/:,=+@%-".contains(c))
        };
        match self {
            Self::Words => plain(text),
            Self::Spaced => text.split(' ').all(plain),
            Self::Compiled | Self::Script => true,
        }
    }
}

/// How to make an endless call end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RewriteRule {
    pub(crate) add: String,
    pub(crate) append: String,
    pub(crate) program: Option<String>,
    /// What it runs is the equivalent.
    pub(crate) inner: bool,
}

/// A program or one of its sub-commands.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the keys of the table, as its README lists them"
)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) writes: bool,
    pub(crate) risk: Risk,
    pub(crate) pure: bool,
    pub(crate) unlisted_reads: bool,
    /// `unlisted` holds for several implementations of the program.
    pub(crate) several: bool,
    /// Whether it runs code from its folder; `None` is what the level above says.
    pub(crate) loads: Option<Loads>,
    pub(crate) style: Style,
    pub(crate) numeric: bool,
    /// Flags of one letter.
    pub(crate) short: HashMap<char, Flag>,
    /// Flags of a whole word behind two dashes, or behind one in the style `long`. Ordered, for abbreviations.
    pub(crate) long: BTreeMap<String, Flag>,
    /// Flags of a whole word behind one dash, in a program that also takes clusters.
    pub(crate) words: HashMap<String, Flag>,
    pub(crate) operands: Option<Operands>,
    pub(crate) bare: Bare,
    pub(crate) always: Option<Category>,
    pub(crate) network: bool,
    /// The sockets that its reading needs.
    pub(crate) sockets: Needs,
    pub(crate) sensitive: bool,
    pub(crate) conditional: bool,
    pub(crate) inspect: Option<String>,
    pub(crate) rewrite: Option<RewriteRule>,
    pub(crate) abbreviates: bool,
    pub(crate) subs: BTreeMap<String, Node>,
    /// It reads only if one of these flags is given.
    pub(crate) needs: Vec<FlagName>,
    /// An operand `HOST:PATH` is read by a shell on that host.
    pub(crate) remote_shell: bool,
    /// An operand `NAME:…` names another machine, here and in its sub-commands.
    pub(crate) remotes: bool,
    /// It looks for these flags behind operands, too.
    pub(crate) permutes: bool,
    /// Flags that together write.
    pub(crate) clashes: Vec<Vec<FlagName>>,
    /// With one of these flags, the first operand is not there.
    pub(crate) instead: Vec<FlagName>,
    /// Flags end at the first operand, in programs that otherwise read them their own way.
    pub(crate) ordered: bool,
    /// Operands may look like flags: it hands them to a program that only reads.
    pub(crate) dashes: bool,
    /// What this level becomes if one of the flags is given.
    pub(crate) modes: Vec<(Vec<FlagName>, Node)>,
    /// Operands that name secrets.
    pub(crate) secret_operands: Vec<String>,
    /// It sends its standard input elsewhere.
    pub(crate) sends: bool,
    /// It waits for its standard input whatever its operands.
    pub(crate) filters: bool,
    /// The flags that bound it are counts of bytes, and end also a file without an end.
    pub(crate) cuts: bool,
    /// How many seconds a round takes, unless a flag or an operand says so.
    pub(crate) every: Option<f64>,
    /// With one of these flags it shows only what the value asks for, so that the value says whether that is a secret.
    pub(crate) selects: Vec<FlagName>,
    /// Sub-commands that print secrets, by the words that end their names. For levels that take any word.
    pub(crate) shows: Vec<String>,
    /// It looks at names and meta-data only, and opens nothing that it is given.
    pub(crate) names_only: bool,
    /// Whether what it runs is outside of the sandbox around it. Every level that runs a command says so or denies it.
    pub(crate) hands_over: Option<bool>,
    /// What its arguments may hold; only of whole programs.
    pub(crate) any_text: AnyText,
    /// Words that end one command and begin another one, as arguments of their own or at the end of one.
    pub(crate) separates: Vec<String>,
    /// It exists only where the program is called by one of these names.
    pub(crate) only: Vec<String>,
    /// The program takes abbreviations: the beginning of a secret operand names the secret, too.
    pub(crate) secret_prefixes: bool,
    /// Only with one of these flags does it show what the secret operands name.
    pub(crate) secret_with: Vec<FlagName>,
    /// It comes from a list of names, and what its own words mean is not known.
    pub(crate) listed: bool,
}

impl Node {
    /// A sub-command by its exact name, else by a listed prefix (`describe-*`), else by the wildcard `*`.
    pub(crate) fn sub(&self, name: &str) -> Option<&Self> {
        self.subs.get(name).or_else(|| {
            // A program that joins its arguments and reads them again would find several words.
            if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
                return None;
            }
            let mut starred = self
                .subs
                .iter()
                .filter_map(|(full, sub)| full.strip_suffix('*').map(|stem| (stem, sub)));
            starred
                .clone()
                .find(|(stem, _)| !stem.is_empty() && name.starts_with(stem))
                .or_else(|| starred.find(|(stem, _)| stem.is_empty()))
                .map(|(_, sub)| sub)
        })
    }
}

/// The entry of a program, if it has one that can be read.
pub(crate) fn program(name: &str) -> Option<&'static Node> {
    load::program(name)
}
