//! Building sorted files, one key after another: what flushes and compactions do with CPU time, in the thread that is
//! measured, with no memtable, log or background thread beside it.

use super::{Operate, OperationError};
use crate::keys::KeyBytes;
use crate::rocksdb::api::Api;
use crate::rocksdb::database::{Database, EngineError, Options};
use crate::rocksdb::file_writer::FileWriter;
use crate::rocksdb::memory_file::MemoryFile;
use crate::values::Values;
use model::units::Bytes;
use model::wire::StepSetup;
use model::workload::Codec;

/// Puts the next key into a file. A file that is full is finished by the call that fills it; the next call begins the
/// next one, in the place of the last. Where a block ends in the middle of a file, the next block goes on with it.
pub struct BuildFiles {
    api: Api,
    options: Options,
    file: MemoryFile,
    /// The file that is being written; none between two files.
    writer: Option<FileWriter>,
    /// Of the next key. Each file begins with key 0.
    next_key: u64,
    keys_per_file: u64,
    key_bytes: KeyBytes,
    values: Values,
}

// SAFETY: the options are used by the owning thread only.
unsafe impl Send for BuildFiles {}

impl BuildFiles {
    /// Makes ready. Refused as not supported where the library does not compress by the codec.
    pub(super) fn new(
        database: &Database,
        setup: &StepSetup,
        codec: Codec,
        file: Bytes,
    ) -> Result<BuildFiles, OperationError> {
        let api = database.api();
        let options = options_with(&api, database.options(), codec)?;
        let memory = MemoryFile::new().map_err(|error| no_memory_file(&error))?;
        if codec != Codec::None {
            check_codec(&api, &options, &memory, codec)?;
        }
        let data = &setup.data;
        Ok(BuildFiles {
            api,
            options,
            file: memory,
            writer: None,
            next_key: 0,
            keys_per_file: (file.0 / data.row_bytes()).clamp(1, data.keys),
            key_bytes: KeyBytes::new(data.key_bytes),
            values: Values::new(setup.seed, data.value_bytes, data.value_compressible_percent),
        })
    }

    fn put(&mut self) -> Result<(), EngineError> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                self.next_key = 0;
                self.writer.insert(FileWriter::open(&self.api, &self.options, &self.file.path())?)
            }
        };
        writer.put(self.key_bytes.of(self.next_key), self.values.next())?;
        self.next_key += 1;
        if self.next_key == self.keys_per_file
            && let Some(full) = self.writer.take()
        {
            full.finish()?;
        }
        Ok(())
    }
}

impl Operate for BuildFiles {
    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
        if let Err(error) = self.put() {
            // A file that had an error takes no more keys: the next call begins another.
            self.writer = None;
            return Err(error.into());
        }
        Ok(0)
    }
}

/// The options of the database with this codec in every place that names one: which of them a file writer takes differs
/// between releases. The last of equal names counts.
fn options_with(api: &Api, options: &str, codec: Codec) -> Result<Options, OperationError> {
    let name = option_value(codec);
    let text = format!(
        "{options};compression={name};compression_per_level={name};bottommost_compression=kDisableCompressionOption"
    );
    // The rest was accepted when the database was opened.
    Options::parse(api, &text, false).map_err(|error| {
        OperationError::NotSupported(format!("this release refused the codec {}: {error}", codec.name()))
    })
}

/// The name of a codec in option strings.
fn option_value(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "kNoCompression",
        Codec::Snappy => "kSnappyCompression",
        Codec::Lz4 => "kLZ4Compression",
        Codec::Zstd => "kZSTD",
    }
}

/// Bytes of one value of the file that tells whether a codec is there.
const TRIED_VALUE_BYTES: usize = 4096;
/// Its keys: 256 KiB, many blocks of any size that is in use.
const TRIED_KEYS: u64 = 64;

