//! Terms to text: quoted where needed, with operators, so that the parser reads the same term back.

use std::fmt::Write as _;

use crate::operators::{ARGUMENT, infix, is_operator, prefix};
use crate::term::Term;

/// Writes terms with the names of their variables.
pub(crate) struct Writer<'n> {
    names: &'n [Option<String>],
    out: String,
}

/// The text of a term, with the names of its variables. A variable beyond the names is written as `_` and its number.
pub fn write_term(term: &Term, names: &[Option<String>]) -> String {
    let mut writer = Writer {
        names,
        out: String::new(),
    };
    writer.term(term, 1200);
    writer.out
}

/// The text of an atom, in quotes where Prolog needs them.
pub fn write_atom(name: &str) -> String {
    if is_plain(name) {
        return name.to_owned();
    }
    let mut out = String::with_capacity(name.len() + 2);
    out.push('\'');
    for c in name.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\x{:x}\\", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Characters that a reader does not see, or that change the order of what they see.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether an atom needs no quotes. ASCII only: letters that look alike are then seen to be quoted.
fn is_plain(name: &str) -> bool {
    if matches!(name, "[]" | "{}" | "!" | ";") {
        return true;
    }
    let mut characters = name.chars();
    match characters.next() {
        Some('a'..='z') => characters.all(|c| c == '_' || c.is_ascii_alphanumeric()),
        Some(_) => {
            // A lone `.` ends a clause, and `/*` opens a comment.
            name != "." && !name.starts_with("/*") && name.chars().all(|c| "+-*/\\^<>=~:.?@#&$".contains(c))
        }
        None => false,
    }
}

impl Writer<'_> {
    fn term(&mut self, term: &Term, highest: u16) {
        match term {
            Term::Var(number) => self.variable(*number),
            Term::Int(value) => {
                let _ = write!(self.out, "{value}");
            }
            Term::Float(value) => self.out.push_str(&float(*value)),
            Term::Atom(name) => {
                if is_operator(name) {
                    let _ = write!(self.out, "({})", write_atom(name));
                } else {
                    self.out.push_str(&write_atom(name));
                }
            }
            Term::List(items, tail) => {
                self.out.push('[');
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        self.out.push_str(", ");
                    }
                    self.term(item, ARGUMENT);
                }
                if let Some(tail) = tail {
                    self.out.push_str(" | ");
                    self.term(tail, ARGUMENT);
                }
                self.out.push(']');
            }
            Term::Compound(name, arguments) => self.compound(name, arguments, highest),
        }
    }

    fn compound(&mut self, name: &str, arguments: &[Term], highest: u16) {
        if let ([left, right], Some(operator)) = (arguments, infix(name).filter(|_| name != "|")) {
            let open = operator.priority > highest;
            if open {
                self.out.push('(');
            }
            self.term(left, operator.left);
            match name {
                "," => self.out.push_str(", "),
                ":" => {
                    // Beside a symbol the colon would become a part of it.
                    let mut inner = Writer {
                        names: self.names,
                        out: String::new(),
                    };
                    inner.term(right, operator.right);
                    let plain =
                        |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_()'".contains(c));
                    if plain(self.out.chars().last()) && plain(inner.out.chars().next()) {
                        self.out.push(':');
                    } else {
                        self.out.push_str(" : ");
                    }
                    self.out.push_str(&inner.out);
                    if open {
                        self.out.push(')');
                    }
                    return;
                }
                _ => {
                    let _ = write!(self.out, " {} ", write_atom(name));
                }
            }
            self.term(right, operator.right);
            if open {
                self.out.push(')');
            }
            return;
        }
        // A minus before a number would be read as part of it; other operands follow after a space.
        if let ([argument], Some(operator)) = (arguments, prefix(name))
            && !matches!(argument, Term::Int(_) | Term::Float(_))
        {
            let open = operator.priority > highest;
            if open {
                self.out.push('(');
            }
            let _ = write!(self.out, "{} ", write_atom(name));
            self.term(argument, operator.operand);
            if open {
                self.out.push(')');
            }
            return;
        }
        let _ = write!(self.out, "{}(", write_atom(name));
        for (number, argument) in arguments.iter().enumerate() {
            if number > 0 {
                self.out.push_str(", ");
            }
            self.term(argument, ARGUMENT);
        }
        self.out.push(')');
    }

    fn variable(&mut self, number: u32) {
        let name = usize::try_from(number)
            .ok()
            .and_then(|number| self.names.get(number));
        match name {
            Some(Some(name)) => self.out.push_str(name),
            // Written `_`, so it occurs once.
            Some(None) => self.out.push('_'),
            None => {
                let _ = write!(self.out, "_{}", number + 1);
            }
        }
    }
}

/// The shortest text that gives the same number, always with a point.
fn float(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        // Prolog wants digits after a point before the exponent.
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}
