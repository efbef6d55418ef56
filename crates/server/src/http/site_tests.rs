use http::Request;

use super::*;

struct Case {
    config: fn(&mut Server),
    /// Where the connection comes from and arrives at, and whether it is TLS.
    peer: &'static str,
    local: &'static str,
    tls: bool,
    headers: &'static [(&'static str, &'static str)],
    /// The client's address and the origin; or the code of the problem.
    expected: Result<(&'static str, &'static str), Code>,
}

const PLAIN: fn(&mut Server) = |_| {};
const PUBLIC: fn(&mut Server) = |server| server.public_url = Some("https://Interlock.Example/".to_owned());
const PROXIED: fn(&mut Server) = |server| {
    server.public_url = Some("https://interlock.example".to_owned());
    server.trusted_proxies = vec!["10.0.0.0/8".to_owned(), "2001:db8::/32".to_owned()];
};

fn case(
    config: fn(&mut Server),
    headers: &'static [(&'static str, &'static str)],
    expected: Result<(&'static str, &'static str), Code>,
) -> Case {
    Case {
        config,
        peer: "127.0.0.1:50000",
        local: "127.0.0.1:7878",
        tls: false,
        headers,
        expected,
    }
}

fn check(case: &Case) {
    let mut server = Server::default();
    (case.config)(&mut server);
    let site = Site::new(&server, "127.0.0.1:7878".parse().unwrap()).unwrap();
    let mut request = Request::builder().uri("/api/v1/me");
    for (name, value) in case.headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let connection = Connection {
        peer: case.peer.parse().unwrap(),
        local: case.local.parse().unwrap(),
        tls: case.tls,
    };
    let found = site.peer(&parts, connection);
    let found = found
        .as_ref()
        .map(|peer| (peer.address.to_string(), peer.origin.as_str()))
        .map_err(Problem::code);
    let expected = case
        .expected
        .map(|(address, origin)| (address.to_owned(), origin));
    assert_eq!(found, expected, "{:?}", case.headers);
}

#[test]
fn only_our_own_names_are_ours() {
    let local = Ok(("127.0.0.1", "http://127.0.0.1:7878"));
    for case in [
        case(PLAIN, &[("host", "127.0.0.1:7878")], local),
        case(
            PLAIN,
            &[("host", "localhost:7878")],
            Ok(("127.0.0.1", "http://localhost:7878")),
        ),
        case(
            PLAIN,
            &[("host", "LOCALHOST:7878")],
            Ok(("127.0.0.1", "http://localhost:7878")),
        ),
        case(
            PLAIN,
            &[("host", "[::1]:7878")],
            Ok(("127.0.0.1", "http://[::1]:7878")),
        ),
        case(PLAIN, &[("host", "evil.example:7878")], Err(Code::WrongOrigin)),
        case(
            PLAIN,
            &[("host", "localhost.evil.example:7878")],
            Err(Code::WrongOrigin),
        ),
        case(PLAIN, &[("host", "localhost")], Err(Code::WrongOrigin)),
        case(PLAIN, &[("host", "localhost:80")], Err(Code::WrongOrigin)),
        case(PLAIN, &[("host", "localhost:7879")], Err(Code::WrongOrigin)),
        case(PLAIN, &[("host", "0.0.0.0:7878")], Err(Code::WrongOrigin)),
        case(PLAIN, &[("host", "127.0.0.2:7878")], Err(Code::WrongOrigin)),
        case(PLAIN, &[("host", "user@localhost:7878")], Err(Code::WrongOrigin)),
        case(PLAIN, &[], Err(Code::WrongOrigin)),
        case(
            PLAIN,
            &[("host", "localhost:7878"), ("host", "evil.example")],
            Err(Code::InvalidInput),
        ),
        case(PLAIN, &[("host", "not a host")], Err(Code::InvalidInput)),
        case(
            PUBLIC,
            &[("host", "interlock.example")],
            Ok(("127.0.0.1", "https://interlock.example")),
        ),
        case(
            PUBLIC,
            &[("host", "interlock.example:443")],
            Ok(("127.0.0.1", "https://interlock.example")),
        ),
        case(
            PUBLIC,
            &[("host", "interlock.example:80")],
            Err(Code::WrongOrigin),
        ),
        case(
            PUBLIC,
            &[("host", "localhost:7878")],
            Ok(("127.0.0.1", "http://localhost:7878")),
        ),
    ] {
        check(&case);
    }
}

