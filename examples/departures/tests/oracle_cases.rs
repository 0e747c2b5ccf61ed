//! The oracle against small inputs worked out by hand, and against the counts and checksums of the
//! shipped data, which come from a second program in another language (SQL for the two aggregates).

mod job;
mod oracle;

use std::fs;

use oracle::{Departure, Expected, Weather, checksum, compute, read_parts, seconds};

fn departure(
    flight_id: u64,
    carrier: &str,
    tailnum: &str,
    origin: &str,
    scheduled: &str,
    dep_delay: i64,
) -> Departure {
    Departure {
        flight_id,
        carrier: carrier.to_owned(),
        tailnum: Some(tailnum.to_owned()),
        origin: origin.to_owned(),
        scheduled: scheduled.to_owned(),
        dep_delay,
    }
}

/// A departure of the aircraft N1, on the day and at the time of January.
fn n1(flight_id: u64, day_and_time: &str, dep_delay: i64) -> Departure {
    departure(flight_id, "AA", "N1", "JFK", &format!("2013-01-{day_and_time}:00Z"), dep_delay)
}

fn alerts_of(departures: &[Departure]) -> Vec<String> {
    Expected::of(departures, &[]).alerts
}

#[test]
fn hourly_counts_means_and_joins_the_hours_weather() {
    let departures = [
        departure(1, "AA", "N1", "JFK", "2013-01-01T10:00:00Z", 15),
        departure(2, "AA", "N2", "JFK", "2013-01-01T10:59:00Z", 16),
        departure(3, "UA", "N3", "JFK", "2013-01-01T10:30:00Z", -11),
        departure(4, "UA", "N4", "JFK", "2013-01-01T11:00:00Z", -3),
        departure(5, "UA", "N5", "EWR", "2013-01-01T10:30:00Z", 1),
        departure(6, "UA", "N6", "EWR", "2013-01-01T12:30:00Z", 0),
    ];
    let weather = [
        r#"{"origin":"JFK","observed":"2013-01-01T10:00:00Z","temp":39.02,"wind_speed":10.357019999999999,"wind_gust":null,"visib":10.0}"#,
        r#"{"origin":"EWR","observed":"2013-01-01T10:00:00Z","temp":null,"wind_speed":0.0,"wind_gust":1.5,"visib":null}"#,
        r#"{"origin":"EWR","observed":"2013-01-01T11:00:00Z","temp":1.0,"wind_speed":1.0,"wind_gust":null,"visib":1.0}"#,
        r#"{"origin":"LGA","observed":"2013-01-01T12:00:00Z","temp":1.0,"wind_speed":1.0,"wind_gust":null,"visib":1.0}"#,
    ]
    .map(Weather::parse);
    let expected = [
        r#"{"origin":"EWR","hour":"2013-01-01T10:00:00Z","flights":1,"mean_delay":1.0,"max_delay":1,"late_share":0.0,"temp":null,"wind_speed":0.0,"visib":null}"#,
        r#"{"origin":"EWR","hour":"2013-01-01T12:00:00Z","flights":1,"mean_delay":0.0,"max_delay":0,"late_share":0.0,"temp":null,"wind_speed":null,"visib":null}"#,
        r#"{"origin":"JFK","hour":"2013-01-01T10:00:00Z","flights":3,"mean_delay":6.666666666666667,"max_delay":16,"late_share":0.3333333333333333,"temp":39.02,"wind_speed":10.357019999999999,"visib":10.0}"#,
        r#"{"origin":"JFK","hour":"2013-01-01T11:00:00Z","flights":1,"mean_delay":-3.0,"max_delay":-3,"late_share":0.0,"temp":null,"wind_speed":null,"visib":null}"#,
    ];
    assert_eq!(Expected::of(&departures, &weather).hourly, expected);
}

