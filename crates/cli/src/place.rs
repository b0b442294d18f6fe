//! Where an index lies: a directory, or a URL with a cache before it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use pageway::{Error, Index, MemoryWish, OpenOptions, OsVfs, Result, Vfs};
use pageway_object::{CacheMode, RemoteVfs, is_url};
use serde::Serialize;

/// The cache of an index that a URL names.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    /// Directory on local disk that keeps blocks of an index in object storage; one process at a
    /// time
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Most bytes of that directory
    #[arg(long, value_name = "BYTES", default_value = "1GB", requires = "cache")]
    cache_bytes: MemoryWish,

    /// What opening brings there: lazy (nothing that is not read), codes (all but the records), all
    #[arg(long, value_name = "MODE", default_value = "codes", requires = "cache")]
    cache_mode: CacheMode,
}

/// A file system, and the directory of the index in it.
pub(crate) struct Place {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) dir: PathBuf,
    remote: Option<Arc<RemoteVfs>>,
}

/// Requests to object storage. The names of its fields are keys of `--json`.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Requests {
    gets: u64,
    bytes: u64,
    retries: u64,
}

impl CacheArguments {
    /// Where `index` is.
    pub(crate) fn place(&self, index: &Path) -> Result<Place> {
        let Some(url) = index.to_str().filter(|_| is_url(index)) else {
            return Ok(Place {
                vfs: Arc::new(OsVfs),
                dir: index.to_owned(),
                remote: None,
            });
        };
        let Some(cache) = &self.cache else {
            let words = format!("{url}: name a directory for its blocks: --cache DIR");
            return Err(Error::invalid(words));
        };
        let MemoryWish::Bytes(bytes) = self.cache_bytes else {
            return Err(Error::invalid("--cache-bytes: give bytes, such as 2GB"));
        };
        let remote = RemoteVfs::of_url(url, (cache, bytes), self.cache_mode)?;
        let remote = Arc::new(remote);
        Ok(Place {
            vfs: Arc::clone(&remote) as Arc<dyn Vfs>,
            dir: remote.root().to_owned(),
            remote: Some(remote),
        })
    }
}

impl Place {
    /// Opens the index.
    pub(crate) fn open(&self, options: &OpenOptions) -> Result<Index> {
        Index::open_on(&self.vfs, &self.dir, options)
    }

    /// Requests so far, where there are any to count.
    pub(crate) fn requests(&self) -> Option<Requests> {
        let counters = self.remote.as_ref()?.objects().counters();
        Some(Requests {
            gets: counters.gets,
            bytes: counters.bytes,
            retries: counters.retries,
        })
    }
}

impl Requests {
    /// For people.
    pub(crate) fn describe(&self) -> String {
        format!(
            "{} reads of object storage, {}, {} repeated",
            self.gets,
            pageway::format_bytes(self.bytes),
            self.retries
        )
    }

    /// Those since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            gets: self.gets - before.gets,
            bytes: self.bytes - before.bytes,
            retries: self.retries - before.retries,
        }
    }
}
