//! One file per command: each reads as parse, load, do, print.

pub mod bisect;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod counterfactual;
pub mod device;
pub mod doctor;
pub mod engine;
mod engine_build;
pub mod engine_start;
pub mod explain;
pub mod export;
pub mod gate;
pub mod history;
pub mod import;
pub mod man;
pub mod measure;
mod output_file;
mod print;
pub mod render;
pub mod report;
pub mod run;
pub mod serve;
pub mod slow_device;
pub mod watch;
pub mod worker;
pub mod workload;
