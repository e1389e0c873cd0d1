-- Codes are compared folded, and found inside what is written around them (HĐK-2026-017, 8.500.000đ,
-- ERR_4021/ERR_4022, GIA-2026-10.xlsx).
set local search_path = mucluc, public, pg_temp;

create or replace function codes(x text) returns text[] language sql immutable strict parallel safe
return array(
  select c from (
    select m[1] as whole from regexp_matches(mucluc.fold(x),
      '([[:alnum:]]+(?:(?:[-_./]+|(?<=[0-9]),(?=[0-9]{3}))[[:alnum:]]+)+)', 'g') m) w,
  lateral (
    select whole as c
    union select unnest(string_to_array(whole, '/')) where whole ~ '/'
    union select substring(whole from '^(.*[0-9])[.][[:alpha:]]+$')
    union select substring(whole from '^([0-9]{1,3}(?:[.,][0-9]{3})+)[[:alpha:]]+$')) p
  where c ~ '[0-9_]' and c ~ '[-_./,]' and length(c) < 100
  union
  select '=' || m[1] from regexp_matches(mucluc.fold(x),
    '(?<![[:alnum:]_./-])([[:alpha:]]+[0-9]{2,}[[:alnum:]]*)(?![[:alnum:]]|[-_./]+[[:alnum:]])',
    'g') m
  where length(m[1]) < 100);

-- Lexemes made by the function as it was are made anew where they differ; the frequencies of these
-- tenants are counted again when a run ends.
with made as (
  select e.chunk_id, e.version_id, e.tenant, mucluc.lexemes(k.prefix || E'\n' || c.text) as tsv
  from mucluc.entry e
  join mucluc.index_version v on v.id = e.version_id
  join mucluc.chunk c on c.id = e.chunk_id
  join mucluc.context k on k.chunk_id = e.chunk_id and k.context_id = v.context_id
                       and k.input_sha256 = e.input_sha256
), changed as (
  update mucluc.entry e set tsv = m.tsv, len = mucluc.lexeme_count(m.tsv)
  from made m
  where e.chunk_id = m.chunk_id and e.version_id = m.version_id and e.tenant = m.tenant
    and e.tsv is distinct from m.tsv
  returning e.version_id, e.tenant
)
update mucluc.version_stat s set stale = true
where (s.version_id, s.tenant) in (select version_id, tenant from changed);
