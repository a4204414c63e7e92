//! The code of a process: which files lie where in its memory, and how its stacks are followed through them.

use super::events::Sample;
use super::symbols::Symbols;
use crate::rights::as_root;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use object::elf::PF_X;
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::str::SplitAsciiWhitespace;
use std::sync::Arc;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{
    CacheAarch64 as Cache, UnwindRegsAarch64 as Registers, UnwinderAarch64 as ArchUnwinder,
};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{CacheX86_64 as Cache, UnwindRegsX86_64 as Registers, UnwinderX86_64 as ArchUnwinder};

/// Deeper stacks are cut: a function that calls itself without end.
const MOST_FRAMES: usize = 256;
/// Of the architectures that we know.
const LARGEST_PAGE: u64 = 64 << 10;
/// The kernel's code in every process.
const VDSO: &str = "[vdso]";
/// Code that is in no file: a compiler within the engine made it, as Postgres' for expressions.
const GENERATED: &str = "code made at run time (JIT)";
const UNKNOWN: &str = "unknown";

/// The code of one process.
#[derive(Default)]
pub struct Code {
    unwinder: Option<(ArchUnwinder<Arc<[u8]>>, Cache)>,
    mapped: Vec<Mapped>,
    /// Where code lies that is in no file.
    generated: Vec<Range<u64>>,
    /// An address was in no file: more may have been loaded since.
    is_stale: bool,
}

struct Mapped {
    range: Range<u64>,
    /// What is added to an address in the file.
    base: u64,
    file: Rc<CodeFile>,
}

/// A stack with names, the innermost function first.
pub struct Unwound {
    pub frames: Vec<Rc<str>>,
    /// Whether it could not be followed to its end.
    pub is_broken: bool,
}

/// Files with code that were read.
#[derive(Default)]
pub struct Files(BTreeMap<FileKey, Option<Rc<CodeFile>>>);

/// Which file a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FileKey {
    device: String,
    inode: String,
    path: String,
}

/// A stretch of a process's memory with code.
#[derive(Debug, PartialEq)]
struct MappedCode {
    range: Range<u64>,
    /// Where in the file it begins.
    offset: u64,
    file: FileKey,
}

/// What is kept of a file with code.
struct CodeFile {
    symbols: Symbols,
    /// Its name if a function is not known.
    unknown: Rc<str>,
    /// Where segments with code lie: in the file, and their addresses.
    segments: Vec<(Range<u64>, u64)>,
    sections: ExplicitModuleSectionInfo<Arc<[u8]>>,
}

impl Code {
    /// Follows the stack of a sample of this process.
    pub fn unwound(&mut self, process: u32, sample: &Sample<'_>, files: &mut Files) -> Unwound {
        let mut unwound = Unwound { frames: Vec::new(), is_broken: false };
        let Some((pc, sp, registers)) = registers(sample.registers) else { return unwound };
        if self.unwinder.is_none() || self.is_stale {
            self.read(process, files);
        }
        let Some((unwinder, cache)) = &mut self.unwinder else { return unwound };
        let mut read = |at: u64| {
            let offset = at.checked_sub(sp).and_then(|offset| usize::try_from(offset).ok()).ok_or(())?;
            let bytes = sample.stack.get(offset..).and_then(<[u8]>::first_chunk).ok_or(())?;
            Ok(u64::from_ne_bytes(*bytes))
        };
        let mut frames = unwinder.iter_frames(pc, registers, cache, &mut read);
        while unwound.frames.len() < MOST_FRAMES {
            match frames.next() {
                Ok(Some(frame)) => {
                    let at = frame.address_for_lookup();
                    let mapped = self.mapped.iter().find(|mapped| mapped.range.contains(&at));
                    let is_generated = self.generated.iter().any(|range| range.contains(&at));
                    self.is_stale |= mapped.is_none() && !is_generated;
                    let other = if is_generated { GENERATED } else { UNKNOWN };
                    unwound.frames.push(mapped.map_or_else(|| Rc::from(other), |mapped| mapped.name(at)));
                }
                Ok(None) => return unwound,
                Err(_) => break,
            }
        }
        unwound.is_broken = true;
        unwound
    }

