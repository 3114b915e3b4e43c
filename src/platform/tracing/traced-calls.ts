import type { Captcha } from '../captcha.js';
import type { Dns } from '../dns.js';
import type { Mailer } from '../mail/mailer.js';
import type { Outbound } from '../outbound/fetch.js';
import { activeTracing } from './tracing.js';

/** Adds a span to each outbound call. It omits the URL: the host is a customer's, and the query can be anything. */
export function tracedOutbound(outbound: Outbound): Outbound {
  const tracing = activeTracing();
  if (!tracing) return outbound;
  const called = <A extends { status: number }>(method: 'GET' | 'POST', call: () => Promise<A>): Promise<A> =>
    tracing.run({ name: method, kind: 'client', attributes: { 'http.request.method': method } }, async (span) => {
      const answer = await call();
      span.set({ 'http.response.status_code': answer.status });
      return answer;
    });
  return {
    ...outbound,
    ask: (url, request) => called(request.method, () => outbound.ask(url, request)),
    get: (url, headers) => called('GET', () => outbound.get(url, headers)),
    post: (url, message) => called('POST', () => outbound.post(url, message)),
  };
}

/** Adds a span to each mail, named after its template. */
export function tracedMailer(mailer: Mailer): Mailer {
  const tracing = activeTracing();
  if (!tracing) return mailer;
  return {
    ...mailer,
    send: (name, mail) => tracing.run({ name: `send ${name}`, kind: 'client' }, () => mailer.send(name, mail)),
  };
}

/** Adds a span to each check of a captcha, with its result. */
export function tracedCaptcha(captcha: Captcha): Captcha {
  const tracing = activeTracing();
  if (!tracing) return captcha;
  return {
    ...captcha,
    verify: (token, ipAddress) =>
      tracing.run({ name: 'verify captcha', kind: 'client' }, async (span) => {
        const verdict = await captcha.verify(token, ipAddress);
        span.set({ 'gatehouse.captcha.passes': verdict === 'passed' });
        return verdict;
      }),
  };
}

/** Adds a span to each look-up of a claimed domain, with its result. */
export function tracedDns(dns: Dns): Dns {
  const tracing = activeTracing();
  if (!tracing) return dns;
  return {
    txt: (name) =>
      tracing.run({ name: 'look up TXT', kind: 'client' }, async (span) => {
        const answer = await dns.txt(name);
        span.set({ 'gatehouse.dns.answer': answer.kind });
        return answer;
      }),
  };
}
