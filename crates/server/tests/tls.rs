//! Encrypted connections, and a certificate that is read again.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a failed test may panic, and tests look at files"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::Server;
use pageway_server::{Tls, listen, with_origins};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

/// Writes a new certificate and its key.
fn write(dir: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(dir.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

/// Asks whether the server lives, trusting one certificate.
async fn ask(port: u16, trusted: &CertificateDer<'static>) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, stream).await?;
    let asked = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(asked).await?;
    let mut text = Vec::new();
    // The end of a connection may come without the word of it.
    let _ = stream.read_to_end(&mut text).await;
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn connections_are_encrypted_and_certificates_change() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path());
    let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let tls = Arc::new(Tls::open(&certificate, &key).unwrap());
    let data = tempfile::tempdir().unwrap();
    let server = Server::open(data.path());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listening = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let port = listening.address.port();
        let (stop, stops) = oneshot::channel();
        let serving = listening.serve(server.app.router(), Some(Arc::clone(&tls)), stops);
        let serving = tokio::spawn(serving);
        assert!(ask(port, &first).await.unwrap().starts_with("HTTP/1.1 200"));
        let second = write(dir.path());
        assert!(ask(port, &second).await.is_err(), "not read again yet");
        tls.reload().unwrap();
        assert!(
            ask(port, &second)
                .await
                .unwrap()
                .starts_with("HTTP/1.1 200")
        );
        assert!(ask(port, &first).await.is_err());
        std::fs::write(&key, "no key").unwrap();
        assert!(tls.reload().is_err());
        assert!(ask(port, &second).await.is_ok(), "the one of before stays");
        let mut plain = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut text = Vec::new();
        let _ = plain.read_to_end(&mut text).await;
        assert!(!text.starts_with(b"HTTP/1.1 200"));
        stop.send(()).unwrap();
        serving.await.unwrap();
    });
    assert!(Tls::open(&certificate, Path::new("/no/such/key")).is_err());
}

#[test]
fn pages_of_others_may_ask_where_they_are_named() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::open(data.path());
    let allowed = |origins: &[&str]| {
        let origins: Vec<String> = origins.iter().map(|own| (*own).to_owned()).collect();
        let router = with_origins(server.app.router(), &origins).unwrap();
        server.allowed_origin(router, "https://a.example")
    };
    assert_eq!(allowed(&[]), None);
    assert_eq!(allowed(&["*"]).as_deref(), Some("*"));
    let own = allowed(&["https://b.example", "https://a.example"]);
    assert_eq!(own.as_deref(), Some("https://a.example"));
    assert_eq!(allowed(&["https://b.example"]), None);
    for wrong in ["a.example", "https://", "https://a.example/x"] {
        assert!(
            with_origins(server.app.router(), &[wrong.to_owned()]).is_err(),
            "{wrong}"
        );
    }
}
