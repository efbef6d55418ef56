//! What a flag means: alone, in a cluster, abbreviated, with its value.

use std::borrow::Cow;

use super::parse::{NETWORK, Parse};
use super::values::host_of;
use crate::extent::{self, Unit};
use crate::secret;
use crate::table::{Flag, FlagEffect, FlagName, FlagValue, Kind, Style};
use crate::verdict::Risk;
use crate::word::{Arg, Value};

pub(super) enum Taken {
    Args(usize),
    EndOfFlags,
    Nothing,
}

/// What apt and others take for the value of a flag before it.
pub(super) fn is_switch(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "yes" | "no" | "true" | "false" | "with" | "without" | "on" | "off" | "enable" | "disable"
    )
}

impl<'p, 'a> Parse<'p, 'a> {
    /// Takes the flag at a position, with its value.
    pub(super) fn flag(&mut self, at: usize) -> Taken {
        let args = self.args;
        let arg = &args[at];
        let node = self.node();
        let known = match &arg.value {
            Value::Known(text) => text.as_ref(),
            Value::Unknown(unknown) => {
                // `--since="$x"`: the flag is known, its value is not.
                let Some((name, _)) = unknown
                    .prefix
                    .strip_prefix("--")
                    .and_then(|rest| rest.split_once('='))
                else {
                    return Taken::Nothing;
                };
                if unknown.splits {
                    return Taken::Nothing;
                }
                let value = Arg {
                    raw: Cow::Borrowed(""),
                    value: Value::Unknown(crate::word::Unknown {
                        prefix: String::new(),
                        ..unknown.clone()
                    }),
                };
                self.kept.push(Cow::Borrowed(&arg.raw));
                self.long(&format!("--{name}"), name, Some(value), None, at);
                return Taken::Args(1);
            }
        };
        if known == "--" {
            return Taken::EndOfFlags;
        }
        if known.len() < 2 || !known.starts_with('-') {
            return Taken::Nothing;
        }
        if self.chain.iter().any(|n| n.numeric) && known[1..].bytes().all(|b| b.is_ascii_digit()) {
            self.seen.bound = true;
            self.seen.far |= !extent::ends_after_lines(&known[1..]);
            self.kept.push(Cow::Borrowed(&arg.raw));
            return Taken::Args(1);
        }
        let double = known.strip_prefix("--");
        let word = double.or_else(|| {
            if node.style == Style::Long {
                known.strip_prefix('-')
            } else {
                None
            }
        });
        if let Some(word) = word {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let dashed = &known[..known.len() - word.len() + name.len()];
            self.kept.push(Cow::Borrowed(&arg.raw));
            let attached = attached.map(|value| Arg {
                raw: Cow::Owned(value.to_owned()),
                value: Value::Known(Cow::Owned(value.to_owned())),
            });
            return Taken::Args(self.long(dashed, name, attached, args.get(at + 1), at));
        }
        let (name, attached) = match known[1..].split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&known[1..], None),
        };
        if let Some(flag) = self.chain.iter().rev().find_map(|n| n.words.get(name)) {
            self.kept.push(Cow::Borrowed(&arg.raw));
            let attached = attached.map(|value| Arg {
                raw: Cow::Owned(value.to_owned()),
                value: Value::Known(Cow::Owned(value.to_owned())),
            });
            return Taken::Args(self.apply(
                FlagName::Word(name.to_owned()),
                flag,
                &known[..=name.len()],
                attached,
                args.get(at + 1),
            ));
        }
        self.cluster(known, at)
    }

    /// `-rnk2`: letters, of which the first one that takes a value takes the rest.
    pub(super) fn cluster(&mut self, token: &str, at: usize) -> Taken {
        let args = self.args;
        let mut kept = String::from("-");
        let letters: Vec<(usize, char)> = token.char_indices().skip(1).collect();
        for (index, letter) in letters {
            let flag = self.chain.iter().rev().find_map(|n| n.short.get(&letter));
            let Some(flag) = flag else {
                self.opens_device(&Kind::Text, &args[at], token);
                let rest = &token[index + letter.len_utf8()..];
                let has_value = !rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
                if !self.lenient(has_value) {
                    let node = self.node();
                    let called = self.called();
                    self.report.write(
                        node.risk,
                        &format!("{called} -{letter}"),
                        "is a flag that is not known to read only",
                    );
                }
                kept.push(letter);
                continue;
            };
            let flag: &'static Flag = flag;
            if matches!(flag.effect, FlagEffect::Follow | FlagEffect::Tty) && flag.value == FlagValue::None {
                self.apply(FlagName::Short(letter), flag, &format!("-{letter}"), None, None);
                continue;
            }
            kept.push(letter);
            let rest = &token[index + letter.len_utf8()..];
            match flag.value {
                FlagValue::None => {
                    // `-o=json` where `-o` takes nothing: the value belongs to nobody, and says nothing.
                    self.apply(FlagName::Short(letter), flag, &format!("-{letter}"), None, None);
                }
                FlagValue::Required(_) | FlagValue::Optional(_) => {
                    kept.push_str(rest);
                    self.keep_cluster(kept);
                    let attached = (!rest.is_empty()).then(|| {
                        let value = rest.strip_prefix('=').unwrap_or(rest).to_owned();
                        Arg {
                            raw: Cow::Owned(value.clone()),
                            value: Value::Known(Cow::Owned(value)),
                        }
                    });
                    let count = self.apply(
                        FlagName::Short(letter),
                        flag,
                        &format!("-{letter}"),
                        attached,
                        args.get(at + 1),
                    );
                    return Taken::Args(count);
                }
            }
        }
        self.keep_cluster(kept);
        Taken::Args(1)
    }

    pub(super) fn keep_cluster(&mut self, kept: String) {
        if kept.len() > 1 {
            self.kept.push(Cow::Owned(kept));
        }
    }

    pub(super) fn long(
        &mut self,
        dashed: &str,
        name: &str,
        attached: Option<Arg<'_>>,
        next: Option<&'p Arg<'a>>,
        at: usize,
    ) -> usize {
        let _ = at;
        if let Some(flag) = self.chain.iter().rev().find_map(|n| n.long.get(name)) {
            return self.apply(FlagName::Long(name.to_owned()), flag, dashed, attached, next);
        }
        // Output of FreeBSD's libxo, for any program that uses it: an encoder is a library, by path.
        if name.starts_with("libxo") {
            let node = self.node();
            self.report
                .write(node.risk, dashed, "can load an output encoder, which is code");
            return 1;
        }
        if matches!(name, "help" | "version") {
            self.seen.help = true;
            self.seen.early_help |= self.seen.operands == 0;
            return 1;
        }
        let node = self.node();
        if matches!(node.style, Style::Gnu | Style::Posix) && !name.is_empty() {
            let candidates: Vec<FlagName> = self
                .chain
                .iter()
                .flat_map(|n| {
                    n.long
                        .range(name.to_owned()..)
                        .take_while(|(full, _)| full.starts_with(name))
                })
                .map(|(full, _)| FlagName::Long(full.clone()))
                .collect();
            self.seen.perhaps.extend(candidates);
            let mut worst: Option<&'static Flag> = None;
            let mut same_shape = true;
            for candidate in self.chain.iter().flat_map(|n| {
                n.long
                    .range(name.to_owned()..)
                    .take_while(|(full, _)| full.starts_with(name))
                    .map(|(_, flag)| flag)
            }) {
                match worst {
                    None => worst = Some(candidate),
                    Some(known) => {
                        same_shape &=
                            std::mem::discriminant(&known.value) == std::mem::discriminant(&candidate.value);
                        if candidate.effect > known.effect {
                            worst = Some(candidate);
                        }
                    }
                }
            }
            if let Some(flag) = worst {
                if !same_shape && attached.is_none() && !node.pure {
                    self.report.write(
                        node.risk,
                        dashed,
                        "is an abbreviation that could mean several flags",
                    );
                    return 1;
                }
                // Only a flag that is written out selects a mode.
                return self.apply(FlagName::Long(format!("{name}…")), flag, dashed, attached, next);
            }
        }
        // A flag that is not listed may still name a file or a host.
        if let Some(value) = &attached {
            self.opens_device(&Kind::Text, value, dashed);
            if value.text().is_some() && secret::nature(value).secret {
                self.report.secret(dashed, "holds secrets");
            }
            self.address(value, dashed, true);
        }
        if !self.lenient(attached.is_some()) {
            let called = self.called();
            self.report.write(
                node.risk,
                &format!("{called} {dashed}"),
                "is a flag that is not known to read only",
            );
        }
        1
    }

    /// What giving this flag means; returns how many arguments it took.
    pub(super) fn apply(
        &mut self,
        name: FlagName,
        flag: &'static Flag,
        dashed: &str,
        attached: Option<Arg<'_>>,
        next: Option<&'p Arg<'a>>,
    ) -> usize {
        let called = self.called();
        let node = self.node();
        let part = || format!("{called} {dashed}");
        if matches!(flag.value, FlagValue::None) && attached.is_some() && !node.pure {
            self.report
                .write(node.risk, &part(), "is not known to take a value for reading");
        }
        let (kind, value, count) = match (&flag.value, attached) {
            (FlagValue::None, _) | (FlagValue::Optional(_), None) => (None, None, 1),
            (FlagValue::Required(kind) | FlagValue::Optional(kind), Some(value)) => {
                (Some(kind), Some(Cow::Owned(value)), 1)
            }
            (FlagValue::Required(kind), None) => match next {
                Some(next) => {
                    self.kept.push(Cow::Borrowed(&next.raw));
                    if !node.pure && next.text().is_some_and(|text| self.is_harmful_flag(text)) {
                        // Should the table be wrong about a value, the worse reading counts.
                        self.report.write(
                            node.risk,
                            &next.raw,
                            "stands where a value is expected, and is a flag that writes",
                        );
                    }
                    if next.may_hide_others() && !node.pure {
                        self.report.write(
                            Risk::HighWrite,
                            &next.raw,
                            format!("could turn into a flag of {}", node.name),
                        );
                    }
                    (Some(kind), Some(Cow::Borrowed(next)), 2)
                }
                None => (Some(kind), None, 1),
            },
        };
        self.bare_flag = value.is_none();
        let text: Option<&str> = value.as_deref().and_then(Arg::text);
        let off = text
            .is_some_and(|text| matches!(text, "false" | "False" | "FALSE" | "0" | "f" | "F" | "no" | "off"));
        if !off {
            if self.seen.operands == 0 {
                self.seen.early.push((name.clone(), self.chain.len()));
            }
            self.seen.flags.push(name);
        }
        match flag.effect {
            FlagEffect::Harmless => {}
            FlagEffect::Bound => {
                self.seen.cut |= node.cuts && text.is_some_and(extent::ends_after_bytes);
                // `journalctl -n all`: the value is optional, and taken from the next word where it could be one.
                let behind = next
                    .and_then(Arg::text)
                    .filter(|text| *text == "all" || text.starts_with(|c: char| c.is_ascii_digit()));
                self.seen.bound |= match &flag.value {
                    // Only these values end it: `--watch=false`.
                    FlagValue::Required(Kind::OneOf(words)) | FlagValue::Optional(Kind::OneOf(words)) => {
                        text.is_some_and(|text| Kind::allows(words, text))
                    }
                    FlagValue::Required(kind) | FlagValue::Optional(kind) if value.is_some() => {
                        self.ends(kind, text) && !off
                    }
                    FlagValue::Optional(kind @ Kind::Lines) if behind.is_some() => self.ends(kind, behind),
                    _ => !off,
                };
            }
            FlagEffect::Net => {
                self.report.needs(NETWORK);
                match kind {
                    Some(Kind::Url | Kind::Host | Kind::Manifest) => {}
                    // The name of a connection says nothing about the host.
                    Some(Kind::Name) => self.report.reaches(None, &part()),
                    _ => self.report.reaches(text.map(host_of), &part()),
                }
            }
            FlagEffect::Secret => self.report.secret(&part(), "prints secrets"),
            FlagEffect::Follow => {
                // `--watch=false` does not follow.
                if !off {
                    self.seen.follow.get_or_insert_with(part);
                    // `redis-cli -r 3`: it repeats, so often.
                    if let (Some(Kind::Count), Some(value)) = (kind, value.as_deref()) {
                        self.counts(value);
                    }
                    if matches!(flag.value, FlagValue::None | FlagValue::Optional(_)) {
                        self.kept
                            .pop_if(|kept| kept.starts_with(dashed) && dashed.starts_with("--"));
                    }
                }
            }
            FlagEffect::Tty => {
                if !off {
                    self.seen.tty.get_or_insert_with(part);
                    self.kept
                        .pop_if(|kept| kept.starts_with(dashed) && dashed.starts_with("--"));
                }
            }
            FlagEffect::Write => self
                .report
                .write(node.risk, &part(), "changes or writes something"),
            FlagEffect::High => self.report.write(
                Risk::HighWrite,
                &part(),
                "changes something that is hard to restore",
            ),
            FlagEffect::Exec => self
                .report
                .write(Risk::HighWrite, &part(), "runs a program or loads code"),
        }
        // The second of two values.
        let count = match kind {
            Some(Kind::Named | Kind::NamedFile) if count == 2 => {
                let at = next.and_then(|next| self.args.iter().position(|arg| std::ptr::eq(arg, next)));
                if let Some(second) = at.and_then(|at| self.args.get(at + 1)) {
                    self.kept.push(Cow::Borrowed(&second.raw));
                    if matches!(kind, Some(Kind::NamedFile)) {
                        self.value(&Kind::File, second, &second.raw);
                    }
                    if second.may_hide_others() {
                        self.report.write(
                            Risk::HighWrite,
                            &second.raw,
                            format!("could turn into a flag of {}", node.name),
                        );
                    }
                }
                3
            }
            _ => count,
        };
        if let (Some(kind), Some(value)) = (kind, value) {
            let part = format!("{dashed} {}", value.raw);
            if !matches!(kind, Kind::Host | Kind::Url | Kind::Manifest) {
                self.address(&value, &part, true);
            }
            self.opens_device(kind, &value, &part);
            self.value(kind, &value, &part);
        }
        count
    }

    /// Whether a value of a flag that bounds ends anything. One that ends it too late takes back what others say.
    fn ends(&mut self, kind: &Kind, text: Option<&str>) -> bool {
        let limit = extent::time_limit;
        let seconds = match (kind, text) {
            (Kind::Lines, Some(text)) => extent::ends_after_lines(text).then_some(0.0),
            (Kind::Bytes, Some(text)) => extent::ends_after_bytes(text).then_some(0.0),
            (Kind::Until, Some(text)) => extent::comes_soon(text, extent::PASSED).then_some(0.0),
            (Kind::Limit(unit), Some(text)) => limit(text, *unit),
            (Kind::Autostop, Some(text)) => match text.split_once(':') {
                Some(("duration", seconds)) => limit(seconds, Unit::Seconds),
                Some(("packets", packets)) => extent::ends_after_lines(packets).then_some(0.0),
                _ => None,
            },
            (Kind::Count, Some(text)) => extent::rounds(text).map(|rounds| {
                self.seen.rounds = Some(self.seen.rounds.map_or(rounds, |before| before.max(rounds)));
                0.0
            }),
            (
                Kind::Lines | Kind::Bytes | Kind::Until | Kind::Limit(_) | Kind::Autostop | Kind::Count,
                None,
            ) => None,
            _ => Some(0.0),
        };
        self.seen.far |= seconds.is_none();
        self.seen.seconds = self.seen.seconds.max(seconds.unwrap_or(0.0));
        seconds.is_some()
    }

    /// Whether a word, taken as a flag, would write or run something.
    fn is_harmful_flag(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            return false;
        };
        let name = rest.trim_start_matches('-').split('=').next().unwrap_or(rest);
        let letter = rest.chars().next().filter(|letter| *letter != '-');
        let harmful = |flag: &Flag| flag.effect >= FlagEffect::Write;
        self.chain.iter().any(|node| {
            node.long.get(name).is_some_and(harmful)
                || node.words.get(name).is_some_and(harmful)
                || letter
                    .and_then(|letter| node.short.get(&letter))
                    .is_some_and(harmful)
        })
    }
}
