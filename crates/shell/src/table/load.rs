//! Reading the table.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;

use super::flag::{self, FlagEffect, FlagName, FlagValue};
use super::operand::{Kind, Operands};
use super::{AnyText, Bare, Loads, Node, RewriteRule, Style};
use crate::verdict::{Category, Needs, Risk};

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// A command that the table itself says must be allowed or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) program: String,
    pub(crate) command: String,
    pub(crate) expected: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A bounded read.
    Allowed,
    /// Not a bounded read.
    Refused,
    /// A read that does not end by itself.
    Unbounded,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    program: Vec<Entry>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the keys of the table, as its README lists them"
)]
struct Entry {
    names: Option<String>,
    effect: Option<String>,
    risk: Option<String>,
    pure: bool,
    unlisted: Option<String>,
    systems: Option<String>,
    loads: Option<String>,
    style: Option<String>,
    numeric: bool,
    flags: String,
    write: String,
    high: String,
    exec: String,
    follow: String,
    bound: String,
    tty: String,
    secret: String,
    net: String,
    operands: Option<String>,
    bare: Option<String>,
    always: Option<String>,
    network: bool,
    sockets: Option<String>,
    sensitive: bool,
    conditional: bool,
    inspect: Option<String>,
    rewrite: Option<RewriteEntry>,
    allow: Vec<String>,
    refuse: Vec<String>,
    unbounded: Vec<String>,
    allow_sub: Option<String>,
    reads: String,
    writes: String,
    highs: String,
    sub: BTreeMap<String, Entry>,
    needs: String,
    permutes: bool,
    remote_shell: bool,
    remotes: bool,
    clash: Vec<String>,
    instead: String,
    when: BTreeMap<String, Entry>,
    secret_operands: String,
    sends: bool,
    ordered: bool,
    dashes: bool,
    hands_over: Option<bool>,
    names_only: bool,
    cuts: bool,
    every: Option<f64>,
    selects: String,
    shows: Vec<String>,
    any_text: Option<String>,
    separates: String,
    only: String,
    secret_prefixes: bool,
    secret_with: String,
}

impl Entry {
    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.sub.values().chain(self.when.values())
    }

    fn declares_systems(&self) -> bool {
        self.systems.is_some() || self.parts().any(Self::declares_systems)
    }

    fn relies_on_systems(&self) -> bool {
        self.pure || self.unlisted.is_some() || self.parts().any(Self::relies_on_systems)
    }

    fn is_for_programs(&self) -> bool {
        self.any_text.is_some() || !self.separates.is_empty() || self.parts().any(Self::is_for_programs)
    }

    /// This level as it is in a mode: what the mode says replaces, flags come on top.
    fn in_mode(&self, mode: &Self, flags: &str) -> Self {
        let base = self.clone();
        let mode = mode.clone();
        let listed: Vec<String> = [
            &mode.flags,
            &mode.write,
            &mode.high,
            &mode.exec,
            &mode.follow,
            &mode.bound,
            &mode.tty,
            &mode.secret,
            &mode.net,
        ]
        .iter()
        .flat_map(|list| list.split_whitespace())
        .map(|spec| spec.split_once('=').map_or(spec, |(name, _)| name).to_owned())
        .collect();
        let merged = |base: &str, mode: &str| -> String {
            let kept = base.split_whitespace().filter(|spec| {
                !listed
                    .iter()
                    .any(|name| name == spec.split_once('=').map_or(*spec, |(name, _)| name))
            });
            kept.chain(mode.split_whitespace()).collect::<Vec<_>>().join(" ")
        };
        Self {
            names: None,
            effect: mode.effect.or(base.effect),
            risk: mode.risk.or(base.risk),
            pure: mode.pure,
            unlisted: mode.unlisted.or(base.unlisted),
            systems: mode.systems.or(base.systems),
            loads: mode.loads.or(base.loads),
            style: mode.style.or(base.style),
            numeric: mode.numeric || base.numeric,
            flags: merged(&base.flags, &mode.flags),
            write: merged(&base.write, &mode.write),
            high: merged(&base.high, &mode.high),
            exec: merged(&base.exec, &mode.exec),
            follow: merged(&base.follow, &mode.follow),
            bound: merged(&base.bound, &mode.bound),
            tty: merged(&base.tty, &mode.tty),
            secret: merged(&base.secret, &mode.secret),
            net: merged(&base.net, &mode.net),
            operands: mode.operands.or(base.operands),
            bare: mode.bare.or(base.bare),
            always: mode.always.or(base.always),
            network: mode.network || base.network,
            sockets: mode.sockets.or(base.sockets),
            sensitive: mode.sensitive || base.sensitive,
            conditional: mode.conditional || base.conditional,
            inspect: mode.inspect,
            rewrite: mode.rewrite.or(base.rewrite),
            allow: Vec::new(),
            refuse: Vec::new(),
            unbounded: Vec::new(),
            allow_sub: mode.allow_sub.or(base.allow_sub),
            reads: mode.reads,
            writes: mode.writes,
            highs: mode.highs,
            sub: mode.sub,
            // The mode counts only if its flag really was a flag, and not the value of another one.
            needs: if mode.needs.is_empty() {
                flags.to_owned()
            } else {
                mode.needs
            },
            clash: if mode.clash.is_empty() {
                base.clash
            } else {
                mode.clash
            },
            instead: if mode.instead.is_empty() {
                base.instead
            } else {
                mode.instead
            },
            when: mode.when,
            secret_operands: if mode.secret_operands.is_empty() {
                base.secret_operands
            } else {
                mode.secret_operands
            },
            sends: mode.sends || base.sends,
            ordered: mode.ordered || base.ordered,
            permutes: mode.permutes || base.permutes,
            remote_shell: mode.remote_shell || base.remote_shell,
            remotes: mode.remotes || base.remotes,
            dashes: mode.dashes || base.dashes,
            hands_over: mode.hands_over.or(base.hands_over),
            names_only: mode.names_only || base.names_only,
            cuts: mode.cuts || base.cuts,
            every: mode.every.or(base.every),
            selects: if mode.selects.is_empty() {
                base.selects
            } else {
                mode.selects
            },
            shows: base.shows,
            any_text: base.any_text,
            separates: base.separates,
            only: base.only,
            secret_prefixes: mode.secret_prefixes || base.secret_prefixes,
            secret_with: if mode.secret_with.is_empty() {
                base.secret_with
            } else {
                mode.secret_with
            },
        }
    }
}

