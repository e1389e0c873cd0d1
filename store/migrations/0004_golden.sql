-- Golden questions live in the database, so that a promotion can ask them and an erasure void them.
set local search_path = mucluc, public, pg_temp;

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

do $$
declare t text;
begin
  foreach t in array array['golden', 'golden_source', 'golden_document'] loop
    execute format('alter table mucluc.%I enable row level security', t);
    execute format('create policy owned_functions on mucluc.%I for select to mucluc_search
                    using (true)', t);
    execute format('revoke all on mucluc.%I from public', t);
  end loop;
end $$;
alter table golden alter column query set statistics 0;
alter table golden_source alter column uri set statistics 0;
alter table golden_source alter column quote set statistics 0;
