//! The main job over bad data, on bad disks, and beside itself: it ends with exit code 1 and a text that names the place and
//! the mend; what it had committed stays; and when the fault is mended and it is started again, its rows are the oracle's.

mod faulty;
mod job;
mod oracle;

use faulty::{Demo, Disk, Feed};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// Slow enough to be stopped in the middle: the feed takes a second.
const SLOW: &[&str] = &["--rate", "6000", "--checkpoint-interval-ms", "30"];

/// A bad line, and what the error says of it.
type BadLine = (&'static str, Vec<u8>, &'static str);

fn bad_departures(good: &[u8]) -> Vec<BadLine> {
    let text = std::str::from_utf8(good).expect("a line of the feed is text");
    let with = |name: &str, value: &str| -> Vec<u8> {
        let (before, rest) = text.split_once(&format!("\"{name}\":")).expect("the line has the field");
        let (_, after) = rest.split_once(',').expect("another field follows");
        format!("{before}\"{name}\":{value},{after}").into_bytes()
    };
    let mut not_utf8 = with("carrier", "\"U?\"");
    let at = not_utf8.iter().position(|&b| b == b'?').expect("the mark is there");
    not_utf8[at] = 0xff;
    let long = [b"{\"carrier\":\"".as_slice(), &vec![b'x'; 17 << 20], b"\"}"].concat();
    vec![
        ("cut off", good[..good.len() / 2].to_vec(), "EOF while parsing"),
        ("no JSON", b"flight,carrier,origin".to_vec(), "expected"),
        ("another shape", b"[1,2,3]".to_vec(), "invalid type"),
        ("no fields", b"{}".to_vec(), "missing field `flight_id`"),
        ("a mistyped field", with("flight_id", "\"one\""), "expected u64 (column 18, field `flight_id`)"),
        ("a null", with("carrier", "null"), "expected a string"),
        ("no UTF-8", not_utf8, "invalid unicode code point"),
        (
            "a day that is none",
            with("scheduled", "\"2013-02-30T10:00:00Z\""),
            "'2013-02-30T10:00:00Z' is no time",
        ),
        ("no time at all", with("scheduled", "\"soon\""), "field `scheduled`"),
        ("a number too large", with("dep_delay", "9223372036854775807"), "expected i32"),
        ("a number beyond numbers", with("dep_delay", "1e999"), "out of range"),
        ("a zero byte", b"\0".to_vec(), "expected value"),
        ("nested without end", vec![b'['; 100_000], "invalid type"),
        (
            "a line too long",
            long,
            "a record of 17825807 bytes, but at most 16777216 are taken; raise `max_record_bytes`",
        ),
    ]
}

#[test]
fn a_bad_line_is_named_and_when_it_is_mended_the_rows_are_exact() {
    let feed = Feed::first(4000, 400);
    let expected = feed.expected();
    let demo = Demo::over(&feed);
    for (what, line, why) in bad_departures(&feed.departures[3000]) {
        let mut bad = feed.clone();
        bad.departures[3000] = line;
        bad.write_to(&demo.data());
        let ended = demo.run(&["--checkpoint-interval-ms", "5"]);
        ended.assert_failed(
            what,
            &[
                "bad data: ",
                why,
                "operator 'departures', subtask ",
                "departures.jsonl.gz#0-, line 3001, byte ",
                "; mend the record",
            ],
        );
        demo.job.assert_no_surplus(&expected, what);
    }
    feed.write_to(&demo.data());
    demo.run(&[]).assert_ok("mended");
    demo.job.assert_complete(&expected, "mended");

    let mut bad = feed.clone();
    bad.weather[7] = b"{\"origin\":\"EWR\",\"observed\":\"2013-01-01T25:00:00Z\"}".to_vec();
    bad.write_to(&demo.data());
    let ended = demo.run(&[]);
    ended.assert_failed("weather", &["operator 'weather'", "weather.jsonl.gz#0-, line 8, ", "is no time"]);
    // A run that had ended starts anew, so its results are gone by now; they come again.
    feed.write_to(&demo.data());
    demo.run(&[]).assert_ok("mended again");
    demo.job.assert_complete(&expected, "mended again");
}

#[test]
fn marks_line_ends_and_empty_lines_do_not_matter() {
    let feed = Feed::first(2000, 300);
    let demo = Demo::over(&feed);
    let mut text = b"\xef\xbb\xbf".to_vec();
    for line in &feed.departures {
        text.extend_from_slice(line);
        text.extend_from_slice(b"\r\n \t\r\n\n");
    }
    text.truncate(text.len() - 6);
    fs::write(demo.data().join("departures.jsonl.gz"), faulty::gzip(&text)).unwrap();
    demo.run(&[]).assert_ok("with marks and line ends of Windows");
    demo.job.assert_complete(&feed.expected(), "with marks and line ends of Windows");

    let nothing = Feed::first(0, 0);
    nothing.write_to(&demo.data());
    demo.run(&[]).assert_ok("nothing");
    demo.job.assert_complete(&nothing.expected(), "nothing");
}

