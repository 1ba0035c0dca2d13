create or replace function f() returns int begin atomic select case when true then 1 end; end;
create rule r as on insert to t do (select 1; select 2);
copy t from stdin; insert into "a;b" values ('it''s;');
