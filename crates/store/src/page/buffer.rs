//! Memory that direct I/O and io_uring can write into.
#![expect(
    unsafe_code,
    reason = "alignment beyond that of Vec; the kernel writes behind the borrow checker"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Alignment that every device and file system accepts for direct reads.
pub(crate) const ALIGNMENT: usize = 4096;

/// A number of equally long buffers in one allocation, each aligned to 4096 bytes if its length
/// is a multiple of that.
///
/// Invariants: `start` is valid for `count * bytes_each` initialised bytes until drop, and no
/// method makes a reference to bytes of any buffer but those it was asked for. So the kernel may
/// write one buffer while the owner reads another.
#[derive(Debug)]
pub struct AlignedBuffers {
    start: NonNull<u8>,
    count: usize,
    bytes_each: usize,
}

// SAFETY: the allocation is owned, and reached only through `&self` and `&mut self`.
unsafe impl Send for AlignedBuffers {}
// SAFETY: `&self` gives only shared slices; the raw address is handed out by `&mut self` alone.
unsafe impl Sync for AlignedBuffers {}

impl AlignedBuffers {
    /// Allocates `count` zeroed buffers of `bytes_each`; `OutOfMemory` when that cannot be had.
    pub fn new(count: usize, bytes_each: usize) -> io::Result<Self> {
        let layout = Self::layout(count, bytes_each)?;
        if layout.size() == 0 {
            return Ok(Self {
                start: NonNull::dangling(),
                count,
                bytes_each,
            });
        }
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            count,
            bytes_each,
        })
    }

    /// Number of buffers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of one buffer.
    pub fn bytes_each(&self) -> usize {
        self.bytes_each
    }

    /// Buffer `index`. Panics when there is none, like a slice.
    pub fn get(&self, index: usize) -> &[u8] {
        let (start, bytes) = self.locate(index, 1);
        // SAFETY: `locate` returns a range inside the allocation, which is initialised and lives
        // as long as the borrow of `self`.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) }
    }

    /// Buffer `index`, writable. Panics when there is none.
    pub fn get_mut(&mut self, index: usize) -> &mut [u8] {
        self.get_many_mut(index, 1)
    }

    /// `count` adjacent buffers from `first` as one slice, for reads of several units at once.
    pub fn get_many_mut(&mut self, first: usize, count: usize) -> &mut [u8] {
        let (start, bytes) = self.locate(first, count);
        // SAFETY: as in `get`, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) }
    }

    /// Address of buffer `index`, for the kernel. Panics when there is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn address(&mut self, index: usize) -> NonNull<u8> {
        self.locate(index, 1).0
    }

    /// Gives the memory up for good: the kernel may still write into it.
    #[cfg(target_os = "linux")]
    pub(crate) fn leak(&mut self) {
        self.count = 0;
    }

    fn locate(&self, first: usize, count: usize) -> (NonNull<u8>, usize) {
        let inside = first
            .checked_add(count)
            .is_some_and(|end| end <= self.count);
        assert!(inside, "buffers {first}..+{count} of {}", self.count);
        // SAFETY: `first <= self.count`, so the offset stays inside the allocation (or is zero for
        // an empty one); its size fits `isize` because `Layout` accepted it.
        let start = unsafe { self.start.add(first * self.bytes_each) };
        (start, count * self.bytes_each)
    }

    fn layout(count: usize, bytes_each: usize) -> io::Result<Layout> {
        count
            .checked_mul(bytes_each)
            .and_then(|bytes| Layout::from_size_align(bytes, ALIGNMENT).ok())
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Drop for AlignedBuffers {
    fn drop(&mut self) {
        let Ok(layout) = Self::layout(self.count, self.bytes_each) else {
            return;
        };
        if layout.size() > 0 {
            // SAFETY: allocated in `new` with this layout, freed once.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_aligned_and_apart() {
        let mut buffers = AlignedBuffers::new(3, 4096).unwrap();
        for index in 0..3 {
            assert_eq!(buffers.get(index).as_ptr() as usize % ALIGNMENT, 0);
            assert!(buffers.get(index).iter().all(|&byte| byte == 0));
            buffers.get_mut(index).fill(index as u8 + 1);
        }
        for index in 0..3 {
            assert!(
                buffers
                    .get(index)
                    .iter()
                    .all(|&byte| byte == index as u8 + 1)
            );
        }
        assert_eq!(buffers.get_many_mut(1, 2).len(), 8192);
        assert_eq!(buffers.get_many_mut(3, 0).len(), 0);
    }

    #[test]
    fn absurd_sizes_are_refused_and_empty_ones_work() {
        let error = AlignedBuffers::new(usize::MAX, 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        let empty = AlignedBuffers::new(0, 4096).unwrap();
        assert_eq!(empty.count(), 0);
    }

    #[test]
    #[should_panic(expected = "buffers 3..+1 of 3")]
    fn a_buffer_outside_is_a_bug() {
        let buffers = AlignedBuffers::new(3, 512).unwrap();
        buffers.get(3);
    }
}
