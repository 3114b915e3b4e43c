import { type Static, Type } from 'typebox';
import type { BulkIdentity } from '../../domain/identities/bulk.js';
import type { AppElsewhere } from '../../domain/mfa/imported-apps.js';
import { joiningEvents } from '../event-lists/joining.js';
import { FactorLabel } from '../mfa/schemas.js';
import { itemError, itemsWith } from '../surfaces/bulk-items.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Nullable, OneOf } from '../surfaces/schemas.js';
import { changing, NewIdentityFields, newIdentityOf } from './identities-views.js';

const mebibyte = 1024 * 1024;

const TotpFactor = Body(
  {
    type: OneOf(['totp']),
    secret: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'The shared secret in Base32 (RFC 4648 §6, upper case), of 16 to 64 bytes.',
    }),
    algorithm: Type.Optional(
      OneOf(['SHA1', 'SHA256', 'SHA512'], { default: 'SHA1', description: 'Only `SHA1` is supported.' }),
    ),
    digits: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 6, description: 'Only 6 is supported.' })),
    period: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 86_400, default: 30, description: 'Seconds. Only 30 is supported.' }),
    ),
    label: Type.Optional(Nullable(FactorLabel)),
  },
  'FactorToImport',
);

const BulkIdentityFields = {
  ...NewIdentityFields,
  password_hash: Type.Optional(
    Nullable(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description:
          'Instead of `password`: a PHC string of argon2i, argon2d, argon2id, scrypt (`$scrypt$ln=…,r=…,p=…$salt$hash`) or ' +
          'PBKDF2 (`$pbkdf2-sha256$i=…$salt$hash`, also sha1 and sha512, also in the form of passlib), or bcrypt (`$2a$`, ' +
          '`$2b$`, `$2y$`).',
      }),
    ),
  ),
  mfa_factors: Type.Optional(
    Nullable(
      Type.Array(TotpFactor, {
        maxItems: 5,
        description:
          'Authenticator apps that the person uses already (RFC 6238): sign-ins ask for them from the first one on. There ' +
          'are no recovery codes until the person makes some.',
      }),
    ),
  ),
};
const Element = Body(BulkIdentityFields, 'IdentityToCreate');
/** The document's example: written by hand, since a password and a hash exclude each other. */
const imported = [
  {
    email: 'ana@example.com',
    first_name: 'Ana',
    last_name: 'Berger',
    email_verified: true,
    external_id: 'crm-4711',
    metadata: { plan: 'gold' },
    password_hash: '$2b$12$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy',
    mfa_factors: [{ type: 'totp', secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' }],
  },
];
const Results = itemsWith(
  'IdentityCreationItem',
  {
    joined: Type.Boolean({
      description:
        'Whether the identity was already in another environment of the account; the profile, email address, password and ' +
        'second factors of the element are then ignored.',
    }),
  },
  'created',
  'exists',
  'failed',
);

export const createIdentities = operation({
  ...changing,
  id: 'createIdentities',
  method: 'POST',
  path: '/identities/bulk',
  summary: 'Create identities in bulk',
  description:
    'Each element is processed independently, by the rules for creating a single identity: an invalid element does not ' +
    'prevent the others from being created. `exists` means that the identity is a member already, possibly because of an ' +
    'earlier element; nothing about it is changed. An element that fails has an `error`: `validation.failed` with ' +
    '`details` for missing or unknown fields, or the error for an email address or `external_id` that is taken, a role ' +
    'that cannot be granted, or a hash that cannot be imported: `password.hash_unreadable`, or ' +
    '`password.hash_out_of_bounds`, whose `details` name the limit (argon2: 128 MiB, m·t of 512 MiB, 16 lanes; scrypt: ' +
    'N·r·p of 2^20; PBKDF2: 2 000 000 iterations; bcrypt: cost 4 to 14; salts up to 128 bytes, digests of 16 to 64). An ' +
    'imported hash is replaced with one of the service at the first sign-in with the correct password. bcrypt uses the ' +
    'first 72 bytes of a password only, and until then so does the service. An authenticator app ' +
    'cannot be imported if its secret is not Base32 (`mfa.secret_unreadable`) or not of 16 to 64 bytes ' +
    '(`mfa.secret_out_of_bounds`), if its codes differ from those of the service (`mfa.parameters_not_supported`), or if ' +
    '`mfa_allowed_factors` of the environment lacks `totp` (`mfa.factor_not_allowed`). At most 50 elements may have a ' +
    '`password`. The body may have up to 8 MiB.',
  tag: 'Identities',
  level: 'environment',
  bodyLimit: 8 * mebibyte,
  eachAlone: 'identities',
  body: Body({ identities: Type.Array(Element, { minItems: 1, maxItems: 1000, example: imported }) }),
  events: [...joiningEvents, 'identity.mfa_enrolled', 'identity.deactivated', 'role_assignment.created'],
  answers: { 200: Results, ...errors('validation.failed', 'body.too_large') },
  async handle({ services, scope, caller, body, refusals }) {
    const wanted = body.identities.map((one, index) => refusals.get(index) ?? bulkIdentityOf(one));
    const results = await services.bulkIdentities(scope, caller, wanted);
    return {
      items: results.map((result, index) =>
        result.status === 'failed'
          ? { index, status: result.status, id: null, error: itemError(result.error), joined: false }
          : { index, status: result.status, id: result.id, error: null, joined: result.joined },
      ),
    };
  },
});

const bulkIdentityOf = (one: Static<typeof Element>): BulkIdentity => ({
  ...newIdentityOf(one),
  passwordHash: one.password_hash ?? null,
  apps: (one.mfa_factors ?? []).map(appElsewhere),
  roleId: one.role_id ?? null,
  nodeId: one.node_id ?? null,
});

const appElsewhere = (app: Static<typeof TotpFactor>): AppElsewhere => ({
  secret: app.secret,
  algorithm: app.algorithm ?? 'SHA1',
  digits: app.digits ?? 6,
  period: app.period ?? 30,
  label: app.label ?? null,
});
