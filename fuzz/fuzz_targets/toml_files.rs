//! The files that a user writes or changes: workloads, sequences, plans, configurations, engines, hardware, recipes, patterns; and what stands
//! in a line of them: addresses of servers, subjects.

#![no_main]

use libfuzzer_sys::fuzz_target;
use model::config;
use model::elsewhere::ServerElsewhere;
use model::hardware::HardwareClasses;
use model::option_history::OptionHistory;
use model::pattern;
use model::plan_file::PlanFile;
use model::subject::SubjectRef;
use model::units::Bytes;
use model::workload::Workload;
use runner::builds::Recipes;
use runner::engines::{CatalogFiles, EngineCatalog};

const ORIGIN: &str = "fuzzed";

/// Workloads whose steps are in a sequence.
const OF_SEQUENCE: [&str; 2] = [
    "name='w'\nengine='sql'\ndescription=''\ntells=''\ndoes_not_tell=''\nsequence='fuzzed'\ntables={count=2,rows=1000}\n",
    "name='w'\nengine='rocksdb'\ndescription=''\ntells=''\ndoes_not_tell=''\nsequence='fuzzed'\n\
     data={keys=1000,key_bytes=20,value_bytes=100,value_compressible_percent=50}\n",
];

fuzz_target!(|bytes: &[u8]| {
    // A file that is no UTF-8 is refused before.
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(workload) = Workload::parse(text, ORIGIN) {
        measured(workload);
    }
    for workload in OF_SEQUENCE {
        if let Ok(workload) = Workload::parse_with(workload, ORIGIN, &[("fuzzed", text)]) {
            measured(workload);
        }
    }
    if let Ok(plan) = PlanFile::parse(text, ORIGIN) {
        let _ = plan.one_at_a_time().count();
    }
    if let Ok((_, configs)) = config::parse(text, ORIGIN) {
        for config in configs {
            let _ = config::for_server(&config, "8.0", Bytes::from_gib(1));
        }
    }
    if let Ok(history) = OptionHistory::parse(text, ORIGIN) {
        let _ = history.knows("8.0", "ttl", "1");
    }
    let _ = EngineCatalog::parse(CatalogFiles { engines: &[(ORIGIN, text)], configs: &[] });
    let _ = HardwareClasses::parse(text, ORIGIN);
    let _ = Recipes::parse(text, ORIGIN);
    let _ = pattern::parse(text, ORIGIN);
    for line in text.lines() {
        let _ = ServerElsewhere::parse(line);
        let _ = line.parse::<SubjectRef>();
    }
});

/// What a plan does with a workload before it is measured, as far as no file and no server is needed.
fn measured(workload: Workload) {
    if let Some(tables) = &workload.tables {
        load::fuzz::draw(tables);
    }
    let scale = workload.scale();
    let _ = workload.clone().scaled(&scale);
    let _ = workload.swept(&[1, 8], &[]);
}
