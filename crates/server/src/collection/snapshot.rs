//! Copies of a collection as of one moment, while changes go on.

use std::path::Path;
use std::sync::Arc;

use pageway::server::OpenMode;
use pageway::{NoProgress, Vfs, verify_on};
use sha2::{Digest, Sha256};

use super::journal::Journal;
use super::open::{JOURNAL, OpenCollection, index_count};
use super::schema::Schema;
use crate::failure::{Failure, Outcome};
use crate::snapshot::{digits, sha256_of};

impl OpenCollection {
    /// Puts copies of all indexes beneath a directory, as they are at one moment. Changes wait
    /// where there are several indexes, for as long as what came in since a flush takes.
    pub(crate) fn copy_into(&self, dir: &Path) -> Outcome<()> {
        self.check_changes()?;
        for writer in &self.writers {
            writer.flush(&NoProgress)?;
        }
        let order = (self.writers.len() > 1).then(|| self.order());
        if let Some(broken) = order.as_ref().and_then(|order| order.broken.clone()) {
            return Err(broken);
        }
        for (number, writer) in self.writers.iter().enumerate() {
            writer.snapshot(&dir.join(format!("v{number}")), &NoProgress)?;
        }
        Ok(())
    }

    /// A digest of copies that lie in a directory: of the names and the bytes of all files.
    pub(crate) fn digest_of(vfs: &Arc<dyn Vfs>, dir: &Path, schema: &Schema) -> Outcome<String> {
        let mut hash = Sha256::new();
        let failed = |error| Failure::from(pageway::Error::from(error));
        for number in 0..index_count(schema) {
            let dir = dir.join(format!("v{number}"));
            let mut names = vfs.list(&dir).map_err(Failure::internal)?;
            names.sort();
            for name in names {
                let file = vfs.open(&dir.join(&name), OpenMode::ReadOwn);
                let own = file.and_then(|file| sha256_of(&file)).map_err(failed)?;
                hash.update(format!("v{number}/{name} {own}\n"));
            }
        }
        Ok(digits(hash))
    }

    /// Makes a collection of copies that lie in its directory already: every page of them is read.
    ///
    /// # Errors
    /// 400 where they are damaged.
    pub(crate) fn adopt(vfs: &Arc<dyn Vfs>, dir: &Path, schema: &Schema) -> Outcome<()> {
        let count = index_count(schema);
        for number in 0..count {
            let report = verify_on(vfs, &dir.join(format!("v{number}")), &NoProgress);
            let report = report.map_err(Failure::wrong)?;
            if !report.is_sound() {
                let problem = report.problems.first().map_or("", String::as_str);
                let words = format!("Snapshot: the index v{number} is damaged: {problem}");
                return Err(Failure::wrong(words));
            }
        }
        if count > 1 {
            Journal::create(vfs, &dir.join(JOURNAL))?;
        }
        Ok(())
    }

    /// Refuses indexes that are not those of the schema.
    pub(crate) fn check_indexes(&self) -> Outcome<()> {
        let fields = self.schema.dense.iter().zip(&self.writers);
        for (field, writer) in fields {
            let index = writer.index();
            if index.shape().dimension as usize != field.size
                || index.metric() != field.distance.metric()
            {
                let words = format!("Snapshot: the index of vector {:?} is another", field.name);
                return Err(Failure::wrong(words));
            }
        }
        Ok(())
    }
}
