-- mucluc: the whole database contract (docs/design.md says why it is so).
--
-- Needs PostgreSQL 16 or newer, pgvector 0.8 or newer, and no other extension. Run once, in one
-- transaction, by the role that will own the tables. It states the newest version; what brings an
-- older database here is in store/migrations/.
--
-- Who is who:
--   the installing role  owns the tables; the pipeline connects as it
--   mucluc_search        owns the search functions; no login; reads every row, and filters
--   mucluc_reader        what a search runs as; sees only what the signed identity may see
-- Roles belong to the whole server, so another database of it may have made them already.

create schema mucluc;
create extension if not exists vector with schema public;
-- Loads its library: only then may a role that is no superuser name its settings (hnsw.*) below.
select '[1]'::public.vector;

do $$
declare role text;
begin
  foreach role in array array['mucluc_search', 'mucluc_reader'] loop
    begin
      execute format('create role %I nologin nosuperuser nobypassrls noinherit', role);
    exception when duplicate_object or unique_violation then null;
    end;
    execute format('grant %I to current_user with inherit false, set true', role);
    execute format('grant usage on schema mucluc, public to %I', role);
  end loop;
end $$;
revoke all on schema mucluc from public;
set local search_path = mucluc, public, pg_temp;

create table schema_version (
  version int primary key,
  applied_at timestamptz not null default now()
);
insert into schema_version (version) values (5);

-- ---------------------------------------------------------------------------------------------
-- Runs. A run's id is its epoch: the newest running run of a lock key is the only one that may
-- write (I8). A session advisory lock keeps two from starting; the epoch stops one that lost it.
-- ---------------------------------------------------------------------------------------------
create table run (
  id bigint generated always as identity primary key,
  kind text not null,
  lock_key text not null,
  tenant text,
  source text,
  options jsonb not null default '{}',
  state text not null default 'running' check (state in (
    'running',   -- the only state in which fence() lets its transactions write
    'done',      -- running -> done
    'failed',    -- running -> failed: it said so itself
    'lost')),    -- running -> lost: a later run of the same key began
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  report jsonb
);
-- At most one run of a key may write.
create unique index run_running on run (lock_key) where state = 'running';

-- Called first in every writing transaction. FOR SHARE makes the next run of the key, which marks
-- this one lost, wait for the transaction; after that the row no longer matches.
create function fence(p_run bigint) returns void language plpgsql as $$
begin
  perform 1 from mucluc.run where id = p_run and state = 'running' for share;
  if not found then
    raise exception using errcode = 'MU001', message = 'this run no longer holds its lock';
  end if;
end $$;

-- ---------------------------------------------------------------------------------------------
-- Documents: place, access and deletion live here and only here (I5).
-- ---------------------------------------------------------------------------------------------
create table acl_set (
  id int generated always as identity primary key,
  tenant text not null,
  principals text[] not null,            -- sorted; may read
  denied text[] not null default '{}',   -- sorted; may not, whatever else they are
  unique (tenant, principals, denied)
);

create table document (
  id uuid primary key,                   -- uuid5(tenant, source, uri where it was first seen)
  tenant text not null,
  source text not null,
  uri text not null,
  parent_id uuid references document on delete cascade,  -- the mail of an attachment
  collection text not null default 'default',
  acl_id int references acl_set,         -- null: nobody
  acl_stated boolean not null default false,
  deleted_at timestamptz,
  listing_token text,                    -- set in the transaction that writes what it stands for
  stale boolean not null default false,  -- the newest bytes are quarantined; an older revision shows
  first_seen timestamptz not null default now()
);
-- Places are indexed through ||, which is not leakproof. On the bare columns the reader's own
-- conditions would run in the index before the policy does, and EXPLAIN ANALYZE would count what
-- they found: names of hidden documents by halving (docs/security.md). Statistics: I9, see below.
create unique index document_place on document ((tenant || E'\n' || source || E'\n' || uri))
  where deleted_at is null;
create index document_source on document ((tenant || E'\n' || source));
alter index document_place alter column 1 set statistics 0;
create index document_acl on document (acl_id);
create index document_parent on document (parent_id) where parent_id is not null;

