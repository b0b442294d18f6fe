//! Requests to a store: repeated where that may help, counted, with a deadline.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::BoxFuture;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    UpdateVersion,
};
use pageway_store::{LockGuard, OsVfs, Vfs, clock};

use crate::runner::Runner;

/// Bytes of a part of an upload; smaller files go in one request.
const PART_BYTES: u64 = 8 << 20;

/// How long a request is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the first attempt to giving up.
    pub whole: Duration,
    /// For one attempt.
    pub attempt: Duration,
    /// Before the second attempt; doubled before each other.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            whole: Duration::from_secs(30),
            attempt: Duration::from_secs(10),
            pause: Duration::from_millis(50),
        }
    }
}

/// What was asked of a store since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ObjectCounters {
    /// Reads that were answered.
    pub gets: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Attempts that failed and were repeated.
    pub retries: u64,
}

#[derive(Default, Debug)]
struct Counted {
    gets: AtomicU64,
    bytes: AtomicU64,
    retries: AtomicU64,
}

/// The objects below one prefix of a store. Shared by threads.
#[derive(Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    /// The lock file that stands for a conditional put, on a local file system.
    lock: Option<std::path::PathBuf>,
    patience: Patience,
    runner: Runner,
    counted: Counted,
}

impl Objects {
    /// Objects below `prefix`; `url` names them in messages.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path, url: &str) -> io::Result<Self> {
        Ok(Self {
            store,
            prefix,
            url: url.trim_end_matches('/').to_owned(),
            lock: None,
            patience: Patience::default(),
            runner: Runner::new()?,
            counted: Counted::default(),
        })
    }

    /// With another patience.
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Swaps under the lock of this file, for stores that know no conditional put.
    pub(crate) fn with_lock(mut self, lock: std::path::PathBuf) -> Self {
        self.lock = Some(lock);
        self
    }

    /// What was asked so far.
    pub fn counters(&self) -> ObjectCounters {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        ObjectCounters {
            gets: read(&self.counted.gets),
            bytes: read(&self.counted.bytes),
            retries: read(&self.counted.retries),
        }
    }

    /// The URL that messages name.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn at(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }

    /// A whole object and its version, or none.
    pub(crate) fn get(&self, name: &str) -> io::Result<Option<(Vec<u8>, UpdateVersion)>> {
        let found = self.request(name, |store, at| {
            Box::pin(async move {
                let answer = match store.get_opts(&at, GetOptions::new()).await {
                    Err(Error::NotFound { .. }) => return Ok(None),
                    answer => answer?,
                };
                let version = UpdateVersion {
                    e_tag: answer.meta.e_tag.clone(),
                    version: answer.meta.version.clone(),
                };
                let size = answer.meta.size;
                let bytes = answer.bytes().await?;
                whole(bytes.len() as u64, size, &at)?;
                Ok(Some((bytes.to_vec(), version)))
            })
        })?;
        if let Some((bytes, _)) = &found {
            self.count(bytes.len());
        }
        Ok(found)
    }

    /// The bytes of a whole object, or none.
    ///
    /// # Errors
    /// As the store is.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.get(name)?.map(|(bytes, _)| bytes))
    }

    /// A range of an object.
    pub(crate) fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let bytes = self.request(name, |store, at| {
            let range = range.clone();
            Box::pin(async move {
                let bytes = store.get_range(&at, range.clone()).await?;
                whole(bytes.len() as u64, range.end - range.start, &at)?;
                Ok(bytes.to_vec())
            })
        })?;
        self.count(bytes.len());
        Ok(bytes)
    }

    fn count(&self, bytes: usize) {
        self.counted.gets.fetch_add(1, Ordering::Relaxed);
        self.counted
            .bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts one more attempt, for an answer that had other bytes than were published.
    pub(crate) fn count_retry(&self) {
        self.counted.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes an object, whether there is one or not.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.put_as(name, bytes, PutMode::Overwrite).map(|_| ())
    }

    /// Writes an object that must not exist yet; false where it does.
    ///
    /// # Errors
    /// As the store is. Whether it was written is not known then.
    pub fn create(&self, name: &str, bytes: Vec<u8>) -> io::Result<bool> {
        self.put_as(name, bytes, PutMode::Create)
    }

    /// Replaces an object that is still of this version; false where it is not.
    pub(crate) fn swap(
        &self,
        name: &str,
        bytes: Vec<u8>,
        seen: Option<UpdateVersion>,
    ) -> io::Result<bool> {
        match (seen, &self.lock) {
            (None, _) => self.create(name, bytes),
            (Some(seen), None) => self.put_as(name, bytes, PutMode::Update(seen)),
            (Some(seen), Some(_)) => {
                let _guard = self.take_lock()?;
                let now = self.get(name)?.map(|(_, version)| version.e_tag);
                if now != Some(seen.e_tag) {
                    return Ok(false);
                }
                self.put(name, bytes).map(|()| true)
            }
        }
    }

    fn take_lock(&self) -> io::Result<Option<Box<dyn LockGuard>>> {
        let Some(path) = &self.lock else {
            return Ok(None);
        };
        let busy = || io::Error::other(format!("{}: another process publishes", self.url));
        OsVfs.lock(path)?.ok_or_else(busy).map(Some)
    }

    fn put_as(&self, name: &str, bytes: Vec<u8>, mode: PutMode) -> io::Result<bool> {
        let payload = PutPayload::from(bytes);
        let done = self.request(name, |store, at| {
            let (payload, options) = (payload.clone(), PutOptions::from(mode.clone()));
            Box::pin(async move {
                match store.put_opts(&at, payload, options).await {
                    Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                        Ok(Some(false))
                    }
                    Err(Error::NotFound { .. }) => Ok(None),
                    done => done.map(|_| Some(true)),
                }
            })
        })?;
        let homeless = || io::Error::other(format!("{}: there is no such bucket", self.url));
        done.ok_or_else(homeless)
    }

    /// Writes an object of `length` bytes that `read` gives from an offset, part by part.
    pub(crate) fn upload(
        &self,
        name: &str,
        length: u64,
        read: &mut dyn FnMut(u64, u64) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        if length <= PART_BYTES {
            return self.put(name, read(0, length)?);
        }
        let mut upload = self.request(name, |store, at| {
            Box::pin(async move { store.put_multipart(&at).await })
        })?;
        let mut offset = 0;
        while offset < length {
            let bytes = PART_BYTES.min(length - offset);
            let payload = PutPayload::from(read(offset, bytes)?);
            let (back, sent) = self.runner.run(async move {
                let sent = upload.put_part(payload).await;
                (upload, sent)
            })?;
            upload = back;
            sent.map_err(|error| self.explain(name, error))?;
            offset += bytes;
        }
        let done = self
            .runner
            .run(async move { upload.complete().await.map(|_| ()) })?;
        done.map_err(|error| self.explain(name, error))
    }

    /// What lies below a folder.
    pub(crate) fn list(&self, folder: &str) -> io::Result<Vec<ObjectMeta>> {
        self.request(folder, |store, at| {
            Box::pin(async move { store.list(Some(&at)).try_collect().await })
        })
    }

    /// Removes an object; it may be gone already.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.request(name, |store, at| {
            Box::pin(async move {
                match store.delete(&at).await {
                    Err(Error::NotFound { .. }) => Ok(()),
                    done => done,
                }
            })
        })
    }

    /// Asks until there is an answer, an error that stays, or no time left.
    fn request<T: Send + 'static>(
        &self,
        name: &str,
        ask: impl Fn(Arc<dyn ObjectStore>, Path) -> BoxFuture<'static, object_store::Result<T>>,
    ) -> io::Result<T> {
        let Patience {
            whole,
            attempt,
            mut pause,
        } = self.patience;
        let started = clock::now();
        loop {
            let future = ask(Arc::clone(&self.store), self.at(name));
            let answer = self
                .runner
                .run(async move { tokio::time::timeout(attempt, future).await })?;
            let error = match answer {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) if stays(&error) => return Err(self.explain(name, error)),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            let wait = pause.mul_f64(jitter()?);
            if started.elapsed() + wait > whole {
                let words = format!("{}/{name}: given up after repeats: {error}", self.url);
                return Err(io::Error::new(io::ErrorKind::TimedOut, words));
            }
            self.count_retry();
            // A timer is made where the runtime is.
            self.runner
                .run(async move { tokio::time::sleep(wait).await })?;
            pause *= 2;
        }
    }

    fn explain(&self, name: &str, error: Error) -> io::Error {
        let url = &self.url;
        let words = if matches!(error, Error::NotFound { .. }) {
            format!(
                "{url}/{name}: the object is not there: it was removed, or what names it is \
                 older; open the index again, or publish it again"
            )
        } else {
            format!("{url}/{name}: {error}")
        };
        io::Error::other(words)
    }
}

/// Between a half and one and a half.
fn jitter() -> io::Result<f64> {
    let [byte, ..] = OsVfs.unique()?;
    Ok(0.5 + f64::from(byte) / 255.0)
}

/// Refuses an answer of another length.
fn whole(found: u64, expected: u64, at: &Path) -> object_store::Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Generic {
        store: "answer",
        source: format!("{at}: {found} bytes where {expected} were asked for").into(),
    })
}

/// Whether asking again can only give the same.
fn stays(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::InvalidPath { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::UnknownConfigurationKey { .. }
    )
}
