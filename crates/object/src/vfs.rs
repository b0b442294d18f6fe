//! A published version as a file system that is only read: what the engine opens.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use pageway_store::{LockGuard, OpenMode, Vfs, VfsFile};

use crate::Objects;
use crate::blocks::{BLOCK_BYTES, Blocks};
use crate::cache::BlockCache;
use crate::version::{Pointer, Version};

/// Blocks asked for at a time in files that are read from their beginning to their end.
const AHEAD: u64 = 16;

/// What is brought into the cache when an index is opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CacheMode {
    /// What is asked for.
    Lazy,
    /// All files but the records.
    #[default]
    Codes,
    /// All files.
    All,
}

impl FromStr for CacheMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "lazy" => Ok(Self::Lazy),
            "codes" => Ok(Self::Codes),
            "all" => Ok(Self::All),
            _ => Err(format!("{name:?} is no cache mode: lazy, codes or all")),
        }
    }
}

/// The files of one version. The version that was current when it was opened stays the one.
#[derive(Debug)]
pub struct RemoteVfs {
    root: PathBuf,
    objects: Arc<Objects>,
    cache: Arc<BlockCache>,
    version: Version,
    digest: String,
    open: Mutex<HashMap<String, Arc<Blocks>>>,
}

impl RemoteVfs {
    /// Reads what is current, and brings what `mode` says into the cache.
    ///
    /// # Errors
    /// Where nothing was published, an object is missing, or the cache is too small for the mode.
    pub fn open(objects: Objects, cache: BlockCache, mode: CacheMode) -> io::Result<Self> {
        let url = objects.url().to_owned();
        let Some((pointer, _)) = Pointer::read(&objects)? else {
            let words = format!("{url}: no index was published there: there is no CURRENT");
            return Err(io::Error::new(io::ErrorKind::NotFound, words));
        };
        let version = Version::read(&objects, &pointer)?;
        let vfs = Self {
            root: PathBuf::from(url),
            objects: Arc::new(objects),
            cache: Arc::new(cache),
            version,
            digest: pointer.sha256,
            open: Mutex::default(),
        };
        vfs.warm(mode)?;
        Ok(vfs)
    }

    /// The same of a URL, through a cache of so many bytes in a directory.
    ///
    /// # Errors
    /// As [`Self::open`], [`open_url`](crate::open_url) and [`BlockCache::open`].
    pub fn of_url(url: &str, cache: (&Path, u64), mode: CacheMode) -> io::Result<Self> {
        let objects = crate::open_url(url)?;
        Self::open(objects, BlockCache::open(cache.0, cache.1)?, mode)
    }

    /// The directory that the files lie in, as the engine is told it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The SHA-256 of the version, which names the bytes of every file.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The requests, and how many there were.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    fn warm(&self, mode: CacheMode) -> io::Result<()> {
        let wanted = |name: &str| match mode {
            CacheMode::Lazy => false,
            CacheMode::Codes => !is_records(name),
            CacheMode::All => true,
        };
        let files = || self.version.files.iter().filter(|(name, _)| wanted(name));
        let needed: u64 = files()
            .map(|(_, file)| file.bytes.div_ceil(BLOCK_BYTES))
            .sum();
        if needed > self.cache.capacity() {
            let words = format!(
                "the cache holds {} blocks of {BLOCK_BYTES} bytes, and this mode asks for \
                 {needed}: give it {} bytes more, or use the mode lazy",
                self.cache.capacity(),
                (needed - self.cache.capacity()) * (BLOCK_BYTES + 64),
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        for (name, _) in files() {
            self.blocks(name)?.prefetch()?;
        }
        Ok(())
    }

    fn name_of(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(&self.root).ok()?;
        Some(name.to_str()?.to_owned())
    }

    fn blocks(&self, name: &str) -> io::Result<Arc<Blocks>> {
        let file = self.version.files.get(name);
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blocks) = open.get(name) {
            return Ok(Arc::clone(blocks));
        }
        let ahead = if is_records(name) { 1 } else { AHEAD };
        let blocks = Blocks::open(&self.objects, &self.cache, file, ahead)?;
        let blocks = Arc::new(blocks);
        open.insert(name.to_owned(), Arc::clone(&blocks));
        Ok(blocks)
    }
}

/// Whether a file is read here and there.
fn is_records(name: &str) -> bool {
    name.starts_with("records")
}

fn refused<T>() -> io::Result<T> {
    let words = "an index in object storage is only read: change it where it was built, and \
                 publish it again";
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, words))
}

impl Vfs for RemoteVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        match mode {
            OpenMode::Read | OpenMode::ReadOwn | OpenMode::ReadDirect => {}
            OpenMode::ReadWrite | OpenMode::WriteDirect | OpenMode::CreateNew => return refused(),
        }
        let name = self.name_of(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(RemoteFileReader(self.blocks(&name)?)))
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        refused()
    }

    fn remove_file(&self, _path: &Path) -> io::Result<()> {
        refused()
    }

    fn remove_dir(&self, _path: &Path) -> io::Result<()> {
        refused()
    }

    fn create_dir_all(&self, _path: &Path) -> io::Result<()> {
        refused()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let folder = self.name_of(dir).ok_or(io::ErrorKind::NotFound)?;
        let folder = Path::new(&folder);
        let names = self.version.files.keys().map(Path::new);
        let inside = names.filter(|name| name.parent() == Some(folder));
        let bare = inside.filter_map(|name| name.file_name()?.to_str());
        Ok(bare.map(str::to_owned).collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let Some(name) = self.name_of(path) else {
            return Ok(false);
        };
        let mut names = self.version.files.keys();
        Ok(names.any(|known| Path::new(known).starts_with(&name)))
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        refused()
    }

    fn lock(&self, _path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        refused()
    }

    /// What was published never changes, so nobody is to be kept away.
    fn lock_shared(&self, _path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn unique(&self) -> io::Result<[u8; 16]> {
        pageway_store::OsVfs.unique()
    }

    fn free_bytes(&self, _dir: &Path) -> io::Result<u64> {
        Ok(0)
    }
}

/// An open file of a version.
#[derive(Debug)]
struct RemoteFileReader(Arc<Blocks>);

impl VfsFile for RemoteFileReader {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read(buf, offset)
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<usize> {
        refused()
    }

    fn sync_data(&self) -> io::Result<()> {
        refused()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len())
    }

    fn set_len(&self, _bytes: u64) -> io::Result<()> {
        refused()
    }
}
