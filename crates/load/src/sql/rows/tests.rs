//! Reservations by several threads at once: each number once, and none left out.

use super::*;
use std::collections::BTreeSet;

const THREADS: usize = 8;

/// What several threads got by the same function, each in the order in which it got it.
fn by_threads<T: Send>(reserve: impl Fn(usize) -> Vec<T> + Sync) -> Vec<Vec<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let reserve = &reserve;
                scope.spawn(move || reserve(thread))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Every number of the range stands in exactly one of the parts.
fn assert_cover(range: Range<u64>, parts: impl Iterator<Item = Range<u64>>) {
    let mut parts: Vec<Range<u64>> = parts.collect();
    parts.sort_by_key(|part| part.start);
    let mut next = range.start;
    for part in parts {
        assert_eq!(part.start, next, "a number is in two parts, or in none");
        next = part.end;
    }
    assert_eq!(next, range.end);
}

#[test]
fn a_load_gives_every_row_to_one_loader() {
    // The last part is shorter than the others; all at once is one part; more than there are is none.
    for (rows, most) in [(100_003, 100), (5000, u64::MAX), (1, 100), (0, 7)] {
        let reservations = Reservations::from(1);
        let loaders = by_threads(|_| {
            std::iter::from_fn(|| reservations.take_up_to(most, rows + 1)).collect::<Vec<Range<u64>>>()
        });
        let in_order = |parts: &Vec<Range<u64>>| parts.is_sorted_by(|one, next| one.end <= next.start);
        assert!(loaders.iter().all(in_order), "{rows} rows");
        assert_cover(1..rows + 1, loaders.into_iter().flatten());
        assert_eq!(reservations.take_up_to(most, rows + 1), None);
    }
}

#[test]
fn deletes_are_disjoint_and_each_client_has_them_in_order() {
    let rows = TableRows::between(1001, 61_000);
    let deleters = by_threads(|_| {
        let mut mine = Vec::new();
        while let Some(reservation) = rows.reserve_oldest(50) {
            assert!(!reservation.in_doubt);
            mine.push(reservation.numbers);
        }
        mine
    });
    let in_order = |parts: &Vec<Range<u64>>| parts.is_sorted_by(|one, next| one.end <= next.start);
    assert!(deleters.iter().all(in_order));
    assert_cover(1001..61_001, deleters.into_iter().flatten());
    assert_eq!(rows.bounds(), [61_001, 61_000], "the table is empty");
}

#[test]
fn what_is_handed_back_is_deleted_by_the_next_and_once() {
    const EACH: u64 = 50;
    let rows = TableRows::between(1, 40_000);
    let deleters = by_threads(|thread| {
        let (mut done, mut tries) = (Vec::new(), 0);
        while let Some(reservation) = rows.reserve_oldest(EACH) {
            tries += 1;
            // Every third fails, at another place in each thread.
            if (tries + thread) % 3 == 0 {
                rows.give_back_oldest(reservation);
            } else {
                done.push(reservation.numbers);
            }
        }
        done
    });
    assert_cover(1..40_001, deleters.into_iter().flatten());
}

#[test]
fn inserts_have_ids_in_a_row_that_no_other_has() {
    let rows = TableRows::between(1, 100);
    let clients = by_threads(|thread| {
        let mut mine = Vec::new();
        for turn in 0..500 {
            let reservation = rows.reserve_new(if thread % 2 == 0 { 50 } else { 5 }).unwrap();
            if turn % 10 == 0 {
                rows.give_back_new(reservation);
            } else {
                mine.push(reservation.numbers);
            }
            // A statement that says nothing of its number takes one id after another.
            let one = rows.take_next();
            mine.push(one..one + 1);
        }
        mine
    });
    let ids: Vec<u64> = clients.into_iter().flatten().flatten().collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id was given twice");
    assert!(ids.iter().all(|id| *id > 100));
}

#[test]
fn what_was_handed_back_comes_first_from_the_lowest_on() {
    let reservations = Reservations::from(1);
    let [first, second, third] = [10, 10, 10].map(|count| reservations.take(count, 1000).unwrap());
    assert_eq!(third.numbers, 21..31);
    reservations.give_back(Reservation { in_doubt: true, ..second.clone() });
    reservations.give_back(first);
    assert_eq!(reservations.take(4, 1000), Some(Reservation { numbers: 1..5, in_doubt: false }));
    // No part of the first is long enough any more.
    assert_eq!(reservations.take(10, 1000), Some(Reservation { numbers: 11..21, in_doubt: true }));
    assert_eq!(reservations.take(10, 1000), Some(Reservation { numbers: 31..41, in_doubt: false }));
    assert_eq!(reservations.take(6, 1000), Some(Reservation { numbers: 5..11, in_doubt: false }));
    assert!(!reservations.has_returned.load(Ordering::Acquire), "nothing is left of it");
    assert_eq!(reservations.take(960, 1000), None);
    assert_eq!(reservations.take(959, 1000).unwrap().numbers, 41..1000);
    assert_eq!(Reservations::from(u64::MAX - 3).take(10, u64::MAX), None, "not beyond the greatest number");
}

#[test]
fn no_delete_reserves_rows_that_are_not_there() {
    let rows = TableRows::between(5, 9);
    assert_eq!(rows.reserve_oldest(4).unwrap().numbers, 5..9);
    assert_eq!(rows.reserve_oldest(4), None);
    rows.changed(3, 0);
    assert_eq!(rows.reserve_oldest(4).unwrap().numbers, 9..13);
    // What others deleted, or a server that was asked, moves the oldest on and never back.
    rows.changed(10, 2);
    rows.found([7, 20]);
    assert_eq!(rows.bounds(), [15, 22]);
    rows.found([17, 30]);
    assert_eq!(rows.bounds(), [17, 30]);
    assert_eq!(TableRows::between(1, 0).reserve_oldest(1), None, "an empty table");
}
