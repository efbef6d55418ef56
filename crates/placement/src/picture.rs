//! Hosts before and after as bars, moves as arrows, for a terminal.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::answer::Answer;
use crate::input::{Cluster, HostState, Resource};
use crate::plan::{Action, PlanStep};
use crate::problem::{offered, running_on};

/// Which characters the picture may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Charset {
    /// Blocks and arrows.
    #[default]
    Unicode,
    /// Only ASCII.
    Ascii,
}

/// The narrowest picture. A smaller width is treated as this one.
pub const MIN_WIDTH: usize = 40;

struct Glyphs {
    full: char,
    empty: char,
    over: char,
    arrow: &'static str,
    cut: char,
}

impl Charset {
    fn glyphs(self) -> Glyphs {
        match self {
            Charset::Unicode => Glyphs {
                full: '█',
                empty: '░',
                over: '▓',
                arrow: "→",
                cut: '…',
            },
            Charset::Ascii => Glyphs {
                full: '#',
                empty: '.',
                over: '!',
                arrow: "->",
                cut: '~',
            },
        }
    }
}

/// Draws an answer. No line is wider than `width`.
pub fn picture(cluster: &Cluster, answer: &Answer, width: usize, charset: Charset) -> String {
    let glyphs = charset.glyphs();
    let width = width.max(MIN_WIDTH);
    let spec = cluster.spec();
    let mut lines: Vec<String> = Vec::new();
    let name_width = spec
        .hosts
        .iter()
        .map(|h| h.name.width())
        .max()
        .unwrap_or(4)
        .clamp(4, width / 4);
    // A line is: name, space, bar, space, percent, two spaces, bar, space, percent.
    let bar = ((width - name_width - 3 - 2 * 5 - 1) / 2).min(30);
    let column = bar + 5;
    lines.push(format!("{:name_width$} {:column$}  {}", "RAM", "before", "after"));
    for (index, host) in spec.hosts.iter().enumerate() {
        let cap = u128::from(offered(host)[0].unsigned_abs());
        let ram = |keep: &dyn Fn(&crate::input::GuestSpec) -> bool| -> u128 {
            spec.vms
                .iter()
                .filter(|g| keep(g))
                .map(|g| u128::from(g.ram_mib))
                .sum()
        };
        let before = ram(&|g| running_on(cluster, g) == Some(index));
        let after = ram(&|g| answer.assignment.get(&g.vmid) == Some(&host.name));
        let name = fit(&host.name, name_width, &glyphs);
        let before = match host.state {
            HostState::Down => format!("{:column$}", "down"),
            HostState::Up | HostState::Maintenance => meter(before, cap, bar, &glyphs),
        };
        let after = match (host.state, answer.assignment.is_empty()) {
            (HostState::Down, _) => "down".to_owned(),
            (HostState::Maintenance, false) if after == 0 => "empty, in maintenance".to_owned(),
            (_, true) => String::new(),
            (_, false) => meter(after, cap, bar, &glyphs),
        };
        let pad = name_width - name.width();
        lines.push(format!("{name}{:pad$} {before}  {after}", ""));
    }
    if let Some(plan) = &answer.plan {
        for (number, wave) in plan.waves.iter().enumerate() {
            let parallel = if wave.len() > 1 { ", in parallel" } else { "" };
            lines.push(String::new());
            lines.push(format!("wave {}{parallel}", number + 1));
            lines.extend(wave.iter().map(|step| step_line(cluster, step, &glyphs)));
        }
        if plan.waves.is_empty() {
            lines.push(String::new());
            lines.push("Nothing has to move.".to_owned());
        }
    }
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{}", fit(line.trim_end(), width, &glyphs));
    }
    text
}

fn step_line(cluster: &Cluster, step: &PlanStep, glyphs: &Glyphs) -> String {
    let guest = cluster
        .guest_index(step.vmid)
        .map(|index| &cluster.spec().vms[index]);
    let name = guest
        .and_then(|g| g.name.as_deref())
        .map(|name| format!(" {name}"))
        .unwrap_or_default();
    let ram = guest
        .map(|g| format!(" ({})", Resource::Ram.amount(g.ram_mib)))
        .unwrap_or_default();
    let route = match (&step.from, step.action) {
        (Some(from), Action::Migrate) => format!("{from} {} {}", glyphs.arrow, step.target),
        _ => format!("start {} {}", glyphs.arrow, step.target),
    };
    let stopover = if step.stopover { ", stopover" } else { "" };
    format!("  {}{name}{ram}  {route}{stopover}", step.vmid)
}

/// A bar and a percentage, `bar + 5` columns wide.
fn meter(used: u128, cap: u128, bar: usize, glyphs: &Glyphs) -> String {
    let percent = if cap == 0 { 0 } else { (used * 100).div_ceil(cap) };
    let filled = usize::try_from((percent * bar as u128).div_ceil(100))
        .unwrap_or(bar)
        .min(bar);
    let glyph = if percent > 100 { glyphs.over } else { glyphs.full };
    let mut text: String = std::iter::repeat_n(glyph, filled).collect();
    text.extend(std::iter::repeat_n(glyphs.empty, bar - filled));
    let _ = write!(text, " {:>4}", format!("{}%", percent.min(999)));
    text
}

/// The text, cut to a number of columns.
fn fit(text: &str, width: usize, glyphs: &Glyphs) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        out.push(c);
        used += columns;
    }
    out.push(glyphs.cut);
    out
}
