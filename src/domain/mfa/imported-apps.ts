import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { MfaFactor } from '../../../entities/mfa-factor.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { snakeCased } from '../../platform/database/naming.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError, type ErrorCode } from '../errors.js';
import { recordEvents } from '../events/record.js';
import { readBase32 } from './codes/base32.js';
import { totpSecretContext } from './codes/totp.js';
import { totpLabel, totpParameters } from './codes/totp-codes.js';
import { factorLabel } from './factor-label.js';

/** An authenticator app that a person has enrolled in another system. */
export interface AppElsewhere {
  /** In Base32 (RFC 4648 §6). */
  secret: string;
  algorithm: 'SHA1' | 'SHA256' | 'SHA512';
  digits: number;
  /** Seconds. */
  period: number;
  label: string | null;
}

/** The factor that it becomes, its secret sealed. */
export type ImportedApp = Pick<MfaFactor, 'id' | 'type' | 'label' | 'secret'>;

/** RFC 4226 §4, R6: at least 128 bits. The library that computes the codes refuses more than 512. */
const secretBytes = { min: 16, max: 64 } as const;

/**
 * Returns the factors for the apps of a person who is going to be created. Our own codes are the only ones that are
 * checked, so an app whose codes differ from them would never be right.
 * @param field the name of the list in the request
 * @throws DomainError mfa.parameters_not_supported, mfa.secret_unreadable; mfa.secret_out_of_bounds with the limit in its
 *   details; mfa.already_enrolled for a secret that is there twice
 */
export function importableApps(
  sealing: Pick<Sealing, 'seal'>,
  apps: readonly AppElsewhere[],
  field: string,
): ImportedApp[] {
  const known = new Set<string>();
  return apps.map((app, index) => {
    const place = `${field}[${index}]`;
    assertSupported(app, place);
    const secret = readableSecret(app.secret, `${place}.secret`);
    // Each factor remembers its own last time step, so a code of two would work twice (RFC 6238 §5.2). HMAC fills a key up
    // with zeros (RFC 2104 §2), so two that differ in these alone have the same codes.
    const key = secret.replace(/A+$/, '');
    if (known.has(key)) throw refusal('mfa.already_enrolled', `${place}.secret`, 'repeated', 'is there twice');
    known.add(key);
    const id = uuidv7();
    const label = factorLabel(app.label) ?? totpLabel;
    return { id, type: 'totp', label, secret: sealing.seal(secret, totpSecretContext(id)) };
  });
}

function assertSupported(app: AppElsewhere, place: string): void {
  const details = (['algorithm', 'digits', 'period'] as const)
    .map((name) => ({ name, is: String(app[name]), has: String(totpParameters[name]).toUpperCase() }))
    .filter(({ is, has }) => is !== has)
    .map(({ name, has }) => ({ field: `${place}.${name}`, code: 'not_supported', message: `must be ${has}` }));
  if (details.length > 0) throw new DomainError('mfa.parameters_not_supported', { details });
}

function readableSecret(typed: string, field: string): string {
  const secret = readBase32(typed);
  if (!secret) throw refusal('mfa.secret_unreadable', field, 'base32', 'must be Base32: A-Z and 2-7');
  const { min, max } = secretBytes;
  if (secret.bytes >= min && secret.bytes <= max) return secret.text;
  throw refusal('mfa.secret_out_of_bounds', field, 'secret_length', `has a length outside of ${min} to ${max} bytes`);
}

const refusal = (code: ErrorCode, field: string, detail: string, message: string) =>
  new DomainError(code, { details: [{ field, code: detail, message }] });

const insertText = `
insert into mfa_factors (id, account_id, identity_id, type, label, secret, enrolled_at)
select id, $1::uuid, identity_id, type, label, secret, $2::timestamptz from jsonb_populate_recordset(null::mfa_factors, $3::jsonb)`;

/**
 * Adds imported apps to people whom the caller's transaction has just created: nobody has a grace, a session or another
 * factor yet. There are no recovery codes, which nobody could show them, and no notices, since nothing has changed for
 * them.
 */
export async function addImportedApps(
  tx: EntityManager,
  scope: EnvironmentScope,
  apps: readonly (ImportedApp & { identityId: string })[],
  at: Date,
): Promise<void> {
  if (apps.length === 0) return;
  await tx.query(insertText, [scope.accountId, at, JSON.stringify(apps.map(snakeCased))]);
  await recordEvents(
    tx,
    'identity.mfa_enrolled',
    apps.map(({ id, type, identityId }) => ({
      ...scope,
      resourceId: identityId,
      metadata: { factor_id: id, factor: type },
    })),
  );
}