/// Writes a file of equal letters: a library that was built without a codec writes blocks as they are, without an
/// error, and would look fast.
fn check_codec(api: &Api, options: &Options, file: &MemoryFile, codec: Codec) -> Result<(), OperationError> {
    let not_supported = |problem: String| {
        OperationError::NotSupported(format!("this build has no codec {}: {problem}", codec.name()))
    };
    let value = [b'x'; TRIED_VALUE_BYTES];
    let mut key_bytes = KeyBytes::new(8);
    let written = FileWriter::open(api, options, &file.path()).and_then(|mut writer| {
        (0..TRIED_KEYS).try_for_each(|number| writer.put(key_bytes.of(number), &value))?;
        writer.finish()
    });
    written.map_err(|error| match error {
        EngineError(said) if said.starts_with("IO error") => EngineError(said).into(),
        EngineError(said) => not_supported(said),
    })?;
    let given = TRIED_KEYS * value.len() as u64;
    let bytes = file.bytes().map_err(|error| no_memory_file(&error))?;
    if bytes > given / 2 {
        return Err(not_supported(format!("it made {bytes} bytes of {given} equal ones")));
    }
    Ok(())
}

fn no_memory_file(error: &std::io::Error) -> OperationError {
    EngineError(format!("failed to make a file in memory for the files that are built: {error}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreground::{BlockRunner, Manner, Pace};
    use crate::latency::Recorder;
    use crate::planted::Slowdown;
    use crate::rocksdb::api::{ErrorOut, Handle};
    use crate::rocksdb::nothing;
    use model::wire::BlockLimit;
    use model::workload::{DataSet, Operation};
    use std::cell::RefCell;
    use std::ffi::{CStr, OsStr, c_char};
    use std::fs::File;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    const DATA: DataSet =
        DataSet { keys: 1000, key_bytes: 20, value_bytes: 80, value_compressible_percent: 50 };
    /// Ten keys of `DATA`.
    const FILE: Bytes = Bytes(1000);

    /// What an engine that writes files was given, on the thread of a test.
    #[derive(Default)]
    struct Written {
        options: Vec<String>,
        path: PathBuf,
        /// The keys of each file that was begun.
        files: Vec<Vec<u64>>,
        finished: usize,
        /// Bytes of a file that is finished.
        file_bytes: u64,
        /// What putting this key says.
        error: Option<(u64, &'static CStr)>,
    }

    thread_local! {
        static WRITTEN: RefCell<Written> = RefCell::new(Written::default());
    }

    unsafe extern "C" fn parse(_: Handle, text: *const c_char, _: Handle, _: ErrorOut) {
        // SAFETY: the caller gives a terminated text.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        WRITTEN.with_borrow_mut(|written| written.options.push(text));
    }

    unsafe extern "C" fn open(_: Handle, path: *const c_char, _: ErrorOut) {
        // SAFETY: the caller gives a terminated path.
        let path = PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        File::create(&path).unwrap();
        WRITTEN.with_borrow_mut(|written| {
            written.path = path;
            written.files.push(Vec::new());
        });
    }

    unsafe extern "C" fn put(
        _: Handle,
        key: *const c_char,
        length: usize,
        _: *const c_char,
        _: usize,
        error: ErrorOut,
    ) {
        // SAFETY: the caller gives a key of this length.
        let number = crate::keys::number_of(unsafe { std::slice::from_raw_parts(key.cast::<u8>(), length) });
        WRITTEN.with_borrow_mut(|written| {
            written.files.last_mut().unwrap().push(number);
            if let Some((_, said)) = written.error.take_if(|(key, _)| *key == number) {
                // SAFETY: the caller gives a place for the error; this engine frees nothing.
                unsafe { *error = said.as_ptr().cast_mut() };
            }
        });
    }

    unsafe extern "C" fn finish(_: Handle, _: ErrorOut) {
        WRITTEN.with_borrow_mut(|written| {
            File::options().write(true).open(&written.path).unwrap().set_len(written.file_bytes).unwrap();
            written.finished += 1;
        });
    }

    /// A step on an engine that leaves files of so many bytes, and says an error at a key.
    fn step(
        codec: Codec,
        file_bytes: u64,
        error: Option<(u64, &'static CStr)>,
    ) -> Result<BuildFiles, OperationError> {
        WRITTEN.set(Written { file_bytes, error, ..Written::default() });
        let mut api = nothing::api();
        api.functions.get_options_from_string = parse;
        api.functions.sstfilewriter_open = open;
        api.functions.sstfilewriter_put = put;
        api.functions.sstfilewriter_finish = finish;
        let options = Options::parse(&api, "write_buffer_size=1;compression=kZSTD", false).unwrap();
        let database = Database::open(&api, Path::new("none"), &options).unwrap();
        let setup = StepSetup::plain(Operation::BuildFiles { codec, file: FILE }, DATA, 7);
        BuildFiles::new(&database, &setup, codec, FILE)
    }

    fn run(step: &mut BuildFiles, count: u64) -> (u64, u64) {
        let mut manner = Manner { pace: Pace::Closed, planted: Slowdown::none() };
        let limit = BlockLimit::Operations { count };
        let block = BlockRunner::run(step, limit, &mut manner, &mut Recorder::new(), None);
        (block.operations, block.failed_operations)
    }

    fn files() -> (Vec<Vec<u64>>, usize) {
        WRITTEN.with_borrow(|written| (written.files.clone(), written.finished))
    }

    #[test]
    fn a_file_goes_on_in_the_next_block_and_is_finished_when_it_is_full() {
        let mut step = step(Codec::None, 900, None).unwrap();
        assert_eq!(run(&mut step, 7), (7, 0));
        assert_eq!(files(), (vec![(0..7).collect()], 0));
        assert_eq!(run(&mut step, 3), (3, 0));
        assert_eq!(files(), (vec![(0..10).collect()], 1), "by the call that filled it");
        assert_eq!(run(&mut step, 15), (15, 0));
        assert_eq!(files(), (vec![(0..10).collect(), (0..10).collect(), (0..5).collect()], 2));
    }

    #[test]
    fn the_codec_is_that_of_the_operation_whatever_the_database_has() {
        step(Codec::Lz4, 5_000, None).unwrap();
        let options = WRITTEN.with_borrow(|written| written.options.clone());
        assert_eq!(
            options[1],
            "write_buffer_size=1;compression=kZSTD;compression=kLZ4Compression;\
             compression_per_level=kLZ4Compression;bottommost_compression=kDisableCompressionOption"
        );
        assert_eq!(files(), (vec![(0..TRIED_KEYS).collect()], 1), "the file that tries the codec");
    }

    #[test]
    fn a_library_that_does_not_compress_is_refused_and_one_whose_file_system_fails_is_an_error() {
        let refused = step(Codec::Zstd, 263_000, None).err().unwrap();
        let said = "this build has no codec zstd: it made 263000 bytes of 262144 equal ones";
        assert!(matches!(&refused, OperationError::NotSupported(text) if text == said), "{refused}");
        let said = c"Invalid argument: Compression type Snappy is not linked with the binary.";
        let refused = step(Codec::Snappy, 0, Some((0, said))).err().unwrap();
        assert!(matches!(&refused, OperationError::NotSupported(_)), "{refused}");
        assert!(refused.to_string().contains("is not linked"), "{refused}");
        let failed = step(Codec::Snappy, 0, Some((9, c"IO error: No space left on device"))).err().unwrap();
        assert!(matches!(&failed, OperationError::Engine(_)), "{failed}");
        assert!(
            step(Codec::None, 263_000, None).is_ok(),
            "a file that is not compressed is as large as its keys"
        );
    }

    #[test]
    fn a_file_that_had_an_error_takes_no_more_keys() {
        let mut step = step(Codec::None, 900, Some((4, c"IO error"))).unwrap();
        assert_eq!(run(&mut step, 8), (7, 1));
        assert_eq!(files(), (vec![(0..5).collect(), (0..3).collect()], 0));
    }
}
