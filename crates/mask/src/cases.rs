//! The table of cases that `docs/masking.md` speaks of: forms of secrets, each with its origin, and how many are masked.
//!
//! No case is a real secret, and none stands here as a text: each is put together from a beginning, an alphabet and a length.

use std::fmt::Write as _;

use crate::forms::FORMS;
use crate::{Masker, tokens};

/// A secret that is in no text by chance.
const CANARY: &str = "Qz7Wk2Xv9Rm4Tb6";

/// Names of settings, with where they come from.
const NAMES: &[(&str, &str)] = &[
    ("PostgreSQL image", "POSTGRES_PASSWORD"),
    ("MySQL image", "MYSQL_ROOT_PASSWORD"),
    ("MariaDB image", "MARIADB_PASSWORD"),
    ("MongoDB image", "MONGO_INITDB_ROOT_PASSWORD"),
    ("libpq", "PGPASSWORD"),
    ("mysql", "MYSQL_PWD"),
    ("restic", "RESTIC_PASSWORD"),
    ("borg", "BORG_PASSPHRASE"),
    ("Grafana", "GF_SECURITY_ADMIN_PASSWORD"),
    ("Django", "SECRET_KEY"),
    ("Rails", "SECRET_KEY_BASE"),
    ("Laravel", "APP_KEY"),
    ("Vault", "VAULT_TOKEN"),
    ("Consul", "CONSUL_HTTP_TOKEN"),
    ("Nomad", "NOMAD_TOKEN"),
    ("GitHub", "GITHUB_TOKEN"),
    ("GitHub", "TOKEN_GITHUB"),
    ("GitLab", "CI_JOB_TOKEN"),
    ("Slack", "SLACK_BOT_TOKEN"),
    ("AWS", "AWS_SECRET_ACCESS_KEY"),
    ("AWS", "AWS_SESSION_TOKEN"),
    ("Azure", "AZURE_CLIENT_SECRET"),
    ("Azure", "AZURE_STORAGE_KEY"),
    ("Cloudflare", "CF_API_TOKEN"),
    ("Cloudflare", "CLOUDFLARE_API_KEY"),
    ("Hetzner", "HCLOUD_TOKEN"),
    ("DigitalOcean", "DIGITALOCEAN_ACCESS_TOKEN"),
    ("Datadog", "DD_API_KEY"),
    ("New Relic", "NEW_RELIC_LICENSE_KEY"),
    ("Sentry", "SENTRY_AUTH_TOKEN"),
    ("npm", "NPM_TOKEN"),
    ("Docker", "DOCKER_PASSWORD"),
    ("Proxmox", "PROXMOX_TOKEN_SECRET"),
    ("Proxmox", "PVE_PASSWORD"),
    ("Kafka", "sasl.jaas.password"),
    ("Spring", "spring.datasource.password"),
    ("Spring", "server.ssl.key-store-password"),
    ("Redis", "requirepass"),
    ("Redis", "masterauth"),
    ("OpenLDAP", "rootpw"),
    ("nslcd", "bindpw"),
    ("wpa_supplicant", "psk"),
    ("hostapd", "wpa_passphrase"),
    ("WordPress", "AUTH_KEY"),
    ("WordPress", "DB_PASSWORD"),
    ("phpMyAdmin", "blowfish_secret"),
    ("JWT libraries", "JWT_SECRET"),
    ("OAuth 2.0, RFC 6749", "client_secret"),
    ("OAuth 2.0, RFC 6749", "refresh_token"),
    ("OpenID Connect", "id_token"),
    ("Twilio", "TWILIO_AUTH_TOKEN"),
    ("Stripe", "STRIPE_SECRET_KEY"),
    ("SMTP", "SMTP_PASS"),
    ("SMTP", "smtpPassword"),
    ("environments", "DB_PASSWORD_PROD"),
    ("environments", "DB_PASSWORD_STAGING"),
    ("environments", "API_KEY_LIVE"),
    ("environments", "SECRET_KEY_V2"),
    ("environments", "PASSWORD_REPLICA_2"),
    ("written together", "DBPASS"),
    ("written together", "MYSQLPASS"),
    ("written together", "dbpassword"),
    ("written together", "ADMINPASS"),
    ("camel case", "dbPassword"),
    ("camel case", "apiKeyProd"),
    ("camel case", "accessToken"),
    ("HTTP header", "X-Api-Key"),
    ("HTTP header", "X-Auth-Token"),
    ("HTTP header", "X-Vault-Token"),
    ("HTTP header", "PRIVATE-TOKEN"),
];

