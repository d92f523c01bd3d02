//! The certificate that clients are shown, and its key. Both can be replaced while the server runs;
//! connections that are open keep theirs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use system::bounded::{self, SETTINGS_BYTES};
use tokio_rustls::TlsAcceptor;

/// A certificate and its key, checked to belong together.
#[derive(Debug)]
pub struct Identity(Arc<CertifiedKey>);

/// Reason why a certificate can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct IdentityError {
    /// File that is wrong.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl Identity {
    /// Reads a chain of certificates, the server's own first, and its key; both in PEM.
    ///
    /// # Errors
    /// A file can't be read, is no regular file or has something else, or the key is that of another certificate.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, IdentityError> {
        let refused = |file: &Path, reason: &dyn fmt::Display| IdentityError {
            file: file.to_owned(),
            reason: reason.to_string(),
        };
        // A pipe would be waited for, where a running server reads it again.
        let pem =
            |file: &Path| bounded::regular_text(file, SETTINGS_BYTES).map_err(|error| refused(file, &error));
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(pem(certificates)?.as_bytes()).collect();
        let chain =
            chain.map_err(|error| refused(certificates, &format_args!("no certificate in PEM: {error}")))?;
        if chain.is_empty() {
            return Err(refused(certificates, &"it holds no certificate: expected PEM"));
        }
        let private = PrivateKeyDer::from_pem_slice(pem(key)?.as_bytes())
            .map_err(|error| refused(key, &format_args!("no private key in PEM: {error}")))?;
        let certified = CertifiedKey::from_der(chain, private, &provider()).map_err(|error| {
            refused(key, &format_args!("not the key of {}: {error}", certificates.display()))
        })?;
        Ok(Self(Arc::new(certified)))
    }
}

/// TLS of a server, with the identity that it has at the moment.
#[derive(Debug, Clone)]
pub struct Tls {
    current: Arc<Current>,
    config: Arc<ServerConfig>,
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl Tls {
    /// TLS 1.2 and 1.3 with this identity, for HTTP/1.1.
    ///
    /// # Panics
    /// Never: the provider knows both versions.
    pub fn new(Identity(identity): Identity) -> Self {
        let current = Arc::new(Current(RwLock::new(identity)));
        let config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has cipher suites of both versions");
        let mut config = config.with_no_client_auth().with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { current, config: Arc::new(config) }
    }

    /// Shows this identity to the clients that come.
    pub fn replace(&self, Identity(identity): Identity) {
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = identity;
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}