#[test]
fn worst_carrier_needs_three_departures_and_breaks_ties_by_code() {
    let at = |carrier, origin, time: &str, delay| {
        departure(0, carrier, "N1", origin, &format!("2013-01-01T{time}:00Z"), delay)
    };
    let departures = [
        // 10 h: ZZ is worse but has two; UA (over three origins) and DL both have the mean 4.
        at("ZZ", "JFK", "10:00", 500),
        at("ZZ", "JFK", "10:01", 500),
        at("UA", "JFK", "10:00", 12),
        at("UA", "LGA", "10:30", 0),
        at("UA", "EWR", "10:59", 0),
        at("DL", "JFK", "10:00", 4),
        at("DL", "JFK", "10:00", 4),
        at("DL", "JFK", "10:00", 4),
        at("DL", "JFK", "10:00", 4),
        at("AA", "JFK", "10:00", 3),
        at("AA", "JFK", "10:00", 4),
        at("AA", "JFK", "10:00", 4),
        // 11 h: nobody has three.
        at("AA", "JFK", "11:00", 9),
        at("AA", "JFK", "11:59", 9),
        at("UA", "JFK", "11:59", 9),
        // 12 h: everybody left early; the least early is the worst.
        at("AA", "JFK", "12:00", -7),
        at("AA", "JFK", "12:00", -7),
        at("AA", "JFK", "12:00", -6),
        at("UA", "JFK", "12:00", -1),
        at("UA", "JFK", "12:00", -2),
        at("UA", "JFK", "12:00", -2),
    ];
    let expected = [
        r#"{"hour":"2013-01-01T10:00:00Z","carrier":"DL","flights":4,"mean_delay":4.0}"#,
        r#"{"hour":"2013-01-01T12:00:00Z","carrier":"UA","flights":3,"mean_delay":-1.6666666666666667}"#,
    ];
    assert_eq!(Expected::of(&departures, &[]).worst_carrier, expected);
}

#[test]
fn an_alert_is_three_late_departures_in_a_row() {
    let late = [n1(7, "01T10:00", 61), n1(8, "01T15:00", 61), n1(9, "02T10:00", 300)];
    let alert = r#"{"tailnum":"N1","flight_ids":[7,8,9],"at":"2013-01-02T10:00:00Z"}"#;
    assert_eq!(alerts_of(&late), [alert]);
    let reversed: Vec<Departure> = late.iter().rev().cloned().collect();
    assert_eq!(alerts_of(&reversed), [alert], "the order of arrival does not matter");
    assert!(alerts_of(&late[..2]).is_empty());
}

