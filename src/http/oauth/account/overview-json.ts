import { Type } from 'typebox';
import { factorKinds } from '../../../../entities/environment-settings.js';
import { scopes } from '../../../domain/oidc/scopes.js';
import { SignsIn } from '../../mfa/schemas.js';
import type { AccountPages } from '../../pages/account-pages.js';
import { Id, Nullable, OneOf, Timestamp } from '../../surfaces/schemas.js';

const browser = {
  id: Id,
  browser: Nullable(Type.String()),
  system: Nullable(Type.String()),
  is_current: Type.Boolean(),
};

/** A person's account in JSON. */
export const Overview = Type.Object({
  name: Nullable(Type.String()),
  email: Type.String(),
  has_password: Type.Boolean(),
  password_changed_at: Nullable(Timestamp),
  factors: Type.Array(
    Type.Object({
      id: Id,
      type: OneOf(factorKinds),
      label: Nullable(Type.String({ description: 'Null if the person has not named it' })),
      enrolled_at: Timestamp,
      last_used_at: Nullable(Timestamp),
      signs_in: SignsIn,
    }),
  ),
  recovery_codes_remaining: Type.Integer(),
  sessions: Type.Array(
    Type.Object({
      ...browser,
      is_open: Type.Boolean({ description: 'False if only applications still hold tokens from it' }),
      created_at: Timestamp,
      authenticated_at: Timestamp,
    }),
  ),
  trusted_devices: Type.Array(Type.Object({ ...browser, created_at: Timestamp, expires_at: Timestamp }), {
    description: 'The latest 50',
  }),
  applications: Type.Array(
    Type.Object({
      id: Id,
      name: Type.String(),
      since: Timestamp,
      scopes: Nullable(
        Type.Array(OneOf(scopes), {
          description: 'What the person has consented to; null if consent was not asked for',
        }),
      ),
    }),
    { description: 'The latest 50' },
  ),
});

/** The values of the page, without those of its frame. */
export type ShownOverview = Omit<AccountPages['account'], 'params' | 'query' | 'client' | 'now' | 'done' | 'siteUrl'>;

/** Returns what a script gets instead of the page. */
export const inJson = ({
  person,
  password,
  factors,
  recoveryCodesLeft,
  sessions,
  devices,
  applications,
}: ShownOverview) => ({
  name: person.name,
  email: person.email,
  has_password: password?.isSet ?? false,
  password_changed_at: password?.changedAt ?? null,
  factors: factors.map(({ id, kind, label, enrolledAt, lastUsedAt, signsIn }) => ({
    id,
    type: kind,
    label,
    enrolled_at: enrolledAt,
    last_used_at: lastUsedAt,
    signs_in: signsIn,
  })),
  recovery_codes_remaining: recoveryCodesLeft ?? 0,
  sessions: sessions.map(({ id, device, isCurrent, isOpen, createdAt, authenticatedAt }) => ({
    id,
    ...device,
    is_current: isCurrent,
    is_open: isOpen,
    created_at: createdAt,
    authenticated_at: authenticatedAt,
  })),
  trusted_devices: devices.map(({ id, device, isCurrent, createdAt, expiresAt }) => ({
    id,
    ...device,
    is_current: isCurrent,
    created_at: createdAt,
    expires_at: expiresAt,
  })),
  applications: applications.map(({ id, name, since, scopes }) => ({ id, name, since, scopes })),
});