#[test]
fn the_address_of_a_connection_is_a_name_of_it_and_loopback_names_are_only_for_loopback() {
    for (headers, expected) in [
        (
            &[("host", "192.0.2.7:7878")],
            Ok(("192.0.2.50", "https://192.0.2.7:7878")),
        ),
        (&[("host", "localhost:7878")], Err(Code::WrongOrigin)),
        (&[("host", "192.0.2.8:7878")], Err(Code::WrongOrigin)),
    ] {
        check(&Case {
            peer: "192.0.2.50:4000",
            local: "192.0.2.7:7878",
            tls: true,
            ..case(PLAIN, headers, expected)
        });
    }
}

#[test]
fn a_proxy_is_believed_only_if_it_is_a_configured_one() {
    const FORWARDED: &[(&str, &str)] = &[
        ("host", "interlock.example"),
        ("x-forwarded-for", "6.6.6.6, 203.0.113.9, 10.1.1.1"),
        ("x-forwarded-proto", "https"),
    ];
    for (peer, headers, expected) in [
        // Whoever is no proxy of ours comes with TLS or not at all, whatever they write.
        ("203.0.113.5:1", FORWARDED, Err(Code::WrongOrigin)),
        (
            "127.0.0.1:1",
            FORWARDED,
            Ok(("127.0.0.1", "https://interlock.example")),
        ),
        // The nearest that is none of our proxies counts, not what stands before it.
        (
            "10.0.0.1:1",
            FORWARDED,
            Ok(("203.0.113.9", "https://interlock.example")),
        ),
        (
            "[2001:db8::1]:1",
            FORWARDED,
            Ok(("203.0.113.9", "https://interlock.example")),
        ),
        (
            "10.0.0.1:1",
            &[
                ("host", "interlock.example"),
                ("x-forwarded-for", "[2001:db9::5]:443"),
            ],
            Ok(("2001:db9::5", "https://interlock.example")),
        ),
        (
            "10.0.0.1:1",
            &[("host", "interlock.example")],
            Ok(("10.0.0.1", "https://interlock.example")),
        ),
        (
            "10.0.0.1:1",
            &[("host", "interlock.example"), ("x-forwarded-for", "unknown")],
            Err(Code::InvalidInput),
        ),
        (
            "10.0.0.1:1",
            &[
                ("host", "10.0.0.9:7878"),
                ("x-forwarded-host", "interlock.example"),
            ],
            Ok(("10.0.0.1", "https://interlock.example")),
        ),
        (
            "10.0.0.1:1",
            &[
                ("host", "interlock.example"),
                ("x-forwarded-host", "evil.example"),
            ],
            Err(Code::WrongOrigin),
        ),
        (
            "203.0.113.5:1",
            &[
                ("host", "evil.example"),
                ("x-forwarded-host", "interlock.example"),
            ],
            Err(Code::WrongOrigin),
        ),
    ] {
        check(&Case {
            peer,
            local: "10.0.0.9:7878",
            ..case(PROXIED, headers, expected)
        });
    }
    check(&Case {
        peer: "203.0.113.5:1",
        local: "10.0.0.9:7878",
        tls: true,
        ..case(
            PROXIED,
            FORWARDED,
            Ok(("203.0.113.5", "https://interlock.example")),
        )
    });
}

#[test]
fn changes_come_from_our_own_page_or_from_no_page() {
    let peer = Peer {
        address: "127.0.0.1".parse().unwrap(),
        origin: "http://127.0.0.1:7878".to_owned(),
        secure: false,
    };
    let cases: [(&[(&str, &str)], bool); 11] = [
        (&[], true),
        (&[("origin", "http://127.0.0.1:7878")], true),
        (
            &[
                ("origin", "http://127.0.0.1:7878"),
                ("sec-fetch-site", "same-origin"),
            ],
            true,
        ),
        (&[("sec-fetch-site", "none")], true),
        (&[("origin", "http://localhost:7878")], false),
        (&[("origin", "https://127.0.0.1:7878")], false),
        (&[("origin", "http://127.0.0.1:7878.evil.example")], false),
        (&[("origin", "null")], false),
        (
            &[
                ("origin", "http://127.0.0.1:7878"),
                ("origin", "http://evil.example"),
            ],
            false,
        ),
        (&[("sec-fetch-site", "cross-site")], false),
        (
            &[
                ("origin", "http://127.0.0.1:7878"),
                ("sec-fetch-site", "same-site"),
            ],
            false,
        ),
    ];
    for (headers, fine) in cases {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        assert_eq!(Site::same_origin(&map, &peer).is_ok(), fine, "{headers:?}");
    }
}
