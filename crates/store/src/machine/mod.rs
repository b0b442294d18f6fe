//! What the machine has and what this process takes: memory; `limit` has how much of it this
//! process may take, `counters` what the operating system counts, `priority` who yields to whom,
//! `allocator` what becomes of freed memory.

mod allocator;
mod counters;
mod limit;
mod priority;
mod signal;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::{OpenMode, OsVfs, Vfs};
pub use allocator::{give_back_freed_memory, return_freed_memory};
pub use counters::{device_reads, process_cpu_time, process_read_bytes, process_requested_bytes};
pub use limit::memory_limit_bytes;
pub use priority::yield_to_others;
pub use signal::bear_file_size_limit;

/// Main memory of the machine in bytes; `None` where the system does not say.
pub fn memory_bytes() -> Option<u64> {
    proc_field("/proc/meminfo", "MemTotal:")
}

/// Most memory that this process ever had resident, in bytes; `None` where the system does not say.
pub fn peak_memory_bytes() -> Option<u64> {
    proc_field("/proc/self/status", "VmHWM:")
}

/// Most files this process may have open; `None` for no limit.
pub fn open_files_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Lets this process have as many files open as the system lets it raise that to. For programs: a
/// library leaves limits to who embeds it.
pub fn raise_open_files_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where that is refused, the limit of before stays, and what goes beyond it is an error there.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Most bytes this process may lock in memory; `None` for no limit.
pub fn locked_memory_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// A field of a `/proc` file, given in kB.
fn proc_field(path: &str, name: &str) -> Option<u64> {
    let text = read_text(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// A small file of `/proc` or `/sys`; `None` where it cannot be read.
fn read_text(path: &str) -> Option<String> {
    let file = OsVfs.open(path.as_ref(), OpenMode::Read).ok()?;
    let mut bytes = vec![0; 8192];
    let length = file.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_says_all_of_it() {
        let memory = memory_bytes().unwrap();
        let peak = peak_memory_bytes().unwrap();
        assert!(peak > 100_000 && peak < memory, "{peak} of {memory}");
        assert!(open_files_limit().is_none_or(|files| files > 10));
        raise_open_files_limit();
        assert_eq!(open_files_limit(), getrlimit(Resource::Nofile).maximum);
    }
}
