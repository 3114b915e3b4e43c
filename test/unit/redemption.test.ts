import { expect, test } from '@jest/globals';
import { createRedemption, type PresentedCode } from '../../src/domain/oidc/tokens/redemption.js';

const shown = (code: string, grantId: string) =>
  ({
    client: { id: 'c', environmentId: 'e', settings: {} },
    code,
    redirectUri: null,
    challenge: null,
    grantId,
    refreshToken: code,
  }) as unknown as PresentedCode;

/** Redeems what is shown first, and reports what was used up; records how many codes each statement had. */
function redemption() {
  const asked: number[] = [];
  const spent = new Map<string, string>();
  const statement = async (
    _statement: object,
    [hashes, , , , , grantIds]: [Buffer[], ...unknown[]] & Record<5, string>,
  ) => {
    asked.push(hashes.length);
    const ids = String(grantIds).replace(/[{}]/g, '').split(',');
    await new Promise((resolve) => setImmediate(resolve));
    return hashes.map((hash, at) => {
      const spentFor = spent.get(hash.toString('hex')) ?? null;
      if (spentFor === null) spent.set(hash.toString('hex'), ids[at] as string);
      return { position: String(at + 1), redeemed: spentFor === null, spentFor, nonce: null };
    });
  };
  return { asked, redeem: createRedemption({ db: { statement } as never, now: () => new Date() }) };
}

test('simultaneous codes share a statement', async () => {
  const { asked, redeem } = redemption();
  const outcomes = await Promise.all([redeem(shown('a', 'one')), redeem(shown('b', 'two'))]);
  expect(outcomes.map(({ granted }) => granted?.grantId)).toEqual(['one', 'two']);
  expect(asked).toEqual([2]);
});

test('a code that is presented three times at once is never twice in one statement', async () => {
  const { asked, redeem } = redemption();
  const outcomes = await Promise.all(['one', 'two', 'three'].map((grantId) => redeem(shown('a', grantId))));
  expect(outcomes.map(({ granted, spentFor }) => granted?.grantId ?? spentFor)).toEqual(['one', 'one', 'one']);
  expect(outcomes.filter(({ granted }) => granted !== null)).toHaveLength(1);
  expect(asked).toEqual([1, 1, 1]);
});
