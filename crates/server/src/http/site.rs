//! Where we are reached, and from whom a request really comes.
//!
//! A page of another site can make its own name lead to our address (DNS rebinding); the browser then sends that name as
//! the host. So a request is taken only for a name that is known to be ours. What a proxy says about the client is believed
//! only if the proxy is a configured one.

use std::net::{IpAddr, SocketAddr};

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, header};
use interlock_config::Server;
use ipnet::IpNet;

use crate::problem::{Code, Problem};
use crate::serve::{Connection, Error};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// From whom a request comes, and how they reached us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The client's address.
    pub(crate) address: IpAddr,
    /// How its browser reaches us: `https://interlock.example`.
    pub(crate) origin: String,
    /// Whether that is HTTPS.
    pub(crate) secure: bool,
}

/// Where we are reached.
#[derive(Debug)]
pub(crate) struct Site {
    address: SocketAddr,
    tls: bool,
    public: Option<Public>,
    proxies: Vec<IpNet>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Public {
    secure: bool,
    /// The host and, unless it is the scheme's own, the port.
    host: String,
}

impl Site {
    /// As configured, at the address that we listen on.
    pub(crate) fn new(server: &Server, address: SocketAddr) -> Result<Self, Error> {
        let public = server
            .public_url
            .as_deref()
            .map(|url| {
                public(url).ok_or_else(|| Error::Setting {
                    key: "server.public_url",
                    reason: "it is no address of a server".to_owned(),
                })
            })
            .transpose()?;
        let proxies = server
            .trusted_proxies
            .iter()
            .map(|text| network(text))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::Setting {
                key: "server.trusted_proxies",
                reason: "one of them is no address and no network".to_owned(),
            })?;
        Ok(Self {
            address,
            tls: server.tls.is_some(),
            public,
            proxies,
        })
    }

    /// How people reach it.
    pub(crate) fn url(&self) -> String {
        match &self.public {
            Some(public) => origin(public.secure, &public.host),
            None => origin(self.tls, &short(&self.address.to_string(), self.tls)),
        }
    }

    /// From whom a request comes; a problem if it was not meant for us.
    pub(crate) fn peer(&self, parts: &Parts, connection: Connection) -> Result<Peer, Problem> {
        let trusted = self.trusts(connection.peer.ip());
        if !(connection.tls || trusted || connection.peer.ip().is_loopback()) {
            return Err(Problem::new(
                Code::WrongOrigin,
                "what others can reach is not served in the open",
            )
            .hint(format!(
                "use {}; only a configured proxy comes here directly",
                self.url()
            )));
        }
        let address = if trusted {
            self.client(&parts.headers, connection.peer.ip())?
        } else {
            connection.peer.ip()
        };
        let mut secure = connection.tls;
        let mut host = named_host(parts)?;
        if trusted {
            match last(&parts.headers, &FORWARDED_PROTO)?.as_deref() {
                None => {}
                Some("https") => secure = true,
                Some("http") => secure = false,
                Some(_) => return Err(unreadable("x-forwarded-proto")),
            }
            if let Some(named) = last(&parts.headers, &FORWARDED_HOST)? {
                host = Some(named.parse().map_err(|_| unreadable("x-forwarded-host"))?);
            }
        }
        let Some(host) = host else {
            return Err(self.wrong_host("no host"));
        };
        let host = host.as_str().to_ascii_lowercase();
        if host.contains('@') {
            return Err(self.wrong_host("a host with a user"));
        }
        let shown = short(&host, secure);
        if let Some(public) = &self.public
            && public.host == short(&host, public.secure)
        {
            return Ok(Peer {
                address,
                origin: origin(public.secure, &public.host),
                secure: public.secure,
            });
        }
        if own_names(connection.local).any(|name| short(&name, secure) == shown) {
            return Ok(Peer {
                address,
                origin: origin(secure, &shown),
                secure,
            });
        }
        Err(self.wrong_host(&format!("`{}`", host.chars().take(80).collect::<String>())))
    }

