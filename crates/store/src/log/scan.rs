//! Reading one file, group by group, in bounded memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::group::{GroupHead, HEAD_BYTES, MAX_PAYLOAD_BYTES, STEP, checksum, is_sealed, padded};
use super::header::{GroupSeal, HEADER_BYTES, LogHeader};
use super::{LogPlace, Lsn};
use crate::frame::corrupt;
use crate::{OpenMode, StoreError, VfsFile};

/// Bytes that are read at once, unless a group is longer.
const WINDOW_BYTES: usize = 64 << 10;

/// A step in which no group begins.
const ZEROS: [u8; STEP as usize] = [0; STEP as usize];

/// Which rule a file of another log breaks.
pub(super) const FOREIGN: &str = "identity: a log of another index";

/// A file of a log, read from its header on. Holds at most one group and a window.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) path: PathBuf,
    pub(super) header: LogHeader,
    seal: GroupSeal,
    window: Window,
    /// Where the next group begins.
    pub(super) at: u64,
    /// Checksum of the last group with records.
    pub(super) chain: u32,
    /// Number of the next record.
    pub(super) next: Lsn,
    /// Groups up to here were durable when a later one was written, or have no records.
    pub(super) told: u64,
    /// Of the groups behind `told`: where each ends, and its last record.
    untold: Vec<(u64, Lsn)>,
    /// Whether the last group ends the file for good.
    pub(super) closed: bool,
}

impl Scan {
    /// Opens the file of this log that begins with `first`.
    pub(super) fn open(place: &LogPlace, first: Lsn) -> Result<Self, StoreError> {
        let scan = Self::open_any(place, first)?;
        if scan.header.log != place.log {
            let (expected, found) = (half(place.log.0), half(scan.header.log.0));
            return Err(corrupt(&scan.path, 16, FOREIGN, expected, found));
        }
        Ok(scan)
    }

    /// Opens a file of whatever log.
    pub(super) fn open_any(place: &LogPlace, first: Lsn) -> Result<Self, StoreError> {
        let path = place.path(first);
        let file = place.vfs.open(&path, OpenMode::Read);
        let file = file.map_err(|e| StoreError::io(&path, "open", e))?;
        let length = file.len();
        let length = length.map_err(|e| StoreError::io(&path, "ask the length", e))?;
        let mut window = Window::new(&path, file, length);
        let page = window.get(0, HEADER_BYTES as usize)?;
        let Some(page) = page else {
            return Err(corrupt(&path, 0, "log header length", HEADER_BYTES, length));
        };
        let header = LogHeader::decode(&path, page)?;
        if header.first != first {
            let what = "first LSN: not that of the name";
            return Err(corrupt(&path, 32, what, first.0, header.first.0));
        }
        if length > header.capacity {
            let what = "length: longer than it was created";
            return Err(corrupt(&path, 40, what, header.capacity, length));
        }
        Ok(Self {
            path,
            header,
            seal: header.seal(),
            window,
            at: HEADER_BYTES,
            chain: header.chain,
            next: header.first,
            told: HEADER_BYTES,
            untold: Vec::new(),
            closed: false,
        })
    }

    /// Length of the file.
    pub(super) fn length(&self) -> u64 {
        self.window.length
    }

    /// The head of the next group, if there is one that continues those before; its records are
    /// [`Scan::records`] until the next call.
    pub(super) fn next_group(&mut self) -> Result<Option<GroupHead>, StoreError> {
        if self.closed {
            return Ok(None);
        }
        let Some((head, crc)) = self.sealed_at(self.at)? else {
            return Ok(None);
        };
        if head.first != self.next || head.chain != self.chain || head.durable > self.next {
            return Ok(None);
        }
        self.hear(head.durable);
        self.at += head.file_bytes() as u64;
        self.next = head.next();
        self.closed = head.closing;
        if head.records > 0 {
            self.chain = crc;
            self.untold.push((self.at, self.next.before()));
        } else if self.untold.is_empty() {
            self.told = self.at;
        }
        Ok(Some(head))
    }

