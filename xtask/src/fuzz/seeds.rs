//! Inputs for the readers whose inputs are in no file: conversations with servers as the unit tests of their clients have them, messages of
//! workers, archives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::address::{Endpoint, ServerAddress};
use model::block::{Latency, Second};
use model::shape::Shape;
use model::units::{Bytes, Nanos};
use model::wire::{BlockLimit, BlockReport, FailureKind, Library, Reply, Request, StepSetup};
use model::workload::sql::Dialect;
use model::workload::{DataSet, Operation, Settle};

/// Messages in both directions.
pub fn worker() -> Vec<Vec<u8>> {
    let second = Second { second: 1, operations: 2, p50: Nanos(3), p99: Nanos(4), max: Nanos(5) };
    let report = BlockReport {
        operations: 7,
        retries: [("deadlock".to_owned(), 1)].into(),
        thread_cpu: vec![Nanos(1)],
        companions: vec![BlockReport::default()],
        ..BlockReport::default()
    };
    let latency = Latency {
        count: 1,
        p50: Nanos(1),
        p99: Nanos(1),
        p999: Nanos(1),
        p9999: None,
        max: Nanos(1),
        histogram: "1c849303".to_owned(),
    };
    let replies = [
        Reply::Loaded {
            missing_symbols: vec!["rocksdb_x".to_owned()],
            facts: [("version".into(), "1".into())].into(),
        },
        Reply::Prepared,
        Reply::Second(second),
        Reply::CompanionSecond { companion: 0, second },
        Reply::Block(report),
        Reply::StepFinished { latency: latency.clone(), companions: vec![latency] },
        Reply::Settled { waited: Nanos(1) },
        Reply::OthersWatched { statements: Some(1) },
        Reply::Shape(Shape::default()),
        Reply::Text { text: Some("** Compaction Stats".to_owned()) },
        Reply::Failed { kind: FailureKind::Engine, message: "no".to_owned() },
        Reply::Bye { heap_peak: Bytes(1) },
    ];
    let data = DataSet { keys: 300, key_bytes: 20, value_bytes: 100, value_compressible_percent: 50 };
    let endpoint = Endpoint::Tcp { host: "h".to_owned(), port: 3306 };
    let address = ServerAddress::new(Dialect::Mysql, endpoint, "u", "d");
    let requests = [
        Request::Load { library: Library::Server { address } },
        Request::Prepare(Box::new(StepSetup::plain(Operation::ReadRandom, data, 7))),
        Request::RunBlock { limit: BlockLimit::Operations { count: 9 }, warm_up: true, seconds: true },
        Request::Settle { to: Settle::Flushed, timeout: Nanos(1) },
    ];
    let replies = replies.iter().map(serde_json::to_vec);
    replies.chain(requests.iter().map(serde_json::to_vec)).flatten().collect()
}

/// What is asked: see `load::fuzz`.
const QUESTIONS: [[u8; 8]; 3] =
    [[0, 1, 2, 3, 4, 5, 6, 7], [2, 2, 0, 0, 1, 1, 0, 0], [4, 4, 3, 3, 5, 5, 6, 6]];

/// Each conversation, for each list of questions.
fn asked(conversations: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let with = |said: &Vec<u8>| QUESTIONS.map(|questions| [questions.as_slice(), said].concat());
    conversations.iter().flat_map(with).collect()
}

