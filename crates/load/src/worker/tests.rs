//! The worker over its protocol: lines in, lines out, on the engine that does nothing.

use super::*;
use crate::rocksdb::api::{ErrorOut, Handle};
use model::units::Nanos;
use model::wire::{BlockLimit, BlockReport, StepSetup};
use model::workload::{Codec, Settle};
use std::ffi::{c_char, c_int};
use std::path::PathBuf;

const DATA: DataSet = DataSet { keys: 300, key_bytes: 20, value_bytes: 100, value_compressible_percent: 50 };

fn setup(operation: Operation) -> StepSetup {
    StepSetup { threads: 2, wal: false, ..StepSetup::plain(operation, DATA, 7) }
}

fn open() -> Request {
    Request::Open { directory: PathBuf::from("none"), options: String::new(), create: true, tickers: true }
}

fn block(limit: BlockLimit, seconds: bool) -> Request {
    Request::RunBlock { limit, warm_up: false, seconds }
}

const OPERATIONS: BlockLimit = BlockLimit::Operations { count: 120 };

/// Asks over the wire; gives every line of the answer.
fn ask(requests: &[Request]) -> Vec<Reply> {
    let mut input = String::new();
    for request in requests {
        input.push_str(&serde_json::to_string(request).unwrap());
        input.push('\n');
    }
    let mut output = Vec::new();
    serve(input.as_bytes(), &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks with the engine loaded and a database open.
fn ask_open(requests: &[Request]) -> Vec<Reply> {
    let mut all = vec![Request::Load { library: Library::Nothing }, open()];
    all.extend_from_slice(requests);
    ask(&all).split_off(2)
}

fn failure(reply: &Reply) -> (FailureKind, &str) {
    match reply {
        Reply::Failed { kind, message } => (*kind, message),
        other => panic!("{other:?}"),
    }
}

fn run_one(setup: StepSetup) -> (BlockReport, u64) {
    let replies =
        ask_open(&[Request::Prepare(Box::new(setup)), block(OPERATIONS, false), Request::FinishStep]);
    match replies.as_slice() {
        [Reply::Prepared, Reply::Block(report), Reply::StepFinished { latency, .. }] => {
            (report.clone(), latency.count)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_are_built_beside_an_open_database_and_find_no_keys() {
    let operation = Operation::BuildFiles { codec: Codec::Lz4, file: Bytes(1 << 20) };
    let (report, calls) = run_one(StepSetup { threads: 1, ..setup(operation) });
    assert_eq!((report.operations, report.failed_operations, report.found, calls), (120, 0, None, 120));
}

#[test]
fn a_codec_that_a_build_lacks_is_not_supported() {
    let lacks = OperationError::NotSupported("this build has no codec lz4".to_owned());
    let reply = WorkerError::from(StepError::NotReady(lacks)).into_reply();
    assert_eq!(failure(&reply), (FailureKind::NotSupported, "this build has no codec lz4"));
}

#[test]
fn a_block_tells_what_was_found_and_by_which_function() {
    let (report, calls) = run_one(setup(Operation::Overwrite));
    assert_eq!((report.operations, report.found, report.api, calls), (120, None, None, 120));
    let (report, calls) = run_one(setup(Operation::ReadSequential { one_pass: false }));
    assert_eq!((report.operations, report.found, report.api, calls), (120, Some(120), None, 120));
    let (report, calls) = run_one(setup(Operation::MultiRead { batch: 10 }));
    assert_eq!((report.operations, report.found, calls), (120, Some(120), 12));
    assert_eq!(report.api.as_deref(), Some("rocksdb_batched_multi_get_cf"));
    let holes = StepSetup { all_keys_exist: false, ..setup(Operation::ReadRandom) };
    let (report, _) = run_one(holes);
    assert_eq!((report.operations, report.failed_operations), (120, 0));
    // Two thirds are there: 80, with a standard deviation of 5.
    assert!(report.found.is_some_and(|found| (55..=105).contains(&found)), "{report:?}");
}

#[test]
fn the_seconds_of_all_threads_are_the_block() {
    let wall = BlockLimit::Time { wall: Nanos::from_millis(60) };
    let steps = [Request::Prepare(Box::new(setup(Operation::ReadRandom))), block(wall, true)];
    let replies = ask_open(&steps);
    let [Reply::Prepared, Reply::Second(second), Reply::Block(report)] = replies.as_slice() else {
        panic!("{replies:?}");
    };
    assert_eq!((second.second, second.operations), (0, report.operations));
    assert!(second.p50 > Nanos(0) && second.p50 <= second.p99 && second.p99 <= second.max, "{second:?}");
}

#[test]
fn a_step_that_only_settles_is_refused_and_settled() {
    let requests = [
        Request::Prepare(Box::new(setup(Operation::Settle))),
        Request::Settle { to: Settle::Level0Compacted, timeout: Nanos::from_secs(10) },
    ];
    let replies = ask_open(&requests);
    assert_eq!(failure(&replies[0]).0, FailureKind::Protocol);
    assert!(failure(&replies[0]).1.contains("settle"), "{replies:?}");
    assert!(matches!(replies[1], Reply::Settled { .. }), "{replies:?}");
}

#[test]
fn a_worker_whose_thread_died_can_be_closed_and_used_again() {
    // A key that cannot hold its number ends the thread that makes it.
    let broken = StepSetup { data: DataSet { key_bytes: 4, ..DATA }, ..setup(Operation::ReadRandom) };
    let requests = [
        Request::Prepare(Box::new(broken)),
        block(OPERATIONS, false),
        block(OPERATIONS, false),
        Request::Close,
        open(),
        Request::Prepare(Box::new(setup(Operation::ReadRandom))),
        block(OPERATIONS, false),
        Request::Close,
    ];
    let replies = ask_open(&requests);
    assert_eq!(failure(&replies[1]).0, FailureKind::Engine);
    assert_eq!(failure(&replies[2]), (FailureKind::Protocol, "no step is prepared"));
    assert!(matches!(replies[3], Reply::Closed), "{replies:?}");
    assert!(matches!(&replies[6], Reply::Block(report) if report.operations == 120), "{replies:?}");
    assert!(matches!(replies[7], Reply::Closed), "closing ends the step: {replies:?}");
}

#[test]
fn an_engine_without_texts_says_so() {
    let texts = [EngineText::Stats, EngineText::Tickers].map(|what| Request::ReadText { what });
    assert_eq!(ask_open(&texts), [Reply::Text { text: None }, Reply::Text { text: None }]);
}

#[test]
fn a_database_of_another_release_is_refused_in_the_engines_words() {
    unsafe extern "C" fn refuse(
        _: Handle,
        _: *const c_char,
        _: c_int,
        _: *const *const c_char,
        _: *const Handle,
        _: *mut Handle,
        error: ErrorOut,
    ) -> Handle {
        // SAFETY: the caller gives a place for the error; the engine of the test frees nothing.
        unsafe { *error = c"Corruption: Unknown Footer version".as_ptr().cast_mut() };
        std::ptr::null_mut()
    }
    let mut api = nothing::api();
    api.functions.open_column_families = refuse;
    let mut worker = Worker { engine: Some(Engine::RocksDb(Box::new(api))), ..Worker::default() };
    let reply = worker.answer(open(), &mut |_, _| {}).unwrap_or_else(WorkerError::into_reply);
    assert_eq!(failure(&reply), (FailureKind::Engine, "Corruption: Unknown Footer version"));
    let reply = worker.answer(Request::Close, &mut |_, _| {}).unwrap_or_else(WorkerError::into_reply);
    assert!(matches!(reply, Reply::Closed), "{reply:?}");
}