fn flag_names(list: &str, style: Style) -> Result<Vec<FlagName>, String> {
    list.split_whitespace()
        .map(|spec| {
            flag::parse(
                spec.split_once('=').map_or(spec, |(name, _)| name),
                FlagEffect::Harmless,
                style == Style::Long,
            )
            .map(|(name, _)| name)
        })
        .collect()
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RewriteEntry {
    add: String,
    append: String,
    program: Option<String>,
    inner: bool,
}

/// One entry, read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) names: Vec<String>,
    pub(crate) node: Node,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are what the tests check"))]
    pub(crate) examples: Vec<Example>,
    /// Whether the entry shows what it allows and what it refuses.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are what the tests check"))]
    pub(crate) shows_both: bool,
}

static LOADED: [OnceLock<Option<Loaded>>; COUNT] = [const { OnceLock::new() }; COUNT];

/// Finds a program, reading its entry if this is the first time.
pub(super) fn program(name: &str) -> Option<&'static Node> {
    let found = NAMES.binary_search_by(|(known, _)| known.cmp(&name)).ok()?;
    let index = NAMES[found].1;
    let loaded = LOADED.get(index)?.get_or_init(|| read(index).ok()).as_ref()?;
    // The index was cut from the text; the entry itself has the last word.
    loaded
        .names
        .iter()
        .any(|known| known == name)
        .then_some(&loaded.node)
}

/// Every entry, or why it cannot be read.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = Result<Loaded, String>> {
    (0..ENTRIES.len()).map(|index| read(index).map_err(|error| format!("{}: {error}", ENTRIES[index].0)))
}

/// Names that several entries claim.
#[cfg(test)]
pub(super) fn claimed_twice() -> Vec<&'static str> {
    NAMES
        .windows(2)
        .filter(|pair| pair[0].0 == pair[1].0)
        .map(|pair| pair[0].0)
        .collect()
}

