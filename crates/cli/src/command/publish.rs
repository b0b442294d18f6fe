//! `pageway publish`: an index into object storage.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use pageway::{Result, format_bytes};
use pageway_object::{Collected, Published, collect, open_url, publish};
use serde::Serialize;

use crate::output::Outcome;
use crate::session::Session;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway publish my.index s3://bucket/my.index
  pageway publish my.index file:///mnt/share/my.index --collect --grace 3600
  pageway search s3://bucket/my.index --cache /var/cache/pageway --cache-bytes 2GB --queries q.fbin

Sends the files that the version before had not, named by the hash of their bytes, then makes the new
version the current one in one step, by a conditional put. Who reads keeps the version it opened. Keys
and endpoints come from the environment: AWS_*, GOOGLE_*, AZURE_*.

--collect removes what the current version does not name, once it is older than the grace. An index
that is open meanwhile at an older version then fails with an error that says so.";

/// Publish an index to object storage, to be searched from anywhere.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PublishArguments {
    /// Directory of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// Where to: file://, s3://, gs:// or az://
    #[arg(value_name = "URL")]
    url: String,

    /// Remove what the current version does not name
    #[arg(long)]
    collect: bool,

    /// Seconds that it is kept since it was written
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 86_400,
        requires = "collect"
    )]
    grace: u64,
}

/// What `--json` shows.
#[derive(Serialize)]
struct PublishReport {
    #[serde(flatten)]
    published: Published,
    /// Null where it was not asked for.
    collected: Option<Collected>,
}

impl PublishArguments {
    /// Publishes.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let objects = open_url(&self.url)?;
        let published = publish(&objects, &self.index, &session.progress)?;
        let grace = Duration::from_secs(self.grace);
        let collected = self.collect.then(|| collect(&objects, grace)).transpose()?;
        let mut text = format!(
            "{} is version {} at {}: {} files, {}; sent {}, {}.\n",
            self.index.display(),
            published.version,
            self.url,
            text::count(published.files as u64),
            format_bytes(published.bytes),
            text::count(published.uploaded_files as u64),
            format_bytes(published.uploaded_bytes)
        );
        if let Some(collected) = collected {
            let (count, bytes) = (collected.removed as u64, collected.removed_bytes);
            text.push_str(&format!(
                "Removed {} objects, {}.\n",
                text::count(count),
                format_bytes(bytes)
            ));
        }
        Outcome::new(
            text,
            &PublishReport {
                published,
                collected,
            },
        )
    }
}
