//! Where and to whom the server speaks.

use std::net::IpAddr;

use super::{Check, is_http};

impl Check<'_> {
    pub(super) fn server(&mut self, is_set: &dyn Fn(&str) -> bool) {
        let server = &self.config.server;
        if let Some(url) = &server.public_url
            && !is_origin(url)
        {
            self.wrong(
                &["server", "public_url"],
                "is no address of a server",
                "write `https://HOST` or `https://HOST:PORT`, without a path",
            );
        }
        for (index, proxy) in server.trusted_proxies.iter().enumerate() {
            if !is_network(proxy) {
                let index = index.to_string();
                let path = ["server", "trusted_proxies", index.as_str()];
                self.wrong(
                    &path,
                    "is no address and no network",
                    "write `10.0.0.1` or `10.0.0.0/8`",
                );
            }
        }
        if let Some(tls) = &server.tls {
            self.file(&["server", "tls", "certificate"], &tls.certificate, false);
            self.file(&["server", "tls", "key"], &tls.key, false);
        }
        let proxied = !server.trusted_proxies.is_empty() && server.public_url.is_some();
        if !server.listen.ip().is_loopback() && server.tls.is_none() && !proxied {
            self.wrong(
                &["server", "listen"],
                "others can reach this address, and passwords would cross the network in the open",
                "set `server.tls`; or, behind a proxy that speaks TLS, `server.trusted_proxies` and `server.public_url`; or listen on 127.0.0.1",
            );
        }
        let (sessions, limits) = (&server.sessions, &server.limits);
        if sessions.idle > sessions.absolute {
            self.wrong(
                &["server", "sessions", "idle"],
                format!("is longer than `absolute` ({})", sessions.absolute),
                "make it shorter, or `absolute` longer",
            );
        }
        for (path, span) in [
            (["server", "sessions", "idle"], sessions.idle),
            (["server", "sessions", "absolute"], sessions.absolute),
            (["server", "limits", "header_timeout"], limits.header_timeout),
            (["server", "limits", "request_timeout"], limits.request_timeout),
        ] {
            if span.get().is_zero() {
                self.wrong(&path, "is no time at all", "give it at least `1s`");
            }
        }
        self.oidc(is_set);
    }

    fn oidc(&mut self, is_set: &dyn Fn(&str) -> bool) {
        let Some(oidc) = &self.config.server.oidc else {
            return;
        };
        let path = ["server", "oidc"];
        if !is_http(&oidc.issuer) {
            self.wrong(
                &["server", "oidc", "issuer"],
                "is no address",
                "write it as the provider does, beginning with `https://`",
            );
        } else if let Some(rest) = oidc.issuer.strip_prefix("http://")
            && !is_loopback(rest)
        {
            self.wrong(
                &["server", "oidc", "issuer"],
                "would be asked in the open who somebody is",
                "use its `https://` address",
            );
        }
        if oidc.client_id.is_empty() {
            self.wrong(
                &["server", "oidc", "client_id"],
                "is empty",
                "write what the provider knows Interlock by",
            );
        }
        if let (Some(_), Some(_)) = (&oidc.client_secret_env, &oidc.client_secret_file) {
            self.wrong(
                &path,
                "has two secrets",
                "give `client_secret_env` or `client_secret_file`, not both",
            );
        }
        self.variable(
            &path,
            "client_secret_env",
            oidc.client_secret_env.as_deref(),
            is_set,
        );
        if let Some(file) = &oidc.client_secret_file {
            self.file(&["server", "oidc", "client_secret_file"], file, false);
        }
        if oidc.roles.is_empty() && oidc.default_role.is_none() {
            self.wrong(
                &["server", "oidc", "roles"],
                "gives nobody a role, so that nobody could sign in",
                "write `roles: { GROUP: viewer }`, or `default_role`",
            );
        }
    }
}

/// A scheme, a host and perhaps a port; nothing after it.
fn is_origin(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    is_http(url) && !rest.is_empty() && !rest.contains(['/', '?', '#', '@', '\\'])
}

fn is_loopback(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_network(text: &str) -> bool {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.is_none_or(|bits| bits.parse::<u8>().is_ok_and(|bits| bits <= most))
}
