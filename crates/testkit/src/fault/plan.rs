//! Which calls fail, and how.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Opening an existing file.
    Open,
    /// Creating a file.
    Create,
    /// Reading from a file.
    Read,
    /// Writing to a file.
    Write,
    /// Asking the length of a file.
    Length,
    /// Setting the length of a file.
    SetLength,
    /// Setting space aside for a file.
    Allocate,
    /// Syncing a file.
    SyncFile,
    /// Syncing a directory.
    SyncDirectory,
    /// Renaming a file.
    Rename,
    /// Giving a file a second name.
    Link,
    /// Removing a file.
    RemoveFile,
    /// Removing a directory.
    RemoveDirectory,
    /// Creating directories.
    CreateDirectory,
    /// Listing a directory.
    List,
    /// Asking whether a name exists.
    Exists,
    /// Taking a lock.
    Lock,
    /// Asking for free space.
    FreeBytes,
}

impl Operation {
    /// All kinds, for loops over every failure.
    pub const ALL: [Self; 18] = [
        Self::Open,
        Self::Create,
        Self::Read,
        Self::Write,
        Self::Length,
        Self::SetLength,
        Self::Allocate,
        Self::SyncFile,
        Self::SyncDirectory,
        Self::Rename,
        Self::Link,
        Self::RemoveFile,
        Self::RemoveDirectory,
        Self::CreateDirectory,
        Self::List,
        Self::Exists,
        Self::Lock,
        Self::FreeBytes,
    ];
}

/// What happens instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// `EIO`.
    Io,
    /// `ENOSPC`.
    NoSpace,
    /// `EDQUOT`.
    QuotaExceeded,
    /// `EINTR`.
    Interrupted,
    /// `EACCES`.
    AccessDenied,
    /// `EMFILE`.
    TooManyFiles,
    /// Reads and writes transfer half of what was asked; other calls are not affected.
    Short,
    /// A write, sync or other call without a result claims success and does nothing; calls with
    /// a result are not affected.
    Skip,
}

impl Fault {
    /// The error, for faults that are one.
    pub(super) fn error(self) -> Option<io::Error> {
        let errno = match self {
            Self::Io => Errno::IO,
            Self::NoSpace => Errno::NOSPC,
            Self::QuotaExceeded => Errno::DQUOT,
            Self::Interrupted => Errno::INTR,
            Self::AccessDenied => Errno::ACCESS,
            Self::TooManyFiles => Errno::MFILE,
            Self::Short | Self::Skip => return None,
        };
        Some(io::Error::from_raw_os_error(errno.raw_os_error()))
    }
}

/// Rules and counters. Clones share both, so a test can ask its copy what happened.
#[derive(Clone, Default, Debug)]
pub struct FaultPlan {
    shared: Arc<Mutex<Inner>>,
}

#[derive(Default, Debug)]
struct Inner {
    rules: Vec<Rule>,
    calls: HashMap<Operation, u64>,
    met: Vec<PathBuf>,
}

#[derive(Debug)]
struct Rule {
    operation: Operation,
    suffix: String,
    /// Matching calls to let pass first.
    skipped: u64,
    for_ever: bool,
    fault: Fault,
}

impl FaultPlan {
    /// A plan that only counts calls.
    pub fn none() -> Self {
        Self::default()
    }

    /// The call of this kind after `skipped` more gets the fault, once.
    pub fn once(self, operation: Operation, skipped: u64, fault: Fault) -> Self {
        self.add(Rule {
            operation,
            suffix: String::new(),
            skipped,
            for_ever: false,
            fault,
        })
    }

    /// All calls of this kind after `skipped` more get the fault.
    pub fn for_ever(self, operation: Operation, skipped: u64, fault: Fault) -> Self {
        self.add(Rule {
            operation,
            suffix: String::new(),
            skipped,
            for_ever: true,
            fault,
        })
    }

    /// All calls of this kind on paths that end in `suffix` get the fault.
    pub fn on_path(self, operation: Operation, suffix: &str, fault: Fault) -> Self {
        let suffix = suffix.to_owned();
        self.add(Rule {
            operation,
            suffix,
            skipped: 0,
            for_ever: true,
            fault,
        })
    }

    /// Calls of this kind so far, failed ones included.
    pub fn calls(&self, operation: Operation) -> u64 {
        self.inner()
            .calls
            .get(&operation)
            .copied()
            .unwrap_or_default()
    }

    /// Faults that happened so far.
    pub fn injected(&self) -> u64 {
        self.inner().met.len() as u64
    }

    /// The files of the calls that they happened to, in order.
    pub fn met(&self) -> Vec<PathBuf> {
        self.inner().met.clone()
    }

    fn add(self, rule: Rule) -> Self {
        self.inner().rules.push(rule);
        self
    }

    /// Counts a call, and says what to do to it. Every rule that matches counts it.
    pub(super) fn meet(&self, operation: Operation, path: &Path) -> Option<Fault> {
        let mut inner = self.inner();
        *inner.calls.entry(operation).or_default() += 1;
        let name = path.to_string_lossy();
        let mut fault = None;
        inner.rules.retain_mut(|rule| {
            if rule.operation != operation || !name.ends_with(&rule.suffix) {
                return true;
            }
            if rule.skipped > 0 {
                rule.skipped -= 1;
                return true;
            }
            fault = fault.or(Some(rule.fault));
            rule.for_ever
        });
        if fault.is_some() {
            inner.met.push(path.to_owned());
        }
        fault
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
