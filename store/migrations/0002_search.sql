-- What a search may be narrowed to, exact codes and phrases first, fewer evaluations of what is
-- visible. Codes are indexed folded, and found inside what is written around them.
set local search_path = mucluc, public, pg_temp;
-- Loads its library: only then may a role that is no superuser name its settings (hnsw.*) below.
select '[1]'::public.vector;

drop function visible(int, text[]);
drop function my_acls();
drop function dense_hnsw(int, int, vector, int, text[]);
drop function dense_exact(int, int, vector, int, text[]);
drop function search_dense(int, text, vector, int, text[]);
drop function search_text(int, text, int, text[]);
drop function read_chunks(int, uuid[]);

alter table version_stat add column kinds jsonb not null default '{}';
alter table version_stat alter column kinds set statistics 0;
alter table version_stat add column acls jsonb not null default '{}';
alter table version_stat alter column acls set statistics 0;

-- The tone of each word moved behind it as a digit, so that its place in the word does not matter:
-- hoà, hòa -> hoa2. The rest of the vowel (ă, â, ê, ô, ơ, ư) stays, in NFC.
create function toned(x text) returns text language sql immutable strict parallel safe
return normalize(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
  normalize(x, NFD),
  '\u0301([a-z\u0302\u0306\u031b]*)', '\11', 'g'), '\u0300([a-z\u0302\u0306\u031b]*)', '\12', 'g'),
  '\u0309([a-z\u0302\u0306\u031b]*)', '\13', 'g'), '\u0303([a-z\u0302\u0306\u031b]*)', '\14', 'g'),
  '\u0323([a-z\u0302\u0306\u031b]*)', '\15', 'g'), NFC);

-- Of words that carry a mark; the others are left out.
create or replace function with_tone(x text) returns text language sql immutable strict parallel safe
return mucluc.toned(regexp_replace(x, '\m[a-z0-9]+\M', ' ', 'g'));

-- ERR_4021, BH-01, GIA-2026-10, 8.500.000, 1,148, v1.2.3: kept whole beside their parts, folded. Of
-- one that holds others: these too (ERR_4021/ERR_4022, 8.500.000đ, GIA-2026-10.xlsx). One without a
-- separator, and a clause with its number, get a sign in front (=e068, =dieu 12.3), which tells them
-- from the same letters inside another. x is in lower case.
create or replace function codes(x text) returns text[] language sql immutable strict parallel safe
return array(
  with f as materialized (
    select case when x ~ '[^\x01-\x7f]' then mucluc.fold(x) else x end as folded),
  runs as (
    select m[1] as run from f, regexp_matches(f.folded,
      '([[:alnum:]]+(?:(?:[-_./]+|(?<=[0-9]),(?=[0-9]{3}))[[:alnum:]]+)+)', 'g') m
    where m[1] ~ '[0-9_]')
  select c from (
    select run as c from runs
    union select unnest(string_to_array(run, '/')) from runs where run ~ '/'
    union select substring(run from '^(.*[0-9])[.][[:alpha:]]+$') from runs
    union select substring(run from '^([0-9]{1,3}(?:[.,][0-9]{3})+)[[:alpha:]]+$') from runs) p
  where c ~ '[0-9_]' and c ~ '[-_./,]' and length(c) < 100
  union
  select '=' || m[1] from f, regexp_matches(f.folded,
    '(?<![[:alnum:]_./-])([[:alpha:]]+[0-9]{2,}[[:alnum:]]*)(?![[:alnum:]]|[-_./]+[[:alnum:]])',
    'g') m
  where length(m[1]) < 100
  union
  select '=' || mucluc.fold(m[1]) || ' ' || m[2] from regexp_matches(x,
    '\m(điều|dieu|khoản|khoan|mục|muc|chương|chuong|phụ lục|phu luc|clause|section|article|chapter'
    '|appendix|annex)\s+([0-9]{1,4}(?:[.][0-9]{1,4})*)(?![[:alnum:]]|[-_./,]+[[:alnum:]])', 'g') m);

create or replace function lexemes(t text) returns tsvector
language plpgsql immutable strict parallel safe set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  x text := lower(normalize(t, NFC));
  y text := regexp_replace(x, '[^[:alnum:]]+', ' ', 'g');
  v tsvector;
begin
  if x ~ '[\u00c0-\u024f\u1e00-\u1eff]' then
    v := to_tsvector('mucluc.words', fold(y)) || to_tsvector('pg_catalog.simple', with_tone(y));
  else
    v := to_tsvector('mucluc.words', y);
  end if;
  if x ~ '[0-9_]' then
    v := v || array_to_tsvector(codes(x));
  end if;
  -- The parts of names in code (webhookSecret, DiffExecutor), which people also write apart.
  if t ~ '[a-z0-9][A-Z]' then
    v := v || to_tsvector('mucluc.words', array_to_string(array(
      select lower(regexp_replace(m[1], '([a-z0-9])([A-Z])', '\1 \2', 'g'))
      from regexp_matches(t, '\m([[:alnum:]]*[a-z0-9][A-Z][[:alnum:]]*)', 'g') m), ' '));
  end if;
  return v;
end $$;

