//! The most memory that this process may take: containers get a part of the machine.

use super::{memory_bytes, read_text};

/// Main memory of the machine, or what the control groups of this process allow where that is
/// less; `None` where the system does not say.
pub fn memory_limit_bytes() -> Option<u64> {
    let groups = read_text("/proc/self/cgroup").unwrap_or_default();
    let granted = granted(&groups, read_text);
    match (memory_bytes(), granted) {
        (Some(all), Some(granted)) => Some(all.min(granted)),
        (all, granted) => all.or(granted),
    }
}

/// The least limit of the groups, and of those that they lie in: `groups` as the kernel lists them,
/// of either version.
fn granted(groups: &str, read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(group)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (root, file) = if kinds.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if kinds.split(',').any(|kind| kind == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        let mut group = group.trim_end_matches('/');
        loop {
            let text = read(&format!("{root}{group}/{file}"));
            // No limit is `max`, or a number larger than any memory.
            let limit = text.and_then(|text| text.trim().parse::<u64>().ok());
            least = limit.into_iter().chain(least).min();
            let Some((above, _)) = group.rsplit_once('/') else {
                break;
            };
            group = above;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        granted(groups, |path| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_least_of_a_group_and_those_above_it_counts() {
        let files = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "2000000\n"),
            ("/sys/fs/cgroup/memory.max", "9000000\n"),
        ];
        assert_eq!(of("0::/a/b\n", &files), Some(2_000_000));
        assert_eq!(of("0::/\n", &files), Some(9_000_000), "in a container");
        assert_eq!(of("0::/a/b\n", &files[..1]), None);
    }

    #[test]
    fn the_first_version_is_read_too() {
        let files = [
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n"),
            ("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "1\n"),
        ];
        let groups = "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n";
        assert_eq!(of(groups, &files), Some(4096));
        assert_eq!(of("not a group\n\n", &files), None);
    }
}
