import { joinOne } from './administrator-steps.js';
import { createUserOf, patchUserOf } from './directory-steps.js';
import type { DirectoryId, Person } from './model.js';
import { directoriesOf, type World } from './world.js';

/**
 * Has an organization's directory change somebody whom it has made, whose domain nobody has, and who is a member of
 * another organization, too: that membership alone decides what it may do. Other steps hardly ever lead there.
 */
export async function changeShared(world: World): Promise<void> {
  const { model, random } = world;
  const directory = random.of(directoriesOf(world).filter(model.isOrganization));
  const other = random.of([...model.members.keys()].filter((one) => one !== directory));
  if (!directory || !other) return;
  const person =
    random.of(model.people.filter((one) => isMadeBy(world, directory, one))) ?? (await made(world, directory));
  if (!person) return;
  if (!model.isMember(other, person)) await joinOne(world, person, other);
  await patchUserOf(world, directory, person.id);
}

const isMadeBy = ({ model }: World, directory: DirectoryId, { email, user, joinedAt }: Person): boolean =>
  joinedAt !== null && user?.directory === directory && user.made && model.holderOf(directory, email) === 'nobody';

async function made(world: World, directory: DirectoryId): Promise<Person | undefined> {
  const { model, random, domains } = world;
  const domain = random.of(domains.filter((one) => model.holderOf(directory, `x@${one}`) === 'nobody'));
  if (!domain) return undefined;
  const email = `p${++world.made}@${domain}`;
  await createUserOf(world, directory, email);
  return model.people.find((one) => one.email === email && isMadeBy(world, directory, one));
}
