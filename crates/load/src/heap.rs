//! A counting allocator: how much heap the worker itself uses. The engine's allocations go to the C library
//! and are not in it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a count of live and peak bytes. Install it with `#[global_allocator]`.
pub struct CountingAllocator;

/// Largest number of live bytes since the process began; 0 where [`CountingAllocator`] is not installed.
pub fn peak_bytes() -> u64 {
    PEAK.load(Ordering::Relaxed) as u64
}

fn grew(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

fn shrank(bytes: usize) {
    LIVE.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: every call goes to `System` unchanged; the counts are not used to make or check pointers.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            grew(layout.size());
        }
        pointer
    }

    // The default fills the memory with zeros itself, which makes all of it resident.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            grew(layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrank(layout.size());
        // SAFETY: the caller gives a pointer of `alloc` with its layout.
        unsafe { System.dealloc(pointer, layout) };
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`.
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        if !moved.is_null() {
            shrank(layout.size());
            grew(new_size);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 1 << 30;

    /// Bytes of this process that are in memory: the second number of `statm`, in pages.
    fn resident_bytes() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    // One test: the counts belong to the process. The allocator is not installed in tests, so nothing else changes them.
    #[test]
    fn all_ways_to_allocate_are_counted_and_zeroed_memory_is_not_resident_before_it_is_written() {
        let live = || LIVE.load(Ordering::Relaxed);
        let small = Layout::array::<u64>(100).unwrap();
        let large = Layout::array::<u8>(LARGE).unwrap();
        assert_eq!((live(), peak_bytes()), (0, 0));
        // SAFETY: each pointer is checked, used within its layout, and freed once with the layout that it has.
        unsafe {
            let plain = CountingAllocator.alloc(small);
            assert!(!plain.is_null());
            assert_eq!(live(), 800);
            let grown = CountingAllocator.realloc(plain, small, 1600);
            assert!(!grown.is_null());
            assert_eq!(live(), 1600);

            let resident_before = resident_bytes();
            let zeroed = CountingAllocator.alloc_zeroed(large);
            assert!(!zeroed.is_null());
            assert_eq!(live(), 1600 + LARGE);
            let resident = resident_bytes().saturating_sub(resident_before);
            assert!(resident < LARGE / 4, "{resident} of {LARGE} bytes are resident");
            assert_eq!([*zeroed, *zeroed.add(LARGE / 2), *zeroed.add(LARGE - 1)], [0, 0, 0]);

            CountingAllocator.dealloc(zeroed, large);
            CountingAllocator.dealloc(grown, Layout::array::<u64>(200).unwrap());
        }
        assert_eq!((live(), peak_bytes()), (0, 1600 + LARGE as u64));
    }
}
