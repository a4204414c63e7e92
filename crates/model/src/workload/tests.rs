//! Workload files, good and bad.

use super::*;

const SMALL: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "t"
    does_not_tell = "n"
    block_ms = 20
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "fillseq"
    group = "writes"
    operation = "fill-sequential"
    database = "own"
    wal = false
    settle = "drained"
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
"#;

#[test]
fn a_workload_is_read() {
    let workload = Workload::parse(SMALL, "test").unwrap();
    assert_eq!(workload.data.size(), Bytes(120_000));
    assert!(workload.steps[0].writes());
    assert!(!workload.steps[0].wal);
    assert_eq!(workload.steps[1].block, Nanos::from_millis(20));
    assert_eq!(workload.steps[1].cycles, 10);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let check = |from: &str, to: &str, expected: &str| {
        let error = Workload::parse(&SMALL.replace(from, to), "w.toml").unwrap_err();
        let text = format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("w.toml"), "{text}");
    };
    check("\"read-random\"", "\"read-randm\"", "did you mean `read-random`?");
    check("keys = 1000", "keys = 0", "keys (rows of all tables) is 0, must be 1 to 1000000000000");
    check("key_bytes = 20", "key_bytes = 4", "8 to 1024");
    check("fill-sequential", "overwrite", "must be fill-sequential");
    check("wal = false", "wal = false\nsync = true", "needs wal = true");
    check("name = \"readrandom\"", "name = \"fillseq\"", "taken by an earlier step");
    check("block_ms = 20", "block_msec = 20", "unknown field");
}

/// 9223372036854775807 is the largest integer of TOML: it times 1,000,000,000 or the bytes of a row would not fit into 64 bits.
#[test]
fn sizes_that_no_host_has_room_for_are_refused() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(SMALL.contains(from), "{from}");
        let error = Workload::parse(&SMALL.replacen(from, to, 1), "w.toml").unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("w.toml"), "{error}");
    };
    const LARGEST: &str = "9223372036854775807";
    for (key, value, expected) in [
        ("operations", LARGEST, "operations is 9223372036854775807, must be 1 to 1000000000000000"),
        ("operations_per_key", "1001", "operations_per_key is 1001, must be above 0 and at most 1000"),
        ("seconds", "1000001", "seconds is 1000001, must be 0.001 to 1000000"),
        ("grace_seconds", LARGEST, "grace_seconds is 9223372036854775807, must be at most 1000000"),
        ("threads", "4294967295", "the number of threads is 4294967295, must be 1 to 1024"),
    ] {
        let read = "operation = \"read-random\"";
        check(read, &format!("{read}\n{key} = {value}"), &format!("step `readrandom`: {expected}"));
    }
    for (key, value, expected) in [
        ("budget_minutes", "4294967295", "budget_minutes: 4294967295 is not 1 to 527040"),
        ("memory", "'1001 TB'", "memory: `1001 TB` is 1001000000000000 bytes, must be at most"),
        ("file", "'99999999 TB'", "file: `99999999 TB` is 18446744073709551615 bytes, must be at most"),
    ] {
        check("block_ms = 20", &format!("block_ms = 20\n{key} = {value}"), expected);
    }
    check("keys = 1000", &format!("keys = {LARGEST}"), "is 9223372036854775807, must be 1 to 1000000000000");
    let bytes = "data: all keys and values have 1100000000000000 bytes, must be at most 1000000000000000";
    check("keys = 1000, key_bytes = 20", "keys = 1000000000000, key_bytes = 1000", bytes);
}

#[test]
fn a_scale_that_makes_too_many_rows_with_what_the_workload_has_is_refused() {
    let scaled = |tables: u32, rows: u64| {
        let scale = Scale { tables: Some(tables), rows: Some(rows), ..Scale::default() };
        let workload = Workload::parse(companion::tests::TEXT, "test").unwrap().scaled(&scale);
        workload.check_data().map_err(|error| error.to_string())
    };
    assert_eq!(scaled(10_000, 1000), Ok(()));
    let error = scaled(3, 400_000_000_000).unwrap_err();
    let expected = "`streams` at this size, data: keys (rows of all tables) is 1200000000000";
    assert!(error.contains(expected), "{error}");
    assert!(scaled(10_000, u64::MAX / 1000).is_err(), "the product has more than 64 bits");
}

#[test]
fn an_unknown_step_offers_the_nearest() {
    let error = Workload::parse(SMALL, "test").unwrap().step("readrandm").unwrap_err().to_string();
    assert!(error.contains("did you mean `readrandom`?"), "{error}");
}

#[test]
fn a_sequence_gives_the_steps_and_is_part_of_the_text() {
    let (head, steps) = SMALL.split_at(SMALL.find("[[step]]").unwrap());
    let text = format!("sequence = 'two'\n{head}");
    let steps = format!("description = 'd'\n{steps}seconds = 2.5\n");
    let workload = Workload::parse_with(&text, "w.toml", &[("two", &steps)]).unwrap();
    assert_eq!(workload.steps.len(), 2);
    assert_eq!(workload.steps[1].extent, Extent::Time { wall: Nanos::from_millis(2500) });
    let whole = Workload::parse(&workload.text, "shown").unwrap();
    assert_eq!(whole.steps, workload.steps);
    let error = Workload::parse_with(&text, "w.toml", &[("tow", &steps)]).unwrap_err().to_string();
    assert!(error.contains("did you mean `tow`?"), "{error}");
}

