//! A CSV file of numbers with named columns.

/// Columns and rows, as they stand.
#[derive(Debug)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<f64>>,
}

/// A column that a file lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no column `{0}`")]
pub struct NoColumn(pub String);

impl Table {
    /// Units in brackets are no part of a column's name. What is no number becomes NaN.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let name = |cell: &str| cell.split('(').next().unwrap_or("").trim().trim_start_matches('\u{feff}').to_lowercase();
        let columns = lines.next().map(|header| header.split(',').map(name).collect()).unwrap_or_default();
        let rows = lines.map(|line| line.split(',').map(|cell| cell.trim().parse().unwrap_or(f64::NAN)).collect()).collect();
        Self { columns, rows }
    }

    /// The rows of these columns, each under any of its names (`t|time`), and how many were left out because a number of theirs is
    /// missing, not finite or negative.
    pub fn pick<const N: usize>(&self, names: [&str; N]) -> Result<(Vec<[f64; N]>, usize), NoColumn> {
        let mut places = [0; N];
        for (place, name) in places.iter_mut().zip(names) {
            let found = self.columns.iter().position(|column| name.split('|').any(|name| name == column));
            *place = found.ok_or_else(|| NoColumn(name.replace('|', "` or `")))?;
        }
        let row = |row: &Vec<f64>| -> [f64; N] { places.map(|place| row.get(place).copied().unwrap_or(f64::NAN)) };
        let good: Vec<[f64; N]> =
            self.rows.iter().map(row).filter(|row| row.iter().all(|number| number.is_finite() && *number >= 0.0)).collect();
        let bad = self.rows.len() - good.len();
        Ok((good, bad))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_bad_rows_are_counted() {
        let table = Table::parse("t (us),range (byte)\n1.5,16\nNaN,32\n2.5\n\n3e3, 48 \n-1,64\n");
        assert_eq!(table.pick(["range", "time|t"]), Ok((vec![[16.0, 1.5], [48.0, 3e3]], 3)));
        assert_eq!(table.pick(["stride"]), Err(NoColumn("stride".to_owned())));
        assert!(Table::parse("").pick(["t"]).is_err());
    }
}
