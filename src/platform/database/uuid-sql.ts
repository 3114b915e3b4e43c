/**
 * SQL: a new UUIDv7 of this moment (RFC 9562 §5.7), which PostgreSQL makes by itself from 18 on: 48 bits of milliseconds, and the rest of a random one, whose
 * version is 4 and becomes 7 by two bits.
 */
export const newUuid = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`;
