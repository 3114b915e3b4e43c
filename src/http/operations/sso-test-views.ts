import { Type } from 'typebox';
import { ssoRefusals } from '../../domain/sso-protocols/assertion.js';
import { personRefusals } from '../../domain/sso-sign-in/recognition.js';
import { type SsoTestReport, ssoTestEffects, ssoTestStatuses } from '../../domain/sso-sign-in/test-report.js';
import type { NewSsoTest } from '../../domain/sso-sign-in/tests.js';
import { Growing, Id, Nullable, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';

export const NewTestView = Resource('StartedSsoTest', {
  test_id: Id,
  test_url: Type.String({ description: 'Returned only once. For any browser, not only that of the caller.' }),
  expires_at: Type.String({ format: 'date-time', description: 'When the link expires.' }),
});

export const presentNewTest = ({ id, url, expiresAt }: NewSsoTest) => ({
  test_id: id,
  test_url: url,
  expires_at: expiresAt,
});

const Text = Nullable(Type.String());

/** A test with the provider's response; everything from the provider is null until it has responded. */
export const TestView = Resource('SsoTest', {
  test_id: Id,
  status: OneOf(ssoTestStatuses, {
    description:
      '`succeeded`: the response was accepted; `would` tells whether it would let the person in. `refused`: it was not ' +
      'accepted, or the provider could not be queried. `expired`: the link was not used in time, or nobody came back.',
  }),
  started_at: Nullable(Type.String({ format: 'date-time', description: 'When the link was opened.' })),
  finished_at: Nullable(Timestamp),
  refusal: Nullable(
    Type.Object({
      code: Growing(ssoRefusals),
      message: Type.String({ description: 'For whoever manages the connection, in English.' }),
    }),
  ),
  assertion: Nullable(
    Type.Object({
      issuer: Type.String({ example: 'https://idp.acme.example' }),
      subject: Type.String({ description: "The provider's identifier of the person." }),
      email: Text,
      email_verified: Nullable(Type.Boolean()),
      attributes: Type.Unsafe<Readonly<Record<string, readonly string[]>>>({
        type: 'object',
        additionalProperties: { type: 'array', items: { type: 'string' } },
        description: 'All attributes or claims that were sent, by name.',
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
          'What a new identity would get from it. For existing identities, only what `attribute_mapping` names follows the ' +
          'provider.',
      },
    ),
  ),
  would: Nullable(
    OneOf(ssoTestEffects, {
      description:
        'What this response would result in now with an active connection: a sign-in of the linked identity, a sign-in that ' +
        'links an identity found by its email address, a new identity, or nothing.',
    }),
  ),
  would_refuse_code: Nullable(Growing([...ssoRefusals, ...personRefusals])),
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
