//! Changelogs from one mode to another: normalization by key, retractions made and left out.
