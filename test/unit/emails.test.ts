import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { accountIntentInput } from '../../src/domain/account-intents/process.js';
import { applicationNameOf, brandOf } from '../../src/domain/emails/brand.js';
import { formatDateTime } from '../../src/domain/emails/format-date-time.js';
import { controls } from '../../src/platform/colors.js';
import { mailbox, parseMailbox } from '../../src/platform/mail/addresses.js';
import { isAwaited } from '../../src/platform/mail/awaited.js';
import { createMailer, mailsAtOnce } from '../../src/platform/mail/mailer.js';
import { MailRejected } from '../../src/platform/mail/rejected.js';
import { type EmailTemplates, renderEmail } from '../../src/platform/mail/templates.js';
import { locales, type TextKey, textKeys, textWith } from '../../src/platform/mail/texts.js';
import { startOptions } from '../../src/platform/process-kinds.js';
import { projectRoot } from '../../src/platform/root.js';
import { startSmtpServer, whole } from '../support/smtp-server.js';
import { until } from '../support/until.js';

type Name = keyof EmailTemplates;
type Sample = EmailTemplates[Name];

const folder = join(projectRoot, 'templates/email');
const names = readdirSync(folder).filter((name) => name !== 'layout') as Name[];
const read = (name: string, file: string) => readFileSync(join(folder, name, file), 'utf8');
const sample = <N extends Name>(name: N) => JSON.parse(read(name, 'sample.json')) as EmailTemplates[N];
const verification = sample('registration-verification');

