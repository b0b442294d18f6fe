//! The budgets of builds: the smallest that a refusal names works, one byte less does not, and the
//! index can then be opened and searched with what it was built for.

use std::path::Path;
use std::sync::Arc;

use pageway::{BuildOptions, ElementType, Index, MemoryWish, OpenOptions, OsVfs, Preset, Vfs};

use crate::axes::small;
use crate::common::{names, smallest_that_works};
use crate::cover::COVER;
use crate::embeddings::{DataSet, Extent};
use crate::subject::{Subject, search};

const EXTENT: Extent = Extent {
    rows: 400,
    queries: 5,
    dimension: 48,
};

/// Which budget is made small.
#[derive(Clone, Copy, Debug)]
enum Budget {
    Search,
    Build,
    Disk,
}

impl Budget {
    fn set(self, options: &BuildOptions, bytes: u64) -> BuildOptions {
        let mut options = options.clone();
        let wish = Some(MemoryWish::Bytes(bytes));
        match self {
            Self::Search => options.memory = wish,
            Self::Build => options.build_memory = wish,
            Self::Disk => options.disk = wish,
        }
        options
    }
}

fn check(name: &str, options: &BuildOptions, data: &DataSet) {
    for budget in [Budget::Search, Budget::Build, Budget::Disk] {
        let root = tempfile::tempdir().unwrap();
        let subject = |bytes| Subject {
            name: format!("{name}: {budget:?}"),
            dir: root.path().join("index"),
            data,
            has_user_ids: false,
            options: budget.set(options, bytes),
        };
        let refused = subject(1).build().unwrap_err();
        let least = smallest_that_works(&refused);
        let again = subject(least - 1).build().unwrap_err();
        let built = subject(least);
        assert_eq!(smallest_that_works(&again), least, "{}", built.name);
        let left = OsVfs.exists(&built.dir).unwrap();
        assert!(!left, "{}: a refused build leaves nothing", built.name);
        let done = built.build();
        done.unwrap_or_else(|error| panic!("{}: {error}", built.name));
        let index = Index::open(&built.dir, &OpenOptions::default()).unwrap();
        search(&index, &data.queries, 1).unwrap();
        let bytes = on_disk(&built.dir);
        let kept = !matches!(budget, Budget::Disk) || bytes <= least;
        assert!(kept, "{}: {bytes} of {least} bytes", built.name);
    }
}

fn on_disk(dir: &Path) -> u64 {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let length = |name: String| crate::common::contents(vfs.as_ref(), &dir.join(name)).len();
    names(vfs.as_ref(), dir)
        .into_iter()
        .map(length)
        .sum::<usize>() as u64
}

#[test]
fn the_smallest_budgets_that_a_build_names_work() {
    for preset in Preset::ALL {
        let data = DataSet::load(ElementType::F16, EXTENT);
        let options = small(EXTENT.dimension).with_preset(preset);
        check(preset.name(), &options, &data);
    }
    for choice in &COVER.chosen {
        let data = DataSet::load(choice.element(), EXTENT);
        check(&choice.text(), &choice.options(EXTENT.dimension), &data);
    }
}
