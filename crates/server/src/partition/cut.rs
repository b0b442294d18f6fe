//! Which part of a collection an id belongs to. It is a part of the format of maps: a point is
//! looked for and replaced where it was put.

use pageway::lab::SplitMix64;

use crate::wire::PointId;

/// The part of an id among so many: a number that SplitMix64 gives first, of the id as its seed,
/// times the count, over 2^64. Of a UUID the seed is the first half, mixed in the same way, xor the
/// second; both halves big-endian.
pub(crate) fn part_of(id: PointId, count: usize) -> usize {
    let mix = |seed: u64| SplitMix64::new(seed).next_u64();
    let mixed = match id {
        PointId::Number(number) => mix(number),
        PointId::Uuid(uuid) => {
            let whole = u128::from_be_bytes(uuid.0);
            mix(mix((whole >> 64) as u64) ^ whole as u64)
        }
    };
    ((u128::from(mixed) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use pageway::Uuid;

    use super::*;

    #[test]
    fn ids_are_dealt_evenly_and_for_good() {
        // Points lie on disks by these.
        let numbers = [0, 1, 2, 3, 1000, u64::MAX].map(PointId::Number);
        assert_eq!(numbers.map(|id| part_of(id, 16)), [14, 9, 9, 1, 3, 14]);
        let uuid = Uuid::parse("f47ac10b-58cc-4372-a567-0e02b2c3d479").unwrap();
        assert_eq!(part_of(PointId::Uuid(uuid), 16), 9);
        for count in [1, 2, 7] {
            let mut sums = vec![0_usize; count];
            for number in 0..3500_u64 {
                let uuid = Uuid(u128::from(number).to_be_bytes());
                for id in [PointId::Number(number), PointId::Uuid(uuid)] {
                    sums[part_of(id, count)] += 1;
                }
            }
            let mean = 7000 / count;
            let is_near = |sum: &usize| sum.abs_diff(mean) < mean / 8;
            assert!(sums.iter().all(is_near), "{sums:?}");
        }
    }
}
