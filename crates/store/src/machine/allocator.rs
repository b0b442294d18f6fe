//! What the allocator of the system does with memory that was freed.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "speaks to the allocator")
)]

/// Buffers from so many bytes on go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK_FROM: i32 = 256 << 10;

/// From now on large buffers that are freed are given back to the system, so that a build takes no
/// more than its stages hold: glibc keeps what is below a limit that grows with what was freed. For
/// programs: a library leaves the allocator to who embeds it. Does nothing elsewhere.
pub fn give_back_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes two numbers; a parameter that is refused stays as it was.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK_FROM);
    }
}

/// Gives what was freed so far back to the system now, whatever the allocator would keep of it: for
/// who holds much for a while, such as a merge, in a process whose allocator is not ours to set.
/// Takes milliseconds. Does nothing elsewhere.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes a number, and touches no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
