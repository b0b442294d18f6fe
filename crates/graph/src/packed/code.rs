//! The code of a list: what its bytes mean, for an index of so many nodes.

use pageway_types::NodeId;

use super::bits::{BitWriter, PEEK_BITS, peek};
use crate::error::GraphError;

/// Bits of a class.
const CLASS_BITS: u32 = 4;
const CLASSES: usize = 1 << CLASS_BITS;

/// Longest list that has a code.
const MAX_LENGTH: usize = 0x7fff;
/// Lists shorter than that have a length of one byte.
const LONG: u8 = 0x80;

/// Share of the bits of a mean gap that a gap has, about, where a placement numbered neighbours
/// alike: 0.59 to 0.65 was measured.
const PLACED_SHARE: f64 = 0.65;

/// Numbers that share a class: `base` and up, `width` bits of them.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    base: u32,
    mask: u32,
    width: u32,
}

/// Packs and unpacks adjacency lists of an index of a fixed number of nodes.
///
/// ```
/// use pageway_graph::ListCode;
/// use pageway_types::NodeId;
///
/// let code = ListCode::new(1000);
/// let neighbors = [3, 7, 8, 900].map(NodeId);
/// let (mut bytes, mut list) = (Vec::new(), Vec::new());
/// code.encode(NodeId(5), &neighbors, &mut bytes)?;
/// assert!(bytes.len() <= code.max_bytes(4));
/// assert_eq!(code.decode(NodeId(5), &bytes, &mut list, |node| node)?, bytes.len());
/// assert_eq!(list, neighbors);
/// # Ok::<(), pageway_graph::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListCode {
    classes: [Class; CLASSES],
    /// The class of the least number of so many bits.
    least: [u8; u32::BITS as usize + 1],
    node_count: u32,
}

impl ListCode {
    /// The code for the lists of an index of `node_count` nodes.
    pub fn new(node_count: u32) -> Self {
        let bits = number_bits(node_count);
        let mut base = 0u32;
        let mut classes = [Class::default(); CLASSES];
        for (at, class) in (0u32..).zip(&mut classes) {
            let width = class_width(at, bits);
            *class = Class {
                base,
                mask: u32::MAX >> (32 - width),
                width,
            };
            // Wraps behind the last class at most.
            base = base.wrapping_add(class.mask).wrapping_add(1);
        }
        let class_of = |number: u32| classes.partition_point(|class| class.base <= number) - 1;
        let least = |bits: usize| class_of(((1_u64 << bits) >> 1) as u32) as u8;
        Self {
            classes,
            least: std::array::from_fn(least),
            node_count,
        }
    }

    /// Most bytes that a list of `degree` neighbours takes.
    pub fn max_bytes(&self, degree: usize) -> usize {
        let width = number_bits(self.node_count) as usize;
        header_bytes(degree) + degree.div_ceil(2) + (degree * width).div_ceil(8)
    }

    /// Bytes that a list takes in the mean, about, where lists have `mean_degree` neighbours.
    ///
    /// For nodes numbered at random it is up to a tenth too many; for nodes numbered by a
    /// placement (`placed`), whose gain depends on the graph, up to a tenth too many on the graphs
    /// that were measured. Never fewer bytes than a length and the classes.
    pub fn expected_bytes(&self, mean_degree: f64, placed: bool) -> f64 {
        let degree = mean_degree.max(1.0);
        let gap = (f64::from(self.node_count) / degree).max(1.0).log2();
        let share = if placed { PLACED_SHARE } else { 1.0 };
        let bits = mean_degree * (f64::from(CLASS_BITS) + gap * share);
        // A length, and half a byte lost at the end of either part.
        2.0 + bits / 8.0
    }

    /// Appends the list of `own` to `out`.
    ///
    /// # Errors
    /// `Parameter` when the neighbours are not in ascending order, each once, fewer than 2^15 of
    /// them, or do not exist. Nothing is appended then.
    pub fn encode(
        &self,
        own: NodeId,
        neighbors: &[NodeId],
        out: &mut Vec<u8>,
    ) -> Result<(), GraphError> {
        let ascending = neighbors.is_sorted_by(|left, right| left < right);
        let exist = neighbors.last().is_none_or(|last| last.0 < self.node_count);
        if !ascending || !exist || neighbors.len() > MAX_LENGTH {
            return Err(GraphError::Parameter {
                name: "neighbors",
                value: format!("{} of node {}", neighbors.len(), own.0),
                expected: "existing nodes in ascending order, fewer than 2^15",
            });
        }
        match u8::try_from(neighbors.len()) {
            Ok(length) if length < LONG => out.push(length),
            _ => out.extend((neighbors.len() as u16 | u16::from(LONG) << 8).to_be_bytes()),
        }
        let mut classes = BitWriter::new(out);
        for number in numbers(own, neighbors) {
            classes.put(self.class_of(number).0, CLASS_BITS);
        }
        classes.finish();
        let mut mantissas = BitWriter::new(out);
        for number in numbers(own, neighbors) {
            let (_, class) = self.class_of(number);
            mantissas.put(number - class.base, class.width);
        }
        mantissas.finish();
        Ok(())
    }

    /// How many neighbours the list at the start of `bytes` has, if there is one.
    pub fn degree(bytes: &[u8]) -> Option<usize> {
        split_length(bytes).map(|(length, _)| length)
    }

