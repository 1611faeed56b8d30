-- The index that recall scans for vectors, and storage parameters of the two tables that it reads.
--
-- A recall scans one space in a plan that is kept for all spaces: parallel workers, started for a space of average size,
-- would take longer than reading a small one.

create index vector_signs on memories_memoryvector (tenant_id, space_id, live)
    include (memory_id, key_version, embedder, project_id, expires_at, signs);
alter table memories_posting set (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, parallel_workers = 0
);
alter table memories_memoryvector set (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, parallel_workers = 0
);

-- Reverse
alter table memories_memoryvector reset (
    autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor, parallel_workers
);
alter table memories_posting reset (
    autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor, parallel_workers
);
drop index vector_signs;