#[test]
fn sixty_minutes_are_not_late_and_start_the_count_anew() {
    let mut departures =
        vec![n1(1, "01T10:00", 61), n1(2, "01T12:00", 61), n1(3, "01T14:00", 60), n1(4, "01T16:00", 61)];
    assert!(alerts_of(&departures).is_empty());
    departures.extend([n1(5, "01T18:00", 61), n1(6, "01T20:00", 61)]);
    assert_eq!(
        alerts_of(&departures),
        [r#"{"tailnum":"N1","flight_ids":[4,5,6],"at":"2013-01-01T20:00:00Z"}"#]
    );
}

#[test]
fn equal_times_go_by_flight_id() {
    // 5 is on time, and by its id it stands between the late 4 and 6 of the same minute.
    let between = [n1(1, "01T08:00", 90), n1(6, "01T10:00", 90), n1(5, "01T10:00", 0), n1(4, "01T10:00", 90)];
    assert!(alerts_of(&between).is_empty());
    let before = [n1(5, "01T10:00", 90), n1(4, "01T10:00", 90), n1(6, "01T10:00", 90), n1(3, "01T10:00", 0)];
    assert_eq!(alerts_of(&before), [r#"{"tailnum":"N1","flight_ids":[4,5,6],"at":"2013-01-01T10:00:00Z"}"#]);
}

#[test]
fn thirty_six_hours_since_the_last_late_one_start_the_count_anew() {
    // 35 h 59 min and again 35 h 59 min: the count holds, although the whole takes three days.
    let within = [n1(1, "01T00:00", 61), n1(2, "02T11:59", 61), n1(3, "03T23:58", 61)];
    assert_eq!(alerts_of(&within), [r#"{"tailnum":"N1","flight_ids":[1,2,3],"at":"2013-01-03T23:58:00Z"}"#]);
    // Exactly 36 h: 3 is the first of a new count.
    let mut exact = vec![n1(1, "01T00:00", 61), n1(2, "01T10:00", 61), n1(3, "02T22:00", 61)];
    assert!(alerts_of(&exact).is_empty());
    exact.extend([n1(4, "02T23:00", 61), n1(5, "03T00:00", 61)]);
    assert_eq!(alerts_of(&exact), [r#"{"tailnum":"N1","flight_ids":[3,4,5],"at":"2013-01-03T00:00:00Z"}"#]);
}

#[test]
fn an_alert_starts_the_count_anew() {
    let seven: Vec<Departure> = (1..=7).map(|n| n1(n, &format!("01T0{n}:00"), 100)).collect();
    assert_eq!(
        alerts_of(&seven),
        [
            r#"{"tailnum":"N1","flight_ids":[1,2,3],"at":"2013-01-01T03:00:00Z"}"#,
            r#"{"tailnum":"N1","flight_ids":[4,5,6],"at":"2013-01-01T06:00:00Z"}"#,
        ]
    );
}

#[test]
fn aircraft_are_apart_and_no_tail_number_is_no_aircraft() {
    let on = |n, tailnum: Option<&str>| Departure {
        tailnum: tailnum.map(str::to_owned),
        ..n1(n, &format!("01T0{n}:00"), 100)
    };
    let mixed =
        [on(1, Some("N1")), on(2, Some("N2")), on(3, Some("N1")), on(4, Some("N2")), on(5, Some("N1"))];
    assert_eq!(alerts_of(&mixed), [r#"{"tailnum":"N1","flight_ids":[1,3,5],"at":"2013-01-01T05:00:00Z"}"#]);
    let without = [on(1, None), on(2, None), on(3, None), on(4, Some("")), on(5, Some("")), on(6, Some(""))];
    let expected = Expected::of(&without, &[]);
    assert!(expected.alerts.is_empty());
    assert_eq!(expected.hourly.len(), 6, "they count as departures all the same");
}

#[test]
fn seconds_know_the_calendar() {
    assert_eq!(seconds("2000-01-01T00:00:01Z"), 1);
    assert_eq!(seconds("2013-01-01T00:00:00Z"), 4749 * 86_400);
    assert_eq!(seconds("2013-03-01T00:00:00Z") - seconds("2013-02-28T23:59:00Z"), 60);
    assert_eq!(seconds("2012-03-01T00:00:00Z") - seconds("2012-02-28T00:00:00Z"), 2 * 86_400);
    assert_eq!(seconds("2014-01-01T00:00:00Z") - seconds("2013-12-31T23:00:00Z"), 3600);
    assert_eq!(seconds("2013-01-01T00:00:00Z") - seconds("2012-01-01T00:00:00Z"), 366 * 86_400);
}

#[test]
fn parts_are_read_whole_and_hidden_files_are_not() {
    let dir = tempfile::tempdir().expect("a scratch folder");
    assert!(read_parts(&dir.path().join("none")).is_empty());
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a part is written");
    write("part-1", "{\"b\":1}\n{\"a\":2}\n");
    write("part-0", "{\"a\":2}\n");
    write("part-2", "");
    write(".part-3.pending", "{\"c\":");
    write("_state", "{\"c\":");
    fs::create_dir(dir.path().join("sub")).expect("a folder");
    write("sub/part-0", "{\"a\":0}\n");
    assert_eq!(read_parts(dir.path()), [r#"{"a":0}"#, r#"{"a":2}"#, r#"{"a":2}"#, r#"{"b":1}"#]);
}

#[test]
#[should_panic(expected = "cut short")]
fn a_part_without_its_last_line_end_is_refused() {
    let dir = tempfile::tempdir().expect("a scratch folder");
    fs::write(dir.path().join("part-0"), "{\"a\":1}\n{\"a\":2}").expect("a part is written");
    read_parts(dir.path());
}

#[test]
#[should_panic(expected = "not a JSON object")]
fn half_a_row_is_refused() {
    let dir = tempfile::tempdir().expect("a scratch folder");
    fs::write(dir.path().join("part-0"), "{\"a\":1}\n{\"a\":\n").expect("a part is written");
    read_parts(dir.path());
}

/// Number of rows and checksum of hourly, worst_carrier and alerts.
fn figures(expected: &Expected) -> [(usize, u64); 3] {
    expected.outputs().map(|(_, rows)| (rows.len(), checksum(rows)))
}

#[test]
fn two_months_agree_with_the_second_program() {
    assert_eq!(
        figures(&compute(&job::two_months())),
        [(3083, 0x0d72_5104_4fb4_045f), (1016, 0x187e_2368_4c32_332c), (60, 0x7073_1f7f_3f55_bcb3)]
    );
}

#[test]
fn the_whole_year_agrees_with_the_second_program() {
    let Some(data) = job::whole_year() else { return };
    assert_eq!(
        figures(&compute(&data)),
        [(19434, 0x9b04_9bac_6570_9562), (6564, 0x4caa_1264_2feb_a027), (388, 0xe65d_86f9_61da_8e42)]
    );
}
