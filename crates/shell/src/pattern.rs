//! Whether two patterns can match the same path.

/// One step of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Char(char),
    /// Any one character.
    One,
    /// Any text within one directory.
    Many,
    /// Any text.
    Deep,
}

pub(crate) fn tokens(pattern: &str) -> Vec<Token> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                if let Some(next) = chars.next() {
                    out.push(Token::Char(next));
                }
            }
            '*' => {
                if chars.peek() == Some(&'*') {
                    chars.next();
                    out.push(Token::Deep);
                } else {
                    out.push(Token::Many);
                }
            }
            '?' => out.push(Token::One),
            '[' => {
                // Which characters it names does not matter: it could be any of them.
                for c in chars.by_ref() {
                    if c == ']' {
                        break;
                    }
                }
                out.push(Token::One);
            }
            c => out.push(Token::Char(c)),
        }
    }
    out
}

/// Whether some path matches both patterns.
pub(crate) fn overlap(a: &[Token], b: &[Token]) -> bool {
    // The common case by far: they differ in a letter before any wildcard.
    let differ = a.iter().zip(b).map_while(|pair| match pair {
        (Token::Char(x), Token::Char(y)) => Some(x != y),
        _ => None,
    });
    if differ.into_iter().any(|differs| differs) {
        return false;
    }
    let width = b.len() + 1;
    let mut seen = vec![false; (a.len() + 1) * width];
    let mut stack = vec![(0, 0)];
    while let Some((i, j)) = stack.pop() {
        if std::mem::replace(&mut seen[i * width + j], true) {
            continue;
        }
        if i == a.len() && j == b.len() {
            return true;
        }
        let (x, y) = (a.get(i).copied(), b.get(j).copied());
        if matches!(x, Some(Token::Many | Token::Deep)) {
            stack.push((i + 1, j));
        }
        if matches!(y, Some(Token::Many | Token::Deep)) {
            stack.push((i, j + 1));
        }
        if let (Some(x), Some(y)) = (x, y)
            && meet(x, y)
        {
            let (next_i, next_j) = (stays(x, i), stays(y, j));
            stack.push((next_i, next_j));
            stack.push((next_i, j + 1));
            stack.push((i + 1, next_j));
            stack.push((i + 1, j + 1));
        }
    }
    false
}

const fn stays(token: Token, at: usize) -> usize {
    if matches!(token, Token::Many | Token::Deep) {
        at
    } else {
        at + 1
    }
}

/// Whether two tokens can stand for the same character.
fn meet(x: Token, y: Token) -> bool {
    match (x, y) {
        (Token::Char(a), Token::Char(b)) => a == b,
        (Token::Char(c), Token::One | Token::Many) | (Token::One | Token::Many, Token::Char(c)) => c != '/',
        _ => true,
    }
}
