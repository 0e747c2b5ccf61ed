//! What is read and what is written.

use flugs::formats::rfc3339;
use flugs::{Data, Timestamp};
use serde::{Deserialize, Serialize};

/// A flight left the gate. Fields of the feed that the job does not use are not read.
#[derive(Debug, Clone, Data, Deserialize)]
pub struct Departure {
    pub flight_id: u64,
    pub carrier: String,
    pub tailnum: Option<String>,
    pub origin: String,
    #[serde(with = "rfc3339")]
    pub scheduled: Timestamp,
    /// Minutes; negative where it left early. No wider than a feed can mean, so that no sum overflows.
    pub dep_delay: i32,
}

/// The weather at an airport, observed on the hour.
#[derive(Debug, Clone, Data, Deserialize)]
pub struct Weather {
    pub origin: String,
    #[serde(with = "rfc3339")]
    pub observed: Timestamp,
    pub temp: Option<f64>,
    pub wind_speed: Option<f64>,
    pub visib: Option<f64>,
}

/// A row of `hourly/`.
#[derive(Debug, Clone, Data, Serialize)]
pub struct Hourly {
    pub origin: String,
    #[serde(with = "rfc3339")]
    pub hour: Timestamp,
    pub flights: u64,
    pub mean_delay: f64,
    pub max_delay: i64,
    pub late_share: f64,
    pub temp: Option<f64>,
    pub wind_speed: Option<f64>,
    pub visib: Option<f64>,
}

/// A row of `worst_carrier/`.
#[derive(Debug, Clone, Data, Serialize)]
pub struct WorstCarrier {
    #[serde(with = "rfc3339")]
    pub hour: Timestamp,
    pub carrier: String,
    pub flights: u64,
    pub mean_delay: f64,
}

/// A row of `alerts/`.
#[derive(Debug, Clone, Data, Serialize)]
pub struct Alert {
    pub tailnum: String,
    pub flight_ids: Vec<u64>,
    #[serde(with = "rfc3339")]
    pub at: Timestamp,
}
