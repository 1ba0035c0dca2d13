//! Samples, counters, histograms, intervals, summaries. Pure.
