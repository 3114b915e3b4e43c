import { type Meaning, meaningOf, type Told } from './meaning.js';
import { differing, type Picture, type Row } from './picture.js';

/**
 * The rows that begin or end without an event of their own, with something that has one (docs/events.md). Returns
 * whether that is so.
 */
function goesWithAnother(key: string, before: Picture, after: Picture): boolean {
  const [from, to] = before.has(key) ? [before, after] : [after, before];
  const row = from.get(key) ?? {};
  const goes = (other: string) => from.has(other) && !to.has(other);
  if (goes(`environment ${row.environment_id ?? key.split(' ')[1]}`)) return true;
  const isOfOrganization = from === before && /^organization_(member|invitation) /.test(key);
  return isOfOrganization && goes(`organization ${row.organization_id}`);
}

/** Returns what is wrong with the events that say that a row begins or ends. */
function wrongEnds(key: string, said: readonly Meaning[], before: Picture, after: Picture): string[] {
  const [was, is] = [before.has(key), after.has(key)];
  const [begun, ended] = ['begins', 'ends'].map((says) => said.filter((one) => one.says === says).length) as [
    number,
    number,
  ];
  if (!was && !is && begun + ended === 0) return [`${key} is named, and was not there`];
  const isClaimedAgain = key.startsWith('sso_domain ') && was && is;
  const isRight = begun - ended === Number(is) - Number(was) && begun <= 1 && ended <= 1;
  if (isRight || isClaimedAgain || (was !== is && begun + ended === 0 && goesWithAnother(key, before, after)))
    return [];
  return [`${key} was there: ${was}, is there: ${is}; it begins ${begun} times, and ends ${ended} times`];
}

/** Returns what is wrong with the fields that events name. */
function wrongFields(key: string, said: readonly Meaning[], before: Picture, after: Picture): string[] {
  const [was, is] = [before.get(key), after.get(key)];
  if (!was || !is || said.some(({ says }) => says === 'begins')) return [];
  const different = differing(was, is);
  const fieldsOf = (some: readonly Meaning[]) => some.flatMap(({ says }) => (typeof says === 'string' ? [] : says));
  const isEnded = key.startsWith('administrator_invite ') && was.status !== 'pending';
  const unsaid = different.filter(
    (field) => !fieldsOf(said).includes(field) && !(isEnded && /^(role_id|limits)$/.test(field)),
  );
  const unchanged = fieldsOf(said.filter(({ isExact }) => isExact)).filter((field) => !different.includes(field));
  return [
    ...unsaid.map((field) => `${key} has another ${field}, which no event says: ${was[field]}, ${is[field]}`),
    ...unchanged.map((field) => `${key} has the same ${field}, which an event says to be another: ${is[field]}`),
  ];
}

/** Returns the values in events that are not what the rows have. */
function wrongValues(after: Picture, events: readonly Told[]): string[] {
  const inUtc = (value: unknown) => (/^\d{4}-\d\d-\d\dT/.test(String(value)) ? Date.parse(String(value)) : value);
  const isSame = (a: unknown, b: unknown) => JSON.stringify(inUtc(a)) === JSON.stringify(inUtc(b));
  const latest = new Map(events.map((event) => [`${event.resource_type} ${event.resource_id}`, event]));
  return [...latest].flatMap(([key, { action, metadata }]) => {
    const row = after.get(key);
    if (!row || /^organization\.(member|invitation)_/.test(action)) return [];
    const { became, node_types: _keysOnly, ...values } = metadata;
    return Object.entries({ ...values, ...(became as object) })
      .filter(([name, value]) => name in row && !isSame(value, row[name]))
      .map(([name, value]) => `${action} says ${name} ${JSON.stringify(value)}: ${JSON.stringify(row[name])}`);
  });
}

/** Returns a picture whose SCIM groups are without those who leave their directory, which no event of a group tells. */
function withoutLeavers(picture: Picture, events: readonly Told[]): Picture {
  const left = events.filter(({ action }) => action === 'identity.deleted' || action === 'scim_user.unlinked');
  const leavers = new Set<unknown>(left.map(({ resource_id }) => resource_id));
  const stay = ({ members, ...row }: Row): Row => ({
    ...row,
    members: (members as string[]).filter((id) => !leavers.has(id)),
  });
  return new Map([...picture].map(([key, row]) => [key, key.startsWith('scim_group ') ? stay(row) : row]));
}

/** Returns what events say wrongly, or do not say, of the difference between two pictures. */
export function untrue(from: Picture, to: Picture, events: readonly Told[]): string[] {
  const [before, after] = [withoutLeavers(from, events), withoutLeavers(to, events)];
  const meanings = new Map<string, Meaning[]>();
  for (const meaning of events.map(meaningOf))
    if (meaning) meanings.set(meaning.key, [...(meanings.get(meaning.key) ?? []), meaning]);
  const wrong = [...new Set([...before.keys(), ...after.keys(), ...meanings.keys()])].flatMap((key) => {
    const said = meanings.get(key) ?? [];
    return [...wrongEnds(key, said, before, after), ...wrongFields(key, said, before, after)];
  });
  return [...wrong, ...wrongValues(after, events)];
}
