import { type TSchema, Type } from 'typebox';
import { discoveryDocument } from '../../../domain/oidc/discovery.js';
import { OneOf } from '../../surfaces/schemas.js';
import { Shared } from './json.js';
import type { Documentation } from './page.js';

const document = (operationId: string, summary: string, description: string, schema: TSchema) => ({
  operationId,
  summary,
  description,
  tags: ['Discovery'],
  response: {
    200: { description: summary, content: { 'application/json': { schema } } },
    304: { description: 'Not modified: the `ETag` matches `If-None-Match`', type: 'null' },
  },
});

/** Derives the schema of a metadata value from the value itself. */
const schemaOf = (value: boolean | string | readonly string[]): TSchema => {
  if (typeof value === 'boolean') return Type.Boolean({ example: value });
  if (typeof value === 'string') return Type.String({ format: 'uri', example: value });
  return Type.Array(OneOf(value), { example: value });
};
const ProviderMetadata = Shared(
  'ProviderMetadata',
  Object.fromEntries(
    Object.entries(discoveryDocument('https://id.example.com')).map(([name, value]) => [
      name,
      schemaOf(value as boolean | string | string[]),
    ]),
  ),
);
const Jwks = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: OneOf(['RSA']),
      kid: Type.String(),
      alg: OneOf(['RS256']),
      use: OneOf(['sig']),
      n: Type.String(),
      e: Type.String(),
    }),
  ),
});

/** The OpenAPI documentation of the documents by which clients discover the provider. */
export const discoveryDocumentation: Documentation = {
  'GET /.well-known/openid-configuration': document(
    'getOpenIdConfiguration',
    'Get the provider metadata (OpenID Connect Discovery)',
    'Endpoints, scopes, claims, grant types and algorithms, for libraries that configure themselves from the issuer.',
    ProviderMetadata,
  ),
  'GET /.well-known/oauth-authorization-server': document(
    'getAuthorizationServerMetadata',
    'Get the authorization server metadata (RFC 8414)',
    'The same as `/.well-known/openid-configuration`, for OAuth 2.0 clients that do not use OpenID Connect.',
    ProviderMetadata,
  ),
  'GET /.well-known/jwks.json': document(
    'getJwks',
    'Get the public keys for verifying tokens (RFC 7517)',
    'A new key is published before it signs, and an old one until everything that it signed has expired: look up a ' +
      "token's `kid`, and fetch the set again if it is missing.",
    Jwks,
  ),
};
