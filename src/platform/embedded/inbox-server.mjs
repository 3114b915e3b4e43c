/**
 * The process that `inbox.ts` starts: `node inbox-server.mjs SMTP_PORT WEB_PORT FOLDER`. It is plain JavaScript,
 * because Node also runs it from the sources (`npm start` compiles, the tests do not).
 */
import { mkdirSync } from 'node:fs';
import { MailDev } from 'maildev';

/** Limits the mails in a long-lived folder, and so the time in which a start reads them. */
const KEPT_MAILS = 2000;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

const [smtp, web, mailDirectory] = process.argv.slice(2);
mkdirSync(mailDirectory, { recursive: true, mode: 0o700 });
const host = '127.0.0.1';
const options = { smtp: Number(smtp), ip: host, web: Number(web), webIp: host, mailDirectory, maxEmails: KEPT_MAILS };
const { api } = await new MailDev(options).start();

api.server.server.prependListener('request', (request) => {
  // maildev 3 moved its REST paths below /api, but everybody knows them as /email.
  if (/^\/email(?:[/?]|$)/.test(request.url)) request.url = `/api${request.url}`;
  // maildev lets every web site read the mails, including sign-in codes.
  if (isForeign(request.headers.origin)) request.url = '/api/foreign-origin';
});
process.stdout.write(`Inbox listens on ${host}:${smtp} and ${host}:${web}\n`);

function isForeign(origin) {
  return origin !== undefined && !(URL.canParse(origin) && LOOPBACK.includes(new URL(origin).hostname));
}
