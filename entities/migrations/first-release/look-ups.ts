/**
 * Looks people up by their address, and searches them by a part of their name or address.
 *
 * citext's operators and `ilike` are not leakproof, so under row-level security PostgreSQL never uses an index for them:
 * each sign-in would read every Identity of the Account. These functions run as the owner of the tables and return only
 * ids and times; the rows behind them stay protected. Their cost keeps a plan from calling them for each row.
 */
export const lookUps = `
create function gatehouse_user_id(address citext) returns uuid language sql stable security definer cost 10000
  return (select id from users where email = address);

create function gatehouse_identity_id(account uuid, address citext) returns uuid language sql stable security definer cost 10000
  return (select id from identities where account_id = account and email = address);

create function gatehouse_waiting_registrations(address citext) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select id from pending_registrations where status = 'pending' and email = address;
  end;

create function gatehouse_waiting_invites(account uuid, address citext) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select id from identity_invites where account_id = account and email = address and status = 'pending';
  end;

-- Ended invites by people's addresses, to delete them with a person who is erased.
create function gatehouse_ended_invites(account uuid, identity_ids uuid[]) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select i.id from identities p join identity_invites i on i.account_id = p.account_id and i.email = p.email
    where p.account_id = account and p.id = any(identity_ids) and i.status <> 'pending';
  end;

-- The searches are planned once: PostgreSQL considered the plan for each pattern a little cheaper, and planned each time for longer
-- than the search ran (docs/decisions/0025). The CTE comes first, whatever the planner believes of the tables' sizes.
create function gatehouse_matching_identities(account uuid, environment uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100 set plan_cache_mode = force_generic_plan
  begin atomic
    with found as materialized (
      select i.id from identities i
      where gatehouse_identity_text(i.first_name, i.last_name, i.email) ilike pattern and i.account_id = account
    )
    select id from found
    where exists (select from environment_memberships m where m.environment_id = environment and m.identity_id = found.id);
  end;

create function gatehouse_found_members(account uuid, environment uuid, pattern text, most integer)
  returns table (identity_id uuid, is_active boolean, created_at timestamptz)
  language sql stable security definer cost 10000 rows 100 set plan_cache_mode = force_generic_plan
  begin atomic
    with found as materialized (
      select i.id from identities i
      where i.account_id = account and gatehouse_identity_text(i.first_name, i.last_name, i.email) ilike pattern
    )
    select m.identity_id, m.is_active, m.created_at
    from found cross join lateral (
      select m.identity_id, m.is_active, m.created_at from environment_memberships m
      where m.environment_id = environment and m.identity_id = found.id and m.account_id = account offset 0) m
    limit most;
  end;

create function gatehouse_matching_directory(account uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    select i.id from identities i
    where gatehouse_identity_text(i.first_name, i.last_name, i.email) ilike pattern and i.account_id = account;
  end;

revoke execute on function gatehouse_user_id, gatehouse_identity_id, gatehouse_waiting_registrations, gatehouse_waiting_invites,
  gatehouse_ended_invites, gatehouse_matching_identities, gatehouse_found_members, gatehouse_matching_directory from public;
`;
