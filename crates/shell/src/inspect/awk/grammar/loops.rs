//! Which loops are known to end: those that count a variable of their own, one way, up or down to a limit that stands still.

use std::ops::Range;

use super::super::lex::Token;

/// A loop that counts, by where its parts stand among the tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct For {
    pub(super) start: Range<usize>,
    pub(super) condition: Range<usize>,
    pub(super) step: Range<usize>,
    pub(super) body: Range<usize>,
}

/// The most digits of a number that a loop may count to.
const MOST_DIGITS: usize = 7;

const ASSIGNS: &[&str] = &["=", "+=", "-=", "*=", "/=", "%=", "^=", "++", "--"];

/// Whether every loop of a program is known to end.
pub(super) fn all_end(loops: &[For], program: &[Token]) -> bool {
    loops.iter().all(|each| ends(each, program).is_some())
}

/// `Some` if it ends.
fn ends(each: &For, program: &[Token]) -> Option<()> {
    let part = |range: &Range<usize>| program.get(range.clone());
    let (variable, up) = counter(part(&each.step)?)?;
    let body = part(&each.body)?;
    let (from, limit) = match (part(&each.start)?, part(&each.condition)?) {
        (
            [Token::Name(set, _), Token::Mark("="), from @ ..],
            [Token::Name(tested, _), Token::Mark(test), limit @ ..],
        ) if set == variable
            && tested == variable
            && if up {
                matches!(*test, "<" | "<=")
            } else {
                matches!(*test, ">" | ">=")
            } =>
        {
            (from, limit)
        }
        _ => return None,
    };
    let free = |name: &str| !is_changed(name, body);
    (!OF_AWK.contains(&variable)
        && free(variable)
        && stands_still(from, program, &|_| true, body)
        && stands_still(limit, program, &free, body))
    .then_some(())
}

/// The variable that a step counts, and whether it counts up.
fn counter(step: &[Token]) -> Option<(&str, bool)> {
    match step {
        [Token::Name(name, _), Token::Mark(mark @ ("++" | "--"))]
        | [Token::Mark(mark @ ("++" | "--")), Token::Name(name, _)] => Some((name, *mark == "++")),
        [
            Token::Name(name, _),
            Token::Mark(mark @ ("+=" | "-=")),
            Token::Number(number),
        ] if is_small(number)
            && number.bytes().any(|digit| (b'1'..=b'9').contains(&digit))
            && !number.contains('.') =>
        {
            Some((name, *mark == "+="))
        }
        _ => None,
    }
}

