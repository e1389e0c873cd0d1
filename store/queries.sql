-- Every statement of the pipeline: its name, a comment of purpose, the statement. psycopg fills in
-- %(names)s. Statements over many rows take arrays and unnest them, so that one batch is one call.

-- name: fence
-- First in every writing transaction: raises MU001 when a later run took the lock (I8).
select mucluc.fence(%(run)s);

-- name: take_lock
-- Session lock of a source or version; false when another process has it.
select pg_try_advisory_lock(hashtextextended(%(key)s::text, 0)) as held;

-- name: release_locks
-- At a run's end, before its lock's connection closes.
select pg_advisory_unlock_all();

-- name: lose_runs
-- Whoever still thinks it runs under this key may not write from here on. Waits for its commits.
update mucluc.run set state = 'lost', finished_at = now()
where lock_key = %(key)s and state = 'running';

-- name: insert_run
-- Begin a run.
insert into mucluc.run (kind, lock_key, tenant, source, options)
values (%(kind)s, %(key)s, %(tenant)s, %(source)s, %(options)s)
returning id, started_at;

-- name: close_run
-- End a run; a lost one stays lost.
update mucluc.run set state = %(state)s, finished_at = now(), report = %(report)s
where id = %(run)s and state = 'running';

-- name: last_root
-- Where this source was last read from, to notice that its name now means another folder.
select options ->> 'root' as root from mucluc.run
where kind = 'sync' and tenant = %(tenant)s and source = %(source)s and state = 'done'
order by id desc limit 1;

-- name: aliases
-- The indexes there are, and the aliases of each.
select v.index_name, coalesce(array_agg(distinct a.name order by a.name)
                              filter (where a.name is not null), '{}') as aliases
from mucluc.index_version v left join mucluc.alias a on a.version_id = v.id
group by v.index_name order by v.index_name;

-- name: recent_runs
-- The last runs, newest first: interrupted is a failed one that said so, lost also one that counts
-- as running while nobody holds its lock.
select r.id, r.kind, r.tenant, r.source, case
    when r.report ->> 'interrupted' = 'true' then 'interrupted'
    when r.state = 'running' and not exists (
      select from pg_locks l where l.locktype = 'advisory' and l.objsubid = 1
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(r.lock_key, 0))
      then 'lost'
    else r.state end as state, r.started_at, r.finished_at, r.report
from mucluc.run r order by r.id desc limit %(limit)s;

-- name: has_signing_key
-- Whether search functions know this identity key.
select 1 as present from mucluc.signing_key where key_id = %(key_id)s;

-- name: add_signing_key
-- Let the search functions check identities signed with this key.
insert into mucluc.signing_key (key_id, key) values (%(key_id)s, %(key)s)
on conflict (key_id) do nothing;

-- name: foreign_tombstone_key
-- A tombstone that this secret cannot match.
select key_id from mucluc.tombstone where key_id <> %(key_id)s limit 1;

-- name: known_documents
-- A source's documents with their newest published and their pending revision.
select d.id, d.uri, d.collection, d.acl_id, d.listing_token, d.deleted_at is not null as deleted,
       d.stale, p.id as published_id, p.sequence as published_sequence,
       p.content_sha256 as published_content, p.metadata_sha256 as published_metadata,
       p.title as published_title, p.language as published_language, p.suffix as published_suffix,
       coalesce(p.here, false) as published_here,
       n.id as pending_id, n.sequence as pending_sequence, n.content_sha256 as pending_content,
       n.metadata_sha256 as pending_metadata, n.suffix as pending_suffix,
       q.reason as quarantine_reason, q.cause as quarantine_cause,
       (select coalesce(max(x.sequence), 0) from mucluc.revision x where x.document_id = d.id
          and exists (select 1 from mucluc.published y where y.revision_id = x.id)) as last_sequence
from mucluc.document d
left join lateral (
  select r.*, exists (select 1 from mucluc.published x
                      where x.revision_id = r.id
                        and x.version_id = any(%(versions)s::int[])) as here
  from mucluc.revision r where r.document_id = d.id
    and exists (select 1 from mucluc.published x where x.revision_id = r.id)
  order by r.sequence desc limit 1) p on true
left join lateral (
  select r.* from mucluc.revision r where r.document_id = d.id and not r.pruned
    and not exists (select 1 from mucluc.published x where x.revision_id = r.id)
  order by r.sequence desc limit 1) n on true
left join mucluc.quarantine q on q.document_id = d.id
where d.tenant || E'\n' || d.source = %(tenant)s || E'\n' || %(source)s
  and d.parent_id is not distinct from %(parent)s::uuid
order by d.uri collate "C", d.deleted_at nulls first, d.id;

-- name: taken_ids
-- Which of these document ids exist, wherever the documents are now.
select id from mucluc.document where id = any(%(ids)s::uuid[]);

-- name: lock_places
-- Writer and eraser meet here, in one order, before either looks at a tombstone.
select mucluc.lock_places(%(keys)s::bigint[]);

-- name: tombstoned
-- Which of these keyed hashes stand for something erased.
select kind, hash from mucluc.tombstone
where tenant = %(tenant)s and hash = any(%(hashes)s::bytea[]);

-- name: intern_acl
-- The id of an ACL, made if it is new.
with made as (
  insert into mucluc.acl_set (tenant, principals, denied)
  values (%(tenant)s, %(principals)s::text[], %(denied)s::text[])
  on conflict (tenant, principals, denied) do nothing returning id)
select id from made
union all
select id from mucluc.acl_set
where tenant = %(tenant)s and principals = %(principals)s::text[] and denied = %(denied)s::text[]
limit 1;

-- name: delete_documents
-- Gone from the source: invisible from this commit on, attachments with their mails.
update mucluc.document set deleted_at = %(now)s, listing_token = null
where (id = any(%(ids)s::uuid[]) or parent_id = any(%(ids)s::uuid[])) and deleted_at is null;

-- name: move_document
-- Same bytes at another place: the document keeps its id, its history and its entries.
update mucluc.document set uri = %(uri)s where id = %(id)s;

-- name: add_documents
-- Files seen for the first time; nothing shows them until a revision is published.
insert into mucluc.document (id, tenant, source, uri, parent_id, collection, acl_id, acl_stated,
                             first_seen)
select x.id, %(tenant)s, %(source)s, x.uri, x.parent, x.collection, x.acl, x.stated, %(now)s
from unnest(%(ids)s::uuid[], %(uris)s::text[], %(parents)s::uuid[], %(collections)s::text[],
            %(acls)s::int[], %(stated)s::bool[]) as x(id, uri, parent, collection, acl, stated)
on conflict (id) do nothing;

-- name: restate_documents
-- Access and collection as now stated, for mails and their attachments; in force at this commit.
update mucluc.document d
set collection = x.collection, acl_id = x.acl, acl_stated = x.stated
from unnest(%(ids)s::uuid[], %(collections)s::text[], %(acls)s::int[], %(stated)s::bool[])
     as x(id, collection, acl, stated)
where (d.id = x.id or d.parent_id = x.id)
  and (d.collection, d.acl_id, d.acl_stated) is distinct from (x.collection, x.acl, x.stated);

-- name: restate_revisions
-- Title, language, validity and free metadata as now stated for unchanged content.
update mucluc.revision r
set title = x.title, language = x.language, stated_from = x.stated_from, stated_to = x.stated_to,
    metadata = x.metadata, metadata_sha256 = x.metadata_sha256
from unnest(%(ids)s::uuid[], %(titles)s::text[], %(languages)s::text[], %(froms)s::date[],
            %(tos)s::date[], %(metadata)s::jsonb[], %(hashes)s::bytea[])
     as x(id, title, language, stated_from, stated_to, metadata, metadata_sha256)
where r.id = x.id and r.metadata_sha256 is distinct from x.metadata_sha256;

-- name: drop_pending
-- A revision that never showed, and whose bytes are gone.
delete from mucluc.revision r where r.id = any(%(ids)s::uuid[])
  and not exists (select 1 from mucluc.published p where p.revision_id = r.id);

-- name: add_revisions
-- New content, not yet published.
insert into mucluc.revision (id, document_id, sequence, content_sha256, raw_sha256,
  metadata_sha256, suffix, bytes, title, language, stated_from, stated_to, seen_on, metadata)
select x.id, x.document, x.sequence, x.content, x.raw, x.metadata_sha256, x.suffix, x.bytes,
       x.title, x.language, x.stated_from, x.stated_to, x.seen_on, x.metadata
