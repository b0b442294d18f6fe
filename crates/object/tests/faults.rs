//! Published indexes read through stores that fail: the right answer, or an error that says why.

mod faulty;

use std::io::ErrorKind;
use std::path::Path as LocalPath;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use faulty::{Fault, Faulty};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use pageway::{BuildOptions, Index, Metric, NoProgress, OpenOptions, Queries, Rows, SearchOptions, Vfs};
use pageway_object::{BlockCache, CacheMode, Objects, Patience, RemoteVfs, collect, publish};

const URL: &str = "memory://index";
const CACHE_BYTES: u64 = 2 << 20;
