//! Results of Flink 2.3.0 for the same scripts and events, as counts and checksums.
//!
//! They were made on 2026-11-29 with one subtask, the retractions of each query's changelog subtracted. A row's text is its
//! columns with `|` between; times in milliseconds, decimals in plain digits, `NULL`. Its hash is FNV-1a of 64 bits over UTF-8
//! with the finalizer of SplitMix64 behind it; the checksum is the sum of all hashes modulo 2^64.

use crate::events::{IN_ORDER, Stream};
use crate::session::Session;

/// Results over one stream.
pub(crate) struct Results {
    stream: Stream,
    /// Query, rows, checksum.
    sums: &'static [(&'static str, i64, u64)],
}

/// Ten windows of 10 s; each event has a time of its own.
pub(crate) const SHORT: Results = Results {
    stream: Stream { events: 100_000, ..IN_ORDER },
    sums: &[
        ("q0", 92_000, 0x85bd_e31e_d6a9_8e2e),
        ("q1", 92_000, 0xeac5_0f21_3392_39b0),
        ("q2", 364, 0xc7da_58d1_26d5_dcea),
        ("q3", 650, 0xd0a2_4e57_be0f_7290),
        ("q4", 5, 0xa61d_ec56_bd54_da16),
        ("q5", 54, 0xdb70_b4d9_134d_b140),
        ("q7", 10, 0xd895_8eac_1c61_b812),
        ("q8", 298, 0x275c_8c8d_a84a_0c01),
        ("q9", 5_583, 0xae25_d46d_084d_bbd8),
        ("q11", 2_877, 0x29a0_e1ba_7005_c972),
        ("q14", 26_088, 0x6ba0_98a9_5428_a643),
        ("q15", 1, 0xdbf5_e37e_de99_d8ef),
        ("q16", 9_929, 0x2a67_c897_a11e_a38e),
        ("q17", 5_993, 0xa24f_8791_7c36_da40),
        ("q18", 28_326, 0x5638_7bac_8949_bd00),
        ("q19", 43_744, 0x3223_25d9_9695_c725),
        ("q20", 15_991, 0x8246_d339_4a28_a1c2),
        ("q21", 87_447, 0x13d0_9780_c5d5_73bb),
        ("q22", 92_000, 0x9e23_1eda_a827_2888),
    ],
};

/// Ten windows of 10 s; ten events have one time.
pub(crate) const LONG: Results = Results {
    stream: Stream { events: 1_000_000, rate: 10_000, ..IN_ORDER },
    sums: &[
        ("q0", 920_000, 0x83a1_e82e_6338_5196),
        ("q1", 920_000, 0x56cd_3494_701a_0f30),
        ("q2", 6_857, 0xc88f_57a6_96fa_d498),
        ("q3", 5_762, 0x4274_9c0f_2943_ac20),
        ("q4", 5, 0xa697_c7da_56c2_2579),
        ("q5", 55, 0x1ebe_ea6c_6496_5348),
        ("q7", 10, 0xfbbf_3d01_9832_bce0),
        ("q8", 8_404, 0x2a68_cfd1_bc95_bb28),
        ("q9", 55_897, 0x4185_4dc1_ccee_4eaf),
        ("q11", 19_926, 0x51f1_2214_c2e5_74c7),
        ("q14", 260_998, 0x3550_4178_2a4e_06c2),
        ("q15", 1, 0x285f_049d_ed95_788c),
        ("q16", 10_004, 0xf433_e29f_0ff3_6e92),
        ("q17", 59_972, 0x0047_9737_c525_36be),
        ("q18", 293_194, 0xe81b_3aa6_fc06_0eca),
        ("q19", 441_076, 0x8a1a_94fa_5f0d_8724),
        ("q20", 200_945, 0x22be_cc5c_120e_9701),
        ("q21", 873_980, 0xf5c0_3d61_1cbc_ae90),
        ("q22", 920_000, 0x73c4_715d_d18c_d179),
    ],
};

/// Rows of q10 over `SLOW` with the folders of their partitions before them, and their checksum.
pub(crate) const FILES: (i64, u64) = (19_320, 0xde79_a28b_9bfe_ab56);

pub(crate) fn checksum(rows: &[String]) -> (i64, u64) {
    (rows.len() as i64, rows.iter().fold(0, |sum, row| sum.wrapping_add(hash(row))))
}

fn hash(text: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Runs each query with one subtask: where rows tie, their order decides.
pub(crate) fn compare(results: &Results) {
    let mut wrong = Vec::new();
    for &(query, rows, sum) in results.sums {
        let (mut rows_found, mut sum_found) = (0, 0u64);
        Session::new(results.stream, 1).changes(query, |row, change| {
            rows_found += change;
            sum_found = sum_found.wrapping_add((change as u64).wrapping_mul(hash(&row)));
        });
        if (rows, sum) != (rows_found, sum_found) {
            wrong.push(format!(
                "{query}: Flink has {rows} rows ({sum:016x}), we {rows_found} ({sum_found:016x})"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