create table revision (
  id uuid primary key,                   -- uuid5(document, sequence)
  document_id uuid not null references document on delete cascade,
  sequence int not null,
  content_sha256 bytea not null,         -- body without front matter
  raw_sha256 bytea not null,
  metadata_sha256 bytea not null,
  suffix text not null,                  -- of the file's name: chooses the parser
  bytes bigint not null,
  title text,                            -- stated, never a file name
  language text,
  stated_from date,
  stated_to date,                        -- inclusive, as stated
  seen_on date not null,                 -- the day it was first seen, in the collection's time zone
  metadata jsonb not null default '{}',
  -- Its history is no longer kept: only its dates are left, so that its neighbours keep theirs.
  pruned boolean not null default false,
  unique (document_id, sequence)
);
create index revision_content on revision (content_sha256);

-- ---------------------------------------------------------------------------------------------
-- Stages. Each row is keyed by what it depends on.
-- ---------------------------------------------------------------------------------------------
create table parse (
  revision_id uuid not null references revision on delete cascade,
  parser_id text not null,
  elements jsonb not null,
  title text,                            -- what the document calls itself
  language text,
  page_native boolean not null,
  warnings text[] not null default '{}',
  primary key (revision_id, parser_id)
);

create table chunk (
  id uuid primary key,                   -- hash(document, chunking, heading path, text, occurrence)
  document_id uuid not null references document on delete cascade,
  heading_path text[] not null,
  text text not null,
  kinds text[] not null,
  tokens int not null,
  added int[] not null default '{}',     -- start, end, start, end …: what only repeats (I2)
  cells jsonb,                           -- [[row, col, start, end], …] of a table chunk
  warnings text[] not null default '{}'
);
create index chunk_document on chunk (document_id);

-- A cut is one parser's elements under one chunking recipe.
create table revision_chunk (
  revision_id uuid not null references revision on delete cascade,
  cut_id text not null,
  ordinal int not null,
  chunk_id uuid not null references chunk on delete cascade,
  table_id text,
  char_start int not null,
  char_end int not null,
  page_start int,
  page_end int,
  primary key (revision_id, cut_id, ordinal)
);
create index revision_chunk_chunk on revision_chunk (chunk_id);

create table context (
  chunk_id uuid not null references chunk on delete cascade,
  context_id text not null,
  input_sha256 bytea not null,
  prefix text not null,                  -- stands before chunk.text in what is embedded
  tokens int not null,                   -- of prefix and text together
  fallback boolean not null default false,
  embedding_key bytea not null,          -- keyed hash of the contextual text
  primary key (chunk_id, context_id, input_sha256)
);
create index context_embedding_key on context (embedding_key);

-- What was embedded once is not embedded again, whatever version asks.
create table embedding_memo (
  tenant text not null,
  model text not null,                   -- fingerprint
  key bytea not null,                    -- context.embedding_key
  embedding vector not null,
  primary key (tenant, model, key)
);

create table quarantine (
  document_id uuid primary key references document on delete cascade,
  reason text not null,                  -- a code of parsers.registry.REASONS
  hint text not null default '',
  content_sha256 bytea,
  cause text not null,                   -- bytes + recipe + capabilities: tried again when it changes
  attempts int not null default 1,
  first_at timestamptz not null,
  last_at timestamptz not null
);

-- ---------------------------------------------------------------------------------------------
-- Index versions and aliases.
-- ---------------------------------------------------------------------------------------------
create table index_version (
  id int generated always as identity primary key,
  index_name text not null,
  name text not null,
  recipe jsonb not null,                 -- the ids of every stage
  chunking_id text not null,
  context_id text not null,
  model text not null,                   -- fingerprint
  dimensions int not null check (dimensions between 1 and 4000),
  state text not null default 'building' check (state in (
    'building',  -- being filled; not searched
    'ready',     -- building -> ready: passed its gates once
    'retired',   -- ready -> retired: waits for gc
    'dropped')), -- retired -> dropped: its partition is gone
  modulus int not null default 1 check (modulus between 1 and 64),
  hot_from date not null default '0001-01-01',  -- entry.hot is right from this day on
  probe bytea,                           -- embedding of a fixed text, hashed
  created_at timestamptz not null default now(),
  unique (index_name, name)
);

