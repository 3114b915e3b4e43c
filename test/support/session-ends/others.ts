import { setActive } from '../../../src/domain/identities/activation.js';
import { setPassword } from '../../../src/domain/identities/credentials.js';
import { createClientManagement } from '../../../src/domain/oidc/clients/management.js';
import { endSessions } from '../../../src/domain/sessions/end-sessions.js';
import { createOwnApplications } from '../../../src/domain/sessions/own-applications.js';
import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { outcomeOf } from '../answers.js';
import { apiOf, bearer } from '../identity-auth.js';
import { refresh } from '../oauth/tokens.js';
import { hashPassword } from '../password-hashing.js';
import type { Session } from './model.js';
import { kinds, type LiveApplication, type LivePerson, register, untilUncached, type World } from './world.js';

const someone = ({ random, people }: World): LivePerson => random.of(people.filter(({ id }) => id !== null));
const somewhere = ({ random, places }: World, { by }: LivePerson) => (by === null ? random.of(places) : places[0]);
const inAccount = (
  { service, environment: { accountId } }: World,
  work: Parameters<World['service']['db']['transaction']>[1],
) => service.db.transaction({ accountId }, work);
const newPassword = (it: World) => `quiet harbour window ${++it.count}`;

/** Returns a late session with a grant to one of the Account's own applications. */
function someGrant({ random, model, applications }: World, which: (session: Session) => boolean = () => true) {
  const session = random.of(model.sessions.filter((one) => which(one) && one.grants.length > 0).slice(-8));
  const grant = session && random.of(session.grants.filter(({ to }) => applications.includes(to as LiveApplication)));
  return grant && { session, grant, to: grant.to as LiveApplication };
}

export async function changesOwnPassword(it: World): Promise<string> {
  const found = someGrant(it, ({ of }) => (of as LivePerson).by === null);
  if (!found) return 'nothing';
  const of = found.session.of as LivePerson;
  const password = newPassword(it);
  const body = { current_password: of.password, new_password: password };
  const answer = await apiOf(it.service).put('/password', body, bearer(found.grant.access));
  const isGood = it.model.isGood(found.grant, it.now()).access;
  if (!isGood) expect(answer.statusCode).toBe(401);
  else if (found.to.client.consentRequired) expect(answer.statusCode).toBe(403);
  else {
    expect(answer.statusCode).toBe(200);
    of.password = password;
    it.model.endOf(of, { except: found.session });
  }
  return of.email;
}

/** A person ends one of their sessions from another one, or tries to end somebody else's. */
export async function endsAnother(it: World): Promise<string> {
  const { model, random, now } = it;
  const found = someGrant(it);
  const other = random.of(model.sessions.slice(-8));
  if (!found || !other) return 'nothing';
  const answer = await apiOf(it.service).delete(`/sessions/${other.id}`, bearer(found.grant.access));
  const isTheirs = other.isAlive && other.of === found.session.of && other.at === found.session.at;
  if (!model.isGood(found.grant, now()).access) expect(answer.statusCode).toBe(401);
  else if (found.to.client.consentRequired) expect(answer.statusCode).toBe(403);
  else expect(outcomeOf(answer)).toBe(isTheirs ? '204' : '404 session.not_found');
  if (answer.statusCode === 204) model.end([other]);
  return `${found.session.of.email} ${answer.statusCode}`;
}

/** An administrator sets a password: of the whole Account. */
export async function setsPassword(it: World): Promise<string> {
  const of = it.random.of(it.people.filter(({ by }) => by === null));
  of.password = newPassword(it);
  const passwordHash = await hashPassword(of.password);
  await inAccount(it, (tx) => setPassword(tx, it.places[0].scope, of.id ?? '', { passwordHash, at: it.service.now() }));
  it.model.endOf(of);
  return of.email;
}

export async function endsSessions(it: World): Promise<string> {
  const of = someone(it);
  const at = somewhere(it, of);
  const ending = { reason: 'ended_by_administrator', at: it.service.now() };
  await inAccount(it, (tx) => endSessions(tx, at.scope, of.id ?? '', ending));
  it.model.endOf(of, { at });
  return of.email;
}

