//! One form for every way to write the name or address of a machine, so that no spelling of a name is another name.

use std::net::IpAddr;

use crate::ResourceKind;

/// The form in which names and addresses are compared: lower case, without a scheme, a user, a port, a zone or a trailing
/// dot; an address in its usual notation. Two texts with the same key name the same thing.
pub fn name_key(text: &str) -> String {
    let text = text.trim();
    let mut rest = text;
    if let Some((scheme, after)) = rest.split_once("://")
        && !scheme.is_empty()
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    {
        rest = after.split(['/', '?', '#']).next().unwrap_or_default();
    }
    if let Some((user, host)) = rest.rsplit_once('@')
        && !user.is_empty()
        && !host.is_empty()
        && !user.contains(['/', ' '])
        && !host.starts_with("sha256:")
    {
        rest = host;
    }
    let host = without_port(rest);
    if let Some(address) = address(host) {
        return address.to_string();
    }
    match host.trim_end_matches('.') {
        "" => text.to_lowercase(),
        host => host.to_lowercase(),
    }
}

/// The first label of a name with a domain; nothing for an address or a name without one.
pub fn short_name(key: &str) -> Option<&str> {
    if key.parse::<IpAddr>().is_ok() || key.contains([':', '/', ' ']) {
        return None;
    }
    key.split_once('.')
        .map(|(label, _)| label)
        .filter(|label| !label.is_empty())
}

fn without_port(text: &str) -> &str {
    if let Some(inner) = text.strip_prefix('[')
        && let Some((host, port)) = inner.split_once(']')
        && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
    {
        return host;
    }
    match text.split_once(':') {
        // `vm:203` is a misspelt id, not a host with a port.
        Some((host, port)) if is_port(port) && !is_kind(host) => host,
        _ => text,
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit())
}

fn is_kind(text: &str) -> bool {
    ResourceKind::ALL
        .iter()
        .any(|kind| kind.as_str().eq_ignore_ascii_case(text))
}

fn address(text: &str) -> Option<IpAddr> {
    let without_zone = text.split('%').next().unwrap_or_default();
    let address: IpAddr = without_zone.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_has_one_key() {
        let cases: [(&str, &[&str]); 4] = [
            (
                "10.20.0.11",
                &[
                    "10.20.0.11",
                    " 10.20.0.11 ",
                    "10.20.0.11:22",
                    "root@10.20.0.11",
                    "ssh://root@10.20.0.11:22/",
                    "::ffff:10.20.0.11",
                    "[::ffff:10.20.0.11]:8006",
                    "https://10.20.0.11:8006/api2",
                ],
            ),
            (
                "delly",
                &[
                    "delly",
                    "DELLY",
                    "delly.",
                    "delly:8006",
                    "admin@Delly",
                    "ssh://delly",
                ],
            ),
            (
                "delly.example.lan",
                &["delly.example.lan", "Delly.Example.LAN.", "delly.example.lan:22"],
            ),
            (
                "fe80::1",
                &[
                    "fe80::1",
                    "FE80:0:0::1",
                    "[fe80::1]",
                    "[fe80::1]:22",
                    "fe80::1%eth0",
                ],
            ),
        ];
        for (key, spellings) in cases {
            for spelling in spellings {
                assert_eq!(name_key(spelling), key, "{spelling}");
            }
        }
    }

    #[test]
    fn what_is_no_host_stays_as_it_is() {
        for text in [
            "lxc:delly:105",
            "vm:203",
            "default/web",
            "nginx:latest",
            "web@sha256:abc",
            "a b",
            "@x",
            ".",
        ] {
            assert_eq!(name_key(text), text.to_lowercase(), "{text}");
        }
        assert_eq!((name_key(""), name_key("  ")), (String::new(), String::new()));
    }

    #[test]
    fn a_short_name_is_the_first_label_of_a_name() {
        assert_eq!(short_name("delly.example.lan"), Some("delly"));
        for text in ["delly", "10.20.0.11", "fe80::1", "a/b.c", ".x"] {
            assert_eq!(short_name(text), None, "{text}");
        }
    }
}