-- I6: a recipe never changes; another recipe is another version.
create function keep_recipe() returns trigger language plpgsql as $$
begin
  if (new.index_name, new.recipe, new.chunking_id, new.context_id, new.model, new.dimensions,
      new.modulus) is distinct from (old.index_name, old.recipe, old.chunking_id, old.context_id,
      old.model, old.dimensions, old.modulus) then
    raise exception using errcode = 'MU002', message = 'the recipe of a version never changes';
  end if;
  return new;
end $$;
create trigger keep_recipe before update on index_version
  for each row execute function keep_recipe();

-- I11: whoever moves an alias leaves the gates' result, or a reason for going without.
create table promotion (
  id bigint generated always as identity primary key,
  index_name text not null,
  alias text not null,
  from_version int,
  to_version int not null,
  kind text not null check (kind in ('bootstrap', 'promote', 'rollback')),
  gates jsonb not null,
  passed boolean not null,
  forced boolean not null default false,
  reason text,
  promoted_by text not null default current_user,
  promoted_at timestamptz not null default now(),
  check (passed or (forced and length(reason) > 0)),
  unique (id, index_name, alias, to_version)
);

create table alias (
  index_name text not null,
  name text not null,
  version_id int not null references index_version,
  promotion_id bigint not null,
  primary key (index_name, name),
  foreign key (promotion_id, index_name, name, version_id)
    references promotion (id, index_name, alias, to_version)
);
create index alias_version on alias (version_id);

-- A revision that is complete in a version, and when it holds there (I1: one row makes it visible).
create table published (
  version_id int not null references index_version on delete cascade,
  revision_id uuid not null references revision on delete cascade,
  document_id uuid not null references document on delete cascade,
  cut_id text not null,
  n_chunks int not null,
  valid daterange not null default 'empty',  -- effective; refresh_validity() writes it
  primary key (version_id, revision_id)
);
create index published_document on published (document_id, version_id);
create index published_revision on published (revision_id);

