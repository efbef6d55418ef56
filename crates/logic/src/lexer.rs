//! Text to tokens: ISO Prolog, with positions. Whatever is not known is an error.

use crate::parse::{ParseError, Position};

/// Characters of which symbol atoms are made.
const SYMBOLS: &str = "+-*/\\^<>=~:.?@#&$";

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// An atom; quoted ones are never taken for punctuation.
    Atom(String),
    Var(String),
    Int(i64),
    /// The one number that is an integer only with a minus before it.
    IntMin,
    Float(f64),
    Open,
    Close,
    OpenList,
    CloseList,
    OpenBrace,
    CloseBrace,
    Comma,
    Bar,
    /// The `.` that ends a clause.
    End,
    /// The end of the text.
    Eof,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub at: Position,
    /// Whether white space or a comment stands before it.
    pub spaced: bool,
}

pub(crate) struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    at: Position,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            rest: text.chars().peekable(),
            at: Position { line: 1, column: 1 },
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// The character after the next one.
    fn peek_second(&self) -> Option<char> {
        let mut rest = self.rest.clone();
        rest.next();
        rest.next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(next)
    }

    fn error<T>(at: Position, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError {
            at,
            message: message.into(),
        })
    }

    fn take_while(&mut self, text: &mut String, mut wanted: impl FnMut(char) -> bool) {
        while let Some(next) = self.peek().filter(|next| wanted(*next)) {
            text.push(next);
            self.bump();
        }
    }

    /// Skips white space and comments; says whether there was any.
    fn skip(&mut self) -> Result<bool, ParseError> {
        let mut skipped = false;
        loop {
            match self.peek() {
                Some(c) if c.is_whitespace() => {
                    self.bump();
                }
                Some('%') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.bump();
                    }
                }
                Some('/') if self.peek_second() == Some('*') => {
                    let start = self.at;
                    self.bump();
                    self.bump();
                    let mut last = ' ';
                    loop {
                        match self.bump() {
                            None => return Self::error(start, "this comment has no end; close it with */"),
                            Some('/') if last == '*' => break,
                            Some(c) => last = c,
                        }
                    }
                }
                _ => return Ok(skipped),
            }
            skipped = true;
        }
    }

    pub(crate) fn next(&mut self) -> Result<Token, ParseError> {
        let spaced = self.skip()?;
        let at = self.at;
        let token = |kind| Ok(Token { kind, at, spaced });
        let Some(first) = self.peek() else {
            return token(Kind::Eof);
        };
        match first {
            '(' => {
                self.bump();
                token(Kind::Open)
            }
            ')' => {
                self.bump();
                token(Kind::Close)
            }
            '[' => {
                self.bump();
                token(Kind::OpenList)
            }
            ']' => {
                self.bump();
                token(Kind::CloseList)
            }
            '{' => {
                self.bump();
                token(Kind::OpenBrace)
            }
            '}' => {
                self.bump();
                token(Kind::CloseBrace)
            }
            ',' => {
                self.bump();
                token(Kind::Comma)
            }
            '|' => {
                self.bump();
                if self.peek() == Some('|') {
                    return Self::error(at, "`||` is not an operator here; write `;` for \"or\"");
                }
                token(Kind::Bar)
            }
            '!' | ';' => {
                self.bump();
                token(Kind::Atom(first.to_string()))
            }
            '\'' | '"' => {
                let text = self.quoted(first, at)?;
                token(Kind::Atom(text))
            }
            '`' => Self::error(at, "text in back quotes is not supported; write 'text'"),
            '0'..='9' => {
                let kind = self.number(at)?;
                token(kind)
            }
            c if c == '_' || c.is_uppercase() => {
                let mut name = String::new();
                self.take_while(&mut name, |c| c == '_' || c.is_alphanumeric());
                token(Kind::Var(name))
            }
            c if c.is_alphabetic() => {
                let mut name = String::new();
                self.take_while(&mut name, |c| c == '_' || c.is_alphanumeric());
                token(Kind::Atom(name))
            }
            '.' if self.peek_second().is_none_or(|c| c.is_whitespace() || c == '%') => {
                self.bump();
                token(Kind::End)
            }
            c if SYMBOLS.contains(c) => {
                let mut name = String::new();
                self.take_while(&mut name, |c| SYMBOLS.contains(c));
                token(Kind::Atom(name))
            }
            c => Self::error(
                at,
                format!("the character {} cannot stand here", c.escape_debug()),
            ),
        }
    }

    fn quoted(&mut self, quote: char, start: Position) -> Result<String, ParseError> {
        self.bump();
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.bump() {
                None => return Self::error(start, format!("this text has no end; close it with {quote}")),
                Some(c) if c == quote => {
                    if self.peek() == Some(quote) {
                        self.bump();
                        text.push(quote);
                    } else {
                        return Ok(text);
                    }
                }
                Some('\\') => {
                    if let Some(c) = self.escape(at)? {
                        text.push(c);
                    }
                }
                Some('\n') => {
                    return Self::error(
                        start,
                        format!("this text has no end on its line; close it with {quote}"),
                    );
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// What follows a backslash. Nothing, if the text goes on in the next line.
    fn escape(&mut self, at: Position) -> Result<Option<char>, ParseError> {
        let unknown = |c: char| {
            Self::error(
                at,
                format!(
                    "`\\{}` is not an escape sequence; write \\\\ for a backslash",
                    c.escape_debug()
                ),
            )
        };
        let Some(c) = self.bump() else {
            return Self::error(at, "the text ends after a backslash");
        };
        Ok(Some(match c {
            '\n' => return Ok(None),
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '`' => c,
            'x' | '0'..='7' => {
                let (radix, mut digits) = if c == 'x' {
                    (16, String::new())
                } else {
                    (8, c.to_string())
                };
                self.take_while(&mut digits, |c| c.is_digit(radix));
                if self.peek() == Some('\\') {
                    self.bump();
                } else {
                    return Self::error(at, "a character code ends with a backslash: \\x41\\");
                }
                match u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32) {
                    Some(c) => c,
                    None => return Self::error(at, "this is not the code of a character"),
                }
            }
            c => return unknown(c),
        }))
    }

    fn number(&mut self, at: Position) -> Result<Kind, ParseError> {
        let mut digits = String::new();
        self.take_while(&mut digits, |c| c.is_ascii_digit());
        if digits == "0" {
            let radix = match self.peek() {
                Some('x') => 16,
                Some('o') => 8,
                Some('b') => 2,
                Some('\'') => return self.character_code(at),
                _ => 0,
            };
            if radix != 0 && self.peek_second().is_some_and(|c| c.is_digit(radix)) {
                self.bump();
                let mut digits = String::new();
                self.take_while(&mut digits, |c| c.is_digit(radix));
                return self.integer(at, &digits, radix);
            }
        }
        let fraction = self.peek() == Some('.') && self.peek_second().is_some_and(|c| c.is_ascii_digit());
        if !fraction {
            return self.integer(at, &digits, 10);
        }
        digits.push('.');
        self.bump();
        self.take_while(&mut digits, |c| c.is_ascii_digit());
        if matches!(self.peek(), Some('e' | 'E')) {
            let mut ahead = self.rest.clone();
            ahead.next();
            let mut exponent = String::from("e");
            if let Some(sign) = ahead.next_if(|c| matches!(c, '+' | '-')) {
                exponent.push(sign);
            }
            if ahead.peek().is_some_and(char::is_ascii_digit) {
                for _ in 0..exponent.len() {
                    self.bump();
                }
                digits.push_str(&exponent);
                self.take_while(&mut digits, |c| c.is_ascii_digit());
            }
        }
        self.no_letter(at)?;
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Kind::Float(value)),
            _ => Self::error(at, "this number is too large"),
        }
    }

    fn character_code(&mut self, at: Position) -> Result<Kind, ParseError> {
        self.bump();
        let code = match self.bump() {
            Some('\\') => self.escape(at)?,
            Some('\'') => {
                if self.peek() == Some('\'') {
                    self.bump();
                    Some('\'')
                } else {
                    None
                }
            }
            other => other,
        };
        match code {
            Some(c) => Ok(Kind::Int(i64::from(u32::from(c)))),
            None => Self::error(at, "a character must follow 0'"),
        }
    }

    fn integer(&mut self, at: Position, digits: &str, radix: u32) -> Result<Kind, ParseError> {
        self.no_letter(at)?;
        match u64::from_str_radix(digits, radix) {
            Ok(value) => match i64::try_from(value) {
                Ok(value) => Ok(Kind::Int(value)),
                Err(_) if value == i64::MIN.unsigned_abs() => Ok(Kind::IntMin),
                Err(_) => Self::error(at, "integers have 64 bits; this one is larger"),
            },
            Err(_) => Self::error(at, "integers have 64 bits; this one is larger"),
        }
    }

    /// `12abc` is two tokens for ISO and a typing error for people.
    fn no_letter(&mut self, at: Position) -> Result<(), ParseError> {
        match self.peek() {
            Some(c) if c == '_' || c.is_alphanumeric() => Self::error(
                at,
                "a number cannot be followed by a letter; put a name that begins with a digit in quotes: '1abc'",
            ),
            _ => Ok(()),
        }
    }
}
