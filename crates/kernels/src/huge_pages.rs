//! Huge pages for large tables that are read at random: rows, codes, adjacency lists.
//!
//! With pages of 4 KiB nearly every random row misses the address cache of the CPU; with pages of 2
//! MiB few do. On 128-byte rows of a million vectors that halves the time per distance
//! (`examples/speed.rs`, random column).

/// Size and alignment of a huge page on the systems we ask.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Of Linux 6.1, which the C library of musl does not name.
#[cfg(target_os = "linux")]
const MADV_COLLAPSE: libc::c_int = 25;

/// Asks the system to move a large, filled table into huge pages.
///
/// A hint: values stay as they are, memory use does not grow (only whole huge pages inside `table`
/// count), and where the system refuses nothing happens. Costs a copy of the table, once.
pub fn advise_huge_pages<T: Copy>(table: &[T]) {
    #[cfg(target_os = "linux")]
    {
        let range = table.as_ptr_range();
        let start = (range.start as usize).next_multiple_of(HUGE_PAGE_BYTES);
        let end = range.end as usize / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        if start >= end {
            return;
        }
        for advice in [libc::MADV_HUGEPAGE, MADV_COLLAPSE] {
            // SAFETY: the range is page-aligned and inside a live allocation; neither advice
            // changes its contents or its mapping as seen by this process.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, advice) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_at_every_size_and_offset() {
        let table: Vec<u32> = (0..3_000_000).collect();
        for slice in [&table[..0], &table[1..100], &table[..], &table[77_777..]] {
            advise_huge_pages(slice);
        }
        assert!(
            table
                .iter()
                .enumerate()
                .all(|(at, value)| at == *value as usize)
        );
    }
}
