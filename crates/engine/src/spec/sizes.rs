//! The numbers that a design leaves open, and what they are where nobody says.

/// What builds and searches take where nobody says: the one place for every front end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Defaults {
    /// Longest adjacency list (R).
    pub degree: u32,
    /// Candidate list size while building (L).
    pub build_list: u32,
    /// Slack of the prune rule, on squared distances.
    pub alpha: f32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Recall@10 that an index is meant for, and that a search has.
    pub recall: f32,
    /// Seed of every random choice.
    pub seed: u64,
}

/// What builds and searches take where nobody says.
pub const DEFAULTS: Defaults = Defaults {
    degree: 48,
    build_list: 100,
    alpha: 1.2,
    page_bytes: 4096,
    recall: 0.95,
    seed: 42,
};

/// The numbers a preset leaves open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sizes {
    /// Longest adjacency list (R).
    pub max_degree: u32,
    /// Candidate list size while building (L).
    pub build_list: u32,
    /// Slack of the prune rule, on squared distances.
    pub alpha: f32,
    /// Bytes per code.
    pub code_bytes: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Adjacency lists of neighbours packed into a record, where a design does that; as many as fit
    /// a page where absent.
    pub packed_lists: Option<u32>,
    /// Reads in flight (W); the design's own where absent.
    pub beam: Option<u32>,
    /// True when the user gives ids of their own.
    pub user_ids: bool,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            max_degree: DEFAULTS.degree,
            build_list: DEFAULTS.build_list,
            alpha: DEFAULTS.alpha,
            code_bytes: 16,
            page_bytes: DEFAULTS.page_bytes,
            packed_lists: None,
            beam: None,
            user_ids: false,
            seed: DEFAULTS.seed,
        }
    }
}
