//! Tokens to terms: the operator grammar of ISO Prolog, bounded in size and nesting.

use std::fmt;

use crate::lexer::{Kind, Lexer, Token};
use crate::operators::{ARGUMENT, HIGHEST, infix, prefix};
use crate::term::{Clause, NIL, Name, Term};

/// The longest goal, in bytes.
pub const MAX_GOAL_BYTES: usize = 8 * 1024;
/// The longest file of rules, in bytes.
pub const MAX_RULES_BYTES: usize = 256 * 1024;
/// The deepest nesting of a term. Elements of a list do not nest; each goal of a conjunction nests once.
pub const MAX_DEPTH: usize = 100;
/// The most variables of one clause.
pub const MAX_VARIABLES: usize = 1000;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
}

/// Why a text is not Prolog that we read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", at.line, at.column)]
pub struct ParseError {
    /// Where.
    pub at: Position,
    /// What is wrong there, and what to write instead.
    pub message: String,
}

/// Reads one goal. A final `.` is optional.
pub fn parse_goal(text: &str) -> Result<Clause, ParseError> {
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_GOAL_BYTES {
        return Err(ParseError {
            at: start,
            message: format!(
                "the goal has {} bytes; at most {MAX_GOAL_BYTES} are allowed",
                text.len()
            ),
        });
    }
    let mut parser = Parser::new(text)?;
    if parser.token.kind == Kind::Eof {
        return parser.error("the goal is empty; for example: node_health(pve1, Health)");
    }
    let clause = parser.clause(false)?;
    match parser.token.kind {
        Kind::Eof => Ok(clause),
        _ => parser.error("one goal at a time: text follows after the final `.`"),
    }
}