-- The words of a text that carry marks, as lexemes, each with the lexeme that it also has without.
create function twins(t text) returns table (marked text, plain text)
language plpgsql immutable strict parallel safe set search_path = mucluc, pg_catalog, pg_temp as $$
declare y text := regexp_replace(lower(normalize(t, NFC)), '[^[:alnum:]]+', ' ', 'g');
begin
  if y !~ '[\u00c0-\u024f\u1e00-\u1eff]' then return; end if;
  return query
  select m.lexeme, min(f.lexeme)
  from unnest(to_tsvector('pg_catalog.simple', toned(y))) m, unnest(m.positions) mp,
       unnest(to_tsvector('mucluc.words', fold(y))) f, unnest(f.positions) fp
  where mp = fp and m.lexeme <> f.lexeme and m.lexeme ~ '[^\x01-\x7f]|[1-5]$'
  group by m.lexeme;
end $$;

-- What is indexed of a chunk: its context and its text, and what of its title and headings a short
-- context left out. A phrase in any of them is looked for here first. Codes of the text itself are
-- kept a second time (@bh-01): a heading's stand in every chunk below it.
create function entry_lexemes(p_prefix text, p_title text, p_headings text[], p_text text)
returns tsvector
language plpgsql immutable parallel safe set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  unsaid text;
  v tsvector;
begin
  select string_agg(part, E'\n' order by place) into unsaid
  from unnest(array_prepend(p_title, p_headings)) with ordinality u(part, place)
  where position(lower(btrim(regexp_replace(part, '\s+', ' ', 'g'))) in lower(p_prefix)) = 0;
  v := mucluc.lexemes(concat_ws(E'\n', unsaid, p_prefix, p_text));
  if p_text ~ '[0-9_]' then
    v := v || array_to_tsvector(array(
      select '@' || c from unnest(mucluc.codes(lower(normalize(p_text, NFC)))) c));
  end if;
  return v;
end $$;

-- ---------------------------------------------------------------------------------------------
-- Scope: what of the visible a search may return, as one JSON object:
--   {"collections": [], "sources": [], "languages": [], "kinds": [], "metadata": {"key": []},
--    "holds_from": "2026-01-01", "holds_to": "2026-12-31", "phrases": [], "without": []}
-- Each is optional. It narrows what identity and day allow, and never widens it.
-- ---------------------------------------------------------------------------------------------
create type scope as (
  collections text[],
  sources text[],
  languages text[],    -- lower case; en stands for en-GB too
  metadata jsonb,      -- key -> values, of which the revision states one
  holds daterange,     -- meets the revision's effective range
  kinds text[],        -- the chunk is of one of them
  phrases text[],      -- patterns for phrase_form(): every one stands in the chunk
  without text[],      -- patterns: none does
  accented boolean,    -- some pattern has accents
  needed tsquery,      -- what the tsvector of a chunk with every phrase matches
  words text           -- of the phrases
);

-- Text as phrases are compared in: lower case, what joins the parts of a code as \x02, every other
-- run of punctuation and white space as one space. Parts of a chunk are kept apart by \x01.
create function phrase_form(x text) returns text language sql immutable strict parallel safe
return ' ' || btrim(regexp_replace(regexp_replace(lower(normalize(x, NFC)),
  '(?<=[[:alnum:]])(?:[-_./]+|(?<=[0-9]),(?=[0-9]{3}))(?=[[:alnum:]])', E'\x02', 'g'),
  E'[^[:alnum:]\x01\x02]+', ' ', 'g')) || ' ';

-- A phrase as a pattern over such text, folded or with tones; null if it has no word. Where its
-- first or last word belongs to a code, no code goes on there: BH-01 is not in BH-01-A, nor is
-- 500.000 in 8.500.000.
create function phrase_pattern(x text) returns text
language plpgsql immutable strict parallel safe set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  form text := btrim(mucluc.phrase_form(replace(x, E'\x01', ' ')));
  folded text := mucluc.fold(form);
  groups text[] := string_to_array(folded, ' ');
  gap constant text := E'[ \x02]';
begin
  if folded !~ '[[:alnum:]]' then return null; end if;
  return case when groups[1] ~ '[0-9]' then ' ' else gap end
    || regexp_replace(case when folded = form then form else mucluc.toned(form) end, gap, gap, 'g')
    || case when groups[cardinality(groups)] ~ '[0-9]' then ' ' else gap end;
end $$;

-- Matches the tsvector of every text that the phrase stands in, and of some others (stems).
create function phrase_query(x text) returns tsquery language sql immutable strict parallel safe
return phraseto_tsquery('mucluc.words'::regconfig,
  mucluc.fold(regexp_replace(lower(normalize(x, NFC)), '[^[:alnum:]]+', ' ', 'g')));

create function texts_of(p jsonb) returns text[] language sql immutable strict parallel safe
return case when jsonb_typeof(p) = 'array' then array(select jsonb_array_elements_text(p)) end;

create function scope_of(p jsonb) returns scope
language plpgsql immutable parallel safe set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  s mucluc.scope;
  first date;
  last date;
