//! The main job: hourly departure statistics with the weather, the worst carrier of each hour, and alerts on late aircraft,
//! out of a feed of departures that is up to a day out of order.

mod delays;
mod job;
mod late_aircraft;
mod options;
mod progress;
mod records;
mod run;

use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let say = |text: &str| {
        let _ = writeln!(std::io::stderr(), "{text}");
    };
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _ = write!(std::io::stdout(), "{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            say(&format!("departures: {error}; see departures --help"));
            return ExitCode::from(2);
        }
    };
    match run::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("departures: {error}"));
            ExitCode::FAILURE
        }
    }
}
