//! Cuts a stream of bytes into lines and server-sent events, however the bytes arrive.

/// Cuts bytes into lines. A line ends with LF, CRLF or CR.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The last byte was CR: a LF that follows belongs to it.
    after_cr: bool,
    /// How many bytes were looked at or copied, for tests of how that grows.
    #[cfg(test)]
    pub(crate) looked_at: usize,
}

impl Lines {
    /// Takes more bytes and gives every line that is now whole, until `each` fails.
    pub(crate) fn push<E>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        #[cfg(test)]
        {
            self.looked_at += bytes.len();
        }
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let line = &bytes[..at];
            let is_cr = bytes[at] == b'\r';
            bytes = &bytes[at + 1..];
            if is_cr {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if self.partial.is_empty() {
                each(line)?;
            } else {
                self.partial.extend_from_slice(line);
                #[cfg(test)]
                {
                    self.looked_at += self.partial.len();
                }
                let result = each(&self.partial);
                self.partial.clear();
                result?;
            }
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// What stands after the last line's end.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.partial
    }
}

/// Puts lines together to server-sent events. Only `data` matters here: every wire repeats the event's name in it.
#[derive(Debug, Default)]
pub(crate) struct Events {
    data: Vec<u8>,
    has_data: bool,
}

impl Events {
    /// Takes a line and gives the event's data if the line ends one.
    pub(crate) fn line(&mut self, line: &[u8]) -> Option<&[u8]> {
        if line.is_empty() {
            return std::mem::take(&mut self.has_data).then_some(self.data.as_slice());
        }
        let value = line.strip_prefix(b"data")?;
        let value = match value {
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return None,
        };
        if self.has_data {
            self.data.push(b'\n');
        } else {
            self.data.clear();
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut events = Events::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines
                .push(piece, |line| {
                    if let Some(data) = events.line(line) {
                        found.push(String::from_utf8_lossy(data).into_owned());
                    }
                    Ok::<(), ()>(())
                })
                .expect("nothing fails");
        }
        found
    }

    #[test]
    fn events_are_found() {
        let cases: &[(&str, &[&str])] = &[
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata:b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            (": ping\n\nevent: x\nid: 1\ndata: a\n\n", &["a"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data:  a\n\n", &[" a"]),
            ("data\n\n", &[""]),
            ("database: a\n\n", &[]),
            ("data: unfinished\n", &[]),
            ("\n\n\n", &[]),
        ];
        for (stream, expected) in cases {
            assert_eq!(&events(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    proptest! {
        #[test]
        fn how_bytes_arrive_changes_nothing(stream in "(data: [aä\r\n]{0,3}|[:\r\n]{1,3}){0,12}", cut in 1_usize..5) {
            let whole = events(&[stream.as_bytes()]);
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(cut).collect();
            prop_assert_eq!(whole, events(&pieces));
        }
    }
}
