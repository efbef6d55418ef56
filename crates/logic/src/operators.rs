//! The operators of ISO Prolog: one table for the parser and the writer.

/// How an infix operator takes its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Infix {
    /// The priority of the whole.
    pub priority: u16,
    /// The highest priority of the left operand.
    pub left: u16,
    /// The highest priority of the right operand.
    pub right: u16,
}

/// How a prefix operator takes its operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefix {
    /// The priority of the whole.
    pub priority: u16,
    /// The highest priority of the operand.
    pub operand: u16,
}

/// The priority of an argument and of a list's element.
pub(crate) const ARGUMENT: u16 = 999;
/// The highest priority.
pub(crate) const HIGHEST: u16 = 1200;

pub(crate) fn infix(name: &str) -> Option<Infix> {
    let xfx = |priority| Infix {
        priority,
        left: priority - 1,
        right: priority - 1,
    };
    let xfy = |priority| Infix {
        priority,
        left: priority - 1,
        right: priority,
    };
    let yfx = |priority| Infix {
        priority,
        left: priority,
        right: priority - 1,
    };
    Some(match name {
        ":-" | "-->" => xfx(1200),
        ";" | "|" => xfy(1100),
        "->" | "*->" => xfy(1050),
        "," => xfy(1000),
        "=" | "\\=" | "==" | "\\==" | "@<" | "@>" | "@=<" | "@>=" | "is" | "=:=" | "=\\=" | "<" | ">"
        | "=<" | ">=" | "=.." => xfx(700),
        ":" => xfy(600),
        "+" | "-" | "/\\" | "\\/" | "xor" => yfx(500),
        "*" | "/" | "//" | "mod" | "rem" | "div" | "<<" | ">>" => yfx(400),
        "**" => xfx(200),
        "^" => xfy(200),
        _ => return None,
    })
}

pub(crate) fn prefix(name: &str) -> Option<Prefix> {
    Some(match name {
        ":-" | "?-" => Prefix {
            priority: 1200,
            operand: 1199,
        },
        "\\+" => Prefix {
            priority: 900,
            operand: 900,
        },
        "-" | "+" | "\\" => Prefix {
            priority: 200,
            operand: 200,
        },
        _ => return None,
    })
}

/// Whether an atom has to stand in parentheses as an operand.
pub(crate) fn is_operator(name: &str) -> bool {
    infix(name).is_some() || prefix(name).is_some()
}
