//! The C API of RocksDB, loaded by name: the functions that all releases have, and optional ones that are
//! probed.
//!
//! Handles are opaque `*mut c_void`; [`super::database`] gives them types and lifetimes.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::{Path, PathBuf};

/// A handle of the engine.
pub type Handle = *mut c_void;
/// Where the engine puts the text of an error.
pub type ErrorOut = *mut *mut c_char;

/// Why a library could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("failed to load `{}`: {source}; is it a shared library for this CPU?", path.display())]
    Open { path: PathBuf, source: libloading::Error },
    /// A function is missing that every RocksDB since 5.18 has.
    #[error("`{}` exports no `{symbol}`: it is not a RocksDB library of release 5.18 or later", path.display())]
    MissingSymbol { path: PathBuf, symbol: &'static str },
}

macro_rules! api {
    (
        every release: $( $symbol:literal $name:ident ( $($argument:ty),* ) $(-> $result:ty)? ; )*
        some releases: $( $some:literal $optional:ident ( $($given:ty),* ) $(-> $got:ty)? ; )*
    ) => {
        /// The functions of the C API that every release since 5.18 exports.
        #[derive(Clone, Copy)]
        pub struct Functions {
            $( pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?, )*
        }

        impl Functions {
            fn load(library: &Library, path: &Path) -> Result<Functions, LoadError> {
                Ok(Functions {
                    $( $name: {
                        // SAFETY: the type is the one that c.h declares for this name, the same in all
                        // releases tried; the library is never closed.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>($symbol)
                        };
                        *symbol.map_err(|_| LoadError::MissingSymbol {
                            path: path.to_owned(),
                            symbol: stringify!($name),
                        })?
                    }, )*
                })
            }
        }

        /// The functions of the C API that later releases have and that something else stands in for.
        #[derive(Clone, Copy, Default)]
        pub struct OptionalFunctions {
            $( pub $optional: Option<unsafe extern "C" fn($($given),*) $(-> $got)?>, )*
        }

        impl OptionalFunctions {
            fn load(library: &Library) -> OptionalFunctions {
                OptionalFunctions {
                    $( $optional: {
                        // SAFETY: as above; the type is the one of every release that has the name.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($given),*) $(-> $got)?>($some)
                        };
                        symbol.ok().map(|symbol| *symbol)
                    }, )*
                }
            }
        }
    };
}

