import { Type } from 'typebox';
import type { RecoverySet } from '../../domain/sso-connections/recovery-codes.js';
import { errors, operation } from '../surfaces/operation.js';
import { Nullable, single, Timestamp } from '../surfaces/schemas.js';
import { managed, ofOne, viewing } from './organization-views.js';

const Fields = {
  count: Type.Integer({ description: 'The size of the latest set; 0 if none has been generated yet.' }),
  remaining: Type.Integer({ description: 'How many of them are unused.' }),
  generation: Type.Integer({ description: 'The number of sets generated so far.' }),
  created_at: Nullable(Timestamp),
};
const present = ({ count, remaining, generation, createdAt }: RecoverySet) => ({
  count,
  remaining,
  generation,
  created_at: createdAt,
});
const path = '/organizations/:id/sso-recovery-codes';

export const getOrganizationSsoRecoveryCodes = operation({
  ...ofOne,
  ...managed,
  capability: viewing.capability,
  id: 'getOrganizationSsoRecoveryCodes',
  method: 'GET',
  path,
  summary: 'Get the number of SSO recovery codes left in an organization',
  answers: { 200: single(Type.Object(Fields)), ...errors('organization.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.ssoRecoveryCodes.read(scope, params.id)),
  }),
});

export const renewOrganizationSsoRecoveryCodes = operation({
  ...ofOne,
  ...managed,
  id: 'renewOrganizationSsoRecoveryCodes',
  method: 'POST',
  path,
  summary: 'Generate new SSO recovery codes for an organization',
  description:
    'For when the identity provider that the organization requires is down: each code lets a member sign in once, after ' +
    'proving who they are in another way. The codes are returned only once, and invalidate all earlier ones.',
  events: ['organization.sso_recovery_codes_renewed'],
  answers: {
    201: single(Type.Object({ ...Fields, codes: Type.Array(Type.String()) })),
    ...errors('organization.not_found'),
  },
  async handle({ services, scope, params }) {
    const { codes, ...set } = await services.ssoRecoveryCodes.renew(scope, params.id);
    return { data: { ...present(set), codes } };
  },
});
