import { aal1, aal2 } from '../../../src/domain/sessions/first-factor.js';
import { takeMails, type World } from './world.js';

interface Row {
  id: string;
  email: string;
  is_verified: boolean;
  has_password: boolean;
  factors: string[];
  codes: number;
  trusts: number;
  sessions: string[];
}

const picture = `
select i.id, i.email::text, i.email_verified_at is not null as is_verified, i.password_hash is not null as has_password,
  coalesce((select array_agg(f.id || ' ' || f.type || ' ' || (f.type = 'webauthn' and f.signs_in) order by f.id)
    from mfa_factors f where f.identity_id = i.id), '{}') as factors,
  (select count(*)::int from recovery_codes c where c.identity_id = i.id and c.generation = i.recovery_codes_generation
    and c.used_at is null) as codes,
  (select count(*)::int from trusted_devices d where d.identity_id = i.id and d.expires_at > $2) as trusts,
  coalesce((select array_agg(s.id || ' ' || (select string_agg(one, ',' order by one) from unnest(s.amr) as one) || ' ' || s.acr
      || ' ' || floor(extract(epoch from s.authenticated_at) * 1000)::bigint order by s.id)
    from sessions s where s.identity_id = i.id and s.revoked_at is null and s.expires_at > $2), '{}') as sessions
from identities i where i.account_id = $1 and exists (select from environment_memberships m where m.identity_id = i.id)
order by i.id`;

/** Expects each person's factors, sessions and trusted browsers to be the model's, and no mail that it does not know of. */
export async function expectTheModel(it: World): Promise<void> {
  const { model, account, query, api } = it;
  const rows = await query<Row>(picture, [account.scope.accountId, api.clock.now]);
  const at = it.now();
  const expected = model.people
    .filter(({ isGone }) => !isGone)
    .map((person) => ({
      ...{ id: person.id, email: person.email, is_verified: person.isVerified, has_password: person.password !== null },
      factors: person.factors.map(({ id, kind, signsIn }) => `${id} ${kind} ${kind === 'webauthn' && signsIn}`).sort(),
      codes: person.recoveryCodes.length,
      trusts: model.visitors.filter(({ trusts }) => (trusts.get(person) ?? 0) > at).length,
      sessions: model.sessions
        .filter((one) => one.person === person && one.isAlive && at < one.endsAt)
        .map((one) => `${one.id} ${[...one.amr].sort()} ${one.isStrong ? aal2 : aal1} ${one.at}`)
        .sort(),
    }));
  expect(rows).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
  expect((await takeMails(it)).map(({ template, to }) => `${template} ${to}`)).toEqual([]);
}
