//! The program: two sources, three outputs.

use crate::delays::{Delays, SumDelays};
use crate::late_aircraft::LateAircraft;
use crate::options::Options;
use crate::records::{Alert, Departure, Hourly, Weather, WorstCarrier};
use flugs::prelude::*;
use std::path::Path;

const HOUR: Duration = Duration::from_secs(3600);

/// Departures are at most so much out of order by schedule: the feed's longest delay is 21 h 41 min.
const DISORDER_MAX: Duration = Duration::from_secs(24 * 3600);

/// A carrier with fewer departures in an hour is not compared.
const CARRIER_FLIGHTS_MIN: u64 = 3;

/// The three output folders.
pub const OUTPUTS: [&str; 3] = ["hourly", "worst_carrier", "alerts"];

/// An airport's departures of an hour.
#[derive(Debug, Clone, Data)]
struct OriginHour {
    origin: String,
    hour: Timestamp,
    delays: Delays,
}

/// A carrier's departures of an hour, over all origins.
#[derive(Debug, Clone, Data)]
struct CarrierHour {
    carrier: String,
    hour: Timestamp,
    delays: Delays,
}

/// Adds the job to the environment.
pub fn build(env: &Environment, options: &Options) {
    let departures = departures(env, options);
    let weather = weather(env, &options.data);
    let [hourly_dir, carrier_dir, alerts_dir] = OUTPUTS.map(|name| options.out.join(name));

    hourly(&departures, &weather).sink_to(results(&hourly_dir), "hourly").uid("hourly");
    worst_carrier(&departures).sink_to(results(&carrier_dir), "worst_carrier").uid("worst-carrier");
    alerts(&departures).sink_to(results(&alerts_dir), "alerts").uid("alerts");
}

fn departures(env: &Environment, options: &Options) -> DataStream<Departure> {
    let files = FileSource::new(options.data.join("departures.jsonl.gz"), Json::<Departure>::new());
    let strategy = WatermarkStrategy::bounded_out_of_orderness(DISORDER_MAX)
        .with_timestamps(|d: &Departure| d.scheduled);
    match options.rate {
        // The rate is shared out over readers, and one has the only file.
        Some(rate) => env
            .from_source(Throttled::new(files, rate), strategy, "departures")
            .uid("departures")
            .parallelism(1)
            .stream(),
        None => env.from_source(files, strategy, "departures").uid("departures").stream(),
    }
}

fn weather(env: &Environment, data: &Path) -> DataStream<Weather> {
    let files = FileSource::new(data.join("weather.jsonl.gz"), Json::<Weather>::new());
    let strategy = WatermarkStrategy::monotonous().with_timestamps(|w: &Weather| w.observed);
    env.from_source(files, strategy, "weather").uid("weather").stream()
}

fn results<T: Data + serde::Serialize>(dir: &Path) -> FileSink<Json<T>> {
    FileSink::new(dir, Json::<T>::new())
}

fn hourly(departures: &DataStream<Departure>, weather: &DataStream<Weather>) -> DataStream<Hourly> {
    let delays = departures
        .key_by_ref(|d| &d.origin)
        .window(TumblingEventTimeWindows::of(HOUR))
        .aggregate_with(SumDelays, |origin: &String, window, delays| OriginHour {
            origin: origin.clone(),
            hour: window.start,
            delays,
        })
        .name("origin-hour")
        .uid("origin-hour");
    // An hour's result carries the hour's last instant as its time, and so meets the hour's weather in the hour's window.
    delays
        .key_by_ref(|d| &d.origin)
        .co_group(&weather.key_by_ref(|w| &w.origin))
        .window(TumblingEventTimeWindows::of(HOUR))
        .apply(|_: &String, _, delays: &[OriginHour], weather: &[Weather], out: &mut WindowOutput<Hourly>| {
            for row in delays {
                out.collect(with_weather(row, weather.first()));
            }
        })
        .name("with-weather")
        .uid("with-weather")
}

fn with_weather(row: &OriginHour, weather: Option<&Weather>) -> Hourly {
    Hourly {
        origin: row.origin.clone(),
        hour: row.hour,
        flights: row.delays.flights,
        mean_delay: row.delays.mean(),
        max_delay: row.delays.max,
        late_share: row.delays.late_share(),
        temp: weather.and_then(|w| w.temp),
        wind_speed: weather.and_then(|w| w.wind_speed),
        visib: weather.and_then(|w| w.visib),
    }
}

fn worst_carrier(departures: &DataStream<Departure>) -> DataStream<WorstCarrier> {
    let carriers = departures
        .key_by_ref(|d| &d.carrier)
        .window(TumblingEventTimeWindows::of(HOUR))
        .aggregate_with(SumDelays, |carrier: &String, window, delays| CarrierHour {
            carrier: carrier.clone(),
            hour: window.start,
            delays,
        })
        .name("carrier-hour")
        .uid("carrier-hour")
        .filter(|c| c.delays.flights >= CARRIER_FLIGHTS_MIN);
    carriers
        .key_by(|c| c.hour)
        .window(TumblingEventTimeWindows::of(HOUR))
        .reduce(|worst, other| {
            if is_worse(&other, worst) {
                *worst = other;
            }
        })
        .name("worst-of-hour")
        .uid("worst-of-hour")
        .map(|c| WorstCarrier {
            hour: c.hour,
            flights: c.delays.flights,
            mean_delay: c.delays.mean(),
            carrier: c.carrier,
        })
}

/// Whether `a` has the higher mean delay, or an equal one and the smaller code. Compared as fractions, which are exact.
fn is_worse(a: &CarrierHour, b: &CarrierHour) -> bool {
    let cross = |x: &Delays, y: &Delays| i128::from(x.sum) * i128::from(y.flights);
    let (mean_a, mean_b) = (cross(&a.delays, &b.delays), cross(&b.delays, &a.delays));
    mean_a > mean_b || (mean_a == mean_b && a.carrier < b.carrier)
}

fn alerts(departures: &DataStream<Departure>) -> DataStream<Alert> {
    departures
        .filter(|d| d.tailnum.as_ref().is_some_and(|t| !t.is_empty()))
        .key_by(|d| d.tailnum.clone().unwrap_or_default())
        .process_with(LateAircraft::new)
        .name("late-aircraft")
        .uid("late-aircraft")
}