from unnest(%(ids)s::uuid[], %(documents)s::uuid[], %(sequences)s::int[], %(contents)s::bytea[],
            %(raws)s::bytea[], %(hashes)s::bytea[], %(suffixes)s::text[], %(bytes)s::bigint[],
            %(titles)s::text[], %(languages)s::text[], %(froms)s::date[], %(tos)s::date[],
            %(seen)s::date[], %(metadata)s::jsonb[])
     as x(id, document, sequence, content, raw, metadata_sha256, suffix, bytes, title, language,
          stated_from, stated_to, seen_on, metadata)
on conflict (id) do nothing;

-- name: record_tokens
-- These files need not be read again until their listing changes.
update mucluc.document d set listing_token = x.token
from unnest(%(ids)s::uuid[], %(tokens)s::text[]) as x(id, token)
where d.id = x.id and d.listing_token is distinct from x.token;

-- name: forget_tokens
-- What is stated changed and is not written through yet: read these files again if we die now.
update mucluc.document set listing_token = null
where id = any(%(ids)s::uuid[]) and listing_token is not null;

-- name: refresh_validity
-- Effective ranges of these documents' revisions, all together.
select mucluc.refresh_validity(%(documents)s::uuid[]);

-- name: revisions
-- Revisions with their documents.
select r.id, r.document_id, r.sequence, r.content_sha256, r.raw_sha256, r.suffix, r.bytes,
       r.title, r.language, d.tenant, d.source, d.uri, d.collection, d.parent_id,
       d.deleted_at is not null as deleted
from mucluc.revision r join mucluc.document d on d.id = r.document_id
where r.id = any(%(revisions)s::uuid[]);

-- name: has_parse
-- Whether the parse stage has this revision.
select 1 as present from mucluc.parse
where revision_id = %(revision)s and parser_id = %(parser)s;

-- name: parses
-- Which parsers' elements the parse stage has of these revisions.
select revision_id, parser_id from mucluc.parse
where revision_id = any(%(revisions)s::uuid[]) order by revision_id, parser_id;

-- name: add_parse
-- Elements of a revision.
insert into mucluc.parse (revision_id, parser_id, elements, title, language, page_native, warnings)
values (%(revision)s, %(parser)s, %(elements)s, %(title)s, %(language)s, %(page_native)s,
        %(warnings)s::text[])
on conflict (revision_id, parser_id) do nothing;

-- name: read_parse
-- Elements of a revision, to be chunked.
select elements, title, language, page_native from mucluc.parse
where revision_id = %(revision)s and parser_id = %(parser)s;

-- name: parse_facts
-- What the parsers said of revisions, without their elements.
select p.revision_id, p.title, p.language, p.page_native
from unnest(%(revisions)s::uuid[], %(parsers)s::text[]) as x(revision, parser)
cross join lateral (select p.* from mucluc.parse p where p.revision_id = x.revision
                    and p.parser_id = x.parser offset 0) p;

-- name: count_cuts
-- How many chunks the chunk stage has of these revisions.
select x.revision, n.chunks from unnest(%(revisions)s::uuid[], %(cuts)s::text[]) as x(revision, cut)
cross join lateral (select count(*) as chunks from mucluc.revision_chunk rc
                    where rc.revision_id = x.revision and rc.cut_id = x.cut) n;

-- name: add_chunks
-- Chunks of documents that are still there; those that stayed keep their rows, contexts and
-- entries. In the order of their ids, as every writer does, so that two never wait for each other.
insert into mucluc.chunk (id, document_id, heading_path, text, kinds, tokens, added, cells,
                          warnings)
select x.id, x.document, x.heading_path, x.text, x.kinds, x.tokens, x.added, x.cells, x.warnings
from json_to_recordset(%(chunks)s) as x(id uuid, document uuid, heading_path text[], text text,
  kinds text[], tokens int, added int[], cells jsonb, warnings text[])
join mucluc.document d on d.id = x.document
order by x.id
for key share of d  -- one that is being deleted is passed over
on conflict (id) do nothing;

-- name: add_placements
-- Where the chunks stand in revisions that are still there.
insert into mucluc.revision_chunk (revision_id, cut_id, ordinal, chunk_id, table_id, char_start,
                                   char_end, page_start, page_end)
select x.revision, x.cut, x.ordinal, x.chunk, x.table_id, x.char_start, x.char_end, x.page_start,
       x.page_end
from unnest(%(revisions)s::uuid[], %(cuts)s::text[], %(ordinals)s::int[], %(chunks)s::uuid[],
            %(table_ids)s::text[], %(char_starts)s::int[], %(char_ends)s::int[],
            %(page_starts)s::int[], %(page_ends)s::int[])
     as x(revision, cut, ordinal, chunk, table_id, char_start, char_end, page_start, page_end)
join mucluc.revision r on r.id = x.revision
for key share of r
on conflict (revision_id, cut_id, ordinal) do nothing;

-- name: placements
-- Revisions' chunks in order, with what their contexts depend on.
select rc.revision_id, rc.chunk_id, rc.ordinal, rc.page_start, c.heading_path
from unnest(%(revisions)s::uuid[], %(cuts)s::text[]) as x(revision, cut)
cross join lateral (select rc.* from mucluc.revision_chunk rc
                    where rc.revision_id = x.revision and rc.cut_id = x.cut offset 0) rc
cross join lateral (select c.heading_path from mucluc.chunk c where c.id = rc.chunk_id offset 0) c
order by rc.revision_id, rc.ordinal;

-- name: missing_contexts
-- Of these (chunk, context input) pairs, those without a context, with the chunk's text.
select x.ord::int as position, c.text
from unnest(%(chunks)s::uuid[], %(inputs)s::bytea[]) with ordinality as x(chunk_id, input, ord)
cross join lateral (select c.text from mucluc.chunk c where c.id = x.chunk_id offset 0) c
where not exists (select 1 from mucluc.context k where k.chunk_id = x.chunk_id
                  and k.context_id = %(context)s and k.input_sha256 = x.input offset 0)
order by x.ord;

-- name: add_contexts
-- Contextual text of chunks that are still there.
insert into mucluc.context (chunk_id, context_id, input_sha256, prefix, tokens, fallback,
                            embedding_key)
select x.chunk, %(context)s, x.input, x.prefix, x.tokens, x.fallback, x.key
from unnest(%(chunks)s::uuid[], %(inputs)s::bytea[], %(prefixes)s::text[], %(tokens)s::int[],
            %(fallbacks)s::bool[], %(keys)s::bytea[])
     as x(chunk, input, prefix, tokens, fallback, key)
join mucluc.chunk c on c.id = x.chunk
order by x.chunk, x.input
for key share of c
on conflict (chunk_id, context_id, input_sha256) do nothing;

-- name: missing_embeddings
-- Of these (chunk, context input) pairs, those whose contextual text no memo of the tenant holds.
select x.ord::int as position, k.embedding_key as key, k.prefix, c.text, k.tokens
from unnest(%(chunks)s::uuid[], %(inputs)s::bytea[]) with ordinality as x(chunk_id, input, ord)
cross join lateral (select k.* from mucluc.context k where k.chunk_id = x.chunk_id
                    and k.context_id = %(context)s and k.input_sha256 = x.input offset 0) k
cross join lateral (select c.text from mucluc.chunk c where c.id = x.chunk_id offset 0) c
where not exists (select 1 from mucluc.embedding_memo m where m.tenant = %(tenant)s
                  and m.model = %(model)s and m.key = k.embedding_key offset 0)
order by x.ord;

-- name: memo_from_stage
-- Embeddings that came in by COPY; somebody may have embedded the same text meanwhile.
insert into mucluc.embedding_memo (tenant, model, key, embedding)
select %(tenant)s, %(model)s, key, embedding from incoming
on conflict (tenant, model, key) do nothing;

-- name: newest_published
-- Whether each revision is the newest of its document in a version, and whether it is there already.
select x.revision, n.newest, n.present
from unnest(%(revisions)s::uuid[], %(documents)s::uuid[], %(sequences)s::int[])
     as x(revision, document, sequence)
cross join lateral (
  select coalesce(bool_and(r.sequence <= x.sequence), true) as newest,
         coalesce(bool_or(p.revision_id = x.revision), false) as present
  from mucluc.published p join mucluc.revision r on r.id = p.revision_id
  where p.document_id = x.document and p.version_id = %(version)s) n;

-- name: publish_entries
-- Entries of revisions that are new or, unless a newer one is there, whose context changed; the
-- others are left alone (I14). Row by row by key (offset 0): while a version is being filled the
-- planner knows too little of its tables, and reads them whole for every call. And the lexemes are
-- made once: without the offset they would be made anew for their count.
insert into mucluc.entry (chunk_id, version_id, tenant, document_id, embedding, tsv, len,
                          input_sha256)
