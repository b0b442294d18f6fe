//! Axis 2: how records lie in pages.

use pageway::IndexSpec;
use pageway::choices::typed;
use pageway::spec::{CodecSpec, ListSpec, PlacementSpec};

use super::{Sentence, Words, percent};
use crate::text;

pub(super) fn sentences(spec: &IndexSpec) -> Vec<Sentence> {
    const AXIS: &str = "Layout";
    let layout = &spec.layout;
    let page_bytes = layout.page_bytes.to_string();
    let placement = layout.placement;
    vec![
        Sentence::new(AXIS, "--page-size", page_bytes, page(layout.page_bytes)),
        Sentence::new(AXIS, "--codec", typed(&layout.codec), codec(spec)),
        Sentence::new(AXIS, "--placement", typed(&placement), place(placement)),
        Sentence::new(AXIS, "--lists", typed(&layout.lists), lists(layout.lists)),
    ]
}

fn page(bytes: u32) -> Words {
    (
        format!(
            "A read brings {} bytes, under a checksum; a record that is larger has several pages \
             to itself.",
            text::count(bytes.into())
        ),
        "Larger pages bring more nodes per read, and more bytes that nobody asked for.".to_owned(),
    )
}

fn codec(spec: &IndexSpec) -> Words {
    let degree = spec.graph.max_degree();
    match spec.layout.codec {
        CodecSpec::Packed => (
            "A page holds records of one size, each a vector and its adjacency list.".to_owned(),
            match spec.layout.lists {
                ListSpec::Plain => format!("A list takes {} bytes, full or not.", 2 + 4 * degree),
                ListSpec::Packed => "Lists have room of one size, full or not.".to_owned(),
            },
        ),
        CodecSpec::InlineCodes => (
            "A record holds the codes of its neighbours too, so that a walk needs no codes in \
             memory."
                .to_owned(),
            format!(
                "{} bytes more per record.",
                text::count(u64::from(degree * spec.storage.quantizer.code_bytes()))
            ),
        ),
        CodecSpec::Replicated { lists } => replicated(lists, degree),
        CodecSpec::PageNode { min_degree } => (
            "A page is the node of the graph: some vectors, and one list of neighbours for all of \
             them."
                .to_owned(),
            format!(
                "Room for {min_degree} neighbours per vector decides how many vectors fit; \
                 neighbours beyond the room of the page are dropped."
            ),
        ),
        CodecSpec::Split => (
            "Adjacency lists fill one kind of page, vectors another.".to_owned(),
            "Two reads where a record would take one, for the few vectors that are refined."
                .to_owned(),
        ),
    }
}

fn replicated(lists: u32, degree: u32) -> Words {
    if lists == 0 {
        return (
            "A record would hold lists of its neighbours too, but the page has no room for one."
                .to_owned(),
            format!("A list takes {} bytes, full or not.", 2 + 4 * degree),
        );
    }
    (
        "A record holds the lists of its nearest neighbours too: one read lets several nodes be \
         expanded."
            .to_owned(),
        format!(
            "Room for {lists} lists, {} bytes more per record; no list is stored more than {} \
             times.",
            text::count(u64::from(lists * (6 + 4 * degree) + 2)),
            lists + 1
        ),
    )
}

fn lists(lists: ListSpec) -> Words {
    match lists {
        ListSpec::Plain => (
            "A list has the numbers of its neighbours one after the other.".to_owned(),
            "Four bytes per neighbour, and nothing to decode.".to_owned(),
        ),
        ListSpec::Packed => (
            "A list is sorted and stores gaps, in about a third of the bytes.".to_owned(),
            "2 ns per neighbour to unpack; of lists that pack badly the farthest neighbours are \
             left out."
                .to_owned(),
        ),
    }
}

fn place(placement: PlacementSpec) -> Words {
    let whole = "Nodes are numbered anew, and the build needs memory for the whole graph.";
    let words = match placement {
        PlacementSpec::ById => {
            return (
                "Nodes lie in the order of the data.".to_owned(),
                "No work at build; who shares a page is chance.".to_owned(),
            );
        }
        PlacementSpec::Bnp => {
            "A page holds a node and its neighbours, filled in one pass over the graph.".to_owned()
        }
        PlacementSpec::Bnf { rounds, gain } => format!(
            "Each node goes to the page where most of its neighbours were, over and over: {rounds} \
             rounds, fewer once the share of neighbours on a page grows by less than {}.",
            percent(gain)
        ),
        PlacementSpec::Bns { rounds, gain } => format!(
            "Nodes change places while that brings neighbours together: {rounds} sweeps, fewer \
             once the share of neighbours on a page grows by less than {}. Slower than bnf, and \
             closer.",
            percent(gain)
        ),
        PlacementSpec::Grouped { hops } => {
            format!("A page holds a node and the nearest of those that it reaches in {hops} hops.")
        }
        PlacementSpec::Clustered => {
            "A page holds a small cluster of vectors; all clusters are of one size.".to_owned()
        }
    };
    (words, whole.to_owned())
}
