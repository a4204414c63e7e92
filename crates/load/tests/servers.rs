//! The worker against real SQL servers, over its own protocol. Each server is given as a JSON `ServerAddress` in an
//! environment variable; where one is not set, its tests say so and do nothing. The tables are made and dropped.

#![expect(clippy::unwrap_used, reason = "what asks the worker panics like its assertions")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

use model::address::ServerAddress;
use model::units::Nanos;
use model::wire::{
    BlockLimit, BlockReport, CompanionSetup, EngineText, FailureKind, Library, Reply, Request, StepSetup,
    Stream,
};
use model::workload::sql::{Dialect, Tables, Transaction};
use model::workload::{DataSet, Operation, Settle};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::thread::JoinHandle;

const VARIABLES: [&str; 3] = ["DBDYNO_TEST_POSTGRES", "DBDYNO_TEST_MARIADB", "DBDYNO_TEST_MYROCKS"];

/// Addresses that were given.
fn servers() -> Vec<ServerAddress> {
    let mut given = Vec::new();
    for variable in VARIABLES {
        match std::env::var(variable) {
            Ok(text) => given.push(serde_json::from_str(&text).unwrap()),
            Err(_) => {
                println!("skipped: {variable} is not set; it is the JSON of a model::address::ServerAddress")
            }
        }
    }
    given
}