select x.chunk_id, %(version)s, %(tenant)s, c.document_id, m.embedding::halfvec, l.tsv,
       mucluc.lexeme_count(l.tsv), x.input
from unnest(%(chunks)s::uuid[], %(inputs)s::bytea[], %(of)s::uuid[], %(newest)s::bool[])
     as x(chunk_id, input, revision, newest)
cross join lateral (select c.* from mucluc.chunk c where c.id = x.chunk_id offset 0) c
cross join lateral (select k.* from mucluc.context k where k.chunk_id = x.chunk_id
                    and k.context_id = %(context)s and k.input_sha256 = x.input offset 0) k
cross join lateral (select m.embedding from mucluc.embedding_memo m where m.tenant = %(tenant)s
                    and m.model = %(model)s and m.key = k.embedding_key offset 0) m
cross join lateral (select coalesce(r.title, (
    select p.title from mucluc.parse p where p.revision_id = r.id order by p.parser_id limit 1))
    as title from mucluc.revision r where r.id = x.revision offset 0) r
cross join lateral (select mucluc.entry_lexemes(k.prefix, r.title, c.heading_path, c.text) as tsv
                    offset 0) l
where not exists (select 1 from mucluc.entry e where e.chunk_id = x.chunk_id
                  and e.version_id = %(version)s and e.tenant = %(tenant)s
                  and (e.input_sha256 = x.input or not x.newest) offset 0)
on conflict (chunk_id, version_id, tenant) do update
set embedding = excluded.embedding, tsv = excluded.tsv, len = excluded.len,
    input_sha256 = excluded.input_sha256;

-- name: count_entries
-- How many chunks of each revision the version holds, made from these contexts or from a newer
-- revision's.
select x.revision, count(*) as present
from unnest(%(chunks)s::uuid[], %(inputs)s::bytea[], %(of)s::uuid[], %(newest)s::bool[])
     as x(chunk_id, input, revision, newest)
cross join lateral (select from mucluc.entry e where e.chunk_id = x.chunk_id
                    and e.version_id = %(version)s and e.tenant = %(tenant)s
                    and (e.input_sha256 = x.input or not x.newest) offset 0) e
group by x.revision;

-- name: publish_revisions
-- The rows that make revisions visible in a version, once their ranges are refreshed (I1).
insert into mucluc.published (version_id, revision_id, document_id, cut_id, n_chunks)
select %(version)s, x.revision, x.document, x.cut, x.count
from unnest(%(revisions)s::uuid[], %(documents)s::uuid[], %(cuts)s::text[], %(counts)s::int[])
     as x(revision, document, cut, count)
on conflict (version_id, revision_id) do update
set cut_id = excluded.cut_id, n_chunks = excluded.n_chunks
where (published.cut_id, published.n_chunks) is distinct from (excluded.cut_id, excluded.n_chunks);

-- name: settle_documents
-- The newest bytes of these documents are published: record what was listed, with the rows it
-- stands for.
update mucluc.document d
set listing_token = x.token, deleted_at = null, stale = false
from unnest(%(documents)s::uuid[], %(tokens)s::text[]) as x(document, token)
where d.id = x.document
  and (d.listing_token is distinct from x.token or d.deleted_at is not null or d.stale);

-- name: release_quarantine
-- They are good again.
delete from mucluc.quarantine where document_id = any(%(documents)s::uuid[]);

-- name: quarantine
-- A file that cannot be taken; counted, and tried again when its cause changes (I12).
insert into mucluc.quarantine (document_id, reason, hint, content_sha256, cause, attempts,
                               first_at, last_at)
values (%(document)s, %(reason)s, %(hint)s, %(content)s, %(cause)s, 1, %(now)s, %(now)s)
on conflict (document_id) do update
set reason = excluded.reason, hint = excluded.hint, content_sha256 = excluded.content_sha256,
    cause = excluded.cause, attempts = mucluc.quarantine.attempts + 1, last_at = excluded.last_at;

-- name: mark_stale
-- An earlier revision goes on showing; say that it is not the newest.
update mucluc.document d set listing_token = %(token)s,
  stale = exists (select 1 from mucluc.published p where p.document_id = d.id)
where d.id = %(document)s;

-- name: quarantined
-- A source's quarantined documents, with names for the terminal.
select d.id, d.uri, q.reason, q.hint, q.attempts, d.stale
from mucluc.quarantine q join mucluc.document d on d.id = q.document_id
where d.tenant || E'\n' || d.source = %(tenant)s || E'\n' || %(source)s and d.deleted_at is null
order by q.reason, d.uri collate "C";

-- name: unreadable_by_anyone
-- Documents that nothing states an ACL for.
select count(*) as documents from mucluc.document d
where d.tenant || E'\n' || d.source = %(tenant)s || E'\n' || %(source)s and d.deleted_at is null and d.parent_id is null
  and not d.acl_stated
  and exists (select 1 from mucluc.published p where p.document_id = d.id);

-- name: document_names
-- Names for ids, for the terminal only (I10).
select id, uri from mucluc.document where id = any(%(ids)s::uuid[]);

-- name: restate_attachments
-- An attachment holds on the days of its mail.
update mucluc.revision r set stated_from = x.stated_from, stated_to = x.stated_to
from unnest(%(documents)s::uuid[], %(froms)s::date[], %(tos)s::date[])
     as x(document, stated_from, stated_to)
join mucluc.document d on d.parent_id = x.document
where r.document_id = d.id
  and r.sequence = (select max(y.sequence) from mucluc.revision y where y.document_id = d.id)
  and (r.stated_from, r.stated_to) is distinct from (x.stated_from, x.stated_to);

-- name: with_attachments
-- These documents and their attachments.
select id from mucluc.document where id = any(%(ids)s::uuid[]) or parent_id = any(%(ids)s::uuid[]);

-- name: active_version
-- The version that an alias of an index points at.
select v.* from mucluc.alias a join mucluc.index_version v on v.id = a.version_id
where a.index_name = %(index)s and a.name = 'active';

-- name: live_versions
-- Versions of an index that are filled or ready, the newest first.
select * from mucluc.index_version
where index_name = %(index)s and state in ('building', 'ready') order by id desc;

-- name: named_version
-- A version by its name.
select * from mucluc.index_version where index_name = %(index)s and name = %(name)s;

-- name: versions_in_step
-- What a sync writes: the active version first; those being filled; those that an alias names; and
-- the previous one, for as long as it may be rolled back to.
select v.*, (a.version_id is not null and a.version_id = v.id) as active
from mucluc.index_version v
left join mucluc.alias a on a.index_name = v.index_name and a.name = 'active'
left join mucluc.promotion p on p.id = a.promotion_id
where v.index_name = %(index)s and v.state in ('building', 'ready')
  and (v.state = 'building'
       or exists (select 1 from mucluc.alias x where x.version_id = v.id)
       or (v.id = p.from_version
           and p.promoted_at > now() - make_interval(days => %(keep_days)s)))
order by (a.version_id is not null and a.version_id = v.id) desc, v.id;

-- name: lock_index
-- Who opens a version of an index, moves an alias or retires a version does so alone.
select pg_advisory_xact_lock(hashtextextended('index:' || %(index)s::text, 0));

-- name: share_index
-- Who publishes does so under the aliases as they are: they stay until the transaction ends.
select pg_advisory_xact_lock_shared(hashtextextended('index:' || %(index)s::text, 0));

-- name: next_version_name
-- v1, v2, …, leaving out names that somebody chose.
select 'v' || n as name
from generate_series((select count(*) + 1 from mucluc.index_version where index_name = %(index)s),
                     (select 2 * count(*) + 1 from mucluc.index_version
                      where index_name = %(index)s)) n
where not exists (select 1 from mucluc.index_version v
                  where v.index_name = %(index)s and v.name = 'v' || n)
order by n limit 1;

-- name: add_version
-- A new version with its recipe, which never changes (I6).
insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id, model,
                                  dimensions, modulus, probe)
values (%(index)s, %(name)s, %(recipe)s, %(chunking)s, %(context)s, %(model)s, %(dimensions)s,
        %(modulus)s, %(probe)s)
returning *;

-- name: open_partition
-- Its empty partition.
select mucluc.open_partition(%(version)s);

