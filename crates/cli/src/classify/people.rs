//! A verdict as a person reads it: what would happen, the command with the part that decided marked, why, and what
//! to run instead.

use super::Fate;
use crate::terminal::{Paint, Tone, visible};
use interlock_shell::{Category, Intent, Reason, Risk, Verdict};

/// The whole text, with a line break at the end.
pub(super) fn render(command: &str, verdict: &Verdict, paint: Paint) -> String {
    let mut lines = vec![headline(verdict, paint), String::new()];
    lines.extend(
        marked(command, verdict, paint)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    lines.push(String::new());
    lines.extend(facts(verdict, paint));

    let why: Vec<&Reason> = verdict.reasons.iter().collect();
    if !why.is_empty() {
        lines.push(String::new());
        lines.push(paint.paint(Tone::Strong, "why"));
        for Reason { part, why } in why {
            if part.is_empty() || part == command {
                lines.push(format!("  {}", visible(why)));
            } else {
                lines.push(format!("  {}: {}", visible(part), visible(why)));
            }
        }
    }
    if let Some(rewrite) = &verdict.rewrite {
        lines.push(String::new());
        lines.push(paint.paint(Tone::Strong, "instead"));
        lines.push(format!("  {}", paint.paint(Tone::Good, &visible(rewrite))));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn headline(verdict: &Verdict, paint: Paint) -> String {
    let (tone, word) = match Fate::of(verdict) {
        Fate::Runs => (Tone::Good, "allowed"),
        Fate::RunsInSandbox => (Tone::Careful, "allowed only inside a sandbox"),
        Fate::Waits => (Tone::Careful, "held"),
        Fate::Refused => (Tone::Bad, "refused"),
    };
    let because = match (Fate::of(verdict), verdict.intent) {
        (Fate::Refused, Intent::WriteOrUnknown) => "it writes, or cannot be shown not to",
        (Fate::Refused, Intent::ReadOnlyCertain | Intent::ReadOnlyConditional) => {
            "it reads, but may never end"
        }
        (Fate::Waits, _) if verdict.sensitive && verdict.network => {
            "it prints secrets and reaches other hosts"
        }
        (Fate::Waits, _) if verdict.sensitive => "it prints secrets",
        (Fate::Waits, _) => "it reaches other hosts",
        (Fate::RunsInSandbox, _) => "it reads, and runs code that the data it reads can name",
        (Fate::Runs, _) => "it only reads, and it is bounded",
    };
    format!("{}: {because}", paint.paint(tone, word))
}

/// The command and, where the part that decided can be found in it, a line that underlines that part.
fn marked(command: &str, verdict: &Verdict, paint: Paint) -> Vec<String> {
    let shown = visible(command);
    let part = verdict
        .reasons
        .first()
        .map(|reason| visible(&reason.part))
        .unwrap_or_default();
    // Columns can be counted where every character takes one.
    let at = if part.is_empty() || part == shown || !shown.is_ascii() {
        None
    } else {
        shown.find(&part)
    };
    match at {
        Some(at) => {
            let tone = if Fate::of(verdict) == Fate::Runs {
                Tone::Quiet
            } else {
                Tone::Bad
            };
            let line = format!("{}{}", " ".repeat(at), paint.paint(tone, &"^".repeat(part.len())));
            vec![shown, line]
        }
        None => vec![shown],
    }
}

fn facts(verdict: &Verdict, paint: Paint) -> Vec<String> {
    let intent = match verdict.intent {
        Intent::ReadOnlyCertain => "reads, whatever its arguments hold",
        Intent::ReadOnlyConditional => "reads, as its arguments were inspected",
        Intent::WriteOrUnknown => "writes, or is not understood",
    };
    let risk = match verdict.risk {
        Risk::ReadOnly => "changes nothing",
        Risk::LowWrite => "changes little",
        Risk::MediumWrite => "changes files or state",
        Risk::HighWrite => "destroys, restarts, reconfigures or escalates",
    };
    let ends = match (verdict.bounded, verdict.category) {
        (_, Some(Category::TtyFlag)) => "asks for a terminal",
        (_, Some(Category::Pager)) => "waits for keys",
        (_, Some(Category::UnboundedStream)) => "goes on without an end",
        (_, Some(Category::InteractiveRepl)) => "waits for commands",
        (true, None) => "by itself or by a bound",
        (false, None) => "not known",
    };
    let yes_or_no = |flag: bool| if flag { "yes" } else { "no" };
    let network = match (verdict.network, verdict.hosts.as_slice()) {
        (true, []) => "hosts not known".to_owned(),
        (true, hosts) => hosts
            .iter()
            .map(|host| visible(host))
            .collect::<Vec<_>>()
            .join(", "),
        (false, _) => String::new(),
    };
    let bounded = verdict
        .category
        .map_or_else(|| yes_or_no(verdict.bounded), Category::as_str);
    let sandbox = match (verdict.needs_sandbox, verdict.hands_over) {
        (true, _) => Some(("sandbox", "required", "a read only inside a sandbox")),
        (false, true) => Some((
            "sandbox",
            "none",
            "hands a command to where the sandbox does not hold",
        )),
        (false, false) => None,
    };
    let rows: [(&str, &str, &str); 5] = [
        ("intent", verdict.intent.as_str(), intent),
        ("risk", verdict.risk.as_str(), risk),
        (
            if verdict.category.is_some() {
                "unbounded"
            } else {
                "bounded"
            },
            bounded,
            ends,
        ),
        ("secrets", yes_or_no(verdict.sensitive), ""),
        ("network", yes_or_no(verdict.network), &network),
    ];
    rows.iter()
        .chain(&sandbox)
        .map(|(name, word, meaning)| {
            let row = format!("  {name:<9}  {word:<21}  {}", paint.paint(Tone::Quiet, meaning));
            row.trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict() -> Verdict {
        Verdict {
            intent: Intent::ReadOnlyCertain,
            risk: Risk::ReadOnly,
            bounded: true,
            category: None,
            sensitive: false,
            network: false,
            needs_sandbox: false,
            hands_over: false,
            hosts: Vec::new(),
            needs: interlock_shell::Needs::NONE,
            shared_needs: interlock_shell::Needs::NONE,
            reasons: vec![Reason {
                part: "ls /".into(),
                why: "lists a directory".into(),
            }],
            rewrite: None,
        }
    }

    fn follow() -> Verdict {
        Verdict {
            bounded: false,
            category: Some(Category::UnboundedStream),
            reasons: vec![Reason {
                part: "-f".into(),
                why: "follows without an end".into(),
            }],
            rewrite: Some("tail -n 200 x".into()),
            ..verdict()
        }
    }

    fn write() -> Verdict {
        Verdict {
            intent: Intent::WriteOrUnknown,
            risk: Risk::HighWrite,
            reasons: vec![
                Reason {
                    part: "zfs destroy tank".into(),
                    why: "destroys a dataset".into(),
                },
                Reason {
                    part: String::new(),
                    why: "one part that is not a read makes the whole a write".into(),
                },
            ],
            ..verdict()
        }
    }

    #[test]
    fn the_text_says_what_would_happen_and_why() {
        let texts = [
            render("ls /", &verdict(), Paint::Off),
            render("tail -f x", &follow(), Paint::Off),
            render("ls / & zfs destroy tank", &write(), Paint::Off),
            render(
                "curl -s https://example.net",
                &Verdict {
                    network: true,
                    hosts: vec!["example.net".into()],
                    ..verdict()
                },
                Paint::Off,
            ),
            render(
                "cat /etc/shadow",
                &Verdict {
                    sensitive: true,
                    ..verdict()
                },
                Paint::Off,
            ),
            render("\u{1b}[2Jls /\n", &verdict(), Paint::Off),
            render(
                "git status",
                &Verdict {
                    needs_sandbox: true,
                    ..verdict()
                },
                Paint::Off,
            ),
            render(
                "docker exec web uptime",
                &Verdict {
                    hands_over: true,
                    ..verdict()
                },
                Paint::Off,
            ),
        ];
        insta::assert_snapshot!(texts.join("-----\n"));
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        for (command, verdict) in [
            ("ls /", verdict()),
            ("tail -f x", follow()),
            ("ls / & zfs destroy tank", write()),
        ] {
            let coloured = render(command, &verdict, Paint::On);
            assert!(coloured.contains("\u{1b}["));
            let mut plain = String::new();
            let mut rest = coloured.as_str();
            while let Some((before, after)) = rest.split_once('\u{1b}') {
                plain.push_str(before);
                rest = after.split_once('m').unwrap().1;
            }
            plain.push_str(rest);
            let trimmed: Vec<_> = plain.lines().map(str::trim_end).collect();
            let off = render(command, &verdict, Paint::Off);
            assert_eq!(trimmed, off.lines().collect::<Vec<_>>());
        }
    }
}
