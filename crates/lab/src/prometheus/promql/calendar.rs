//! Parts of a date: a value is a Unix time in seconds, read in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Minute,
    Hour,
    DayOfWeek,
    DayOfMonth,
    DayOfYear,
    DaysInMonth,
    Month,
    Year,
}

impl Part {
    pub(super) fn of(self, seconds: f64) -> f64 {
        // The cast saturates, and a time outside of the calendar has no date.
        let Ok(time) = Timestamp::from_second(seconds.floor() as i64) else {
            return f64::NAN;
        };
        if !seconds.is_finite() {
            return f64::NAN;
        }
        let date = time.to_zoned(TimeZone::UTC);
        match self {
            Self::Minute => f64::from(date.minute()),
            Self::Hour => f64::from(date.hour()),
            Self::DayOfWeek => f64::from(date.weekday().to_sunday_zero_offset()),
            Self::DayOfMonth => f64::from(date.day()),
            Self::DayOfYear => f64::from(date.day_of_year()),
            Self::DaysInMonth => f64::from(date.days_in_month()),
            Self::Month => f64::from(date.month()),
            Self::Year => f64::from(date.year()),
        }
    }
}