describe.each(locales)('in %s', (locale) => {
  test.each(names)('%s fills in its sample values everywhere', async (name) => {
    const values: Sample = sample(name);
    const { subject, html, text } = await renderEmail(name, locale, values);
    for (const part of [subject, html, text]) expect(part).not.toMatch(/@@|<%|undefined|\[object/);
    expect(html.replace(/<style[\s\S]*?<\/style>/g, '')).not.toMatch(/\{[a-z_]+\}/);
    for (const part of [html, text]) {
      if ('first_name' in values) expect(part).toContain(values.first_name);
      if ('code' in values) expect(part).toContain(values.code);
      if ('account_name' in values) expect(part).toContain(values.account_name);
    }
    // For copying into a zone.
    if ('record_name' in values) for (const part of [html, text]) expect(part).toContain(values.record_name);
    if ('link' in values && values.link !== null) {
      expect(text).toContain(`\n\n${values.link}\n\n`);
      expect(html.split(`href="${values.link.replaceAll('&', '&amp;')}"`)).toHaveLength(3);
    }
    expect(text).not.toMatch(/<[a-z]|&[a-z]+;/);
    expect(subject).toMatch(/^\S.{5,77}$/u);
    expect(html).toContain(`lang="${locale}"`);
  });

  test.each(names)('%s loads nothing from elsewhere and is not cut by a mail program', async (name) => {
    const { html } = await renderEmail(name, locale, sample(name));
    expect(html).not.toMatch(/<img|<link|<script|@import|url\(/);
    expect(Buffer.byteLength(html)).toBeLessThan(40_000); // Gmail cuts at 102 kB
  });

  test('every text that a mail names exists', () => {
    for (const name of [...names, 'layout']) {
      for (const file of readdirSync(join(folder, name))) {
        for (const [, key] of read(name, file).matchAll(/'(email\.[^']+)'/g)) expect(textKeys(locale)).toContain(key);
      }
    }
  });
});

test.each(names.filter((name) => /code|link/.test(Object.keys(sample(name)).join())))(
  '%s shows its code or link only to whoever opens it: a locked phone and a log of mails show the beginning',
  async (name) => {
    const { code, link } = sample(name) as { code?: string; link?: string };
    for (const locale of locales) {
      const { subject, html } = await renderEmail(name, locale, sample(name));
      const preheader = /<body[^>]*>\s*<div[^>]*display:none[^>]*>([^<]*)</.exec(html)?.[1] ?? '';
      expect(preheader.trim()).not.toBe('');
      for (const secret of [code, link]) if (secret) expect(`${subject} ${preheader}`).not.toContain(secret);
    }
  },
);

test.each([
  'registration-known-address',
  'password-changed',
  'email-change-taken',
  'account-creation-failed',
  'admin-security-notice',
] as const)('%s has no button if no sign-in page is known', async (name) => {
  for (const locale of locales) {
    const { html, text } = await renderEmail(name, locale, { ...sample(name), link: null } as never);
    for (const part of [html, text]) expect(part).not.toMatch(/@@|<%|undefined|null|https?:\/\/(?!www\.w3\.org)/);
    expect(html).not.toContain('href=');
    expect(text).not.toMatch(/\n{5}/);
  }
});

test.each(names.filter((name) => 'link' in sample(name)))(
  '%s says in plain text, too, what its link is for: in the words of its button',
  async (name) => {
    const { link } = sample(name) as { link: string };
    for (const locale of locales) {
      const button = textWith(locale, `email.${name.replaceAll('-', '_')}.button` as TextKey, String);
      const { html, text } = await renderEmail(name, locale, sample(name));
      expect(html.replace(/\s+/g, ' ')).toContain(`> ${button} </a>`);
      expect(text).toContain(`\n\n${button}:\n\n${link}\n\n`);
    }
  },
);

test('values are escaped in HTML and unchanged in plain text', async () => {
  const values = { ...verification, first_name: '"><script>x</script>', account_name: `Müller & 'Söhne' <AG>` };
  const { html, text } = await renderEmail('registration-verification', 'en', values);
  expect(html).not.toContain('<script>');
  expect(html).toContain('&quot;&gt;&lt;script&gt;');
  expect(html).toContain('Müller &amp; &#39;Söhne&#39; &lt;AG&gt;');
  expect(text).toContain(`Müller & 'Söhne' <AG>`);
});

test('a value that looks like a placeholder is not replaced', async () => {
  const values = { ...verification, first_name: '@@link@@ {account_name} <%= 1 %> $&' };
  const { text } = await renderEmail('registration-verification', 'en', values);
  expect(text.replaceAll('\u2060', '')).toContain('Hello @@link@@ {account_name} <%= 1 %> $&,');
});

test('a stranger cannot put a link, a new line or reversed text into a mail', async () => {
  const values = {
    ...verification,
    first_name: 'Ana\r\n\r\nwin.example.com',
    account_name: 'https://evil.example \u202elmth',
  };
  const { html, text } = await renderEmail('registration-verification', 'en', values);
  for (const part of [html, text]) {
    expect(part).not.toMatch(/win\.example\.com|https:\/\/evil|\u202e|Ana\r/);
    expect(part).toContain('Ana win');
  }
  await expect(
    renderEmail('registration-verification', 'en', { ...verification, link: 'javascript:alert(1)' }),
  ).rejects.toThrow('web addresses');
});

describe('under the brand of an Environment', () => {
  const brand = { name: 'Müller & <Söhne>', color: '#ffcc00', supportEmail: "o'hara+help@northwind.example" };

  test.each(names)('%s shows the brand of the Environment, and nothing of Gatehouse', async (name) => {
    const values = sample(name);
    const { subject, html, text } = await renderEmail(name, 'en', values, brand);
    expect(html).toContain('Müller &amp; &lt;Söhne&gt;');
    expect(text).toContain('sent automatically by Müller & <Söhne>.');
    for (const part of [subject, html, text]) expect(part).not.toMatch(/@@|Gatehouse|#0b0b0[123]/);
    if (html.includes('css-class="button"') || 'link' in values) {
      // Yellow gets black letters, also in dark mode.
      expect(html).toContain('background:#ffcc00');
      expect(html).toContain('background-color: #ffcc00 !important; color: #000000 !important');
    }
    expect(html).toContain('href="mailto:o&#39;hara+help@northwind.example"');
    expect(text).toContain("Write to o'hara+help@northwind.example\n");
  });

  test.each([
    ['#1a1a1a', '#1a1a1a', controls.dark],
    ['#fffbe6', controls.light, '#fffbe6'],
    ['#2f55d4', '#2f55d4', controls.dark],
    [null, '#2f55d4', '#8fa8ff'],
  ])(
    'a button of %s has an edge where it would not be seen on the card: %s, in the dark %s',
    async (color, light, dark) => {
      const { html } = await renderEmail('identity-invite', 'en', sample('identity-invite'), { ...brand, color });
      expect(html).toContain(`border:1px solid ${light};`);
      expect(html).toContain(`.button td { border-color: ${dark} !important; }`);
    },
  );

  test('an invalid color or address leaves ours or none', async () => {
    const plain = { name: 'Northwind', color: 'red;}', supportEmail: null };
    const { html, text } = await renderEmail('identity-invite', 'de', sample('identity-invite'), plain);
    expect(html).toContain('background:#2f55d4');
    expect(`${html}${text}`).not.toMatch(/red;|mailto|Hilfe/);
  });
});

test('a missing value throws', async () => {
  const { link: _, ...values } = verification;
  await expect(renderEmail('registration-verification', 'en', values as typeof verification)).rejects.toThrow('link');
});

test('hours are counted in each language’s way', async () => {
  const text = async (locale: 'en' | 'de', hours_left: number) =>
    (await renderEmail('registration-reminder', locale, { ...sample('registration-reminder'), hours_left })).text;
  expect(await text('en', 1)).toContain('expires in 1 hour.');
  expect(await text('en', 2)).toContain('expires in 2 hours.');
  expect(await text('de', 1)).toContain('noch 1 Stunde gültig');
});

test('a time is written in each language’s way', () => {
  const moment = new Date('2026-11-22T09:41:00Z');
  expect(formatDateTime(moment, 'en')).toMatch(/^November 22, 2026 at 9:41\sAM UTC$/);
  expect(formatDateTime(moment, 'de')).toBe('22. November 2026 um 09:41 Uhr UTC');
});

test('an address is one plain address', () => {
  expect(parseMailbox('Gatehouse <no-reply@example.com>')).toEqual({
    name: 'Gatehouse',
    address: 'no-reply@example.com',
  });
  expect(parseMailbox('"Gatehouse, Inc." <no-reply@example.com>').name).toBe('Gatehouse, Inc.');
  expect(parseMailbox('no-reply@example.com')).toEqual({ name: '', address: 'no-reply@example.com' });
  for (const fine of ["o'hara+tag@mail.example.com", 'jörg@bücher.example', 'root@localhost']) {
    expect(mailbox(fine).address).toBe(fine);
  }
  for (const bad of [
    'ana@example.com\r\nBcc: all@example.com',
    'ana@example.com\n',
    'ana@example.com, eve@example.com',
    'Ana <ana@example.com>',
    '"eve@evil.example x"@example.com',
    'a@b@example.com',
    'group:ana@example.com;',
    'ana',
    '@example.com',
    '',
  ]) {
    expect(() => mailbox(bad)).toThrow();
  }
  expect(() => mailbox('ana@example.com', 'Ana\r\nBcc: eve@example.com')).toThrow();
});

describe('sending', () => {
  const received: { to: string[]; raw: string }[] = [];
  let server: Awaited<ReturnType<typeof startSmtpServer>>;
  let mailer: ReturnType<typeof createMailer>;

  beforeAll(async () => {
    server = await startSmtpServer({
      onRcptTo({ address }, _session, done) {
        const code = /^(\d{3})@/.exec(address)?.[1];
        done(code ? Object.assign(new Error('no'), { responseCode: Number(code) }) : null);
      },
      onData: whole((raw, to) => received.push({ to, raw })),
    });
    mailer = createMailer({ smtpUrl: server.url, from: 'Gatehouse <no-reply@id.example.com>' });
  });
  afterAll(async () => {
    mailer.close();
    await server.stop();
  });

  const send = (to: string, messageId = 'registration/1/verify') =>
    mailer.send('registration-verification', { to, locale: 'de', values: verification, messageId });

  test('a mail arrives in both forms, marked as automatic', async () => {
    await mailer.verify();
    const { messageId } = await send('ana@example.com');
    const { to, raw } = received.at(-1)!;
    expect(to).toEqual(['ana@example.com']);
    expect(raw).toContain(`Message-ID: ${messageId}`);
    expect(raw).toContain('Auto-Submitted: auto-generated');
    expect(raw).toContain('X-Auto-Response-Suppress: All');
    expect(raw).toContain('From: Gatehouse <no-reply@id.example.com>');
    expect(raw).toContain('Content-Type: text/plain; charset=utf-8');
    expect(raw).toContain('Content-Type: text/html; charset=utf-8');
  });

  test('under a brand it comes from that name, at our address', async () => {
    const brand = { name: 'Northwind\r\nBcc: eve@example.com', color: null, supportEmail: null };
    const mail = { to: 'ana@example.com', locale: 'en', values: verification, messageId: 'x', brand } as const;
    await mailer.send('registration-verification', mail);
    const { to, raw } = received.at(-1)!;
    expect(to).toEqual(['ana@example.com']);
    expect(raw).toMatch(/^From: "?Northwind Bcc: eve@example\.com"? <no-reply@id\.example\.com>\r$/m);
  });

  test('sent again it has the same Message-ID, and another mail has another', async () => {
    const first = await send('ana@example.com');
    expect(await send('ana@example.com')).toEqual(first);
    expect((await send('ana@example.com', 'registration/2/verify')).messageId).not.toBe(first.messageId);
    expect(first.messageId).toMatch(/^<[0-9a-f]{40}@id\.example\.com>$/);
  });

  test('a permanent refusal is distinguished from a temporary one', async () => {
    await expect(send('550@example.com')).rejects.toBeInstanceOf(MailRejected);
    await expect(send('550@example.com')).rejects.toMatchObject({ response: expect.stringMatching(/^550/) });
    for (const address of ['450@example.com', '530@example.com']) {
      const error = await send(address).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(MailRejected);
    }
  });

  test('an address that would add a header is refused before anything is sent', async () => {
    const before = received.length;
    await expect(send('ana@example.com\r\nBcc: eve@example.com')).rejects.toBeInstanceOf(MailRejected);
    expect(received).toHaveLength(before);
  });

  test('no password goes over a connection without TLS, unless the URL says so', async () => {
    const signedIn: string[] = [];
    const plain = await startSmtpServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth({ username = '' }, _session, done) {
        signedIn.push(username);
        done(null, { user: username });
      },
    });
    const url = plain.url.replace('//', '//mailer:secret@');
    const verify = async (smtpUrl: string) => {
      const one = createMailer({ smtpUrl, from: 'no-reply@example.com' });
      return one.verify().finally(() => one.close());
    };
    await expect(verify(url)).rejects.toMatchObject({ code: 'ETLS' });
    expect(signedIn).toEqual([]);
    await verify(`${url}?requireTLS=false`);
    expect(signedIn).toEqual(['mailer']);
    await plain.stop();
  });

  test('sending waits briefly for the server until it may send the message, and long for the answer to it', async () => {
    const delays = { onRcptTo: 0, onData: 0 };
    let taken = 0;
    const slow = await startSmtpServer({
      onRcptTo: (_address, _session, done) => void setTimeout(done, delays.onRcptTo).unref(), // not for callers that have given up
      onData(stream, _session, done) {
        stream.resume().on('end', () => setTimeout(done, delays.onData));
        taken += 1;
      },
    });
    const waits = { untilAskedMs: 1_000, untilAnsweredMs: 60_000 };
    const one = createMailer({ smtpUrl: slow.url, from: 'no-reply@example.com', waits });
    const mail = { to: 'ana@example.com', locale: 'en', values: verification, messageId: 'x' } as const;
    const sendIt = () => one.send('registration-verification', mail);
    delays.onData = 1_500;
    await sendIt();
    await sendIt(); // on the same connection
    Object.assign(delays, { onRcptTo: 60_000, onData: 0 });
    await expect(sendIt()).rejects.toMatchObject({ name: 'MailServerSilent', code: 'ETIMEDOUT' });
    delays.onRcptTo = 0;
    await sendIt();
    expect(taken).toBe(3);
    one.close();
    await slow.stop();
  });

  test('a server may keep its greeting back for longer than ten seconds', async () => {
    const slow = await startSmtpServer({ onConnect: (_session, done) => void setTimeout(done, 10_500) });
    const one = createMailer({ smtpUrl: slow.url, from: 'no-reply@example.com' });
    await one.verify();
    one.close();
    await slow.stop();
  });

  test('a server that answers a message byte by byte, without end, is given up like a silent one', async () => {
    const drips: NodeJS.Timeout[] = [];
    let isDripping = true;
    const tarpit = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write('220 tarpit\r\n');
      let inData = false;
      createInterface(socket).on('line', (line) => {
        if (inData && line !== '.') return;
        if (!inData) return void socket.write(answerTo(line));
        inData = false;
        if (!isDripping) return void socket.write('250 taken\r\n');
        drips.push(setInterval(() => socket.write('250-x\r\n'), 100));
      });
      const answerTo = (line: string) => {
        inData = /^data/i.test(line);
        return inData ? '354 go on\r\n' : /^quit/i.test(line) ? '221 bye\r\n' : '250 fine\r\n';
      };
    });
    await new Promise<void>((listening) => tarpit.listen(0, '127.0.0.1', listening));
    const smtpUrl = `smtp://127.0.0.1:${(tarpit.address() as AddressInfo).port}`;
    const waits = { untilAskedMs: 10_000, untilAnsweredMs: 1_000 };
    const one = createMailer({ smtpUrl, from: 'no-reply@example.com', waits });
    const mail = { to: 'ana@example.com', locale: 'en', values: verification, messageId: 'x' } as const;
    const sendIt = () => one.send('registration-verification', mail);
    const refused = { name: 'MailServerSilent', code: 'ETIMEDOUT' };
    await Promise.all(Array.from({ length: mailsAtOnce }, () => expect(sendIt()).rejects.toMatchObject(refused)));
    isDripping = false;
    await sendIt(); // the abandoned mail holds no connection
    one.close();
    for (const drip of drips) clearInterval(drip);
    await new Promise<void>((closed) => tarpit.close(() => closed()));
  });

  test('mails for which a caller waits are not behind others that the server accepts slowly', async () => {
    const held: (() => void)[] = [];
    const holding = await startSmtpServer({
      onData(stream, { envelope }, done) {
        const isHeld = envelope.rcptTo[0]?.address.startsWith('ben');
        stream.resume().on('end', () => (isHeld ? void held.push(done) : done()));
      },
    });
    const one = createMailer({ smtpUrl: holding.url, from: 'no-reply@example.com' });
    const changed = { first_name: 'Ben', application_name: 'Shop', changed_at_text: 'now' };
    const mail = { locale: 'en', messageId: 'x' } as const;
    const others = Array.from({ length: 2 * mailsAtOnce }, () =>
      one.send('identity-password-changed', { ...mail, to: 'ben@example.com', values: changed }),
    );
    await until('as many are held as may be on their way', () => held.length === mailsAtOnce);
    const code = { first_name: 'Ana', application_name: 'Shop', code: '123 456', minutes_left: 10 };
    await one.send('sign-in-code', { ...mail, to: 'ana@example.com', values: code });
    expect(held).toHaveLength(mailsAtOnce);
    const letGo = setInterval(() => {
      for (const done of held.splice(0)) done();
    }, 10);
    await Promise.all(others);
    clearInterval(letGo);
    one.close();
    await holding.stop();
  });

  test('an unreachable server is a temporary failure', async () => {
    const unreachable = createMailer({ smtpUrl: 'smtp://127.0.0.1:1', from: 'no-reply@example.com' });
    const mail = { to: 'ana@example.com', locale: 'en', values: verification, messageId: 'x' } as const;
    const error = await unreachable.send('registration-verification', mail).catch((e: unknown) => e);
    unreachable.close();
    expect(error).toMatchObject({ code: 'ESOCKET', command: 'CONN' });
    expect(error).not.toBeInstanceOf(MailRejected);
  });
});

