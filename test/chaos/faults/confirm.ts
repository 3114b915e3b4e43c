import type { Client, Decided } from './client.js';

interface Registered {
  password: string;
  /** The token of the mailed link. */
  token: string;
}

/**
 * Confirms a registration as a program without cookies does: it sends the password once asked. A version without
 * passwords there refuses them as an unknown field, and the next answer may come from the other version: while both
 * serve, it takes some attempts.
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
