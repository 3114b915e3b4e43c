import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { PersonRefusal } from '../../domain/sso-sign-in/recognition.js';
import type { SsoTestReport } from '../../domain/sso-sign-in/test-report.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { sendSsoLost } from './failed-page.js';

interface Found {
  report: SsoTestReport;
  connection: Pick<SsoConnection, 'name'>;
}

/** Why somebody whom their provider vouches for would not get in; other refusals have a sentence of their own. */
const reasons: Record<PersonRefusal, TextKey> = {
  email_missing: 'sso_test.reason.email_missing',
  email_unverified: 'sso_test.reason.email_unverified',
  domain_not_verified: 'sso_test.reason.domain_not_verified',
  subject_mismatch: 'sso_test.reason.subject_mismatch',
  identity_unknown: 'sso_test.reason.identity_unknown',
  identity_inactive: 'sso_test.reason.identity_inactive',
  not_a_member: 'sso_test.reason.not_a_member',
  reauthentication_missing: 'sso_test.reason.reauthentication_missing',
};
const hasReason = (code: string | null): code is PersonRefusal => code !== null && Object.hasOwn(reasons, code);

/**
 * Shows the result of a test sign-in to the person who did it: of what the provider said about them, only why it is not
 * enough.
 */
export function sendTestDone(request: FastifyRequest, reply: FastifyReply, found: Found | null): FastifyReply {
  if (!found?.report.would) return sendSsoLost(request, reply);
  const { status, would, refusal } = found.report;
  const code = would.code && `sso.${would.code}`;
  if (wantsJson(request)) {
    return reply.send({ status, would: would.effect, reason: code });
  }
  const texts = status === 'refused' ? 'refused' : would.effect === 'refuse' ? 'stranger' : would.effect;
  return sendPage(request, reply, 'sso-test-done', {
    title: `sso_test.${texts}.title`,
    message: `sso_test.${texts}.message`,
    connection: found.connection.name,
    code,
    detail: refusal?.message ?? null,
    reason: hasReason(would.code) ? reasons[would.code] : null,
  });
}

/** Answers a link that was used, has expired, or is unknown. */
export function sendTestVoid(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (wantsJson(request)) return sendSsoLost(request, reply);
  return sendPage(request, reply, 'sso-test-void', { code: 'sso.stale' }, { status: 400 });
}
