import { emailChangeToken } from '../../../src/domain/email-changes/link.js';
import { registrationToken } from '../../../src/domain/registration/link.js';
import { hours } from '../../../src/platform/clock.js';
import { accountIntentId, emailChangeId, registrationId } from '../../../workflows/ids.js';
import { sealing, signedInAnew } from '../administrators.js';
import { outcomeOf } from '../answers.js';
import type { Random } from '../random.js';
import { type Act, isOpen, type Row, type Subject } from './subject.js';
import type { ProcessWorld } from './world.js';

/** What waits for a day until somebody confirms it. */
interface Waiting extends Row {
  table: keyof typeof tables;
  email: string;
  /** Whose browser can confirm it. */
  cookie: string;
  deadline: number;
}
const password = 'violet tractor 19';
const tables = {
  pending_registrations: { idOf: registrationId, first: 'pending', done: 'confirmed', link: 'verification' },
  account_intents: { idOf: accountIntentId, first: 'parked', done: 'consumed', link: 'notice' },
  email_changes: { idOf: emailChangeId, first: 'pending', done: 'confirmed', link: 'link' },
} as const;

/** A person with two addresses who registers, asks for further Accounts, and changes the address. */
export function newPerson(world: ProcessWorld, random: Random): Subject {
  const { api, now, query } = world;
  const rows: Waiting[] = [];
  const name = `ana.${random.below(1e9)}`;
  const addresses = [`${name}@private.example`, `${name}@other.example`];
  /** The addresses that are somebody's, and the number of their Accounts. */
  const users = new Map<string, { accounts: number }>();
  const post = (url: string, payload?: object, headers: Record<string, string> = {}) =>
    api.app.inject({ method: 'POST', url: `/v1/auth${url}`, headers, ...(payload && { payload }) });
  const waiting = (table: keyof typeof tables, email: string) =>
    rows.filter((one) => one.table === table && one.email === email && isOpen(one));
  const discard = (some: Waiting[], status = 'discarded') => {
    for (const one of some) one.status = status;
  };
  const idOfUser = async (email: string) =>
    (await query<{ id: string }>('select id from users where email = $1', email))[0]?.id as string;
  const headersOf = async (email: string) => signedInAnew(api, await idOfUser(email));

  function add(table: keyof typeof tables, { id, email, cookie }: Pick<Waiting, 'id' | 'email' | 'cookie'>): void {
    const { idOf, first, link } = tables[table];
    const row: Waiting = {
      ...{ table, id, workflowId: idOf(id), status: first, events: [], mails: [], link },
      ...{ email, cookie, deadline: now() + hours(24) },
      stop() {
        row.status = 'cancelled';
        if (table !== 'email_changes') row.events.push(eventOf(row));
      },
    };
    rows.push(row);
  }
  const eventOf = ({ table, status }: Waiting) =>
    `${table === 'account_intents' ? 'account_intent' : 'registration'}_${status}`;

  function register(email: string): Act {
    const names = { first_name: 'Zdenka', last_name: 'Kovač', application_name: 'Shop' };
    return {
      name: `register ${email}`,
      async send() {
        const payload = { email, password, ...names, account_name: `Northwind ${random.below(1e9)}` };
        const answer = await post('/register', payload);
        const cookie = answer.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
        const table = users.has(email) ? 'account_intents' : 'pending_registrations';
        const text = users.has(email)
          ? 'select id from account_intents where user_id = (select id from users where email = $1) order by id desc'
          : 'select id from pending_registrations where email = $1 order by id desc';
        const [row] = await query<{ id: string }>(text, email);
        add(table, { id: row?.id ?? '', email, cookie });
        return outcomeOf(answer);
      },
      apply: () => '201',
    };
  }
  const invalid = '400 registration.link_invalid';
  const linkOf = (id: string) => registrationToken(sealing, { id }).token;
  /** The first registration of an address that is confirmed prevails over the others. */
  const confirm = (row: Waiting): Act => {
    const proof = random.of(['cookie', 'password'] as const);
    const payload = { token: linkOf(row.id), ...(proof === 'password' && { password }) };
    return {
      name: `confirm ${row.workflowId} by ${proof}`,
      send: async () =>
        outcomeOf(await post('/verify-email', payload, proof === 'cookie' ? { cookie: row.cookie } : {})),
      apply() {
        if (!isOpen(row)) return invalid;
        row.status = 'confirmed';
        discard(waiting('pending_registrations', row.email));
        users.set(row.email, { accounts: 1 });
        return '201';
      },
    };
  };
  const decline = (row: Waiting): Act => ({
    name: `decline ${row.workflowId}`,
    send: async () => outcomeOf(await post('/verify-email/decline', { token: linkOf(row.id) })),
    apply() {
      if (!isOpen(row)) return invalid;
      row.status = 'discarded';
      return '200';
    },
  });
  /** The newest request prevails over the older ones. */
  const resume = (email: string): Act => ({
    name: `resume of ${email}`,
    send: async () => outcomeOf(await post('/accounts/resume', undefined, await headersOf(email))),
    apply() {
      const newest = waiting('account_intents', email).at(-1);
      if (!newest) return '404 account_intent.not_found';
      newest.status = 'consumed';
      discard(waiting('account_intents', email));
      users.get(email)!.accounts += 1;
      return '201';
    },
  });
  const remove = (path: string, email: string, table: keyof typeof tables, status: string): Act => ({
    name: `delete ${path} of ${email}`,
    async send() {
      const headers = await headersOf(email);
      return outcomeOf(await api.app.inject({ method: 'DELETE', url: `/v1/auth${path}`, headers }));
    },
    apply() {
      discard(waiting(table, email), status);
      return '204';
    },
    isTwice: true,
  });
  const other = (email: string) => addresses.find((one) => one !== email)!;
  /** A newer request replaces an older one. */
  const requestChange = (email: string): Act => ({
    name: `${email} asks for the other address`,
    async send() {
      const [user, headers] = [await idOfUser(email), await headersOf(email)];
      const answer = await post('/email', { email: other(email) }, headers);
      const cookie = answer.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
      const text = 'select id from email_changes where user_id = $1 order by id desc';
      const [row] = await query<{ id: string }>(text, user);
      discard(waiting('email_changes', email), 'withdrawn');
      add('email_changes', { id: row?.id ?? '', email, cookie });
      return outcomeOf(answer);
    },
    apply: () => '200',
  });
  const confirmChange = (row: Waiting): Act => ({
    name: `confirm ${row.workflowId}`,
    async send() {
      const { token } = emailChangeToken(sealing, { id: row.id });
      return outcomeOf(await post('/email/confirm', { token }, { cookie: row.cookie }));
    },
    apply() {
      if (!isOpen(row)) return '400 email_change.link_invalid';
      const [before, email] = [row.email, other(row.email)];
      if (users.has(email)) return '409 email_change.address_taken';
      row.status = 'confirmed';
      discard(waiting('pending_registrations', email));
      users.set(email, users.get(before)!);
      users.delete(before);
      for (const one of rows) if (one.table !== 'pending_registrations' && one.email === before) one.email = email;
      return '200';
    },
  });

  return {
    rows,
    draw() {
      const email = random.below(4) > 0 ? addresses[0]! : addresses[1]!;
      const table = users.has(email) ? 'account_intents' : 'pending_registrations';
      // Two wait mostly, so that one of them can prevail.
      if (waiting(table, email).length < 2 && random.below(4) > 0) return register(email);
      const [user] = [...users.keys()];
      const late = (of: keyof typeof tables) => random.of(rows.filter((one) => one.table === of).slice(-2));
      const [registration, change] = [late('pending_registrations'), late('email_changes')];
      const drawn = random.of([
        ...(registration && !user ? [confirm, confirm, decline].map((one) => () => one(registration)) : []),
        ...(change ? [() => confirmChange(change)] : []),
        ...(user
          ? [
              ...Array<() => Act>(4).fill(() => resume(user)),
              () => remove('/accounts/resume', user, 'account_intents', 'discarded'),
              () => requestChange(user),
              () => requestChange(user),
              () => remove('/email', user, 'email_changes', 'withdrawn'),
            ]
          : [() => register(email)]),
      ])();
      const needsWorker = /^(confirm registration|resume)/.test(drawn.name);
      return needsWorker && !world.isWorking() ? undefined : drawn;
    },
    late: () =>
      rows.slice(-3).flatMap((row) => {
        if (row.status !== 'expired') return [];
        return {
          pending_registrations: confirm(row),
          account_intents: resume(row.email),
          email_changes: confirmChange(row),
        }[row.table];
      }),
    passes() {
      for (const row of rows.filter(isOpen)) {
        const isRegistration = row.table === 'pending_registrations';
        if (isRegistration && now() >= row.deadline - hours(4) && now() < row.deadline) {
          if (row.mails.length === 0) row.mails.push('reminder');
        } else if (now() >= row.deadline) {
          row.status = 'expired';
          if (row.table !== 'email_changes') row.events.push(eventOf(row));
        }
      }
    },
    async wrong() {
      const text = `select u.email::text, count(m.id)::int as accounts from users u left join memberships m on m.user_id = u.id
        where u.email = any($1::citext[]) group by 1`;
      const found = await query<{ email: string; accounts: number }>(text, addresses);
      const is = found.map(({ email, accounts }) => `${email} ${accounts}`).sort();
      const right = [...users].map(([email, { accounts }]) => `${email} ${accounts}`).sort();
      return is.join() === right.join() ? [] : [`users: ${is} and not ${right}`];
    },
  };
}
