SELECT count(*), sum(length(filler)) FROM readings;
