import { startApi, type TestApi } from '../../support/api.js';
import { createRandom } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';
import { changes } from '../../support/sso-histories/changes.js';
import type { Connection, Said } from '../../support/sso-histories/model.js';
import { type Providers, startProviders } from '../../support/sso-histories/providers.js';
import { signIn, signInUnasked, tryOut, typeAddress } from '../../support/sso-histories/sign-ins.js';
import { expectTheModel, newWorld, type World } from '../../support/sso-histories/world.js';

/**
 * Random histories of sign-in by identity providers that say of anybody whatever they like: of the Environments of an
 * Account, of organizations in one of them, and of a neighbour. Compared with the rules (docs/sso.md, decisions 0038,
 * 0077 and 0094) in their plainest form: who is signed in as whom, who is linked, and what they are given.
 */

let api: TestApi;
let providers: Providers;
beforeAll(async () => {
  api = await startApi({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' });
  providers = await startProviders(api);
});
afterAll(() => Promise.all([api.stop(), providers.stop()]));

const spelled = ({ random }: World, email: string) => (random.below(4) === 0 ? email.toUpperCase() : email);

/** Draws an address, mostly one for which a connection may speak. */
function someAddress(it: World, connection: Connection): string {
  const { random, model, addresses } = it;
  const own = addresses.filter((address) => model.speaksFor(connection, address));
  return spelled(it, random.of(own.length > 0 && random.below(5) > 0 ? own : addresses));
}

/** Draws what a provider says. */
function said(it: World, connection: Connection): Said {
  const { type, provider } = connection;
  const { random, model } = it;
  const name = `subject-${random.below(4)}`;
  const address = someAddress(it, connection);
  const firstName = random.of(['Ana', 'Ben', 'Cem']);
  const isVerified = type === 'saml' ? null : random.of([true, true, true, null, false]);
  const known = random.of(model.links.filter((link) => link.connection === connection));
  if (known && random.below(2) === 0)
    return {
      subject: known.subject,
      isAddress: known.isAddress,
      email: known.isAddress ? known.subject : address,
      isVerified,
      firstName,
    };
  if (type === 'saml' && provider === 1) {
    const email = random.below(8) === 0 ? null : address;
    return { subject: `${name}@university.example`, isAddress: false, email, isVerified, firstName };
  }
  const isAddress = random.below(4) === 0;
  const isElsewhere = random.below(6) === 0;
  if (isAddress) {
    const email = isElsewhere ? someAddress(it, connection) : address;
    return { subject: address, isAddress, email, isVerified, firstName };
  }
  return { subject: name, isAddress, email: isElsewhere ? null : address, isVerified, firstName };
}

const openOnes = ({ model }: World) => {
  const open = model.connections.filter(model.isOpen);
  return open.length > 0 ? open : model.connections;
};

async function comeBack(it: World): Promise<string> {
  const known = it.random.below(3) === 0 ? it.random.of(it.model.links)?.connection : undefined;
  const connection = known ?? it.random.of(it.random.below(8) === 0 ? it.model.connections : openOnes(it));
  const what = said(it, connection);
  const change = () => it.random.of(changes)(it);
  const when = it.random.below(6);
  const outcome = await signIn(it, connection, what, {
    there: async () => when === 0 && (await change()),
    back: async () => when === 1 && (await change()),
  });
  return `${connection.id.slice(-4)} ${JSON.stringify(what)} ${when} ${outcome}`;
}

async function comeUnasked(it: World): Promise<string> {
  const connection = it.random.of(it.model.connections);
  if (connection.type !== 'saml') return comeBack(it);
  const what = said(it, connection);
  return `${connection.id.slice(-4)} ${JSON.stringify(what)} ${await signInUnasked(it, connection, what)}`;
}

async function tryConnection(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  await tryOut(it, connection, said(it, connection));
}

const typeSomething = (it: World) => typeAddress(it, it.random.of(it.places), it.random.of(it.addresses));

const signIns = byWeight<(it: World) => Promise<unknown>>([
  [12, comeBack],
  [3, comeUnasked],
  [1, tryConnection],
  [1, typeSomething],
]);

test.each(seedsOf(1, 2))('in every history, those are signed in whom a provider may speak for: %i', async (seed) => {
  const it = await newWorld(api, providers, createRandom(seed));
  await live(seed, 50, async (tell) => {
    api.clock.advance(1);
    const step = it.random.of<(it: World) => Promise<unknown>>(it.random.below(2) === 0 ? signIns : changes);
    tell(`${step.name} ${(await step(it)) ?? ''}`);
    await expectTheModel(it);
  });
});