begin
  if p is null or p = 'null' then return s; end if;
  -- A filter that is misspelt must not be one that lets everything through.
  if jsonb_typeof(p) <> 'object' or exists (
       select 1 from jsonb_each(p) f(key, value)
       where value <> 'null' and not case
         when key in ('collections', 'sources', 'languages', 'kinds', 'phrases', 'without')
           then jsonb_typeof(value) = 'array'
         when key = 'metadata' then jsonb_typeof(value) = 'object'
           and not exists (select 1 from jsonb_each(value) m where jsonb_typeof(m.value) <> 'array')
         when key in ('holds_from', 'holds_to')
           then value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
         else false end) then
    raise exception using errcode = 'MU006', message = 'the scope is not understood';
  end if;
  first := p ->> 'holds_from';
  last := p ->> 'holds_to';
  s.collections := mucluc.texts_of(p -> 'collections');
  s.sources := mucluc.texts_of(p -> 'sources');
  s.languages := string_to_array(lower(array_to_string(mucluc.texts_of(p -> 'languages'), ',')), ',');
  s.metadata := nullif(nullif(p -> 'metadata', 'null'), '{}');
  s.holds := case when first > last then 'empty'
                  when first is not null or last is not null then daterange(first, last, '[]') end;
  s.kinds := mucluc.texts_of(p -> 'kinds');
  select array_agg(mucluc.phrase_pattern(x)),
         array_to_string(array_agg(mucluc.phrase_query(x)::text), ' & ')::tsquery,
         string_agg(x, E'\n')
    into s.phrases, s.needed, s.words
    from unnest(mucluc.texts_of(p -> 'phrases')) x where mucluc.phrase_pattern(x) is not null;
  select array_agg(mucluc.phrase_pattern(x)) into s.without
    from unnest(mucluc.texts_of(p -> 'without')) x where mucluc.phrase_pattern(x) is not null;
  s.accented := exists (
    select 1 from unnest(mucluc.texts_of(p -> 'phrases') || mucluc.texts_of(p -> 'without')) x
    where mucluc.fold(mucluc.phrase_form(x)) <> mucluc.phrase_form(x));
  return s;
end $$;

-- Whether every phrase of a scope stands in a chunk, and nothing of what must not.
create function obeys(s scope, p_title text, p_headings text[], p_text text) returns boolean
language plpgsql stable parallel safe set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  form text := mucluc.phrase_form(concat_ws(E' \x01 ', p_title,
                                            array_to_string(p_headings, E' \x01 '), p_text));
begin
  form := concat_ws(E'\x01', mucluc.fold(form), case when s.accented then mucluc.toned(form) end);
  return not exists (select 1 from unnest(s.phrases) p where form !~ p)
     and not exists (select 1 from unnest(s.without) p where form ~ p);
end $$;

-- The ACL sets that the identity is in, deny entries winning.
create function my_acls() returns int[]
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
declare i mucluc.identity := mucluc.me();
begin
  return (select coalesce(array_agg(a.id), '{}') from mucluc.acl_set a
          where a.tenant = i.tenant and a.principals && i.principals
            and not a.denied && i.principals);
end $$;

-- The one filter: what the identity may see of a version on its date, and what a scope asks for of
-- documents and revisions. Everything below uses it. $1 tenant, $2 ACL sets, $3 version, $4 day,
-- $5 scope. Only the conditions that are asked for are written: a plan for all of them, or for any
-- identity, guesses one row where there are thousands. So would @> alone, of which the planner
-- thinks that one row in two hundred holds a day.
create function visible_query(s scope) returns text language sql immutable parallel safe
return concat($q$
    select d.id as document_id, p.revision_id, p.cut_id, p.n_chunks
    from mucluc.document d
    join mucluc.published p on p.document_id = d.id
    where d.tenant = $1 and d.deleted_at is null and d.acl_id = any($2)
      and p.version_id = $3 and case when p.valid @> $4 then true else false end $q$,
  case when (s).collections is not null then
    ' and d.collection = any(($5).collections)' end,
  case when (s).sources is not null then
    ' and d.source = any(($5).sources)' end,
  case when (s).holds is not null then
    ' and p.valid && ($5).holds' end,
  case when (s).languages is not null then $q$
      and exists (
        select 1 from mucluc.revision r, lower(coalesce(r.language, (
          select x.language from mucluc.parse x where x.revision_id = r.id
          order by x.parser_id limit 1))) l
        where r.id = p.revision_id
          and (l = any(($5).languages) or split_part(l, '-', 1) = any(($5).languages))) $q$ end,
  case when (s).metadata is not null then $q$
      and exists (
        select 1 from mucluc.revision r
        where r.id = p.revision_id and not exists (
          select 1 from jsonb_each(($5).metadata) wanted
          where not exists (
            select 1 from jsonb_array_elements_text(
              case jsonb_typeof(r.metadata -> wanted.key) when 'array' then r.metadata -> wanted.key
                   else jsonb_build_array(r.metadata -> wanted.key) end) stated
            where stated = any(mucluc.texts_of(wanted.value))))) $q$ end);

create function visible(p_version int)
returns table (document_id uuid, revision_id uuid, cut_id text, n_chunks int)
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
declare i mucluc.identity := mucluc.me();
begin
  if i.tenant is null then return; end if;
  return query execute mucluc.visible_query(null)
    using i.tenant, mucluc.my_acls(), p_version, i.as_of, null::mucluc.scope;