create table entry (
  chunk_id uuid not null references chunk on delete cascade,
  version_id int not null,
  tenant text not null,
  document_id uuid not null,
  embedding halfvec not null,
  tsv tsvector not null,
  len int not null,                      -- lexemes in tsv, counted with repetition (BM25's dl)
  input_sha256 bytea not null,           -- of the context it was made from
  hot boolean not null default true,     -- some published revision of it holds on hot_from or later
  primary key (chunk_id, version_id, tenant)
) partition by list (version_id);
create index entry_document on entry (document_id);

-- Document frequencies and sizes for BM25, per version and tenant.
create table lexeme_stat (
  version_id int not null,
  tenant text not null,
  lexeme text collate "C" not null,
  df int not null,
  primary key (version_id, tenant, lexeme)
);
create table version_stat (
  version_id int not null,
  tenant text not null,
  part int not null,                     -- remainder of the hash partition that holds the tenant
  n bigint not null,
  total_len bigint not null,
  stale boolean not null default false,  -- entries were written since; counted at a run's end
  kinds jsonb not null default '{}',     -- chunks of each kind, to estimate what a filter leaves
  acls jsonb not null default '{}',      -- chunks of each ACL set, to estimate what an asker sees
  primary key (version_id, tenant)
);

-- ---------------------------------------------------------------------------------------------
-- Golden questions: what a version must answer as well as the one before it. Their words come from
-- documents, so an erasure voids them (I9): what is said is deleted, that they were there stays.
-- ---------------------------------------------------------------------------------------------
create table golden (
  id uuid primary key,                   -- keyed hash of all that is asked and expected
  index_name text not null,
  name text not null,                    -- the question's id in its file: a label, seen in reports
  tenant text not null,
  principals text[] not null,
  as_of date not null,
  language text,
  tags text[] not null default '{}',     -- labels too
  unanswerable boolean not null,         -- nothing answers it for this asker
  query text,                            -- null: voided
  added_at timestamptz not null default now(),
  voided_at timestamptz,
  voided_why text,                       -- a code
  unique (index_name, name),
  check ((query is null) = (voided_at is not null)),
  check ((voided_at is null) = (voided_why is null))
);
create table golden_source (
  golden_id uuid not null references golden on delete cascade,
  ordinal int not null,
  uri text not null,
  quote text,                            -- null: this document must not come
  primary key (golden_id, ordinal)
);
-- The documents at these places when somebody last looked; they may have moved since.
create table golden_document (
  golden_id uuid not null,
  ordinal int not null,
  document_id uuid not null references document on delete cascade,
  primary key (golden_id, ordinal, document_id),
  foreign key (golden_id, ordinal) references golden_source on delete cascade
);
create index golden_document_document on golden_document (document_id);

-- ---------------------------------------------------------------------------------------------
-- Erasure: what must not come back (I9). Hashes are keyed; the key is not in the database.
-- ---------------------------------------------------------------------------------------------
create table erasure (
  id uuid primary key,
  tenant text not null,
  requester text not null,
  reason text not null,
  state text not null default 'requested' check (state in (
    'requested',    -- one transaction: tombstones and invisibility
    'unreachable',  -- requested -> unreachable: no row of any stage is left
    'scrubbed')),   -- unreachable -> scrubbed: nor bytes of one
  requested_at timestamptz not null default now(),
  unreachable_at timestamptz,
  scrubbed_at timestamptz,
  certificate jsonb
);
create table tombstone (
  tenant text not null,
  kind text not null check (kind in ('uri', 'raw', 'body')),
  key_id text not null,
  hash bytea not null,
  erasure_id uuid not null references erasure,
  created_at timestamptz not null default now(),
  primary key (tenant, kind, hash)
);

-- Writer and eraser call this with the same sorted keys before they look at or write a tombstone;
-- a check followed by an insert would let an erased document back in under READ COMMITTED.
create function lock_places(p_keys bigint[]) returns void language plpgsql as $$
declare k bigint;
begin
  for k in select distinct x from unnest(p_keys) x order by x loop
    perform pg_advisory_xact_lock(k);
  end loop;
end $$;

-- ---------------------------------------------------------------------------------------------
-- Lexemes: one function for documents and questions (SPIKE: folded; accented with the tone as a
-- final digit; codes whole; English stemmed, without stop words since they eat Vietnamese words).
-- ---------------------------------------------------------------------------------------------
create text search dictionary english_stem (template = pg_catalog.snowball, language = english);
create text search configuration words (copy = pg_catalog.simple);
alter text search configuration words
  alter mapping for asciiword, word, numword, asciihword, hword, numhword,
                    hword_asciipart, hword_part, hword_numpart
  with mucluc.english_stem;

create function fold(x text) returns text language sql immutable strict parallel safe
return translate(regexp_replace(normalize(x, NFD), '[\u0300-\u036f]', '', 'g'), 'đ', 'd');

-- The tone of each word moved behind it as a digit, so that its place in the word does not matter:
-- hoà, hòa -> hoa2. The rest of the vowel (ă, â, ê, ô, ơ, ư) stays, in NFC.
create function toned(x text) returns text language sql immutable strict parallel safe
return normalize(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
  normalize(x, NFD),
  '\u0301([a-z\u0302\u0306\u031b]*)', '\11', 'g'), '\u0300([a-z\u0302\u0306\u031b]*)', '\12', 'g'),
  '\u0309([a-z\u0302\u0306\u031b]*)', '\13', 'g'), '\u0303([a-z\u0302\u0306\u031b]*)', '\14', 'g'),
  '\u0323([a-z\u0302\u0306\u031b]*)', '\15', 'g'), NFC);

-- Of words that carry a mark; the others are left out.
create function with_tone(x text) returns text language sql immutable strict parallel safe
return mucluc.toned(regexp_replace(x, '\m[a-z0-9]+\M', ' ', 'g'));

-- ERR_4021, BH-01, GIA-2026-10, 8.500.000, 1,148, v1.2.3: kept whole beside their parts, folded. Of
-- one that holds others: these too (ERR_4021/ERR_4022, 8.500.000đ, GIA-2026-10.xlsx). One without a
-- separator, and a clause with its number, get a sign in front (=e068, =dieu 12.3), which tells them
-- from the same letters inside another. x is in lower case.
create function codes(x text) returns text[] language sql immutable strict parallel safe
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

