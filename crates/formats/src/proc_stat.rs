//! The first line of `/proc/stat`: ticks of all CPUs by state, `cpu  2255 34 2290 22625563 6290 127 456 0 0 0`.

/// States that vmstat counts as us and sy.
const BUSY: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];

/// Ticks by state, as far as the kernel tells.
pub fn cpu_ticks(text: &str) -> impl Iterator<Item = (&'static str, u64)> {
    const STATES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or("");
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
    STATES.into_iter().zip(ticks)
}

/// Ticks in user mode and in the kernel: what vmstat calls us and sy. Absent if the kernel does not tell all of it.
pub fn busy_ticks(text: &str) -> Option<u64> {
    let busy: Vec<u64> =
        cpu_ticks(text).filter(|(state, _)| BUSY.contains(state)).map(|(_, ticks)| ticks).collect();
    (busy.len() == BUSY.len()).then(|| busy.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_vmstat_calls_us_and_sy() {
        let text = "cpu  100 20 3000 50000 400 5 60 7 8 9\ncpu0 1 2\n";
        assert_eq!(busy_ticks(text), Some(100 + 20 + 3000 + 5 + 60));
        assert_eq!(cpu_ticks(text).last(), Some(("steal", 7)));
        assert_eq!(busy_ticks("cpu0 1 2 3 4 5 6 7\n"), None);
        assert_eq!(busy_ticks("cpu  1 2 3\n"), None);
    }
}