fn read(index: usize) -> Result<Loaded, String> {
    let mut file: File = toml::from_str(ENTRIES[index].1).map_err(|error| error.to_string())?;
    let (Some(entry), true) = (file.program.pop(), file.program.is_empty()) else {
        return Err("a piece of the table that is not one program".to_owned());
    };
    let names: Vec<String> = entry
        .names
        .as_deref()
        .ok_or("`names` is missing")?
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let first = names.first().ok_or("`names` is empty")?.clone();
    let mut examples = Vec::new();
    for (list, expected) in [
        (&entry.allow, Expected::Allowed),
        (&entry.refuse, Expected::Refused),
        (&entry.unbounded, Expected::Unbounded),
    ] {
        examples.extend(list.iter().map(|command| Example {
            program: first.clone(),
            command: command.clone(),
            expected,
        }));
    }
    let only_writes = entry.effect.as_deref() == Some("write") && entry.when.is_empty();
    let shows_reading = !entry.allow.is_empty() || !entry.unbounded.is_empty() || only_writes;
    let shows_both = shows_reading && (!entry.refuse.is_empty() || entry.pure);
    if entry.declares_systems() && !entry.relies_on_systems() {
        return Err(format!("{first}: `systems` without `pure` or `unlisted`"));
    }
    if entry.parts().any(Entry::is_for_programs) {
        return Err(format!(
            "{first}: `any_text` and `separates` hold for the whole program"
        ));
    }
    let node = build(&first, &entry, Style::Gnu, None).map_err(|error| format!("{first}: {error}"))?;
    if uses_netlink(&node) && node.any_text != AnyText::Compiled {
        return Err(format!(
            "{first}: with netlink sockets it could change the network and the packet filter: only for programs whose `any_text` is `compiled`"
        ));
    }
    Ok(Loaded {
        names,
        node,
        examples,
        shows_both,
    })
}

/// Whether a level of an entry declares netlink sockets. Whoever has them in a sandbox has the capability that changes the network.
pub(super) fn uses_netlink(node: &Node) -> bool {
    let modes = node.modes.iter().map(|(_, mode)| mode);
    node.sockets.netlink || node.subs.values().chain(modes).any(uses_netlink)
}

/// Systems whose manuals an entry can name. `upstream`: a program with one implementation, whose manual was read.
const SYSTEMS: &[&str] = &[
    "gnu",
    "util-linux",
    "procps",
    "busybox",
    "bsd",
    "macos",
    "upstream",
];

/// Checks that an entry which trusts what it does not list names the manuals that were read for it.
fn check_systems(entry: &Entry, systems: Option<&str>) -> Result<(), String> {
    let named: Vec<&str> = systems.unwrap_or("").split_whitespace().collect();
    if let Some(unknown) = named.iter().find(|name| !SYSTEMS.contains(name)) {
        return Err(format!("systems `{unknown}`"));
    }
    if (entry.pure || entry.unlisted.is_some()) && named.is_empty() {
        return Err("`pure` and `unlisted` need `systems`: whose manual was read".to_owned());
    }
    // A flag that is listed nowhere reads only if that holds wherever a program of this name exists.
    let linux = ["gnu", "util-linux", "procps"];
    let everywhere = named == ["upstream"]
        || named.iter().any(|name| linux.contains(name))
            && ["busybox", "bsd", "macos"]
                .iter()
                .all(|name| named.contains(name));
    if entry.unlisted.is_some() && !everywhere {
        return Err(
            "`unlisted` needs `systems` to name upstream, or a Linux implementation, busybox, bsd and macos"
                .to_owned(),
        );
    }
    Ok(())
}