end $$;

-- Chunks of the visible documents: what the ways of searching are chosen by. It filters nothing, and
-- every way that it leads to is checked for having found enough. So where no scope narrows documents,
-- on hot days, the sizes of the ACL sets as the last run counted them will do; from 20,000 on, since
-- fewer are counted in less time than a search takes, and none at all must be known.
-- One search asks more than once, so a count is kept for the transaction, signed as the identity is,
-- and for this identity, version and scope alone.
create function visible_size(p_version int, s scope) returns bigint
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  i mucluc.identity := mucluc.me();
  kept text := current_setting('mucluc.size', true);
  question text := concat_ws(' ', 'size', p_version, s, current_setting('mucluc.signature', true));
  seen bigint;
begin
  if i.tenant is null then return 0; end if;
  if kept <> '' and exists (
       select 1 from mucluc.signing_key k
       where mucluc.sign(concat_ws(' ', split_part(kept, ' ', 1), question), k.key)
             = split_part(kept, ' ', 2)) then
    return split_part(kept, ' ', 1)::bigint;
  end if;
  if s.collections is null and s.sources is null and s.holds is null and s.languages is null
     and s.metadata is null then
    select sum((t.acls ->> a.id::text)::bigint) into seen
      from mucluc.version_stat t, unnest(mucluc.my_acls()) a(id)
     where t.version_id = p_version and t.tenant = i.tenant
       and i.as_of >= (select v.hot_from from mucluc.index_version v where v.id = p_version);
    if seen >= 20000 then return seen; end if;
  end if;
  execute format('select coalesce(sum(v.n_chunks), 0) from (%s) v', mucluc.visible_query(s))
    into seen using i.tenant, mucluc.my_acls(), p_version, i.as_of, s;
  if seen > 0 then
    perform set_config('mucluc.size', concat_ws(' ', seen,
      mucluc.sign(concat_ws(' ', seen, question), k.key)), true)
    from mucluc.signing_key k limit 1;
  end if;
  return seen;
end $$;

-- The same for a version by its name, to compare one that no alias points at. It tells no more than
-- resolve() does of the active one; what is found in it goes through the same filter. A retired
-- version waits for its removal and is not offered.
create function resolve_version(p_index text, p_name text)
returns table (version_id int, name text, model text, recipe jsonb, dimensions int)
language sql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select v.id, v.name, v.model, v.recipe, v.dimensions
  from mucluc.index_version v
  where v.index_name = p_index and v.name = p_name and v.state in ('building', 'ready')
$$;

-- Whether a chunk's text, headings and title obey a scope's phrases. The title is that of the
-- revision which shows the chunk.
create function chunk_obeys(p_version int, p_chunk uuid, p_as_of date, p_scope scope)
returns boolean language sql stable parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select mucluc.obeys(p_scope, coalesce(r.title, (
           select x.title from mucluc.parse x where x.revision_id = r.id
           order by x.parser_id limit 1)), c.heading_path, c.text)
  from mucluc.chunk c
  join mucluc.revision_chunk rc on rc.chunk_id = c.id
  join mucluc.published p on p.revision_id = rc.revision_id and p.cut_id = rc.cut_id
  join mucluc.revision r on r.id = p.revision_id
  where c.id = p_chunk and p.version_id = p_version and p.valid @> p_as_of
  limit 1
$$;

-- What a scope, $5, asks of chunks, as conditions on entry e.
create function chunk_conditions(s scope) returns text language sql immutable parallel safe
return concat(
  case when (s).needed is not null then ' and e.tsv @@ ($5).needed' end,
  case when (s).kinds is not null then
    ' and exists (select 1 from mucluc.chunk x where x.id = e.chunk_id and x.kinds && ($5).kinds)'
  end);

-- Whether a chunk of a visible document belongs to what is visible of it: a revision that the version
-- holds, of that document, on the day. A condition on row r; of few rows, in their order, since each
-- costs a look-up.
create function placement(r text) returns text language sql immutable parallel safe
return format($q$ exists (
    select 1 from mucluc.revision_chunk rc
    join mucluc.published p on p.revision_id = rc.revision_id and p.cut_id = rc.cut_id
    where rc.chunk_id = %1$s.chunk_id and p.version_id = $3 and p.valid @> $4
      and p.document_id = %1$s.document_id offset 0) $q$, r);

-- Whoever may create in public could put a better matching operator there (of numeric and int, of
-- a range and a date), which would run as mucluc_search; so public is in no function's path.
--
-- The p_reach nearest by the index, whoever may see them, and of these the nearest that the filter
-- lets through. Fewer than p_k when the question lies among what is hidden.
create function dense_hnsw(p_version int, p_dimensions int, p_query vector, p_k int,
                           p_scope scope, p_reach int)
