import type { Client, Decided } from './client.js';

interface Registered {
  password: string;
  /** Of the mailed link. */
  token: string;
}

/**
 * Confirms a registration as a program does that has no cookies: it sends the password once it is asked for it. A version that knows no
 * passwords there refuses them as an unknown field, and whoever asks next may be the other one: while both serve, it takes some tries.
 */
export async function confirmLink(client: Client, { token, password }: Registered): Promise<Decided | null> {
  let json: Record<string, string> = { token };
  for (let tries = 1; ; tries++) {
    const decided = await client.decided('confirm', { path: '/v1/auth/verify-email', json });
    if (decided?.status !== 400 || tries === 20) return decided;
    if (decided.body.includes('"registration.password_required"')) json = { token, password };
    else if (!decided.body.includes('"validation.failed"')) return decided;
  }
}
