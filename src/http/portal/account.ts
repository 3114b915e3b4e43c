import { Type } from 'typebox';
import type { Account } from '../../../entities/account.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, Name, Resource, Slug, single, Timestamp } from '../surfaces/schemas.js';
import { adminCallerOf } from './admin-caller.js';

const AccountView = Resource('Account', {
  id: Id,
  name: Type.String(),
  slug: Type.String(),
  require_mfa: Type.Boolean({
    description: 'Whether administrators need a second factor for everything in the account.',
  }),
  require_sso: Type.Boolean({
    description: 'Whether administrators, except Owners, get in only through the identity provider of the account.',
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const present = ({ id, name, slug, requireMfa, requireSso, createdAt, updatedAt }: Account) => ({
  id,
  name,
  slug,
  require_mfa: requireMfa,
  require_sso: requireSso,
  created_at: createdAt,
  updated_at: updatedAt,
});

const common = { tag: 'Account', level: 'account', path: '' } as const;

export const getAccount = operation({
  ...common,
  id: 'getAccount',
  method: 'GET',
  summary: 'Get the account',
  capability: 'account.view',
  answers: { 200: single(AccountView), ...errors('account.not_found') },
  handle: async ({ services, scope }) => ({ data: present(await services.accounts.get(scope)) }),
});

export const updateAccount = operation({
  ...common,
  id: 'updateAccount',
  method: 'PATCH',
  summary: 'Update the account',
  description:
    'A new slug takes effect immediately: every Portal path of the account starts with it from then on, and the old one ' +
    'is free. Tokens, API keys and OAuth clients refer to the account by its ID and keep working. Only Owners can change ' +
    '`require_mfa` and `require_sso`. With `require_mfa`, everything in the account is refused to sessions without a second factor, from the next ' +
    'request on. Whoever has no second factor must enroll one (`mfa.enrollment_required`); whoever has one must sign in ' +
    'again with it (`mfa.challenge_required`). There is no grace period. Turn it on from a session with a second factor. With ' +
    '`require_sso`, members who are not Owners get in only with a session that began through an SSO connection of the ' +
    'account (`account.sso_required`), from the next request on; other accounts of theirs are not affected. Turn it on from ' +
    'such a session.',
  capability: 'account.manage',
  retriedWithoutAccess: true,
  body: Body({
    name: Type.Optional(Name),
    slug: Type.Optional(Slug),
    require_mfa: Type.Optional(Type.Boolean()),
    require_sso: Type.Optional(Type.Boolean()),
  }),
  events: ['account.updated'],
  answers: {
    200: single(AccountView),
    ...errors(
      'account.owner_required',
      'mfa.not_enrolled',
      'account.sso_unavailable',
      'account.slug_taken',
      'account.not_found',
      'validation.failed',
    ),
  },
  async handle({ services, scope, caller, body }) {
    const { userId, sessionId } = adminCallerOf(caller);
    const changes = definedOnly({
      name: body.name?.trim(),
      slug: body.slug,
      requireMfa: body.require_mfa,
      requireSso: body.require_sso,
    });
    return { data: present(await services.accounts.update(scope, { userId, sessionId }, changes)) };
  },
});
