-- Roles and databases, as memsync/launcher/embedded/roles.py makes them.  Run by psql as a superuser, once, on an empty server;
-- the passwords come from the environment.  `memsync prepare` then makes the tables and grants what each role may do.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
\getenv operator_password OPERATOR_PASSWORD
\getenv keyring_password KEYRING_PASSWORD
\getenv broker_password BROKER_PASSWORD

create role memsync_owner with login nosuperuser nocreatedb nocreaterole noreplication bypassrls password :'owner_password';
create role memsync_app with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'app_password';
create role memsync_operator with login nosuperuser nocreatedb nocreaterole noreplication bypassrls password :'operator_password';
create role memsync_keyring with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'keyring_password';
create role memsync_broker with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'broker_password';

create database memsync owner memsync_owner;
revoke all on database memsync from public;
grant connect on database memsync to memsync_owner, memsync_app, memsync_operator, memsync_broker;
grant create on database memsync to memsync_broker; -- the queue's schema is its own; may be revoked once it is there

create database memsync_keyring owner memsync_owner; -- better on another server, with backups of its own
revoke all on database memsync_keyring from public;
grant connect on database memsync_keyring to memsync_owner, memsync_keyring;

\connect memsync
create extension if not exists vector;
