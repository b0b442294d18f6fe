//! Which nodes each layer holds.

use pageway_types::NodeId;

use crate::error::{GraphError, try_reserved};
use crate::rng::SplitMix64;

/// Standard deviations above its expected size that a layer has room for: no draw gets there.
const ROOM_DEVIATIONS: f64 = 8.0;

/// Separates the draws of levels from those of the order of insertion.
const STREAM: u64 = 0x6c65_7665_6c73;

/// The level of every node: the highest layer that holds it, 0 being the base.
pub(super) struct Levels {
    of: Vec<u8>,
    highest: u8,
}

impl Levels {
    /// Draws the level of each node: one layer up with probability `1 / links`, again and again.
    /// That is the paper's `-ln(u) / ln(links)` rounded down, without a logarithm, which machines
    /// round differently.
    pub(super) fn draw(count: u32, links: u32, seed: u64) -> Result<Self, GraphError> {
        let mut random = SplitMix64::new(seed ^ STREAM);
        let mut free: Vec<u64> = layer_rooms(u64::from(count), links).collect();
        let mut of = try_reserved(count as usize, "levels")?;
        for _ in 0..count {
            let mut level = 0;
            for free in &mut free {
                if *free == 0 || random.below(links.into()) != 0 {
                    break;
                }
                *free -= 1;
                level += 1;
            }
            of.push(level);
        }
        let highest = of.iter().copied().max().unwrap_or(0);
        Ok(Self { of, highest })
    }

    /// Bytes that `draw` over `count` nodes takes.
    pub(super) const fn bytes(count: u64) -> u64 {
        count
    }

    /// The highest level drawn.
    pub(super) const fn highest(&self) -> u8 {
        self.highest
    }

    /// The first node of the highest level: it is in all layers.
    pub(super) fn top(&self) -> NodeId {
        let first = self.of.iter().position(|&level| level == self.highest);
        NodeId(first.unwrap_or(0) as u32)
    }

    /// The nodes of a layer, ascending.
    pub(super) fn layer(&self, level: u8) -> Result<Vec<NodeId>, GraphError> {
        let levels = self.of.iter();
        let mut nodes = try_reserved(levels.filter(|of| **of >= level).count(), "layer")?;
        let all = (0..).map(NodeId).zip(&self.of);
        nodes.extend(all.filter(|(_, of)| **of >= level).map(|(node, _)| node));
        Ok(nodes)
    }
}

/// Nodes that each layer above the base holds at most, the lowest layer first.
///
/// A layer for which not one node is expected is none. There are at most 31, since `links` is at
/// least 2 and nodes are fewer than 2^31.
pub(super) fn layer_rooms(count: u64, links: u32) -> impl Iterator<Item = u64> {
    let share = 1.0 / f64::from(links);
    let expected =
        std::iter::successors(Some(count as f64 * share), move |above| Some(above * share));
    expected
        .take_while(|&nodes| nodes >= 1.0)
        .map(move |nodes| {
            let room = nodes + ROOM_DEVIATIONS * nodes.sqrt();
            (room.ceil() as u64).min(count)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_shrink_by_the_share_and_nest() {
        let levels = Levels::draw(40_000, 4, 1).expect("memory");
        let mut below: Vec<_> = (0..40_000).map(NodeId).collect();
        for level in 1..=levels.highest() {
            let layer = levels.layer(level).expect("memory");
            assert!(layer.is_sorted() && layer.iter().all(|node| below.contains(node)));
            assert!(layer.contains(&levels.top()));
            let expected = 40_000.0 / 4_f64.powi(level.into());
            let off = (layer.len() as f64 - expected).abs();
            assert!(off < 5.0 * expected.sqrt(), "{level}: {}", layer.len());
            below = layer;
        }
        assert!((6..=7).contains(&levels.highest()));
    }

    #[test]
    fn rooms_bound_every_layer() {
        let rooms: Vec<_> = layer_rooms(1_000_000, 16).collect();
        assert_eq!(rooms, [64_500, 4407, 370, 47]);
        assert_eq!(layer_rooms(15, 16).count(), 0);
        assert_eq!(layer_rooms((1 << 31) - 1, 2).count(), 30);
        for seed in 0..200 {
            let levels = Levels::draw(50, 2, seed).expect("memory");
            for (level, room) in (1..).zip(layer_rooms(50, 2)) {
                assert!(levels.layer(level).expect("memory").len() as u64 <= room);
            }
        }
    }

    #[test]
    fn seeds_draw_different_levels() {
        let draw = |seed| Levels::draw(1000, 4, seed).expect("memory").of;
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(Levels::draw(1, 4, 1).expect("memory").top(), NodeId(0));
    }
}
