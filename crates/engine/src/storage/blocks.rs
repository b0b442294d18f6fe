//! Codes of all nodes in memory as a scan of clusters takes them: in blocks of 32, in the order of
//! nodes.
//!
//! Block `b` holds the codes of nodes `32 b` to `32 b + 31`, in the form of their quantizer. A
//! cluster begins and ends anywhere in a block.

use std::ops::Range;

use pageway_kernels::{advise_huge_pages, prefetch};
use pageway_quant::{BLOCK_CODES, Quantizer};
use pageway_types::NodeId;

/// Bytes of blocks that are asked for ahead: with 22 bytes per code a scan of cold ones then took
/// 2.1 ns per code in place of 3.1, with 121 bytes more than without.
const SHORT_BYTES: usize = 32 * BLOCK_CODES;

/// Bytes that are asked for at once.
const PREFETCHED_BYTES: usize = 256;

/// Codes in blocks; empty where nodes have no clusters.
#[derive(Debug, Default)]
pub(crate) struct CodeBlocks {
    /// Whole blocks, and nothing else that counts.
    whole: Vec<u8>,
    /// The codes behind them, padded.
    last: Vec<u8>,
}

/// A block, and which nodes of it are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartOfBlock<'a> {
    pub(crate) block: &'a [u8],
    /// The node of its first code.
    pub(crate) first: u32,
    /// A bit for each code that is meant.
    pub(crate) marks: u32,
}

impl CodeBlocks {
    /// Puts codes of a quantizer, in the order of nodes, into blocks: one after the other, each in
    /// the place of its codes, so that a block is all the memory that it takes beside them.
    pub(crate) fn new(mut codes: Vec<u8>, quantizer: &Quantizer) -> Self {
        let block_bytes = BLOCK_CODES * quantizer.code_bytes();
        let mut block = vec![0; block_bytes];
        let mut blocks = codes.chunks_exact_mut(block_bytes);
        for codes in &mut blocks {
            quantizer.write_block(codes, &mut block);
            codes.copy_from_slice(&block);
        }
        quantizer.write_block(blocks.into_remainder(), &mut block);
        advise_huge_pages(&codes);
        Self {
            whole: codes,
            last: block,
        }
    }

    /// Bytes of so many codes, at most.
    pub(crate) const fn bytes(count: u64, code_bytes: u64) -> u64 {
        (count + BLOCK_CODES as u64) * code_bytes
    }

    /// A block; the last one for all numbers beyond.
    fn block(&self, number: u32) -> &[u8] {
        let start = number as usize * self.last.len();
        let whole = self.whole.get(start..start + self.last.len());
        whole.unwrap_or(&self.last)
    }

    /// The blocks that hold the codes of `nodes`.
    pub(crate) fn parts(&self, nodes: Range<u32>) -> impl Iterator<Item = PartOfBlock<'_>> {
        let size = BLOCK_CODES as u32;
        (nodes.start / size..nodes.end.div_ceil(size)).map(move |number| {
            let first = number * size;
            let before = nodes.start.saturating_sub(first);
            let behind = (first + size).saturating_sub(nodes.end);
            PartOfBlock {
                block: self.block(number),
                first,
                marks: u32::MAX << before & u32::MAX >> behind,
            }
        })
    }

    /// Asks for the codes of `nodes`, which are scanned soon, where blocks are short: the CPU
    /// follows long ones by itself.
    pub(crate) fn prefetch(&self, nodes: Range<u32>) {
        if self.last.len() <= SHORT_BYTES {
            let blocks = self.parts(nodes).map(|part| part.block);
            let lines = blocks.flat_map(|block| block.chunks(PREFETCHED_BYTES));
            lines.for_each(prefetch);
        }
    }

    /// The block that holds the code of a node, and the number of the code in it.
    pub(crate) fn place(&self, node: NodeId) -> (&[u8], usize) {
        let size = BLOCK_CODES as u32;
        (self.block(node.0 / size), (node.0 % size) as usize)
    }
}

#[cfg(test)]
mod tests {
    use pageway_kernels::KernelSet;
    use pageway_quant::{PqSpec, RaBitQSpec, TrainingSample, TrainingSpec};
    use pageway_types::{Guide, NoProgress, SplitMix64};
    use proptest::prelude::*;

    use super::*;

    fn quantizer(spec: TrainingSpec) -> Quantizer {
        let values: Vec<f32> = (0..800).map(|at| (at * at % 37) as f32).collect();
        let sample = TrainingSample {
            values: &values,
            dimension: 16,
            metric: Guide::L2,
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let kernels = KernelSet::detect().unwrap();
        Quantizer::train(&sample, &spec, kernels, &pool.unwrap(), &NoProgress).unwrap()
    }

    #[test]
    fn codes_lie_where_their_nodes_say() {
        let specs = [
            TrainingSpec::RaBitQ(RaBitQSpec::new(9)),
            TrainingSpec::Pq(PqSpec::new(5)),
        ];
        for quantizer in specs.map(quantizer) {
            let code_bytes = quantizer.code_bytes();
            for count in [1_u32, 31, 32, 33, 64, 90] {
                let mut random = SplitMix64::new(count.into());
                let codes: Vec<u8> = (0..count as usize * code_bytes)
                    .map(|_| random.next_u64() as u8)
                    .collect();
                let blocks = CodeBlocks::new(codes.clone(), &quantizer);
                let held = blocks.whole.len() + blocks.last.len();
                assert!(held as u64 <= CodeBlocks::bytes(count.into(), code_bytes as u64));
                let whole = codes.chunks(BLOCK_CODES * code_bytes);
                for (first, codes) in (0..).step_by(BLOCK_CODES).zip(whole) {
                    let mut wanted = vec![0; BLOCK_CODES * code_bytes];
                    quantizer.write_block(codes, &mut wanted);
                    for number in 0..codes.len() / code_bytes {
                        let found = blocks.place(NodeId(first + number as u32));
                        assert_eq!(found, (&*wanted, number), "{first} of {count}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn parts_are_the_nodes_of_a_range(start in 0_u32..200, length in 0_u32..200) {
            let blocks = CodeBlocks { whole: (0..13).collect(), last: vec![99] };
            let nodes = start..start + length;
            let mut found = Vec::new();
            for part in blocks.parts(nodes.clone()) {
                let number = part.first / BLOCK_CODES as u32;
                prop_assert_eq!(part.block, &[if number < 13 { number as u8 } else { 99 }]);
                let meant = (0..32).filter(|at| part.marks >> at & 1 == 1);
                found.extend(meant.map(|at| part.first + at));
            }
            prop_assert_eq!(found, nodes.collect::<Vec<u32>>());
        }
    }
}