    /// Records of the group that was just found; damage if its payload is not made of them.
    pub(super) fn records(&mut self, head: &GroupHead) -> Result<Vec<&[u8]>, StoreError> {
        let begin = self.at.saturating_sub(head.file_bytes() as u64);
        let group = self.window.get(begin, head.file_bytes())?;
        let records = super::group::records(head, group.unwrap_or_default());
        records.ok_or_else(|| {
            let (expected, found) = (u64::from(head.payload_bytes), u64::from(head.records));
            corrupt(
                &self.path,
                begin as usize,
                "lengths of records",
                expected,
                found,
            )
        })
    }

    /// The greatest LSN that a later group says was durable, and the last record of any: of groups
    /// at this place or behind it, whatever they continue.
    pub(super) fn claims_behind(&mut self) -> Result<Option<(Lsn, Lsn)>, StoreError> {
        let mut claims: Option<(Lsn, Lsn)> = None;
        let mut at = self.at;
        while at < self.length() {
            // The checksum is computed of what can matter only.
            let (head, next) = (self.head_at(at)?, self.next);
            if head.is_some_and(|head| head.durable >= next)
                && let Some((head, _)) = self.sealed_at(at)?
            {
                let (told, last) = claims.unwrap_or_default();
                claims = Some((told.max(head.durable), last.max(head.next().before())));
            }
            at = self.window.past_zeros(at + STEP);
        }
        Ok(claims)
    }

    /// Takes in that the log was durable up to a record.
    fn hear(&mut self, durable: Lsn) {
        let told = self.untold.iter().take_while(|(_, last)| *last <= durable);
        let count = told.count();
        if let Some((end, _)) = self.untold.drain(..count).next_back() {
            self.told = end;
        }
    }

    fn head_at(&mut self, at: u64) -> Result<Option<GroupHead>, StoreError> {
        Ok(self.window.get(at, HEAD_BYTES)?.and_then(GroupHead::parse))
    }

    /// The head and the checksum of an intact group.
    fn sealed_at(&mut self, at: u64) -> Result<Option<(GroupHead, u32)>, StoreError> {
        let Some(head) = self.head_at(at)? else {
            return Ok(None);
        };
        let group = self.window.get(at, head.file_bytes())?;
        let sealed = group.filter(|group| is_sealed(self.seal, at, group));
        Ok(sealed.map(|group| (head, checksum(group))))
    }
}

fn half(uuid: [u8; 16]) -> u64 {
    uuid.iter()
        .take(8)
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Bytes of a file, read ahead.
#[derive(Debug)]
struct Window {
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    length: u64,
    begin: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn new(path: &Path, file: Arc<dyn VfsFile>, length: u64) -> Self {
        Self {
            path: path.to_path_buf(),
            file,
            length,
            begin: 0,
            bytes: Vec::new(),
        }
    }

    /// So many bytes from `at` on, at most a group or a page; `None` behind the end.
    fn get(&mut self, at: u64, count: usize) -> Result<Option<&[u8]>, StoreError> {
        debug_assert!(
            count <= padded(MAX_PAYLOAD_BYTES),
            "a window of {count} bytes"
        );
        let end = at.saturating_add(count as u64);
        if end > self.length {
            return Ok(None);
        }
        if at < self.begin || end > self.begin + self.bytes.len() as u64 {
            self.fill(at, count)?;
        }
        let from = usize::try_from(at.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        Ok(self.bytes.get(from..from.saturating_add(count)))
    }

    /// Where steps begin that are not all zeros, from `at` on, as far as the window is filled: the
    /// rest of a file is mostly room that was set aside.
    fn past_zeros(&self, at: u64) -> u64 {
        let from = usize::try_from(at.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        let steps = self.bytes.get(from..).unwrap_or_default();
        let steps = steps.chunks_exact(ZEROS.len());
        at + STEP * steps.take_while(|step| **step == ZEROS).count() as u64
    }

    fn fill(&mut self, at: u64, count: usize) -> Result<(), StoreError> {
        let left = usize::try_from(self.length - at).unwrap_or(usize::MAX);
        self.bytes.clear();
        self.bytes.resize(count.max(WINDOW_BYTES).min(left), 0);
        self.begin = at;
        let read = self.file.read_exact_at(&mut self.bytes, at);
        if read.is_err() {
            self.bytes.clear();
        }
        read.map_err(|e| StoreError::io(&self.path, "read", e))
    }
}
