//! Ids as a bitmap that other programs write.

use roaring::RoaringBitmap;

use crate::error::{Result, invalid};

/// The ids in a bitmap of 32 bits, in the portable format of Roaring.
///
/// # Errors
/// For bytes that are none, or more than one.
pub fn ids_of_bitmap(mut bytes: &[u8]) -> Result<impl Iterator<Item = u64>> {
    let wrong = |what: &str| invalid("bitmap", what);
    let bitmap = RoaringBitmap::deserialize_from(&mut bytes)
        .map_err(|error| wrong(&format!("no Roaring bitmap of 32 bits: {error}")))?;
    if !bytes.is_empty() {
        return Err(wrong(&format!("{} bytes behind its end", bytes.len())));
    }
    Ok(bitmap.into_iter().map(u64::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_damage_is_refused() {
        let ids = [0, 5, 70_000, 70_001, u32::MAX];
        let bitmap: RoaringBitmap = ids.into_iter().chain(1000..9000).collect();
        let mut bytes = Vec::new();
        bitmap.serialize_into(&mut bytes).unwrap();
        let read: Vec<u64> = ids_of_bitmap(&bytes).unwrap().collect();
        assert_eq!(read, bitmap.iter().map(u64::from).collect::<Vec<_>>());
        for cut in 0..bytes.len().min(60) {
            assert!(ids_of_bitmap(&bytes[..cut]).is_err(), "{cut}");
        }
        bytes.push(0);
        let error = ids_of_bitmap(&bytes).err().unwrap().to_string();
        assert!(error.contains("1 bytes behind its end"), "{error}");
    }
}