/// How a name and a value are written, with where.
const WRITTEN: &[(&str, &str)] = &[
    ("environment", "NAME=VALUE"),
    ("YAML", "  NAME: VALUE"),
    ("JSON", "{\"a\": 1, \"NAME\": \"VALUE\", \"b\": 2}"),
    ("JSON in JSON", r#"{"body":"{\"NAME\":\"VALUE\"}"}"#),
    ("TOML", "NAME = \"VALUE\""),
    ("log", "level=info NAME=VALUE user=bob"),
];

/// Files and documents, with their origin. `VALUE` is the secret.
const FILES: &[(&str, &str)] = &[
    (
        "Kubernetes Secret, YAML",
        "apiVersion: v1\nkind: Secret\ndata:\n  a.txt: VALUE\ntype: Opaque\n",
    ),
    (
        "Kubernetes Secret, kind last",
        "apiVersion: v1\ndata:\n  a: VALUE\nkind: Secret\nmetadata:\n  name: x\n",
    ),
    (
        "Kubernetes Secret, cut at its beginning",
        "  b: Zm9vYmFyMTIz\n  a: VALUE\nkind: Secret\nmetadata:\n  name: x\n",
    ),
    (
        "Kubernetes Secret, cut at its end",
        "apiVersion: v1\ndata:\n  a: VALUE\n  b: Zm9",
    ),
    (
        "Kubernetes Secret, JSON",
        "{\n  \"apiVersion\": \"v1\",\n  \"data\": {\n    \"a\": \"VALUE\"\n  },\n  \"kind\": \"Secret\"\n}\n",
    ),
    (
        "Kubernetes Secret, JSON cut at its beginning",
        "    \"a\": \"VALUE\"\n  },\n  \"kind\": \"Secret\",\n  \"metadata\": {}\n}\n",
    ),
    (
        "Kubernetes SecretList, YAML",
        "apiVersion: v1\nitems:\n- data:\n    a: VALUE\n  metadata:\n    name: x\nkind: SecretList\n",
    ),
    (
        "Kubernetes SecretList, JSON",
        "{\"items\":[{\"data\":{\"a\":\"VALUE\"},\"metadata\":{\"name\":\"x\"}}],\"kind\":\"SecretList\"}\n",
    ),
    (
        "Kubernetes last-applied",
        "metadata:\n  annotations:\n    last-applied: |\n      {\"apiVersion\":\"v1\",\"data\":{\"a\":\"VALUE\"},\"kind\":\"Secret\"}\n",
    ),
    (
        "PEM, RFC 7468",
        "-----BEGIN RSA PRIVATE KEY-----\nVALUE\n-----END RSA PRIVATE KEY-----\n",
    ),
    (
        "PEM without its end",
        "-----BEGIN PRIVATE KEY-----\nVALUE\nVALUE\n",
    ),
    (
        "OpenSSH",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nVALUE\n-----END OPENSSH PRIVATE KEY-----\n",
    ),
    (
        "OpenVPN",
        "-----BEGIN OpenVPN Static key V1-----\nVALUE\n-----END OpenVPN Static key V1-----\n",
    ),
    (".netrc", "machine h\nlogin bob\npassword VALUE\n"),
    (".netrc, one line", "machine h login bob password VALUE\n"),
    (".pgpass", "db.example:5432:*:bob:VALUE\n"),
    ("htpasswd", "bob:$apr1$VALUE$aaaaBBBBcccc\n"),
    ("shadow", "root:$6$salt$VALUE:19000:0:99999:7:::\n"),
    (
        "docker secrets in compose",
        "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: VALUE\n",
    ),
    (
        "an object of secrets, YAML",
        "secrets:\n  smtp: VALUE\n  imap: VALUE\n",
    ),
    (
        "an object of secrets, JSON",
        "{\"passwords\": {\"bob\": \"VALUE\"}, \"a\": 1}\n",
    ),
    ("an object of tokens, JSON", "{\"tokens\": {\"ci\": \"VALUE\"}}\n"),
    (
        "Terraform state",
        "{\"outputs\": {\"x\": {\"value\": \"VALUE\", \"type\": \"string\", \"sensitive\": true}}}\n",
    ),
    (
        "Terraform state",
        "\"attributes\": {\n  \"master_password\": \"VALUE\"\n}\n",
    ),
    ("Kubernetes variables", "- name: DB_PASSWORD\n  value: VALUE\n"),
    ("YAML block", "password: |\n  VALUE\n  VALUE\nuser: bob\n"),
    ("YAML, value below", "password:\n  VALUE\nuser: bob\n"),
    ("quoted over lines", "password: \"first\n  VALUE\"\n"),
    ("redis.conf", "requirepass VALUE\n"),
    ("redis ACL", "user default on >VALUE ~* +@all\n"),
    ("keepalived", "    auth_pass VALUE\n"),
    ("snmpd.conf", "rocommunity VALUE 10.0.0.0/8\n"),
    ("HAProxy", "  user bob insecure-password VALUE\n"),
    ("HAProxy", "  stats auth admin:VALUE\n"),
    ("Cisco IOS", "username bob password 0 VALUE\n"),
    ("rndc.key", "  secret \"VALUE\";\n"),
    (
        "Proxmox token",
        "root@pam!mon 12345678-1234-1234-1234-VALUE_HEX12\n",
    ),
    ("Maven settings", "<password>VALUE</password>\n"),
    ("XML", "<add key=\"DbPassword\" value=\"VALUE\" />\n"),
    ("HTTP, RFC 9110", "Authorization: Bearer VALUE\n"),
    ("HTTP, unknown scheme", "Authorization: Hawk VALUE\n"),
    ("HTTP, no scheme", "authorization: VALUE0123456789\n"),
    ("HTTP cookie, RFC 6265", "Cookie: session=VALUE; theme=dark\n"),
    ("HTTP cookie, RFC 6265", "Set-Cookie: sid=VALUE; Path=/\n"),
    ("address, RFC 3986", "postgres://bob:VALUE@db:5432/x\n"),
    (
        "signed address",
        "https://s3.example/x?X-Amz-Signature=VALUE0123456789abcdef\n",
    ),
    (
        "query, encoded",
        "GET /login?body=%7B%22password%22%3A%22VALUE%22%7D HTTP/1.1\n",
    ),
    ("HTML", "{&quot;password&quot;:&quot;VALUE&quot;}\n"),
    ("command line", "x --api-key VALUE --json\n"),
    ("mysql", "mysql -u root -pVALUE -h db\n"),
    ("curl", "curl -s -u bob:VALUE https://x\n"),
    ("sshpass", "sshpass -p VALUE ssh x\n"),
    ("redis-cli", "redis-cli -h r -a VALUE ping\n"),
    ("SQL", "ALTER USER bob IDENTIFIED BY 'VALUE';\n"),
    ("Go map", "map[password:VALUE user:bob]\n"),
    ("Python dictionary", "{'password': 'VALUE', 'a': 1}\n"),
    ("Ruby hash", "{:password=>\"VALUE\", :a=>1}\n"),
    ("PHP array", "'password' => 'VALUE',\n"),
];

/// What tools put around a text.
const AROUND: &[&str] = &[
    "nothing",
    "grep -n",
    "cat -n",
    "diff",
    "syslog",
    "colours",
    "docker compose",
];

fn around(how: &str, text: &str) -> String {
    let each = |f: &dyn Fn(usize, &str) -> String| {
        let mut out = String::new();
        for (index, line) in text.lines().enumerate() {
            let _ = writeln!(out, "{}", f(index + 1, line));
        }
        out
    };
    match how {
        "grep -n" => each(&|number, line| format!("{number}:{line}")),
        "cat -n" => each(&|number, line| format!("{number:6}\t{line}")),
        "diff" => format!("@@ -1,9 +1,9 @@\n{}", each(&|_, line| format!("+{line}"))),
        "syslog" => each(&|_, line| format!("Nov 15 05:28:26 delly app[12]: {line}")),
        "colours" => each(&|_, line| {
            let at = line.floor_char_boundary(line.len() / 2);
            format!("\u{1b}[1;31m{}\u{1b}[0m\u{1b}[K{}", &line[..at], &line[at..])
        }),
        "docker compose" => each(&|_, line| format!("web-1  | {line}")),
        _ => text.to_owned(),
    }
}

/// Every case: its origin, its text, and the secret in it.
pub(crate) fn cases() -> Vec<(String, String, String)> {
    let mut cases = Vec::new();
    for (origin, token, secret) in tokens::samples() {
        cases.push((
            format!("token of {origin}"),
            format!("found {token} in it"),
            secret,
        ));
    }
    for (origin, name) in NAMES {
        for (how, form) in WRITTEN {
            let text = form.replace("NAME", name).replace("VALUE", CANARY);
            cases.push((format!("{name} ({origin}), {how}"), text, CANARY.to_owned()));
        }
    }
    for (origin, text) in FILES {
        for how in AROUND {
            let (text, secret) = if text.contains("VALUE_HEX12") {
                (text.replace("VALUE_HEX12", "c0ffee123456"), "c0ffee123456")
            } else {
                (text.replace("VALUE", CANARY), CANARY)
            };
            cases.push((format!("{origin}, {how}"), around(how, &text), secret.to_owned()));
        }
    }
    for (origin, form, own) in FORMS {
        let secret = if own.is_empty() { CANARY } else { own };
        let text = form.replace("VALUE", CANARY).replace("SECRET", secret);
        for how in ["nothing", "grep -n", "syslog", "diff"] {
            cases.push((format!("{origin}, {how}"), around(how, &text), secret.to_owned()));
        }
    }
    cases
}

/// The texts of the table, for the tests of what looks at them.
pub(crate) fn texts() -> impl Iterator<Item = String> {
    cases().into_iter().map(|(_, text, _)| text)
}

#[test]
fn the_forms_of_the_table_are_masked() {
    let masker = Masker::built_in();
    let cases = cases();
    assert!(cases.len() >= 500, "{}", cases.len());
    let mut missed = String::new();
    let mut count = 0_usize;
    for (origin, text, secret) in &cases {
        let shown = masker.mask_text(text);
        if shown.contains(secret.as_str()) {
            count += 1;
            let _ = writeln!(missed, "{origin}\n   {text:?}\n   {shown:?}");
        }
    }
    let per_mille = 1000 - count * 1000 / cases.len();
    println!(
        "{} cases, {count} missed, {per_mille} of 1000 masked\n{missed}",
        cases.len()
    );
    assert!(
        per_mille >= 990,
        "{per_mille} of 1000, {} cases\n{missed}",
        cases.len()
    );
}
