//! The grammar of the awk programs that are accepted: the part of POSIX awk that gawk, mawk, busybox and BWK awk read alike,
//! without anything that runs a command, names a file or loads code.
//!
//! A slash is where awks part: some ask the grammar whether it divides, some the token before it, and the words that one of
//! them reserves are names to another. So a regular expression is accepted only where every awk expects an operand, a division
//! only behind a value that every awk takes for one, and a word that any awk reserves only in its own place.

use super::lex::{Lexer, Result, Token};

/// What a program does, as far as the caller must know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// It has a rule besides `BEGIN`, so that it reads its input.
    pub(super) reads_input: bool,
    /// It has a loop that may not end.
    pub(super) may_not_end: bool,
    /// It can print the environment.
    pub(super) environment: bool,
}

/// Functions of every awk.
const FUNCTIONS: &[&str] = &[
    "atan2", "cos", "exp", "gsub", "index", "int", "length", "log", "match", "rand", "sin", "split",
    "sprintf", "sqrt", "srand", "sub", "substr", "tolower", "toupper",
];

/// Functions of some awks. They are called with the parenthesis right behind the name: to the others that is a function that
/// is not defined.
const MORE_FUNCTIONS: &[&str] = &[
    "and", "asort", "asorti", "compl", "gensub", "lshift", "mktime", "or", "rshift", "strftime", "strtonum",
    "systime", "typeof", "isarray", "xor",
];

/// Words that some awk gives a meaning of its own, and that are refused as names.
const RESERVED: &[&str] = &[
    "BEGIN",
    "END",
    "BEGINFILE",
    "ENDFILE",
    "ARGC",
    "ARGV",
    "ARGIND",
    "SYMTAB",
    "FUNCTAB",
    "PROCINFO",
    "TEXTDOMAIN",
    "LINT",
    "BINMODE",
    "_",
    "abort",
    "bindtextdomain",
    "break",
    "case",
    "close",
    "continue",
    "dcgettext",
    "dcngettext",
    "default",
    "delete",
    "do",
    "else",
    "eval",
    "exit",
    "fflush",
    "for",
    "func",
    "function",
    "getline",
    "if",
    "in",
    "include",
    "intdiv",
    "intdiv0",
    "load",
    "mkbool",
    "namespace",
    "next",
    "nextfile",
    "nextline",
    "patsplit",
    "print",
    "printf",
    "return",
    "switch",
    "system",
    "usersort",
    "while",
];

/// How deep expressions and statements may nest.
const MOST_NESTING: usize = 40;

/// Whether `-v` and operands may set a variable of this name.
pub(super) fn may_be_set(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !RESERVED.contains(&name)
        && !FUNCTIONS.contains(&name)
        && !MORE_FUNCTIONS.contains(&name)
        && name != "ENVIRON"
}

