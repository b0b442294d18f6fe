//! How eagerly a thread takes the processor.

/// Niceness of work that can wait.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lets other threads go first from now on, for the processor and, as the system derives one from
/// the other, for the disk; threads that this one starts do likewise. Does nothing where priorities
/// are those of processes.
pub fn yield_to_others() {
    // Who may not has the priority that it had.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}