/// Logins of each kind, and answers of each kind to somebody who is logged in.
pub fn postgres() -> Vec<Vec<u8>> {
    const LOGGED_IN: &[u8] =
        b"R\0\0\0\x08\0\0\0\0S\0\0\0\x14is_superuser\0on\0K\0\0\0\x0c\0\0\x12\x34\0\0\0\x07Z\0\0\0\x05I";
    const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const LOGINS: [&[u8]; 5] = [
        b"",
        b"R\0\0\0\x08\0\0\0\x03",
        b"R\0\0\0\x0c\0\0\0\x05salt",
        b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x21\0\0\0\x0br=nonce,s=c2FsdA==,i=4096",
        b"R\0\0\0\x0c\0\0\0\x0cv=AA",
    ];
    const PREPARED: &[u8] = b"1\0\0\0\x04t\0\0\0\x0e\0\x02\0\0\0\x17\0\0\x04\x12n\0\0\0\x04Z\0\0\0\x05I";
    const ONE_ROW: &[u8] = b"2\0\0\0\x04D\0\0\0\x0d\0\x01\0\0\0\x03abcC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    const NO_TABLE: &[u8] =
        b"E\0\0\0\x37SERROR\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0\0Z\0\0\0\x05I";
    const NAMED: &[u8] = b"T\0\0\0\x2f\0\x02a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0b2\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0\
        D\0\0\0\x10\0\x02\0\0\0\x02on\xff\xff\xff\xffC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    let mut all: Vec<Vec<u8>> = LOGINS.iter().map(|login| [*login, LET_IN].concat()).collect();
    let answers = [PREPARED, ONE_ROW, NAMED, NO_TABLE];
    all.extend(answers.map(|answer| [LOGGED_IN, &answer.repeat(8)].concat()));
    all.push([LOGGED_IN, PREPARED, ONE_ROW, PREPARED, ONE_ROW, ONE_ROW, NAMED, NO_TABLE].concat());
    asked(&all)
}

/// What a server said in conversations that were recorded.
const MONGODB: [&str; 5] = [
    include_str!("../../../crates/load/tests/fixtures/mongodb/get-more.txt"),
    include_str!("../../../crates/load/tests/fixtures/mongodb/insert-duplicate.txt"),
    include_str!("../../../crates/load/tests/fixtures/mongodb/scram-sha-256.txt"),
    include_str!("../../../crates/load/tests/fixtures/mongodb/server-status.txt"),
    include_str!("../../../crates/load/tests/fixtures/mongodb/unknown-command.txt"),
];

/// The answers of each conversation, as answers to our requests.
pub fn mongodb() -> Vec<Vec<u8>> {
    let answer = |hex: &str| {
        let byte = |place: usize| u8::from_str_radix(hex.get(place..place + 2)?, 16).ok();
        let mut bytes: Vec<u8> = (0..hex.len()).step_by(2).filter_map(byte).collect();
        // The number of the request.
        bytes[8..12].copy_from_slice(&1_i32.to_le_bytes());
        bytes
    };
    let answers =
        |text: &&str| text.lines().filter_map(|line| line.strip_prefix("< ")).flat_map(answer).collect();
    asked(&MONGODB.iter().map(answers).collect::<Vec<Vec<u8>>>())
}

const PUBLIC_KEY: &[u8] = include_bytes!("../../../crates/load/src/sql/mysql/scramble/public.pem");

