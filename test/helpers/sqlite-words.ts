// Owns what tests say in their statements that SQLite knows and PostgreSQL does not: functions of the same names in a
// test's database. Must not hold what the program itself says.

/** Makes them. Each writes as much of its namesake as tests ask for. */
export const sqliteWords = `
create function deskbell.printf(format text, number bigint) returns text language sql as $$
  select regexp_replace(format, '%0\\d+[dx]', lpad(
    case when format ~ '%0\\d+x' then to_hex(number) else number::text end,
    (regexp_match(format, '%0(\\d+)[dx]'))[1]::integer, '0'))
$$;
create function deskbell.printf(format text, first text, number bigint) returns text language sql as $$
  select deskbell.printf(replace(format, '%s', first), number)
$$;
create function deskbell.randomblob(bytes integer) returns bytea language sql volatile as $$
  select substring(string_agg(decode(md5(random()::text || n), 'hex'), ''::bytea) from 1 for bytes)
  from generate_series(0, bytes / 16) as n
$$;
create function deskbell.hex(bytes bytea) returns text language sql as $$ select upper(encode(bytes, 'hex')) $$;
create function deskbell.group_concat_step(so_far text, next text, between_them text) returns text language sql as $$
  select case when so_far is null then next else so_far || between_them || next end
$$;
create aggregate deskbell.group_concat(text, text) (sfunc = deskbell.group_concat_step, stype = text);
create function deskbell.pragma_table_info(of_table text) returns table (name text) language sql as $$
  -- The number of a row is the database's own.
  select column_name::text from information_schema.columns
  where table_schema = 'deskbell' and table_name = of_table and column_name <> 'rowid' order by ordinal_position
$$;`;
