import { Account } from '../../entities/account.js';
import { DomainError } from '../../src/domain/errors.js';
import { hours } from '../../src/platform/clock.js';
import { type AdminAuth, cookieHeader, newAdminAuth } from '../support/admin-auth.js';

const unavailable = () => new DomainError('service.unavailable', { retryAfter: 5 });

/** Creates a registration whose process does what a test says at the first confirmation. */
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
/** Confirms, but fails as if the answer came later than the api waits. */
const doneButUnanswered = async (auth: AdminAuth, id: string): Promise<never> => {
  await auth.registrations.provision(id);
  throw unavailable();
};
const refusal = (answer: { statusCode: number; json(): { error: { code: string } } }) => [
  answer.statusCode,
  answer.json().error.code,
];

test('a confirmation that took effect after its 503 is answered at the next attempt, and takes effect once', async () => {
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

test('a link whose confirmation got no answer still expires', async () => {
  const { auth, confirm } = await registeredWith(doneButUnanswered);
  try {
    expect((await confirm()).statusCode).toBe(503);
    auth.pass(hours(24));
    expect(refusal(await confirm())).toEqual([400, 'registration.link_invalid']);
  } finally {
    await auth.close();
  }
});

test('a second confirmation during the first one gets a "try again", and not "link used"', async () => {
  const { auth, confirm } = await registeredWith(async () => {
    throw new DomainError('registration.link_invalid'); // as the workflow refuses meanwhile
  });
  try {
    const early = await confirm();
    expect([...refusal(early), early.headers['retry-after']]).toEqual([503, 'service.unavailable', '5']);
    expect((await confirm()).statusCode).toBe(201);
  } finally {
    await auth.close();
  }
});
