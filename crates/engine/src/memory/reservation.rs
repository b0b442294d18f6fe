//! Memory that is counted by what takes it: one function lays a structure out, and either takes its
//! buffers or adds up what they would be.

use crate::error::{Error, ErrorKind, Result};

/// Takes buffers, or only counts their bytes.
#[derive(Debug)]
pub(crate) struct Reservation {
    bytes: usize,
    takes: bool,
}

impl Reservation {
    /// Takes what is asked for.
    pub(crate) const fn taking() -> Self {
        Self {
            bytes: 0,
            takes: true,
        }
    }

    /// Gives empty buffers and counts what was asked for.
    pub(crate) const fn counting() -> Self {
        Self {
            bytes: 0,
            takes: false,
        }
    }

    /// Bytes asked for so far.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts bytes that others take.
    pub(crate) const fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// An empty vector with room for `count`.
    ///
    /// # Errors
    /// `OutOfMemory` where the system refuses it.
    pub(crate) fn room<T>(&mut self, count: usize) -> Result<Vec<T>> {
        self.add(count.saturating_mul(size_of::<T>()));
        let mut room = Vec::new();
        if self.takes {
            room.try_reserve_exact(count).map_err(|error| {
                Error::new(ErrorKind::OutOfMemory, format!("for a query: {error}"))
            })?;
        }
        Ok(room)
    }

    /// A vector of `count` values.
    ///
    /// # Errors
    /// As [`Reservation::room`].
    pub(crate) fn filled<T: Clone>(&mut self, count: usize, value: T) -> Result<Vec<T>> {
        let mut filled = self.room(count)?;
        if self.takes {
            filled.resize(count, value);
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_what_is_taken() {
        let lay_out = |mut reservation: Reservation| {
            let keys: Vec<u64> = reservation.room(7).unwrap();
            let bytes = reservation.filled(5, 1u8).unwrap();
            reservation.add(3);
            (keys.capacity() * 8 + bytes.len(), reservation.bytes())
        };
        assert_eq!(lay_out(Reservation::taking()), (61, 64));
        assert_eq!(lay_out(Reservation::counting()), (0, 64));
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let error = Reservation::taking().room::<u64>(usize::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let mut counting = Reservation::counting();
        counting.room::<u64>(usize::MAX).unwrap();
        assert_eq!(counting.bytes(), usize::MAX);
    }
}
