DROP TABLE IF EXISTS readings;
CREATE TABLE readings (id int NOT NULL, filler text NOT NULL) PARTITION BY RANGE (id);
-- The old four fifths, and the new fifth that most readers want.
CREATE TABLE readings_old PARTITION OF readings FOR VALUES FROM (1) TO (:rows / 5 * 4 + 1) TABLESPACE :old;
CREATE TABLE readings_new PARTITION OF readings FOR VALUES FROM (:rows / 5 * 4 + 1) TO (:rows + 1) TABLESPACE :new;
