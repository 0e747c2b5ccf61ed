use super::*;
use crate::{Decode, Encode, InputFormat, OutputFormat};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plane {
    tailnum: String,
    year: Option<u16>,
    seats: u32,
    speed: Option<f64>,
}

fn read<T: Record + DeserializeOwned>(
    format: &Csv<T>,
    header: Option<&str>,
    record: &str,
) -> Result<T, String> {
    let mut decoder = format.decoder(header.map(str::as_bytes)).map_err(|e| e.to_string())?;
    decoder.decode(record.as_bytes()).map_err(|e| e.to_string())
}

fn write<T: Record + Serialize>(format: &Csv<T>, rows: &[T]) -> Result<String, String> {
    let (mut encoder, mut out) = (format.encoder(), Vec::new());
    encoder.header(&rows[0], &mut out).map_err(|e| e.to_string())?;
    for row in rows {
        encoder.encode(row, &mut out).map_err(|e| e.to_string())?;
    }
    Ok(String::from_utf8(out).unwrap())
}

fn plane(tailnum: &str, year: Option<u16>, seats: u32, speed: Option<f64>) -> Plane {
    Plane { tailnum: tailnum.to_owned(), year, seats, speed }
}

const HEADER: Option<&str> = Some("speed,type,tailnum,seats,year");

#[test]
fn fields_are_found_by_name_and_others_ignored() {
    let csv = Csv::<Plane>::new().null("NA");
    assert_eq!(read(&csv, HEADER, "NA,jet,N10156,55,2004"), Ok(plane("N10156", Some(2004), 55, None)));
    assert_eq!(read(&csv, HEADER, "90.5,,\"N,1\"\"x\",0,"), Ok(plane("N,1\"x", None, 0, Some(90.5))));
    assert_eq!(
        read(&csv, HEADER, "1,jet,\"NA\",1,1").map(|p| p.tailnum),
        Ok("NA".into()),
        "a quoted NA is text"
    );
}

#[test]
fn or_by_position_or_by_given_names() {
    let want = Ok(plane("N1", None, 7, Some(1e3)));
    assert_eq!(read(&Csv::new().headerless().delimiter(b';'), None, "N1;;7;1e3"), want);
    assert_eq!(read(&Csv::new().columns(["seats", "tailnum", "speed", "year"]), None, "7,N1,1000,"), want);
    assert_eq!(read(&Csv::<(u8, String)>::new().headerless(), None, "1,b"), Ok((1, "b".to_owned())));
}

#[test]
fn errors_name_the_field() {
    let csv = Csv::<Plane>::new();
    for (record, error) in [
        ("1,jet,N1,many,1", "'many' does not fit: invalid digit found in string (field 4 `seats`)"),
        ("1,jet,N1,,1", "'' does not fit: cannot parse integer from empty string (field 4 `seats`)"),
        ("1,jet,N1", "5 fields expected as in the header, 3 found"),
        ("1,\"jet,N1", "this quoted field has no closing quote (column 3)"),
        (
            "1,\"jet\"x,N1",
            "a delimiter or the line's end expected behind the closing quote, 'x,N1' found (column 8)",
        ),
    ] {
        assert_eq!(read(&csv, HEADER, record), Err(error.to_owned()));
    }
    assert_eq!(read(&csv, Some("a,b"), "1,2"), Err("missing field `tailnum`".to_owned()));
    let mut decoder = csv.decoder(None).unwrap();
    let error = Decode::<Plane>::decode(&mut decoder, b"N1,1,\xff,1").unwrap_err();
    assert_eq!(error.to_string(), "UTF-8 expected; convert the file's encoding (field 3)");
    assert!(Decode::<Plane>::decode(&mut decoder, b"N1,1,2,3").is_ok(), "it goes on after an error");
}

#[test]
fn rows_are_written_as_they_are_read() {
    let rows = [
        plane("N\"1", None, 7, Some(0.1)),
        plane("NA", Some(1), 0, None),
        plane("a\nb,c", None, 1, Some(-1e-3)),
    ];
    let csv = Csv::<Plane>::new().null("NA");
    let text = write(&csv, &rows).unwrap();
    assert_eq!(
        text,
        "tailnum,year,seats,speed\n\"N\"\"1\",NA,7,0.1\n\"NA\",1,0,NA\n\"a\nb,c\",NA,1,-0.001\n"
    );
    let mut cutter = crate::Cutter::new(csv.framing(), 1000, 0);
    cutter.buffer().extend_from_slice(text.as_bytes());
    let chunk = cutter.finish().unwrap();
    let mut decoder = csv.decoder(Some(chunk.record(0))).unwrap();
    let back: Vec<Plane> = (1..chunk.len()).map(|i| decoder.decode(chunk.record(i)).unwrap()).collect();
    assert_eq!(back, rows);
}

#[test]
fn what_is_not_flat_is_refused() {
    assert_eq!(write(&Csv::new().headerless(), &[("a", 1)]).unwrap(), "a,1\n");
    assert_eq!(write(&Csv::new().headerless(), &[""]).unwrap(), "\"\"\n");
    assert!(write(&Csv::new(), &[("a", 1)]).unwrap_err().contains("no field names"));
    assert!(write(&Csv::new().headerless(), &[(1, vec![1])]).unwrap_err().contains("CSV is flat"));
    assert!(write(&Csv::new().headerless().no_quotes(), &["a,b"]).unwrap_err().contains("needs quotes"));
}
