//! Reading a structure from bytes that nobody vouches for.
//!
//! Little-endian. A run is cut from what is left before anything is allocated for it, so that no
//! length in the bytes can ask for more memory than there are bytes.

use crate::error::GraphError;

/// What is left of the bytes of one structure.
pub(crate) struct ByteReader<'b> {
    kind: &'static str,
    rest: &'b [u8],
}

impl<'b> ByteReader<'b> {
    /// Reads `bytes` as a `kind`, which is what errors call it.
    pub(crate) const fn new(kind: &'static str, bytes: &'b [u8]) -> Self {
        Self { kind, rest: bytes }
    }

    pub(crate) const fn refuse(&self, problem: &'static str) -> GraphError {
        GraphError::Malformed {
            kind: self.kind,
            problem,
        }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'b [u8], GraphError> {
        let cut = self.rest.split_at_checked(count);
        let (bytes, rest) = cut.ok_or_else(|| self.refuse("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, GraphError> {
        let bytes = self.bytes(size_of::<u16>())?;
        Ok(bytes
            .first_chunk()
            .map_or(0, |&bytes| u16::from_le_bytes(bytes)))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, GraphError> {
        let bytes = self.bytes(size_of::<u32>())?;
        Ok(bytes
            .first_chunk()
            .map_or(0, |&bytes| u32::from_le_bytes(bytes)))
    }

    /// A run of numbers of four bytes.
    pub(crate) fn words<T>(
        &mut self,
        count: usize,
        decode: impl Fn([u8; 4]) -> T,
    ) -> Result<Vec<T>, GraphError> {
        let bytes = self.bytes(count.saturating_mul(size_of::<u32>()))?;
        let (words, _) = bytes.as_chunks();
        Ok(words.iter().map(|&word| decode(word)).collect())
    }

    /// The structure is complete.
    pub(crate) fn end(&self) -> Result<(), GraphError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.refuse("bytes are left behind its end"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_there_and_no_more() {
        let bytes = [1, 2, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0];
        let mut reader = ByteReader::new("number", &bytes);
        assert_eq!(reader.u16().expect("two bytes"), 0x0201);
        assert_eq!(reader.u32().expect("four bytes"), 3);
        assert!(reader.words(usize::MAX, u32::from_le_bytes).is_err());
        assert!(reader.words(3, u32::from_le_bytes).is_err());
        let words = reader.words(1, u32::from_le_bytes).expect("one word");
        assert_eq!(words, [4]);
        assert_eq!(reader.bytes(4).expect("four bytes"), [5, 0, 0, 0]);
        assert!(reader.u16().is_err());
        reader.end().expect("the end");
        assert!(ByteReader::new("number", &bytes).end().is_err());
    }
}
