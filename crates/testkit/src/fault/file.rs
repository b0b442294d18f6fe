//! A file of the wrapping file system.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pageway_store::VfsFile;

use super::{Fault, FaultPlan, Operation};

#[derive(Debug)]
pub(super) struct FaultFile {
    pub(super) inner: Arc<dyn VfsFile>,
    pub(super) path: PathBuf,
    pub(super) plan: FaultPlan,
}

impl FaultFile {
    /// The fault of a call, if it is not an error by itself.
    fn meet(&self, operation: Operation) -> io::Result<Option<Fault>> {
        let fault = self.plan.meet(operation, &self.path);
        fault.and_then(Fault::error).map_or(Ok(fault), Err)
    }
}

fn half(length: usize) -> usize {
    length.div_ceil(2)
}

impl VfsFile for FaultFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = match self.meet(Operation::Read)? {
            Some(Fault::Short) => half(buf.len()),
            _ => buf.len(),
        };
        self.inner
            .read_at(buf.get_mut(..length).unwrap_or_default(), offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        match self.meet(Operation::Write)? {
            Some(Fault::Skip) => Ok(buf.len()),
            Some(Fault::Short) => {
                let length = half(buf.len());
                self.inner
                    .write_at(buf.get(..length).unwrap_or_default(), offset)
            }
            _ => self.inner.write_at(buf, offset),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.meet(Operation::SyncFile)? {
            Some(Fault::Skip) => Ok(()),
            _ => self.inner.sync_data(),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.meet(Operation::Length)?;
        self.inner.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        match self.meet(Operation::SetLength)? {
            Some(Fault::Skip) => Ok(()),
            _ => self.inner.set_len(bytes),
        }
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        match self.meet(Operation::Allocate)? {
            Some(Fault::Skip) => Ok(()),
            _ => self.inner.allocate(bytes),
        }
    }

    fn direct(&self) -> bool {
        self.inner.direct()
    }
}