fn build(name: &str, entry: &Entry, inherited: Style, systems: Option<&str>) -> Result<Node, String> {
    let systems = entry.systems.as_deref().or(systems);
    check_systems(entry, systems)?;
    let style = match entry.style.as_deref() {
        None => inherited,
        Some("gnu") => Style::Gnu,
        Some("posix") => Style::Posix,
        Some("exact") => Style::Exact,
        Some("long") => Style::Long,
        Some("words") => Style::Words,
        Some(other) => return Err(format!("style `{other}`")),
    };
    let has_subs = !(entry.sub.is_empty()
        && entry.reads.is_empty()
        && entry.writes.is_empty()
        && entry.highs.is_empty());
    let mut node = Node {
        name: name.to_owned(),
        writes: match entry.effect.as_deref() {
            None | Some("read") => false,
            Some("write") => true,
            Some(other) => return Err(format!("effect `{other}`")),
        },
        risk: risk(entry.risk.as_deref())?,
        pure: entry.pure,
        unlisted_reads: match entry.unlisted.as_deref() {
            None => false,
            Some("read") => true,
            Some(other) => return Err(format!("unlisted `{other}`")),
        },
        several: systems.is_some_and(|systems| systems.trim() != "upstream"),
        loads: match entry.loads.as_deref() {
            None => None,
            Some("sandbox") => Some(Loads::Sandbox),
            Some("elsewhere") => Some(Loads::Elsewhere),
            Some("anywhere") => Some(Loads::Anywhere),
            Some("nowhere") => Some(Loads::Nowhere),
            Some(other) => return Err(format!("loads `{other}`")),
        },
        style,
        numeric: entry.numeric,
        short: HashMap::new(),
        long: BTreeMap::new(),
        words: HashMap::new(),
        operands: entry.operands.as_deref().map(Operands::parse).transpose()?,
        bare: match entry.bare.as_deref() {
            None if has_subs => Bare::Write,
            None | Some("read") => Bare::Read,
            Some("write") => Bare::Write,
            Some("stdin") => Bare::Stdin,
            Some("repl") => Bare::Repl,
            Some("pager") => Bare::Pager,
            Some("stream") => Bare::Stream,
            Some("tree") => Bare::Tree,
            Some("tree-or-stdin") => Bare::TreeOrStdin,
            Some(other) => return Err(format!("bare `{other}`")),
        },
        always: match entry.always.as_deref() {
            None | Some("stdin") => None,
            Some("stream") => Some(Category::UnboundedStream),
            Some("pager") => Some(Category::Pager),
            Some("repl") => Some(Category::InteractiveRepl),
            Some(other) => return Err(format!("always `{other}`")),
        },
        network: entry.network,
        sockets: sockets(entry.sockets.as_deref())?,
        sensitive: entry.sensitive,
        conditional: entry.conditional,
        inspect: entry.inspect.clone(),
        rewrite: entry.rewrite.clone().map(|r| RewriteRule {
            add: r.add,
            append: r.append,
            program: r.program,
            inner: r.inner,
        }),
        abbreviates: match entry.allow_sub.as_deref() {
            None | Some("exact") => false,
            Some("prefix") => true,
            Some(other) => return Err(format!("allow_sub `{other}`")),
        },
        subs: BTreeMap::new(),
        needs: flag_names(&entry.needs, style)?,
        permutes: entry.permutes,
        remote_shell: entry.remote_shell,
        remotes: entry.remotes,
        clashes: entry
            .clash
            .iter()
            .map(|list| flag_names(list, style))
            .collect::<Result<_, _>>()?,
        instead: flag_names(&entry.instead, style)?,
        modes: Vec::new(),
        secret_operands: entry
            .secret_operands
            .split_whitespace()
            .map(str::to_lowercase)
            .collect(),
        sends: entry.sends,
        ordered: entry.ordered,
        dashes: entry.dashes,
        filters: entry.always.as_deref() == Some("stdin"),
        hands_over: entry.hands_over,
        names_only: entry.names_only,
        cuts: entry.cuts,
        every: entry.every,
        selects: flag_names(&entry.selects, style)?,
        shows: entry.shows.clone(),
        any_text: any_text(entry.any_text.as_deref())?,
        separates: entry.separates.split_whitespace().map(str::to_owned).collect(),
        only: entry.only.split_whitespace().map(str::to_owned).collect(),
        secret_prefixes: entry.secret_prefixes,
        secret_with: flag_names(&entry.secret_with, style)?,
        listed: false,
    };
    for (flags, mode) in &entry.when {
        let merged = entry.in_mode(mode, flags);
        let node_in_mode =
            build(name, &merged, style, systems).map_err(|error| format!("when {flags}: {error}"))?;
        node.modes.push((flag_names(flags, style)?, node_in_mode));
    }
    if let Some(inspect) = &node.inspect
        && !crate::inspect::knows(inspect)
    {
        return Err(format!("no code inspects `{inspect}`"));
    }
    for (list, effect) in [
        (&entry.flags, FlagEffect::Harmless),
        (&entry.bound, FlagEffect::Bound),
        (&entry.net, FlagEffect::Net),
        (&entry.secret, FlagEffect::Secret),
        (&entry.follow, FlagEffect::Follow),
        (&entry.tty, FlagEffect::Tty),
        (&entry.write, FlagEffect::Write),
        (&entry.high, FlagEffect::High),
        (&entry.exec, FlagEffect::Exec),
    ] {
        for spec in list.split_whitespace() {
            let (flag_name, flag) = flag::parse(spec, effect, style == Style::Long)?;
            if effect == FlagEffect::Bound
                && let FlagValue::Required(kind) = &flag.value
                && !kind.can_end()
            {
                return Err(format!("`{spec}`: what value of it ends anything?"));
            }
            let twice = match flag_name {
                FlagName::Short(c) => node.short.insert(c, flag).is_some(),
                FlagName::Long(long) => node.long.insert(long, flag).is_some(),
                FlagName::Word(word) => node.words.insert(word, flag).is_some(),
            };
            if twice {
                return Err(format!("`{spec}` is listed twice"));
            }
        }
    }
    if node.hands_over.is_none() && runs_a_command(&node) {
        return Err(
            "it runs a command: `hands_over` must say whether outside of the sandbox around it".to_owned(),
        );
    }
    let simple = |effect: Option<&str>, risk: &str| Entry {
        effect: effect.map(str::to_owned),
        risk: Some(risk.to_owned()),
        operands: Some("text*".to_owned()),
        ..Entry::default()
    };
    let mut insert = |names: &str, sub: &Entry, listed: bool| -> Result<(), String> {
        for sub_name in names.split_whitespace() {
            let mut child =
                build(sub_name, sub, style, systems).map_err(|error| format!("{sub_name}: {error}"))?;
            child.listed = listed;
            if node.subs.insert(sub_name.to_owned(), child).is_some() {
                return Err(format!("sub-command `{sub_name}` is listed twice"));
            }
        }
        Ok(())
    };
    if entry
        .operands
        .as_deref()
        .is_some_and(|operands| operands.ends_with("tree*"))
        && !matches!(node.bare, Bare::Tree | Bare::TreeOrStdin)
    {
        return Err("`tree*` needs `bare` to say what is read without a folder".to_owned());
    }
    insert(&entry.reads, &simple(None, "medium"), true)?;
    insert(&entry.writes, &simple(Some("write"), "medium"), false)?;
    insert(&entry.highs, &simple(Some("write"), "high"), false)?;
    for (names, sub) in &entry.sub {
        insert(names, sub, false)?;
    }
    Ok(node)
}

