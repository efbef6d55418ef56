//! TLS with the configured certificate.

use std::path::Path;
use std::sync::Arc;

use interlock_config::Tls;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::Error;

/// Takes TLS connections with this certificate.
pub(super) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Error> {
    let wrong = |path: &Path, reason: String| Error::Tls {
        path: path.to_owned(),
        reason,
    };
    let certificates = CertificateDer::pem_file_iter(&tls.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong(&tls.certificate, "it holds no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| wrong(&tls.key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| wrong(&tls.key, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
