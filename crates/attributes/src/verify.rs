//! Whether terms and documents tell the same.

use roaring::RoaringBitmap;

use crate::compile::Attributes;
use crate::error::{AttributeError, Result};
use crate::terms::{parts, terms_of};

impl Attributes {
    /// Reads both files whole and compares them: what each document says is what terms say of its
    /// node, and nothing else is. Holds one bitmap.
    ///
    /// # Errors
    /// `Corrupt` where they differ or make no sense, or as files are.
    pub fn verify(&self) -> Result<()> {
        let (mut said, mut terms) = (0u64, 0u64);
        self.terms.visit(&[], &[u8::MAX], &mut |term, posting| {
            if parts(term).is_none() {
                let what = "a term that says nothing".to_owned();
                return Err(AttributeError::Corrupt(what));
            }
            let mut nodes = RoaringBitmap::new();
            posting.add_to(&mut nodes)?;
            for node in nodes {
                said = said.wrapping_add(mix(term, node));
            }
            terms += 1;
            Ok(())
        })?;
        let mut told = 0u64;
        let all = 0..self.documents.nodes();
        self.documents
            .visit::<AttributeError>(all, &mut |node, json| {
                for term in terms_of(&self.documents.parse(json)?)? {
                    told = told.wrapping_add(mix(&term, node));
                }
                Ok(())
            })?;
        if said == told && terms == self.terms.terms() {
            return Ok(());
        }
        let what = "terms and documents tell different things".to_owned();
        Err(AttributeError::Corrupt(what))
    }
}

/// A term of a node as a number. Sums of such are the same of the same pairs, and of others once in
/// 2^64.
fn mix(term: &[u8], node: u32) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let scramble = |sum: u64| (sum ^ (sum >> 29)).wrapping_mul(ODD);
    let seed = scramble(u64::from(node) + ODD);
    let mixed = term
        .chunks(8)
        .map(|part| {
            part.iter()
                .fold(0u64, |all, byte| all << 8 | u64::from(*byte))
        })
        .fold(seed, |sum, part| scramble(sum.rotate_left(23) ^ part));
    scramble(mixed ^ term.len() as u64)
}