/// Whether an operand or the value of a flag of this level is a command.
fn runs_a_command(node: &Node) -> bool {
    let mut flags = node
        .short
        .values()
        .chain(node.long.values())
        .chain(node.words.values());
    node.operands.as_ref().is_some_and(Operands::runs)
        || flags.any(|flag| {
            matches!(
                flag.value,
                FlagValue::Required(Kind::Shell | Kind::Cmd) | FlagValue::Optional(Kind::Shell | Kind::Cmd)
            )
        })
}

/// The kinds of sockets that an entry declares.
fn sockets(list: Option<&str>) -> Result<Needs, String> {
    let mut needs = Needs::NONE;
    let Some(list) = list else { return Ok(needs) };
    if list.trim().is_empty() {
        return Err("`sockets` is empty".to_owned());
    }
    for word in list.split_whitespace() {
        let kind = match word {
            "unix" => &mut needs.unix,
            "network" => &mut needs.network,
            "netlink" => &mut needs.netlink,
            "packet" => &mut needs.packet,
            other => return Err(format!("sockets `{other}`")),
        };
        if std::mem::replace(kind, true) {
            return Err(format!("sockets `{word}` is listed twice"));
        }
    }
    Ok(needs)
}

/// What the values of an entry may hold.
fn any_text(word: Option<&str>) -> Result<AnyText, String> {
    Ok(match word {
        None => AnyText::Words,
        Some("spaced") => AnyText::Spaced,
        Some("compiled") => AnyText::Compiled,
        Some("script") => AnyText::Script,
        Some(other) => return Err(format!("any_text `{other}`")),
    })
}

fn risk(word: Option<&str>) -> Result<Risk, String> {
    Ok(match word {
        Some("low") => Risk::LowWrite,
        None | Some("medium") => Risk::MediumWrite,
        Some("high") => Risk::HighWrite,
        Some(other) => return Err(format!("risk `{other}`")),
    })
}