fn is_small(number: &str) -> bool {
    number.len() <= MOST_DIGITS && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value is a small number, or counts what there is, and is the same in each turn.
fn stands_still(value: &[Token], program: &[Token], free: &dyn Fn(&str) -> bool, body: &[Token]) -> bool {
    match value {
        [Token::Number(number)] | [Token::Mark("-"), Token::Number(number)] => is_small(number),
        // A field that is set behind the last one, or a record that is set anew, has more fields.
        [Token::Name(fields, _)] if fields == "NF" => free("NF") && fields_stay(body),
        [Token::Name(count, _)] if matches!(count.as_str(), "NR" | "FNR") => free(count),
        [Token::Name(length, _)] if length == "length" => fields_stay(body),
        [Token::Name(length, _), Token::Mark("("), Token::Mark(")")] if length == "length" => {
            fields_stay(body)
        }
        [
            Token::Name(length, _),
            Token::Mark("("),
            Token::Mark("$"),
            Token::Number(_),
            Token::Mark(")"),
        ] if length == "length" => fields_stay(body) && !sets_fields(body),
        [
            Token::Name(length, _),
            Token::Mark("("),
            Token::Name(name, _),
            Token::Mark(")"),
        ] if length == "length" => {
            free(name)
                && !body
                    .windows(2)
                    .any(|pair| is_name(&pair[0], name) && is_mark(&pair[1], "["))
        }
        [first, Token::Mark("+" | "-"), Token::Number(number)] => {
            is_small(number) && stands_still(std::slice::from_ref(first), program, free, body)
        }
        [Token::Name(name, _)] => free(name) && counts_what_there_is(name, program),
        _ => false,
    }
}

/// Whether a variable is set, and only to numbers of what there is: by `split`, `length`, `NF`, `NR`, a small number, or by
/// counting.
fn counts_what_there_is(name: &str, program: &[Token]) -> bool {
    let mut set = false;
    for (at, token) in program.iter().enumerate() {
        if !is_name(token, name) {
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| program.get(before));
        let behind = program.get(at + 1);
        match behind {
            Some(Token::Mark("=")) => {
                set = true;
                let known = match (program.get(at + 2), program.get(at + 3)) {
                    (Some(Token::Name(called, _)), Some(Token::Mark("("))) => {
                        matches!(called.as_str(), "split" | "length")
                    }
                    (Some(Token::Name(count, _)), Some(Token::Mark(";" | "}") | Token::Newline)) => {
                        matches!(count.as_str(), "NF" | "NR" | "FNR")
                    }
                    (Some(Token::Number(number)), Some(Token::Mark(";" | "}") | Token::Newline)) => {
                        is_small(number)
                    }
                    _ => false,
                };
                if !known || before.is_some_and(|before| is_mark(before, "$")) {
                    return false;
                }
            }
            Some(Token::Mark("++")) => set = true,
            Some(Token::Mark(mark)) if ASSIGNS.contains(mark) => return false,
            Some(Token::Mark("[")) => return false,
            _ => {}
        }
        set |= before.is_some_and(|before| is_mark(before, "++"));
        // `for (name in …)`, and the last argument of `sub`.
        if behind.is_some_and(|behind| is_name(behind, "in")) || is_last_argument(program, at) {
            return false;
        }
    }
    set
}

/// Variables that awk sets by itself: `match` sets `RSTART`, reading sets `NR`, and so on.
const OF_AWK: &[&str] = &[
    "NR",
    "NF",
    "FNR",
    "FS",
    "OFS",
    "RS",
    "ORS",
    "RT",
    "RSTART",
    "RLENGTH",
    "SUBSEP",
    "FILENAME",
    "CONVFMT",
    "OFMT",
    "ARGC",
    "ARGV",
    "ARGIND",
    "ENVIRON",
    "ERRNO",
    "IGNORECASE",
    "BINMODE",
    "FIELDWIDTHS",
    "FPAT",
    "LINT",
    "TEXTDOMAIN",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
];

/// Whether a program could set a variable.
fn is_changed(name: &str, program: &[Token]) -> bool {
    program.iter().enumerate().any(|(at, token)| {
        if !is_name(token, name) {
            return false;
        }
        let mark = |at: Option<usize>| match at.and_then(|at| program.get(at)) {
            Some(Token::Mark(mark)) => *mark,
            _ => "",
        };
        let before = mark(at.checked_sub(1));
        let behind = mark(Some(at + 1));
        // `$i = 1` sets a field.
        let field = before == "$";
        !field && ASSIGNS.contains(&behind)
            || matches!(before, "++" | "--")
            || field && matches!(behind, "++" | "--")
            || program.get(at + 1).is_some_and(|next| is_name(next, "in"))
            || is_last_argument(program, at) && !field
    })
}

/// Whether a token is the last argument of a call, in a program that substitutes: `sub(/a/, "b", name)`, `split(x, name)`.
fn is_last_argument(program: &[Token], at: usize) -> bool {
    let ends = program
        .get(at + 1)
        .is_some_and(|next| is_mark(next, ")") || is_mark(next, ","));
    let follows = at
        .checked_sub(1)
        .and_then(|before| program.get(before))
        .is_some_and(|before| is_mark(before, ","));
    ends && follows
        && program.iter().any(|token| {
            ["sub", "gsub", "split"]
                .iter()
                .any(|called| is_name(token, called))
        })
}

/// Whether the number of fields stays the same: nothing substitutes in the record, the record is not set, and fields are
/// set only by numbers and names that stand still.
fn fields_stay(body: &[Token]) -> bool {
    let assigns = body.iter().any(|token| assigned(Some(token)));
    let substitutes = body
        .iter()
        .any(|token| ["sub", "gsub"].iter().any(|called| is_name(token, called)));
    let odd = body.iter().enumerate().any(|(at, token)| {
        is_mark(token, "$")
            && match body.get(at + 1) {
                Some(Token::Number(number)) => {
                    assigned(body.get(at + 2)) && number.bytes().all(|digit| digit == b'0')
                }
                Some(Token::Name(name, _)) => {
                    assigns && body.get(at + 2).is_some_and(|next| is_mark(next, "["))
                        || assigned(body.get(at + 2)) && is_changed(name, body)
                }
                // `$(NF+1) = …`
                _ => assigns,
            }
    });
    !substitutes && !odd
}

/// Whether a field is set.
fn sets_fields(body: &[Token]) -> bool {
    body.windows(3)
        .any(|three| is_mark(&three[0], "$") && assigned(Some(&three[2])))
}

fn assigned(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Mark(mark)) if ASSIGNS.contains(mark))
}

fn is_name(token: &Token, name: &str) -> bool {
    matches!(token, Token::Name(found, _) if found == name)
}

fn is_mark(token: &Token, mark: &str) -> bool {
    matches!(token, Token::Mark(found) if *found == mark)
}