returns table (chunk_id uuid, distance float8)
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp
set hnsw.iterative_scan = off set hnsw.ef_search = 200
set enable_sort = off set enable_seqscan = off set jit = off as $$
declare i mucluc.identity := mucluc.me();
begin
  perform set_config('hnsw.ef_search', greatest(p_reach, 200)::text, true);
  return query execute format($f$
    with near as materialized (
      select e.chunk_id, e.document_id, (e.embedding::public.halfvec(%1$s))
               operator(public.<=>) $6::public.halfvec(%1$s) as distance
      from mucluc.entry e
      where e.version_id = %2$s and e.tenant = $1 and e.hot
      order by (e.embedding::public.halfvec(%1$s))
               operator(public.<=>) $6::public.halfvec(%1$s)
      limit $8)
    select e.chunk_id, e.distance
    from (select * from near order by distance, chunk_id offset 0) e
    where exists (select 1 from (%3$s) v where v.document_id = e.document_id offset 0)
      and %4$s %5$s
    order by e.distance, e.chunk_id limit $7 $f$,
    p_dimensions, p_version, mucluc.visible_query(p_scope), mucluc.placement('e'),
    concat(mucluc.chunk_conditions(p_scope),
           case when p_scope.without is not null
                then ' and mucluc.chunk_obeys($3, e.chunk_id, $4, $5)' end))
  using i.tenant, mucluc.my_acls(), p_version, i.as_of, p_scope, p_query, p_k, p_reach;
end $$;

-- All chunks of the visible documents by their distance. On hot days nearly every entry belongs to a
-- revision of the day, so that is looked at for the nearest alone, and for all where too few are
-- left; so are phrases.
create function dense_exact(p_version int, p_dimensions int, p_query vector, p_k int,
                            p_scope scope)
returns table (chunk_id uuid, distance float8)
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp
set jit = off set max_parallel_workers_per_gather = 0 set random_page_cost = 1.1 as $$
declare
  i mucluc.identity := mucluc.me();
  hot boolean;
  documents uuid[];
  most int;
  nearest uuid[];
  distances float8[];
begin
  select i.as_of >= v.hot_from into hot from mucluc.index_version v where v.id = p_version;
  -- As an array, whose length the planner sees.
  execute format('select array_agg(v.document_id) from (%s) v', mucluc.visible_query(p_scope))
    into documents using i.tenant, mucluc.my_acls(), p_version, i.as_of, p_scope;
  if documents is null then return; end if;
  most := case when hot and p_scope.phrases is null and p_scope.without is null
               then 2 * p_k + 100 end;
  loop
    execute format($f$
      select array_agg(s.chunk_id order by s.distance, s.chunk_id), array_agg(s.distance order by
             s.distance, s.chunk_id) from (
        select s.chunk_id, s.distance from (
          select * from (
            select e.chunk_id, e.document_id, (e.embedding::public.halfvec(%1$s))
                     operator(public.<=>) $6::public.halfvec(%1$s) as distance
            from mucluc.entry e
            where e.version_id = %2$s and e.tenant = $1 and e.document_id = any($2) %3$s
            offset 0) e
          order by e.distance, e.chunk_id %4$s) s
        where %5$s %6$s
        order by s.distance, s.chunk_id limit $7) s $f$,
      p_dimensions, p_version,
      concat(case when hot then ' and e.hot' end, mucluc.chunk_conditions(p_scope)),
      coalesce('limit ' || most, 'offset 0'), mucluc.placement('s'),
      case when p_scope.phrases is not null or p_scope.without is not null
           then 'and mucluc.chunk_obeys($3, s.chunk_id, $4, $5)' end)
    into nearest, distances
    using i.tenant, documents, p_version, i.as_of, p_scope, p_query, p_k;
    exit when most is null or cardinality(nearest) = p_k;
    most := null;
  end loop;
  return query select * from unnest(nearest, distances);
end $$;

-- Rule (measured, bench/ and docs/design.md): from a fifth of the index on that is visible, where
-- that is more than 2,000 chunks -> HNSW, else exact. The index is asked for twice the neighbours of
-- which as many as are wanted should be visible; when they are not, the question lies elsewhere than
-- what may be seen, HNSW would lose neighbours, and the search is exact after all, or, where that
-- would take long, asks the index for more first. Days before hot_from are searched exactly, and so
-- are phrases, which the text index makes few; of a kind of chunks the share is estimated.
create function search_dense(p_version int, p_model text, p_query vector, p_k int,
                             p_scope jsonb default null)
returns table (rank int, chunk_id uuid, distance float8, plan text)
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  i mucluc.identity := mucluc.me();
  s mucluc.scope := mucluc.scope_of(p_scope);
  v mucluc.index_version;
  seen float8;
  total float8;
  reach int;
  nearest uuid[];
  distances float8[];
