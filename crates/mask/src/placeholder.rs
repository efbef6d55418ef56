//! What stands where a secret could stand and is none.

const MARKER: &str = "[masked:";

/// Whether nothing is left of this text once markers are taken out.
pub(crate) fn only_markers(text: &str) -> bool {
    let mut rest = text.trim();
    while let Some(inside) = rest.strip_prefix(MARKER) {
        match marker_length(inside) {
            Some(end) => rest = inside[end..].trim_start(),
            None => return false,
        }
    }
    rest.is_empty()
}

/// The length of a marker's name and closing bracket, at the beginning of what follows `[masked:`.
pub(crate) fn marker_length(inside: &str) -> Option<usize> {
    let end = inside.bytes().take(41).position(|byte| byte == b']')?;
    let name = inside.get(..end)?;
    (!name.is_empty()
        && name.len() <= 40
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)))
    .then_some(end + 1)
}

/// Whether this is no secret wherever it stands: empty, masked, a variable, a template, `null`, `***`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    if only_markers(value) {
        return true;
    }
    let bytes = value.as_bytes();
    let first = bytes.first().copied().unwrap_or_default();
    // The end of a line that goes on.
    if value == "\\" {
        return true;
    }
    let filler = matches!(first, b'*' | b'!') || (bytes.len() >= 3 && b"xX.-_#?!".contains(&first));
    if filler && bytes.iter().all(|byte| *byte == first) {
        return true;
    }
    if is_template(value) {
        return true;
    }
    if let Some(name) = value.strip_prefix('$') {
        return is_variable(name);
    }
    if let Some(name) = value.strip_prefix('%').and_then(|value| value.strip_suffix('%')) {
        return is_variable(name);
    }
    if value.starts_with('<') && value.ends_with('>') {
        return true;
    }
    matches!(
        value.to_ascii_lowercase().as_str(),
        "null"
            | "nil"
            | "none"
            | "true"
            | "false"
            | "undefined"
            | "yes"
            | "no"
            | "on"
            | "off"
            | "n/a"
            | "(none)"
            | "(hidden)"
            | "<nil>"
            | "redacted"
            | "[redacted]"
            | "(redacted)"
            | "masked"
            | "hidden"
            | "~"
    )
}

/// Whether a value is filled in elsewhere: `${…}`, `$(…)`, `{{ … }}`, `<% … %>`.
pub(crate) fn is_template(value: &str) -> bool {
    ["${", "$(", "{{", "<%"]
        .iter()
        .any(|mark| value.starts_with(mark))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.as_bytes()[0].is_ascii_digit()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a word behind `password:` is how people and programs speak about passwords, not one.
pub(crate) fn is_prose_word(word: &str) -> bool {
    let word = word
        .trim_matches(|character: char| !character.is_alphanumeric())
        .to_ascii_lowercase();
    PROSE.binary_search(&word.as_str()).is_ok()
}

/// Whether a value is an expression or a type of a program, and the secret is elsewhere.
pub(crate) fn is_expression(value: &str) -> bool {
    const OWNERS: &[&str] = &[
        "self.",
        "this.",
        "process.env",
        "os.environ",
        "os.getenv",
        "env.",
        "args.",
        "config.",
        "opts.",
        "options.",
        "settings.",
        "request.",
        "req.",
        "var.",
        "local.",
        "data.",
        "module.",
        "Option<",
        "Vec<",
        "&str",
        "&'",
        "Secret<",
        ".Values",
        "ref:",
        "env:",
        "file:",
        "vault:",
        "arn:aws:secretsmanager",
        "secretKeyRef",
    ];
    if OWNERS.iter().any(|owner| value.starts_with(owner)) {
        return true;
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:".contains(byte);
    let name = value.bytes().take_while(plain).count();
    crate::work::looked_at(name);
    let after = value.as_bytes().get(name);
    let path = value[..name].contains("::")
        && value[..name]
            .split("::")
            .all(|part| part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'));
    let next = value.as_bytes().get(name + 1);
    let bare = value.trim_end_matches([',', ';', ')', '}']);
    // `answer.token,`: a field of something.
    let field = bare.len() < value.len()
        && bare.contains('.')
        && bare.split('.').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        });
    // `&token,`, `&ApprovalToken,`
    let borrowed = value.strip_prefix('&').is_some_and(|rest| {
        let rest = rest.trim_end_matches([',', ';', ')', '}']);
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || b"_<>':".contains(&byte))
    });
    // `|name: &str| …`
    let closure = value.starts_with('|') && next.is_some_and(u8::is_ascii_alphabetic) && value.ends_with(':');
    if field || borrowed || closure || value.starts_with("<Token") {
        return true;
    }
    name > 0
        && value.as_bytes()[0].is_ascii_alphabetic()
        && (after == Some(&b'(')
            // `format!(…)`, `Token![…]`
            || (after == Some(&b'!') && matches!(next, Some(b'(' | b'[' | b'{')))
            // `PrivateKeyInfo<'_>`
            || (after == Some(&b'<') && value.as_bytes()[0].is_ascii_uppercase())
            // `components["schemas"]`
            || (after == Some(&b'[') && (value.len() == name + 1 || matches!(value.as_bytes().get(name + 1), Some(b'"' | b'\'')))) || (path && matches!(after, None | Some(b'<' | b'{' | b',' | b')' | b';'))))
}

