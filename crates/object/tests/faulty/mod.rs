//! A store that fails in one way at a time, over one that does not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// Answers come late.
    Slow,
    /// Every third read gives the first half.
    Short,
    /// Every third read has a flipped bit.
    Flipped,
    /// Every read has one.
    AlwaysFlipped,
    /// Two of three requests are throttled.
    Throttled,
    /// Every request is.
    Down,
    /// Objects that are named by hashes are gone.
    Forgetful,
    /// Every put is done, and every second acknowledgement lost.
    LostAcknowledgement,
    /// Whatever is created or replaced, conditions do not count.
    Unconditional,
    /// There is no bucket.
    Homeless,
}

/// The store.
#[derive(Debug)]
pub struct Faulty {
    pub inner: InMemory,
    pub fault: std::sync::Mutex<Fault>,
    turn: AtomicU64,
    /// Reads of ranges.
    pub ranges: AtomicU64,
}

impl Faulty {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: InMemory::new(),
            fault: std::sync::Mutex::new(Fault::None),
            turn: AtomicU64::new(0),
            ranges: AtomicU64::new(0),
        })
    }

    pub fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn now(&self) -> (Fault, u64) {
        let turn = self.turn.fetch_add(1, Ordering::SeqCst);
        (*self.fault.lock().unwrap(), turn)
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

fn throttled() -> Error {
    Error::Generic {
        store: "faulty",
        source: "503 Slow Down".into(),
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let (fault, turn) = self.now();
        match fault {
            Fault::Down => return Err(throttled()),
            Fault::Throttled if turn % 3 != 0 => return Err(throttled()),
            Fault::Unconditional => options.mode = PutMode::Overwrite,
            Fault::Homeless => {
                let (path, source) = (at.to_string(), "404 NoSuchBucket".into());
                return Err(Error::NotFound { path, source });
            }
            _ => {}
        }
        let done = self.inner.put_opts(at, payload, options).await?;
        if fault == Fault::LostAcknowledgement && turn % 2 == 0 {
            return Err(throttled());
        }
        Ok(done)
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let (fault, turn) = self.now();
        let is_range = options.range.is_some();
        if is_range {
            self.ranges.fetch_add(1, Ordering::SeqCst);
        }
        match fault {
            Fault::Down => return Err(throttled()),
            Fault::Throttled if turn % 3 != 0 => return Err(throttled()),
            Fault::Slow => tokio::time::sleep(Duration::from_millis(3)).await,
            Fault::Forgetful if at.as_ref().contains("objects/") => {
                let (path, source) = (at.to_string(), "404".into());
                return Err(Error::NotFound { path, source });
            }
            _ => {}
        }
        let found = self.inner.get_opts(at, options).await?;
        let harms = match fault {
            Fault::Short | Fault::Flipped => turn % 3 == 0,
            Fault::AlwaysFlipped => is_range,
            _ => false,
        };
        if !harms || !is_range {
            return Ok(found);
        }
        let (meta, range, attributes) = (
            found.meta.clone(),
            found.range.clone(),
            found.attributes.clone(),
        );
        let extensions = found.extensions.clone();
        let mut bytes = found.bytes().await?.to_vec();
        if fault == Fault::Short {
            bytes.truncate(bytes.len() / 2);
        } else {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 16;
        }
        let payload = GetResultPayload::Stream(stream::once(async { Ok(bytes.into()) }).boxed());
        Ok(GetResult {
            payload,
            meta,
            range: Range { ..range },
            attributes,
            extensions,
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
