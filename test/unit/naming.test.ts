import { environmentDefaults } from '../../src/domain/environments/defaults.js';
import { camelCased, snakeCased } from '../../src/platform/database/naming.js';

test('a name in code and its name in JSON become each other', () => {
  expect(snakeCased({ requirePkce: true, mfaTrustedDeviceDays: 30, url: null })).toEqual({
    require_pkce: true,
    mfa_trusted_device_days: 30,
    url: null,
  });
  expect(camelCased({ require_pkce: true, mfa_trusted_device_days: 30, url: null })).toEqual({
    requirePkce: true,
    mfaTrustedDeviceDays: 30,
    url: null,
  });
});

test('every setting of an environment has the same name after both changes', () => {
  const settings = environmentDefaults();
  expect(camelCased(snakeCased(settings))).toEqual(settings);
});

test('only the names of an object change, and not those of the objects in it', () => {
  expect(camelCased({ attribute_mapping: { first_name: 'given_name' } })).toEqual({
    attributeMapping: { first_name: 'given_name' },
  });
});
