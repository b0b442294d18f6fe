//! The graph, and axis 1: what is kept, in which form, and where.

use pageway::choices::{typed, typed_quantizer};
use pageway::spec::{
    CodeStorage, GraphSpec, IdStorage, QuantizerSpec, RotationSpec, VectorStorage,
};
use pageway::{IndexSpec, format_bytes};

use super::{Sentence, Words};
use crate::text;

pub(super) fn sentences(spec: &IndexSpec, nodes: u32) -> Vec<Sentence> {
    const AXIS: &str = "Storage";
    let storage = &spec.storage;
    let code_bytes = storage.quantizer.code_bytes().to_string();
    let mut all = vec![
        Sentence::new("Graph", "--graph", typed(&spec.graph), graph(spec)),
        Sentence::new(AXIS, "--vectors", typed(&storage.vectors), vectors(spec)),
        Sentence::new(
            AXIS,
            "--quantizer",
            typed_quantizer(storage.quantizer),
            quantizer(spec),
        ),
        Sentence::new(AXIS, "--code-bytes", code_bytes, length()),
        Sentence::new(AXIS, "--codes", typed(&storage.codes), codes(spec, nodes)),
    ];
    if let Some(second) = storage.second_quantizer {
        let bytes = second.code_bytes().to_string();
        let words = second_code(second, nodes);
        all.push(Sentence::new(AXIS, "--second-code-bytes", bytes, words));
    }
    if storage.ids_in_memory {
        let words = ids_in_memory();
        all.push(Sentence::new(
            AXIS,
            "--ids-in-memory",
            "true".to_owned(),
            words,
        ));
    }
    all.push(Sentence::new(AXIS, "ids", typed(&storage.ids), ids(spec)));
    all
}

fn length() -> Words {
    (
        "Unless it is given, as long as the memory budget allows.".to_owned(),
        "A shorter code misleads more often: more reads for the same recall.".to_owned(),
    )
}

fn ids_in_memory() -> Words {
    (
        "Row numbers, and ids where users gave them, are in memory too: an answer that codes \
         decide needs no read."
            .to_owned(),
        "4 bytes of memory per vector, or 12 with ids.".to_owned(),
    )
}

fn graph(spec: &IndexSpec) -> Words {
    let (degree, list) = (spec.graph.max_degree(), spec.graph.build_list());
    match &spec.graph {
        GraphSpec::Vamana { alpha, .. } => (
            format!(
                "Each node has up to {degree} neighbours, near ones and some far ones, so that few \
                 hops lead anywhere; of two that lead the same way the farther one goes, with a \
                 slack of {alpha}."
            ),
            format!(
                "Building takes a search with a list of {list} per node; 4 bytes per neighbour on \
                 disk."
            ),
        ),
        GraphSpec::Nsg { knn, .. } => (
            format!(
                "Each node has up to {degree} neighbours, pruned from its {knn} nearest nodes and \
                 from what a search for it meets."
            ),
            format!(
                "Building takes three searches per node, one with a list of {list}, and memory for \
                 all vectors and the whole graph; 4 bytes per neighbour on disk."
            ),
        ),
        GraphSpec::PiPnn {
            fanout, leaf, knn, ..
        } => (
            format!(
                "Each node has up to {degree} neighbours, pruned from its {knn} nearest in each of \
                 some {} groups of up to {leaf} nodes that overlap.",
                2 * fanout
            ),
            "Building compares groups by products of matrices, and searches nothing; 4 bytes per \
             neighbour on disk."
                .to_owned(),
        ),
        GraphSpec::Clusters { members } => (
            format!(
                "Nodes have no lists: they are in clusters of k-means, of {members} on average, \
                 and clusters in groups. A query ranks the nearest clusters, as many as its list \
                 is long, and then their nodes, by codes in memory."
            ),
            "Building compares nodes with means by products of matrices; a code per cluster in \
             memory, and nothing per neighbour."
                .to_owned(),
        ),
        GraphSpec::Hnsw { .. } => (
            format!(
                "The lowest layer, with up to {degree} neighbours per node, lies on disk; a node in \
                 {} is in the layer above, and so on, for entry upper_layers.",
                (degree / 2).max(2)
            ),
            format!(
                "Building takes a search with a list of {list} per node and layer, and memory for \
                 all vectors and the whole graph; 4 bytes per neighbour on disk."
            ),
        ),
    }
}

