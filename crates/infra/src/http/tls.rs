//! How the other side of TLS is known: by an authority, or as one very certificate.

use std::sync::Arc;
use std::time::Duration;

use interlock_protocol::{Identity, IdentityFact};
use reqwest::Url;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

use super::{connect_time, deepest};
use crate::Error;
use crate::options::Tls;

/// A client, and what it knows the other side by.
pub(super) fn client(connection: &str, url: &Url, tls: &Tls) -> Result<(reqwest::Client, Identity), Error> {
    let wrong = |message: String| Error::Configuration {
        connection: connection.to_owned(),
        message,
    };
    // Whoever was first has chosen: any provider of cryptography will do.
    let _ = ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .connect_timeout(connect_time())
        .tcp_nodelay(true)
        .pool_idle_timeout(Duration::from_mins(1))
        .user_agent(concat!("interlock/", env!("CARGO_PKG_VERSION")));
    let mut known_by = Identity::default();
    builder = match (url.scheme(), &tls.fingerprint, &tls.ca_file) {
        ("https", Some(_), Some(_)) => {
            return Err(wrong(
                "`tls` has both a `fingerprint` and a `ca_file`; keep one".to_owned(),
            ));
        }
        ("https", Some(text), None) => {
            let pinned = Pinned::new(text).ok_or_else(|| {
                wrong("`tls.fingerprint` is no SHA-256: 32 pairs of hexadecimal digits".to_owned())
            })?;
            known_by.insert(IdentityFact::TlsCertificate, shown(&pinned.fingerprint));
            builder.tls_backend_preconfigured(pinned.config().map_err(|error| wrong(error.to_string()))?)
        }
        ("https", None, Some(path)) => {
            let shown = path.display();
            let pem =
                std::fs::read(path).map_err(|error| wrong(format!("`{shown}` cannot be read: {error}")))?;
            let certificates = reqwest::Certificate::from_pem_bundle(&pem)
                .map_err(|error| wrong(format!("`{shown}`: {}", deepest(&error))))?;
            if certificates.is_empty() {
                return Err(wrong(format!("there is no certificate in `{shown}`")));
            }
            known_by.insert(IdentityFact::TlsAuthority, self::shown(&Sha256::digest(&pem)));
            builder.tls_certs_only(certificates)
        }
        ("https", None, None) => builder,
        // No certificate is ever looked at, so none has to be loaded.
        (_, None, None) => {
            builder.tls_backend_preconfigured(without_roots().map_err(|error| wrong(error.to_string()))?)
        }
        (_, _, _) => {
            return Err(wrong(
                "`tls` is of no use: `url` does not begin with https://".to_owned(),
            ));
        }
    };
    let client = builder.build().map_err(|error| wrong(deepest(&error)))?;
    Ok((client, known_by))
}

/// A fingerprint as Proxmox and browsers show it: `AA:BB:…`.
pub(crate) fn shown(fingerprint: &[u8]) -> String {
    let pairs: Vec<String> = fingerprint.iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

fn without_roots() -> Result<ClientConfig, rustls::Error> {
    Ok(
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth(),
    )
}

/// That very certificate and no other, whoever signed it and whatever name it has.
#[derive(Debug)]
struct Pinned {
    fingerprint: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    fn new(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| !matches!(c, ':' | ' ')).collect();
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        let mut fingerprint = [0; 32];
        for (byte, pair) in fingerprint.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self {
            fingerprint,
            provider: Arc::new(ring::default_provider()),
        })
    }

    fn config(self) -> Result<ClientConfig, rustls::Error> {
        Ok(ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self))
            .with_no_client_auth())
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let seen = Sha256::digest(end_entity.as_ref());
        if seen.as_slice() == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General(format!(
            "its certificate has the fingerprint {}, which is not the configured one",
            shown(&seen)
        )))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::Pinned;

    #[test]
    fn fingerprints_are_read_as_proxmox_shows_them() {
        let shown = ["AB"; 32].join(":");
        for (text, good) in [
            (shown.as_str(), true),
            (&"ab".repeat(32), true),
            (&shown[3..], false),
            ("", false),
            (&"zz".repeat(32), false),
        ] {
            assert_eq!(Pinned::new(text).is_some(), good, "{text}");
        }
    }
}
