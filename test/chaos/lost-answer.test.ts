import { Account } from '../../entities/account.js';
import { DomainError } from '../../src/domain/errors.js';
import { hours } from '../../src/platform/clock.js';
import { type AdminAuth, cookieHeader, newAdminAuth } from '../support/admin-auth.js';

const unavailable = () => new DomainError('service.unavailable', { retryAfter: 5 });

/** A registration whose process does, at the first confirmation, what a test says. */
async function registeredWith(first: (auth: AdminAuth, id: string) => Promise<never>) {
  let calls = 0;
  const auth: AdminAuth = await newAdminAuth({
    confirmRegistration: async ({ pendingRegistrationId: id }) => {
      calls += 1;
      return calls === 1 ? first(auth, id) : auth.registrations.provision(id);
    },
  });
  const email = 'ana@example.com';
  const registered = await auth.post('/register', {
    email,
    password: 'violet tractor 19',
    first_name: 'Ana',
    last_name: 'Brandt',
    account_name: 'Acme',
    application_name: 'Shop',
  });
  const token = await auth.linkTokenFor(email);
  return { auth, confirm: () => auth.post('/verify-email', { token }, cookieHeader(registered)) };
}
/** As when the answer comes later than the api waits for it. */
const doneButUnanswered = async (auth: AdminAuth, id: string): Promise<never> => {
  await auth.registrations.provision(id);
  throw unavailable();
};
const refusal = (answer: { statusCode: number; json(): { error: { code: string } } }) => [
  answer.statusCode,
  answer.json().error.code,
];

test('a confirmation that was carried out after its 503 is answered at the next try, once', async () => {
  const { auth, confirm } = await registeredWith(doneButUnanswered);
  try {
    expect(refusal(await confirm())).toEqual([503, 'service.unavailable']);
    const answers = await Promise.all([confirm(), confirm()]);
    const [won, lost] = answers.sort((a, b) => a.statusCode - b.statusCode);
    expect([won?.statusCode, won?.cookies.length]).toEqual([201, 3]);
    expect(refusal(lost!)).toEqual([400, 'registration.link_invalid']);
    expect(refusal(await confirm())).toEqual([400, 'registration.link_invalid']);
    expect(await auth.db.transaction('system', (tx) => tx.count(Account))).toBe(1);
  } finally {
    await auth.close();
  }
});

test('a link that was confirmed without an answer still ends with its time', async () => {
  const { auth, confirm } = await registeredWith(doneButUnanswered);
  try {
    expect((await confirm()).statusCode).toBe(503);
    auth.pass(hours(24));
    expect(refusal(await confirm())).toEqual([400, 'registration.link_invalid']);
  } finally {
    await auth.close();
  }
});

test('a second confirmation while the first is at work is told to come back, and not that the link is used', async () => {
  const { auth, confirm } = await registeredWith(async () => {
    throw new DomainError('registration.link_invalid'); // as the workflow refuses it meanwhile
  });
  try {
    const early = await confirm();
    expect([...refusal(early), early.headers['retry-after']]).toEqual([503, 'service.unavailable', '5']);
    expect((await confirm()).statusCode).toBe(201);
  } finally {
    await auth.close();
  }
});
