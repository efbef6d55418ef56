//! Whether a query ends soon: recursion, and tables that are joined without a condition.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Cte, Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, LimitClause, ObjectName,
    Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, TableFactor, Visit, Visitor,
};

use super::number;
use super::secrets::parts;
use crate::extent::MOST_LINES;

/// Functions that make one row of many.
const AGGREGATES: &[&str] = &[
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "group_concat",
    "json_agg",
    "jsonb_agg",
    "max",
    "min",
    "string_agg",
    "sum",
    "total",
];

/// Why a query may not end, judged with everything in its `WITH`.
pub(super) fn recursion(query: &Query) -> Option<&'static str> {
    let with = query.with.as_ref()?;
    for (at, cte) in with.cte_tables.iter().enumerate() {
        // SQLite does not need the word RECURSIVE.
        let own = name_of(cte);
        let used = relations(&cte.query);
        let later = with.cte_tables[at + 1..]
            .iter()
            .map(name_of)
            .any(|name| used.contains(&name));
        if later && with.recursive {
            return Some("has parts that refer to each other, and may not end");
        }
        if used.contains(&own) && !recursion_ends(cte, query) {
            return Some("has a recursion that is not known to end");
        }
    }
    None
}

fn recursion_ends(cte: &Cte, outer: &Query) -> bool {
    // Its own limit, as SQLite has it.
    if few(cte.query.limit_clause.as_ref()) {
        return true;
    }
    let own = name_of(cte);
    // The rows are made one after the other, until the reader has enough.
    if stops_early(outer)
        && matches!(outer.body.as_ref(), SetExpr::Select(select) if reads_only_from(select, &own))
    {
        return true;
    }
    let SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier,
        left,
        right,
    } = cte.query.body.as_ref()
    else {
        return false;
    };
    let SetExpr::Select(step) = right.as_ref() else {
        return false;
    };
    // Rows that are there already do not count again, and there are no more of them than the tables have.
    let distinct = matches!(set_quantifier, SetQuantifier::None | SetQuantifier::Distinct);
    if distinct && step.projection.iter().all(is_plain_column) {
        return true;
    }
    counts_up(cte, left, step, &own)
}

/// `select 1 as n union all select n + 1 from t where n < 10`
fn counts_up(cte: &Cte, first: &SetExpr, step: &Select, own: &str) -> bool {
    if !reads_only_from(step, own) {
        return false;
    }
    let Some(condition) = &step.selection else {
        return false;
    };
    let SetExpr::Select(first) = first else {
        return cte.alias.columns.len() == step.projection.len()
            && (0..step.projection.len())
                .any(|at| column_counts_up(&cte.alias.columns[at].name.value, at, step, condition));
    };
    (0..step.projection.len()).any(|at| {
        let name = match (cte.alias.columns.get(at), first.projection.get(at)) {
            (Some(column), _) => column.name.value.clone(),
            (None, Some(SelectItem::ExprWithAlias { alias, .. })) => alias.value.clone(),
            _ => return false,
        };
        column_counts_up(&name, at, step, condition)
    })
}

fn column_counts_up(name: &str, at: usize, step: &Select, condition: &Expr) -> bool {
    let is_column = |expr: &Expr| match expr {
        Expr::Identifier(ident) => ident.value.eq_ignore_ascii_case(name),
        Expr::CompoundIdentifier(idents) => idents
            .last()
            .is_some_and(|ident| ident.value.eq_ignore_ascii_case(name)),
        _ => false,
    };
    let grows = match step.projection.get(at) {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
            match unnested(expr) {
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::Plus,
                    right,
                } => is_column(left) && number(right).is_some_and(|step| step >= 1.0),
                _ => false,
            }
        }
        _ => false,
    };
    grows
        && conjuncts(condition).into_iter().any(|condition| match condition {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Lt | BinaryOperator::LtEq,
                right,
            } => is_column(left) && number(right).is_some_and(|most| most <= MOST_LINES),
            _ => false,
        })
}

/// Why the rows of a select may be too many: tables that no condition joins.
pub(super) fn joins(query: &Query) -> Option<&'static str> {
    let mut bodies = vec![query.body.as_ref()];
    while let Some(body) = bodies.pop() {
        match body {
            SetExpr::SetOperation { left, right, .. } => bodies.extend([left.as_ref(), right.as_ref()]),
            SetExpr::Select(select) if multiplies(select, query) && !stops_early(query) => {
                return Some("joins tables without a condition: every row with every row");
            }
            _ => {}
        }
    }
    None
}

fn multiplies(select: &Select, query: &Query) -> bool {
    let mut tables = 0_usize;
    let mut links = 0_usize;
    for from in &select.from {
        count(&from.relation, query, &mut tables, &mut links);
        for join in &from.joins {
            count(&join.relation, query, &mut tables, &mut links);
            links += usize::from(constrained(join));
        }
    }
    links += select.selection.as_ref().map_or(0, |condition| {
        conjuncts(condition).into_iter().filter(|c| links_two(c)).count()
    });
    tables > links + 1
}

fn count(factor: &TableFactor, query: &Query, tables: &mut usize, links: &mut usize) {
    match factor {
        TableFactor::Table { name, args: None, .. } => {
            let one = parts(name);
            let single = query
                .with
                .iter()
                .flat_map(|with| &with.cte_tables)
                .any(|cte| one.len() == 1 && one[0] == name_of(cte) && makes_few_rows(&cte.query));
            *tables += usize::from(!single);
        }
        TableFactor::Derived {
            lateral: false,
            subquery,
            ..
        } => *tables += usize::from(!makes_few_rows(subquery)),
        TableFactor::NestedJoin { table_with_joins, .. } => {
            count(&table_with_joins.relation, query, tables, links);
            for join in &table_with_joins.joins {
                count(&join.relation, query, tables, links);
                *links += usize::from(constrained(join));
            }
        }
        // What a function makes of each row, and what it makes by itself, is judged where it is called.
        _ => {}
    }
}

