import type { Seen } from './seen.js';
import type { Session, Visitor } from './state.js';
import { follow, said } from './steps.js';
import { isJson, live, requestIn, send, type World } from './world.js';

/** A form of the account that somebody sends. */
export interface Form {
  of: Visitor;
  page: string;
  /** The session to which the form was shown. */
  shownTo: string;
}
export const statusOf = ({ answer }: Seen) => answer.statusCode;

export function newForm(it: World, page: string): Form {
  const { random, model } = it;
  const of = random.of([...model.visitors, ...model.visitors.filter((one) => live(it, one))]);
  const earlier = random.of(model.sessions)?.id ?? 'none';
  return { of, page, shownTo: random.below(10) === 0 ? earlier : (of.session?.id ?? 'none') };
}
export const act = (it: World, { of, page, shownTo }: Form, fields: Record<string, string>) =>
  send(it, of, `/oauth/account/${page}`, { client_id: it.clientId, session: shownTo, ...fields });

/** The session for which the form is accepted; otherwise expects where the person is sent. */
export async function entered(
  it: World,
  { of, page, shownTo }: Form,
  seen: Seen,
  leads = `account/${page}`,
): Promise<Session | null> {
  const session = live(it, of);
  if (!session) {
    expect({ is: said(seen), destination: seen.fields.destination ?? requestIn(seen.to as URL).destination }).toEqual({
      is: '/oauth/authorize',
      destination: leads,
    });
    await follow(it, of, seen);
    return null;
  }
  if (shownTo === session.id) return session;
  expect(said(seen)).toBe(isJson(seen) ? '409 session_changed' : 'done session_changed');
  return null;
}

/** Whether the session is a proof for the change; otherwise expects that it is asked for. */
export async function proven(
  it: World,
  { of }: Form,
  seen: Seen,
  session: Session,
  change: 'password' | 'factors',
): Promise<boolean> {
  const owes = it.model.owes(session, change, it.now());
  if (owes === 'nothing') return true;
  if (owes === null) {
    expect(said(seen)).toBe('403 auth.reauthentication_required');
    return false;
  }
  expect(said(seen)).toBe('/oauth/authorize');
  expect(requestIn(seen.to as URL)).toMatchObject(owes);
  await follow(it, of, seen);
  return false;
}

/** Expects that it is done, or refused: by a page or in JSON. */
export const expectDone = (seen: Seen, what: string) => expect(said(seen)).toBe(`done ${what}`);
export function expectRefused(seen: Seen, status: number, code: string, text: string | null = null): void {
  expect(statusOf(seen)).toBe(status);
  if (isJson(seen)) expect(seen.is).toBe(`${status} ${code}`);
  else if (text !== null) expect(seen.error).toBe(text);
}
