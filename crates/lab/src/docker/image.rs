//! Images and their references.

use crate::docker::spec::ImageSpec;
use crate::docker::wire::digest;

/// What somebody calls an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) repository: String,
    pub(super) tag: String,
}

impl Reference {
    /// Reads `repository[:tag]`, in its short form: without `docker.io/library/`.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.split_once('@').map_or(text, |(name, _)| name);
        let text = text.strip_prefix("docker.io/").unwrap_or(text);
        let text = text.strip_prefix("library/").unwrap_or(text);
        match text.rsplit_once(':') {
            // A colon before a slash belongs to the port of a registry.
            Some((repository, tag)) if !tag.contains('/') && !tag.is_empty() => Self {
                repository: repository.to_owned(),
                tag: tag.to_owned(),
            },
            _ => Self {
                repository: text.trim_end_matches(':').to_owned(),
                tag: "latest".to_owned(),
            },
        }
    }

    pub(super) fn names(&self, image: &ImageSpec) -> bool {
        image.repository == self.repository && image.tag == self.tag
    }
}

/// Finds an image by reference, id or the beginning of an id.
pub(super) fn find<'a>(images: &'a [ImageSpec], text: &str) -> Option<&'a ImageSpec> {
    let reference = Reference::parse(text);
    images.iter().find(|image| reference.names(image)).or_else(|| {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let hexadecimal = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        images
            .iter()
            .find(|image| hexadecimal && image.id.trim_start_matches("sha256:").starts_with(digits))
    })
}

/// Gives an image that has no id one that follows from its content.
pub(super) fn with_id(mut image: ImageSpec) -> ImageSpec {
    let reference = Reference::parse(&image.reference());
    image.repository = reference.repository;
    image.tag = reference.tag;
    if image.id.is_empty() {
        let mut parts = vec![image.repository.as_bytes(), image.tag.as_bytes()];
        parts.extend(image.argv.iter().map(String::as_bytes));
        parts.extend(image.files.iter().map(|file| file.content.as_slice()));
        image.id = format!("sha256:{}", digest(&parts));
    }
    image
}

#[cfg(test)]
mod tests {
    use super::Reference;

    #[test]
    fn references_are_read_as_docker_does() {
        for (text, repository, tag) in [
            ("nginx", "nginx", "latest"),
            ("docker.io/library/nginx:1.27", "nginx", "1.27"),
            ("ghcr.io/example/web:2.0", "ghcr.io/example/web", "2.0"),
            ("registry:5000/web", "registry:5000/web", "latest"),
            ("web@sha256:00ff", "web", "latest"),
            ("", "", "latest"),
            (":", "", "latest"),
        ] {
            let expected = Reference {
                repository: repository.to_owned(),
                tag: tag.to_owned(),
            };
            assert_eq!(Reference::parse(text), expected, "{text}");
        }
    }
}