    fn read(&mut self, process: u32, files: &mut Files) {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        let mut unwinder = ArchUnwinder::new();
        self.mapped.clear();
        self.generated = maps.lines().filter_map(generated_code).collect();
        for MappedCode { range, offset, file } in maps.lines().filter_map(with_code) {
            let Some(file) = files.get(process, file, &range) else { continue };
            let Some(base) = file.base(range.start, offset) else { continue };
            let name = file.unknown.to_string();
            unwinder.add_module(Module::new(name, range.clone(), base, file.sections.clone()));
            self.mapped.push(Mapped { range, base, file });
        }
        self.unwinder = Some((unwinder, Cache::new()));
        self.is_stale = false;
    }
}

impl Mapped {
    fn name(&self, at: u64) -> Rc<str> {
        self.file.symbols.name(at.wrapping_sub(self.base)).unwrap_or_else(|| Rc::clone(&self.file.unknown))
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(registers: &[u64]) -> Option<(u64, u64, Registers)> {
    let [bp, sp, ip] = registers else { return None };
    Some((*ip, *sp, Registers::new(*ip, *sp, *bp)))
}

#[cfg(target_arch = "aarch64")]
fn registers(registers: &[u64]) -> Option<(u64, u64, Registers)> {
    let [fp, lr, sp, pc] = registers else { return None };
    Some((*pc, *sp, Registers::new(*lr, *sp, *fp)))
}

/// The range of a line of /proc/PID/maps, and what follows its rights; absent if it is not of code.
fn code_range(line: &str) -> Option<(Range<u64>, SplitAsciiWhitespace<'_>)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()?.contains('x');
    is_code.then_some((hex(start)?..hex(end)?, fields))
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// Where code lies that is in no file; absent of any other line.
fn generated_code(line: &str) -> Option<Range<u64>> {
    let (range, mut fields) = code_range(line)?;
    // Offset, device and inode come before a name, if there is one.
    fields.nth(3).is_none().then_some(range)
}

/// A line of /proc/PID/maps; absent if it is of no file with code.
fn with_code(line: &str) -> Option<MappedCode> {
    let (range, mut fields) = code_range(line)?;
    let offset = hex(fields.next()?)?;
    let (device, inode) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    // A path may have spaces in it.
    let path = line.find(['/', '[']).map(|place| line[place..].trim_end().to_owned())?;
    let is_file = path.starts_with('/') || path == VDSO;
    is_file.then_some(MappedCode { range, offset, file: FileKey { device, inode, path } })
}

impl Files {
    fn get(&mut self, process: u32, file: FileKey, range: &Range<u64>) -> Option<Rc<CodeFile>> {
        let read = |file: &FileKey| {
            let data = if file.path == VDSO {
                own_vdso()?
            } else {
                // By the process's own root; one that was deleted since is there all the same.
                let rooted = format!("/proc/{process}/root{}", file.path);
                let link = format!("/proc/{process}/map_files/{:x}-{:x}", range.start, range.end);
                let by_link = |_| {
                    let _root = as_root();
                    fs::read(link)
                };
                fs::read(rooted).or_else(by_link).ok()?
            };
            CodeFile::parse(&data, Path::new(&file.path)).map(Rc::new)
        };
        if let Some(known) = self.0.get(&file) {
            return known.clone();
        }
        let read = read(&file);
        self.0.insert(file, read.clone());
        read
    }
}

/// It is the same in every process; the memory of another is not ours to read.
fn own_vdso() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let range = maps.lines().filter_map(with_code).find(|mapped| mapped.file.path == VDSO)?.range;
    let mut data = vec![0; usize::try_from(range.end - range.start).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut data, range.start).ok()?;
    Some(data)
}

impl CodeFile {
    fn parse(data: &[u8], path: &Path) -> Option<CodeFile> {
        let file = object::File::parse(data).ok()?;
        let range = |name: &str| {
            file.section_by_name(name).map(|section| section.address()..section.address() + section.size())
        };
        let bytes = |name: &str| Some(Arc::from(file.section_by_name(name)?.data().ok()?));
        let sections = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: bytes(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: bytes(".eh_frame_hdr"),
            debug_frame: bytes(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        };
        let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0);
        let segments = file.segments().filter(|segment| is_code(segment.flags())).map(|segment| {
            let (offset, size) = segment.file_range();
            (offset..offset + size, segment.address())
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Some(CodeFile {
            symbols: Symbols::read(&file, path),
            unknown: Rc::from(format!("unknown in {name}")),
            segments: segments.collect(),
            sections,
        })
    }

    /// What is added to addresses of this file if the part from `offset` on lies at `start`. Memory begins with the page in which a segment
    /// begins, which may be that in which the one before it ends.
    fn base(&self, start: u64, offset: u64) -> Option<u64> {
        let from_page = |range: &Range<u64>| range.start.saturating_sub(LARGEST_PAGE - 1)..range.end;
        let (range, address) = self.segments.iter().find(|(range, _)| from_page(range).contains(&offset))?;
        Some(start.wrapping_add(range.start).wrapping_sub(offset).wrapping_sub(*address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_code_are_found_and_others_are_none() {
        let line = "7f00-7f80 r-xp 00001000 fd:00 42   /usr/lib/a library.so (deleted)";
        let file = FileKey {
            device: "fd:00".to_owned(),
            inode: "42".to_owned(),
            path: "/usr/lib/a library.so (deleted)".to_owned(),
        };
        assert_eq!(with_code(line), Some(MappedCode { range: 0x7f00..0x7f80, offset: 0x1000, file }));
        for line in [
            "7f00-7f80 rw-p 0 fd:00 42 /usr/lib/a",
            "7f00-7f80 r-xp 0 00:00 0",
            "7f00-7f80 r-xp 0 00:00 0 [heap]",
            "",
        ] {
            assert!(with_code(line).is_none(), "{line}");
        }
    }

    #[test]
    fn code_that_is_in_no_file_is_known_by_its_range() {
        assert_eq!(generated_code("7f00-7f80 r-xp 00000000 00:00 0 "), Some(0x7f00..0x7f80));
        for line in [
            "7f00-7f80 rw-p 0 00:00 0",
            "7f00-7f80 r-xp 0 fd:00 42 /usr/lib/a",
            "7f00-7f80 r-xp 0 0 0 [vdso]",
            "",
        ] {
            assert_eq!(generated_code(line), None, "{line}");
        }
    }

    #[test]
    fn a_segment_that_begins_within_a_page_is_mapped_from_the_start_of_that_page() {
        let data = fs::read("/proc/self/exe").unwrap();
        let segments = vec![(0x2340..0x5000, 0x13340)];
        let file = CodeFile { segments, ..CodeFile::parse(&data, Path::new("own")).unwrap() };
        assert_eq!(file.base(0x7f00_0000_2000, 0x2000), Some(0x7f00_0000_2000 - 0x13000));
        assert_eq!(file.base(0x7f00_0000_2000, 0x5000), None);
    }

    /// Our own functions, by their addresses in this process.
    #[test]
    fn functions_of_this_process_have_their_names() {
        let mut files = Files::default();
        let mut code = Code::default();
        code.read(std::process::id(), &mut files);
        let at = dbdyno_test_is_found as fn() -> u64 as usize as u64;
        let mapped = code.mapped.iter().find(|mapped| mapped.range.contains(&at)).unwrap();
        assert_eq!(&*mapped.name(at), "dbdyno_test_is_found");
    }

    #[unsafe(no_mangle)]
    #[inline(never)]
    fn dbdyno_test_is_found() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn files_that_are_cut_are_no_files_with_code() {
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(CodeFile::parse(&own, Path::new("own")).is_some());
        for cut in [0, 1, 16, 63, 200, 5000] {
            // Whatever is read of it, it does not panic.
            let _ = CodeFile::parse(&own[..cut], Path::new("cut"));
        }
        assert!(CodeFile::parse(b"#!/bin/sh\n", Path::new("script")).is_none());
        assert!(own_vdso().is_none_or(|data| CodeFile::parse(&data, Path::new(VDSO)).is_some()));
    }
}