#[test]
fn sequences_share_definitions_and_what_is_shown_has_them() {
    const HEAD: &str = "name = 'w'\nengine = 'sql'\ndescription = 'd'\ntells = 't'\ndoes_not_tell = 'n'\nsequence = 'one'\n\
                        [tables]\ncount = 1\nrows = 10\n";
    const DEFINITIONS: &str = "description = 'd'\n[schema]\nprefix = 't'\ninsert = 'INSERT INTO {table} VALUES '\nrow = '({id})'\n\
                               [schema.create]\npostgres = ['CREATE TABLE {table} (id INTEGER)']\n\
                               [parameters]\nid = { draw = 'uniform', low = 1, high = 'rows' }\n\
                               [[transaction]]\nname = 'point'\nstatements = [{ sql = 'SELECT {id}' }]\n";
    const STEPS: &str = "description = 'd'\ndefinitions = 'shared'\n[[step]]\nname = 'load'\ngroup = 'writes'\n\
                         operation = 'load-tables'\n[[step]]\nname = 'p'\ngroup = 'point'\noperation = 'transaction'\n\
                         transaction = 'point'\nseconds = 1\n";
    let parsed =
        |steps: &str| Workload::parse_with(HEAD, "w.toml", &[("shared", DEFINITIONS), ("one", steps)]);
    let workload = parsed(STEPS).unwrap();
    assert_eq!(workload.steps.len(), 2);
    assert_eq!(Workload::parse(&workload.text, "shown").unwrap().steps, workload.steps);
    let error = |steps: &str| parsed(steps).unwrap_err().to_string();
    assert!(error(&STEPS.replace("'shared'", "'shard'")).contains("did you mean `shared`?"));
    let twice = STEPS.replace(
        "[[step]]\nname = 'load'",
        "[parameters]\nx = { draw = 'constant', value = 1 }\n[[step]]\nname = 'load'",
    );
    assert!(error(&twice).contains("of its own beside those of `shared`"), "{}", error(&twice));
    let without_steps =
        Workload::parse_with(&HEAD.replace("'one'", "'shared'"), "w.toml", &[("shared", DEFINITIONS)]);
    assert!(without_steps.unwrap_err().to_string().contains("needs at least one"));
}

#[test]
fn a_sequence_has_the_steps_of_another_with_transactions_of_its_own() {
    const HEAD: &str = "name = 'w'\nengine = 'sql'\ndescription = 'd'\ntells = 't'\ndoes_not_tell = 'n'\nsequence = 'two'\n\
                        [tables]\ncount = 1\nrows = 10\n";
    const ONE: &str = "description = 'd'\n[schema]\nprefix = 'a'\ninsert = 'INSERT INTO {table} VALUES '\nrow = '(1)'\n\
                       [schema.create]\npostgres = ['CREATE TABLE {table} (id INTEGER)']\n\
                       [[transaction]]\nname = 'point'\nstatements = [{ sql = 'SELECT 1' }]\n\
                       [[step]]\nname = 'load'\ngroup = 'writes'\noperation = 'load-tables'\n\
                       [[step]]\nname = 'p'\ngroup = 'point'\noperation = 'transaction'\ntransaction = 'point'\nseconds = 1\n";
    let two = ONE[..ONE.find("[[step]]").unwrap()].replace("prefix = 'a'", "prefix = 'b'");
    let two = two.replace("SELECT 1", "SELECT 2").replace("[schema]", "steps_of = 'one'\n[schema]");
    let parsed = |two: &str| Workload::parse_with(HEAD, "w.toml", &[("one", ONE), ("two", two)]);
    let workload = parsed(&two).unwrap();
    assert_eq!(workload.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["load", "p"]);
    assert_eq!(workload.tables.as_ref().unwrap().prefix, "b");
    let Operation::Transaction(point) = &workload.steps[1].operation else { panic!("{workload:?}") };
    assert_eq!(point.statements[0].sql.to_string(), "SELECT 2");
    let shown = Workload::parse(&workload.text, "shown").unwrap();
    assert_eq!((shown.steps, shown.tables), (workload.steps, workload.tables));
    let error = |two: &str| parsed(two).unwrap_err().to_string();
    assert!(error(&two.replace("'one'", "'on'")).contains("did you mean `one`?"));
    let twice = format!("{two}[[step]]\nname = 'x'\ngroup = 'writes'\noperation = 'load-tables'\n");
    assert!(error(&twice).contains("steps of its own beside those of `one`"), "{}", error(&twice));
    assert!(error(&two.replace("'point'", "'pint'")).contains("there is no transaction `point`"));
}

