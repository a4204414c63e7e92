//! Jobs of campaigns on several hosts.

use crate::Writer;
use model::job::{Job, JobState, Slurm};

fn job(number: u32, slurm: Option<Slurm>) -> Job {
    Job {
        campaign: "c1".to_owned(),
        number,
        host: "lab-1".to_owned(),
        state: JobState::Failed,
        message: Some("killed".to_owned()),
        seed: u64::MAX,
        plan: "name = \"n\"".to_owned(),
        changed_at_us: 7,
        slurm,
    }
}

#[test]
fn jobs_are_read_back_and_replaced_by_their_number() {
    let mut writer = Writer::in_memory().unwrap();
    let submitted = Slurm {
        jobs_dir: "/shared".to_owned(),
        constraint: Some("c16r64&nvme".to_owned()),
        sbatch: vec!["--partition=lab".to_owned()],
        id: None,
        node: None,
    };
    let jobs = [job(1, None), job(2, Some(submitted.clone()))];
    writer.write_jobs(&jobs).unwrap();
    assert_eq!(writer.store().jobs("c1").unwrap(), jobs);
    let on_node = Slurm { id: Some("10_2".to_owned()), node: Some("lab-1".to_owned()), ..submitted };
    let placed = Job { state: JobState::Done, message: None, ..job(2, Some(on_node)) };
    writer.write_jobs(std::slice::from_ref(&placed)).unwrap();
    assert_eq!(writer.store().jobs("c1").unwrap(), [jobs[0].clone(), placed.clone()]);
    assert_eq!((jobs[0].label(), placed.label()), ("lab-1".to_owned(), "lab-1 (job 2)".to_owned()));
    assert_eq!(writer.store().newest_jobs(1).unwrap().len(), 1);
}

#[test]
fn the_jobs_of_one_campaign_are_removed() {
    let mut writer = Writer::in_memory().unwrap();
    let other = Job { campaign: "c2".to_owned(), ..job(1, None) };
    writer.write_jobs(&[job(1, None), job(2, None), other.clone()]).unwrap();
    writer.remove_jobs("c1").unwrap();
    assert_eq!(
        (writer.store().jobs("c1").unwrap(), writer.store().jobs("c2").unwrap()),
        (vec![], vec![other])
    );
}