#[test]
fn damaged_archives_are_named_and_a_whole_copy_is_gone_on_with() {
    let feed = Feed::first(3000, 300);
    let expected = feed.expected();
    let demo = Demo::over(&feed);
    let path = demo.data().join("departures.jsonl.gz");
    let whole = fs::read(&path).unwrap();
    let n = whole.len();
    let mut flipped = whole.clone();
    flipped[n - 6] ^= 1;
    let ends = "ends in the middle of its compressed data";
    let broken = "cannot be decompressed";
    for (what, bytes, why) in [
        ("no byte", Vec::new(), ends),
        ("half a header", whole[..5].to_vec(), ends),
        ("half of it", whole[..n / 2].to_vec(), ends),
        ("no checksum", whole[..n - 8].to_vec(), ends),
        ("half a checksum", whole[..n - 4].to_vec(), ends),
        ("another checksum", flipped, broken),
        ("no archive", b"{\"flight_id\":1}\n".to_vec(), broken),
        ("something behind it", [&whole[..], b"something behind it"].concat(), broken),
    ] {
        fs::write(&path, bytes).unwrap();
        let ended = demo.run(&["--checkpoint-interval-ms", "5"]);
        ended.assert_failed(
            what,
            &["bad data: ", why, "departures.jsonl.gz", "operator 'departures'", "whole copy"],
        );
        demo.job.assert_no_surplus(&expected, what);
    }
    fs::write(&path, &whole).unwrap();
    demo.run(&[]).assert_ok("a whole copy");
    demo.job.assert_complete(&expected, "a whole copy");
}

#[test]
fn data_that_vanishes_after_a_kill_is_named_and_when_it_is_back_the_rows_are_exact() {
    let feed = Feed::first(6000, 500);
    let expected = feed.expected();
    let demo = Demo::over(&feed);
    demo.kill_after_a_checkpoint(SLOW);
    let path = demo.data().join("departures.jsonl.gz");
    let away = demo.data().join("away");
    fs::rename(&path, &away).unwrap();
    let says = ["environment error: there is no departures.jsonl.gz in ", "--data"];
    demo.run(&[]).assert_failed("gone", &says);
    fs::create_dir(&path).unwrap();
    demo.run(&[]).assert_failed("a folder in its place", &says);
    fs::remove_dir(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    demo.run(&[]).assert_failed("a link that leads nowhere", &says);
    fs::remove_file(&path).unwrap();
    Feed::first(10, 500).write_to(&demo.data());
    let ended = demo.run(&[]);
    ended.assert_failed(
        "a shorter one",
        &["departures.jsonl.gz has fewer bytes than at the checkpoint", "put it back"],
    );
    demo.job.assert_no_surplus(&expected, "without its data");
    fs::rename(&away, &path).unwrap();

    let other = tempfile::tempdir().unwrap();
    feed.write_to(other.path());
    let ended = demo.run_over(other.path(), &[]);
    ended.assert_failed(
        "other data",
        &["holds an unfinished run over ", "finish it with --data ", "another folder with --out"],
    );

    demo.run(&[]).assert_ok("back");
    demo.job.assert_complete(&expected, "back");
}

#[test]
fn what_stands_in_the_way_of_the_output_is_named() {
    let feed = Feed::first(500, 100);
    let expected = feed.expected();
    for (name, mend) in [
        ("", "make it a folder"),
        ("checkpoints", "make it a folder"),
        ("checkpoints/departures", "a file stands where a folder is to be"),
        ("checkpoints/departures/generation", "a file stands where a folder is to be"),
        ("hourly", "a file stands where a folder is to be"),
        ("alerts", "a file stands where a folder is to be"),
    ] {
        let demo = Demo::over(&feed);
        let path = if name.is_empty() { demo.job.out() } else { demo.job.out().join(name) };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "in the way").unwrap();
        let ended = demo.run(&[]);
        let shown = demo.job.out();
        ended.assert_failed(name, &[shown.to_str().unwrap(), name, mend]);
        fs::remove_file(&path).unwrap();
        demo.run(&[]).assert_ok("out of the way");
        demo.job.assert_complete(&expected, name);
    }
    for name in ["input", "lock"] {
        let demo = Demo::over(&feed);
        fs::create_dir_all(demo.job.out().join(name)).unwrap();
        demo.run(&[]).assert_failed(name, &[name, "cannot be used", "--out"]);
    }
}