create function lexemes(t text) returns tsvector
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

-- A tsvector's length for BM25: every occurrence counts; a code (without positions) counts once.
create function lexeme_count(v tsvector) returns int language sql immutable strict parallel safe
return (select coalesce(sum(coalesce(cardinality(positions), 1)), 0)::int from unnest(v));

-- ---------------------------------------------------------------------------------------------
-- Validity (DESIGN 4). Effective ranges of all revisions of a document, together, for every
-- version that holds them, from what is stated and seen and nothing else: order does not matter.
-- A later start ends the earlier one; of equal starts the later revision wins; the first undated
-- one begins at minus infinity, later undated ones on the day they were seen.
-- ---------------------------------------------------------------------------------------------
create function refresh_validity(p_documents uuid[]) returns void language sql as $$
  with held as (
    select version_id, document_id, revision_id from mucluc.published
    where document_id = any(p_documents)
    union all
    -- Pruned ones hold their days against the others, and show nothing.
    select distinct p.version_id, p.document_id, r.id
    from mucluc.published p join mucluc.revision r on r.document_id = p.document_id and r.pruned
    where p.document_id = any(p_documents)
  ), started as (
    select h.version_id, h.revision_id, r.document_id, r.sequence, r.stated_to,
           case when r.stated_from is not null then r.stated_from
                when r.sequence > min(r.sequence) over (partition by h.version_id, r.document_id)
                then r.seen_on end as start
    from held h join mucluc.revision r on r.id = h.revision_id
  ), bounded as (
    select version_id, revision_id, start,
           least(lead(coalesce(start, '-infinity'::date)) over w, stated_to + 1) as stop
    from started
    window w as (partition by version_id, document_id
                 order by coalesce(start, '-infinity'::date), sequence)
  ), effective as (
    select version_id, revision_id,
           case when stop <= coalesce(start, '-infinity'::date) then 'empty'::daterange
                else daterange(start, stop) end as valid
    from bounded
  )
  update mucluc.published p set valid = e.valid
  from effective e
  where p.version_id = e.version_id and p.revision_id = e.revision_id and p.valid <> e.valid;

  -- Entries of revisions that have all ended leave the vector index; corrected ones come back.
  -- Entry by entry (offset 0): what the planner knows of a version that is being filled is out of
  -- date, and it would read every placement of the version for each document.
  update mucluc.entry e set hot = not e.hot
  where e.document_id = any(p_documents) and e.hot <> (
    select bool_or(not isempty(p.valid)
                   and coalesce(upper(p.valid), 'infinity'::date) > v.hot_from)
    from mucluc.revision_chunk rc
    cross join lateral (select * from mucluc.published p where p.version_id = e.version_id
                        and p.revision_id = rc.revision_id and p.cut_id = rc.cut_id offset 0) p
    join mucluc.index_version v on v.id = p.version_id
    where rc.chunk_id = e.chunk_id);
$$;

-- ---------------------------------------------------------------------------------------------
-- Partitions. A version's is made empty when the version is opened; a table attached later would
-- lock chunk against readers. Index names follow the partition's.
-- ---------------------------------------------------------------------------------------------
create function open_partition(p_version int) returns void language plpgsql as $$
declare
  v mucluc.index_version;
  part text;
