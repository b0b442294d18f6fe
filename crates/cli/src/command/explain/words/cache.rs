//! Axis 3: what stays in memory beside the codes.

use pageway::IndexSpec;
use pageway::choices::typed;
use pageway::spec::{NodeCacheSpec, PageCacheSpec, SelectionSpec};

use super::{Sentence, Words, percent};

pub(super) fn sentences(spec: &IndexSpec) -> Vec<Sentence> {
    const AXIS: &str = "Cache";
    let cache = &spec.cache;
    let mut all = vec![
        Sentence::new(
            AXIS,
            "--cache-nodes",
            typed(&cache.nodes),
            nodes(cache.nodes),
        ),
        Sentence::new(
            AXIS,
            "--cache-pages",
            typed(&cache.pages),
            pages(cache.pages),
        ),
    ];
    let (by_node, by_page) = (
        cache.nodes != NodeCacheSpec::None,
        cache.pages != PageCacheSpec::None,
    );
    if by_node || cache.pages == PageCacheSpec::Hot {
        let words = selection(cache.selection);
        all.push(Sentence::new(
            AXIS,
            "--cache-selection",
            typed(&cache.selection),
            words,
        ));
    }
    if by_node && by_page {
        let words = share(cache.page_share);
        let choice = cache.page_share.to_string();
        all.push(Sentence::new(AXIS, "--page-share", choice, words));
    }
    all
}

fn nodes(nodes: NodeCacheSpec) -> Words {
    let (meaning, cost) = match nodes {
        NodeCacheSpec::None => (
            "No records or lists are kept between queries.",
            "No memory; each node costs its read, unless the page is cached.",
        ),
        NodeCacheSpec::Records => (
            "Memory that is left over holds whole records, loaded when the index is opened: such a \
             node needs no read.",
            "A vector and a list of memory per node.",
        ),
        NodeCacheSpec::Clock => (
            "Memory that is left over holds whole records: of the selection at first, then of nodes \
             that searches used lately, by second chance.",
            "A vector and the longest list of memory per node; a hit copies the record, under a lock.",
        ),
        NodeCacheSpec::Lists => (
            "Memory that is left over holds adjacency lists, packed, and vectors only when all \
             lists are in: such a node is expanded without a read.",
            "About a third of a list's ids of memory per node; its exact distance may still cost a read.",
        ),
    };
    (meaning.to_owned(), cost.to_owned())
}

fn pages(pages: PageCacheSpec) -> Words {
    let (meaning, cost) = match pages {
        PageCacheSpec::None => (
            "No pages are kept between queries.",
            "No memory; a page that is wanted again is read again.",
        ),
        PageCacheSpec::Hot => (
            "Memory that is left over holds the pages that walks need most, loaded when the index \
             is opened.",
            "A page of memory per page; opening reads them.",
        ),
        PageCacheSpec::Lru => (
            "Memory that is left over holds the pages that were used last, for all queries.",
            "A page of memory per page; the first queries find none.",
        ),
        PageCacheSpec::Clock => (
            "Memory that is left over holds pages that were used lately, by second chance, for all \
             queries.",
            "A page of memory per page; the first queries find none.",
        ),
    };
    (meaning.to_owned(), cost.to_owned())
}

fn selection(selection: SelectionSpec) -> Words {
    let (meaning, cost) = match selection {
        SelectionSpec::BreadthFirst => (
            "The cache takes first what lies the fewest hops from where walks start.",
            "One pass over the graph at build.",
        ),
        SelectionSpec::Visits => (
            "The cache takes first what walks for sampled queries expanded most often.",
            "Searches at build, for rows of the data or for the queries that were given.",
        ),
    };
    (meaning.to_owned(), cost.to_owned())
}

fn share(share: f32) -> Words {
    (
        format!("Of the memory of the cache, pages get {}.", percent(share)),
        "What pages get, records or lists lose.".to_owned(),
    )
}