/// A row of sums, or a few rows by its limit.
fn makes_few_rows(query: &Query) -> bool {
    if few_rows(query.limit_clause.as_ref(), 100.0) {
        return true;
    }
    match query.body.as_ref() {
        SetExpr::Select(select) => {
            select.from.is_empty() || !groups(select) && select.projection.iter().any(aggregates)
        }
        SetExpr::Values(_) => true,
        _ => false,
    }
}

fn groups(select: &Select) -> bool {
    !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
}

fn aggregates(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let mut found = Aggregate(false);
            let _ = expr.visit(&mut found);
            found.0
        }
        _ => false,
    }
}

struct Aggregate(bool);

impl Visitor for Aggregate {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && function.over.is_none()
            && AGGREGATES.contains(&function.name.to_string().to_ascii_lowercase().as_str())
        {
            self.0 = true;
        }
        ControlFlow::Continue(())
    }
}

fn constrained(join: &Join) -> bool {
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)
    | JoinOperator::Right(constraint)
    | JoinOperator::RightOuter(constraint)
    | JoinOperator::FullOuter(constraint)
    | JoinOperator::CrossJoin(constraint)
    | JoinOperator::StraightJoin(constraint)) = &join.join_operator
    else {
        return false;
    };
    match constraint {
        JoinConstraint::On(condition) => conjuncts(condition).into_iter().any(links_two),
        JoinConstraint::Using(columns) => !columns.is_empty(),
        JoinConstraint::Natural => true,
        JoinConstraint::None => false,
    }
}

/// `a.x = b.y`, `a.x = any(f(b.y))`: an equality of what two tables hold.
fn links_two(condition: &Expr) -> bool {
    let (left, right) = match condition {
        Expr::Nested(inner) => return links_two(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        }
        | Expr::IsNotDistinctFrom(left, right)
        | Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right,
            ..
        } => (left, right),
        _ => return false,
    };
    let (left, right) = (columns(left), columns(right));
    !left.is_empty() && !right.is_empty() && left.iter().any(|name| !right.contains(name)) && {
        // Columns of one and the same table join nothing.
        let table = |name: &String| name.rsplit_once('.').map(|(table, _)| table.to_owned());
        left.iter()
            .any(|name| table(name).is_none() || right.iter().any(|other| table(other) != table(name)))
    }
}

fn columns(expr: &Expr) -> Vec<String> {
    struct Columns(Vec<String>);
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Identifier(_) | Expr::CompoundIdentifier(_) = expr {
                self.0.push(expr.to_string().to_ascii_lowercase());
            }
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns(Vec::new());
    let _ = expr.visit(&mut columns);
    columns.0
}

/// What must all be true.
fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::Nested(inner) => conjuncts(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            let mut all = conjuncts(left);
            all.extend(conjuncts(right));
            all
        }
        other => vec![other],
    }
}

/// Whether a limit ends the query before all its rows are made: nothing in it needs them all.
fn stops_early(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    few(query.limit_clause.as_ref())
        && query.order_by.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && select.selection.is_none()
        && !groups(select)
        && select
            .projection
            .iter()
            .all(|item| is_plain_column(item) || matches!(item, SelectItem::Wildcard(_)))
}

fn is_plain_column(item: &SelectItem) -> bool {
    matches!(
        item,
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            | SelectItem::ExprWithAlias {
                expr: Expr::Identifier(_) | Expr::CompoundIdentifier(_),
                ..
            }
    )
}

fn reads_only_from(select: &Select, own: &str) -> bool {
    match select.from.as_slice() {
        [from] if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { name, args: None, .. } => parts(name) == [own],
            _ => false,
        },
        _ => false,
    }
}

fn few(limit: Option<&LimitClause>) -> bool {
    few_rows(limit, MOST_LINES)
}

fn few_rows(limit: Option<&LimitClause>, most: f64) -> bool {
    match limit {
        Some(LimitClause::LimitOffset {
            limit: Some(limit),
            offset,
            limit_by,
        }) => {
            let skipped = offset.as_ref().map_or(Some(0.0), |offset| number(&offset.value));
            limit_by.is_empty() && enough(number(limit), skipped, most)
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => enough(number(limit), number(offset), most),
        _ => false,
    }
}

/// What is skipped is made, too. A negative limit is none in `SQLite`.
fn enough(limit: Option<f64>, skipped: Option<f64>, most: f64) -> bool {
    match (limit, skipped) {
        (Some(limit), Some(skipped)) => limit >= 0.0 && skipped >= 0.0 && limit + skipped <= most,
        _ => false,
    }
}

fn unnested(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unnested(inner),
        other => other,
    }
}

fn name_of(cte: &Cte) -> String {
    cte.alias.name.value.to_ascii_lowercase()
}

/// The names without a schema that a query reads from.
fn relations(query: &Query) -> Vec<String> {
    struct Relations(Vec<String>);
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            if let [name] = parts(relation).as_slice() {
                self.0.push(name.clone());
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let mut bodies = vec![query.body.as_ref()];
            while let Some(body) = bodies.pop() {
                match body {
                    SetExpr::SetOperation { left, right, .. } => {
                        bodies.extend([left.as_ref(), right.as_ref()]);
                    }
                    SetExpr::Table(table) => self
                        .0
                        .extend(table.table_name.iter().map(|name| name.to_ascii_lowercase())),
                    _ => {}
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Relations(Vec::new());
    let _ = query.visit(&mut found);
    found.0
}
