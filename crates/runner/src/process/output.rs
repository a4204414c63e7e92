//! What another program wrote into a file, read with no more memory than is asked for: what fails may have written much.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of output that an error message shows.
const LAST_WORDS_BYTES: u64 = 400;

/// The whole of a file if it has no more than `most` bytes; else its beginning and its end, half of that each, and between them
/// how much is left out. What is not UTF-8 is replaced.
pub fn head_and_tail(path: &Path, most: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length <= most {
        return read(&mut file, most);
    }
    let half = most / 2;
    let head = read(&mut file, half)?;
    file.seek(SeekFrom::Start(length - half))?;
    let tail = read(&mut file, half)?;
    Ok(format!("{head}\n[dbdyno left out {} bytes here]\n{tail}", length - 2 * half))
}

/// The end of a file, for an error message; empty where there is none.
pub fn last_words(path: &Path) -> String {
    let words = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
        read(&mut file, LAST_WORDS_BYTES)
    };
    words().unwrap_or_default().trim().to_owned()
}

fn read(file: &mut File, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_keeps_its_beginning_and_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOG");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(head_and_tail(&path, 10).unwrap(), "0123456789");
        assert_eq!(head_and_tail(&path, 4).unwrap(), "01\n[dbdyno left out 6 bytes here]\n89");
        assert!(head_and_tail(&directory.path().join("none"), 4).is_err());
    }

    #[test]
    fn a_log_of_a_terabyte_takes_no_more_than_was_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOG");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let kept = head_and_tail(&path, 1 << 10).unwrap();
        assert!(kept.len() < 1100 && kept.contains("left out 1099511626752 bytes"), "{} bytes", kept.len());
    }

    #[test]
    fn last_words_are_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stderr");
        std::fs::write(&path, format!("{}\nout of luck\n", "x".repeat(1000))).unwrap();
        let words = last_words(&path);
        assert!(words.ends_with("out of luck") && words.len() < 400, "{words}");
        assert_eq!(last_words(&directory.path().join("none")), "");
    }
}
