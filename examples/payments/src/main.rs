//! Card payments as a stream, enriched and summed up by SQL, and a stream of alerts out of that: one job, one `execute`.

use flugs::prelude::*;
use flugs::sql::functions::AggregateFunction;
use flugs::sql::{SqlEnvironment, SqlRow, StreamSchema, registry};

/// What comes in.
#[derive(Debug, Clone, Data, SqlRow)]
struct Payment {
    card: i64,
    shop: String,
    cents: i64,
    at: Timestamp,
}

/// What SQL makes of a card's payments of a minute.
#[derive(Debug, Clone, PartialEq, Data, SqlRow)]
struct Minute {
    card: i64,
    countries: i64,
    total: Option<i64>,
    risk: Option<f64>,
}

/// The mean of values by their weights, for SQL.
struct WeightedMean;

impl AggregateFunction for WeightedMean {
    type Row = (f64, i64);
    type Accumulator = (f64, i64);
    type Value = Option<f64>;
    const MERGES: bool = true;

    fn create(&self) -> (f64, i64) {
        (0.0, 0)
    }

    fn accumulate(&self, sums: &mut (f64, i64), (value, weight): (f64, i64)) -> flugs::Result<()> {
        *sums = (sums.0 + value * weight as f64, sums.1 + weight);
        Ok(())
    }

    fn merge(&self, sums: &mut (f64, i64), other: (f64, i64)) -> flugs::Result<()> {
        *sums = (sums.0 + other.0, sums.1 + other.1);
        Ok(())
    }

    fn value(&self, (sum, weights): &(f64, i64)) -> Option<f64> {
        (*weights > 0).then(|| sum / *weights as f64)
    }
}

/// Stands for a request to a service that rates shops.
async fn rate(shop: String) -> flugs::Result<f64> {
    Ok(if shop.starts_with("casino") { 0.9 } else { 0.1 })
}

/// The minutes of each card, by SQL.
const MINUTES: &str = "
  SELECT card, COUNT(DISTINCT country) AS countries, SUM(cents) AS total, weighted_mean(risk, cents) AS risk
  FROM TABLE(TUMBLE(TABLE rated, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY card, window_start, window_end";

/// Alerts about cards whose payments of a minute are risky, or come from two countries.
fn alerts(env: &Environment, payments: Vec<Payment>) -> flugs::Result<DataStream<String>> {
    let times = WatermarkStrategy::bounded_out_of_orderness(Duration::from_secs(5));
    let times = times.with_timestamps(|payment: &Payment| payment.at);
    let payments =
        env.from_source(CollectionSource::new(payments), times, "payments").parallelism(1).stream();
    let payments = payments.filter(|payment| payment.cents > 0);

    let mut sql = SqlEnvironment::of_program(env, registry());
    sql.register_async("rate", rate)?;
    sql.register_aggregate("weighted_mean", WeightedMean)?;
    sql.from_stream_with(&payments, StreamSchema::new().name("payments").rowtime("ts"))?;
    sql.execute_sql(
        "CREATE TEMPORARY VIEW rated AS
         SELECT card, cents, ts, rate(shop) AS risk, SUBSTRING(shop FROM CHAR_LENGTH(shop) - 1) AS country
         FROM payments",
    )?;
    let minutes = sql.sql_query(MINUTES)?;

    let minutes = sql.to_stream::<Minute>(&minutes)?;
    Ok(minutes.flat_map(|minute: Minute, out: &mut Collector<String>| {
        let euros = minute.total.unwrap_or(0) / 100;
        if minute.risk.is_some_and(|risk| risk > 0.5) {
            out.collect(format!("card {}: {euros} EUR at risky shops", minute.card));
        }
        if minute.countries > 1 {
            out.collect(format!("card {}: {euros} EUR in {} countries", minute.card, minute.countries));
        }
    }))
}

/// Shops end in their country.
fn some_payments() -> Vec<Payment> {
    let payment = |second, card, shop: &str, cents| Payment {
        card,
        shop: shop.to_owned(),
        cents,
        at: Timestamp::from_secs(second),
    };
    vec![
        payment(3, 1, "bakery.de", 450),
        payment(10, 2, "casino.mc", 90_000),
        payment(8, 2, "bakery.mc", 700),
        payment(20, 3, "bakery.de", 300),
        payment(50, 3, "kiosk.fr", 600),
        // A minute of its own: the card was in one country in each.
        payment(70, 1, "kiosk.fr", 900),
        payment(71, 1, "kiosk.fr", 0),
    ]
}

fn main() -> flugs::Result<()> {
    let env = Environment::new("payments");
    alerts(&env, some_payments())?.print();
    env.execute().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_by_hand() {
        let env = Environment::new("payments");
        env.set_parallelism(2);
        let out = MemorySink::new();
        alerts(&env, some_payments()).expect("a program").sink_to(out.clone(), "alerts");
        env.execute().expect("it runs");
        let mut rows = out.rows();
        rows.sort();
        // 90,000 cents at 0.9 and 700 at 0.1 are 0.894.
        assert_eq!(rows, ["card 2: 907 EUR at risky shops", "card 3: 9 EUR in 2 countries"]);
    }
}