api! {
    every release:
    b"rocksdb_options_create" options_create() -> Handle;
    b"rocksdb_options_destroy" options_destroy(Handle);
    b"rocksdb_get_options_from_string" get_options_from_string(Handle, *const c_char, Handle, ErrorOut);
    b"rocksdb_open_column_families"
        open_column_families(
            Handle, *const c_char, c_int, *const *const c_char, *const Handle, *mut Handle, ErrorOut
        ) -> Handle;
    b"rocksdb_column_family_handle_destroy" column_family_handle_destroy(Handle);
    b"rocksdb_close" close(Handle);
    b"rocksdb_free" free(*mut c_void);
    b"rocksdb_writeoptions_create" writeoptions_create() -> Handle;
    b"rocksdb_writeoptions_destroy" writeoptions_destroy(Handle);
    b"rocksdb_writeoptions_disable_WAL" writeoptions_disable_wal(Handle, c_int);
    b"rocksdb_writeoptions_set_sync" writeoptions_set_sync(Handle, c_uchar);
    b"rocksdb_readoptions_create" readoptions_create() -> Handle;
    b"rocksdb_readoptions_destroy" readoptions_destroy(Handle);
    b"rocksdb_writebatch_create" writebatch_create() -> Handle;
    b"rocksdb_writebatch_destroy" writebatch_destroy(Handle);
    b"rocksdb_writebatch_clear" writebatch_clear(Handle);
    b"rocksdb_writebatch_put" writebatch_put(Handle, *const c_char, usize, *const c_char, usize);
    b"rocksdb_write" write(Handle, Handle, Handle, ErrorOut);
    b"rocksdb_get_pinned" get_pinned(Handle, Handle, *const c_char, usize, ErrorOut) -> Handle;
    b"rocksdb_pinnableslice_value" pinnableslice_value(Handle, *mut usize) -> *const c_char;
    b"rocksdb_pinnableslice_destroy" pinnableslice_destroy(Handle);
    b"rocksdb_multi_get"
        multi_get(
            Handle, Handle, usize, *const *const c_char, *const usize, *mut *mut c_char, *mut usize,
            *mut *mut c_char
        );
    b"rocksdb_create_iterator" create_iterator(Handle, Handle) -> Handle;
    b"rocksdb_iter_destroy" iter_destroy(Handle);
    b"rocksdb_iter_seek" iter_seek(Handle, *const c_char, usize);
    b"rocksdb_iter_seek_to_first" iter_seek_to_first(Handle);
    b"rocksdb_iter_next" iter_next(Handle);
    b"rocksdb_iter_prev" iter_prev(Handle);
    b"rocksdb_iter_valid" iter_valid(Handle) -> c_uchar;
    b"rocksdb_iter_key" iter_key(Handle, *mut usize) -> *const c_char;
    b"rocksdb_iter_value" iter_value(Handle, *mut usize) -> *const c_char;
    b"rocksdb_iter_get_error" iter_get_error(Handle, ErrorOut);
    b"rocksdb_flushoptions_create" flushoptions_create() -> Handle;
    b"rocksdb_flushoptions_destroy" flushoptions_destroy(Handle);
    b"rocksdb_flush" flush(Handle, Handle, ErrorOut);
    b"rocksdb_compact_range" compact_range(Handle, *const c_char, usize, *const c_char, usize);
    b"rocksdb_property_int" property_int(Handle, *const c_char, *mut u64) -> c_int;
    b"rocksdb_property_value" property_value(Handle, *const c_char) -> *mut c_char;
    b"rocksdb_set_options"
        set_options(Handle, c_int, *const *const c_char, *const *const c_char, ErrorOut);
    b"rocksdb_options_enable_statistics" options_enable_statistics(Handle);
    b"rocksdb_options_statistics_get_string" options_statistics_get_string(Handle) -> *mut c_char;
    b"rocksdb_set_perf_level" set_perf_level(c_int);
    b"rocksdb_livefiles" livefiles(Handle) -> Handle;
    b"rocksdb_livefiles_count" livefiles_count(Handle) -> c_int;
    b"rocksdb_livefiles_level" livefiles_level(Handle, c_int) -> c_int;
    b"rocksdb_livefiles_size" livefiles_size(Handle, c_int) -> usize;
    b"rocksdb_livefiles_destroy" livefiles_destroy(Handle);
    b"rocksdb_envoptions_create" envoptions_create() -> Handle;
    b"rocksdb_envoptions_destroy" envoptions_destroy(Handle);
    b"rocksdb_sstfilewriter_create" sstfilewriter_create(Handle, Handle) -> Handle;
    b"rocksdb_sstfilewriter_open" sstfilewriter_open(Handle, *const c_char, ErrorOut);
    b"rocksdb_sstfilewriter_put"
        sstfilewriter_put(Handle, *const c_char, usize, *const c_char, usize, ErrorOut);
    b"rocksdb_sstfilewriter_finish" sstfilewriter_finish(Handle, ErrorOut);
    b"rocksdb_sstfilewriter_destroy" sstfilewriter_destroy(Handle);
    b"rocksdb_ingestexternalfileoptions_create" ingestoptions_create() -> Handle;
    b"rocksdb_ingestexternalfileoptions_set_move_files" ingestoptions_set_move_files(Handle, c_uchar);
    b"rocksdb_ingestexternalfileoptions_destroy" ingestoptions_destroy(Handle);
    b"rocksdb_ingest_external_file"
        ingest_external_file(Handle, *const *const c_char, usize, Handle, ErrorOut);

    some releases:
    // From 7.3 on. The last argument says whether the keys are sorted.
    b"rocksdb_batched_multi_get_cf"
        batched_multi_get_cf(
            Handle, Handle, Handle, usize, *const *const c_char, *const usize, *mut Handle, *mut *mut c_char,
            bool
        );
    // From 8.7 on.
    b"rocksdb_wait_for_compact" wait_for_compact(Handle, Handle, ErrorOut);
    b"rocksdb_wait_for_compact_options_create" wait_for_compact_options_create() -> Handle;
    b"rocksdb_wait_for_compact_options_destroy" wait_for_compact_options_destroy(Handle);
    // Microseconds.
    b"rocksdb_wait_for_compact_options_set_timeout" wait_for_compact_options_set_timeout(Handle, u64);
    // From 8.1 on. Bytes of the cache, and of an entry.
    b"rocksdb_hyper_clock_cache_options_create" hyper_clock_cache_options_create(usize, usize) -> Handle;
    b"rocksdb_hyper_clock_cache_options_set_num_shard_bits"
        hyper_clock_cache_options_set_num_shard_bits(Handle, c_int);
    b"rocksdb_hyper_clock_cache_options_destroy" hyper_clock_cache_options_destroy(Handle);
    b"rocksdb_cache_create_hyper_clock_opts" cache_create_hyper_clock_opts(Handle) -> Handle;
    // Every release has these; they are wanted for that cache alone.
    b"rocksdb_cache_destroy" cache_destroy(Handle);
    b"rocksdb_block_based_options_create" block_based_options_create() -> Handle;
    b"rocksdb_block_based_options_set_block_cache" block_based_options_set_block_cache(Handle, Handle);
    b"rocksdb_block_based_options_destroy" block_based_options_destroy(Handle);
    b"rocksdb_options_set_block_based_table_factory" options_set_block_based_table_factory(Handle, Handle);
}

/// Functions that later steps use where a release has them; their absence is reported, never an error.
const OPTIONAL_SYMBOLS: [&str; 5] = [
    "rocksdb_batched_multi_get_cf",
    "rocksdb_wait_for_compact",
    "rocksdb_options_set_statistics_level",
    "rocksdb_readoptions_set_async_io",
    "rocksdb_readoptions_set_auto_readahead_size",
];

/// A loaded library.
#[derive(Clone, Copy)]
pub struct Api {
    pub functions: Functions,
    /// Those that not every release has.
    pub optional: OptionalFunctions,
}

impl Api {
    /// Loads a library for the rest of the process's life: RocksDB keeps threads and thread-locals, so that
    /// closing it would pull the code from under them. Returns it with the optional symbols it lacks.
    pub fn load(path: &Path) -> Result<(Api, Vec<String>), LoadError> {
        // SAFETY: loading runs the library's initialisers; it is the engine that the user asked to run.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|source| LoadError::Open { path: path.to_owned(), source })?;
        let functions = Functions::load(&library, path)?;
        let optional = OptionalFunctions::load(&library);
        let missing = OPTIONAL_SYMBOLS
            .iter()
            .filter(|symbol| {
                // SAFETY: only the presence of the symbol is asked, it is not called.
                unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) }.is_err()
            })
            .map(|symbol| (*symbol).to_owned())
            .collect();
        std::mem::forget(library);
        Ok((Api { functions, optional }, missing))
    }
}