begin
  if i.tenant is null then return; end if;
  select * into v from mucluc.index_version where id = p_version;
  if not found or v.model <> p_model then
    raise exception using errcode = 'MU005', message = 'the query was embedded by another model';
  end if;
  seen := mucluc.visible_size(p_version, s);
  if seen = 0 then return; end if;
  select sum(t.n), seen * case when s.kinds is null then 1 else coalesce(least(1, sum((
           select sum(c.value::float8) from jsonb_each_text(t.kinds) c where c.key = any(s.kinds)
         )) filter (where t.tenant = i.tenant)
         / nullif(sum(t.n) filter (where t.tenant = i.tenant), 0)), 0) end
    into total, seen
    from mucluc.version_stat t
   where t.version_id = p_version and t.part = (
     select o.part from mucluc.version_stat o
     where o.version_id = p_version and o.tenant = i.tenant);
  if s.needed is null and i.as_of >= v.hot_from
     and seen > 2000 and seen >= 0.2 * total and 2 * p_k * total <= 1000 * seen then
    reach := ceil(2 * p_k * total / seen);
    loop
      select array_agg(h.chunk_id order by h.distance, h.chunk_id),
             array_agg(h.distance order by h.distance, h.chunk_id) into nearest, distances
        from mucluc.dense_hnsw(p_version, v.dimensions, p_query, p_k, s, reach) h;
      if cardinality(nearest) = p_k then
        return query select f.rank::int, f.chunk_id, f.distance, 'hnsw'
          from unnest(nearest, distances) with ordinality f(chunk_id, distance, rank);
        return;
      end if;
      exit when reach = 1000 or seen <= 100000;
      reach := 1000;
    end loop;
  end if;
  return query select (row_number() over (order by h.distance, h.chunk_id))::int,
                      h.chunk_id, h.distance, case when reach is null then 'exact' else 'hnsw' end
    from mucluc.dense_exact(p_version, v.dimensions, p_query, p_k, s) h;
end $$;

-- BM25 (Robertson & Zaragoza 2009; k1 1.2, b 0.75, idf as in Lucene) in two phases: the sum of the
-- idf of the rarest terms, from GIN and heap without reading a tsvector, keeps the best 400; these
-- are scored in full. Terms are taken, rarest first, until their document frequencies reach
-- 20,000. Few visible chunks are scored directly.
--
-- Chunks that hold more of the question's codes whole come first (of these, those with more of them
-- in the text itself), then those that hold its words as a phrase, then the others. Dates are no
-- codes here: they say when, not what.
create function search_text(p_version int, p_question text, p_k int, p_scope jsonb default null)
returns table (rank int, chunk_id uuid, score float8, plan text, codes int, phrase boolean)
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp
set jit = off set max_parallel_workers_per_gather = 0 set random_page_cost = 1.1 as $$
declare
  i mucluc.identity := mucluc.me();
  s mucluc.scope := mucluc.scope_of(p_scope);
  exact text[];
  words tsquery := mucluc.phrase_query(p_question);
  terms text[]; dfs float8[]; idfs float8[];
  marked text[]; plains text[];
  n float8; avgdl float8;
  seen bigint := mucluc.visible_size(p_version, s);
  few boolean;  -- visible: then they are all scored
  hot boolean;
  wide boolean; -- most of the tenant's are visible
  documents uuid[];
  acls int[] := mucluc.my_acls();
  narrowed boolean := true;
  branches text; bound float8; lowest float8; best tid[];
