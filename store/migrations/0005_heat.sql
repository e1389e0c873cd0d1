-- What of a document is hot is found entry by entry, whatever the planner knows of the tables.
set local search_path = mucluc, public, pg_temp;

create or replace function refresh_validity(p_documents uuid[]) returns void language sql as $$
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
