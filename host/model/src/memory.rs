//! Memory that this machine has free, by which the KV cache's default size is bounded. Called once
//! at the start.
//!
//! Invariant: limits of control groups count, those of the groups around the process's own as well;
//! page cache that can be dropped is free.

use std::path::Path;

/// Bytes that are free on the machine whose file system has this root; `None` if it doesn't say.
pub fn free_memory(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let machine = field(&read("proc/meminfo")?, "MemAvailable:")?.saturating_mul(1024);
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let free = groups.lines().filter_map(|group| free_in_group(root, group)).min();
    Some(free.map_or(machine, |free| free.min(machine)))
}

/// Free bytes of the group in a line of `/proc/self/cgroup`, and of the groups around it; `None`
/// without a limit.
fn free_in_group(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?.trim_start_matches('/'));
    let (mount, files) = match controllers {
        "" => ("sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
        _ if controllers.split(',').any(|name| name == "memory") => (
            "sys/fs/cgroup/memory",
            ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
        ),
        _ => return None,
    };
    Path::new(path).ancestors().filter_map(|group| free_below(&root.join(mount).join(group), files)).min()
}

/// Free bytes below the limit of one group; `None` without a limit.
fn free_below(group: &Path, [limit, used, cache]: [&str; 3]) -> Option<u64> {
    let number = |file| std::fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let used = number(used)?.saturating_sub(field(&stat, cache).unwrap_or(0));
    Some(number(limit)?.saturating_sub(used))
}

/// The number after `name` at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    lines.find_map(|mut words| (words.next() == Some(name)).then(|| words.next()?.parse().ok())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free memory of a machine with 8000 KiB available and these files besides.
    fn free(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [&[("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   8000 kB\n")], files].concat()
        {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        free_memory(root.path())
    }

    #[test]
    fn free_memory_is_the_least_of_machine_and_cgroups() {
        let machine = 8000 * 1024;
        assert_eq!(free(&[]), Some(machine));
        let own = ("proc/self/cgroup", "0::/a/b\n");
        assert_eq!(free(&[own, ("sys/fs/cgroup/a/b/memory.max", "max\n")]), Some(machine));
        let outer = [
            own,
            ("sys/fs/cgroup/a/memory.max", "1000000\n"),
            ("sys/fs/cgroup/a/memory.current", "500000\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 200000\n"),
        ];
        assert_eq!(free(&outer), Some(700_000), "page cache is free");
        let first = [
            ("proc/self/cgroup", "5:cpu:/x\n4:hugetlb,memory:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1500\n"),
        ];
        assert_eq!(free(&first), Some(0), "more is used than the limit");
        assert_eq!(free_memory(Path::new("/nowhere")), None);
    }
}
