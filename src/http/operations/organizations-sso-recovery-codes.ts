import { Type } from 'typebox';
import type { RecoverySet } from '../../domain/sso-connections/recovery-codes.js';
import { errors, operation } from '../operation.js';
import { Nullable, single, Timestamp } from '../schemas.js';
import { managed, ofOne, viewing } from './organization-views.js';

const Fields = {
  count: Type.Integer({ description: 'How many the latest set had; 0 where none was made yet.' }),
  remaining: Type.Integer({ description: 'How many of them are unused.' }),
  generation: Type.Integer({ description: 'Counts the sets.' }),
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
  summary: 'Read how many SSO recovery codes of an organization are left',
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
  summary: 'Make new SSO recovery codes of an organization',
  description:
    'For the day on which the identity provider is down that the organization requires: each lets a member in once who has proved ' +
    'who they are in another way. They are answered here and never again, and void those of before.',
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
