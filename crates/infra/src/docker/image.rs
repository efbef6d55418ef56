//! The name of an image: a repository with a tag or a digest.

use std::fmt;
use std::str::FromStr;

use crate::Error;

const MOST_BYTES: usize = 512;

/// The name of an image, whole: `nginx:1.27`, `ghcr.io/a/b@sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRef {
    text: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl ImageRef {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What to pull: the repository, and its tag or digest. Never all tags of it.
    pub(super) fn to_pull(&self) -> (String, String) {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => (self.repository.clone(), digest.clone()),
            (None, Some(tag)) => (self.repository.clone(), tag.clone()),
            (None, None) => (self.repository.clone(), "latest".to_owned()),
        }
    }

    /// Whether it always names the same content.
    pub(super) const fn is_pinned(&self) -> bool {
        self.digest.is_some()
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for ImageRef {
    type Err = Error;

    /// Takes what can go into an address without changing what it means.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let shown: String = text.escape_debug().take(80).collect();
            Error::Unsupported(format!(
                "`{shown}` is no name of an image: write `repository:tag`"
            ))
        };
        if text.len() > MOST_BYTES {
            return Err(wrong());
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(wrong());
        }
        let last = name.rfind('/').map_or(0, |at| at + 1);
        let (repository, tag) = match name[last..].split_once(':') {
            Some((end, tag)) => (&name[..last + end.len()], Some(tag)),
            None => (name, None),
        };
        if !repository.split('/').enumerate().all(is_component) || tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }
}

/// The first part may be a registry with a port.
fn is_component((place, part): (usize, &str)) -> bool {
    let colons = usize::from(place == 0);
    part.starts_with(|c: char| c.is_ascii_alphanumeric())
        && part.matches(':').count() <= colons
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':'))
}

fn is_tag(tag: &str) -> bool {
    tag.len() <= 128
        && tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && tag
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

fn is_digest(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
    })
}

#[cfg(test)]
mod tests {
    use super::ImageRef;

    #[test]
    fn a_name_says_what_to_pull_and_nothing_else() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let pinned = format!("ghcr.io/a/b:1@{digest}");
        let cases: &[(&str, Option<(&str, &str)>)] = &[
            ("nginx", Some(("nginx", "latest"))),
            ("nginx:1.27", Some(("nginx", "1.27"))),
            ("registry.lan:5000/a/b", Some(("registry.lan:5000/a/b", "latest"))),
            ("registry.lan:5000/a/b:v1", Some(("registry.lan:5000/a/b", "v1"))),
            (&pinned, Some(("ghcr.io/a/b", &digest))),
            ("", None),
            ("nginx:", None),
            (":tag", None),
            ("../x", None),
            ("a/../b", None),
            ("a//b", None),
            ("nginx?x=1", None),
            ("nginx tag", None),
            ("nginx@sha256:12", None),
            ("-nginx", None),
        ];
        for (text, expected) in cases {
            let got = text.parse::<ImageRef>().ok().map(|image| image.to_pull());
            let got = got.as_ref().map(|(name, tag)| (name.as_str(), tag.as_str()));
            assert_eq!(got, *expected, "{text}");
        }
    }
}
