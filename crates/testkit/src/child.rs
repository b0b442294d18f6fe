//! Children: what is done in one leaves this process as it is.
#![expect(unsafe_code, reason = "forks, which nothing else does")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seconds after which a child that still runs is ended: it waits for what never comes.
const PATIENCE_SECONDS: u32 = 60;

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildEnd {
    /// With what its work returned.
    Returned(bool),
    /// It panicked.
    Panicked,
    /// A signal ended it: `SIGALRM` when it had run for a minute.
    Signal(i32),
    /// It could not be made, or not be waited for.
    Lost,
}

/// Forks, does `work` in the child alone, and waits for its end. Nothing of the parent is dropped
/// in the child but what `work` owns.
pub fn in_child(work: impl FnOnce() -> bool) -> ChildEnd {
    // SAFETY: the child has one thread, whose allocator the C library keeps usable.
    match unsafe { libc::fork() } {
        -1 => ChildEnd::Lost,
        0 => {
            // SAFETY: only sets when a signal ends the child, which no handler catches.
            unsafe { libc::alarm(PATIENCE_SECONDS) };
            let code = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(true) => 0,
                Ok(false) => 1,
                Err(_) => 2,
            };
            // SAFETY: ends the child without what the parent left to be done at its end.
            unsafe { libc::_exit(code) }
        }
        child => end_of(child),
    }
}

fn end_of(child: libc::pid_t) -> ChildEnd {
    let mut status = 0;
    // SAFETY: waits for a child of this process, and writes to `status` alone.
    if unsafe { libc::waitpid(child, &raw mut status, 0) } != child {
        return ChildEnd::Lost;
    }
    if libc::WIFSIGNALED(status) {
        return ChildEnd::Signal(libc::WTERMSIG(status));
    }
    match libc::WEXITSTATUS(status) {
        0 => ChildEnd::Returned(true),
        1 => ChildEnd::Returned(false),
        _ => ChildEnd::Panicked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_says_how_it_ended_and_changes_nothing_here() {
        let mut number = 1;
        let counts = |number: &mut i32| {
            *number += 1;
            *number == 2
        };
        assert_eq!(in_child(|| counts(&mut number)), ChildEnd::Returned(true));
        assert_eq!(number, 1);
        assert_eq!(in_child(|| false), ChildEnd::Returned(false));
        assert_eq!(in_child(|| panic!("in a child")), ChildEnd::Panicked);
    }
}
