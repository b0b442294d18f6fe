//! A navigation graph as bytes.
//!
//! ```text
//!    0        1        2        3        4        5        6        7
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | magic "PWNG"                      | version 1       | upper layers u  |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | sampled nodes n                   | bytes of a row b                  |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | node ids, n u32, then rows, n b bytes, then u upper layers from the   |
//! | top: [members m | max degree r | entry | m positions u32 | m lists],   |
//! | then the bottom: [max degree r | entry | n lists]                     |
//! ```
//! A list is r + 1 numbers of u32: its length, its neighbours, zeros. So the bytes are as many as
//! the graph holds in memory, and reading allocates no more than it was given. Little-endian.
//!
//! The checksum belongs to the file that holds the bytes; what is checked here is that no bytes
//! whatever make the reader panic or yield a graph that a search could leave.

use pageway_kernels::KernelSet;
use pageway_types::{Guide, NodeId, VectorShape};

use super::{NavigationGraph, NavigationLayer, SampledVectors};
use crate::bytes::ByteReader;
use crate::error::GraphError;
use crate::graph::Graph;

const MAGIC: u32 = u32::from_le_bytes(*b"PWNG");
const VERSION: u16 = 1;
const HEADER_BYTES: u64 = 16;

/// An HNSW graph of all ids that there are has fewer.
const MAX_UPPER_LAYERS: usize = 64;

impl NavigationGraph {
    /// The graph as bytes, always the same for the same graph; about
    /// [`resident_bytes`](Self::resident_bytes) of them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((self.resident_bytes() + HEADER_BYTES) as usize);
        put(&mut bytes, [MAGIC]);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.upper.len() as u16).to_le_bytes());
        put(&mut bytes, [self.nodes.len() as u32, self.row_bytes as u32]);
        put(&mut bytes, self.nodes.iter().map(|node| node.0));
        bytes.extend_from_slice(&self.rows);
        for layer in &self.upper {
            put(&mut bytes, [layer.graph.count()]);
            put_header(&mut bytes, &layer.graph);
            put(&mut bytes, layer.members.iter().copied());
            put_lists(&mut bytes, &layer.graph);
        }
        put_header(&mut bytes, &self.bottom);
        put_lists(&mut bytes, &self.bottom);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. Node ids are taken as they are: see
    /// [`nodes`](Self::nodes).
    ///
    /// # Errors
    /// When the bytes are not those of a graph over vectors of `shape`. Allocates no more than
    /// they are, and nothing before it is checked.
    pub fn from_bytes(
        bytes: &[u8],
        shape: VectorShape,
        metric: Guide,
        kernels: &'static KernelSet,
    ) -> Result<Self, GraphError> {
        let mut reader = ByteReader::new("navigation graph", bytes);
        if (reader.u32()?, reader.u16()?) != (MAGIC, VERSION) {
            return Err(reader.refuse("it begins with another magic or version"));
        }
        let layers = usize::from(reader.u16()?);
        let count = reader.u32()? as usize;
        if layers > MAX_UPPER_LAYERS {
            return Err(reader.refuse("it has too many layers"));
        }
        if reader.u32()? as usize != shape.row_bytes() {
            return Err(reader.refuse("its vectors have another shape"));
        }
        let vectors = SampledVectors {
            nodes: reader.words(count, node)?,
            rows: reader
                .bytes(count.saturating_mul(shape.row_bytes()))?
                .to_vec(),
            shape,
            metric,
            kernels,
        };
        let upper = (0..layers).map(|_| read_layer(&mut reader));
        let upper = upper.collect::<Result<_, _>>()?;
        let (max_degree, entry) = (reader.u32()?, reader.u32()?);
        let bottom = read_lists(&mut reader, count, max_degree, NodeId(entry))?;
        reader.end()?;
        Self::from_layers(vectors, upper, bottom)
            .map_err(|_| reader.refuse("its layers do not fit together"))
    }
}

fn put(bytes: &mut Vec<u8>, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn put_header(bytes: &mut Vec<u8>, graph: &Graph) {
    put(bytes, [graph.max_degree(), graph.entry().0]);
}

fn put_lists(bytes: &mut Vec<u8>, graph: &Graph) {
    put(bytes, graph.slots().iter().map(|slot| slot.0));
}

fn node(bytes: [u8; 4]) -> NodeId {
    NodeId(u32::from_le_bytes(bytes))
}

fn read_layer(reader: &mut ByteReader<'_>) -> Result<NavigationLayer, GraphError> {
    let count = reader.u32()? as usize;
    let (max_degree, entry) = (reader.u32()?, reader.u32()?);
    Ok(NavigationLayer {
        members: reader.words(count, u32::from_le_bytes)?,
        graph: read_lists(reader, count, max_degree, NodeId(entry))?,
    })
}

fn read_lists(
    reader: &mut ByteReader<'_>,
    count: usize,
    max_degree: u32,
    entry: NodeId,
) -> Result<Graph, GraphError> {
    let stride = max_degree as usize + 1;
    let slots = reader.words(count.saturating_mul(stride), node)?;
    let unsound = reader.refuse("a list names nodes that it must not");
    Graph::from_slots(slots, max_degree, entry).map_err(|_| unsound)
}
