//! Signals that would end the process where an error says more.
#![expect(unsafe_code, reason = "changes how the process takes a signal")]

/// From now on a file that may not grow any further (`ulimit -f`) is an error of the write, and no
/// signal that ends the process. For programs: a library leaves signals to who embeds it.
pub fn bear_file_size_limit() {
    // SAFETY: ignores a signal that is raised by writes alone; no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