/// Reads the clauses of a file. Every clause ends with `.`.
pub fn parse_clauses(text: &str) -> Result<Vec<Clause>, ParseError> {
    if text.len() > MAX_RULES_BYTES {
        return Err(ParseError {
            at: Position { line: 1, column: 1 },
            message: format!(
                "the file has {} bytes; at most {MAX_RULES_BYTES} are allowed",
                text.len()
            ),
        });
    }
    let mut parser = Parser::new(text)?;
    let mut clauses = Vec::new();
    while parser.token.kind != Kind::Eof {
        clauses.push(parser.clause(true)?);
    }
    Ok(clauses)
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token,
    /// The token after `token`: needed to tell `f(` from `f (`, and an operator from an atom.
    ahead: Token,
    variables: Vec<Option<String>>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self, ParseError> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        let ahead = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            ahead,
            variables: Vec::new(),
            depth: 0,
        })
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError {
            at: self.token.at,
            message: message.into(),
        })
    }

    fn advance(&mut self) -> Result<Token, ParseError> {
        let next = self.lexer.next()?;
        let ahead = std::mem::replace(&mut self.ahead, next);
        Ok(std::mem::replace(&mut self.token, ahead))
    }

    fn clause(&mut self, must_end: bool) -> Result<Clause, ParseError> {
        self.variables.clear();
        self.depth = 0;
        let line = self.token.at.line;
        let term = self.term(HIGHEST)?;
        match &self.token.kind {
            Kind::End => {
                self.advance()?;
            }
            Kind::Eof if !must_end => {}
            Kind::Eof => return self.error("the last clause does not end with `.`"),
            other => {
                let found = Found(other);
                return self.error(format!(
                    "expected an operator or the end of the term, found {found}"
                ));
            }
        }
        Ok(Clause {
            term,
            variables: std::mem::take(&mut self.variables),
            line,
        })
    }

    /// A term of at most this priority.
    fn term(&mut self, highest: u16) -> Result<Term, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(format!("the term is nested deeper than {MAX_DEPTH} levels"));
        }
        let (mut left, mut priority) = self.operand(highest)?;
        loop {
            let name: Name = match &self.token.kind {
                Kind::Atom(name) => Name::from(name.as_str()),
                Kind::Comma => Name::from(","),
                Kind::Bar => Name::from("|"),
                _ => break,
            };
            let Some(operator) = infix(&name) else { break };
            if operator.priority > highest || priority > operator.left {
                break;
            }
            self.advance()?;
            let right = self.term(operator.right)?;
            let name = if &*name == "|" { Name::from(";") } else { name };
            left = Term::compound(name, vec![left, right]);
            priority = operator.priority;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self, highest: u16) -> Result<(Term, u16), ParseError> {
        let token = self.advance()?;
        let term = match token.kind {
            Kind::Int(value) => Term::Int(value),
            Kind::Float(value) => Term::Float(value),
            Kind::Var(name) => self.variable(name, token.at)?,
            Kind::Open => {
                let inner = self.term(HIGHEST)?;
                self.expect(&Kind::Close)?;
                inner
            }
            Kind::OpenList if self.token.kind == Kind::CloseList => {
                self.advance()?;
                return self.named(NIL.to_owned(), highest);
            }
            Kind::OpenList => self.list()?,
            Kind::OpenBrace => {
                if self.token.kind == Kind::CloseBrace {
                    self.advance()?;
                    return self.named("{}".to_owned(), highest);
                }
                let inner = self.term(HIGHEST)?;
                self.expect(&Kind::CloseBrace)?;
                Term::compound("{}", vec![inner])
            }
            Kind::Atom(name) => return self.named(name, highest),
            Kind::IntMin => {
                return Err(ParseError {
                    at: token.at,
                    message: "integers have 64 bits; this one is larger".to_owned(),
                });
            }
            other => {
                return Err(ParseError {
                    at: token.at,
                    message: format!("expected a term, found {}", Found(&other)),
                });
            }
        };
        Ok((term, 0))
    }

    /// What begins with a name: an atom, a functor with arguments, a negative number, a prefix operator.
    fn named(&mut self, name: String, highest: u16) -> Result<(Term, u16), ParseError> {
        if self.token.kind == Kind::Open && !self.token.spaced {
            self.advance()?;
            let arguments = self.arguments()?;
            return Ok((Term::compound(name, arguments), 0));
        }
        if name == "-" && !self.token.spaced {
            let number = match self.token.kind {
                Kind::Int(value) => Some(Term::Int(-value)),
                Kind::IntMin => Some(Term::Int(i64::MIN)),
                Kind::Float(value) => Some(Term::Float(-value)),
                _ => None,
            };
            if let Some(number) = number {
                self.advance()?;
                return Ok((number, 0));
            }
        }
        if let Some(operator) = prefix(&name)
            && self.operand_follows()
        {
            let (priority, operand) = if operator.priority > highest {
                // `f(:- a)` is not valid; `[- a]` is, with the priorities that the place allows.
                (highest, highest.min(operator.operand))
            } else {
                (operator.priority, operator.operand)
            };
            let argument = self.term(operand)?;
            return Ok((Term::compound(name, vec![argument]), priority));
        }
        Ok((Term::Atom(Name::from(name)), 0))
    }

    /// Whether an operand can begin at the current token, after a prefix operator.
    fn operand_follows(&self) -> bool {
        match &self.token.kind {
            Kind::Int(_)
            | Kind::IntMin
            | Kind::Float(_)
            | Kind::Var(_)
            | Kind::Open
            | Kind::OpenList
            | Kind::OpenBrace => true,
            Kind::Atom(name) => {
                // `- = x` compares the atom `-`; `- (-1)` and `\+ \+ a` do not.
                let arguments = self.ahead.kind == Kind::Open && !self.ahead.spaced;
                infix(name).is_none() || prefix(name).is_some() || arguments
            }
            Kind::Close
            | Kind::CloseList
            | Kind::CloseBrace
            | Kind::Comma
            | Kind::Bar
            | Kind::End
            | Kind::Eof => false,
        }
    }

    fn arguments(&mut self) -> Result<Vec<Term>, ParseError> {
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.term(ARGUMENT)?);
            match self.token.kind {
                Kind::Comma => {
                    self.advance()?;
                }
                Kind::Close => {
                    self.advance()?;
                    return Ok(arguments);
                }
                ref other => {
                    let found = Found(other);
                    return self.error(format!("expected `,` or `)` in the arguments, found {found}"));
                }
            }
        }
    }

    fn list(&mut self) -> Result<Term, ParseError> {
        let mut items = Vec::new();
        loop {
            items.push(self.term(ARGUMENT)?);
            match self.token.kind {
                Kind::Comma => {
                    self.advance()?;
                }
                Kind::CloseList => {
                    self.advance()?;
                    return Ok(Term::list(items, None));
                }
                Kind::Bar => {
                    self.advance()?;
                    let tail = self.term(ARGUMENT)?;
                    self.expect(&Kind::CloseList)?;
                    return Ok(Term::list(items, Some(tail)));
                }
                ref other => {
                    let found = Found(other);
                    return self.error(format!("expected `,`, `|` or `]` in the list, found {found}"));
                }
            }
        }
    }

    fn expect(&mut self, kind: &Kind) -> Result<(), ParseError> {
        if self.token.kind == *kind {
            self.advance()?;
            return Ok(());
        }
        self.error(format!(
            "expected {}, found {}",
            Found(kind),
            Found(&self.token.kind)
        ))
    }

    fn variable(&mut self, name: String, at: Position) -> Result<Term, ParseError> {
        let name = (name != "_").then_some(name);
        if let Some(known) = name
            .as_ref()
            .and_then(|_| self.variables.iter().position(|other| *other == name))
        {
            return Ok(Term::Var(u32::try_from(known).unwrap_or(u32::MAX)));
        }
        if self.variables.len() >= MAX_VARIABLES {
            return Err(ParseError {
                at,
                message: format!("more than {MAX_VARIABLES} variables in one clause"),
            });
        }
        self.variables.push(name);
        Ok(Term::Var(
            u32::try_from(self.variables.len() - 1).unwrap_or(u32::MAX),
        ))
    }
}

/// A token in the words of a message.
struct Found<'k>(&'k Kind);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Atom(name) => return write!(f, "`{}`", name.escape_debug()),
            Kind::Var(name) => return write!(f, "the variable `{name}`"),
            Kind::Int(value) => return write!(f, "the number {value}"),
            Kind::Float(value) => return write!(f, "the number {value}"),
            Kind::IntMin => "a number",
            Kind::Open => "`(`",
            Kind::Close => "`)`",
            Kind::OpenList => "`[`",
            Kind::CloseList => "`]`",
            Kind::OpenBrace => "`{`",
            Kind::CloseBrace => "`}`",
            Kind::Comma => "`,`",
            Kind::Bar => "`|`",
            Kind::End => "the final `.`",
            Kind::Eof => "the end of the text",
        })
    }
}
