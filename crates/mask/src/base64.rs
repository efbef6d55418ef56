//! Just enough base64 to look into a value.

/// What the standard or URL alphabet encodes, or nothing if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    if body.len() < 2 || text.len() - body.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0_u8);
    for byte in body.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xff).unwrap_or_default());
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

/// Whether this is base64 of `user:password` in printable characters.
pub(crate) fn is_login(text: &str) -> bool {
    decode(text).is_some_and(|bytes| {
        bytes.contains(&b':')
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_graphic() || *byte == b' ' || *byte >= 0x80)
    })
}

/// Whether this is base64 of a PEM block with a private key.
pub(crate) fn is_private_key(text: &str) -> bool {
    let head = text.get(..text.len().min(64)).unwrap_or(text);
    let head = &head[..head.len() - head.len() % 4];
    decode(head).is_some_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.contains("PRIVATE")
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn logins_are_told_from_words() {
        assert!(super::is_login("dXNlcjpjYW5hcnk="));
        assert!(!super::is_login("authentication"));
        assert!(!super::is_login("aGVsbG8="));
        assert!(!super::is_login("not base64!"));
    }
}
