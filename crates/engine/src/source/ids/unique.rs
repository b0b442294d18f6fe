//! Duplicate ids, found within a memory cap.
//!
//! Ids in rising order are unique, and one pass without memory sees it: the common case. Otherwise
//! the ids are split by hash into as many parts as it takes for one part to fit the cap; each pass
//! over the list collects one part, sorts it and looks at neighbours. Rows are not kept: when a
//! duplicate is found, one more pass finds its two rows.
//!
//! Memory: one run of ids and one part, at most the cap. Time: `O(n log n)` and
//! `ceil(9 n / cap) + 1` passes for `n` ids and a cap in bytes.

use pageway_types::SplitMix64;

use super::super::error::SourceError;
use super::IdRead;
use crate::error::{Error, ErrorKind};

/// Smallest memory cap of [`check_unique`].
pub const UNIQUE_BYTES_MIN: u64 = 256 * 1024;

/// What answers hold where fewer than k were found.
const RESERVED_ID: u64 = u64::MAX;

const RUN_IDS: usize = 8192;
const ID_BYTES: u64 = 8;

/// Refuses a list in which two rows have one id, with at most `memory_bytes` of memory.
///
/// # Errors
/// `InvalidInput` naming one such id and its first two rows, the row of the id `u64::MAX`, which
/// answers need for "none", or a cap below [`UNIQUE_BYTES_MIN`]; what the list reports.
pub fn check_unique(ids: &dyn IdRead, memory_bytes: u64) -> Result<(), Error> {
    if memory_bytes < UNIQUE_BYTES_MIN {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!(
                "{}: looking for duplicate ids needs at least {UNIQUE_BYTES_MIN} bytes of memory, \
                 {memory_bytes} were given",
                ids.name()
            ),
        ));
    }
    if is_rising(ids)? {
        return Ok(());
    }
    let capacity = memory_bytes / ID_BYTES - RUN_IDS as u64;
    match find_duplicate(ids, capacity.min(ids.count()) as usize)? {
        Some(id) => Err(locate(ids, id)?.into()),
        None => Ok(()),
    }
}

/// The pass over all ids: true when they rise.
fn is_rising(ids: &dyn IdRead) -> Result<bool, Error> {
    let (mut last, mut rising, mut reserved) = (None, true, None);
    visit(ids, |row, id| {
        rising &= last < Some(id);
        last = Some(id);
        reserved = (id == RESERVED_ID).then_some(row);
        reserved.is_none()
    })?;
    reserved.map_or(Ok(rising), |row| {
        let name = ids.name().to_owned();
        Err(SourceError::ReservedId { name, row }.into())
    })
}

/// Some id that appears twice. `capacity` ids are held at once.
fn find_duplicate(ids: &dyn IdRead, capacity: usize) -> Result<Option<u64>, Error> {
    let mut part = Vec::with_capacity(capacity);
    let mut parts = parts_for(ids.count(), capacity as u64);
    let mut number = 0;
    while number < parts {
        part.clear();
        let whole = collect_part(ids, number, parts, &mut part)?;
        part.sort_unstable();
        let twins = part.iter().zip(part.iter().skip(1)).find(|(a, b)| a == b);
        if let Some((id, _)) = twins {
            return Ok(Some(*id));
        }
        number += 1;
        if !whole {
            // More distinct ids than an even spread gives: split finer and begin again.
            parts = parts.saturating_mul(2);
            number = 0;
        }
    }
    Ok(None)
}

/// One part when all ids fit; otherwise an eighth more parts than an even spread needs.
fn parts_for(count: u64, capacity: u64) -> u64 {
    if count <= capacity {
        1
    } else {
        (count + count / 8).div_ceil(capacity)
    }
}