begin
  select * into strict v from mucluc.index_version where id = p_version;
  execute format('create table mucluc.entry_%s partition of mucluc.entry for values in (%s)
                  partition by hash (tenant)', v.id, v.id);
  execute format('alter table mucluc.entry_%s enable row level security', v.id);
  for i in 0 .. v.modulus - 1 loop
    part := format('entry_%s_%s', v.id, i);
    execute format('create table mucluc.%I partition of mucluc.entry_%s
      (constraint dimensions check (vector_dims(embedding) = %s))
      for values with (modulus %s, remainder %s)', part, v.id, v.dimensions, v.modulus, i);
    execute format('alter table mucluc.%I enable row level security', part);
    -- pg_statistic would keep erased words and vectors for ever (I9).
    execute format('alter table mucluc.%I alter column embedding set statistics 0,
                    alter column tsv set statistics 0', part);
  end loop;
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

-- ---------------------------------------------------------------------------------------------
-- Identity. The application signs tenant, principals and date for one transaction of one
-- connection; whoever can run SQL as the reader can neither forge nor widen nor replay it.
-- ---------------------------------------------------------------------------------------------
create table signing_key (
  key_id text primary key,
  key bytea not null
);

create type identity as (tenant text, principals text[], as_of date);

create function sign(p_payload text, p_key bytea) returns text
language sql immutable strict parallel safe
return encode(sha256(p_key || sha256(p_key || convert_to(p_payload, 'UTF8'))), 'hex');

-- What a signature must quote: this backend, this transaction.
create function challenge() returns text language sql stable parallel restricted
return pg_backend_pid()::text || ':' ||
       (extract(epoch from transaction_timestamp()) * 1000000)::bigint::text;

create function me() returns identity
language plpgsql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
declare
  payload text := current_setting('mucluc.identity', true);
  signature text := current_setting('mucluc.signature', true);
  j jsonb;
begin
  if coalesce(payload, '') = '' or coalesce(signature, '') = '' then return null; end if;
  if not exists (select 1 from mucluc.signing_key k where mucluc.sign(payload, k.key) = signature)
  then return null; end if;
  j := payload::jsonb;
  if j ->> 'challenge' is distinct from mucluc.challenge() then return null; end if;
  return row(j ->> 'tenant', array(select jsonb_array_elements_text(j -> 'principals')),
             (j ->> 'as_of')::date)::mucluc.identity;
end $$;

-- Sets the identity for the rest of the transaction. A second one is refused, so that a function
-- called later cannot act for somebody else.
create function identify(p_payload text, p_signature text) returns void
language plpgsql volatile security definer set search_path = mucluc, pg_catalog, pg_temp as $$
begin
  if (mucluc.me()).tenant is not null then
    raise exception using errcode = 'MU003', message = 'this transaction has an identity already';
  end if;
  perform set_config('mucluc.identity', p_payload, true);
  perform set_config('mucluc.signature', p_signature, true);
  if (mucluc.me()).tenant is null then
    perform set_config('mucluc.identity', '', true);
    perform set_config('mucluc.signature', '', true);
    raise exception using errcode = 'MU004', message = 'the identity is not signed for this transaction';
  end if;
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

-- For the row-level policies: the same over every active version.
create function visible_revisions() returns setof uuid
language sql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select v.revision_id from mucluc.alias a, mucluc.visible(a.version_id) v where a.name = 'active'
$$;
create function visible_published() returns table (version_id int, revision_id uuid, cut_id text)
language sql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select a.version_id, v.revision_id, v.cut_id
  from mucluc.alias a, mucluc.visible(a.version_id) v where a.name = 'active'
$$;
create function visible_documents() returns setof uuid
language sql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select v.document_id from mucluc.alias a, mucluc.visible(a.version_id) v where a.name = 'active'
$$;
create function visible_entries() returns table (chunk_id uuid, version_id int)
language sql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select rc.chunk_id, a.version_id
  from mucluc.alias a, mucluc.visible(a.version_id) v
  join mucluc.revision_chunk rc on rc.revision_id = v.revision_id and rc.cut_id = v.cut_id
  where a.name = 'active'
$$;

-- ---------------------------------------------------------------------------------------------
-- Search. STABLE: one snapshot. The caller resolves the alias once and names the version and the
-- model that made its query vector; a vector of another model is refused.
-- ---------------------------------------------------------------------------------------------
create function resolve(p_index text, p_alias text default 'active')
returns table (version_id int, name text, model text, recipe jsonb, dimensions int)
language sql stable security definer parallel restricted
set search_path = mucluc, pg_catalog, pg_temp as $$
  select v.id, v.name, v.model, v.recipe, v.dimensions
  from mucluc.alias a join mucluc.index_version v on v.id = a.version_id
  where a.index_name = p_index and a.name = p_alias
$$;

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

create function quote_lexemes(p_terms text[]) returns text
language sql immutable strict parallel safe
return (select string_agg('''' || replace(replace(t, '\', '\\'), '''', '''''') || '''', '|')
        from unnest(p_terms) t);

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

-- ---------------------------------------------------------------------------------------------
-- Rights. Deny by default: row-level security on every table, and grants on a few.
-- ---------------------------------------------------------------------------------------------
do $$
declare t record;
begin
  for t in select c.relname from pg_class c
           where c.relnamespace = 'mucluc'::regnamespace and c.relkind in ('r', 'p') loop
    execute format('alter table mucluc.%I enable row level security', t.relname);
    execute format('create policy owned_functions on mucluc.%I for select to mucluc_search
                    using (true)', t.relname);
  end loop;
  -- Statistics keep values of deleted rows. Columns that hold a document's words, names or
  -- vectors have none, from the start: setting it later would remove nothing (I9).
  for t in select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
           where c.relnamespace = 'mucluc'::regnamespace and c.relkind in ('r', 'p')
             and a.attnum > 0 and not a.attisdropped
             and (c.relname, a.attname) in (values
               ('document', 'uri'), ('revision', 'title'), ('revision', 'metadata'),
               ('parse', 'elements'), ('parse', 'title'), ('chunk', 'text'),
               ('chunk', 'heading_path'), ('chunk', 'cells'), ('context', 'prefix'),
               ('embedding_memo', 'embedding'), ('entry', 'embedding'), ('entry', 'tsv'),
               ('lexeme_stat', 'lexeme'), ('version_stat', 'kinds'), ('version_stat', 'acls'),
               ('quarantine', 'hint'), ('run', 'options'), ('run', 'report'), ('erasure', 'certificate'),
               ('golden', 'query'), ('golden_source', 'uri'), ('golden_source', 'quote')) loop
    execute format('alter table mucluc.%I alter column %I set statistics 0', t.relname, t.attname);
  end loop;
end $$;

create policy visible_document on document for select to mucluc_reader
  using (id in (select mucluc.visible_documents()));
create policy visible_revision on revision for select to mucluc_reader
  using (id in (select mucluc.visible_revisions()));
create policy visible_published on published for select to mucluc_reader
  using ((version_id, revision_id) in (
    select x.version_id, x.revision_id from mucluc.visible_published() x));
create policy visible_placement on revision_chunk for select to mucluc_reader
  using ((revision_id, cut_id) in (
    select x.revision_id, x.cut_id from mucluc.visible_published() x));
create policy visible_chunk on chunk for select to mucluc_reader
  using (id in (select x.chunk_id from mucluc.visible_entries() x));
create policy visible_entry on entry for select to mucluc_reader
  using ((chunk_id, version_id) in (select x.chunk_id, x.version_id from mucluc.visible_entries() x));

revoke all on all tables in schema mucluc from public;
revoke all on all functions in schema mucluc from public;
grant select on all tables in schema mucluc to mucluc_search;
revoke select on golden, golden_source, golden_document from mucluc_search;  -- no search asks them
grant select on document, revision, published, revision_chunk, chunk, entry to mucluc_reader;

-- Pure helpers, and the functions that take their identity from the signature alone.
grant execute on function
  lexemes(text), fold(text), toned(text), with_tone(text), codes(text), lexeme_count(tsvector),
  challenge(), identify(text, text), me(), my_acls(),
  visible_documents(), visible_revisions(), visible_published(), visible_entries(),
  resolve(text, text), resolve_version(text, text), search_dense(int, text, vector, int, jsonb),
  search_text(int, text, int, jsonb), read_chunks(int, uuid[])
  to mucluc_reader;

do $$
declare f record;
begin
  grant create on schema mucluc to mucluc_search;
  for f in select p.oid::regprocedure as signature from pg_proc p
           where p.pronamespace = 'mucluc'::regnamespace and p.prosecdef loop
    execute format('alter function %s owner to mucluc_search', f.signature);
  end loop;
  grant execute on all functions in schema mucluc to mucluc_search;
  revoke create on schema mucluc from mucluc_search;
end $$;
