//! A fingerprint of all that decides the content of files: rows, taken while they are checked,
//! spec, plan, user ids and generation.
//!
//! File identities are derived from it, so the same data gives the same bytes, and a file of
//! another index is never taken for one of this. It is not cryptographic: it finds accidents, not
//! attacks.

use std::io;
use std::sync::Mutex;

use pageway_store::FileUuid;
use pageway_types::{VectorRead, VectorShape};
use serde_json::Value;

use crate::error::Result;
use crate::source::IdRead;

/// Odd constants of the two lanes (the fractional parts of the golden ratio and of pi).
const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0x243F_6A88_85A3_08D3];

/// User ids read at a time.
const RUN_IDS: u64 = 8192;

/// Two 64-bit lanes over a stream of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fingerprint([u64; 2]);

impl Fingerprint {
    /// The fingerprint of nothing.
    pub(super) const fn new() -> Self {
        Self(FACTORS)
    }

    /// Adds bytes. Cutting a stream into calls changes nothing as long as lengths are multiples of
    /// 8.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let tail = [u64::from_le_bytes(last), rest.len() as u64];
        let tail = if rest.is_empty() {
            &tail[..0]
        } else {
            &tail[..]
        };
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let [mut first, mut second] = self.0;
        for word in words.chain(tail.iter().copied()) {
            first = (first ^ word).wrapping_mul(FACTORS[0]);
            first ^= first >> 29;
            second = (second.rotate_left(23) ^ word).wrapping_mul(FACTORS[1]);
        }
        self.0 = [first, second];
    }

    /// Adds a value as JSON: keys in the order of the alphabet, no spaces. So an identity depends
    /// on what is stored of a spec, and not on what its parts are called in the code.
    pub(super) fn add_json(&mut self, value: &Value) {
        self.add(value.to_string().as_bytes());
    }

    /// Adds all user ids.
    pub(super) fn add_ids(&mut self, ids: &dyn IdRead) -> Result<()> {
        let mut run = Vec::with_capacity(RUN_IDS as usize);
        let mut first = 0;
        while first < ids.count() {
            run.resize(RUN_IDS.min(ids.count() - first) as usize, 0);
            ids.read(first, &mut run)?;
            for id in &run {
                self.add(&id.to_le_bytes());
            }
            first += run.len() as u64;
        }
        Ok(())
    }

    /// The fingerprint in hexadecimal digits.
    pub(super) fn hex(self) -> String {
        let [first, second] = self.0;
        format!("{first:016x}{second:016x}")
    }

    /// An identity for a file: this fingerprint and the file's name.
    pub(super) fn uuid(mut self, name: &str) -> FileUuid {
        self.add(name.as_bytes());
        self.add(&(name.len() as u64).to_le_bytes());
        let [first, second] = self.0;
        let mut bytes = [0; 16];
        let words = first
            .to_le_bytes()
            .into_iter()
            .chain((second ^ first >> 7).to_le_bytes());
        bytes
            .iter_mut()
            .zip(words)
            .for_each(|(to, from)| *to = from);
        FileUuid(bytes)
    }
}

/// Vectors that are fingerprinted as they are read, from the first to the last.
pub(super) struct Watched<'v> {
    vectors: &'v dyn VectorRead,
    seen: Mutex<(u64, Fingerprint)>,
}

impl<'v> Watched<'v> {
    /// Watches `vectors`.
    pub(super) fn new(vectors: &'v dyn VectorRead) -> Self {
        Self {
            vectors,
            seen: Mutex::new((0, Fingerprint::new())),
        }
    }

    /// The fingerprint of all rows; `None` unless each was read once, in order.
    pub(super) fn finish(self) -> Option<Fingerprint> {
        let (rows, fingerprint) = self.seen.into_inner().ok()?;
        (rows == self.vectors.count()).then_some(fingerprint)
    }
}

impl VectorRead for Watched<'_> {
    fn count(&self) -> u64 {
        self.vectors.count()
    }

    fn shape(&self) -> VectorShape {
        self.vectors.shape()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.vectors.read(first, out)?;
        let Ok(mut seen) = self.seen.lock() else {
            return Ok(());
        };
        if seen.0 == first {
            seen.0 += (out.len() / self.shape().row_bytes()) as u64;
            seen.1.add(out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_and_every_name_matters() {
        let bytes: Vec<u8> = (0..61).collect();
        let print = |bytes: &[u8]| {
            let mut fingerprint = Fingerprint::new();
            fingerprint.add(bytes);
            fingerprint
        };
        let whole = print(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(print(&other), whole, "bit {bit}");
        }
        assert_ne!(print(&bytes[..60]), whole);
        assert_ne!(whole.uuid("codes-1"), whole.uuid("codes-2"));
        assert_eq!(whole.uuid("codes-1"), print(&bytes).uuid("codes-1"));
    }

    #[test]
    fn the_order_of_keys_and_the_names_in_the_code_do_not_count() {
        let of = |text: &str| {
            let mut fingerprint = Fingerprint::new();
            fingerprint.add_json(&serde_json::from_str(text).unwrap());
            fingerprint
        };
        assert_eq!(of(r#"{"a": 1, "b": [2]}"#), of(r#"{ "b": [2], "a": 1 }"#));
        assert_ne!(of(r#"{"a": 1, "b": [2]}"#), of(r#"{"a": 1, "b": [3]}"#));
    }
}
