//! Collections that are indexes in object storage: opened by their URL, read through a cache on
//! local disk, and never changed. Any node of any number may serve one.

use std::path::Path;
use std::sync::Arc;

use pageway::{ElementType, Metric, Vfs, describe_on};
use pageway_object::{CacheMode, RemoteVfs};
use serde_json::json;

use crate::cluster::ShardContent;
use crate::collection::created;
use crate::failure::{Failure, Outcome};
use crate::registry::{CollectionEntry, check_name};

/// A published version of an index.
pub struct RemoteShard {
    remote: Arc<dyn Vfs>,
    root: std::path::PathBuf,
    url: String,
    digest: String,
}

impl RemoteShard {
    /// The version that is current now, through a cache of so many bytes, below a directory.
    ///
    /// # Errors
    /// 400 for a URL of no store; as stores are, and where another process has the cache.
    pub fn open(
        (name, url): (&str, &str),
        (cache, bytes): (&Path, u64),
        mode: CacheMode,
    ) -> Outcome<Self> {
        check_name(name)?;
        let remote = RemoteVfs::of_url(url, (&cache.join(name), bytes), mode);
        let remote = remote.map_err(|error| Failure::wrong(format_args!("{name}: {error}")))?;
        Ok(Self {
            root: remote.root().to_owned(),
            url: url.to_owned(),
            digest: remote.digest().to_owned(),
            remote: Arc::new(remote),
        })
    }

    /// Where the engine finds it.
    pub(crate) fn place(&self) -> (&Arc<dyn Vfs>, &Path) {
        (&self.remote, &self.root)
    }

    /// Its settings, with the number of a collection: one vector without a name.
    pub(crate) fn entry(&self, number: u64) -> Outcome<CollectionEntry> {
        let index = describe_on(self.remote.as_ref(), &self.root)?.spec;
        let wrong = |what: &str| Failure::wrong(format_args!("{}: {what}", self.url));
        if index.shape.element != ElementType::F32 {
            return Err(wrong("a collection has vectors of f32"));
        }
        let distance = match index.shape.metric {
            Metric::Cosine => "Cosine",
            Metric::InnerProduct => "Dot",
            Metric::L2 => "Euclid",
            Metric::L1 => "Manhattan",
            Metric::Hamming | Metric::Jaccard => {
                return Err(wrong("no collection has distances of its metric"));
            }
        };
        let body = json!({"vectors": {"size": index.shape.dimension, "distance": distance}});
        let body = body.as_object().cloned().unwrap_or_default();
        Ok(CollectionEntry {
            number,
            config: created(&body)?,
            payload_schema: std::collections::BTreeMap::new(),
            content: Some(ShardContent {
                sequence: 0,
                digest: self.digest.clone(),
            }),
            url: Some(self.url.clone()),
        })
    }
}
