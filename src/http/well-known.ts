import { createHash } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JWK } from 'jose';
import { discoveryDocument } from '../domain/oidc/discovery.js';
import type { SigningKeys } from '../domain/oidc/keys.js';
import { answerPreflights } from './oauth/cors.js';

export interface WellKnownOptions {
  baseUrl: string;
  keys: SigningKeys;
}

/** A document as it is sent, serialized once. */
interface Prepared {
  body: Buffer;
  etag: string;
}

/** Discovery (OpenID Connect Discovery 4, RFC 8414 §3) and the key set (RFC 7517), readable from any origin. */
export const wellKnown: FastifyPluginAsyncTypebox<WellKnownOptions> = async (app, { baseUrl, keys }) => {
  const discovery = prepare(discoveryDocument(baseUrl));
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const path = `/.well-known/${name}`;
    answerPreflights(app, path, 'GET');
    app.get(path, async (request, reply) => send(request, reply, discovery));
  }

  let serialized: { of: { keys: JWK[] }; as: Prepared } | undefined;
  answerPreflights(app, '/.well-known/jwks.json', 'GET');
  app.get('/.well-known/jwks.json', async (request, reply) => {
    const of = await keys.jwks();
    if (serialized?.of !== of) serialized = { of, as: prepare(of) };
    return send(request, reply, serialized.as);
  });
};

function prepare(document: object): Prepared {
  const body = Buffer.from(JSON.stringify(document));
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

function send(request: FastifyRequest, reply: FastifyReply, { body, etag }: Prepared): FastifyReply {
  reply
    .header('etag', etag)
    // An hour is safe, since a key is published a week before it signs.
    .header('cache-control', 'public, max-age=3600')
    .header('access-control-allow-origin', '*');
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)) return reply.code(304).send();
  return reply.type('application/json; charset=utf-8').send(body);
}
