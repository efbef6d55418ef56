//! Cuts an awk program into tokens.
//!
//! Whether a slash divides or opens a regular expression is decided by the grammar, which asks for one or the other; what
//! awks could cut differently is an error.

/// A token. Line breaks count, blanks and comments do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A number, as it is written.
    Number(String),
    /// A string.
    Text(String),
    /// A name, and whether a parenthesis follows at once.
    Name(String, bool),
    /// An operator or a mark.
    Mark(&'static str),
    Newline,
    End,
}

pub(super) type Result<T> = std::result::Result<T, &'static str>;

/// Marks, longest first.
const MARKS: &[&str] = &[
    "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=", ">=", "!=", "!~", "&&", "||", "{", "}", "(",
    ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", "<", ">", "?", ":", "~", "$", "=",
];

const CLASSES: &[&str] = &[
    "alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print", "graph", "cntrl",
    "xdigit",
];

const ODD: &str = "has a bracket that awks read differently";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The next token, in a place where a slash divides.
    pub(super) fn token(&mut self) -> Result<Token> {
        self.take_while(|c| matches!(c, ' ' | '\t'));
        let Some(c) = self.peek() else {
            return Ok(Token::End);
        };
        match c {
            '\n' => {
                self.at += 1;
                Ok(Token::Newline)
            }
            '#' => {
                if self.take_while(|c| c != '\n').contains('\\') {
                    return Err("has a backslash in a comment");
                }
                self.token()
            }
            '"' => self.string(),
            _ if c.is_ascii_digit() || c == '.' => self.number(),
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                Ok(Token::Name(name.to_owned(), self.peek() == Some('(')))
            }
            '@' => Err("loads code or calls a function by name"),
            '\\' => Err("has a backslash outside of a string"),
            _ => {
                let rest = self.rest();
                for odd in ["**", "|&", "::", ">>"] {
                    if rest.starts_with(odd) {
                        return Err("has an operator that not every awk knows, or one that writes");
                    }
                }
                let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
                    return Err(if c == '|' {
                        "pipes to or from a command"
                    } else {
                        "has a character that is not understood"
                    });
                };
                self.at += mark.len();
                Ok(Token::Mark(mark))
            }
        }
    }

    fn string(&mut self) -> Result<Token> {
        let start = self.at + 1;
        self.at = start;
        loop {
            match self.bump() {
                None | Some('\n') => return Err("has a string without an end"),
                Some('"') => return Ok(Token::Text(self.text[start..self.at - 1].to_owned())),
                Some('\\') => match self.bump() {
                    Some(c) if c.is_ascii_graphic() && !matches!(c, 'x' | 'u') => {}
                    _ => return Err("has an escape that awks read differently"),
                },
                Some(c) if c.is_control() && c != '\t' => return Err("has a control character"),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Result<Token> {
        const ODD: &str = "has a number that awks read differently";
        let start = self.at;
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut fraction = "";
        if self.peek() == Some('.') {
            self.at += 1;
            fraction = self.take_while(|c| c.is_ascii_digit());
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(ODD);
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.peek(), Some('+' | '-')) {
                self.at += 1;
            }
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                return Err(ODD);
            }
        }
        match self.peek() {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') => Err(ODD),
            _ => Ok(Token::Number(self.text[start..self.at].to_owned())),
        }
    }

    /// The rest of a regular expression; its first slash was taken. Slashes inside brackets, brackets that begin with `]`
    /// and escaped brackets inside brackets are errors: awks differ there.
    pub(super) fn regex(&mut self) -> Result<()> {
        if matches!(self.peek(), Some('/' | '=')) {
            return Err("has a regular expression that awks read differently");
        }
        loop {
            match self.bump() {
                None | Some('\n') => return Err("has a regular expression without an end"),
                Some('/') => return Ok(()),
                Some('\\') => match self.bump() {
                    Some(c) if c.is_ascii_graphic() => {}
                    _ => return Err("has an escape that awks read differently"),
                },
                Some('[') => self.bracket()?,
                Some(c) if c.is_control() && c != '\t' => return Err("has a control character"),
                Some(_) => {}
            }
        }
    }

    fn bracket(&mut self) -> Result<()> {
        if self.peek() == Some('^') {
            self.at += 1;
        }
        if self.peek() == Some(']') {
            return Err(ODD);
        }
        loop {
            match self.bump() {
                None | Some('\n' | '/') => return Err(ODD),
                Some(']') => return Ok(()),
                Some('\\') => match self.bump() {
                    Some('[' | ']') | None => return Err(ODD),
                    Some(c) if c.is_ascii_graphic() => {}
                    Some(_) => return Err(ODD),
                },
                Some('[') => {
                    let known = CLASSES.iter().find_map(|class| {
                        self.rest()
                            .strip_prefix(':')?
                            .strip_prefix(*class)?
                            .strip_prefix(":]")
                            .map(str::len)
                    });
                    self.at = self.text.len() - known.ok_or(ODD)?;
                }
                Some(c) if c.is_control() && c != '\t' => return Err("has a control character"),
                Some(_) => {}
            }
        }
    }
}
