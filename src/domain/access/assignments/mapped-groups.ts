/**
 * SQL: whether a SCIM group mapping applies to a group of its directory, which it names by id or by display name
 * (docs/decisions/0040).
 * @param mapping the alias of the mapping's row, `group` that of the group's
 */
export const mapsGroup = (mapping: string, group: string): string =>
  `${mapping}.directory_id = ${group}.directory_id
  and (${mapping}.group_id = ${group}.id or ${mapping}.group_name_key = ${group}.display_name_key)`;
