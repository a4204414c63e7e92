//! What settling must know of the options that a database was opened with, read from their string.

use std::ffi::CString;

/// RocksDB's default of `level0_file_num_compaction_trigger`, the same in all releases tried.
const DEFAULT_LEVEL0_TRIGGER: &str = "4";

/// The options that settling reads, or changes for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    /// Whether level 0 is compacted into a next level: not with universal compaction or FIFO, where files of
    /// level 0 are sorted runs like others.
    pub leveled: bool,
    /// `level0_file_num_compaction_trigger`.
    pub level0_trigger: CString,
}

impl Tuning {
    /// Of a string in RocksDB's own syntax: `name=value;other={inner=1;}`.
    pub fn of(options: &str) -> Tuning {
        let style = value_of(options, "compaction_style").unwrap_or("kCompactionStyleLevel");
        let trigger =
            value_of(options, "level0_file_num_compaction_trigger").unwrap_or(DEFAULT_LEVEL0_TRIGGER);
        // No value that was parsed from a C string has a NUL in it.
        let level0_trigger = CString::new(trigger).unwrap_or_default();
        Tuning { leveled: style == "kCompactionStyleLevel", level0_trigger }
    }
}

/// The last value of an option at the outermost level, as the engine takes it too.
pub fn value_of<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    outermost(options).filter(|(found, _)| *found == name).last().map(|(_, value)| value)
}

/// The options at the outermost level, each with its value.
pub fn outermost(options: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut depth = 0_u32;
    let between = move |character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ';' && depth == 0
    };
    let pairs = options.split(between).filter_map(|option| option.split_once('='));
    pairs.map(|(name, value)| (name.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &str, leveled: bool, trigger: &str) {
        let expected = Tuning { leveled, level0_trigger: CString::new(trigger).unwrap() };
        assert_eq!(Tuning::of(options), expected, "{options}");
    }

    #[test]
    fn options_of_the_outermost_level_are_read() {
        check("", true, "4");
        check("write_buffer_size=1;level0_file_num_compaction_trigger = 8 ;", true, "8");
        check(
            "compaction_style=kCompactionStyleUniversal;x={compaction_style=kCompactionStyleLevel}",
            false,
            "4",
        );
        check("x={level0_file_num_compaction_trigger=9;y={z=1;}};num_levels=7", true, "4");
        check("level0_file_num_compaction_trigger=2;level0_file_num_compaction_trigger=3", true, "3");
        check("compaction_style=kCompactionStyleFIFO", false, "4");
    }
}
