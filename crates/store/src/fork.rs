//! Forks: what a child has of its parent, and must not use.
//!
//! A child begins with the memory of its parent and one of its threads. Rings are still those of
//! the parent, who waits for what completes in them; threads are gone, with the locks that they
//! held. So what depends on either remembers the process it was made in, and is neither used nor
//! ended in another. Forks are counted by a handler that the C library calls: asking costs no
//! system call.
#![expect(unsafe_code, reason = "the C library calls the handler")]

use std::io;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

/// Forks between this process and the first that asked.
static FORKS: AtomicU32 = AtomicU32::new(0);

static COUNTED: Once = Once::new();

/// A process, told from all that it descends from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process(u32);

impl Process {
    /// The one that runs this.
    #[inline]
    pub fn current() -> Self {
        COUNTED.call_once(count_forks);
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it runs this.
    #[inline]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    /// `Other` in a child of it.
    #[inline]
    pub(crate) fn check(self) -> io::Result<()> {
        if self.is_current() {
            return Ok(());
        }
        Err(io::Error::other(
            "the process was forked while this was in use: search again",
        ))
    }
}

fn count_forks() {
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler is a function of this library, and does what a child may do between fork
    // and exec. Without memory for it, which is the only failure, forks stay unnoticed.
    unsafe { libc::pthread_atfork(None, None, Some(count)) };
}

/// A value for each process: a child makes its own, and leaves that of its parent as it is, for
/// good.
#[derive(Debug)]
pub struct PerProcess<T> {
    owner: Process,
    value: ManuallyDrop<T>,
    /// That of a child.
    next: OnceLock<Box<Self>>,
}

impl<T: Default> PerProcess<T> {
    /// The value of this process.
    pub fn get(&self) -> &T {
        let current = Process::current();
        let mut own = self;
        while own.owner != current {
            own = own.next.get_or_init(Box::default);
        }
        &own.value
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self {
            owner: Process::current(),
            value: ManuallyDrop::default(),
            next: OnceLock::new(),
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if self.owner.is_current() {
            // SAFETY: dropped here alone, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