begin
  if i.tenant is null or seen = 0 then return; end if;
  few := seen <= 1000;
  select t.n, t.total_len::float8 / greatest(t.n, 1) into n, avgdl
    from mucluc.version_stat t where t.version_id = p_version and t.tenant = i.tenant;
  n := greatest(coalesce(n, 0), seen);
  avgdl := coalesce(nullif(avgdl, 0), 100);
  select i.as_of >= v.hot_from into hot from mucluc.index_version v where v.id = p_version;
  -- A term without a frequency is new since the last run ended, so it is rare.
  select array_agg(t.lexeme order by t.df, t.lexeme), array_agg(t.df order by t.df, t.lexeme),
         array_agg(ln(1 + (n - t.df + 0.5) / (t.df + 0.5)) order by t.df, t.lexeme)
    into terms, dfs, idfs
    from (select l as lexeme, least(coalesce(f.df, 1), n)::float8 as df
          from unnest(tsvector_to_array(mucluc.lexemes(concat_ws(E'\n', p_question, s.words)))) l
          left join mucluc.lexeme_stat f
            on f.version_id = p_version and f.tenant = i.tenant and f.lexeme = l) t;
  if terms is null then return; end if;
  exact := array(select c from unnest(mucluc.codes(lower(normalize(p_question, NFC)))) c
                 where c !~ '^[0-9]{1,4}[/-][0-9]{1,4}([/-][0-9]{1,4})?$');
  if numnode(words) < 3 then words := null; end if;

  select array_agg(w.marked), array_agg(w.plain) into marked, plains
    from mucluc.twins(concat_ws(E'\n', p_question, s.words)) w;
  wide := not few and seen >= 0.3 * n;
  if not wide then
    execute format('select array_agg(v.document_id) from (%s) v', mucluc.visible_query(s))
      into documents using i.tenant, acls, p_version, i.as_of, s;
  end if;
  while not few loop
    -- Phase 1. A chunk that holds one of its terms alone has no place among the best if 400 others
    -- are worth more than that term; so of terms that are worth less than one which is expected in
    -- 500 visible chunks, only the chunks are fetched that hold another term, too (MaxScore, Turtle
    -- & Flood 1995). Likewise most are visible, or only the best are looked at. What was expected is
    -- checked, and if it was not so, the phase runs again without.
    -- Not where the index would read more than it saves: for terms not common enough beside the
    -- rarer ones.
    -- Each chunk with nghi3 holds nghi, too: it is fetched once, for both, and by nghi alone only the
    -- chunks without nghi3. Where a question has nghi1 besides, each of the three is fetched.
    select string_agg(format($f$
             select e.ctid as c, e.chunk_id, e.document_id, %s::float8 as w from mucluc.entry e
             where e.version_id = %s and e.tenant = $1 and e.tsv @@ %L::tsquery %s %s $f$,
             z.w, p_version, concat(mucluc.quote_lexemes(array[z.lexeme]),
               ' & !' || mucluc.quote_lexemes(array[z.but]),
               case when z.narrow then concat(' & (', mucluc.quote_lexemes(array(
                 select l from unnest(z.lexemes) l where l <> all(z.own))), ')') end),
             case when hot then 'and e.hot' end, mucluc.chunk_conditions(s)),
             ' union all ' order by z.place),
           max(z.w) filter (where z.narrow)
      into branches, bound
      from (
        select y.*, narrowed and y.budget < 5 * y.df and not y.crowded
                    and y.w < max(y.w) filter (where y.df * seen / n >= 500) over () as narrow
        from (
          select x.lexeme, x.place, x.budget, x.lexemes, x.twins > 1 and x.shared > 0 as crowded,
                 case when x.twins = 1 and x.shared > 0 then array[x.plain, x.twin]
                      else array[x.lexeme] end as own,
                 case when x.twins = 1 and x.lexeme = x.plain then x.twin end as but,
                 x.df - case when x.twins = 1 and x.lexeme = x.plain then x.twin_df else 0 end as df,
                 x.w + case when x.twins = 1 and x.lexeme <> x.plain then x.shared else 0 end as w
          from (
            select t.*, array_agg(t.lexeme) over () as lexemes,
                   count(*) filter (where t.lexeme <> t.plain) over alike as twins,
                   min(t.lexeme) filter (where t.lexeme <> t.plain) over alike as twin,
                   min(t.df) filter (where t.lexeme <> t.plain) over alike as twin_df,
                   coalesce(sum(t.w) filter (where t.lexeme = t.plain) over alike, 0) as shared
            from (
              select l.lexeme, l.df, l.idf::float4::float8 as w, l.place,
                     sum(l.df) over (order by l.place) as budget,
                     coalesce(p.plain, l.lexeme) as plain
              from unnest(terms, dfs, idfs) with ordinality l(lexeme, df, idf, place)
              left join unnest(marked, plains) p(marked, plain) on p.marked = l.lexeme) t
            where t.budget <= 20000 or t.place = 1
            window alike as (partition by t.plain)) x) y) z;
    narrowed := narrowed and (wide or bound is not null);
    -- Weights have a float4's digits and are summed as float8: exactly, so in any order.
    -- Documents are looked at before the limit; a chunk's own revision after it, for the chunks that
    -- are returned. Off the hot set too many chunks could belong to ended revisions, so there that
    -- comes first; and so does what must not stand in a chunk. An array of documents is unnested,
    -- since the planner would weigh each element of one that it compares with.
    execute format($f$
      select array_agg(b.c order by b.w desc, b.chunk_id), min(b.w) from (
        select e.c, e.chunk_id, e.w from (
          select * from (
            select z.c, any_value(z.chunk_id) as chunk_id, any_value(z.document_id) as document_id,
                   sum(z.w) as w
            from (%1$s) z %2$s group by z.c) e
          order by e.w desc, e.chunk_id %3$s) e
        where true %4$s
        order by e.w desc, e.chunk_id limit 400) b $f$,
      branches,
      case when not wide then 'where z.document_id in (select unnest($6))' end,
      case when wide and narrowed then 'limit ' || ceil(100 + 500 * n / seen) else 'offset 0' end,
      concat(
        case when wide then format('and exists (select 1 from (%s) v
          where v.document_id = e.document_id offset 0)', mucluc.visible_query(s)) end,
        case when not hot then 'and' || mucluc.placement('e') end,
        case when s.without is not null then 'and mucluc.chunk_obeys($3, e.chunk_id, $4, $5)' end))
    into best, lowest using i.tenant, acls, p_version, i.as_of, s, documents;
    exit when not narrowed or cardinality(best) = 400 and lowest > coalesce(bound, 0);
    narrowed := false;
  end loop;
  -- tf comes from the rank of one term, which is the sum of 1/j^2 over its first tf numbers, divided
  -- by that of all: exact up to the 255 positions that a tsvector keeps, and ten times quicker than
  -- unnesting it.
  return query execute format($f$
    with scored as materialized (
      select c.chunk_id, c.document_id, 2.2 * (%s) as score, %s as codes, %s as own,
             coalesce(c.tsv @@ $7, false) as phrase
      from (select e.chunk_id, e.document_id, e.tsv || '' as tsv,
                   1.2 * (0.25 + 0.75 * e.len / $6) as kk
            from mucluc.entry e
            where e.version_id = %s and e.tenant = $1 and %s offset 0) c
      where c.tsv @@ $8),
    ranked as (
      select r.* from (
        select * from scored
        order by codes desc, own desc, phrase desc, score desc, chunk_id offset 0) r
      where %s %s
      order by r.codes desc, r.own desc, r.phrase desc, r.score desc, r.chunk_id limit $9)
    select (row_number() over (order by r.codes desc, r.own desc, r.phrase desc, r.score desc,
                                        r.chunk_id))::int,
           r.chunk_id, r.score, %L, r.codes, r.phrase
    from ranked r order by 1 $f$,
    (select string_agg(format($f$
        %s * (1 - c.kk / (c.kk + round(
          1 / (1.6449340668 * (1 - ts_rank('{1,1,1,1}', c.tsv, %L))) - 0.5))) $f$,
        t.idf, mucluc.quote_lexemes(array[t.lexeme])), ' + ' order by t.place)
     from unnest(terms, idfs) with ordinality t(lexeme, idf, place)),
    coalesce((select string_agg(format('(c.tsv @@ %L)::int', mucluc.quote_lexemes(array[c])), ' + ')
              from unnest(exact) c), '0'),
    coalesce((select string_agg(format('(c.tsv @@ %L)::int', mucluc.quote_lexemes(array['@' || c])),
                                ' + ') from unnest(exact) c), '0'),
    p_version,
    case when few then concat('e.document_id = any($2)', mucluc.chunk_conditions(s))
         else 'e.ctid = any($10)' end,
    mucluc.placement('r'),
    case when s.phrases is not null or (s.without is not null and few)
         then 'and mucluc.chunk_obeys($3, r.chunk_id, $4, $5)' end,
    case when few then 'direct' else 'two-phase' end)
  using i.tenant, documents, p_version, i.as_of, s, avgdl, words,
        mucluc.quote_lexemes(terms)::tsquery, p_k, best;
