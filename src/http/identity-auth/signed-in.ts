import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import type { ProvenIdentity, ProvenToken } from '../../domain/oidc/tokens/access-tokens.js';
import type { OwnProofOf } from '../../domain/sessions/own-proof.js';
import type { SignedInPerson } from '../../domain/sessions/signed-in-person.js';
import { currentContext, inShareOf } from '../../platform/context.js';
import { allowOrigins, clientOfToken } from '../browsers/cors.js';
import { credentialsOf } from '../principals/credentials.js';
import { countedAsOf, signedInAt } from '../principals/identity.js';
import { refusing } from '../principals/refusing.js';
import { proving } from '../surfaces/proofs.js';
import type { IdentityAuthOptions } from './options.js';

declare module 'fastify' {
  interface FastifyRequest {
    identity: ProvenToken | null;
  }
}

/** Makes a plugin's routes require an end user's access token, before anything else is checked. */
export function requireSignIn(
  app: FastifyInstance,
  { provider, limits }: Pick<IdentityAuthOptions, 'provider' | 'limits'>,
): void {
  app.decorateRequest('identity', null);
  allowOrigins(app, 'onRequest', (request) => clientOfToken(provider, request));
  const prove = proving(async (request, reply) => {
    const { bearer } = credentialsOf(request);
    const refuse = refusing(limits, request, reply);
    const proven = bearer ? await provider.accessTokens.prove(bearer).catch(refuse.failed) : null;
    if (!proven) return refuse.unproved();
    inShareOf(proven.accountId);
    await limits.general('jwt', countedAsOf(proven), reply);
    // People cannot grant applications of others access to their own account (docs/decisions/0063).
    if (proven.isThirdParty) throw new DomainError('principal.wrong_type');
    request.identity = proven;
    currentContext().actor = { type: 'identity', id: proven.identityId };
  });
  app.addHook('onRequest', prove);
}

/** The caller's token, on a route that requires one. */
export const provenOf = ({ identity }: FastifyRequest): ProvenToken => identity as ProvenToken;

export const subjectOf = ({
  accountId,
  applicationId,
  environmentId,
  identityId,
  sessionId,
}: ProvenIdentity): SignedInPerson => ({ accountId, applicationId, environmentId, identityId, sessionId });

/**
 * The caller with the time of the sign-in that the token belongs to, for changes that require a recent one. The session
 * may have become stronger since.
 */
export function proofOf(request: FastifyRequest): OwnProofOf {
  const proven = provenOf(request);
  return { ...subjectOf(proven), authenticatedAt: signedInAt(proven) };
}