pub(super) fn parse(text: &str) -> Result<Program> {
    let mut lexer = Lexer::new(text);
    let token = lexer.token()?;
    let mut parser = Parser {
        lexer,
        token,
        depth: 0,
        printing: false,
        program: Program::default(),
    };
    parser.rules()?;
    Ok(parser.program)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    depth: usize,
    /// Inside `print`, outside of parentheses: a `>` would write.
    printing: bool,
    program: Program,
}

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
    fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.token()?;
        Ok(())
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.token, Token::Mark(found) if found == mark)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(name, _) if name == word)
    }

    fn take(&mut self, mark: &str) -> Result<bool> {
        let found = self.is(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: &'static str) -> Result<()> {
        if self.take(mark)? {
            Ok(())
        } else {
            Err("is not a program that every awk understands")
        }
    }

    fn newlines(&mut self) -> Result<()> {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MOST_NESTING {
            return Err("nests too deep");
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn rules(&mut self) -> Result<()> {
        let mut any = false;
        loop {
            match &self.token {
                Token::End => break,
                Token::Newline => self.advance()?,
                Token::Mark(";") if any => self.advance()?,
                _ => {
                    any = true;
                    self.rule()?;
                }
            }
        }
        if any { Ok(()) } else { Err("has no rule") }
    }

    fn rule(&mut self) -> Result<()> {
        let special = match &self.token {
            Token::Name(name, false) if name == "BEGIN" || name == "END" => Some(name == "BEGIN"),
            _ => None,
        };
        if let Some(begin) = special {
            self.program.reads_input |= !begin;
            self.advance()?;
            return self.block();
        }
        self.program.reads_input = true;
        if self.is("{") {
            return self.block();
        }
        self.expression(true)?;
        if self.take(",")? {
            self.newlines()?;
            self.expression(true)?;
        }
        match &self.token {
            Token::Mark("{") => self.block(),
            Token::End | Token::Mark(";") => Ok(()),
            Token::Newline => {
                self.newlines()?;
                if self.is("{") {
                    return Err("has an action on another line than its pattern");
                }
                Ok(())
            }
            _ => Err("is not a program that every awk understands"),
        }
    }

    fn block(&mut self) -> Result<()> {
        self.expect("{")?;
        self.deeper(|parser| {
            loop {
                match &parser.token {
                    Token::Mark("}") => break,
                    Token::Mark(";") | Token::Newline => parser.advance()?,
                    Token::End => return Err("does not close a brace"),
                    _ => parser.statement()?,
                }
            }
            Ok(())
        })?;
        self.advance()
    }

    /// The end of a simple statement.
    fn terminator(&mut self) -> Result<()> {
        match &self.token {
            Token::Mark(";") | Token::Newline => self.advance(),
            Token::Mark("}") => Ok(()),
            Token::Mark(">") => Err("writes its output into a file"),
            _ => Err("is not a program that every awk understands"),
        }
    }

    fn statement(&mut self) -> Result<()> {
        self.deeper(Self::statement_inside)
    }

    fn statement_inside(&mut self) -> Result<()> {
        if self.is("{") {
            return self.block();
        }
        let word = match &self.token {
            Token::Name(name, _) => name.clone(),
            _ => String::new(),
        };
        match word.as_str() {
            "if" => {
                self.advance()?;
                self.condition()?;
                self.body()?;
                // `;` and line breaks may stand before `else`.
                while matches!(self.token, Token::Newline | Token::Mark(";")) {
                    self.advance()?;
                }
                if self.is_word("else") {
                    self.advance()?;
                    self.body()?;
                }
                Ok(())
            }
            "while" => {
                self.program.may_not_end = true;
                self.advance()?;
                self.condition()?;
                self.body()
            }
            "do" => {
                self.program.may_not_end = true;
                self.advance()?;
                self.body()?;
                while matches!(self.token, Token::Newline | Token::Mark(";")) {
                    self.advance()?;
                }
                if !self.is_word("while") {
                    return Err("is not a program that every awk understands");
                }
                self.advance()?;
                self.condition()?;
                self.terminator()
            }
            "for" => self.for_loop(),
            "print" | "printf" => {
                self.advance()?;
                self.print(word == "printf")?;
                self.terminator()
            }
            "next" | "break" | "continue" => {
                self.advance()?;
                self.terminator()
            }
            "exit" => {
                self.advance()?;
                if !matches!(self.token, Token::Mark(";" | "}") | Token::Newline) {
                    self.expression(false)?;
                }
                self.terminator()
            }
            "delete" => {
                self.advance()?;
                self.name()?;
                if self.take("[")? {
                    self.expressions("]")?;
                }
                self.terminator()
            }
            "PROCINFO" => self.sorted_in(),
            _ => {
                self.expression(false)?;
                self.terminator()
            }
        }
    }

    /// `(condition)`.
    fn condition(&mut self) -> Result<()> {
        self.expect("(")?;
        self.inside(|parser| parser.expression(true))?;
        self.expect(")")
    }

    /// The statement that belongs to an `if`, a loop or an `else`.
    fn body(&mut self) -> Result<()> {
        self.newlines()?;
        if self.take(";")? {
            return Ok(());
        }
        self.statement()
    }

    fn for_loop(&mut self) -> Result<()> {
        self.advance()?;
        self.expect("(")?;
        self.inside(|parser| {
            if parser.is(";") {
                return parser.for_parts();
            }
            parser.expression(false)?;
            // `for (k in a)` is parsed as the expression `k in a`.
            if parser.is(")") {
                return Ok(());
            }
            parser.for_parts()
        })?;
        self.expect(")")?;
        self.body()
    }

    fn for_parts(&mut self) -> Result<()> {
        self.expect(";")?;
        if self.is(";") {
            self.program.may_not_end = true;
        } else {
            self.expression(false)?;
        }
        self.expect(";")?;
        if self.is(")") {
            self.program.may_not_end = true;
            Ok(())
        } else {
            self.expression(false)
        }
    }

    /// Parses with `print`'s ban on `>` lifted: inside parentheses it compares.
    fn inside<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let printing = std::mem::take(&mut self.printing);
        let parsed = self.deeper(parse);
        self.printing = printing;
        parsed
    }

    fn print(&mut self, formats: bool) -> Result<()> {
        if matches!(self.token, Token::Mark(";" | "}") | Token::Newline) {
            return if formats {
                Err("is not a program that every awk understands")
            } else {
                Ok(())
            };
        }
        self.printing = true;
        loop {
            self.expression(false)?;
            if !self.take(",")? {
                break;
            }
            self.newlines()?;
        }
        self.printing = false;
        Ok(())
    }

    /// `PROCINFO["sorted_in"] = "@ind_str_asc"`: how gawk walks over arrays.
    fn sorted_in(&mut self) -> Result<()> {
        const ODD: &str = "changes how gawk works";
        self.advance()?;
        self.expect("[")?;
        if !matches!(&self.token, Token::Text(text) if text == "sorted_in") {
            return Err(ODD);
        }
        self.advance()?;
        self.expect("]")?;
        self.expect("=")?;
        let known = matches!(&self.token, Token::Text(order) if order.strip_prefix('@').is_some_and(|order| {
            order == "unsorted" || (order.starts_with("ind_") || order.starts_with("val_"))
                && order[4..].bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        }));
        if !known {
            return Err(ODD);
        }
        self.advance()?;
        self.terminator()
    }

    fn name(&mut self) -> Result<()> {
        match &self.token {
            Token::Name(name, false) if is_variable(name) => {
                self.program.environment |= name == "ENVIRON";
                self.advance()
            }
            _ => Err("uses a word that some awks reserve"),
        }
    }

    /// Expressions up to and over a closing mark; at least one.
    fn expressions(&mut self, close: &'static str) -> Result<usize> {
        let count = self.inside(|parser| {
            let mut count = 0;
            loop {
                parser.expression(true)?;
                count += 1;
                if !parser.take(",")? {
                    return Ok(count);
                }
                parser.newlines()?;
            }
        })?;
        self.expect(close)?;
        Ok(count)
    }

    /// An expression. Precedence does not matter here, only what is an operand and what an operator; `regex` says whether
    /// every awk expects a regular expression at its start.
    fn expression(&mut self, regex: bool) -> Result<()> {
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
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "?" | ":" => false,
            "+" | "-" | "*" | "%" | "^" => false,
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
            Token::Number | Token::Text(_) => {
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
            Token::Number => self.advance()?,
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
        let function = FUNCTIONS.contains(&name);
        if function || MORE_FUNCTIONS.contains(&name) {
            self.advance()?;
            if !called && !(function && self.is("(")) {
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

fn is_variable(name: &str) -> bool {
    !RESERVED.contains(&name) && !FUNCTIONS.contains(&name) && !MORE_FUNCTIONS.contains(&name)
}

#[cfg(test)]
mod tests;
