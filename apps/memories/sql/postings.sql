-- Create the table of term postings. Its primary key includes the counts, so that BM25 reads the index alone.

create table memories_posting (
    tenant_id bigint not null,
    space_id bigint not null,
    token bigint not null,
    memory_id bigint not null,
    tf smallint not null,
    length smallint not null,
    primary key (tenant_id, space_id, token, memory_id) include (tf, length)
);
create index posting_of_memory on memories_posting (tenant_id, memory_id);

-- Reverse
drop table memories_posting;
