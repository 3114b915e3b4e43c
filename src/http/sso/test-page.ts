import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { SsoTestReport } from '../../domain/sso-sign-in/test-report.js';
import { sendPage, wantsJson } from '../oauth/pages.js';
import { sendSsoLost } from '../oauth/sso-failed-page.js';

interface Found {
  report: SsoTestReport;
  connection: Pick<SsoConnection, 'name'>;
}

/** What came of a test sign-in, for whoever went the way: of what the provider said of them nothing but why it is no good. */
export function sendTestDone(request: FastifyRequest, reply: FastifyReply, found: Found | null): FastifyReply {
  if (!found?.report.would) return sendSsoLost(request, reply);
  const { status, would, refusal } = found.report;
  const code = would.code && `sso.${would.code}`;
  if (wantsJson(request)) {
    return reply.header('cache-control', 'no-store').send({ status, would: would.effect, reason: code });
  }
  const texts = status === 'refused' ? 'refused' : would.effect === 'refuse' ? 'stranger' : would.effect;
  return sendPage(request, reply, 'sso-test-done', {
    ...{ title: `sso_test.${texts}.title`, message: `sso_test.${texts}.message` },
    ...{ connection: found.connection.name, code, detail: refusal?.message ?? null },
  });
}