-- name: partitions
-- Leaf partitions of a version and the vector and text indexes they have.
select c.relname as partition,
       exists (select 1 from pg_class i where i.relnamespace = c.relnamespace
               and i.relname = c.relname || '_hnsw') as has_hnsw,
       exists (select 1 from pg_class i where i.relnamespace = c.relnamespace
               and i.relname = c.relname || '_gin') as has_gin
from pg_partition_tree(format('mucluc.entry_%%s', %(version)s::int)::regclass) t
join pg_class c on c.oid = t.relid where t.isleaf order by c.relname;

-- name: invalid_indexes
-- Left behind by an index build that was killed.
select c.relname as index from pg_index x join pg_class c on c.oid = x.indexrelid
join pg_class r on r.oid = x.indrelid
where not x.indisvalid and c.relnamespace = 'mucluc'::regnamespace
  and r.relname like format('entry\_%%s\_%%%%', %(version)s::int);

-- name: clear_lexeme_stats
-- Before they are counted anew.
delete from mucluc.lexeme_stat where version_id = %(version)s and tenant = %(tenant)s;

-- name: count_lexemes
-- Document frequencies of a tenant in a version (SPIKE 3: 2.5 s per 100k chunks, once a run).
insert into mucluc.lexeme_stat (version_id, tenant, lexeme, df)
select %(version)s, %(tenant)s, u.lexeme, count(*)
from mucluc.entry e, unnest(e.tsv) u
where e.version_id = %(version)s and e.tenant = %(tenant)s and e.hot
group by u.lexeme;

-- name: count_entries_of_tenant
-- Size and total length of a tenant in a version, and its chunks of each kind and each ACL set.
insert into mucluc.version_stat (version_id, tenant, part, n, total_len, kinds, acls)
select %(version)s, %(tenant)s, coalesce(min(substring(e.tableoid::regclass::text, '\d+$')::int), 0),
       count(*), coalesce(sum(e.len), 0), coalesce((
         select jsonb_object_agg(k.kind, k.n) from (
           select u.kind, count(*) as n
           from mucluc.entry x join mucluc.chunk c on c.id = x.chunk_id, unnest(c.kinds) u(kind)
           where x.version_id = %(version)s and x.tenant = %(tenant)s and x.hot
           group by u.kind) k), '{}'), coalesce((
         select jsonb_object_agg(a.acl_id, a.n) from (
           select d.acl_id, count(*) as n
           from mucluc.entry x join mucluc.document d on d.id = x.document_id
           where x.version_id = %(version)s and x.tenant = %(tenant)s and x.hot
             and d.deleted_at is null and d.acl_id is not null
           group by d.acl_id) a), '{}')
from mucluc.entry e where e.version_id = %(version)s and e.tenant = %(tenant)s and e.hot
on conflict (version_id, tenant) do update
set part = excluded.part, n = excluded.n, total_len = excluded.total_len, kinds = excluded.kinds,
    acls = excluded.acls, stale = false;

-- name: mark_statistics_stale
-- Entries changed: whoever ends a run next counts again, even if this run dies. Once marked, the
-- row is left alone, so that writers side by side do not wait for one another; it is share-locked,
-- so that who counts waits for them.
with marked as (
  select 1 from mucluc.version_stat s where s.version_id = %(version)s
  and s.tenant = %(tenant)s and s.stale for share)
insert into mucluc.version_stat (version_id, tenant, part, n, total_len, stale)
select %(version)s, %(tenant)s, 0, 0, 0, true
where not exists (select 1 from marked)
on conflict (version_id, tenant) do update set stale = true;

-- name: statistics_stale
-- Whether the document frequencies of a tenant in a version must be counted again. Waits for
-- writers whose entries it could not yet see.
select 1 as present from mucluc.version_stat
where version_id = %(version)s and tenant = %(tenant)s and stale for update;

-- name: newly_ended
-- Whether a revision ended since the vector index was last cleared of ended ones.
select 1 as present from mucluc.published p join mucluc.index_version v on v.id = p.version_id
where p.version_id = %(version)s and upper(p.valid) > v.hot_from and upper(p.valid) <= %(today)s
limit 1;

-- name: cool_entries
-- Entries all of whose revisions have ended leave the hot vector index.
update mucluc.entry e set hot = false
where e.version_id = %(version)s and e.hot
  and e.chunk_id in (
    select rc.chunk_id from mucluc.published p
    join mucluc.revision_chunk rc on rc.revision_id = p.revision_id and rc.cut_id = p.cut_id
    where p.version_id = %(version)s and upper(p.valid) <= %(today)s)
  and not exists (
    select 1 from mucluc.published p
    join mucluc.revision_chunk rc on rc.revision_id = p.revision_id and rc.cut_id = p.cut_id
    where rc.chunk_id = e.chunk_id and p.version_id = e.version_id and not isempty(p.valid)
      and coalesce(upper(p.valid), 'infinity'::date) > %(today)s);

-- name: set_hot_from
-- From this day on the hot entries are all that can be visible.
update mucluc.index_version set hot_from = %(today)s where id = %(version)s;

-- name: incomplete_documents
-- Documents of a source whose newest revision is not in the version and not in quarantine.
select count(*) as documents from mucluc.document d
where d.tenant || E'\n' || d.source = %(tenant)s || E'\n' || %(source)s and d.deleted_at is null
  and not exists (select 1 from mucluc.quarantine q where q.document_id = d.id)
  and not exists (
    select 1 from mucluc.published p join mucluc.revision r on r.id = p.revision_id
    where p.document_id = d.id and p.version_id = %(version)s
      and r.sequence = (select max(x.sequence) from mucluc.revision x where x.document_id = d.id));

-- name: revisions_lacking
-- Revisions of live documents that another version has and this one not, in the order in which
-- they were seen.
select p.revision_id as id, r.bytes
from mucluc.published p
join mucluc.revision r on r.id = p.revision_id
join mucluc.document d on d.id = p.document_id
where p.version_id = %(like)s and d.deleted_at is null
  and (%(tenant)s::text is null or d.tenant = %(tenant)s)
  and (%(source)s::text is null or d.source = %(source)s)
  and (%(since)s::date is null or r.seen_on >= %(since)s)
  and not exists (select 1 from mucluc.published q
                  where q.version_id = %(version)s and q.revision_id = p.revision_id)
order by d.tenant, d.source, d.id, r.sequence;

-- name: estimate_lacking
-- What it would cost to give these revisions to a version: those without elements of today's
-- parsers, their chunks, and the texts that its model never embedded for the tenant. Of a revision
-- that was never cut by its recipe, the chunks of another version stand in; then it is no exact count.
with wanted as (
  select p.revision_id, p.cut_id, d.tenant, t.parser
  from mucluc.published p
  join mucluc.revision r on r.id = p.revision_id join mucluc.document d on d.id = p.document_id
  left join unnest(%(suffixes)s::text[], %(parsers)s::text[]) as t(suffix, parser)
    on t.suffix = r.suffix
  where p.version_id = %(like)s and p.revision_id = any(%(revisions)s::uuid[])
), own as (  -- cuts of its recipe, by their names (store.stages.cut_id)
  select distinct on (w.revision_id) w.revision_id, c.cut_id
  from wanted w
  join mucluc.parse x on x.revision_id = w.revision_id and split_part(x.parser_id, ' ', 1) = w.parser
  cross join lateral (select left(encode(sha256(convert_to(x.parser_id, 'UTF8') || '\x00'::bytea
    || convert_to(%(chunking)s, 'UTF8')), 'hex'), 16) as cut_id) c
  where exists (select 1 from mucluc.revision_chunk rc
                where rc.revision_id = w.revision_id and rc.cut_id = c.cut_id)
), placed as (
  select w.tenant, rc.chunk_id, bool_or(o.cut_id is not null) as cut
  from wanted w left join own o on o.revision_id = w.revision_id
  join mucluc.revision_chunk rc on rc.revision_id = w.revision_id
                               and rc.cut_id = coalesce(o.cut_id, w.cut_id)
  group by w.tenant, rc.chunk_id
), texts as (  -- a chunk that the other version shows in the same context has that one
  select c.tenant, c.chunk_id, c.cut, k.embedding_key as key
  from placed c left join lateral (
    select k.embedding_key from mucluc.context k
    left join mucluc.entry e on e.chunk_id = k.chunk_id and e.version_id = %(like)s
                            and e.input_sha256 = k.input_sha256
    where k.chunk_id = c.chunk_id and k.context_id = %(context)s
    order by e.chunk_id is null, exists (
      select 1 from mucluc.embedding_memo m
      where m.tenant = c.tenant and m.model = %(model)s and m.key = k.embedding_key)
    limit 1) k on c.cut
)
select (select count(*) from wanted w
        where w.parser is not null
          and not exists (select 1 from mucluc.parse x where x.revision_id = w.revision_id
                          and split_part(x.parser_id, ' ', 1) = w.parser)) as parses,
       (select count(*) from texts) as chunks,
       (select count(distinct (t.tenant, coalesce(t.key, uuid_send(t.chunk_id)))) from texts t
        where t.key is null or not exists (
          select 1 from mucluc.embedding_memo m
          where m.tenant = t.tenant and m.model = %(model)s and m.key = t.key)) as embeddings,
       (select coalesce(bool_and(t.key is not null), true) from texts t) as exact;

