\set i 0
