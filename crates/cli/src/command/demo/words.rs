//! What the demo says. Plain words: the reader may never have seen a vector.

pub(super) const WELCOME: &str = "\
pageway demo

The data: 10,000 definitions from the dictionary WordNet. A small language model turned each into a
vector of 384 numbers, so that texts of similar meaning lie close together. Finding the definitions
nearest to a sentence is then a search for the nearest vectors.
";

pub(super) const BUILT: &str = "\
What this means: the full vectors lie on disk; memory holds a short code of each. Codes tell a query
which vectors may be near, and it reads the pages of those that codes alone cannot decide about.
";

pub(super) const EXAMPLES: &str = "\
Five sentences that are not in the data, each with its three nearest definitions (1.00 is the same):
";

pub(super) const READINGS: &str = "\
You ask for a recall: the share of the true 10 nearest that a search finds. While it was built, the
index measured itself with 100 sample sentences, so it knows how long its candidate list must be.
Below, 200 other sentences check that, against exact answers. Speed is that of one thread with 8
queries in flight, latency that of one query at a time.
";

pub(super) const READING_THE_PLOTS: &str = "\
More recall means a longer walk: more pages, fewer queries per second. O marks the targets.
";
