import { Type } from 'typebox';
import { inDeclaredOrder } from '../../domain/lists/declared-order.js';
import type { VersionedPolicy } from '../../domain/organizations/authentication-policies.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Nullable, OneOf, Resource, single } from '../surfaces/schemas.js';
import { conflictAs } from '../surfaces/version-conflict.js';
import { managed, ofOne, viewing } from './organization-views.js';

const methods = ['password', 'email_otp', 'passkey', 'sso'] as const;
const Fields = {
  allowed_methods: Nullable(
    Type.Array(OneOf(methods), {
      minItems: 1,
      uniqueItems: true,
      description: 'First factors with which members may sign in; null: all that the environment offers.',
    }),
  ),
  require_mfa: Type.Boolean({
    description: 'Requires a second factor of every member, as if the environment required it.',
  }),
  require_sso: Type.Boolean({
    description:
      "Members can sign in only through the organization's identity provider. If no other way to sign in is left, an " +
      'active connection is required first.',
  }),
  session_ttl_seconds: Nullable(
    Type.Integer({
      minimum: 300,
      description:
        "How long the session of a member lasts, at most as long as the environment's; null: as long as the environment's.",
    }),
  ),
};
const PolicyView = Resource('AuthenticationPolicy', { ...Fields, version: Type.Integer() });

const present = ({ allowed_methods, require_mfa, require_sso, session_ttl_seconds, version }: VersionedPolicy) => ({
  allowed_methods: allowed_methods && inDeclaredOrder(methods, allowed_methods),
  require_mfa,
  require_sso,
  session_ttl_seconds,
  version,
});

const path = '/organizations/:id/authentication-policy';
const rule =
  'The policy adds to what the environment requires, and applies at every sign-in of a member, whichever application ' +
  'they sign in to; for a member of several organizations, the strictest applies.';

export const getAuthenticationPolicy = operation({
  ...ofOne,
  ...managed,
  capability: viewing.capability,
  id: 'getAuthenticationPolicy',
  method: 'GET',
  path,
  summary: 'Get the authentication policy of an organization',
  description: rule,
  answers: { 200: single(PolicyView), ...errors('organization.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: present(await services.authenticationPolicies.get(scope, params.id)),
  }),
});

export const replaceAuthenticationPolicy = operation({
  ...ofOne,
  ...managed,
  id: 'replaceAuthenticationPolicy',
  method: 'PUT',
  path,
  summary: 'Replace the authentication policy of an organization',
  description: `${rule} The version is that of the policy, not of the organization.`,
  ifMatch: 'required',
  body: Body(Fields),
  events: ['organization.updated'],
  answers: {
    200: single(PolicyView),
    ...errors('organization.not_found', 'if_match.required', 'if_match.invalid', 'validation.failed'),
  },
  async handle({ services, scope, params, version, body }) {
    const replacing = services.authenticationPolicies.replace(scope, params.id, { version, policy: body });
    return { data: present(await replacing.catch(conflictAs(present))) };
  },
});
