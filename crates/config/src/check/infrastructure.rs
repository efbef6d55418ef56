//! Connections to infrastructure.

use std::collections::BTreeMap;

use interlock_infra::options::{Http, Ssh, Tls};
use interlock_protocol::{ResourceId, ResourceKind};

use super::models::is_variable;
use super::{Check, is_http};
use crate::RequireReadSandbox;

impl Check<'_> {
    pub(super) fn infrastructure(&mut self, is_set: &dyn Fn(&str) -> bool) {
        let options = &self.config.infrastructure;
        self.connection_names();
        for (id, tags) in &options.tags {
            if tags.is_empty() || tags.iter().any(|tag| tag.trim().is_empty()) {
                let id = id.to_string();
                self.wrong(
                    &["infrastructure", "tags", id.as_str()],
                    "has no tag, or an empty one",
                    "write a list of words: `[prod]`",
                );
            }
        }
        if let RequireReadSandbox::Tagged(tags) = &self.config.control.require_read_sandbox
            && (tags.is_empty() || tags.iter().any(|tag| tag.trim().is_empty()))
        {
            self.wrong(
                &["control", "require_read_sandbox"],
                "names no tag, or an empty one",
                "write `true` to require a sandbox everywhere, `false` to require none, or a list of tags: `[prod]`",
            );
        }
        for path in &self.config.control.data_files {
            let plain = path.starts_with('/') && path != "/" && !path.split('/').any(|part| part == "..");
            if !plain {
                self.wrong(
                    &["control", "data_files"],
                    "names a path that is not absolute, has `..` in it, or is the root",
                    "write absolute paths of files or folders: `[/srv/app/content]`",
                );
                break;
            }
        }
        for (index, cluster) in options.proxmox.iter().enumerate() {
            let index = index.to_string();
            let path = ["infrastructure", "proxmox", index.as_str()];
            self.address(&path, &cluster.url);
            self.tls(&path, &cluster.tls);
            self.variable(
                &path,
                "token_secret_env",
                cluster.token_secret_env.as_deref(),
                is_set,
            );
            self.variable(&path, "password_env", cluster.password_env.as_deref(), is_set);
            let token = (cluster.token_id.is_some(), cluster.token_secret_env.is_some());
            let user = (cluster.user.is_some(), cluster.password_env.is_some());
            match (token, user) {
                ((true, true), (false, false)) | ((false, false), (true, true)) => {}
                ((false, false), (false, false)) => self.wrong(
                    &path,
                    "says not how to sign in",
                    "give `token_id` and `token_secret_env` (preferred), or `user` and `password_env`",
                ),
                _ => self.wrong(
                    &path,
                    "says half of how to sign in, or two ways",
                    "give `token_id` with `token_secret_env`, or `user` with `password_env`, and not both",
                ),
            }
            if let Some(ssh) = &cluster.ssh {
                self.ssh(&path, ssh, is_set);
            }
        }
        for (index, docker) in options.docker.iter().enumerate() {
            let index = index.to_string();
            let path = ["infrastructure", "docker", index.as_str(), "url"];
            if !["unix:///", "tcp://", "http://"]
                .iter()
                .any(|form| docker.url.starts_with(form))
            {
                self.wrong(
                    &path,
                    "is no address of a Docker engine",
                    "write `unix:///var/run/docker.sock` or `tcp://HOST:2375`",
                );
            }
        }
        for (index, cluster) in options.kubernetes.iter().enumerate() {
            let index = index.to_string();
            let path = ["infrastructure", "kubernetes", index.as_str()];
            self.tls(&path, &cluster.tls);
            self.variable(&path, "token_env", cluster.token_env.as_deref(), is_set);
            match (&cluster.kubeconfig, &cluster.url) {
                (Some(file), None) => self.file(&[&path[..], &["kubeconfig"]].concat(), file, false),
                (None, Some(url)) => self.address(&path, url),
                _ => self.wrong(&path, "needs `kubeconfig` or `url`", "give one of the two"),
            }
        }
        for (key, servers) in [
            ("prometheus", &options.prometheus),
            ("alertmanager", &options.alertmanager),
        ] {
            for (index, server) in servers.iter().enumerate() {
                let index = index.to_string();
                self.http(&["infrastructure", key, index.as_str()], server, is_set);
            }
        }
        for (index, gateway) in options.mail_gateways.iter().enumerate() {
            let index = index.to_string();
            let path = ["infrastructure", "mail_gateways", index.as_str()];
            self.address(&path, &gateway.url);
            self.tls(&path, &gateway.tls);
            self.variable(&path, "password_env", Some(&gateway.password_env), is_set);
        }
        for (index, host) in options.hosts.iter().enumerate() {
            let index = index.to_string();
            let path = ["infrastructure", "hosts", index.as_str()];
            self.ssh(&path, &host.ssh, is_set);
        }
    }

    /// A name is part of ids, and there is one connection of a name and kind.
    fn connection_names(&mut self) {
        let options = &self.config.infrastructure;
        let lists: [(&str, Vec<&str>); 7] = [
            (
                "proxmox",
                options.proxmox.iter().map(|it| it.name.as_str()).collect(),
            ),
            (
                "docker",
                options.docker.iter().map(|it| it.name.as_str()).collect(),
            ),
            (
                "kubernetes",
                options.kubernetes.iter().map(|it| it.name.as_str()).collect(),
            ),
            (
                "prometheus",
                options.prometheus.iter().map(|it| it.name.as_str()).collect(),
            ),
            (
                "alertmanager",
                options.alertmanager.iter().map(|it| it.name.as_str()).collect(),
            ),
            (
                "mail_gateways",
                options.mail_gateways.iter().map(|it| it.name.as_str()).collect(),
            ),
            ("hosts", options.hosts.iter().map(|it| it.name.as_str()).collect()),
        ];
        for (key, names) in lists {
            let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
            for (index, name) in names.into_iter().enumerate() {
                let at = index.to_string();
                let path = ["infrastructure", key, at.as_str(), "name"];
                if let Err(error) = ResourceId::hosted(ResourceKind::DockerContainer, name, "x") {
                    self.wrong(
                        &path,
                        format!("is no name: {error}"),
                        "use letters, digits, `.`, `_` and `-`",
                    );
                }
                if let Some(first) = seen.insert(name, index) {
                    self.wrong(
                        &path,
                        format!("`{name}` is the name of infrastructure.{key}[{first}] already"),
                        "give each connection a name of its own",
                    );
                }
            }
        }
    }

    fn http(&mut self, path: &[&str], server: &Http, is_set: &dyn Fn(&str) -> bool) {
        self.address(path, &server.url);
        self.tls(path, &server.tls);
        self.variable(path, "token_env", server.token_env.as_deref(), is_set);
        self.variable(path, "password_env", server.password_env.as_deref(), is_set);
        if server.user.is_some() != server.password_env.is_some() {
            self.wrong(
                path,
                "says half of how to sign in",
                "give `user` with `password_env`, or neither",
            );
        }
    }

    fn address(&mut self, path: &[&str], url: &str) {
        let path = [path, &["url"]].concat();
        if !is_http(url) {
            self.wrong(&path, "is no address", "begin with `https://` or `http://`");
        } else if url.starts_with("http://") && !is_loopback(url) {
            self.warn(
                &path,
                "is not encrypted: anyone on the way can read what is said, credentials too",
                "use `https://`, with `tls.fingerprint` or `tls.ca_file` for a certificate of your own",
            );
        }
    }

    fn tls(&mut self, path: &[&str], tls: &Tls) {
        if let Some(file) = &tls.ca_file {
            self.file(&[path, &["tls", "ca_file"]].concat(), file, false);
        }
        let is_fingerprint = |text: &str| {
            let digits: String = text.split(':').collect();
            digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit())
        };
        if let Some(fingerprint) = &tls.fingerprint
            && !is_fingerprint(fingerprint)
        {
            self.wrong(
                &[path, &["tls", "fingerprint"]].concat(),
                "is no SHA-256",
                "write 32 pairs of hex digits, as Proxmox shows them under Certificates",
            );
        }
    }

    fn ssh(&mut self, path: &[&str], ssh: &Ssh, is_set: &dyn Fn(&str) -> bool) {
        let path = [path, &["ssh"]].concat();
        self.file(&[&path[..], &["known_hosts"]].concat(), &ssh.known_hosts, false);
        if let Some(file) = &ssh.key_file {
            self.file(&[&path[..], &["key_file"]].concat(), file, false);
        }
        self.variable(&path, "password_env", ssh.password_env.as_deref(), is_set);
        if ssh.key_file.is_none() && ssh.password_env.is_none() {
            self.wrong(
                &path,
                "says not how to sign in",
                "give `key_file` (preferred) or `password_env`",
            );
        }
    }

    pub(super) fn variable(
        &mut self,
        path: &[&str],
        key: &str,
        variable: Option<&str>,
        is_set: &dyn Fn(&str) -> bool,
    ) {
        let Some(variable) = variable else { return };
        let path = [path, &[key]].concat();
        if !is_variable(variable) {
            self.wrong(
                &path,
                "is no name of an environment variable",
                "write its name, not its value",
            );
        } else if !is_set(variable) {
            self.warn(
                &path,
                format!("the environment variable `{variable}` is not set"),
                "set it before you start Interlock",
            );
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let host = url.trim_start_matches("http://");
    ["127.", "localhost", "[::1]"]
        .iter()
        .any(|name| host.starts_with(name))
}
