//! What finished runs gave, kept in memory up to a number of bytes: they do not change, and judging one anew costs CPU on
//! a host that may be measuring.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values by key; the one that was not asked for longest goes first.
#[derive(Debug)]
pub struct Cache<V> {
    most_bytes: usize,
    kept: Mutex<Kept<V>>,
}

#[derive(Debug)]
struct Kept<V> {
    entries: BTreeMap<String, Entry<V>>,
    bytes: usize,
    /// Counts what was asked.
    asked: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: Arc<V>,
    bytes: usize,
    last_asked: u64,
}

impl<V> Cache<V> {
    pub fn new(most_bytes: usize) -> Cache<V> {
        Cache { most_bytes, kept: Mutex::new(Kept { entries: BTreeMap::new(), bytes: 0, asked: 0 }) }
    }

    pub fn get(&self, key: &str) -> Option<Arc<V>> {
        let mut kept = self.lock();
        kept.asked += 1;
        let now = kept.asked;
        let entry = kept.entries.get_mut(key)?;
        entry.last_asked = now;
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a value of this many bytes, about. One that is larger than all there is room for is not kept.
    pub fn put(&self, key: String, value: V, bytes: usize) -> Arc<V> {
        let value = Arc::new(value);
        let bytes = bytes + key.len();
        if bytes > self.most_bytes {
            return value;
        }
        let mut kept = self.lock();
        kept.asked += 1;
        let entry = Entry { value: Arc::clone(&value), bytes, last_asked: kept.asked };
        if let Some(earlier) = kept.entries.insert(key, entry) {
            kept.bytes -= earlier.bytes;
        }
        kept.bytes += bytes;
        while kept.bytes > self.most_bytes && kept.forget_oldest() {}
        value
    }

    /// A thread that died while it held the lock left whole entries behind.
    fn lock(&self) -> MutexGuard<'_, Kept<V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Kept<V> {
    fn forget_oldest(&mut self) -> bool {
        let oldest =
            self.entries.iter().min_by_key(|(_, entry)| entry.last_asked).map(|(key, _)| key.clone());
        let forgotten = oldest.and_then(|key| self.entries.remove(&key));
        self.bytes -= forgotten.as_ref().map_or(0, |entry| entry.bytes);
        forgotten.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_longest_goes_first_and_nothing_outgrows_the_bound() {
        let cache = Cache::new(30);
        for key in ["a", "b", "c"] {
            cache.put(key.to_owned(), key, 9);
        }
        assert_eq!(cache.get("a").as_deref(), Some(&"a"));
        cache.put("d".to_owned(), "d", 9);
        let found: Vec<bool> = ["a", "b", "c", "d"].map(|key| cache.get(key).is_some()).to_vec();
        assert_eq!(found, [true, false, true, true]);
        assert_eq!(*cache.put("e".to_owned(), "too large", 30), "too large");
        assert!(cache.get("e").is_none() && cache.get("a").is_some());
        // The same key again takes no room twice.
        for _ in 0..10 {
            cache.put("a".to_owned(), "again", 9);
        }
        assert_eq!(["a", "c", "d"].map(|key| cache.get(key).is_some()), [true, true, true]);
    }
}
