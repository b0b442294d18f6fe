//! A URL, and the store behind it.

use std::io;
use std::path::Path as LocalPath;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use pageway_store::{OsVfs, create_directory};

use crate::Objects;

/// The objects below `file://`, `s3://`, `gs://` or `az://`. Keys and endpoints of clouds come from
/// the environment variables that their own tools read.
///
/// # Errors
/// `InvalidInput` for another URL; where a store cannot be set up.
pub fn open_url(url: &str) -> io::Result<Objects> {
    if let Some(path) = url.strip_prefix("file://") {
        return open_local(url, path);
    }
    open_cloud(url)
}

fn open_local(url: &str, path: &str) -> io::Result<Objects> {
    if !path.starts_with('/') {
        return Err(invalid(format!(
            "{url}: a path of file:// is absolute, as in file:///data/index"
        )));
    }
    let root = LocalPath::new(path);
    create_directory(&OsVfs, root).map_err(io::Error::other)?;
    let store = LocalFileSystem::new_with_prefix(root).map_err(io::Error::other)?;
    let objects = Objects::new(Arc::new(store), Path::default(), url)?;
    Ok(objects.with_lock(root.join("PUBLISHING")))
}

#[cfg(feature = "cloud")]
fn open_cloud(url: &str) -> io::Result<Objects> {
    use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
    use object_store::azure::MicrosoftAzureBuilder;
    use object_store::gcp::GoogleCloudStorageBuilder;
    use object_store::{ObjectStore, RetryConfig};

    // Another part of the process may have chosen one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Requests are repeated in one place.
    let once = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let prefix = rest.split_once('/').map_or("", |(_, prefix)| prefix);
    let store: object_store::Result<Arc<dyn ObjectStore>> = match scheme {
        "s3" => AmazonS3Builder::from_env()
            .with_url(url)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_retry(once)
            .build()
            .map(|store| Arc::new(store) as _),
        "gs" => GoogleCloudStorageBuilder::from_env()
            .with_url(url)
            .with_retry(once)
            .build()
            .map(|store| Arc::new(store) as _),
        "az" => MicrosoftAzureBuilder::from_env()
            .with_url(url)
            .with_retry(once)
            .build()
            .map(|store| Arc::new(store) as _),
        _ => return Err(unknown(url)),
    };
    let store = store.map_err(|error| invalid(format!("{url}: {error}")))?;
    Objects::new(store, Path::from(prefix), url)
}

#[cfg(not(feature = "cloud"))]
fn open_cloud(url: &str) -> io::Result<Objects> {
    if ["s3://", "gs://", "az://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
    {
        let words = format!("{url}: this program was built without the feature cloud");
        return Err(io::Error::new(io::ErrorKind::Unsupported, words));
    }
    Err(unknown(url))
}

fn unknown(url: &str) -> io::Error {
    invalid(format!("{url}: give file://, s3://, gs:// or az://"))
}

fn invalid(words: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words)
}
