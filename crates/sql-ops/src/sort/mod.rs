//! Order: by time, of whole bounded inputs, and limits.