#[test]
fn a_scale_changes_keys_and_the_time_of_timed_steps() {
    let scale = Scale {
        keys: Some(50),
        read_seconds: Some(0.5),
        write_seconds: Some(1.0),
        threads: Some(4),
        ..Scale::default()
    };
    let workload = Workload::parse(SMALL, "test").unwrap().scaled(&scale);
    let limits: Vec<BlockLimit> = workload.steps.iter().map(|step| step.limit(&workload.data)).collect();
    let half = BlockLimit::Time { wall: Nanos::from_millis(500) };
    assert_eq!(limits, [BlockLimit::Operations { count: 50 }, half]);
    assert_eq!(workload.steps[1].threads, 4);
}

/// The steps of `SMALL` and one that builds files, with these lines in it.
fn with_files(lines: &str) -> Result<Workload, WorkloadError> {
    let head = "name = 'build'\ngroup = 'writes'\noperation = 'build-files'\ndatabase = 'image'";
    Workload::parse(&format!("{SMALL}\n[[step]]\n{head}\n{lines}"), "w.toml")
}

#[test]
fn a_step_that_builds_files_has_a_codec_and_one_thread_and_changes_no_database() {
    for codec in Codec::ALL.iter().copied() {
        let workload = with_files(&format!("codec = '{}'\nfile_bytes = 2097152", codec.name())).unwrap();
        let step = &workload.steps[2];
        assert_eq!(step.operation, Operation::BuildFiles { codec, file: Bytes(2 << 20) });
        assert!(!step.writes() && !step.operation.finds_keys() && !step.operation.is_one_go());
        assert_eq!(step.bytes_per_operation(&workload.data), 120);
    }
    let workload = with_files("codec = 'none'").unwrap();
    assert_eq!(
        workload.steps[2].operation,
        Operation::BuildFiles { codec: Codec::None, file: Bytes(4 << 20) }
    );
    let scaled = workload.scaled(&Scale { threads: Some(8), ..Scale::default() });
    assert_eq!(scaled.steps[2].threads, 1, "its thread is not the workload's choice");
}

#[test]
fn mistakes_of_a_step_that_builds_files_are_named() {
    let check = |lines: &str, expected: &str| {
        let error = with_files(lines).unwrap_err().to_string();
        assert!(error.contains("step `build`") && error.contains(expected), "{error}");
    };
    check("", "build-files needs `codec`: one of none, snappy, lz4, zstd");
    check("codec = 'lz5'", "unknown codec `lz5`; did you mean `lz4`?");
    check("codec = 'lz4'\nfile_bytes = 4096", "file_bytes is 4096, must be 1048576 to 67108864");
    check("codec = 'lz4'\nfile_bytes = 67108865", "must be 1048576 to 67108864");
    check("codec = 'lz4'\nthreads = 2", "build-files has one thread");
    check("codec = 'lz4'\nsync = true", "no background writer, `sync` or `settle`");
    check("codec = 'lz4'\nsettle = 'drained'", "no background writer, `sync` or `settle`");
    check("codec = 'lz4'\nbatch = 2", "`batch` goes with the operation multi-read only");
    let other = SMALL.replace("operation = \"read-random\"", "operation = \"read-random\"\ncodec = \"lz4\"");
    let error = Workload::parse(&other, "w.toml").unwrap_err().to_string();
    assert!(error.contains("`codec` and `file_bytes` go with the operation build-files only"), "{error}");
}

#[test]
fn a_turn_has_the_steps_that_make_the_tree_of_those_that_are_judged() {
    let step = |name: &str, more: &str| format!("\n[[step]]\nname = \"{name}\"\ngroup = \"point\"\n{more}\n");
    let read = "operation = \"read-random\"";
    let text = [
        "name = \"t\"\nengine = \"rocksdb\"\ndescription = \"d\"\ntells = \"t\"\ndoes_not_tell = \"n\"\n\
         data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }\n"
            .to_owned(),
        step("fill", "operation = \"fill-sequential\""),
        step("drains", &format!("{read}\nsettle = \"drained\"")),
        step("cold", read),
        step("warms", read),
        step("warm", &format!("{read}\nsame_process = true")),
        step("beside", &format!("{read}\nbackground_write_bytes_per_s = 1000")),
        step("last", "operation = \"overwrite\""),
        step("after", read),
    ]
    .concat();
    let workload = Workload::parse(&text, "t.toml").unwrap();
    let names = |judged: &[&str], elsewhere: &[&str]| -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let steps = workload.steps_of_turn(&owned(judged), &owned(elsewhere));
        steps.iter().map(|step| step.name.clone()).collect()
    };
    let all = ["fill", "drains", "cold", "warms", "warm", "beside", "last"];
    assert_eq!(names(&["last"], &[]), all);
    // `warms` fills the cache of the process in which `warm` goes on, `warm` ends it.
    let elsewhere = ["drains", "cold", "warms", "beside", "after"];
    assert_eq!(names(&["warm", "last"], &elsewhere), ["fill", "drains", "warms", "warm", "beside", "last"]);
    assert_eq!(names(&["cold"], &[]), ["fill", "drains", "cold"]);
    assert!(names(&[], &elsewhere).is_empty());
}