-- name: tenants_of_version
-- Whose entries a version has.
select tenant from mucluc.version_stat where version_id = %(version)s order by tenant;

-- name: newest_revision
-- The newest revision of a document.
select id from mucluc.revision where document_id = %(document)s order by sequence desc limit 1;

-- name: superseded
-- Whether a later revision of the same document is published anywhere.
select exists (select 1 from mucluc.revision r
               join mucluc.revision n on n.document_id = r.document_id and n.sequence > r.sequence
               join mucluc.published p on p.revision_id = n.id
               where r.id = %(revision)s) as superseded;

-- name: last_options
-- What the last sync of a source was asked.
select options from mucluc.run
where kind = 'sync' and tenant = %(tenant)s and source = %(source)s order by id desc limit 1;

-- name: whole_backfill_done
-- Whether a backfill of everything ever ended well in a version.
select exists (select 1 from mucluc.run
               where kind = 'backfill' and state = 'done' and lock_key = %(key)s
                 and report ->> 'whole' = 'true') as done;

-- name: documents_lacking
-- Live documents with a revision that another version has and this one not.
select count(distinct p.document_id) as documents
from mucluc.published p join mucluc.document d on d.id = p.document_id
where p.version_id = %(like)s and d.deleted_at is null
  and not exists (select 1 from mucluc.published q
                  where q.version_id = %(version)s and q.revision_id = p.revision_id);

-- name: documents_behind
-- Live documents that another version shows in a newer revision.
select count(*) as documents
from (select p.document_id, max(r.sequence) as newest
      from mucluc.published p
      join mucluc.revision r on r.id = p.revision_id
      join mucluc.document d on d.id = p.document_id
      where p.version_id = %(like)s and d.deleted_at is null group by 1) x
where not exists (select 1 from mucluc.published q join mucluc.revision s on s.id = q.revision_id
                  where q.version_id = %(version)s and q.document_id = x.document_id
                    and s.sequence >= x.newest);

-- name: vector_facts
-- What the vector gate looks at: vectors of another size, of no length, and how many differ.
select count(*) as entries,
       count(*) filter (where vector_dims(embedding) <> %(dimensions)s) as other_dimensions,
       count(*) filter (where not (l2_norm(embedding) between 0.5 and 1.5)) as not_unit,
       count(distinct md5(embedding::text)) as different
from (select embedding from mucluc.entry where version_id = %(version)s
      order by chunk_id limit 20000) e;

-- name: add_promotion
-- The gates' result, or the reason for going without.
insert into mucluc.promotion (index_name, alias, from_version, to_version, kind, gates, passed,
                              forced, reason, promoted_by)
values (%(index)s, %(alias)s, %(from)s, %(to)s, %(kind)s, %(gates)s, %(passed)s, %(forced)s,
        %(reason)s, coalesce(%(by)s, current_user))
returning id;

-- name: point_alias
-- The swap: one row.
insert into mucluc.alias (index_name, name, version_id, promotion_id)
values (%(index)s, %(alias)s, %(version)s, %(promotion)s)
on conflict (index_name, name) do update
set version_id = excluded.version_id, promotion_id = excluded.promotion_id;

-- name: set_version_state
-- building -> ready -> retired -> dropped.
update mucluc.index_version set state = %(state)s where id = %(version)s;

-- name: versions
-- Every version with its aliases, sizes and how it became active.
select v.id, v.index_name, v.name, v.state, v.recipe, v.dimensions, v.created_at, v.hot_from,
       coalesce((select array_agg(a.name order by a.name) from mucluc.alias a
                 where a.version_id = v.id), '{}') as aliases,
       (select count(*) from mucluc.entry e where e.version_id = v.id) as entries,
       (select count(distinct p.document_id) from mucluc.published p where p.version_id = v.id)
         as documents,
       coalesce((select sum(pg_indexes_size(t.relid))
                 from pg_partition_tree(to_regclass(format('mucluc.entry_%%s', v.id))) t
                 where t.isleaf), 0)::bigint as index_bytes,
       coalesce((select sum(pg_total_relation_size(t.relid))
                 from pg_partition_tree(to_regclass(format('mucluc.entry_%%s', v.id))) t
                 where t.isleaf), 0)::bigint as bytes,
       p.kind as promotion, p.alias as promoted_to, p.from_version, p.promoted_by, p.promoted_at,
       p.gates, p.passed, p.forced, p.reason
from mucluc.index_version v
left join lateral (select * from mucluc.promotion x where x.to_version = v.id
                   order by x.id desc limit 1) p on true
where %(index)s::text is null or v.index_name = %(index)s
order by v.index_name, v.id;

-- name: alias_target
-- Where an alias points, and by which promotion.
select a.version_id, p.from_version, p.promoted_at from mucluc.alias a
join mucluc.promotion p on p.id = a.promotion_id
where a.index_name = %(index)s and a.name = %(alias)s;

-- name: last_promotion
-- How a version passed its gates, or why it went without.
select gates, passed, forced, reason from mucluc.promotion
where index_name = %(index)s and to_version = %(version)s order by id desc limit 1;

-- name: version_by_id
-- A version.
select * from mucluc.index_version where id = %(version)s;

-- name: remove_alias
-- Nobody asks this way any more.
delete from mucluc.alias where index_name = %(index)s and name = %(alias)s;

-- name: completeness
-- The gate "complete": live documents that lack a revision; revisions whose count is not that of
-- their placements; placements without an entry, and in how many documents.
select (select count(distinct p.document_id)
        from mucluc.published p join mucluc.document d on d.id = p.document_id
        where p.version_id = %(like)s and d.deleted_at is null
          and not exists (select 1 from mucluc.published q where q.version_id = %(version)s
                          and q.revision_id = p.revision_id)) as missing_documents,
       (select count(*) from mucluc.published p
        join mucluc.document d on d.id = p.document_id
        where p.version_id = %(version)s and d.deleted_at is null
          and p.n_chunks <> (select count(*) from mucluc.revision_chunk rc
                             where rc.revision_id = p.revision_id and rc.cut_id = p.cut_id))
         as miscounted_revisions,
       h.missing_entries, h.documents_without_entries
from (select count(*) as missing_entries, count(distinct p.document_id) as documents_without_entries
      from mucluc.published p
      join mucluc.document d on d.id = p.document_id
      join mucluc.revision_chunk rc on rc.revision_id = p.revision_id and rc.cut_id = p.cut_id
      where p.version_id = %(version)s and d.deleted_at is null
        and not exists (select 1 from mucluc.entry e where e.chunk_id = rc.chunk_id
                        and e.version_id = %(version)s)) h;

-- name: coverage
-- How much of the text that a revision's chunks cover in one version they cover in another.
with covered as (
  select p.version_id, p.revision_id, p.document_id,
         (select coalesce(sum(upper(x) - lower(x)), 0)
          from (select unnest(range_agg(int4range(rc.char_start, rc.char_end))) as x
                from mucluc.revision_chunk rc
                where rc.revision_id = p.revision_id and rc.cut_id = p.cut_id) z)::float8 as chars
  from mucluc.published p join mucluc.document d on d.id = p.document_id
  where p.version_id in (%(version)s, %(like)s) and d.deleted_at is null)
select count(*) as compared,
       count(*) filter (where n.chars < %(thin)s * o.chars) as thin_revisions,
       coalesce(sum(n.chars) / nullif(sum(o.chars), 0), 1)::float8 as text_share
from covered o join covered n on n.revision_id = o.revision_id
where o.version_id = %(like)s and n.version_id = %(version)s;

-- name: fallback_contexts
-- Entries of a version whose context is a stand-in.
select count(*) as contexts, count(*) filter (where k.fallback) as fallbacks
from mucluc.entry e
join mucluc.index_version v on v.id = e.version_id
join mucluc.context k on k.chunk_id = e.chunk_id and k.input_sha256 = e.input_sha256
                     and k.context_id = v.context_id
where e.version_id = %(version)s;

