//! What a service answers: its page, its health and its metrics.

use std::fmt::Write as _;
use std::fs;

use serde_json::json;

use super::Service;
use super::log::reason;

/// An answer.
pub(super) struct Answer {
    pub(super) status: (u16, &'static str),
    pub(super) kind: &'static str,
    pub(super) body: String,
}

const OK: (u16, &str) = (200, "OK");
const HTML: &str = "text/html; charset=utf-8";

/// Answers a request for a path.
pub(super) fn answer(service: &Service, method: &str, path: &str) -> Answer {
    if !matches!(method, "GET" | "HEAD") {
        return plain((405, "Method Not Allowed"), "method not allowed\n");
    }
    match path.split('?').next().unwrap_or(path) {
        "/" | "/index.html" => page(service),
        "/health" | "/healthz" => health(service),
        "/metrics" => metrics(service),
        _ => plain((404, "Not Found"), "not found\n"),
    }
}

fn plain(status: (u16, &'static str), body: &str) -> Answer {
    Answer {
        status,
        kind: "text/plain; charset=utf-8",
        body: body.to_owned(),
    }
}

fn page(service: &Service) -> Answer {
    let config = service.config();
    let title = escape(config.page.as_ref().unwrap_or(&config.name));
    let entries = match config.entries.as_deref().map(|path| entries(service, path)) {
        None => String::new(),
        Some(Ok(html)) => html,
        Some(Err(why)) => {
            service.log.write(super::Severity::Error, &why);
            return Answer {
                status: (500, "Internal Server Error"),
                kind: HTML,
                body: format!(
                    "<!doctype html><title>{title}</title><h1>Error</h1><p>{}</p>\n",
                    escape(&why)
                ),
            };
        }
    };
    let body = format!(
        "<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1>{entries}\
         <footer>{} {}</footer></body></html>\n",
        escape(&config.name),
        escape(&config.version)
    );
    Answer {
        status: OK,
        kind: HTML,
        body,
    }
}

fn entries(service: &Service, path: &str) -> Result<String, String> {
    let text = service
        .root
        .at(path)
        .and_then(fs::read_to_string)
        .map_err(|cause| format!("cannot read {path}: {}", reason(&cause)))?;
    let lines = yaml(&text).map_err(|(line, why)| format!("{path}: line {line}: {why}"))?;
    let mut html = "<ul>".to_owned();
    for (indent, line) in lines {
        let _ = write!(html, "<li style=\"margin-left:{indent}ch\">{}</li>", escape(line));
    }
    html.push_str("</ul>");
    Ok(html)
}

/// The entries of a file in the plain kind of YAML that people write by hand: lists and mappings by their indentation.
/// Otherwise the line that is wrong, and why.
fn yaml(text: &str) -> Result<Vec<(usize, &str)>, (usize, &'static str)> {
    let mut lines = Vec::new();
    let mut levels: Vec<usize> = Vec::new();
    let mut scalar_before = false;
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') || content == "---" {
            continue;
        }
        let lead = line.get(..line.len() - content.len()).unwrap_or("");
        if lead.contains('\t') {
            return Err((number + 1, "found character '\\t' that cannot start any token"));
        }
        let mut indent = lead.len();
        let mut item = content;
        while levels.last().is_some_and(|level| *level > indent) {
            levels.pop();
            scalar_before = false;
        }
        if levels.last() != Some(&indent) {
            if scalar_before || (levels.is_empty() && !lines.is_empty()) {
                return Err((number + 1, "bad indentation of a mapping entry"));
            }
            levels.push(indent);
        }
        while let Some(rest) = item.strip_prefix("- ") {
            indent += item.len() - rest.trim_start().len();
            item = rest.trim_start();
            levels.push(indent);
        }
        scalar_before = check_item(item).map_err(|why| (number + 1, why))?;
        lines.push((lead.len(), content.trim_end()));
    }
    Ok(lines)
}

/// Whether an entry has a value on its own line.
fn check_item(item: &str) -> Result<bool, &'static str> {
    let item = item.trim_end();
    for (open, close) in [('[', ']'), ('{', '}')] {
        if item.matches(open).count() != item.matches(close).count() {
            return Err("expected the end of a flow collection");
        }
    }
    for quote in ['"', '\''] {
        let starts = item.starts_with(quote) || item.contains(&format!(": {quote}"));
        if starts && !item.matches(quote).count().is_multiple_of(2) {
            return Err("found unexpected end of stream while scanning a quoted scalar");
        }
    }
    if item == "-" || item.ends_with(':') {
        return Ok(false);
    }
    match item.split_once(": ") {
        Some((key, _)) if key.is_empty() => Err("a key is missing"),
        Some((_, value)) if value.contains(": ") && !value.starts_with(['"', '\'', '{', '[']) => {
            Err("mapping values are not allowed in this context")
        }
        Some((_, value)) => Ok(!value.is_empty()),
        None => Ok(true),
    }
}

fn health(service: &Service) -> Answer {
    let config = service.config();
    let failing = service.failing();
    let status = match failing {
        None => OK,
        Some(_) => (503, "Service Unavailable"),
    };
    let body = match failing {
        None => json!({"status": "ok", "name": config.name, "version": config.version}),
        Some(reason) => {
            json!({"status": "failing", "reason": reason, "name": config.name, "version": config.version})
        }
    };
    Answer {
        status,
        kind: "application/json",
        body: format!("{body}\n"),
    }
}

fn metrics(service: &Service) -> Answer {
    let up = u8::from(service.failing().is_none());
    let rows = [
        ("up", "gauge", u64::from(up)),
        ("requests_total", "counter", service.requests()),
        ("sessions", "gauge", service.sessions() as u64),
        ("log_bytes_total", "counter", service.log.bytes()),
    ];
    let mut body = String::new();
    for (name, kind, value) in rows {
        let _ = write!(body, "# TYPE {name} {kind}\n{name} {value}\n");
    }
    Answer {
        status: OK,
        kind: "text/plain; version=0.0.4",
        body,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::yaml;

    #[test]
    fn yaml_as_people_write_it() {
        let cases = [
            (
                "- Media:\n    - Jellyfin:\n        href: http://x:8096/\n        icon: j\n- Other:\n",
                None,
            ),
            ("a: 1\nb:\n  - x\n  - y: z\n    w: v\n", None),
            ("# only\n\n---\n", None),
            ("a: 1\n  b: 2\n", Some(2)),
            ("a:\n\t- b\n", Some(2)),
            ("a: b: c\n", Some(1)),
            ("a: [1, 2\n", Some(1)),
            ("a: \"open\n", Some(1)),
            ("  a:\n    b: 1\n c: 2\n", Some(3)),
        ];
        for (text, expected) in cases {
            assert_eq!(yaml(text).err().map(|(line, _)| line), expected, "{text}");
        }
    }
}
