import type { Overview } from './overview.js';

/** What a script is told in the place of the page. */
export const inJson = ({
  person,
  password,
  factors,
  recoveryCodesLeft,
  sessions,
  devices,
  applications,
}: Overview) => ({
  name: person.name,
  email: person.email,
  has_password: password?.isSet ?? false,
  password_changed_at: password?.changedAt ?? null,
  factors: factors.map(({ id, kind, label, enrolledAt, lastUsedAt }) => ({
    id,
    type: kind,
    label,
    enrolled_at: enrolledAt,
    last_used_at: lastUsedAt,
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