/// Whether a word looks like no name, number, date, version or address: letters and digits in turn, or signs among them. Asked
/// where only the surroundings say that it could be a secret.
pub(crate) fn is_random(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
    if word.len() < 6 || word.len() > 4096 || is_placeholder(word) || is_path(word) || word.contains("://") {
        return false;
    }
    crate::work::looked_at(word.len());
    let signs = word.bytes().any(|byte| b"!%^*+~#$&?".contains(&byte));
    let letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let code = word.contains(['(', '{', '[', '<', '"', '\'']);
    if signs && letter && !code && word.len() >= 8 {
        return true;
    }
    word.split(|character: char| !character.is_ascii_alphanumeric())
        .any(is_mixed)
}

/// Whether a word is as random as a generated key: nothing that a person would choose or read, and no word, name or number.
pub(crate) fn is_strong(word: &str) -> bool {
    let (mut digits, mut upper, mut lower, mut turns) = (0_usize, 0_usize, 0_usize, 0_usize);
    // A name is several short words; in a key some run of letters and digits is long.
    let (mut run, mut longest) = (0_usize, 0_usize);
    let mut last = 0;
    if word.len() < 16 || word.len() > 4096 {
        return false;
    }
    crate::work::looked_at(word.len());
    for byte in word.bytes() {
        let class = match byte {
            b'0'..=b'9' => {
                digits += 1;
                1
            }
            b'A'..=b'Z' => {
                upper += 1;
                2
            }
            b'a'..=b'z' => {
                lower += 1;
                3
            }
            b'+' | b'/' | b'=' | b'_' | b'-' | b'~' | b'.' => 0,
            _ => return false,
        };
        run = if class > 0 || b"+/".contains(&byte) {
            run + 1
        } else {
            0
        };
        longest = longest.max(run);
        turns += usize::from(class != last && class > 0 && last > 0);
        last = class;
    }
    let letters = upper + lower;
    // Digits among letters all over the word, or letters of both cases: names have their digits together.
    longest >= 16
        && digits >= 2
        && letters >= 2
        && turns * 4 >= word.len()
        && (digits + letters) * 8 >= word.len() * 7
}

/// Whether a word could be a password that a person chose: letters, and digits or signs among them. Asked only where the
/// surroundings say that a password stands here.
pub(crate) fn is_chosen(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let signs = word.bytes().any(|byte| b"!#%^*+~$&@?".contains(&byte));
    // `node12`, `v1.2.3`, `2h30m` and the like have few letters, or signs that only parts of a number have.
    (6..=128).contains(&word.len())
        && letters >= 3
        && (digits > 0 || signs)
        && !word.contains([
            '/', '\\', '(', ')', '{', '}', '[', ']', '<', '>', '=', ':', ',', '|', '"', '\'', '`',
        ])
        && !is_placeholder(word)
        && !is_path(word)
        && !is_prose_word(word)
}

