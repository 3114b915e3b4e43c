import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminCaller } from '../../domain/caller.js';
import { DomainError } from '../../domain/errors.js';
import type { AdminSubject, AdminTokens } from '../../domain/users/admin-tokens.js';
import type { PortalAccess, PortalAccesses, PortalPath } from '../../domain/users/portal-access.js';
import type { Level } from '../operation.js';
import type { RateLimits } from '../rate-limits.js';
import type { Authorized } from '../surface.js';
import { credentialsOf } from './credentials.js';

export type AuthorizedAdmin = Authorized & { caller: AdminCaller };

/** Platform admins, by their access token. Their session is proved alive from the database at every request. */
export interface AdminPrincipals {
  /**
   * Who calls, where no Account is named.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<AdminSubject>;
  /**
   * Who calls and what they are in the Account of the request's path, in one statement. What they lack is found out before
   * what is missing: 401, 404 outside their Accounts, then whatever `mayPass` throws, then 404 inside.
   */
  authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    level: Level,
    mayPass?: (admin: AuthorizedAdmin) => Promise<void>,
  ): Promise<AuthorizedAdmin>;
}

export interface AdminPrincipalsDeps {
  tokens: Pick<AdminTokens, 'read'>;
  portal: PortalAccesses;
  limits: Pick<RateLimits, 'general'>;
}

export function createAdminPrincipals({ tokens, portal, limits }: AdminPrincipalsDeps): AdminPrincipals {
  /** The bearer of a valid token, and what `prove` finds alive for it in the database; null counts as not alive. */
  async function proved<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    prove: (subject: AdminSubject) => Promise<T | null>,
  ): Promise<{ subject: AdminSubject; found: T }> {
    const { bearer } = credentialsOf(request);
    const subject = bearer ? await tokens.read(bearer) : null;
    const found = subject && (await prove(subject));
    if (!subject || found === null) {
      await limits.general('anonymous', request.ip, reply);
      if (bearer) reply.header('www-authenticate', 'Bearer error="invalid_token"'); // RFC 6750 §3.1
      throw new DomainError('auth.invalid_credentials');
    }
    await limits.general('jwt', credentialOf(subject), reply);
    return { subject, found };
  }

  return {
    async authenticate(request, reply) {
      const { subject } = await proved(request, reply, async (s) => (await portal.isAlive(s)) || null);
      return subject;
    },
    async authorize(request, reply, level, mayPass) {
      const { subject, found } = await proved(request, reply, async (s) => {
        const access = await portal.find(s, request.params as PortalPath);
        return access === 'dead' ? null : { access };
      });
      if (!found.access) throw new DomainError('account.not_found');
      const admin = present(subject, found.access);
      await mayPass?.(admin);
      const missing = missingIn(found.access, level);
      if (missing) throw missing;
      return admin;
    },
  };
}

// Of the user and not of the token: a retry with the same Idempotency-Key may come with the next token.
const credentialOf = ({ userId }: AdminSubject) => `platform_admin/${userId}`;

const present = (
  subject: AdminSubject,
  { accountId, applicationId, environmentId, roles, capabilities }: PortalAccess,
): AuthorizedAdmin => ({
  caller: {
    type: 'platform_admin',
    userId: subject.userId,
    sessionId: subject.sessionId,
    capabilities,
    roles,
  },
  scope: { accountId, ...(applicationId && { applicationId }), ...(environmentId && { environmentId }) },
  credential: credentialOf(subject),
});

function missingIn({ applicationId, environmentId }: PortalAccess, level: Level): DomainError | null {
  if (level === 'account') return null;
  if (!applicationId) return new DomainError('application.not_found');
  return level === 'environment' && !environmentId ? new DomainError('environment.not_found') : null;
}