-- name: vector_shape
-- The gate "vectors": size and length of all of them; of a sample, how many differ, how many of
-- their texts do, and the length of their mean (1: all point one way).
select (select count(*) from mucluc.entry where version_id = %(version)s) as entries,
       (select count(*) from mucluc.entry where version_id = %(version)s
        and vector_dims(embedding) <> %(dimensions)s) as other_dimensions,
       (select count(*) from mucluc.entry where version_id = %(version)s
        and not (l2_norm(embedding) between 0.98 and 1.02)) as not_unit,
       count(distinct md5(s.embedding::text)) as different,
       count(distinct s.embedding_key) as different_texts,
       coalesce(l2_norm(avg(s.embedding)), 0) as mean_length
from (select e.embedding, k.embedding_key
      from mucluc.entry e
      join mucluc.index_version v on v.id = e.version_id
      join mucluc.context k on k.chunk_id = e.chunk_id and k.input_sha256 = e.input_sha256
                           and k.context_id = v.context_id
      where e.version_id = %(version)s and vector_dims(e.embedding) = %(dimensions)s
      order by e.chunk_id limit 20000) s;

-- name: vector_sample
-- Vectors with the texts that they stand for, another sample each time.
select e.embedding::vector as embedding, k.prefix, c.text
from mucluc.entry e
join mucluc.index_version v on v.id = e.version_id
join mucluc.context k on k.chunk_id = e.chunk_id and k.input_sha256 = e.input_sha256
                     and k.context_id = v.context_id
join mucluc.chunk c on c.id = e.chunk_id
where e.version_id = %(version)s
order by md5(e.chunk_id::text || %(seed)s::text) limit %(limit)s;

-- name: validity_differences
-- Of documents with the same revisions in both versions: those that hold on other days.
with both_have as (
  select p.document_id,
         array_agg(p.revision_id order by p.revision_id)
           filter (where p.version_id = %(like)s) as old,
         array_agg(p.revision_id order by p.revision_id)
           filter (where p.version_id = %(version)s) as new
  from mucluc.published p join mucluc.document d on d.id = p.document_id
  where p.version_id in (%(version)s, %(like)s) and d.deleted_at is null
  group by 1
), alike as (select document_id from both_have where old = new)
select (select count(*) from alike) as compared,
       (select count(distinct o.document_id) from alike a
        join mucluc.published o on o.document_id = a.document_id and o.version_id = %(like)s
        join mucluc.published n on n.revision_id = o.revision_id and n.version_id = %(version)s
        where o.valid <> n.valid) as other_days;

-- name: probe_identities
-- Who probes a version for leaks: the ACL sets with the most documents, by tenant.
select x.tenant, x.principals, x.denied
from (select a.tenant, a.principals, a.denied, count(*) as n,
             row_number() over (partition by a.tenant order by count(*) desc, a.id) as place
      from mucluc.acl_set a join mucluc.document d on d.acl_id = a.id
      where exists (select 1 from mucluc.published p
                    where p.document_id = d.id and p.version_id in (%(version)s, %(like)s))
      group by a.id) x
where x.place <= %(each)s
order by x.tenant, x.place;

-- name: probe_days
-- Days on which what holds changes: the last ones that are past.
select distinct lower(p.valid) - 1 as day from mucluc.published p
where p.version_id = %(like)s and not isempty(p.valid) and lower(p.valid) > '0001-01-01'
  and lower(p.valid) <= %(today)s
order by day desc limit 3;

-- name: become_search
-- From here to the end of the transaction, the rights of the search functions' owner.
set local role mucluc_search;

-- name: compare_visible
-- What the identity of this transaction sees in two versions, and documents that both versions
-- have and only one shows.
with o as materialized (select distinct document_id from mucluc.visible(%(like)s)),
n as materialized (select distinct document_id from mucluc.visible(%(version)s))
select (select count(*) from o) as old, (select count(*) from n) as new,
       (select count(*) from (table o except table n) x
        where exists (select 1 from mucluc.published p where p.document_id = x.document_id
                      and p.version_id = %(version)s)) as lost,
       (select count(*) from (table n except table o) x
        where exists (select 1 from mucluc.published p where p.document_id = x.document_id
                      and p.version_id = %(like)s)) as gained;

-- name: retirable_versions
-- Versions that nothing needs any more: begun before the active one took its place, without an
-- alias, and past the time for a rollback. A ready one that is not the previous one goes at once.
select v.* from mucluc.index_version v
join mucluc.alias a on a.index_name = v.index_name and a.name = 'active'
join mucluc.promotion p on p.id = a.promotion_id
where v.state in ('building', 'ready') and v.created_at < p.promoted_at
  and not exists (select 1 from mucluc.alias x where x.version_id = v.id)
  and (p.promoted_at <= now() - make_interval(days => %(keep_days)s)
       or (v.state = 'ready' and v.id is distinct from p.from_version))
order by v.id;

-- name: retire_version
-- ready -> retired, unless an alias names it by now.
update mucluc.index_version v set state = 'retired'
where v.id = %(version)s and v.state in ('building', 'ready')
  and not exists (select 1 from mucluc.alias x where x.version_id = v.id);

-- name: retired_versions
-- Versions whose partitions are still to be dropped; one whose detaching was begun comes first.
select v.* from mucluc.index_version v
where v.state = 'retired'
order by exists (select 1 from pg_inherits i
                 where i.inhrelid = to_regclass(format('mucluc.entry_%%s', v.id))
                   and i.inhdetachpending) desc, v.id;

-- name: partition_state
-- What became of a version's partition.
select to_regclass(format('mucluc.entry_%%s', %(version)s::int)) is not null as exists,
       i.inhrelid is not null as attached, coalesce(i.inhdetachpending, false) as pending
from (select 1) one
left join pg_inherits i on i.inhrelid = to_regclass(format('mucluc.entry_%%s', %(version)s::int))
                       and i.inhparent = 'mucluc.entry'::regclass;

-- name: delete_published
-- What a retired version showed, some rows at a time.
delete from mucluc.published p
where p.version_id = %(version)s and p.revision_id in (
  select q.revision_id from mucluc.published q where q.version_id = %(version)s limit %(limit)s);

-- name: delete_lexeme_stats
-- Document frequencies of a retired version, some rows at a time.
delete from mucluc.lexeme_stat s
where s.version_id = %(version)s and (s.tenant, s.lexeme) in (
  select x.tenant, x.lexeme from mucluc.lexeme_stat x
  where x.version_id = %(version)s limit %(limit)s);

-- name: delete_version_stats
-- Sizes of a retired version.
delete from mucluc.version_stat where version_id = %(version)s;

-- name: hold_runs
-- No run begins until this transaction ends; those under way can go on.
lock table mucluc.run in share mode;

-- name: runs_under_way
-- Runs whose process holds its lock.
select r.kind, r.tenant, r.source from mucluc.run r
where r.state = 'running' and r.kind <> 'gc'
  and exists (select 1 from pg_locks l
              where l.locktype = 'advisory' and l.granted and l.objsubid = 1
                and l.database = (select oid from pg_database where datname = current_database())
                and ((l.classid::bigint << 32) | l.objid::bigint)
                    = hashtextextended(r.lock_key, 0));

-- name: documents_after
-- The next documents, leaving out sources that are being worked on.
select d.id from mucluc.document d
where d.id > %(after)s
  and not exists (select 1 from unnest(%(tenants)s::text[], %(sources)s::text[]) b(tenant, source)
                  where b.tenant = d.tenant and b.source = d.source)
order by d.id limit %(limit)s;

-- name: long_deleted
-- Documents that left their source long ago.
select d.id from mucluc.document d
where d.deleted_at < %(before)s
  and not exists (select 1 from unnest(%(tenants)s::text[], %(sources)s::text[]) b(tenant, source)
                  where b.tenant = d.tenant and b.source = d.source)
order by d.id limit %(limit)s;

-- name: mark_stale_of_documents
-- Entries of these documents go: their tenants' document frequencies must be counted again.
update mucluc.version_stat s set stale = true
where not s.stale and (s.version_id, s.tenant) in (
  select e.version_id, e.tenant from mucluc.entry e where e.document_id = any(%(ids)s::uuid[]));

-- name: delete_rows_of_documents
-- With everything that hangs on them, in every version.
delete from mucluc.document where id = any(%(ids)s::uuid[]);

