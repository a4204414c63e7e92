//! The 1 Hz sampler of the whole host, in a thread of its own that knows what it costs.

use crate::clock::{self, Stopwatch};
use crate::proc::host;
use model::event::RunEvent;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// One reading a second, as vmstat and iostat are run by hand.
const INTERVAL: Duration = Duration::from_secs(1);

/// A running sampler.
pub struct Sampler {
    stop: Option<Sender<()>>,
    samples: Receiver<RunEvent>,
    cpu_ns: Arc<AtomicU64>,
    watch: Stopwatch,
    handle: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts sampling; `device` is the one whose counters are read.
    pub fn start(device: Option<String>) -> Sampler {
        let (stop, stopped) = channel::<()>();
        let (send, samples) = channel();
        let cpu_ns = Arc::new(AtomicU64::new(0));
        let cost = Arc::clone(&cpu_ns);
        let handle = std::thread::spawn(move || {
            loop {
                let sample = host::sample(device.as_deref());
                cost.store(clock::thread_cpu().0, Ordering::Relaxed);
                if send.send(RunEvent::HostSampled(sample)).is_err() {
                    break;
                }
                match stopped.recv_timeout(INTERVAL) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        Sampler { stop: Some(stop), samples, cpu_ns, watch: Stopwatch::start(), handle: Some(handle) }
    }

    /// The samples since the last call.
    pub fn take(&self) -> Vec<RunEvent> {
        self.samples.try_iter().collect()
    }

    /// CPU of the sampler over the time since it started, in percent of one core.
    pub fn core_percent(&self) -> f64 {
        let elapsed = self.watch.elapsed();
        let cpu = Nanos(self.cpu_ns.load(Ordering::Relaxed));
        if elapsed.0 == 0 { 0.0 } else { cpu.0 as f64 / elapsed.0 as f64 * 100.0 }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(handle) = self.handle.take() {
            // A panic of the sampler loses samples, not the run.
            let _ = handle.join();
        }
    }
}
