//! Which backend works here, and why not a better one.

use std::io;

use super::IoBackend;
use crate::PageFile;

/// What reading a file will be like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoProbe {
    /// The best backend that works.
    pub backend: IoBackend,
    /// Why it was chosen; when it is not io_uring, what to change to get io_uring.
    pub reason: String,
    /// True when reads bypass the page cache.
    pub direct: bool,
}

/// Tries io_uring on the file by reading its header page, as a lane would.
pub fn probe(file: &PageFile) -> IoProbe {
    let (backend, reason) = match try_uring(file) {
        Ok(()) => (IoBackend::Uring, "io_uring works".to_owned()),
        Err(error) => (IoBackend::Threads, explain(&error)),
    };
    IoProbe {
        backend,
        reason,
        direct: file.direct(),
    }
}

#[cfg(target_os = "linux")]
fn try_uring(file: &PageFile) -> io::Result<()> {
    let files = super::files::LaneFiles::new(file, &[])?;
    super::uring::UringLane::new(files, 1)?.read_header_page()
}

#[cfg(not(target_os = "linux"))]
fn try_uring(_file: &PageFile) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn explain(error: &io::Error) -> String {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    if errno == Some(Errno::PERM) || errno == Some(Errno::ACCESS) {
        "io_uring is denied (EPERM): in a container allow the system calls io_uring_setup, \
         io_uring_enter and io_uring_register in its seccomp profile, on a host set \
         kernel.io_uring_disabled=0"
            .to_owned()
    } else if errno == Some(Errno::NOSYS) {
        "this kernel has no io_uring (ENOSYS): use Linux 5.6 or newer".to_owned()
    } else if errno == Some(Errno::NOMEM) {
        "io_uring may not lock memory (ENOMEM): raise the limit with ulimit -l".to_owned()
    } else if error.kind() == io::ErrorKind::Unsupported {
        "io_uring needs Linux 5.6 or newer and a file of the operating system".to_owned()
    } else {
        format!("io_uring failed on this file ({error}): set PAGEWAY_IO=threads to silence this")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_what_to_do() {
        let cases = [
            (rustix::io::Errno::PERM, "seccomp"),
            (rustix::io::Errno::NOSYS, "5.6"),
            (rustix::io::Errno::NOMEM, "ulimit -l"),
            (rustix::io::Errno::IO, "PAGEWAY_IO"),
        ];
        for (errno, expected) in cases {
            let text = explain(&io::Error::from_raw_os_error(errno.raw_os_error()));
            assert!(text.contains(expected), "{text}");
        }
    }
}