-- name: documents_with_old_history
-- The next documents that have a revision whose history need not be kept, as prune_revisions says.
select d.id from mucluc.document d
where d.id > %(after)s
  and (%(tenant)s::text is null or d.tenant = %(tenant)s)
  and (%(source)s::text is null or d.source = %(source)s)
  and not exists (select 1 from unnest(%(tenants)s::text[], %(sources)s::text[]) b(tenant, source)
                  where b.tenant = d.tenant and b.source = d.source)
  and d.id in (select p.document_id from mucluc.published p
               where isempty(p.valid) or upper(p.valid) <= %(before)s::date)
order by d.id limit %(limit)s;

-- name: prune_revisions
-- Superseded revisions that ended before a day in every version; one that never held, when it was
-- seen and would have begun before. What is stated goes; dates and hashes stay.
update mucluc.revision r set pruned = true, title = null, language = null, metadata = '{}'
where r.document_id = any(%(ids)s::uuid[]) and not r.pruned
  and exists (select 1 from mucluc.published p where p.revision_id = r.id)
  and exists (select 1 from mucluc.revision n join mucluc.published p on p.revision_id = n.id
              where n.document_id = r.document_id and n.sequence > r.sequence)
  and not exists (
    select 1 from mucluc.published p
    where p.revision_id = r.id
      and case when isempty(p.valid) then greatest(r.seen_on, r.stated_from) >= %(before)s::date
               else coalesce(upper(p.valid), 'infinity'::date) > %(before)s::date end)
returning r.id;

-- name: unpublish_revisions
-- No version shows these any more.
delete from mucluc.published where revision_id = any(%(revisions)s::uuid[]);

-- name: delete_parses_of_revisions
-- What was read of these.
delete from mucluc.parse where revision_id = any(%(revisions)s::uuid[]);

-- name: delete_placements_of_revisions
-- Where their chunks stood.
delete from mucluc.revision_chunk where revision_id = any(%(revisions)s::uuid[]);

-- name: delete_orphaned_revisions
-- Superseded revisions that no version shows.
delete from mucluc.revision r
where r.document_id = any(%(ids)s::uuid[]) and not r.pruned
  and not exists (select 1 from mucluc.published p where p.revision_id = r.id)
  and exists (select 1 from mucluc.revision n join mucluc.published p on p.revision_id = n.id
              where n.document_id = r.document_id and n.sequence > r.sequence);

-- name: delete_unused_placements
-- Cuts that no version shows, none that is being built will want, and no pending revision needs.
delete from mucluc.revision_chunk rc using mucluc.revision r
where r.id = rc.revision_id and r.document_id = any(%(ids)s::uuid[])
  and exists (select 1 from mucluc.published p where p.revision_id = r.id)
  and not exists (select 1 from mucluc.published p
                  where p.revision_id = rc.revision_id and p.cut_id = rc.cut_id)
  and not exists (
    select 1 from mucluc.parse x, mucluc.index_version v
    where x.revision_id = rc.revision_id and v.state = 'building'
      and rc.cut_id = left(encode(sha256(
        convert_to(x.parser_id, 'UTF8') || '\x00'::bytea || convert_to(v.chunking_id, 'UTF8')),
        'hex'), 16));

-- name: delete_unused_parses
-- Elements from which no version's chunks are cut, unless one that is being built will want them.
delete from mucluc.parse x using mucluc.revision r
where r.id = x.revision_id and r.document_id = any(%(ids)s::uuid[])
  and exists (select 1 from mucluc.published p where p.revision_id = r.id)
  and not exists (
    select 1 from mucluc.published p join mucluc.index_version v on v.id = p.version_id
    where p.revision_id = x.revision_id
      and p.cut_id = left(encode(sha256(
        convert_to(x.parser_id, 'UTF8') || '\x00'::bytea || convert_to(v.chunking_id, 'UTF8')),
        'hex'), 16))
  and not exists (
    select 1 from mucluc.index_version v, jsonb_each_text(v.recipe -> 'parsers') f
    where v.state = 'building' and f.value = split_part(x.parser_id, ' ', 1));

-- name: delete_unplaced_entries
-- Entries that no revision shows in their version: chunks of a revision that is gone.
delete from mucluc.entry e
where e.document_id = any(%(ids)s::uuid[])
  and not exists (
    select 1 from mucluc.revision_chunk rc
    join mucluc.published p on p.revision_id = rc.revision_id and p.cut_id = rc.cut_id
    where rc.chunk_id = e.chunk_id and p.version_id = e.version_id)
returning e.version_id, e.tenant;

-- name: mark_counts_stale
-- Entries of a tenant in a version went.
update mucluc.version_stat set stale = true
where version_id = %(version)s and tenant = %(tenant)s and not stale;

-- name: delete_unplaced_chunks
-- Chunks that stand nowhere.
delete from mucluc.chunk c
where c.document_id = any(%(ids)s::uuid[])
  and not exists (select 1 from mucluc.revision_chunk rc where rc.chunk_id = c.id);

-- name: delete_unused_contexts
-- Contexts that no entry was made from, unless a version that is being built or a pending revision
-- will want them.
delete from mucluc.context k using mucluc.chunk c
where c.id = k.chunk_id and c.document_id = any(%(ids)s::uuid[])
  and not exists (select 1 from mucluc.revision r where r.document_id = c.document_id
                  and not r.pruned and not exists (select 1 from mucluc.published p where p.revision_id = r.id))
  and not exists (
    select 1 from mucluc.entry e join mucluc.index_version v on v.id = e.version_id
    where e.chunk_id = k.chunk_id and e.input_sha256 = k.input_sha256
      and v.context_id = k.context_id)
  and not exists (select 1 from mucluc.index_version v
                  where v.state = 'building' and v.context_id = k.context_id);

-- name: memos_after
-- The next memos.
select m.tenant, m.model, m.key from mucluc.embedding_memo m
where (m.tenant, m.model, m.key) > (%(tenant)s, %(model)s, %(key)s)
order by m.tenant, m.model, m.key limit %(limit)s;

-- name: delete_unused_memos
-- Embeddings of models that no version has, or of texts that are gone.
delete from mucluc.embedding_memo m
where (m.tenant, m.model, m.key) > (%(tenant)s, %(model)s, %(key)s)
  and (m.tenant, m.model, m.key) <= (%(last_tenant)s, %(last_model)s, %(last_key)s)
  and not m.tenant = any(%(busy)s::text[])
  and (not exists (select 1 from mucluc.index_version v
                   where v.model = m.model and v.state <> 'dropped')
       or not exists (select 1 from mucluc.context k
                      join mucluc.chunk c on c.id = k.chunk_id
                      join mucluc.document d on d.id = c.document_id
                      where k.embedding_key = m.key and d.tenant = m.tenant));

-- name: stale_statistics
-- Whose document frequencies must be counted again.
select s.version_id, s.tenant from mucluc.version_stat s
join mucluc.index_version v on v.id = s.version_id
where s.stale and v.state in ('building', 'ready') order by 1, 2;

-- name: begin_reading
-- One snapshot with the reader's rights; and what the identity of this transaction must quote.
begin isolation level repeatable read, read only;
set local role mucluc_reader;
select mucluc.challenge() as challenge;

-- name: challenge
-- What the identity of this transaction must quote.
select mucluc.challenge() as challenge;

-- name: identify
-- Who asks, once a transaction.
select mucluc.identify(%(payload)s, %(signature)s);

-- name: resolve
-- Which version an alias means, once a search.
select version_id, name, model, recipe, dimensions from mucluc.resolve(%(index)s, %(alias)s);

-- name: resolve_version
-- A version by its name, for searching one that no alias points at.
select version_id, name, model, recipe, dimensions
from mucluc.resolve_version(%(index)s, %(name)s);

-- name: limit_statements
-- How long each of the following statements may take, in milliseconds; 0 is for ever.
select set_config('statement_timeout', %(limit)s, true);

-- name: visible_documents
-- As the reader: row-level security leaves those that the identity may see on its day.
select id from mucluc.document where id = any(%(documents)s::uuid[]);

-- name: visible_values
-- As the reader: what filters could name of the documents that it may see on its day. By one chunk
-- of each revision, since a language may be the parse's, which only the function reads.
select distinct x.collection, x.source, lower(x.language) as language
from mucluc.read_chunks(%(version)s, array(
  select (select r.chunk_id from mucluc.revision_chunk r
          where r.revision_id = p.revision_id and r.cut_id = p.cut_id limit 1)
  from mucluc.published p where p.version_id = %(version)s)) x;

-- name: visible_kinds
-- As the reader: kinds of the chunks that it may see on its day.
select distinct unnest(c.kinds) as kind from mucluc.chunk c;

-- name: search_dense
-- Nearest chunks by meaning.
select rank, chunk_id, distance, plan
from mucluc.search_dense(%(version)s, %(model)s, %(vector)s, %(k)s, %(scope)s)
order by rank;

