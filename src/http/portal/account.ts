import { Type } from 'typebox';
import type { Account } from '../../../entities/account.js';
import { definedOnly } from '../defined-only.js';
import { errors, operation } from '../operation.js';
import { Body, Id, Name, Slug, single, Timestamp } from '../schemas.js';

const AccountView = Type.Object({
  id: Id,
  name: Type.String(),
  slug: Type.String(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const present = ({ id, name, slug, createdAt, updatedAt }: Account) => ({
  id,
  name,
  slug,
  created_at: createdAt,
  updated_at: updatedAt,
});

const common = { tag: 'Account', level: 'account', path: '' } as const;

export const getAccount = operation({
  ...common,
  id: 'getAccount',
  method: 'GET',
  summary: 'Read the account',
  capability: 'account.view',
  answers: { 200: single(AccountView), ...errors('account.not_found') },
  handle: async ({ services, scope }) => ({ data: present(await services.accounts.get(scope)) }),
});

export const updateAccount = operation({
  ...common,
  id: 'updateAccount',
  method: 'PATCH',
  summary: 'Change the name or the slug of the account',
  description:
    'A new slug counts at once: every Portal path of the account starts with it from then on, and the old one is free. ' +
    'Tokens, API keys and OAuth clients name the account by its id and go on.',
  capability: 'account.manage',
  retriedWithoutAccess: true,
  body: Body({ name: Type.Optional(Name), slug: Type.Optional(Slug) }),
  events: ['account.updated'],
  answers: { 200: single(AccountView), ...errors('account.slug_taken', 'account.not_found', 'validation.failed') },
  async handle({ services, scope, body }) {
    const changes = definedOnly({ name: body.name?.trim(), slug: body.slug });
    return { data: present(await services.accounts.update(scope, changes)) };
  },
});
