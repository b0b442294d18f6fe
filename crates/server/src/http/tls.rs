//! Encrypted connections, with a certificate that can be read again while the server runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use pageway::{Error, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::input::read_file;

/// Bytes of a file of certificates or of a key at most.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A certificate with its key, and what connections are told with them.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads a chain of certificates and a key, both in PEM.
    ///
    /// # Errors
    /// Where a file cannot be read, or the key is not that of the certificate.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self> {
        Ok(Self {
            config: RwLock::new(read(certificate, key)?),
            certificate: certificate.to_path_buf(),
            key: key.to_path_buf(),
        })
    }

    /// Reads the files again, for connections that come. Those of before stay as they are.
    ///
    /// # Errors
    /// As [`Self::open`]; the certificate of before stays then.
    pub fn reload(&self) -> Result<()> {
        let config = read(&self.certificate, &self.key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let wrong = |path: &Path, what: &dyn std::fmt::Display| {
        Error::invalid(format!("{}: {what}", path.display()))
    };
    let chain: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&read_file(certificate, MAX_FILE_BYTES)?).collect();
    let chain = chain.map_err(|error| wrong(certificate, &error))?;
    let own = PrivateKeyDer::from_pem_slice(&read_file(key, MAX_FILE_BYTES)?);
    let own = own.map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, own));
    let mut config = config.map_err(|error| wrong(certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