/// Whether a run of letters and digits is no word with a number behind it, as `node12`, `sha256` or `v3`.
fn is_mixed(part: &str) -> bool {
    let bytes = part.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let upper = bytes.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let lower = bytes.len() - digits - upper;
    if bytes.len() < 5 || digits == 0 || digits == bytes.len() {
        return false;
    }
    let tail = bytes
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let head = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Letters of one case with a number at one end.
    let one_case = upper == 0 || lower == 0 || (upper == 1 && bytes[head].is_ascii_uppercase());
    !(one_case && (tail == digits && tail < 4 || head == digits && bytes.len() - head < 4))
}

/// Whether a value names a file of a Unix system.
pub(crate) fn is_path(value: &str) -> bool {
    const ROOTS: &[&str] = &[
        "app", "boot", "conf", "config", "data", "dev", "etc", "home", "lib", "mnt", "opt", "private",
        "proc", "root", "run", "secrets", "srv", "sys", "tmp", "usr", "var",
    ];
    let path = value.strip_prefix("file://").unwrap_or(value);
    if !path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._/-~@%".contains(&byte))
    {
        return false;
    }
    if path.starts_with("./") || path.starts_with("../") || path.starts_with("~/") {
        return true;
    }
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    rest.split_once('/')
        .is_some_and(|(root, _)| ROOTS.contains(&root))
}

/// Sorted, for the search.
const PROSE: &[&str] = &[
    "a",
    "accepted",
    "all",
    "amd64",
    "an",
    "any",
    "argon2",
    "arm64",
    "armhf",
    "array",
    "authentication",
    "bcrypt",
    "bool",
    "boolean",
    "bytes",
    "cannot",
    "compat",
    "denied",
    "disabled",
    "empty",
    "enabled",
    "error",
    "expired",
    "failed",
    "failure",
    "files",
    "i386",
    "include",
    "incorrect",
    "int",
    "integer",
    "invalid",
    "is",
    "ldap",
    "malformed",
    "mandatory",
    "md5",
    "mismatch",
    "missing",
    "must",
    "never",
    "new",
    "nis",
    "not",
    "number",
    "object",
    "omit",
    "optional",
    "rejected",
    "required",
    "riscv64",
    "s390x",
    "same-origin",
    "sha256",
    "sha512",
    "skipped",
    "sss",
    "str",
    "string",
    "success",
    "systemd",
    "the",
    "timeout",
    "unchanged",
    "unexpected",
    "unknown",
    "unset",
    "updated",
    "varchar",
    "verified",
    "wrong",
    "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_are_told_from_names() {
        for word in [
            "Qz7Wk2Xv9Rm4Tb6",
            "falcon-Lemon4211",
            "h%9Kq!x2Lp",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "abcdef.0123456789abcdef",
        ] {
            assert!(is_random(word), "{word}");
        }
        for word in [
            "node12",
            "sha256",
            "nginx-1.27",
            "2026-11-15",
            "10.0.0.1",
            "v1.2.3",
            "required",
            "hello-world",
            "AES256",
            "/etc/ssl/private/key1.pem",
            "https://a.example/x1y2z3",
            "${TOKEN_12}",
            "3600s",
            "Base64",
            "",
        ] {
            assert!(!is_random(word), "{word}");
        }
    }

    #[test]
    fn the_list_of_words_is_sorted() {
        assert!(PROSE.is_sorted());
    }

    #[test]
    fn markers_are_recognised_whole() {
        for (text, expected) in [
            ("[masked:jwt]", true),
            ("[masked:jwt] [masked:token]", true),
            ("[masked:jwt]x", false),
            ("[masked:]", false),
            ("[masked:jwt", false),
            ("", true),
        ] {
            assert_eq!(only_markers(text), expected, "{text}");
        }
    }
}