    /// Replaces `out` by the list of `own` at the start of `bytes`, each neighbour as `slot` of it,
    /// and returns how many bytes it took. About 2 ns per neighbour.
    ///
    /// Neighbours come in ascending order and exist, whatever the bytes.
    ///
    /// # Errors
    /// `Malformed` when the bytes are no list; `out` is then of no use. It never grows beyond twice
    /// the bytes.
    pub fn decode<T: Clone>(
        &self,
        own: NodeId,
        bytes: &[u8],
        out: &mut Vec<T>,
        slot: impl Fn(NodeId) -> T,
    ) -> Result<usize, GraphError> {
        out.clear();
        let (length, rest) = split_length(bytes).ok_or_else(|| malformed("no length"))?;
        let cut = rest.split_at_checked(length.div_ceil(2));
        let (classes, mantissas) = cut.ok_or_else(|| malformed("it ends too early"))?;
        // Pairs: one more than there are where their number is odd.
        out.resize(length.next_multiple_of(2), slot(own));
        let (pairs, _) = out.as_chunks_mut::<2>();
        let mut last = self.before_first(own, classes, mantissas);
        let mut odd_end = (0, 0);
        let mut bit = 0;
        for (pair, byte) in pairs.iter_mut().zip(classes) {
            let [(low, middle), (high, end)] = self.pair(*byte, mantissas, bit);
            odd_end = (last.wrapping_add(low), middle);
            last = odd_end.0.wrapping_add(high);
            bit = end;
            *pair = [slot(NodeId(odd_end.0 as u32)), slot(NodeId(last as u32))];
        }
        if length % 2 == 1 {
            (last, bit) = odd_end;
            out.truncate(length);
        }
        if length > 0 && last >= u64::from(self.node_count) {
            return Err(malformed("a neighbour does not exist"));
        }
        if bit.div_ceil(8) > mantissas.len() {
            return Err(malformed("it ends too early"));
        }
        Ok(bytes.len() - mantissas.len() + bit.div_ceil(8))
    }

    /// The two numbers whose classes share a byte, and the bit behind each. One look at the bytes
    /// gives both, but where they are wide.
    #[inline]
    fn pair(&self, classes: u8, mantissas: &[u8], bit: usize) -> [(u64, usize); 2] {
        let (low, high) = (self.class(classes), self.class(classes >> CLASS_BITS));
        let middle = bit + low.width as usize;
        let word = peek(mantissas, bit);
        let behind = if low.width > PEEK_BITS - 32 {
            peek(mantissas, middle)
        } else {
            word >> low.width
        };
        let end = middle + high.width as usize;
        [(low.number(word), middle), (high.number(behind), end)]
    }

    /// What the first number has to be added to for the first neighbour.
    #[inline]
    fn before_first(&self, own: NodeId, classes: &[u8], mantissas: &[u8]) -> u64 {
        let class = self.class(classes.first().copied().unwrap_or(0));
        let number = class.number(peek(mantissas, 0));
        let first = own.0.wrapping_add(unfold(number.wrapping_sub(1) as u32));
        u64::from(first).wrapping_sub(number)
    }

    #[inline]
    fn class(&self, bits: u8) -> Class {
        let at = usize::from(bits) % CLASSES;
        self.classes.get(at).copied().unwrap_or_default()
    }

    /// The class of a number, and which it is.
    fn class_of(&self, number: u32) -> (u32, Class) {
        let bits = u32::BITS - number.leading_zeros();
        let least = self.least.get(bits as usize).copied().unwrap_or(0);
        let behind = self.classes.iter().skip(usize::from(least) + 1);
        let further = behind.take_while(|class| class.base <= number).count();
        let at = usize::from(least) + further;
        let class = self.classes.get(at).copied().unwrap_or_default();
        (at as u32, class)
    }
}

impl Class {
    /// The number with this class whose mantissa `word` begins with, and 1: the next neighbour is
    /// at least one behind the last.
    #[inline]
    const fn number(self, word: u64) -> u64 {
        self.base as u64 + (word & self.mask as u64) + 1
    }
}

/// Bits of the largest number that a list may hold: a signed distance within the index.
fn number_bits(node_count: u32) -> u32 {
    let most = (u64::from(node_count) * 2).max(1) - 1;
    (u64::BITS - most.leading_zeros()).clamp(1, 32)
}

/// Widths grow evenly from 1. The last class is for first neighbours, which may be anywhere: the
/// one before it need not reach as far.
const fn class_width(at: u32, bits: u32) -> u32 {
    let last = CLASSES as u32 - 1;
    if at == last {
        return bits;
    }
    let most = bits.saturating_sub(4);
    1 + (at * most + last / 2) / (last - 1)
}

fn header_bytes(length: usize) -> usize {
    1 + usize::from(length >= usize::from(LONG))
}

fn split_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first < LONG {
        return Some((usize::from(first), rest));
    }
    let (&second, rest) = rest.split_first()?;
    let length = u16::from_be_bytes([first & !LONG, second]);
    Some((usize::from(length), rest))
}

/// What is coded: the distance to the first neighbour, then what lies between each two.
fn numbers(own: NodeId, neighbors: &[NodeId]) -> impl Iterator<Item = u32> {
    let first = neighbors
        .first()
        .map(|first| fold(first.0.wrapping_sub(own.0)));
    let gaps = neighbors.windows(2).map(|pair| match pair {
        [left, right] => right.0 - left.0 - 1,
        _ => 0,
    });
    first.into_iter().chain(gaps)
}

/// A signed distance as a number that is small where the distance is.
const fn fold(distance: u32) -> u32 {
    (distance << 1) ^ ((distance.cast_signed() >> 31).cast_unsigned())
}

#[inline]
const fn unfold(number: u32) -> u32 {
    (number >> 1) ^ 0u32.wrapping_sub(number & 1)
}

const fn malformed(problem: &'static str) -> GraphError {
    GraphError::Malformed {
        kind: "packed list",
        problem,
    }
}
