//! Prices against those of Java, and the fast path against the exact one.

use super::*;
use crate::random::Draws;

/// Fractions (in units of 2^-53) whose product is within two units in the last place of a half, with the price that
/// Java 17 gives and that decimal arithmetic of 60 digits confirms.
const CLOSE_CALLS: &[(u64, u64)] = &[
    (1_670_996_640_361_686, 1_298),
    (3_137_126_727_079_393, 12_296),
    (4_770_262_504_157_118, 150_533),
    (4_784_730_935_554_514, 153_912),
    (7_873_309_009_983_578, 17_566_182),
    (8_007_453_326_065_560, 21_579_204),
    (8_096_479_384_192_365, 24_736_525),
    (8_115_000_529_130_437, 25_449_325),
    (8_260_791_710_672_429, 31_826_779),
    (8_339_123_403_870_441, 35_889_887),
    (8_395_474_547_526_192, 39_129_968),
    (8_479_578_834_105_155, 44_517_852),
    (8_510_728_465_062_461, 46_696_466),
    (8_735_386_704_798_343, 65_907_748),
    (8_805_761_670_374_442, 73_420_209),
    (8_944_299_660_141_323, 90_803_053),
    (8_951_002_400_549_815, 91_741_402),
    (8_969_739_783_513_656, 94_416_301),
    (8_973_383_136_160_437, 94_945_403),
    (8_974_193_851_620_545, 95_063_541),
    (8_979_303_481_991_853, 95_811_510),
    (8_979_416_823_830_987, 95_828_168),
    (8_981_949_485_604_455, 96_201_153),
    (8_983_069_749_659_783, 96_366_597),
    (8_985_930_416_145_436, 96_790_360),
    (8_991_753_634_457_460, 97_658_747),
    (8_996_802_188_197_056, 98_417_915),
    (9_002_357_621_439_614, 99_260_126),
    (9_002_378_317_587_391, 99_263_278),
    (9_002_796_231_283_646, 99_326_927),
];

#[test]
fn close_calls_fall_to_the_right_side() {
    let prices = Prices::new();
    for &(fraction, price) in CLOSE_CALLS {
        assert_eq!(prices.of(fraction << 11), price, "{fraction}");
    }
}

/// FNV-1a over the prices of the first draws from state 7.
fn checksum(draws: u64) -> u64 {
    let prices = Prices::new();
    let mut state = Draws::starting_at(7);
    (0..draws)
        .fold(0xcbf2_9ce4_8422_2325, |hash, _| (hash ^ prices.of(state.next())).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn a_million_prices_are_those_of_java() {
    assert_eq!(checksum(1_000_000), 0xb020_a967_ba8c_3e5a);
}

#[test]
#[ignore = "fifty million prices: for release builds"]
fn fifty_million_prices_are_those_of_java() {
    assert_eq!(checksum(50_000_000), 0x9329_c450_a535_6752);
}

#[test]
fn the_slow_path_agrees_with_the_fast_one_and_knows_whole_powers() {
    let prices = Prices::new();
    for (draw, price) in [(0, 100), (u64::MAX, 100_000_000), (1 << 63, 100_000)] {
        assert_eq!((prices.of(draw), close_call(draw >> 11)), (price, price));
    }
    let mut draws = Draws::starting_at(1);
    for _ in 0..20_000 {
        let draw = draws.next();
        assert_eq!(prices.of(draw), close_call(draw >> 11));
    }
    assert_eq!(
        (0..6).map(|x| power_of_ten(f64::from(x))).collect::<Vec<_>>(),
        [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]
    );
    assert_eq!(power_of_ten(0.5), 10f64.sqrt());
}
