//! Files and directories behind one trait.
//!
//! Everything above sees `dyn Vfs`, so a test can replace the operating system by one that loses
//! unsynced writes, fails the Nth call or flips bits. Production has one implementation, `OsVfs`.

mod directory;
mod os;
mod traits;

pub use directory::{create_directory, is_url};
pub use os::OsVfs;
pub use traits::{LockGuard, OpenMode, Vfs, VfsFile};
