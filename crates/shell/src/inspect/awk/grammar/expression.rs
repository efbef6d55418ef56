//! Expressions: what is an operand, what is an operator, and where a slash is which.

use super::super::lex::{Result, Token};
use super::{FUNCTIONS, MORE_FUNCTIONS, Parser, lists};

/// What an operand is, for what may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// A variable, an element or a field: it can be assigned, counted up and divided.
    Place,
    /// A value that can be divided.
    Value,
    /// A regular expression, a counter or a bare `length`: only operators without a slash follow.
    Closed,
    /// A list in parentheses: only `in` follows, or it is all that is printed.
    List,
}

impl Parser<'_> {
    /// An expression. Precedence does not matter here, only what is an operand and what an operator; `regex` says whether
    /// every awk expects a regular expression at its start.
    pub(super) fn expression(&mut self, regex: bool) -> Result<()> {
        self.deeper(|parser| parser.expression_inside(regex))
    }

    fn expression_inside(&mut self, mut regex: bool) -> Result<()> {
        loop {
            let operand = self.unary(regex)?;
            // What follows the operand: another operand (concatenation), an operator, or the end.
            let Token::Mark(mark) = self.token.clone() else {
                match &self.token {
                    Token::Newline | Token::End => return Ok(()),
                    Token::Name(name, _) if name == "in" => {
                        self.advance()?;
                        self.name()?;
                        // The end of a test: more behind it is read differently.
                        match &self.token {
                            Token::Mark("&&" | "||" | "?" | ":") => {
                                regex = self.operator(Operand::Closed)?;
                                continue;
                            }
                            Token::Mark(")" | ";" | "{" | "}" | "," | "]") | Token::Newline | Token::End => {
                                return Ok(());
                            }
                            _ => return Err("has something behind `in` that awks read differently"),
                        }
                    }
                    _ if operand == Operand::Closed || operand == Operand::List => {
                        return Err("has two values side by side that awks read differently");
                    }
                    // A number, a string or a name: joined to what is before it.
                    _ => {
                        regex = false;
                        continue;
                    }
                }
            };
            match mark {
                ")" | "]" | "}" | ";" | "," | "{" => return Ok(()),
                ">" if self.printing => return Err("writes its output into a file"),
                "$" | "(" if matches!(operand, Operand::Place | Operand::Value) => regex = false,
                "$" | "(" | "[" | "!" => {
                    return Err("has two values side by side that awks read differently");
                }
                _ => regex = self.operator(operand)?,
            }
        }
    }

    /// An operator behind an operand; says whether a regular expression may follow it.
    fn operator(&mut self, operand: Operand) -> Result<bool> {
        let Token::Mark(mark) = self.token else {
            return Err("is not a program that every awk understands");
        };
        let divides = matches!(operand, Operand::Place | Operand::Value);
        let regex = match mark {
            "&&" | "||" | "~" | "!~" => true,
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "?" | ":" | "+" | "-" | "*" | "%" | "^" => false,
            "/" if divides => false,
            "=" | "+=" | "-=" | "*=" | "%=" | "^=" | "/=" if operand == Operand::Place => false,
            "/" | "/=" => return Err("has a slash that could be a division or a regular expression"),
            _ => return Err("is not a program that every awk understands"),
        };
        if operand == Operand::List {
            return Err("has a list where a value was expected");
        }
        self.advance()?;
        if matches!(mark, "&&" | "||") {
            self.newlines()?;
        }
        Ok(regex)
    }

    /// An operand with the signs before and the counters behind it.
    fn unary(&mut self, regex: bool) -> Result<Operand> {
        match self.token {
            Token::Mark("!") => {
                self.advance()?;
                self.deeper(|parser| parser.unary(true))
            }
            Token::Mark("-" | "+") => {
                self.advance()?;
                match self.deeper(|parser| parser.unary(false))? {
                    Operand::Place => Ok(Operand::Value),
                    operand => Ok(operand),
                }
            }
            Token::Mark("++" | "--") => {
                self.advance()?;
                if self.operand(false)? != Operand::Place {
                    return Err("counts what is no variable");
                }
                Ok(Operand::Closed)
            }
            _ => {
                let operand = self.operand(regex)?;
                if matches!(self.token, Token::Mark("++" | "--")) {
                    if operand != Operand::Place {
                        return Err("counts what is no variable");
                    }
                    self.advance()?;
                    return Ok(Operand::Closed);
                }
                Ok(operand)
            }
        }
    }

    fn operand(&mut self, regex: bool) -> Result<Operand> {
        match self.token.clone() {
            Token::Number(_) | Token::Text(_) => {
                self.advance()?;
                Ok(Operand::Value)
            }
            Token::Mark("/" | "/=") => {
                if !regex || self.is("/=") {
                    return Err("has a slash that could be a division or a regular expression");
                }
                self.lexer.regex()?;
                self.advance()?;
                Ok(Operand::Closed)
            }
            Token::Mark("$") => {
                self.advance()?;
                self.deeper(Self::field)
            }
            Token::Mark("(") => {
                self.advance()?;
                Ok(if self.expressions(")")? == 1 {
                    Operand::Value
                } else {
                    Operand::List
                })
            }
            Token::Name(name, called) => self.word(&name, called),
            _ => Err("is not a program that every awk understands"),
        }
    }

    /// What follows a dollar sign: a number, a variable, another field or parentheses.
    fn field(&mut self) -> Result<Operand> {
        match self.token {
            Token::Number(_) => self.advance()?,
            Token::Mark("$") => {
                self.advance()?;
                self.deeper(Self::field)?;
            }
            Token::Mark("(") => {
                self.advance()?;
                if self.expressions(")")? != 1 {
                    return Err("is not a program that every awk understands");
                }
            }
            _ => {
                self.name()?;
                if self.take("[")? {
                    self.expressions("]")?;
                }
            }
        }
        Ok(Operand::Place)
    }

    fn word(&mut self, name: &str, called: bool) -> Result<Operand> {
        if name == "fflush" && called {
            self.advance()?;
            self.expect("(")?;
            self.expect(")")?;
            return Ok(Operand::Closed);
        }
        if name == "length" && !called {
            return self.bare_length();
        }
        let function = lists(FUNCTIONS, name);
        if function || lists(MORE_FUNCTIONS, name) {
            self.advance()?;
            let follows = called || (function && self.is("("));
            if !follows {
                return Err("uses a word that some awks reserve");
            }
            self.expect("(")?;
            if matches!(name, "rand" | "srand" | "systime" | "strftime" | "length") && self.take(")")? {
                return Ok(Operand::Value);
            }
            self.expressions(")")?;
            return Ok(Operand::Value);
        }
        match name {
            "system" if called => return Err("runs a command"),
            "getline" => return Err("reads files or commands that it names itself"),
            "ARGV" | "ARGC" => return Err("can name the files that it reads"),
            _ if called => return Err("calls a function that is not known"),
            _ => {}
        }
        self.name()?;
        if self.take("[")? {
            self.expressions("]")?;
        }
        Ok(Operand::Place)
    }

    /// `length` without parentheses: the length of the line, where nothing that awks read differently follows.
    fn bare_length(&mut self) -> Result<Operand> {
        self.advance()?;
        if self.is("(") {
            self.advance()?;
            self.expressions(")")?;
            return Ok(Operand::Value);
        }
        match self.token {
            Token::Mark(
                "<" | "<=" | ">" | ">=" | "==" | "!=" | ";" | "}" | ")" | "," | "]" | "{" | "&&" | "||",
            )
            | Token::Newline
            | Token::End => Ok(Operand::Closed),
            _ => Err("has something behind `length` that awks read differently"),
        }
    }
}
