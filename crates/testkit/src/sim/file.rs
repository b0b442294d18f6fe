//! An open file of the simulation. Stays usable after its name is gone, as on Unix.

use std::fmt;
use std::io;
use std::sync::Arc;

use pageway_store::VfsFile;

use super::DEVICE_SECTOR_BYTES;
use super::vfs::Shared;

pub(super) struct SimFile {
    pub(super) shared: Arc<Shared>,
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) writable: bool,
    /// Writes must begin and end between two device sectors, in memory as on disk.
    pub(super) direct: bool,
}

impl SimFile {
    fn writable(&self) -> io::Result<()> {
        if self.writable {
            Ok(())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    /// Refuses what a device would, which knows nothing smaller than a device sector.
    fn aligned(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let least = DEVICE_SECTOR_BYTES as u64;
        let places = [buf.as_ptr() as u64, buf.len() as u64, offset];
        if !self.direct || places.iter().all(|place| place.is_multiple_of(least)) {
            return Ok(());
        }
        Err(io::ErrorKind::InvalidInput.into())
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimFile").field(&self.name).finish()
    }
}

impl VfsFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.aligned(buf, offset)?;
        self.shared.look(|state| {
            let bytes = state.contents(self.number)?.current();
            Ok(bytes.read(to_usize(offset)?, buf))
        })
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.writable()?;
        self.aligned(buf, offset)?;
        let offset = to_usize(offset)?;
        self.shared
            .change(&format!("write {} at {offset}", self.name), |state| {
                state.contents(self.number)?.write(buf, offset);
                Ok(buf.len())
            })
    }

    fn sync_data(&self) -> io::Result<()> {
        let failing = self.shared.sync_fails();
        self.shared
            .change(&format!("sync {}", self.name), |state| {
                let contents = state.contents(self.number)?;
                if failing {
                    contents.forget_pending();
                } else {
                    contents.sync();
                }
                Ok(())
            })?;
        if failing {
            Err(io::Error::other("injected sync failure"))
        } else {
            Ok(())
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.shared
            .look(|state| Ok(state.contents(self.number)?.current().length() as u64))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.writable()?;
        let bytes = to_usize(bytes)?;
        self.shared.change(
            &format!("set length of {} to {bytes}", self.name),
            |state| {
                state.contents(self.number)?.set_len(bytes);
                Ok(())
            },
        )
    }

    fn direct(&self) -> bool {
        self.direct
    }
}

fn to_usize(value: u64) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::ErrorKind::InvalidInput.into())
}