    /// Whether a change, or a stream in both directions, comes from our own page or from no page at all.
    pub(crate) fn same_origin(headers: &HeaderMap, peer: &Peer) -> Result<(), Problem> {
        let refused = |what: String| {
            Err(Problem::new(Code::WrongOrigin, what)
                .hint("changes are taken from Interlock's own page, or from a program with an API token"))
        };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => {}
            (Some(value), None) if value.as_bytes() == peer.origin.as_bytes() => {}
            (Some(_), _) => {
                return refused("the request comes from the page of another site".to_owned());
            }
        }
        match headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => refused("the browser says that another site asked for this".to_owned()),
        }
    }

    /// Whether an address is one of our proxies.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.proxies
            .iter()
            .any(|network| network.contains(&address.to_canonical()))
    }

    /// The nearest address in the chain that is not one of our proxies: what stands before it anybody could have written.
    fn client(&self, headers: &HeaderMap, nearest: IpAddr) -> Result<IpAddr, Problem> {
        let mut client = nearest;
        let values: Vec<_> = headers.get_all(&FORWARDED_FOR).iter().collect();
        for value in values.into_iter().rev() {
            let text = value.to_str().map_err(|_| unreadable("x-forwarded-for"))?;
            for entry in text.rsplit(',') {
                client = forwarded_address(entry.trim()).ok_or_else(|| unreadable("x-forwarded-for"))?;
                if !self.trusts(client) {
                    return Ok(client);
                }
            }
        }
        Ok(client)
    }

    fn wrong_host(&self, what: &str) -> Problem {
        Problem::new(
            Code::WrongOrigin,
            format!("the request is for {what}, which is not this server"),
        )
        .hint(format!(
            "use {}; if people reach it by another name, set `server.public_url`",
            self.url()
        ))
    }
}

/// What the request says whom it is for; HTTP/2 says it in the address, HTTP/1.1 in a header.
fn named_host(parts: &Parts) -> Result<Option<Authority>, Problem> {
    let mut headers = parts.headers.get_all(header::HOST).iter();
    let header = match (headers.next(), headers.next()) {
        (None, _) => None,
        (Some(value), None) => Some(
            value
                .to_str()
                .ok()
                .and_then(|text| text.parse::<Authority>().ok())
                .ok_or_else(|| unreadable("host"))?,
        ),
        (Some(_), Some(_)) => return Err(unreadable("host")),
    };
    match (parts.uri.authority(), header) {
        (Some(address), Some(header)) if *address != header => Err(unreadable("host")),
        (Some(address), _) => Ok(Some(address.clone())),
        (None, header) => Ok(header),
    }
}

fn unreadable(header: &str) -> Problem {
    Problem::new(
        Code::InvalidInput,
        format!("the header `{header}` cannot be understood"),
    )
}

/// The last value of a header: the one that the nearest proxy wrote.
fn last(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get_all(name).iter().next_back() else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| unreadable(name.as_str()))?;
    let entry = text.rsplit(',').next().unwrap_or_default().trim();
    Ok(Some(entry.to_ascii_lowercase()))
}

/// `192.0.2.1`, `192.0.2.1:50412`, `2001:db8::1` or `[2001:db8::1]:50412`.
fn forwarded_address(text: &str) -> Option<IpAddr> {
    let address = text
        .parse::<IpAddr>()
        .or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()))
        .or_else(|_| text.trim_start_matches('[').trim_end_matches(']').parse());
    address.ok().map(|address| address.to_canonical())
}

/// The names by which this end of a connection may be called: its address and, on loopback, its usual name.
fn own_names(local: SocketAddr) -> impl Iterator<Item = String> {
    let port = local.port();
    let loopback = local.ip().is_loopback().then(|| {
        [
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
        ]
    });
    std::iter::once(local.to_string()).chain(loopback.into_iter().flatten())
}

/// The host without the port that its scheme has anyway.
fn short(host: &str, secure: bool) -> String {
    let port = if secure { ":443" } else { ":80" };
    host.strip_suffix(port).unwrap_or(host).to_owned()
}

fn origin(secure: bool, host: &str) -> String {
    format!("{}://{host}", if secure { "https" } else { "http" })
}

fn public(url: &str) -> Option<Public> {
    let url: http::Uri = url.parse().ok()?;
    let secure = match url.scheme_str()? {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let host = url.authority()?.as_str().to_ascii_lowercase();
    if host.contains('@') || !matches!(url.path(), "" | "/") || url.query().is_some() {
        return None;
    }
    Some(Public {
        secure,
        host: short(&host, secure),
    })
}

fn network(text: &str) -> Option<IpNet> {
    text.parse::<IpNet>()
        .ok()
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
