import { Type } from 'typebox';
import type { VersionedPolicy } from '../../domain/organizations/authentication-policies.js';
import { errors, operation } from '../operation.js';
import { Body, Nullable, OneOf, Resource, single } from '../schemas.js';
import { conflictAs } from '../version-conflict.js';
import { managed, ofOne, viewing } from './organization-views.js';

const Fields = {
  allowed_methods: Nullable(
    Type.Array(OneOf(['password', 'email_otp', 'passkey', 'sso']), {
      minItems: 1,
      uniqueItems: true,
      description: 'First factors that members may sign in with; null: all that the environment offers.',
    }),
  ),
  require_mfa: Type.Boolean({ description: 'A second factor of every member, as if the environment required it.' }),
  require_sso: Type.Boolean({
    description:
      "Members sign in through the organization's identity provider only. Whoever leaves no other way needs an active connection first.",
  }),
  session_ttl_seconds: Nullable(
    Type.Integer({
      minimum: 300,
      description: "How long a sign-in of a member lasts, at most as long as the environment's; null: as long.",
    }),
  ),
};
const PolicyView = Resource('AuthenticationPolicy', { ...Fields, version: Type.Integer() });

const present = ({ allowed_methods, require_mfa, require_sso, session_ttl_seconds, version }: VersionedPolicy) => ({
  allowed_methods,
  require_mfa,
  require_sso,
  session_ttl_seconds,
  version,
});

const path = '/organizations/:id/authentication-policy';
const rule =
  'It adds to what the environment asks, and counts at every sign-in of a member, whichever application they sign in to; of ' +
  'several organizations the strictest counts.';

export const getAuthenticationPolicy = operation({
  ...ofOne,
  ...managed,
  capability: viewing.capability,
  id: 'getAuthenticationPolicy',
  method: 'GET',
  path,
  summary: 'Read how members of an organization may sign in',
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
  summary: 'Replace how members of an organization may sign in',
  description: `${rule} The version is the policy's own, not that of the organization.`,
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
