//! What the engine of a side did for itself in a launch, from its whole log, of which the run keeps the beginning and the end alone.

use crate::clock;
use formats::engine_log::{EngineWork, LogOf, LogReader, LogTimes};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Of a longer line, a statement of a server, what is behind this says nothing of the engine's work.
const LINE_BYTES: u64 = 8192;

/// What a log tells until now. Absent where there is none, or none with times that can be trusted.
pub fn of(path: &Path, of: LogOf) -> Option<EngineWork> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let mut reader = LogReader::new(of);
    read_lines(BufReader::new(file), |line| reader.line(line)).ok()?;
    let written_at_us = metadata.mtime() * 1_000_000 + metadata.mtime_nsec() / 1000;
    reader.finish(LogTimes { written_at_us, read_at_us: clock::epoch_us() })
}

/// The beginning of each line.
fn read_lines(mut text: impl BufRead, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if io::Read::take(&mut text, LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") {
            text.skip_until(b'\n')?;
        }
        take(String::from_utf8_lossy(&line).trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_line_is_read_to_a_length_and_the_next_from_its_beginning() {
        let long = "x".repeat(20_000);
        let text = format!("first\r\n{long}\nthird, ünïcödé\nlast");
        let mut lines = Vec::new();
        read_lines(text.as_bytes(), |line| lines.push(line.to_owned())).unwrap();
        let lengths: Vec<usize> = lines.iter().map(String::len).collect();
        assert_eq!(lines[0], "first");
        assert_eq!((lengths[1], lines[2].as_str(), lines[3].as_str()), (8192, "third, ünïcödé", "last"));
    }

    #[test]
    fn a_log_tells_by_the_clock_of_the_host() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert_eq!(of(&path, LogOf::Postgres), None);
        let said = "2026-11-27 20:48:25.076 CET [2] LOG:  checkpoint starting: time\n\
                    2026-11-27 20:48:26.392 CET [2] LOG:  checkpoint complete: wrote 1285 buffers (15.7%); total=1.317 s;\n";
        std::fs::write(&path, said).unwrap();
        // An hour before what the log says.
        let written = SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_808_906_400_000);
        File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
        let work = of(&path, LogOf::Postgres).unwrap();
        assert_eq!((work.works.len(), work.works[0].what.as_str()), (1, "checkpoint"));
        assert_eq!(
            (work.works[0].from_us, work.works[0].to_us),
            (1_795_808_905_076_000, 1_795_808_906_392_000)
        );
    }
}