/** An administrator or a directory keeps somebody out of an Environment, or lets them in again. */
export async function activates(it: World): Promise<string> {
  const of = someone(it);
  const at = somewhere(it, of);
  const isActive = of.keptOutOf.has(at);
  await inAccount(it, (tx) => setActive(tx, at.scope, of.id ?? '', { isActive, at: it.service.now() }));
  if (isActive) of.keptOutOf.delete(at);
  else {
    of.keptOutOf.add(at);
    it.model.endOf(of, { at });
  }
  return `${of.email} ${isActive}`;
}

/** Somebody takes back what an application may do for them. */
export async function takesBack(it: World): Promise<string> {
  const { random, model, applications, service } = it;
  const of = someone(it);
  const given = (to: LiveApplication) =>
    of.consents.has(to) ||
    model.sessions.some((one) => one.of === of && one.grants.some((grant) => grant.isAlive && grant.to === to));
  const from = random.of(applications.filter(given));
  if (!from || of.keptOutOf.has(from.place)) return 'nothing';
  const own = createOwnApplications({ db: service.db, now: service.now });
  await own.revoke(from.place.scope, of.id ?? '', from.id);
  of.consents.delete(from);
  model.takeBack(from, of);
  return `${of.email} from ${from.client.name}`;
}

/** An application is deleted, and registered again. */
export async function replaces(it: World): Promise<string> {
  const { random, applications, service, model } = it;
  const at = random.below(applications.length);
  const old = applications[at] as LiveApplication;
  await createClientManagement({ db: service.db, now: service.now }).remove(old.place.scope, old.id);
  untilUncached(it);
  model.takeBack(old, null);
  it.removed.push(old);
  for (const { grants } of model.sessions)
    for (const grant of grants) if (grant.to === old) grant.to = { ...old, receivesAt: null };
  applications[at] = await register(it, old.place, kinds[at % 4] as (typeof kinds)[0]);
  return old.client.name;
}

export async function refreshes(it: World): Promise<string> {
  const found = someGrant(it);
  if (!found) return 'nothing';
  const { grant, to } = found;
  const answer = await refresh(it.service.app, to.client, grant.refresh);
  const isGood = it.model.isGood(grant, it.now()).refresh;
  expect([answer.statusCode, answer.json().error]).toEqual(isGood ? [200, undefined] : [400, 'invalid_grant']);
  if (isGood) {
    const tokens = answer.json();
    Object.assign(grant, {
      refresh: tokens.refresh_token,
      access: tokens.access_token,
      accessUntil: it.now() + minutes(15),
    });
    if (tokens.id_token) found.session.hints.push({ to, token: tokens.id_token });
  }
  return `${isGood}`;
}

/** The connection is set to sign people out at the provider, or not to. */
export async function switchesLogout(it: World): Promise<string> {
  const one = it.random.of(it.connections);
  one.leavesToo = !one.leavesToo;
  await it.service.query('update sso_connections set single_logout_enabled = $2 where id = $1', [
    one.id,
    one.leavesToo,
  ]);
  return `${one.type} ${one.leavesToo}`;
}

/** An Environment's sessions are to last, or may be unused, for another time: the one counts for what begins, the other at once. */
export async function changesLives(it: World): Promise<string> {
  const { random, places, service } = it;
  const place = random.of(places);
  place.sessionLife = random.of([hours(2), hours(4), hours(6)]);
  place.idleLife = random.of([minutes(10), minutes(30), hours(5)]);
  await service.query(
    'update environment_settings set session_ttl_seconds = $2, session_idle_ttl_seconds = $3 where environment_id = $1',
    [place.environmentId, place.sessionLife / 1000, place.idleLife / 1000],
  );
  untilUncached(it);
  return `${place.sessionLife / 60_000} min, ${place.idleLife / 60_000} min`;
}

export const waits = async ({ random, service }: World): Promise<string> => {
  const ms = random.of([seconds(20), minutes(5), minutes(5), minutes(16), minutes(31), hours(4)]);
  service.wait(ms);
  return `${ms / 60_000} min`;
};
