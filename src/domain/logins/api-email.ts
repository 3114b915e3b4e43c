import type { OwnProofOf } from '../sessions/own-proof.js';
import type { ApiOwn } from './api-own.js';
import type { Logins } from './logins.js';

/** Changes the address of a signed-in person, who must have signed in within the last ten minutes. */
export const createApiEmail = ({ own, logins }: { own: ApiOwn; logins: Pick<Logins, 'ownEmail'> }) => ({
  /** @throws DomainError as `OwnEmail.request`, auth.reauthentication_required, identity.in_production */
  async request(subject: OwnProofOf, wanted: { email: string; locale: 'en' | 'de' }): Promise<void> {
    const { email } = await own.assertOwn(subject);
    await logins.ownEmail.assertAllowed(subject, { identityId: subject.identityId, email });
    await own.assertRecent(subject);
    await logins.ownEmail.request(subject, wanted);
  },

  /** The request was made by a recent sign-in of the same session. @throws DomainError as `OwnEmail.confirm` */
  confirm: (subject: OwnProofOf, code: string): Promise<void> => logins.ownEmail.confirm(subject, code),
});
