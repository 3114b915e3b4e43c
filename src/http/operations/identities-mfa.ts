import { Type } from 'typebox';
import { ssoConnectionStatuses, ssoTypes } from '../../../entities/sso-connection.js';
import type { MfaSummary } from '../../domain/mfa/summary.js';
import { presentFactor, SignsIn } from '../mfa/schemas.js';
import { always } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Id, Nullable, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { changing, mayChange, ofOne, ofThemselves, viewing } from './identities-views.js';

const MfaView = Resource('IdentityMfa', {
  factors: Type.Array(
    Resource('SecondFactor', {
      id: Id,
      type: Type.String(),
      label: Type.String(),
      enrolled_at: Timestamp,
      last_used_at: Nullable(Timestamp),
      signs_in: SignsIn,
    }),
  ),
  recovery_codes_generation: Type.Integer(),
  recovery_codes_remaining: Type.Integer(),
  mfa_admin_reset_at: Nullable(Timestamp),
});

const presentMfa = (found: MfaSummary) => ({
  factors: found.factors.map(presentFactor),
  recovery_codes_generation: found.recoveryCodesGeneration,
  recovery_codes_remaining: found.recoveryCodesRemaining,
  mfa_admin_reset_at: found.mfaAdminResetAt,
});

export const getIdentityMfa = operation({
  ...ofOne,
  ...viewing,
  id: 'getIdentityMfa',
  method: 'GET',
  path: '/identities/:id/mfa',
  summary: 'Get the second factors of an identity',
  description: 'Second factors are shared by all environments of the account. The response contains no secrets.',
  answers: { 200: single(MfaView), ...errors('identity.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentMfa(await services.identityAdministration.mfa(scope, params.id)),
  }),
});

export const resetIdentityMfa = operation({
  ...ofOne,
  ...changing,
  id: 'resetIdentityMfa',
  method: 'POST',
  path: '/identities/:id/mfa/reset',
  summary: 'Reset the second factors of an identity',
  description:
    'Removes its factors, recovery codes and trusted devices, restarts the grace period for enrolling, and notifies it ' +
    'by email. Sessions continue. ' +
    ofThemselves,
  events: ['identity.mfa_reset', 'auth.mfa_grace_reset'],
  answers: {
    200: single(MfaView),
    ...errors('auth.reauthentication_required', 'identity.not_found', 'identity.holds_more', 'identity.in_production'),
  },
  async handle({ services, scope, caller, params: { id } }) {
    const may = mayChange({ services, scope, caller }, id, { takesOver: true });
    return { data: presentMfa(await services.identityAdministration.resetMfa(scope, id, may)) };
  },
});

export const getIdentityAuthState = operation({
  ...ofOne,
  ...viewing,
  id: 'getIdentityAuthState',
  method: 'GET',
  path: '/identities/:id/auth-state',
  summary: 'Get the authentication state of an identity',
  description:
    '`last_login_at` goes back only as far as sessions are kept. `grace_expires_at` is the deadline for enrolling a ' +
    'second factor, even if it has passed; null if none is required.',
  answers: {
    200: single(
      Type.Object({
        has_password: Type.Boolean(),
        password_changed_at: Nullable(Timestamp),
        email_verified: Type.Boolean(),
        mfa_enrolled: Type.Boolean(),
        grace_expires_at: Nullable(Timestamp),
        last_login_at: Nullable(Timestamp),
        locked_until: Nullable({
          ...Timestamp,
          description:
            'Until then, no password or code is checked, because there were ten wrong ones in 15 minutes or fifty in a day; ' +
            '`unlock` ends it.',
        }),
        sso_connections: Type.Array(
          Resource('LinkedSsoConnection', {
            id: Id,
            organization_id: Nullable(Id),
            type: OneOf(ssoTypes),
            name: Type.String(),
            status: OneOf(ssoConnectionStatuses),
            linked_at: Timestamp,
            last_login_at: Timestamp,
          }),
          {
            description:
              'Connections of this environment and its organizations through which the person has signed in.',
          },
        ),
      }),
    ),
    ...errors('identity.not_found'),
  },
  async handle({ services, scope, params }) {
    const state = await services.identityAdministration.authState(scope, params.id);
    return {
      data: {
        has_password: state.hasPassword,
        password_changed_at: state.passwordChangedAt,
        email_verified: state.emailVerified,
        mfa_enrolled: state.mfaEnrolled,
        grace_expires_at: state.graceExpiresAt,
        last_login_at: state.lastLoginAt,
        locked_until: state.lockedUntil,
        sso_connections: state.ssoConnections.map((connection) => ({
          id: connection.id,
          organization_id: connection.organizationId,
          type: connection.type,
          name: connection.name,
          status: connection.status,
          linked_at: connection.linkedAt,
          last_login_at: connection.lastLoginAt,
        })),
      },
    };
  },
});

export const getIdentitiesSummary = operation({
  ...viewing,
  id: 'getIdentitiesSummary',
  method: 'GET',
  path: '/identities/summary',
  summary: 'Count identities',
  tag: 'Identities',
  level: 'environment',
  answers: {
    200: single(
      Type.Object({
        total: Type.Integer(),
        active: Type.Integer(),
        inactive: Type.Integer(),
        unverified: Type.Integer(),
        mfa_enrolled: Type.Integer(),
      }),
    ),
  },
  isBroad: always,
  async handle({ services, scope }) {
    const { mfaEnrolled, ...counts } = await services.identityAdministration.summary(scope);
    return { data: { ...counts, mfa_enrolled: mfaEnrolled } };
  },
});
