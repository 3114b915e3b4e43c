import type { SsoConnection } from '../../../entities/sso-connection.js';

/** What says which provider a connection has. */
export const providerFields = ['samlEntityId', 'oidcDiscoveryUrl'] as const;

/** The provider of a connection, at a moment. */
export type NamedProvider = Pick<SsoConnection, (typeof providerFields)[number]>;

/** Whether it is the same one: another names other people. */
export const isSameProvider = (one: NamedProvider, other: NamedProvider): boolean =>
  providerFields.every((field) => one[field] === other[field]);
