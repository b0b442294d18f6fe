//! New rows whose neighbours were found before: nodes that came since are compared by codes, so
//! that only the lists that these change are pruned again.

use pageway_types::NodeId;

use super::super::code_distances::CodeDistances;
use super::super::link::{found_per_row, is_well_known};
use super::SegmentPatch;
use super::all_codes::AllCodes;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::RecordCodec;

/// Nodes that came since a row was searched for, at most: beyond, a search is cheaper.
const MOST_CAME: usize = 1 << 14;

/// What the list of a new row is made of.
pub(super) enum ListOrigin {
    /// Nodes of the segment, to be pruned.
    Candidates {
        nodes: Vec<NodeId>,
        /// Whether nobody else who lives is as near as the farthest of them.
        are_all: bool,
    },
    /// The list, in prune order.
    List(Vec<NodeId>),
}

impl ListOrigin {
    /// Nodes whose vectors are compared.
    pub(super) fn compared(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = match self {
            Self::Candidates { nodes, .. } => nodes.as_slice(),
            Self::List(_) => &[],
        };
        nodes.iter().map(|node| node.0)
    }
}

/// Looks at what was found for new rows.
pub(super) struct KnownRows<'k> {
    patch: &'k SegmentPatch<'k>,
    codes: AllCodes<'k>,
    from_row: CodeDistances<'k>,
}

impl<'k> KnownRows<'k> {
    pub(super) fn new(
        patch: &'k SegmentPatch<'k>,
        (parts, codes): (&'k Parts<RecordCodec>, AllCodes<'k>),
    ) -> Result<Self> {
        let shape = patch.base.spec.shape.vectors();
        Ok(Self {
            patch,
            codes,
            from_row: CodeDistances::new(&parts.codes, shape)?,
        })
    }

    /// What the list of a new row is made of, which has these neighbours among new rows; `None` if
    /// it is to be searched for: if nothing is known, half of that died, or much came since.
    pub(super) fn near(&mut self, at: usize, own: &[NodeId]) -> Option<ListOrigin> {
        let (base, known) = (&self.patch.base, self.patch.known.get(at)?);
        let lives = |node: &NodeId| self.patch.lives(*node);
        let nodes: Vec<NodeId> = known.nodes.iter().copied().filter(lives).collect();
        let came = known.among.min(base.node_count)..base.node_count;
        let is_old = !is_well_known(nodes.len(), known.nodes.len() as u32);
        if nodes.is_empty() || is_old || came.len() > MOST_CAME {
            return None;
        }
        let are_all = found_per_row(&base.spec, base.node_count) < base.node_count;
        let came: Vec<NodeId> = came.map(NodeId).filter(lives).collect();
        self.from_row.prepare(self.patch.row(at));
        let mut list = self.by_distance(&nodes, f32::INFINITY);
        let reach = list.last().map_or(f32::INFINITY, |far| far.0);
        if reach == f32::INFINITY {
            // Memory has not all codes.
            let is_all = came.is_empty();
            return is_all.then_some(ListOrigin::Candidates { nodes, are_all });
        }
        let met = self.by_distance(&came, reach);
        let is_list = are_all && met.is_empty() && self.by_distance(own, reach).is_empty();
        list.extend(met);
        list.truncate(nodes.len() + base.spec.graph.max_degree() as usize);
        let nodes = list.into_iter().map(|(_, node)| node).collect();
        Some(if is_list {
            ListOrigin::List(nodes)
        } else {
            ListOrigin::Candidates { nodes, are_all }
        })
    }

    /// Those of some nodes that are not farther from the row than `reach`, with the estimates of
    /// their distances, nearest first.
    fn by_distance(&self, nodes: &[NodeId], reach: f32) -> Vec<(f32, NodeId)> {
        let distances = self.codes.distances(&self.from_row, nodes);
        let each = distances.into_iter().zip(nodes.iter().copied());
        let mut all: Vec<(f32, NodeId)> = each.filter(|(distance, _)| *distance <= reach).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        all
    }
}
