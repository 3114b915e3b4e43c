import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';

/** The answer to a sign-out of a session that began at an identity provider. */
export const SignOutRedirect = Type.Object({
  redirect_to: Type.String({
    description: 'Redirect the browser here: it signs the person out at the identity provider.',
  }),
});

/** Returns the link that signs a browser out at its identity providers, after it did here (`ProviderSignOut.begin`). */
export const leavingUrl = (baseUrl: string, token: string): string => `${baseUrl}/sso/leave?token=${token}`;

/** Answers a script that has signed somebody out: with that link if there is a token for it, otherwise with 204. */
export function sendSignedOut(reply: FastifyReply, baseUrl: string, token: string | null): FastifyReply {
  if (token === null) return reply.code(204).send(null);
  return reply.code(200).send({ data: { redirect_to: leavingUrl(baseUrl, token) } });
}