test('a transaction reads a brand once, however many parts of a mail need it', async () => {
  const brand = { name: 'Northwind', color: null, supportEmail: null };
  const tx = { query: jest.fn(async () => [brand]) };
  expect(await applicationNameOf(tx as never, 'an environment')).toBe('Northwind');
  expect(await brandOf(tx as never, 'an environment')).toEqual(brand);
  await brandOf(tx as never, 'another');
  expect(tx.query).toHaveBeenCalledTimes(2);
});

test('a mail for which a caller waits has its own queue, and so has the mail to another address in its place', () => {
  const pairs = [
    ['registration-verification', 'registration-known-address'],
    ['verify-email', 'sign-up-known-address'],
    ['verify-email', 'sign-up-join'],
    ['password-reset', 'set-password'],
    ['email-change', 'email-change-taken'],
  ];
  for (const pair of pairs) expect(pair.map(isAwaited)).toEqual([true, true]);
  expect(['sign-in-code', 'second-step-code', 'factor-code'].every(isAwaited)).toBe(true);
  expect(['identity-invite', 'role-expired', 'of-a-newer-version'].some(isAwaited)).toBe(false);
  const queueOf = (input: object) => startOptions('emailDelivery', { emailId: 'x', ...input }).taskQueue;
  expect([queueOf({ isAwaited: true }), queueOf({ isAwaited: false }), queueOf({})]).toEqual([
    'awaited-email',
    'email',
    'email',
  ]);
});

test('the process of the mail to a known address at registration is as urgent as that of an unknown one', () => {
  const input = accountIntentInput({ id: 'intent', expiresAt: new Date() });
  expect(input.isAwaited).toBe(true); // decides the outbox's lane for `registrationVerification`
});
