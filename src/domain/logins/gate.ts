import type { Db } from '../../platform/database/db.js';
import type { MethodSettings } from '../environments/login-methods.js';
import type { MfaDecision, MfaGate, MfaQuestion } from '../mfa/gate.js';
import { type Barred, barOf } from '../organizations/barred.js';
import type { OfferedConnection } from '../organizations/sign-in-policy.js';
import { environmentConnection } from '../sso-connections/of-environment.js';
import { recordSignInRefusal } from './refusals.js';
import type { TermsOf } from './sign-in-terms.js';

/** How a sign-in continues after a factor. */
export type GateDecision =
  | MfaDecision
  /** An organization of the person does not accept the way in which they signed in. */
  | ({ step: 'barred' } & Barred)
  /** Everything was proved, but the person does not belong to the organization that the sign-in is for. */
  | { step: 'stranger' };

export interface GateQuestion extends Omit<MfaQuestion, 'requiresMfa' | 'mfa'> {
  client: MfaQuestion['client'] & { settings: MethodSettings };
  /** The organization that the sign-in is for, if any. */
  organizationId?: string | null;
}

const environmentStatement = {
  name: 'environment_connection_of_identity',
  text: `select id from (${environmentConnection('$1', '$2')}) one where status = 'active'`,
};

/**
 * Every sign-in of an end user passes here after each factor, on every surface: first what the person's organizations
 * require (all of them, not only the one that a parameter names), then the second factor.
 */
export function createGate({ db, mfaGate, termsOf }: { db: Db; mfaGate: MfaGate; termsOf: TermsOf }) {
  async function refuse({ client, first }: GateQuestion, reason: string) {
    // The use of an existing session is no failure, and would be recorded at every visit.
    if (first.method === 'session') return;
    await recordSignInRefusal(db, client, { ...first, reason });
  }

  /** Returns the person's connection of the Environment, for an organization that accepts the Environment's. */
  async function ofEnvironment({ client, first }: GateQuestion): Promise<OfferedConnection[]> {
    const found = await db.statement<{ id: string }>(environmentStatement, [client.environmentId, first.identityId]);
    return found.map(({ id }) => ({ id, name: null }));
  }

  return {
    async decide(question: GateQuestion): Promise<GateDecision> {
      const { client, first, organizationId = null } = question;
      const { identityId, ssoConnectionId = null } = first;
      const { policy, mfa } = await termsOf(client, { identityId, organizationId, ssoConnectionId });
      const bar = barOf(policy, first, client.settings);
      if (bar) {
        await refuse(question, bar.code);
        const takesMore = bar.code === 'sso_required' && policy.takesEnvironments;
        const connections = [...bar.connections, ...(takesMore ? await ofEnvironment(question) : [])];
        return { step: 'barred', ...bar, connections };
      }
      const decision = await mfaGate.decide({ ...question, mfa, requiresMfa: policy.requireMfa });
      if (decision.step === 'refused') await refuse(question, 'mfa.enrollment_required');
      // A membership is only revealed to a person who could sign in.
      if (policy.belongs || decision.step === 'challenge' || decision.step === 'refused') return decision;
      await refuse(question, 'not_a_member');
      return { step: 'stranger' };
    },
  };
}

export type Gate = ReturnType<typeof createGate>;
