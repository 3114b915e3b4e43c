import { endUserForms } from '../../../support/chaos/client.js';
import { type Actor, isStatus, type World } from '../world.js';

/** How long a used refresh token returns its successor (contract §2). */
const repeatWindowMs = 10_000;

/** Signs in an end user by password; returns the refresh token. @returns null if the run is over or it was refused */
async function signIn(world: World): Promise<string | null> {
  const { client, seed } = world;
  const { authorization, redemption } = endUserForms(seed);
  const headers = { accept: 'application/json' };
  const shown = await client.decided('sign in', { path: '/oauth/authorize', form: authorization, headers });
  if (!isStatus(world, 'sign in', shown, 200)) return null;
  const form = redemption(JSON.parse(shown.body).redirect_to);
  const granted = await client.decided('redeem code', { path: '/oauth/token', form });
  // A code works once, for a minute: if its answer was lost, the client signs in again (RFC 6749 §4.1.2).
  if (granted?.status === 400 && granted.isAmbiguous) return null;
  if (!isStatus(world, 'redeem code', granted, 200)) return null;
  return (JSON.parse(granted.body) as { refresh_token: string }).refresh_token;
}

const refresh = ({ client, seed }: World, refresh_token: string) => {
  const form = { grant_type: 'refresh_token', client_id: seed.publicClient, refresh_token };
  return client.decided('refresh', { path: '/oauth/token', form });
};

/** Signs people in, one after the other. */
export function logins(world: World): Actor {
  return {
    name: 'logins',
    everyMs: 500,
    async step() {
      const refreshToken = await signIn(world);
      if (refreshToken) world.ledger.note('login', { refreshToken });
    },
  };
}

/** Signs administrators in. */
export function adminLogins(world: World): Actor {
  const { client, ledger, seed } = world;
  return {
    name: 'administrators',
    everyMs: 1_500,
    async step() {
      const answer = await client.decided('admin sign in', { path: '/v1/auth/login', json: seed.admin });
      if (!isStatus(world, 'admin sign in', answer, 200)) return;
      ledger.note('admin login', { accessToken: JSON.parse(answer.body).data.access_token });
    },
  };
}

/**
 * An application that keeps refreshing. It requests a lost answer again within seconds, which its family must survive;
 * the family may end only if the service was down for longer than a used token returns its successor.
 */
export function refreshing(world: World, lane: number): Actor {
  const { ledger } = world;
  let token: string | null = null;
  let families = 0;
  return {
    name: `refresh ${lane}`,
    everyMs: 200,
    async step() {
      if (token === null) {
        token = await signIn(world);
        families += 1;
        return;
      }
      const answer = await refresh(world, token);
      if (answer === null) return;
      if (answer.status === 400 && answer.inDoubtMs > repeatWindowMs) {
        world.ended.push(`after ${answer.inDoubtMs} ms in doubt`);
        token = null;
        return;
      }
      if (!isStatus(world, `refresh of family ${lane}.${families}`, answer, 200)) {
        token = null;
        return;
      }
      token = (JSON.parse(answer.body) as { refresh_token: string }).refresh_token;
      ledger.note('refresh', { family: `${lane}.${families}`, refreshToken: token });
    },
  };
}
