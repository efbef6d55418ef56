//! Which variables may be assigned: those that change nothing but what is printed.

/// Whether `NAME=value program` leaves what the program does alone.
pub(crate) fn harmless_for_programs(name: &str) -> bool {
    name.starts_with("LC_")
        || matches!(
            name,
            "LANG"
                | "LANGUAGE"
                | "TZ"
                | "COLUMNS"
                | "LINES"
                | "NO_COLOR"
                | "CLICOLOR"
                | "FORCE_COLOR"
                | "SYSTEMD_COLORS"
                | "DEBIAN_FRONTEND"
                | "BLOCK_SIZE"
                | "TIME_STYLE"
        )
}

/// Whether setting a shell variable of this name leaves what later programs do alone. Upper-case names may already be
/// exported, so that setting them reaches every program that follows.
pub(crate) fn harmless_for_shell(name: &str) -> bool {
    let local = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && name.bytes().any(|b| b.is_ascii_lowercase())
        && !name.ends_with("_proxy");
    local || harmless_for_programs(name)
}

/// Whether a value of one of these variables is a plain one: a path in it would make the C library load files.
pub(crate) fn plain_value(value: &str) -> bool {
    !value.starts_with(['/', '.', ':'])
        && !value.contains("..")
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.@-:,+/".contains(c))
}