/// Logins of each kind, and answers of each kind of server; a public key.
pub fn mysql() -> Vec<Vec<u8>> {
    const COLUMN: &[u8] = b"\x03def\x05bench\x01t\x01t\x01c\x01c\x0c\x08\0\x78\0\0\0\xfe\x01\x10\0\0\0";
    const OK: &[u8] = b"\0\0\0\x02\0\0\0";
    const MADE: &[u8] = b"\0\x05\0\0\0\0\0\x02\0\0\0\0";
    const OK_END: &[u8] = b"\xfe\0\0\x02\0\0\0";
    const EOF_END: &[u8] = b"\xfe\0\0\x02\0";
    const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
    // With OK packets at the end of rows and without, and one that leaves out descriptions.
    let new = greeting(&[0xff, 0xff, 0x21, 2, 0, 0xff, 0xc1, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let old = greeting(&[0xff, 0xff, 0x21, 2, 0, 0xff, 0xc0, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mariadb = greeting(&[0xfe, 0xf7, 0x08, 2, 0, 0xff, 0x81, 21, 0, 0, 0, 0, 0, 0, 0x1d, 0, 0, 0]);
    let switch = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0".as_slice();
    let mut all = vec![
        [new("caching_sha2_password"), packets(2, &[b"\x01\x04", OK])].concat(),
        [new("caching_sha2_password"), packets(2, &[b"\x01\x03", OK])].concat(),
        [new("mysql_native_password"), packets(2, &[switch, OK])].concat(),
        [new("dialog"), packets(2, &[switch, DEADLOCK])].concat(),
    ];
    for (greeting, head, end) in
        [(&new, b"\x01".as_slice(), OK_END), (&mariadb, b"\x01\x01".as_slice(), OK_END)]
    {
        let rows: [&[u8]; 4] = [head, COLUMN, b"\x02on", end];
        all.push(
            [greeting("mysql_native_password"), packets(2, &[OK]), packets(1, &rows).repeat(8)].concat(),
        );
    }
    let rows: [&[u8]; 6] = [b"\x02", COLUMN, COLUMN, EOF_END, b"\x02on\xfb", EOF_END];
    all.push([old("mysql_native_password"), packets(2, &[OK]), packets(1, &rows).repeat(8)].concat());
    let made: [&[u8]; 4] = [MADE, COLUMN, COLUMN, OK];
    let prepared = [packets(1, &made), packets(1, &[DEADLOCK])].concat();
    all.push([new("mysql_native_password"), packets(2, &[OK]), prepared.repeat(4)].concat());
    let mut all = asked(&all);
    all.push([[0xff; 8].as_slice(), PUBLIC_KEY].concat());
    all
}

/// What a server says first that can this and whose users have passwords of some kind.
fn greeting(capabilities: &[u8]) -> impl Fn(&str) -> Vec<u8> {
    move |plugin| {
        let nonce = format!("ijklmnopqrst\0{plugin}\0");
        let payload =
            [b"\x0a8.0.15\0\x05\0\0\0abcdefgh\0".as_slice(), capabilities, nonce.as_bytes()].concat();
        packets(0, &[&payload])
    }
}

/// Packets of these payloads, numbered from here on.
fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let packet = |(payload, number): (&&[u8], u8)| {
        let [low, high, ..] = payload.len().to_le_bytes();
        [&[low, high, 0, number], *payload].concat()
    };
    payloads.iter().zip(first..).flat_map(packet).collect()
}

/// A line each: target, host, `Authorization`, `Cookie`, `Sec-Fetch-Site`, `Sec-Fetch-Mode`.
pub fn http() -> Vec<Vec<u8>> {
    let targets = [
        "/?q=a+b%2Bc&page=3",
        "/runs/r1?step=x&step=y&subject=",
        "/runs/r1/report.md",
        "/runs/r1/raw/1/0/read/LOG",
        "/compare?a=r1&b=r2",
        "/compare?run=r1&run=r2",
        "/history?workload=w&step=s&engine=e",
        "/hosts/bench-1",
        "/live/r1.json",
        "/watches?token=TOKEN&x=y%26z",
        "//evil.example/?token=TOKEN",
    ];
    let heads = [
        "127.0.0.1:7117\n",
        "localhost:7117\nBearer TOKEN\ndbdyno-7117=x; other=1\ncross-site\nnavigate\n",
        "[::1]:7117\nBasic x\n\ncross-site\nno-cors\n",
        "bench.example:7117\n",
    ];
    let with = |target: &&str| heads.map(|head| format!("{target}\n{head}").into_bytes());
    targets.iter().flat_map(with).collect()
}

/// `tar --format gnu` of a directory with a program, a file, a link and a name of more than a hundred letters, in gzip and xz; a jar.
const ARCHIVES: [&str; 3] = [
    "H4sIAAAAAAACA+3Xzw6CIBwHcM49ha27AoFcewBfQlZLpqPNP5u9feSaW2kHD2DL7+cg3L/+vkBlbNcnxCvqKCmH1flcZ/aKCkEiSQLomjavo4hsVDXkr41N\
     fir/lCH/wPkba9qzXiV/xt/zZ4xSlz9F/t4d9kP4TbEjsNn5b4q8vng7ARb3P6NMpOj/0PnnsS6Np/xTd6H7nv+0/4VE/4fQo/fR/6/51x7nXym1oP+ZSjmJuK9C\
     wvyP4iROTtnNXjNjS4/n/0zuY+Z8+v5Tz/7P0P+B5r9yP8Aanx4FvIH8F9//jlQqvP+DuOP+BwAAAAAAAADw1x7e3pPRACgAAA==",
    "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4Cf/AOtdADYaSiB1muOuuBsiaj1FQ4hYrfyx0dGv3+BhbOxT27D5VBhyky2/Q8FoHWUeu+eGTCyfmbs/Jq7S3HbwqOWn\
     6RK66M7SSAWLFZq6VXAFAXloEE4abb77ZcLh9qRsuc6M1i0g40H/mBtOarrfow1F8at3y/FE8erd6cjdboK1OaEiWTONH0XuyonWN78FqnFhI2qweYPqHc+61RKz\
     rTKEP4e7VVNNW46r/z1j3bemjDSfVVxsoX5Bo/VjDtBsF638QG0BMUevs8jHAl0gG7uIpCF5ZjFHiN5x9tq84XBHsgwSGfgk8Jy5LN/o7MAAABbeKUuyNhizAAGH\
     AoBQAABWO8U7scRn+wIAAAAABFla",
    "UEsDBBQAAAAIAAAAIQBLGjs6DwAAACgAAAAQAAAAbGludXgvYmluL2luaXRkYlNW1E/KzNMvzuBSxssCAFBLAwQUAAAACAAAACEAHwjqRgQAAAACAAAAEQAAAGxp\
     bnV4L3NoYXJlL2EuYmtpq+ACAFBLAwQUAAAACAAAACEAet9aIBgAAAAWAAAAFAAAAE1FVEEtSU5GL01BTklGRVNULk1G803My0xLLS7RDUstKs7Mz7NSMNQz4AIA\
     UEsBAhQDFAAAAAgAAAAhAEsaOzoPAAAAKAAAABAAAAAAAAAAAAAAAIABAAAAAGxpbnV4L2Jpbi9pbml0ZGJQSwECFAMUAAAACAAAACEAHwjqRgQAAAACAAAAEQAA\
     AAAAAAAAAAAAgAE9AAAAbGludXgvc2hhcmUvYS5ia2lQSwECFAMUAAAACAAAACEAet9aIBgAAAAWAAAAFAAAAAAAAAAAAAAAgAFwAAAATUVUQS1JTkYvTUFOSUZF\
     U1QuTUZQSwUGAAAAAAMAAwC/AAAAugAAAAAA",
];

/// Archives of each kind, and tar without compression.
pub fn archives() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = ARCHIVES.iter().filter_map(|archive| STANDARD.decode(archive).ok()).collect();
    all.push([entry("bin/x", b'0', b"y"), vec![0; 1024]].concat());
    all.push(
        [entry("d/", b'5', b""), entry("d/l", b'2', b""), entry("d/h", b'1', b""), vec![0; 1024]].concat(),
    );
    all.push([entry("l", b'L', b"long/name\0"), entry("x", b'0', b"y"), vec![0; 1024]].concat());
    all.push([entry("p", b'x', b"13 path=a/bc\n"), entry("x", b'0', b"y"), vec![0; 1024]].concat());
    all.push([entry("../x", b'0', b"y"), entry("s", b'S', b"y"), vec![0; 1024]].concat());
    all
}

/// One entry of a tar archive, of this kind; links lead out of it.
fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put =
        |place: usize, text: &str| header[place..place + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{:011o}", content.len()));
    put(136, "00000000000");
    put(148, "        ");
    put(157, "../../outside");
    put(257, "ustar  ");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [header, content.to_vec(), padding].concat()
}

/// What no fixture has: files of configurations, counters, a plan of a query.
pub fn server_texts() -> Vec<Vec<u8>> {
    let texts = [
        "# x\n[mysqld]\nskip-log-bin\ninnodb_buffer_pool_size = 23G   # of 32\ninit_connect = 'SET x = 1 # no'\n[mysqld-8.0]\na=1\n",
        "shared_buffers = 23GB\nwal_level='replica' # to log\nautovacuum on\nsearch_path = '\"$user\", it''s'\n",
        "pg_stat_database.blks_hit = 183345\npg_stat_database.blks_read = 612\nInnodb_buffer_pool_reads = 7\n",
        "[Settings]\nrocksdb_default_cf_options={write_buffer_size=32m;table={block=1;}}\n",
        "[{\"statement\":\"SELECT ?\",\"nodes\":[\"Result\"],\"texts\":[{\"form\":\"text\",\"text\":\"Index Cond: (k < $2)\"}]}]",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