fn vectors(spec: &IndexSpec) -> Words {
    let bytes = text::count(spec.shape.vectors().row_bytes() as u64);
    match spec.storage.vectors {
        VectorStorage::InRecord => (
            "A full vector lies on the page of its adjacency list, so that one read gives exact \
             distance and neighbours."
                .to_owned(),
            format!("Each list that is read brings {bytes} bytes of vector with it."),
        ),
        VectorStorage::Separate => (
            "Full vectors lie on pages of their own, so that more lists share a page.".to_owned(),
            format!("Exact distances take reads of their own, for {bytes} bytes each."),
        ),
        VectorStorage::Coded => (
            "Beside each list lies a fine code; full vectors lie on pages of their own, read only \
             where the error bounds of the code leave an answer undecided."
                .to_owned(),
            format!(
                "{} bytes of code beside each list; few reads at the end, for {bytes} bytes each.",
                spec.storage
                    .second_quantizer
                    .map_or(0, QuantizerSpec::code_bytes)
            ),
        ),
    }
}

fn quantizer(spec: &IndexSpec) -> Words {
    let dimension = spec.shape.dimension;
    let costs = match spec.storage.quantizer {
        QuantizerSpec::Pq { .. } => "A codebook in memory: 1 KiB per component.".to_owned(),
        QuantizerSpec::RaBitQ { .. } => {
            "In memory the axes that have bits: 4 bytes per component and axis.".to_owned()
        }
    };
    let words = match spec.storage.quantizer {
        QuantizerSpec::Pq { code_bytes } => format!(
            "Product quantization: the {dimension} components are cut into {code_bytes} parts, and \
             each part becomes one byte. Codes say which neighbours are worth a read; they never \
             decide an answer."
        ),
        QuantizerSpec::RaBitQ {
            code_bytes,
            rotation,
        } => {
            let rotated = match rotation {
                RotationSpec::Hadamard => "rotated at random, and each component gets equal bits",
                RotationSpec::Principal => {
                    "rotated to the principal axes of the data, and bits go where the variance is"
                }
            };
            format!(
                "Extended RaBitQ: the {dimension} components are {rotated}, {code_bytes} bytes in \
                 all. A code estimates a distance without bias, and says by how much it may be off."
            )
        }
    };
    (words, costs)
}

fn codes(spec: &IndexSpec, nodes: u32) -> Words {
    let bytes = spec.storage.quantizer.code_bytes();
    match spec.storage.codes {
        CodeStorage::Memory => (
            "The codes of all vectors are in memory, so that neighbours are ranked without a read."
                .to_owned(),
            format!(
                "{bytes} bytes of memory per vector, {} for {} vectors.",
                format_bytes(u64::from(nodes) * u64::from(bytes)),
                text::count(nodes.into())
            ),
        ),
        CodeStorage::InPage => (
            "Each list carries the codes of its neighbours; memory holds those of the entry nodes \
             alone, however many vectors there are."
                .to_owned(),
            format!(
                "{bytes} bytes of disk for each neighbour of each list, so fewer nodes share a page."
            ),
        ),
        CodeStorage::Split { memory_nodes } => (
            "Memory holds the codes of the nodes that most pages name, as many as the budget of \
             the build allows; pages carry the others."
                .to_owned(),
            format!(
                "{bytes} bytes per code, in memory ({} codes here) or on each page that names the \
                 node.",
                text::count(memory_nodes.into())
            ),
        ),
    }
}

fn second_code(second: QuantizerSpec, nodes: u32) -> Words {
    let bytes = second.code_bytes();
    (
        "A second code cuts the components differently, so that it errs differently: both together \
         choose what is read in the end."
            .to_owned(),
        format!(
            "{bytes} bytes of memory per vector, {} in all.",
            format_bytes(u64::from(nodes) * u64::from(bytes))
        ),
    )
}

fn ids(spec: &IndexSpec) -> Words {
    let row = if spec.nodes_are_rows() {
        "No bytes: nodes are numbered like rows."
    } else {
        "4 bytes of disk per vector, as nodes are numbered by their place; no map in memory."
    };
    match spec.storage.ids {
        IdStorage::RowNumber => (
            "A search returns row numbers of the data.".to_owned(),
            row.to_owned(),
        ),
        IdStorage::InRecord => (
            "A search returns the user's own ids (build --ids), which lie beside the vectors."
                .to_owned(),
            "8 bytes of disk per vector, none of memory.".to_owned(),
        ),
    }
}