/// A worker in a thread, asked over pipes.
struct Worker {
    requests: Option<PipeWriter>,
    replies: BufReader<PipeReader>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Worker {
    fn start() -> Worker {
        let (to_read, requests) = pipe().unwrap();
        let (replies, to_write) = pipe().unwrap();
        let thread = std::thread::spawn(move || load::worker::serve(BufReader::new(to_read), to_write));
        Worker { requests: Some(requests), replies: BufReader::new(replies), thread: Some(thread) }
    }

    fn of(address: &ServerAddress) -> Worker {
        let mut worker = Worker::start();
        let reply = worker.ask(&Request::Load { library: Library::Server { address: address.clone() } });
        let Reply::Loaded { facts, .. } = reply else { panic!("{reply:?}") };
        assert!(facts["version"].contains('.'), "{facts:?}");
        worker
    }

    fn ask(&mut self, request: &Request) -> Reply {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{}", serde_json::to_string(request).unwrap()).unwrap();
        loop {
            let mut line = String::new();
            self.replies.read_line(&mut line).unwrap();
            match serde_json::from_str(&line).unwrap() {
                Reply::Second(_) | Reply::CompanionSecond { .. } => {}
                reply => return reply,
            }
        }
    }

    fn step(&mut self, setup: StepSetup, limits: &[BlockLimit]) -> (Vec<BlockReport>, model::block::Latency) {
        let reply = self.ask(&Request::Prepare(Box::new(setup)));
        assert_eq!(reply, Reply::Prepared);
        let blocks = limits
            .iter()
            .map(|limit| {
                let reply = self.ask(&Request::RunBlock { limit: *limit, warm_up: false, seconds: true });
                let Reply::Block(report) = reply else { panic!("{reply:?}") };
                report
            })
            .collect();
        let reply = self.ask(&Request::FinishStep);
        let Reply::StepFinished { latency, .. } = reply else { panic!("{reply:?}") };
        (blocks, latency)
    }

    /// One block, in which nothing may fail.
    fn block(&mut self, setup: StepSetup, limit: BlockLimit) -> BlockReport {
        let (mut blocks, _) = self.step(setup, &[limit]);
        let report = blocks.remove(0);
        assert_eq!((report.failed_operations, report.first_error.as_deref()), (0, None));
        report
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

const COUNT: u32 = 2;
const ROWS: u64 = 5000;

fn tables(prefix: &str) -> Tables {
    let text = serde_json::json!({
        "count": COUNT, "rows": ROWS, "prefix": prefix,
        "create": {
            "postgres": [
                "DROP TABLE IF EXISTS {table}",
                "CREATE TABLE {table} (id SERIAL PRIMARY KEY, k INTEGER NOT NULL DEFAULT 0, \
                 c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
            ],
            "mysql": [
                "DROP TABLE IF EXISTS {table}",
                "CREATE TABLE {table} (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, k INTEGER NOT NULL DEFAULT 0, \
                 c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '') ENGINE = {storage}"
            ]
        },
        "insert": "INSERT INTO {table} (k, c, pad) VALUES",
        "row": "({id}, '{c}', '{pad}')",
        "index": ["CREATE INDEX k_{table} ON {table} (k)"],
        "parameters": {
            "id": { "draw": "uniform", "low": 1, "high": "rows" },
            "zipf": { "draw": "zipfian", "low": 1, "high": "rows", "exponent": 0.8 },
            "own": { "draw": "uniform", "low": 1, "high": "rows", "per": "transaction" },
            "from": { "draw": "uniform", "low": 1, "high": "rows-99" },
            "hot": { "draw": "constant", "value": "rows/2+1" },
            "oldest": { "draw": "oldest" },
            "existing": { "draw": "existing" },
            "c": { "draw": "digits", "groups": 10, "of": 11 },
            "pad": { "draw": "digits", "groups": 5, "of": 11 }
        }
    });
    serde_json::from_value(text).unwrap()
}

fn setup(prefix: &str, operation: Operation, threads: u32) -> StepSetup {
    let data = DataSet {
        keys: ROWS * u64::from(COUNT),
        key_bytes: 8,
        value_bytes: 184,
        value_compressible_percent: 0,
    };
    StepSetup { tables: Some(tables(prefix)), threads, ..StepSetup::plain(operation, data, 7) }
}

fn transaction(text: serde_json::Value) -> Operation {
    Operation::Transaction(Box::new(serde_json::from_value::<Transaction>(text).unwrap()))
}

fn operations(count: u64) -> BlockLimit {
    BlockLimit::Operations { count }
}

fn load(worker: &mut Worker, prefix: &str) {
    let all = ROWS * u64::from(COUNT);
    assert_eq!(worker.block(setup(prefix, Operation::LoadTables, 3), operations(1)).operations, all);
    assert_eq!(worker.block(setup(prefix, Operation::BuildIndexes, 1), operations(1)).operations, all);
}

fn drop_tables(worker: &mut Worker, prefix: &str) {
    let drop = transaction(serde_json::json!({
        "prepared": false, "table": "of-client", "statements": [{ "sql": "DROP TABLE {table}" }]
    }));
    worker.block(setup(prefix, drop, COUNT), operations(u64::from(COUNT)));
}

#[test]
fn all_shapes_of_statements_give_the_rows_that_they_must() {
    for address in servers() {
        let mut worker = Worker::of(&address);
        load(&mut worker, "shapes");
        for prepared in [true, false] {
            let shapes = [
                ("SELECT c FROM {table} WHERE id = {id}", serde_json::json!(1)),
                ("SELECT c FROM {table} WHERE id = {zipf}", serde_json::json!(1)),
                ("SELECT id, c FROM {table} WHERE id IN ({hot*100})", serde_json::json!(100)),
                ("SELECT c FROM {table} WHERE id IN ({id*1000})", serde_json::json!([700, 1000])),
                (
                    "SELECT c FROM {table} WHERE id BETWEEN {from} AND {from+99} ORDER BY c",
                    serde_json::json!(100),
                ),
                ("SELECT SUM(k) FROM {table} WHERE id BETWEEN {from} AND {from+99}", serde_json::json!(1)),
                (
                    "SELECT DISTINCT c FROM {table} WHERE id BETWEEN {from} AND {from+99} ORDER BY c",
                    serde_json::json!([80, 100]),
                ),
                ("SELECT * FROM {table} WHERE LENGTH(c) < 0", serde_json::json!(0)),
                ("UPDATE {table} SET k = k + 1 WHERE id = {id}", serde_json::json!(1)),
                ("UPDATE {table} SET c = '{c}' WHERE id = {id}", serde_json::json!(1)),
                ("UPDATE {table} SET c = {c} WHERE id IN ({id*10})", serde_json::json!([9, 10])),
            ];
            for (sql, rows) in shapes {
                let one = transaction(serde_json::json!({
                    "prepared": prepared, "statements": [{ "sql": sql, "rows": rows }]
                }));
                let report = worker.block(setup("shapes", one, 1), operations(50));
                assert_eq!(report.operations, 50, "{sql}");
                assert_eq!(report.found, None);
            }
        }
        let wrong = transaction(serde_json::json!({
            "begin": true,
            "statements": [{ "sql": "SELECT c FROM {table} WHERE id = {id}", "rows": 2 }]
        }));
        let (blocks, _) = worker.step(setup("shapes", wrong, 1), &[operations(9)]);
        assert_eq!((blocks[0].operations, blocks[0].failed_operations), (0, 9));
        let error = blocks[0].first_error.as_deref().unwrap();
        assert!(error.contains("returned or changed 1 rows where 2 were expected"), "{error}");
        drop_tables(&mut worker, "shapes");
    }
}

#[test]
fn transactions_of_many_clients_are_sent_again_where_the_server_wants_that() {
    for address in servers() {
        let mut worker = Worker::of(&address);
        load(&mut worker, "writes");
        let insert = "INSERT INTO {table} (id, k, c, pad) VALUES ({own}, {id}, '{c}', '{pad}')";
        let write_only = |id: &str| {
            transaction(serde_json::json!({
                "begin": true,
                "statements": [
                    { "sql": format!("UPDATE {{table}} SET k = k + 1 WHERE id = {id}"), "rows": [0, 1] },
                    { "sql": format!("UPDATE {{table}} SET c = {{c}} WHERE id = {id}"), "rows": [0, 1] },
                    { "sql": "DELETE FROM {table} WHERE id = {own}", "rows": [0, 1] },
                    { "sql": insert, "rows": 1 },
                ]
            }))
        };
        let (blocks, latency) =
            worker.step(setup("writes", write_only("{id}"), 4), &[operations(1200), operations(1200)]);
        assert_eq!(blocks.iter().map(|block| block.operations).sum::<u64>(), 2400);
        assert_eq!(latency.count, 400);
        // Few rows, in every order: deadlocks are certain.
        let crowded = StepSetup {
            tables: Some(Tables { rows: 6, count: 1, ..tables("writes") }),
            ..setup("writes", write_only("{id}"), 8)
        };
        // Postgres takes a second to see a deadlock, MyRocks as long to give up a lock.
        let (blocks, _) = worker.step(crowded, &[BlockLimit::Time { wall: Nanos::from_secs(4) }]);
        assert_eq!((blocks[0].failed_operations, blocks[0].first_error.as_deref()), (0, None));
        println!("{:?} {:?}: retries {:?}", address.dialect, address.storage, blocks[0].retries);
        assert!(blocks[0].retries.values().sum::<u64>() > 0, "{:?}", blocks[0]);
        let duplicate = transaction(serde_json::json!({
            "statements": [{ "sql": "INSERT INTO {table} (id) VALUES ({hot})" }]
        }));
        let (blocks, _) = worker.step(setup("writes", duplicate, 1), &[operations(3)]);
        assert_eq!((blocks[0].failed_operations, blocks[0].retries.len()), (3, 0), "no other try would help");
        drop_tables(&mut worker, "writes");
    }
}

#[test]
fn a_server_settles_and_says_what_it_is() {
    for address in servers() {
        let mut worker = Worker::of(&address);
        load(&mut worker, "settles");
        for to in [Settle::Postwrite, Settle::Drained] {
            let reply = worker.ask(&Request::Settle { to, timeout: Nanos::from_secs(60) });
            let Reply::Settled { waited } = reply else { panic!("{reply:?}") };
            println!(
                "{:?} {:?}: {to:?} took {:.2} s",
                address.dialect,
                address.storage,
                waited.as_secs_f64()
            );
        }
        let reply =
            worker.ask(&Request::Settle { to: Settle::FullyCompacted, timeout: Nanos::from_secs(60) });
        assert!(matches!(reply, Reply::Failed { kind: FailureKind::NotSupported, .. }), "{reply:?}");
        let mut text = |what| match worker.ask(&Request::ReadText { what }) {
            Reply::Text { text } => text,
            other => panic!("{other:?}"),
        };
        let settings = text(EngineText::Settings).unwrap();
        assert!(
            settings.lines().is_sorted() && settings.lines().all(|line| line.contains(" = ")),
            "{settings}"
        );
        let status = text(EngineText::Status).unwrap();
        let expected = match (address.dialect, address.storage.as_deref()) {
            (Dialect::Postgres, _) => "pg_stat_user_tables[settles1].relname = settles1",
            (Dialect::Mysql, Some("ROCKSDB")) => "-- SHOW ENGINE ROCKSDB STATUS",
            (Dialect::Mysql, _) => "-- SHOW ENGINE INNODB STATUS",
            (Dialect::Mongodb, _) => unreachable!("none is given"),
        };
        assert!(status.contains(expected), "{status}");
        assert_eq!(text(EngineText::Tickers), None);
        assert!(matches!(worker.ask(&Request::ReadShape), Reply::Failed { kind: FailureKind::Protocol, .. }));
        drop_tables(&mut worker, "settles");
    }
}

#[test]
fn a_server_explains_the_statements_of_a_step_and_may_refuse_one() {
    for address in servers() {
        let mut worker = Worker::of(&address);
        load(&mut worker, "plans");
        for prepared in [true, false] {
            let all = transaction(serde_json::json!({
                "prepared": prepared,
                "statements": [
                    { "sql": "SELECT c FROM {table} WHERE id = {id}" },
                    { "sql": "SELECT c FROM {table} WHERE id = {id}" },
                    { "sql": "UPDATE {table} SET k = k + 1, c = '{c}' WHERE id IN ({id*3})" },
                    { "sql": "INSERT INTO {table} (k, c, pad) VALUES ({id}, '{c}', '{pad}')" },
                    { "sql": "SELECT nothing FROM {table}" },
                ]
            }));
            let reply = worker.ask(&Request::ExplainStatements(Box::new(setup("plans", all, 1))));
            let Reply::Text { text: Some(text) } = reply else { panic!("{reply:?}") };
            let plans = model::query_plan::of_text(&text);
            let [read, update, insert, wrong] = plans.as_slice() else { panic!("{text}") };
            let by_key = match address.dialect {
                Dialect::Postgres => "Index Scan using plans1_pkey on plans1",
                Dialect::Mysql => "SIMPLE plans1: const of PRIMARY (4 bytes) by const",
                Dialect::Mongodb => unreachable!("none is given"),
            };
            assert!(read.nodes[0].contains(by_key), "{read:?}");
            assert!(read.texts.iter().all(|one| !one.text.is_empty()) && !read.texts.is_empty());
            assert!(!update.nodes.is_empty() && update.refused.is_none(), "{update:?}");
            assert!(insert.refused.is_none(), "{insert:?}");
            assert!(wrong.refused.as_ref().is_some_and(|why| why.contains("nothing")), "{wrong:?}");
        }
        // Nothing was changed, and nothing is left behind.
        let reply = worker.ask(&Request::Scan {
            data: setup("plans", Operation::LoadTables, 1).data,
            tables: tables("plans").names(),
        });
        assert_eq!(reply, Reply::Scanned { keys: ROWS * u64::from(COUNT) });
        drop_tables(&mut worker, "plans");
    }
}

#[test]
fn an_open_loop_keeps_its_rate() {
    for address in servers() {
        let mut worker = Worker::of(&address);
        load(&mut worker, "paced");
        let one = transaction(serde_json::json!({
            "statements": [{ "sql": "SELECT c FROM {table} WHERE id = {id}", "rows": 1 }]
        }));
        let paced = StepSetup { rate: Some(2000.0), ..setup("paced", one, 8) };
        let (blocks, latency) = worker.step(paced, &[BlockLimit::Time { wall: Nanos::from_secs(2) }]);
        assert!((3980..=4000).contains(&blocks[0].operations), "{:?}", blocks[0]);
        println!("{:?}: open loop p50 {} ns, p99 {} ns", address.dialect, latency.p50.0, latency.p99.0);
        drop_tables(&mut worker, "paced");
    }
}

/// They carry our mark; a worker that ends without dropping them is one that was killed.
#[test]
fn tables_that_were_left_are_dropped_by_the_next_claim() {
    for address in servers() {
        let claim = Request::ClaimTables { names: tables("left").names() };
        let mut first = Worker::of(&address);
        assert_eq!(first.ask(&claim), Reply::TablesClaimed);
        load(&mut first, "left");
        drop(first);
        let mut second = Worker::of(&address);
        // It takes the server a moment to see that the first one has let the lock go.
        assert!((0..1000).any(|_| second.ask(&claim) == Reply::TablesClaimed));
        let one = transaction(serde_json::json!({ "statements": [{ "sql": "SELECT k FROM {table}" }] }));
        let reply = second.ask(&Request::Prepare(Box::new(setup("left", one, 1))));
        assert!(matches!(reply, Reply::Failed { .. }), "the tables are there: {reply:?}");
        assert_eq!(second.ask(&Request::DropTables), Reply::TablesDropped);
    }
}

/// Queries with inserts and deletes beside them, in blocks that are shorter than the time between two inserts.
#[test]
fn streams_beside_a_step_keep_their_rate_and_follow_each_other() {
    for address in servers() {
        let mut worker = Worker::of(&address);
        load(&mut worker, "streams");
        let with_id = |operation: Operation| StepSetup {
            tables: Some(Tables { id: Some("id".to_owned()), ..tables("streams") }),
            ..setup("streams", operation, 2)
        };
        let insert = transaction(serde_json::json!({
            "prepared": false, "counts": "rows", "table": "of-client",
            "statements": [{ "sql": "INSERT INTO {table} (k, c, pad) VALUES {row*50}", "rows": 50 }]
        }));
        let delete = transaction(serde_json::json!({
            "prepared": false, "counts": "rows", "table": "of-client",
            "statements": [
                {
                    "sql": "DELETE FROM {table} WHERE id IN \
                            (SELECT id FROM {table} WHERE id >= {oldest} ORDER BY id LIMIT 50)",
                    "rows": 50, "only": "postgres"
                },
                {
                    "sql": "DELETE FROM {table} WHERE id >= {oldest} ORDER BY id LIMIT 50",
                    "rows": 50, "only": "mysql"
                },
            ]
        }));
        let query = transaction(serde_json::json!({
            "statements": [{ "sql": "SELECT c FROM {table} WHERE id IN ({existing*10})", "rows": [1, 10] }]
        }));
        let paced = CompanionSetup {
            step: StepSetup { rate: Some(4000.0), ..with_id(insert.clone()) },
            follows: None,
        };
        let following = |leader| CompanionSetup { step: with_id(delete.clone()), follows: Some(leader) };
        let beside = StepSetup { companions: vec![paced, following(Stream::Companion(0))], ..with_id(query) };
        // 2 threads with 40 inserts a second each, in blocks of 10 ms.
        let limit = BlockLimit::Time { wall: Nanos::from_millis(10) };
        let (blocks, _) = worker.step(beside, &[limit; 100]);
        let of =
            |number: usize| -> u64 { blocks.iter().map(|block| block.companions[number].operations).sum() };
        for block in &blocks {
            let all = [block, &block.companions[0], &block.companions[1]];
            let failed: Vec<_> = all.iter().filter_map(|block| block.first_error.as_ref()).collect();
            assert!(failed.is_empty(), "{failed:?}");
            assert_eq!(
                block.companions[0].operations, block.companions[1].operations,
                "each block is complete"
            );
        }
        let seconds: f64 = blocks.iter().map(|block| block.companions[0].wall.as_secs_f64()).sum();
        let due = 4000.0 * seconds;
        assert!((of(0) as f64 - due).abs() <= 2.0 * 50.0 + 0.05 * due, "{} of {due} rows", of(0));
        assert_eq!(of(0), of(1));
        // Inserts as fast as they go, and deletes after them.
        let pair = StepSetup { companions: vec![following(Stream::Own)], ..with_id(insert) };
        let (blocks, latency) = worker.step(pair, &[operations(2000), operations(2000)]);
        for block in &blocks {
            assert_eq!((block.operations, block.companions[0].operations), (2000, 2000), "{block:?}");
        }
        assert_eq!(latency.count, 80);
        let all = ROWS * u64::from(COUNT);
        let scan = Request::Scan {
            data: setup("streams", Operation::LoadTables, 1).data,
            tables: tables("streams").names(),
        };
        assert_eq!(worker.ask(&scan), Reply::Scanned { keys: all }, "as many rows as before");
        drop_tables(&mut worker, "streams");
    }
}

#[test]
fn mistakes_are_named() {
    for address in servers() {
        let refused = |address: ServerAddress| {
            let reply = Worker::start().ask(&Request::Load { library: Library::Server { address } });
            let Reply::Failed { kind, message } = reply else { panic!("{reply:?}") };
            (kind, message)
        };
        let (_, message) = refused(ServerAddress { database: "nowhere".to_owned(), ..address.clone() });
        assert!(message.contains("nowhere"), "{message}");
        if address.dialect == Dialect::Mysql {
            let (kind, message) =
                refused(ServerAddress { storage: Some("TOKUDB".to_owned()), ..address.clone() });
            assert!(
                message.contains("no storage engine TOKUDB; it has") && message.contains("InnoDB"),
                "{message}"
            );
            assert_eq!(kind, FailureKind::NotSupported);
        }
        let mut worker = Worker::of(&address);
        let missing =
            transaction(serde_json::json!({ "statements": [{ "sql": "SELECT nothing FROM {table}" }] }));
        let reply = worker.ask(&Request::Prepare(Box::new(setup("never_made", missing, 2))));
        let Reply::Failed { message, .. } = reply else { panic!("{reply:?}") };
        assert!(message.contains("`SELECT nothing FROM never_made1` failed"), "{message}");
        assert!(matches!(worker.ask(&Request::ReadShape), Reply::Failed { kind: FailureKind::Protocol, .. }));
        let data = setup("x", Operation::LoadTables, 1).data;
        let scan = Request::Scan { data, tables: Vec::new() };
        assert!(matches!(worker.ask(&scan), Reply::Failed { kind: FailureKind::WrongAnswer, .. }));
    }
}