/// Collects the ids of one part; false when they do not fit.
fn collect_part(
    ids: &dyn IdRead,
    number: u64,
    parts: u64,
    part: &mut Vec<u64>,
) -> Result<bool, Error> {
    let mut fits = true;
    visit(ids, |_, id| {
        if SplitMix64::mix(id) % parts == number {
            fits = part.len() < part.capacity();
            if fits {
                part.push(id);
            }
        }
        fits
    })?;
    Ok(fits)
}

/// The first two rows of an id that is known to appear twice.
fn locate(ids: &dyn IdRead, id: u64) -> Result<SourceError, Error> {
    let mut rows = Vec::with_capacity(2);
    visit(ids, |row, other| {
        if other == id {
            rows.push(row);
        }
        rows.len() < 2
    })?;
    let &[first_row, second_row] = rows.as_slice() else {
        let context = format!("{}: the ids changed while they were read", ids.name());
        return Err(Error::new(ErrorKind::InvalidInput, context));
    };
    Ok(SourceError::DuplicateId {
        name: ids.name().to_owned(),
        id,
        first_row,
        second_row,
    })
}

/// Calls `keep_on` with every row and id in order until it says no.
fn visit(ids: &dyn IdRead, mut keep_on: impl FnMut(u64, u64) -> bool) -> Result<(), Error> {
    let mut run = vec![0; ids.count().min(RUN_IDS as u64) as usize];
    let mut first = 0;
    while first < ids.count() {
        let length = (ids.count() - first).min(RUN_IDS as u64);
        let (run, _) = run.split_at_mut(length as usize);
        ids.read(first, run)?;
        for (row, id) in (first..).zip(run.iter()) {
            if !keep_on(row, *id) {
                return Ok(());
            }
        }
        first += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::IdSlice;
    use super::*;

    /// A list in falling order, so that the pass over rising ids does not decide.
    fn falling(count: u64) -> Vec<u64> {
        (0..count).rev().map(|i| i * 1000 + 7).collect()
    }

    #[test]
    fn unique_ids_pass_in_one_part_and_in_many() {
        let ids = falling(100_000);
        for memory_bytes in [UNIQUE_BYTES_MIN, 512 * 1024, 1 << 30] {
            check_unique(&IdSlice(&ids), memory_bytes).unwrap();
        }
        assert!(check_unique(&IdSlice(&ids), UNIQUE_BYTES_MIN - 1).is_err());
    }

    #[test]
    fn a_duplicate_is_named_with_both_rows_under_every_cap() {
        for (first, second) in [(0, 1), (0, 99_999), (41_000, 77_000)] {
            let mut ids = falling(100_000);
            ids[second] = ids[first];
            for memory_bytes in [UNIQUE_BYTES_MIN, 1 << 30] {
                let error = check_unique(&IdSlice(&ids), memory_bytes).unwrap_err();
                let wanted = format!(
                    "id {} appears in row {first} and again in row {second}",
                    ids[first]
                );
                assert!(error.context().contains(&wanted), "{error}");
            }
        }
    }

    #[test]
    fn one_id_many_times_is_found_although_its_part_never_fits() {
        let ids = vec![5; 100_000];
        let error = check_unique(&IdSlice(&ids), UNIQUE_BYTES_MIN).unwrap_err();
        assert!(
            error
                .context()
                .contains("id 5 appears in row 0 and again in row 1"),
            "{error}"
        );
    }

    #[test]
    fn an_overfull_part_splits_until_it_fits() {
        // With two parts and room for 4, ids that all hash to one parity overflow part 0 or 1.
        let ids: Vec<u64> = (0..)
            .filter(|id| SplitMix64::mix(*id).is_multiple_of(2))
            .take(7)
            .collect();
        let mut shuffled = ids.clone();
        shuffled.reverse();
        assert_eq!(find_duplicate(&IdSlice(&shuffled), 4).unwrap(), None);
        shuffled[6] = shuffled[0];
        assert_eq!(
            find_duplicate(&IdSlice(&shuffled), 4).unwrap(),
            Some(shuffled[0])
        );
    }
}
