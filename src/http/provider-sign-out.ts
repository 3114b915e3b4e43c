import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';

/** What a sign-out is answered whose session began by an identity provider. */
export const SignOutRedirect = Type.Object({
  redirect_to: Type.String({
    description: 'Redirect the browser here: it signs the person out at the identity provider.',
  }),
});

/** The link by which a browser that has signed out here leaves its identity providers (`ProviderSignOut.begin`). */
export const leavingUrl = (baseUrl: string, token: string): string => `${baseUrl}/sso/leave?token=${token}`;

/** Answers a script that has signed somebody out: with that link, where there is one. */
export function sendSignedOut(reply: FastifyReply, baseUrl: string, token: string | null): FastifyReply {
  if (token === null) return reply.code(204).send(null);
  return reply.code(200).send({ data: { redirect_to: leavingUrl(baseUrl, token) } });
}
