//! `--jsonl`: one verdict per line, in order, each out before the next line is read, so that a co-process can
//! talk with it. A bad line is answered and passed over; it never ends the conversation.

use super::{Fate, MOST_BYTES, Report};
use crate::Ending;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, BufRead, Write};

#[derive(Deserialize)]
#[serde(expecting = "an object with a `command`")]
struct Question<'a> {
    #[serde(borrow)]
    command: Cow<'a, str>,
}

#[derive(Serialize)]
struct Misunderstood {
    line: u64,
    error: String,
}

/// Answers every line of the input.
pub(super) fn run(mut input: impl BufRead, mut output: impl Write, check: bool) -> io::Result<Ending> {
    let mut line = Vec::new();
    let (mut any_bad, mut any_stopped) = (false, false);
    for number in 1_u64.. {
        let read = next_line(&mut input, &mut line)?;
        let answered = match read {
            Line::End => break,
            Line::TooLong(bytes) => Err(format!("the line has {bytes} bytes; {MOST_BYTES} is the most")),
            Line::Whole if line.trim_ascii().is_empty() => continue,
            Line::Whole => understand(&line),
        };
        match answered {
            Ok(question) => {
                let verdict = interlock_shell::classify(&question.command);
                any_stopped |= !Fate::of(&verdict).runs();
                let text = serde_json::to_string(&Report::new(&question.command, &verdict))?;
                output.write_all(interlock_protocol::visible::json(&text).as_bytes())?;
            }
            Err(error) => {
                any_bad = true;
                let text = serde_json::to_string(&Misunderstood { line: number, error })?;
                output.write_all(interlock_protocol::visible::json(&text).as_bytes())?;
            }
        }
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(match (any_bad, check && any_stopped) {
        (true, _) => Ending::Wrong,
        (false, true) => Ending::Unsuccessful,
        (false, false) => Ending::Done,
    })
}

fn understand(line: &[u8]) -> Result<Question<'_>, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("not valid UTF-8: {error}"))?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        // The parser's own line is always the first; the number of ours stands next to the message.
        let message = error.to_string().replace(" at line 1 column ", " at column ");
        format!("not {{\"command\": \"…\"}}: {message}")
    })
}

enum Line {
    /// A whole line is in the buffer, without its line break.
    Whole,
    /// The line was longer than is kept; it has this many bytes.
    TooLong(usize),
    /// There is no more input.
    End,
}

/// Reads up to the next line break, and never keeps more than [`MOST_BYTES`] of it.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let mut length = 0_usize;
    let mut began = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        began = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        length = length.saturating_add(part.len());
        if length <= MOST_BYTES {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(match (began, length > MOST_BYTES) {
        (false, _) => Line::End,
        (true, true) => Line::TooLong(length),
        (true, false) => Line::Whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn answers(input: &[u8]) -> (Vec<Value>, Ending) {
        // A tiny buffer makes every line cross its edge.
        let input = io::BufReader::with_capacity(7, input);
        let mut output = Vec::new();
        let ending = run(input, &mut output, false).unwrap();
        let lines = std::str::from_utf8(&output).unwrap().lines();
        (
            lines.map(|line| serde_json::from_str(line).unwrap()).collect(),
            ending,
        )
    }

    #[test]
    fn bad_lines_are_answered_and_passed_over() {
        let huge = format!("{{\"command\":\"{}\"}}", "x".repeat(MOST_BYTES));
        let bad: &[&[u8]] = &[
            b"ls",
            b"{}",
            b"[]",
            b"null",
            br#"{"command":1}"#,
            br#"{"command":"a","command":"b"}"#,
            br#"{"command":"\ud800"}"#,
            b"{\"command\":\"\xff\"}",
            b"{\"command\":\"a\0\"}",
            br#"{"command":"a"} x"#,
            br#"{"command":"#,
            huge.as_bytes(),
        ];
        for line in bad {
            let mut input = line.to_vec();
            input.extend_from_slice(b"\n\r\n{\"command\":\"ls\"}\r\n");
            let (answers, ending) = answers(&input);
            assert_eq!(answers.len(), 2);
            assert_eq!(answers[0]["line"], 1);
            assert!(answers[0]["error"].is_string());
            assert_eq!(answers[1]["command"], "ls");
            assert!(ending == Ending::Wrong);
        }
    }

    #[test]
    fn every_line_has_exactly_the_fields_that_programs_rely_on() {
        let (answers, ending) =
            answers(b"{\"id\":7,\"command\":\"a\\u0000\\n\xc3\xa9\"}\n{\"command\":\"\"}");
        assert!(ending == Ending::Done);
        assert_eq!(answers[0]["command"], "a\0\né");
        assert_eq!(answers[1]["command"], "");
        for answer in answers {
            let mut fields: Vec<_> = answer.as_object().unwrap().keys().map(String::as_str).collect();
            fields.sort_unstable();
            assert_eq!(
                fields,
                [
                    "bounded",
                    "category",
                    "command",
                    "hands_over",
                    "intent",
                    "needs_sandbox",
                    "network",
                    "reasons",
                    "rewrite",
                    "risk",
                    "sensitive"
                ]
            );
        }
    }

    #[test]
    fn a_line_of_exactly_the_longest_length_is_read() {
        let wrapping = r#"{"command":""}"#.len();
        let whole = format!("{{\"command\":\"{}\"}}", "x".repeat(MOST_BYTES - wrapping));
        assert_eq!(whole.len(), MOST_BYTES);
        let (answers, ending) = answers(whole.as_bytes());
        assert!(ending == Ending::Done);
        assert_eq!(answers[0]["intent"], "write_or_unknown");
    }

    #[test]
    fn each_answer_is_out_before_the_next_line_is_read() {
        use std::cell::RefCell;
        use std::rc::Rc;

        struct Alternating {
            log: Rc<RefCell<Vec<&'static str>>>,
            lines: Vec<&'static [u8]>,
        }
        impl io::Read for Alternating {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.log.borrow_mut().push("read");
                match self.lines.pop() {
                    Some(line) => {
                        buffer[..line.len()].copy_from_slice(line);
                        Ok(line.len())
                    }
                    None => Ok(0),
                }
            }
        }
        struct Flushed(Rc<RefCell<Vec<&'static str>>>);
        impl Write for Flushed {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                self.0.borrow_mut().push("flush");
                Ok(())
            }
        }

        let log = Rc::default();
        let lines: Vec<&[u8]> = vec![b"{\"command\":\"id\"}\n", b"oops\n"];
        let input = io::BufReader::new(Alternating {
            log: Rc::clone(&log),
            lines,
        });
        run(input, Flushed(Rc::clone(&log)), false).unwrap();
        assert_eq!(*log.borrow(), ["read", "flush", "read", "flush", "read"]);
    }
}
