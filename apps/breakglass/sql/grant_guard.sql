-- Refuse a grant that begins approved, and changes of a grant that extend, widen or reopen it.

create function breakglass_guard() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    said_once constant text[] := array['approved_by', 'approved_at', 'allowed_by', 'allowed_at', 'opened_at', 'ends_at'];
    may_change constant text[] := said_once || array['closed_by', 'closed_at', 'opened_ids'];
    name text;
begin
    if tg_op = 'INSERT' then
        if new.approved_by is not null or new.allowed_by is not null or new.opened_at is not null
                or new.opened_ids <> '{}' then
            raise exception 'a grant begins as a question' using errcode = 'check_violation';
        end if;
        return new;
    end if;
    if to_jsonb(old) - may_change is distinct from to_jsonb(new) - may_change then
        raise exception 'what a grant is for does not change' using errcode = 'check_violation';
    end if;
    if old.closed_at is not null then
        raise exception 'a grant that was ended stays as it is' using errcode = 'check_violation';
    end if;
    foreach name in array said_once loop
        if (old.opened_at is not null or to_jsonb(old) ->> name is not null)
                and to_jsonb(old) ->> name is distinct from to_jsonb(new) ->> name then
            raise exception 'a grant that is open is not changed' using errcode = 'check_violation';
        end if;
    end loop;
    if not new.opened_ids @> old.opened_ids or (old.opened_at is null and new.opened_ids <> '{}') then
        raise exception 'what was opened under a grant stays noted' using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger guard before insert or update on breakglass_grant
    for each row execute function breakglass_guard();

-- Reverse
drop trigger guard on breakglass_grant;
drop function breakglass_guard();
