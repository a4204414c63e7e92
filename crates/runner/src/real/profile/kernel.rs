//! Names of the kernel's functions.

use crate::rights::as_root;
use std::fs;

/// Where it is not said which.
const UNKNOWN: &str = "kernel";

/// All functions by their first addresses, ascending; none if the kernel hides addresses from this user.
pub struct KernelSymbols(Vec<(u64, String)>);

impl KernelSymbols {
    pub fn read() -> KernelSymbols {
        let _root = as_root();
        // Text of megabytes with bytes that need not be UTF-8.
        KernelSymbols::parse(&String::from_utf8_lossy(&fs::read("/proc/kallsyms").unwrap_or_default()))
    }

    fn parse(text: &str) -> KernelSymbols {
        let function = |line: &str| {
            let mut fields = line.split_ascii_whitespace();
            let at = u64::from_str_radix(fields.next()?, 16).ok().filter(|at| *at > 0)?;
            let is_code = matches!(fields.next()?, "t" | "T" | "w" | "W");
            Some((at, format!("{}_[k]", fields.next()?))).filter(|_| is_code)
        };
        let mut all: Vec<(u64, String)> = text.lines().filter_map(function).collect();
        all.sort();
        KernelSymbols(all)
    }

    /// The function that an address is in. The kernel's lie one after another: each goes to where the next begins.
    pub fn name(&self, at: u64) -> &str {
        let place = self.0.partition_point(|(first, _)| *first <= at);
        place.checked_sub(1).and_then(|place| self.0.get(place)).map_or(UNKNOWN, |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_goes_to_the_next_and_hidden_addresses_are_no_names() {
        let symbols = KernelSymbols::parse(
            "ffffffff81000000 T first\nffffffff81000100 t second\nffffffff81000180 d data\n",
        );
        assert_eq!(symbols.name(0xffff_ffff_8100_00ff), "first_[k]");
        assert_eq!(symbols.name(0xffff_ffff_8100_0190), "second_[k]");
        assert_eq!(symbols.name(0xffff_ffff_8000_0000), UNKNOWN);
        assert_eq!(KernelSymbols::parse("0000000000000000 T first\n").name(u64::MAX), UNKNOWN);
    }
}
