//! Functions that wait: the asynchronous operator of programs, between rows as bytes.

use crate::lower::exchange::Exchange;
use crate::lower::{Lowering, Origin};
use crate::plan::{AsyncCall, Node, PlanField};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use flugs_graph::NodeKind;
use flugs_operators::{AsyncFunction, AsyncOperator};
use flugs_sql_functions::table::AsyncScalar;
use flugs_sql_ops::ask::{AnsweredRow, AskedRow, FromAnswered, ToAsked};
use flugs_sql_ops::row::{RowBytes, RowCodec};
use flugs_task::OneInput;
use flugs_types::{Error, Result};
use futures::future::{BoxFuture, FutureExt, try_join_all};
use std::sync::Arc;

/// A function and its arguments.
type Call = (Arc<dyn AsyncScalar>, Vec<usize>);

/// Asks for a row by all calls at once.
#[derive(Clone)]
struct Calls {
    rows: RowCodec,
    answers: RowCodec,
    calls: Arc<[Call]>,
}

impl Calls {
    fn begin(&self, row: &RowBytes) -> Result<Vec<flugs_sql_functions::table::Waiting<ArrayRef>>> {
        let columns = self.rows.decode([row.as_slice()])?;
        let argument = |at: &usize| {
            columns.get(*at).cloned().ok_or_else(|| Error::bug(format!("there is no column {at}")))
        };
        let call = |(function, arguments): &Call| {
            let arguments = arguments.iter().map(argument).collect::<Result<Vec<_>>>()?;
            Ok(function.call(&arguments))
        };
        self.calls.iter().map(call).collect()
    }
}

impl AsyncFunction for Calls {
    type In = AskedRow;
    type Out = AnsweredRow;

    fn request(&mut self, (kind, row): AskedRow) -> BoxFuture<'static, Result<Vec<AnsweredRow>>> {
        let (begun, answers) = (self.begin(&row), self.answers.clone());
        async move {
            let values = try_join_all(begun?).await?;
            Ok(vec![(kind, row, RowBytes::new(answers.encode(&values, 1)?.row(0)))])
        }
        .boxed()
    }

    fn timed_out(&mut self, _: AskedRow) -> Result<Vec<AnsweredRow>> {
        let names: Vec<&str> = self.calls.iter().map(|(function, _)| function.name()).collect();
        Err(Error::transient(format!("a call of {} took longer than its timeout", names.join(", ")))
            .mend("SET 'table.exec.async-scalar.timeout' to a longer time"))
    }
}

fn codec<'f>(fields: impl Iterator<Item = &'f PlanField>) -> Result<RowCodec> {
    RowCodec::new(&fields.map(|field| field.field.data_type().clone()).collect::<Vec<DataType>>())
}

impl Lowering<'_> {
    /// Three operators of one chain: rows, calls, columns. The calls keep the order of the rows; what waits is their state.
    pub(super) fn async_calls(&mut self, node: &Node, calls: &[AsyncCall]) -> Result<Vec<Origin>> {
        let from = self.input(node, 0).clone();
        let origins = self.origins_of(node, 0);
        let parallelism = origins.iter().map(|origin| origin.parallelism).max().unwrap_or(1);
        let rows = codec(from.fields.iter())?;
        let answers = codec(node.fields[from.fields.len()..].iter())?;
        let of_rows = rows.clone();
        let asked = OneInput::new(move || ToAsked::new(of_rows.clone()));
        let uid = &node.digest;
        let asked_node =
            self.graph_node("ToRows", NodeKind::Operator, &format!("{uid}:rows"), parallelism, false);
        let asked = self.builder.node(asked_node, Arc::new(asked));
        self.connect(&from, &origins, asked, 0, parallelism, &Exchange::Direct)?;
        let calls = calls.iter().map(|call| (call.function.get().clone(), call.args.clone())).collect();
        let calls = Calls { rows: rows.clone(), answers: answers.clone(), calls };
        let options = self.config.async_scalar.options();
        let calling = OneInput::new(move || AsyncOperator::new(calls.clone(), options.clone()));
        let calling_node = self.graph_node(node.op.name(), NodeKind::Operator, uid, parallelism, true);
        let calling = self.builder.node(calling_node, Arc::new(calling));
        self.connect_records::<AskedRow>(asked, 0, calling);
        let schema = node.schema();
        let answered =
            OneInput::new(move || FromAnswered::new(rows.clone(), answers.clone(), schema.clone()));
        let answered_node =
            self.graph_node("FromRows", NodeKind::Operator, &format!("{uid}:columns"), parallelism, false);
        let answered = self.builder.node(answered_node, Arc::new(answered));
        self.connect_records::<AnsweredRow>(calling, 0, answered);
        Ok(vec![Origin { node: answered, output: 0, parallelism }])
    }
}