end $$;

-- The rows behind chunk ids, filtered again: an id alone opens nothing.
create function read_chunks(p_version int, p_chunks uuid[])
returns table (chunk_id uuid, document_id uuid, revision_id uuid, uri text, source text,
               collection text, title text, heading_path text[], page_start int, page_end int,
               char_start int, char_end int, table_id text, kinds text[], language text,
               valid daterange, stale boolean, text text, added int[], metadata jsonb)
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  i mucluc.identity := mucluc.me();
  acls int[] := mucluc.my_acls();
begin
  return query
  select distinct on (c.id)
         c.id, d.id, r.id, d.uri, d.source, d.collection, coalesce(r.title, pa.title),
         c.heading_path, rc.page_start, rc.page_end, rc.char_start, rc.char_end, rc.table_id,
         c.kinds, coalesce(r.language, pa.language), p.valid, d.stale, c.text, c.added, r.metadata
  from mucluc.chunk c
  join mucluc.document d on d.id = c.document_id
  join mucluc.revision_chunk rc on rc.chunk_id = c.id
  join mucluc.published p on p.version_id = p_version and p.revision_id = rc.revision_id
                         and p.cut_id = rc.cut_id
  join mucluc.revision r on r.id = p.revision_id
  left join lateral (select x.title, x.language from mucluc.parse x
                     where x.revision_id = r.id order by x.parser_id limit 1) pa on true
  where c.id = any(p_chunks)
    and d.tenant = i.tenant and d.deleted_at is null and d.acl_id = any(acls)
    and p.valid @> i.as_of
  order by c.id, rc.ordinal;
end $$;

do $$
declare f record;
begin
  grant create on schema mucluc to mucluc_search;
  for f in select p.oid::regprocedure as signature, p.prosecdef from pg_proc p
           where p.pronamespace = 'mucluc'::regnamespace and p.proacl is null loop
    execute format('revoke all on function %s from public', f.signature);
    if f.signature::text ~ '^(mucluc[.])?(toned|my_acls|resolve_version|search_dense|search_text|read_chunks)[(]' then
      execute format('grant execute on function %s to mucluc_reader', f.signature);
    end if;
    if f.prosecdef then
      execute format('alter function %s owner to mucluc_search', f.signature);
    else
      execute format('grant execute on function %s to mucluc_search', f.signature);
    end if;
  end loop;
  revoke create on schema mucluc from mucluc_search;
end $$;

-- Lexemes made by the functions as they were are made anew where they differ; frequencies and
-- chunks of each kind are counted when a run ends.
with made as (
  select distinct on (e.chunk_id, e.version_id, e.tenant) e.chunk_id, e.version_id, e.tenant,
         mucluc.entry_lexemes(k.prefix, coalesce(r.title, (
           select x.title from mucluc.parse x where x.revision_id = r.id
           order by x.parser_id limit 1)), c.heading_path, c.text) as tsv
  from mucluc.entry e
  join mucluc.index_version v on v.id = e.version_id
  join mucluc.chunk c on c.id = e.chunk_id
  join mucluc.context k on k.chunk_id = e.chunk_id and k.context_id = v.context_id
                       and k.input_sha256 = e.input_sha256
  join mucluc.revision_chunk rc on rc.chunk_id = e.chunk_id
  join mucluc.revision r on r.id = rc.revision_id
  order by e.chunk_id, e.version_id, e.tenant, r.sequence desc
)
update mucluc.entry e set tsv = m.tsv, len = mucluc.lexeme_count(m.tsv)
from made m
where e.chunk_id = m.chunk_id and e.version_id = m.version_id and e.tenant = m.tenant
  and e.tsv is distinct from m.tsv;
update mucluc.version_stat set stale = true;