-- name: search_text
-- Best chunks by BM25, those with the question's codes and words as a phrase first.
select rank, chunk_id, score, plan, codes, phrase
from mucluc.search_text(%(version)s, %(question)s, %(k)s, %(scope)s)
order by rank;

-- name: read_chunks
-- What there is to show of these chunks.
select * from mucluc.read_chunks(%(version)s, %(chunks)s::uuid[]);

-- name: why_documents
-- A tenant's documents at a URI or ending in it, whoever may see them, for the operator.
select d.id, d.uri, d.source, d.collection, d.deleted_at, d.stale, d.first_seen, d.acl_stated,
       coalesce(a.principals, '{}') as principals, coalesce(a.denied, '{}') as denied,
       q.reason, q.hint, q.attempts, q.last_at
from mucluc.document d
left join mucluc.acl_set a on a.id = d.acl_id
left join mucluc.quarantine q on q.document_id = d.id
where d.tenant = %(tenant)s::text
  and right('/' || normalize(d.uri, NFC), length(%(uri)s::text) + 1)
      = '/' || normalize(%(uri)s::text, NFC)
order by d.deleted_at nulls first, length(d.uri), d.uri collate "C", d.id;

-- name: why_names
-- Living documents whose names hold one of these words, folded: what may have been meant.
select distinct d.uri from mucluc.document d
where d.tenant = %(tenant)s::text and d.deleted_at is null
  and exists (select 1 from unnest(%(words)s::text[]) w
              where strpos(mucluc.fold(lower(d.uri)), w) > 0)
limit %(most)s::int;

-- name: why_version
-- The version that an alias means, or one by its name; when the alias came to it.
select v.id as version_id, v.index_name, v.name, v.state, p.promoted_at as since
from mucluc.index_version v
left join mucluc.alias a on a.version_id = v.id and a.index_name = v.index_name
                        and a.name = %(alias)s::text
left join mucluc.promotion p on p.id = a.promotion_id
where v.index_name = %(index)s::text
  and case when %(name)s::text is null then a.name is not null else v.name = %(name)s::text end;

-- name: why_homes
-- Versions that hold a revision of a document.
select v.index_name, v.name, v.state,
       array(select a.name from mucluc.alias a where a.version_id = v.id order by 1) as aliases
from mucluc.index_version v
where exists (select 1 from mucluc.published p
              where p.version_id = v.id and p.document_id = %(document)s::uuid)
order by v.id;

-- name: why_revisions
-- A document's revisions, and the range in which a version holds each.
select r.id, r.sequence, coalesce(r.title, x.title) as title,
       coalesce(r.language, x.language) as language, r.metadata, r.stated_from, r.stated_to,
       p.valid, p.n_chunks, r.pruned, coalesce(x.warnings, '{}') as warnings
from mucluc.revision r
left join mucluc.published p on p.revision_id = r.id and p.version_id = %(version)s::int
left join lateral (select y.title, y.language, y.warnings from mucluc.parse y
                   where y.revision_id = r.id limit 1) x on true
where r.document_id = %(document)s::uuid
order by r.sequence;

-- name: why_chunks
-- Chunks of a document's revisions in a version: whether each has its entry, obeys the scope's
-- phrases and exclusions, and holds the question's own quoted words.
select rc.revision_id, rc.ordinal, c.id, c.heading_path, c.text, c.kinds, c.warnings,
       e.chunk_id is not null as has_entry,
       mucluc.obeys(mucluc.scope_of(%(scope)s::jsonb), coalesce(r.title, x.title),
                    c.heading_path, c.text) as obeys,
       mucluc.obeys(mucluc.scope_of(%(quoted)s::jsonb), coalesce(r.title, x.title),
                    c.heading_path, c.text) as quoted
from mucluc.published p
join mucluc.revision r on r.id = p.revision_id
left join lateral (select y.title from mucluc.parse y where y.revision_id = r.id limit 1) x on true
join mucluc.revision_chunk rc on rc.revision_id = p.revision_id and rc.cut_id = p.cut_id
join mucluc.chunk c on c.id = rc.chunk_id
left join mucluc.entry e on e.chunk_id = c.id and e.version_id = %(version)s::int
where p.document_id = %(document)s::uuid and p.version_id = %(version)s::int
order by rc.revision_id, rc.ordinal;

-- name: golden_of_index
-- Every question of an index with its sources, and where each one's document is now: that of the
-- place itself before one that moved away from it; null when no live one is known.
select g.id, g.name, g.tenant, g.principals, g.as_of, g.language, g.tags, g.unanswerable, g.query,
       g.added_at, g.voided_at, g.voided_why, coalesce((
         select jsonb_agg(jsonb_build_array(s.uri, s.quote, n.uri) order by s.ordinal)
         from mucluc.golden_source s
         left join lateral (
           select d.uri from mucluc.golden_document l
           join mucluc.document d on d.id = l.document_id
           where l.golden_id = s.golden_id and l.ordinal = s.ordinal and d.deleted_at is null
           order by d.uri <> s.uri, d.id limit 1) n on true
         where s.golden_id = g.id), '[]') as sources
from mucluc.golden g where g.index_name = %(index)s order by g.name, g.id;

-- name: count_golden
-- How many questions are registered, voided ones too.
select count(*) as questions from mucluc.golden where index_name = %(index)s;

-- name: golden_by_name
-- What stands under these names.
select id, name, voided_at is not null as voided
from mucluc.golden where index_name = %(index)s and name = any(%(names)s) for update;

-- name: add_golden
-- One question.
insert into mucluc.golden (id, index_name, name, tenant, principals, as_of, language, tags,
                           unanswerable, query)
values (%(id)s, %(index)s, %(name)s, %(tenant)s, %(principals)s, %(as_of)s, %(language)s, %(tags)s,
        %(unanswerable)s, %(query)s);

-- name: add_golden_sources
-- What it expects, and what must not come.
insert into mucluc.golden_source (golden_id, ordinal, uri, quote)
select %(id)s, x.ordinal, x.uri, x.quote
from unnest(%(uris)s::text[], %(quotes)s::text[]) with ordinality x(uri, quote, ordinal);

-- name: link_golden
-- The live documents that stand at the places of an index's questions by now.
insert into mucluc.golden_document (golden_id, ordinal, document_id)
select s.golden_id, s.ordinal, d.id
from mucluc.golden g
join mucluc.golden_source s on s.golden_id = g.id
join mucluc.document d on d.tenant = g.tenant and d.uri = s.uri and d.deleted_at is null
where g.index_name = %(index)s
for key share of d  -- one that a collection is deleting is passed over
on conflict do nothing;

-- name: texts_at
-- Chunks of the live documents at a place, in an index's active version on a day; a row without a
-- text where there is such a document and no such chunk.
select c.text from mucluc.document d
join mucluc.alias a on a.index_name = %(index)s and a.name = 'active'
left join mucluc.published p
  on p.version_id = a.version_id and p.document_id = d.id and p.valid @> %(day)s::date
left join mucluc.revision_chunk r on r.revision_id = p.revision_id and r.cut_id = p.cut_id
left join mucluc.chunk c on c.id = r.chunk_id
where d.tenant = %(tenant)s and d.uri = %(uri)s and d.deleted_at is null;

-- name: remove_golden
-- Forget questions by name, or all of an index.
delete from mucluc.golden
where index_name = %(index)s and (%(names)s::text[] is null or name = any(%(names)s))
returning name;

-- name: void_golden
-- Questions whose words come from these documents, or from whatever stood at these places: their
-- words go, their names stay, so that adding the same file again does not bring them back.
with found as (
  select g.id from mucluc.golden g
  where g.voided_at is null and (g.tenant = %(tenant)s::text or exists (
    select 1 from mucluc.golden_source s
    where s.golden_id = g.id and (
      exists (select 1 from mucluc.golden_document l
              where l.golden_id = s.golden_id and l.ordinal = s.ordinal
                and l.document_id = any(%(documents)s))
      or exists (select 1 from mucluc.document d
                 where d.id = any(%(documents)s) and d.tenant = g.tenant and d.uri = s.uri)
      or exists (select 1 from unnest(%(tenants)s::text[], %(uris)s::text[]) x(tenant, uri)
                 where x.tenant = g.tenant and x.uri = s.uri))))
), said as (
  delete from mucluc.golden_source where golden_id in (select id from found)
)
update mucluc.golden g set query = null, principals = '{}', voided_at = now(), voided_why = %(why)s
from found f where g.id = f.id
returning g.id;
