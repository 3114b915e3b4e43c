import { Type } from 'typebox';
import { ssoRefusals } from '../../domain/sso-protocols/assertion.js';
import { personRefusals } from '../../domain/sso-sign-in/recognition.js';
import { type SsoTestReport, ssoTestEffects, ssoTestStatuses } from '../../domain/sso-sign-in/test-report.js';
import type { NewSsoTest } from '../../domain/sso-sign-in/tests.js';
import { Id, Nullable, OneOf, Resource, Timestamp } from '../schemas.js';

export const NewTestView = Resource('NewSsoTest', {
  test_id: Id,
  test_url: Type.String({ description: 'Shown once. For a browser, which need not be the caller’s.' }),
  expires_at: Type.String({ format: 'date-time', description: 'Until when the link works.' }),
});

export const presentNewTest = ({ id, url, expiresAt }: NewSsoTest) => ({
  test_id: id,
  test_url: url,
  expires_at: expiresAt,
});

const Text = Nullable(Type.String());

/** What the provider said; everything of it is null as long as it has said nothing. */
export const TestView = Resource('SsoTest', {
  test_id: Id,
  status: OneOf(ssoTestStatuses, {
    description:
      '`succeeded`: the answer was taken; whether it would let the person in is in `would`. `refused`: it was not, or the provider could ' +
      'not be asked. `expired`: the link was not used in time, or nobody came back.',
  }),
  started_at: Nullable(Type.String({ format: 'date-time', description: 'When the link was used.' })),
  finished_at: Nullable(Timestamp),
  refusal: Nullable(
    Type.Object({
      code: OneOf(ssoRefusals),
      message: Type.String({ description: 'For whoever looks after the connection, in English.' }),
    }),
  ),
  assertion: Nullable(
    Type.Object({
      issuer: Type.String(),
      subject: Type.String({ description: 'The provider’s own name for the person.' }),
      email: Text,
      email_verified: Nullable(Type.Boolean()),
      attributes: Type.Unsafe<Readonly<Record<string, readonly string[]>>>({
        type: 'object',
        additionalProperties: { type: 'array', items: { type: 'string' } },
        description: 'Everything that was sent, by name.',
      }),
      amr: Type.Array(Type.String()),
      authenticated_at: Nullable(Timestamp),
    }),
  ),
  mapped: Nullable(
    Type.Object(
      { email: Text, first_name: Text, last_name: Text, avatar_url: Text, external_id: Text },
      {
        description:
          'What somebody new would get of it. Of those who are known already, only what `attribute_mapping` names follows the provider.',
      },
    ),
  ),
  would: Nullable(
    OneOf(ssoTestEffects, {
      description:
        'What this answer would come to now, by an active connection: a sign-in of whom it is linked to already, one that links somebody ' +
        'known by their address, somebody new, or nothing.',
    }),
  ),
  would_refuse_code: Nullable(OneOf([...ssoRefusals, ...personRefusals])),
});

export const presentTest = ({ assertion, mapped, would, ...report }: SsoTestReport) => ({
  test_id: report.id,
  status: report.status,
  started_at: report.startedAt,
  finished_at: report.finishedAt,
  refusal: report.refusal,
  assertion: assertion && {
    issuer: assertion.issuer,
    subject: assertion.subject,
    email: assertion.email,
    email_verified: assertion.emailVerified,
    attributes: assertion.attributes,
    amr: assertion.amr,
    authenticated_at: assertion.authenticatedAt,
  },
  mapped: mapped && {
    email: mapped.email,
    first_name: mapped.firstName ?? null,
    last_name: mapped.lastName ?? null,
    avatar_url: mapped.avatarUrl ?? null,
    external_id: mapped.externalId ?? null,
  },
  would: would?.effect ?? null,
  would_refuse_code: would?.code ?? null,
});
