//! CA certificates for servers behind `https` URLs: the system's (or those of `SSL_CERT_FILE` and
//! `SSL_CERT_DIR`), or only those of a file that the operator names for one server.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Once;

use reqwest::{Certificate, ClientBuilder};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;
use system::bounded::{self, SETTINGS_BYTES};

/// Sets up TLS for a client of one server. If the server's URL isn't `https`, no certificates are
/// loaded.
pub fn with_tls(
    builder: ClientBuilder,
    is_https: bool,
    ca_file: Option<&Path>,
) -> Result<ClientBuilder, String> {
    install_provider();
    Ok(match ca_file {
        _ if !is_https => {
            let nobody = RootCertStore::empty();
            let tls = ClientConfig::builder().with_root_certificates(nobody).with_no_client_auth();
            builder.tls_backend_preconfigured(tls)
        }
        Some(file) => builder.tls_certs_only(certificates(file)?),
        None => builder,
    })
}

fn install_provider() {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// TLS for a client of one server that doesn't speak HTTP.
pub fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    install_provider();
    let Some(file) = ca_file else {
        return ClientConfig::with_platform_verifier()
            .map_err(|error| format!("the system's certificates: {error}"));
    };
    let mut roots = RootCertStore::empty();
    let pem = pem(file)?;
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let added = certificate
            .map_err(|error| error.to_string())
            .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
        added.map_err(|error| format!("{}: no PEM file of certificates: {error}", file.display()))?;
    }
    if roots.is_empty() {
        return Err(no_certificate(file));
    }
    Ok(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

fn pem(file: &Path) -> Result<String, String> {
    bounded::text(file, SETTINGS_BYTES).map_err(|error| format!("{}: {error}", file.display()))
}

fn no_certificate(file: &Path) -> String {
    format!("{} holds no certificate: expected PEM", file.display())
}

/// Certificates of a PEM file; at least one.
pub fn certificates(file: &Path) -> Result<Vec<Certificate>, String> {
    let certificates = Certificate::from_pem_bundle(pem(file)?.as_bytes());
    let certificates =
        certificates.map_err(|error| format!("{}: no PEM file of certificates: {error}", file.display()))?;
    if certificates.is_empty() {
        return Err(no_certificate(file));
    }
    Ok(certificates)
}

/// Why a certificate isn't trusted, if that caused `error`. An I/O error doesn't return the error
/// that it wraps as its source.
pub fn untrusted(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(rustls::Error::InvalidCertificate(error)) = error.downcast_ref() {
        return Some(words(error));
    }
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => untrusted(inner),
        None => untrusted(error.source()?),
    }
}

/// Description of a certificate's fault, without names.
fn words(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::UnknownIssuer => "is of an issuer that is not trusted here",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another name"
        }
        CertificateError::Revoked => "is revoked",
        // The verifier's own error, which rustls has no name for: such a certificate is made by
        // `openssl req -x509`.
        CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
            "is a CA's, which a server must not use itself: let it sign another one"
        }
        _ => "is not valid",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::OtherError;

    use super::*;

    #[test]
    fn a_ca_used_by_a_server_is_named() {
        let other = |text| CertificateError::Other(OtherError(Arc::new(std::io::Error::other(text))));
        assert!(words(&other("CaUsedAsEndEntity")).contains("let it sign another one"));
        assert_eq!(words(&other("BadDer")), "is not valid");
    }
}
