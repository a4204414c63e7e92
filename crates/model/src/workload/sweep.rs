//! Steps of SQL statements at several numbers of clients, each number a step of its own.

use super::{Operation, Settle, Step, Workload, WorkloadError};

/// The name of a step at a number of clients: `point-query_range=100_clients=8`.
fn at(name: &str, clients: u32) -> String {
    format!("{name}_clients={clients}")
}

impl Workload {
    /// The workload with each of the steps that are named (all if none is) at each of these numbers of clients, one after another in the
    /// place of the step. What runs concurrently with a step does so at each of them, at the rate of as many clients. Steps that are
    /// done by one client by their nature stay as they are.
    ///
    /// # Errors
    /// A step that is named and has a number of clients of its own.
    pub fn swept(mut self, clients: &[u32], named: &[String]) -> Result<Workload, WorkloadError> {
        let is_named = |name: &String| named.is_empty() || named.contains(name);
        let fixed = |step: &&Step| named.contains(&step.name) && !step.is_companion() && !step.has_clients();
        if let Some(step) = self.steps.iter().find(fixed) {
            return Err(WorkloadError::FixedClients { workload: self.name, step: step.name.clone() });
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut rest = std::mem::take(&mut self.steps).into_iter().peekable();
        while let Some(main) = rest.next() {
            let mut streams = vec![main];
            streams.extend(std::iter::from_fn(|| rest.next_if(Step::is_companion)));
            let is_swept = streams[0].has_clients() && streams.iter().any(|step| is_named(&step.name));
            if !is_swept {
                steps.append(&mut streams);
                continue;
            }
            for (place, number) in clients.iter().enumerate() {
                let is_last = place + 1 == clients.len();
                steps.extend(streams.iter().map(|step| step.at_clients(*number, is_last)));
            }
        }
        Ok(Workload { steps, ..self })
    }

    /// The names of these steps as the workload has them: of a step that was swept those at each number of clients.
    pub fn names_of(&self, named: &[String]) -> Vec<String> {
        let is_named = |step: &&Step| named.contains(step.sweep_of.as_ref().unwrap_or(&step.name));
        self.steps.iter().filter(is_named).map(|step| step.name.clone()).collect()
    }

    /// The reverse: the names that a plan gives to these steps.
    pub fn named_as(&self, names: &[String]) -> Vec<String> {
        let of_plan = self.steps.iter().filter(|step| names.contains(&step.name));
        let mut named: Vec<String> = Vec::new();
        for name in of_plan.map(|step| step.sweep_of.as_ref().unwrap_or(&step.name)) {
            if !named.contains(name) {
                named.push(name.clone());
            }
        }
        named
    }

    /// The numbers of clients at which steps are there, in their order; none if no step was swept.
    pub fn swept_clients(&self) -> Vec<u32> {
        let mut clients: Vec<u32> = Vec::new();
        for step in self.steps.iter().filter(|step| step.sweep_of.is_some()) {
            if !clients.contains(&step.threads) {
                clients.push(step.threads);
            }
        }
        clients
    }
}

impl Step {
    /// Whether how many clients it has is a choice.
    fn has_clients(&self) -> bool {
        matches!(self.operation, Operation::Transaction(_)) && self.threads_scale()
    }

    /// What is waited for after a step is waited for after the last of them.
    fn at_clients(&self, clients: u32, is_last: bool) -> Step {
        let renamed = |name: &Option<String>| name.as_deref().map(|name| at(name, clients));
        let mut step = Step {
            name: at(&self.name, clients),
            sweep_of: Some(self.name.clone()),
            beside: renamed(&self.beside),
            follows: renamed(&self.follows),
            settle: if is_last { self.settle } else { Settle::None },
            ..self.clone()
        };
        step.set_threads(clients);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::companion::tests::TEXT;
    use super::*;

    fn workload() -> Workload {
        Workload::parse(TEXT, "test").unwrap()
    }

    fn names(workload: &Workload) -> Vec<&str> {
        workload.steps.iter().map(|step| step.name.as_str()).collect()
    }

    #[test]
    fn a_step_and_its_streams_are_there_at_each_number_of_clients() {
        let swept = workload().swept(&[1, 8], &[]).unwrap();
        let expected = [
            "load",
            "q_clients=1",
            "q.inserts_clients=1",
            "q.more_clients=1",
            "q_clients=8",
            "q.inserts_clients=8",
            "q.more_clients=8",
        ];
        assert_eq!(names(&swept), expected);
        let inserts = swept.step("q.inserts_clients=8").unwrap();
        assert_eq!(
            (inserts.threads, inserts.rate, inserts.beside.as_deref()),
            (8, Some(800.0), Some("q_clients=8"))
        );
        let more = swept.step("q.more_clients=8").unwrap();
        assert_eq!(more.follows.as_deref(), Some("q.inserts_clients=8"));
        assert_eq!(more.sweep_of.as_deref(), Some("q.more"));
        let of_q = swept.names_of(&["q".to_owned(), "load".to_owned()]);
        assert_eq!(of_q, ["load", "q_clients=1", "q_clients=8"]);
        assert_eq!(
            (swept.named_as(&of_q), swept.swept_clients()),
            (vec!["load".to_owned(), "q".to_owned()], vec![1, 8])
        );
        assert_eq!(swept.scale().threads, None, "a plan has either");
    }

    #[test]
    fn only_steps_that_are_named_are_swept_and_what_settles_does_so_once() {
        let mut workload = workload();
        let one_more = Step { name: "r".to_owned(), settle: Settle::Postwrite, ..workload.steps[1].clone() };
        workload.steps.push(one_more);
        let swept = workload.clone().swept(&[8, 40], &["r".to_owned()]).unwrap();
        assert_eq!(names(&swept), ["load", "q", "q.inserts", "q.more", "r_clients=8", "r_clients=40"]);
        let settles: Vec<Settle> = swept.steps[4..].iter().map(|step| step.settle).collect();
        assert_eq!(settles, [Settle::None, Settle::Postwrite]);
        let error = workload.swept(&[8], &["load".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("`load`"), "{error}");
    }
}