#[test]
fn full_and_read_only_disks_are_named_and_afterwards_the_rows_are_exact() {
    let feed = Feed::first(6000, 500);
    let expected = feed.expected();
    for (name, why) in
        [("hourly", "no space left to write "), ("checkpoints", "the disk of the checkpoint store is full")]
    {
        let demo = Demo::over(&feed);
        let folder = demo.job.out().join(name);
        fs::create_dir_all(&folder).unwrap();
        let Some(disk) = Disk::mount(&folder, "size=64k") else { return };
        disk.leave_room(8 << 10);
        let ended = demo.run(&["--checkpoint-interval-ms", "20"]);
        ended.assert_failed(name, &["environment error: ", why, folder.to_str().unwrap(), "space"]);
        demo.job.assert_no_surplus(&expected, name);
        disk.grow("4m");
        demo.run(&[]).assert_ok("with room");
        demo.job.assert_complete(&expected, "with room");
    }
    let demo = Demo::over(&feed);
    let out = demo.job.out();
    fs::create_dir_all(&out).unwrap();
    let Some(disk) = Disk::mount(&out, "size=8m") else { return };
    disk.options("remount,ro");
    let ended = demo.run(&[]);
    ended.assert_failed(
        "read-only",
        &["environment error: ", out.to_str().unwrap(), "Read-only file system", "; "],
    );
    disk.options("remount,rw");
    demo.kill_after_a_checkpoint(SLOW);
    disk.options("remount,ro");
    let ended = demo.run(&[]);
    ended.assert_failed("read-only after a kill", &[out.to_str().unwrap(), "Read-only file system", "; "]);
    disk.options("remount,rw");
    demo.run(&[]).assert_ok("on another device");
    demo.job.assert_complete(&expected, "on another device");
}

#[test]
fn stopped_by_a_signal_it_goes_on() {
    let feed = Feed::first(6000, 500);
    let expected = feed.expected();
    // Not INT or HUP: whoever runs the tests in the background may have them ignored, and children inherit that.
    let (signal, number) = ("TERM", 15);
    let demo = Demo::over(&feed);
    for _ in 0..3 {
        let mut running = demo.start(SLOW);
        running.wait_for(|| demo.checkpoints() > 0);
        running.signal(signal);
        let ended = running.wait();
        assert_eq!(ended.status.signal(), Some(number), "{}", ended.stderr);
        demo.job.assert_no_surplus(&expected, signal);
    }
    demo.run(&[]).assert_ok(signal);
    demo.job.assert_complete(&expected, signal);
}

#[test]
fn two_at_once_do_not_mix() {
    let feed = Feed::first(6000, 500);
    let expected = feed.expected();
    let demo = Demo::over(&feed);
    let mut first = demo.start(SLOW);
    first.wait_for(|| demo.checkpoints() > 0);
    for _ in 0..3 {
        let second = demo.run(&[]);
        second.assert_failed("second", &["another run is writing to ", "wait until it has ended"]);
    }
    first.wait().assert_ok("first");
    demo.job.assert_complete(&expected, "the first, met by others");

    // Both find the results of a run that had ended and are to remove them: one wins.
    for round in 0..4 {
        let both = [demo.start(&[]), demo.start(&[])];
        let ended = both.map(faulty::Running::wait);
        let won = ended.iter().filter(|e| e.status.success()).count();
        assert!(won > 0, "round {round}: {} {}", ended[0].stderr, ended[1].stderr);
        demo.job.assert_complete(&expected, "two at the same moment");
    }
    let demo = Demo::over(&feed);
    demo.kill_after_a_checkpoint(SLOW);
    demo.run(&[]).assert_ok("after a kill");
    demo.job.assert_complete(&expected, "after a kill");
}

#[test]
fn wrong_arguments_exit_with_2_and_absent_data_with_1() {
    let feed = Feed::first(10, 10);
    let demo = Demo::over(&feed);
    let nowhere = demo.data().join("nowhere");
    let ended = demo.run_over(&nowhere, &[]);
    ended.assert_failed("absent data", &["there is no departures.jsonl.gz in ", "nowhere", "--data"]);
    for (args, word) in [
        (&["--rate", "0"][..], "--rate"),
        (&["--checkpoint-interval-ms", "-1"], "--checkpoint-interval-ms"),
        (&["--parallelism", "99999999999999999999"], "--parallelism"),
        (&["--parallelism"], "--parallelism needs a value"),
        (&["extra"], "extra"),
    ] {
        let ended = demo.run(args);
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(word) && ended.stderr.contains("--help"), "{args:?}: {}", ended.stderr);
    }
    assert!(!Path::new(&demo.job.out()).exists(), "nothing was written");
}
