import { seconds } from '../../../src/platform/clock.js';
import type { AuthorizationModel } from './authorization-model.js';
import type { ModelClient } from './authorization-requests.js';
import type { ModelCode, ModelGrant } from './authorization-states.js';

/** What becomes of an authorization code, in its plainest form: RFC 6749 §4.1.3 and §6, RFC 7636, the contract (§2). */

export interface AccessToken {
  grant: ModelGrant;
  text: string;
  scope: string[];
  endsAt: number;
  isRevoked: boolean;
}
export interface RefreshToken {
  grant: ModelGrant;
  text: string;
  endsAt: number;
  spentAt: number | null;
}

const codeLife = seconds(60);
const forgivenFor = seconds(10);
const refreshLife = 30 * 86_400_000;

export class TokenModel {
  codes: { code: ModelCode; text: string; verifier: string }[] = [];
  access: AccessToken[] = [];
  refresh: RefreshToken[] = [];

  constructor(readonly authorization: AuthorizationModel) {}

  /** @param challenge of the verifier that came with it; undefined for a verifier of the wrong form */
  redeem(
    client: ModelClient,
    code: ModelCode,
    { redirectUri, challenge }: { redirectUri: string | null; challenge: string | null | undefined },
    at: number,
  ): ModelGrant | null {
    if (challenge === undefined || code.asked.client !== client) return null;
    if (code.grant) {
      code.grant.isRevoked = true;
      return null;
    }
    const { asked, session, person, amr, acr, at: signedInAt } = code;
    const { settings } = this.authorization;
    const endsAt = this.authorization.cut(code, at + settings.grantLife);
    const isFitting = redirectUri === asked.redirectUri && challenge === asked.challenge;
    if (!isFitting || at >= code.madeAt + codeLife || at >= endsAt || session.isRevoked || !this.mayGoOn(code))
      return null;
    code.grant = { asked, session, person, amr, acr, at: signedInAt, endsAt, isRevoked: false };
    if (!client.isThirdParty || this.authorization.covers(person, client, asked.scope)) return code.grant;
    code.grant.isRevoked = true; // the consent was withdrawn meanwhile
    return null;
  }

  private mayGoOn = ({ person, asked }: Pick<ModelGrant, 'person' | 'asked'>) =>
    person.isActive && (!asked.isForOrganization || this.authorization.belongs(person));

  /** Whether a grant is in force. */
  private isInForce = (grant: ModelGrant) => !grant.isRevoked && !grant.session.isRevoked && grant.person.isActive;
  /** When the grant ends, as the person's organization has it now. */
  private endOf = (grant: ModelGrant) => this.authorization.cut(grant, grant.endsAt);

  /** The scope of a token: the client may be given less by now. */
  scopeOf = (grant: ModelGrant, wanted: readonly string[] = grant.asked.scope) =>
    grant.asked.scope.filter((name) => wanted.includes(name) && grant.asked.client.scopes.includes(name));
  /** Whether a token says for which organization its person signed in: third parties are told with `org` alone. */
  names = ({ asked }: ModelGrant, scope: readonly string[]) =>
    asked.isForOrganization && (!asked.client.isThirdParty || scope.includes('org'));

  isAccepted = ({ grant, scope, endsAt, isRevoked }: AccessToken, at: number) =>
    !isRevoked &&
    at < endsAt &&
    at < grant.endsAt &&
    this.isInForce(grant) &&
    (!this.names(grant, scope) || this.authorization.belongs(grant.person));

  private mayRefresh = ({ grant, endsAt }: RefreshToken, at: number) =>
    at < endsAt && at < this.endOf(grant) && this.isInForce(grant) && this.mayGoOn(grant);
  isRefreshable = (token: RefreshToken, at: number) => token.spentAt === null && this.mayRefresh(token, at);

  /** Returns the scope that the client gets, or the error; carries it out, but for the text of a new token. */
  use(client: ModelClient, token: RefreshToken, wanted: string[] | null, at: number): string[] | string {
    const { grant } = token;
    if (grant.asked.client !== client || !this.mayRefresh(token, at)) return 'invalid_grant';
    if (token.spentAt !== null && at - token.spentAt > forgivenFor) {
      grant.isRevoked = true;
      return 'invalid_grant';
    }
    const asked = wanted?.filter((name) => client.scopes.includes(name)) ?? null;
    const exceeds = asked?.some((name) => !grant.asked.scope.includes(name));
    if (asked && (exceeds || (asked.length === 0 && grant.asked.scope.length > 0))) return 'invalid_scope';
    const endsAt = this.refreshEnd(grant, at);
    if (client.rotates && token.spentAt === null) {
      token.spentAt = at;
      this.refresh.push({ grant, text: '', endsAt, spentAt: null });
    } else if (!client.rotates && endsAt - token.endsAt > 86_400_000) token.endsAt = endsAt; // it slides in steps
    return this.scopeOf(grant, asked ?? undefined);
  }

  private refreshEnd = (grant: ModelGrant, at: number) => Math.min(at + refreshLife, this.endOf(grant));

  /** Notes the tokens that a grant has begun with. */
  begun(grant: ModelGrant, text: string, at: number): void {
    this.refresh.push({ grant, text, endsAt: this.refreshEnd(grant, at), spentAt: null });
  }
  got(grant: ModelGrant, text: string, scope: string[], at: number): AccessToken {
    const endsAt = Math.floor(at / 1000) * 1000 + this.authorization.settings.tokenLife;
    const token = { grant, text, scope, endsAt, isRevoked: false };
    this.access.push(token);
    return token;
  }
}
