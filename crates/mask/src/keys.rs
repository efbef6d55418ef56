//! Which names of keys say that their value is a secret.

use crate::Kind;

/// The ends of names, without separators and in small letters, and what they hold. The first that fits decides.
const ENDINGS: &[(&str, Kind)] = &[
    ("secretaccesskey", Kind::AwsSecretKey),
    ("clientkeydata", Kind::Kubeconfig),
    ("certificateauthoritydata", Kind::Kubeconfig),
    ("privatekey", Kind::PrivateKey),
    ("presharedkey", Kind::PrivateKey),
    ("privkey", Kind::PrivateKey),
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("passwort", Kind::Password),
    ("pwd", Kind::Password),
    ("passwordhash", Kind::PasswordHash),
    ("apikey", Kind::ApiKey),
    ("accesskey", Kind::ApiKey),
    ("secretkey", Kind::Secret),
    ("secretkeybase", Kind::Secret),
    ("accountkey", Kind::ApiKey),
    ("sharedkey", Kind::ApiKey),
    ("authkey", Kind::ApiKey),
    ("masterkey", Kind::Secret),
    ("signingkey", Kind::Secret),
    ("encryptionkey", Kind::Secret),
    ("sessionkey", Kind::Secret),
    ("storagekey", Kind::Secret),
    ("servicekey", Kind::ApiKey),
    ("consumerkey", Kind::ApiKey),
    ("appkey", Kind::ApiKey),
    ("secretid", Kind::Secret),
    ("secret", Kind::Secret),
    ("token", Kind::Token),
    ("bearer", Kind::Token),
    ("authorization", Kind::Authorization),
    ("connectionstring", Kind::Secret),
    ("connstr", Kind::Secret),
    ("credential", Kind::Secret),
    ("credentials", Kind::Secret),
    ("cookie", Kind::Cookie),
    ("psk", Kind::Secret),
];

/// Endings that only say how the secret before them is written.
const FORMS: &[&str] = &[
    "hash",
    "b64",
    "base64",
    "value",
    "plain",
    "plaintext",
    "text",
    "raw",
];

/// What the value of a key of this name is, if the name says that it is a secret.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    if name.len() > 128 {
        return None;
    }
    if matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|character| character.to_ascii_lowercase())
        .collect();
    let plain = plain.trim_end_matches(|character: char| character.is_ascii_digit());
    ending(plain)
        .or_else(|| FORMS.iter().find_map(|form| ending(plain.strip_suffix(form)?)))
        .or_else(|| {
            let separated = name.to_ascii_lowercase();
            (separated == "pass"
                || separated.ends_with("_pass")
                || separated.ends_with("-pass")
                || name.ends_with("Pass"))
            .then_some(Kind::Password)
        })
}

fn ending(plain: &str) -> Option<Kind> {
    ENDINGS
        .iter()
        .find(|(end, _)| plain.ends_with(end))
        .map(|(_, kind)| *kind)
}

/// Keys inside an object that is called a secret which only say where the secret is, as in the volumes of a pod.
pub(crate) fn is_reference(name: &str) -> bool {
    matches!(
        name,
        "name"
            | "secretName"
            | "namespace"
            | "key"
            | "path"
            | "mode"
            | "defaultMode"
            | "optional"
            | "items"
            | "type"
            | "kind"
            | "apiVersion"
            | "audience"
            | "expirationSeconds"
            | "id"
            | "description"
            | "created_at"
            | "updated_at"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_secrets() {
        for name in [
            "password",
            "db_password",
            "dbPassword",
            "PGPASSWORD",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "client_secret",
            "clientSecret",
            "authToken",
            "access_token",
            "connection_string",
            "private_key",
            "DB_PASS",
            "mysql_pwd",
            "password2",
            "password_hash",
            "AWS_SECRET_ACCESS_KEY",
            "Authorization",
            "Set-Cookie",
        ] {
            assert!(kind_of(name).is_some(), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "max_tokens",
            "total_tokens",
            "token_count",
            "secretName",
            "secretKeyRef",
            "passwordSecretRef",
            "tokenExpiresAt",
            "public_key",
            "compass",
            "bypass",
            "key",
            "secrets",
            "tokens",
            "password_file",
        ] {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }
}
