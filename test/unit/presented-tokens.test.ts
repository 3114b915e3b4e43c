import { errors } from 'jose';
import { DomainError } from '../../src/domain/errors.js';
import type { Client } from '../../src/domain/oidc/clients/clients.js';
import { createPresentedTokens } from '../../src/domain/oidc/tokens/presented-tokens.js';
import { answering } from '../support/answering.js';

const client = { id: 'app', clientId: 'app', environmentId: 'production' } as Client;
const jwt = 'of.three.parts';

function presentedTo(fault: Error) {
  const { db, asked } = answering();
  const failing = async () => {
    throw fault;
  };
  const presented = createPresentedTokens({
    db,
    baseUrl: 'https://id.example.com',
    now: () => new Date(),
    keys: { verify: failing } as never,
    accessTokens: { prove: failing },
    grants: {} as never,
  });
  return { presented, asked };
}

test('a token that cannot be checked for the moment is not reported as inactive', async () => {
  for (const fault of [new Error('no database'), new DomainError('version.conflict')]) {
    const { presented } = presentedTo(fault);
    await expect(presented.revoke(client, jwt)).rejects.toBe(fault);
    await expect(presented.introspect(client, jwt)).rejects.toBe(fault);
  }
});

test('a token that is not signed by us is revoked without a trace, and a platform admin’s token is inactive', async () => {
  const { presented, asked } = presentedTo(new errors.JWSSignatureVerificationFailed());
  await presented.revoke(client, jwt);
  expect(asked).toEqual([]);
  const admin = presentedTo(new DomainError('principal.wrong_type'));
  expect(await admin.presented.introspect(client, jwt)).toEqual({ active: false });
});
