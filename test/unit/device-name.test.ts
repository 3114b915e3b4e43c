import { deviceName } from '../../src/http/oauth/account/device-name.js';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox', 'Windows'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/129.0.0.0 Safari/537.36`, 'Chrome', 'Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/129.0.0.0 Safari/537.36 Edg/129.0.0.0`,
    'Edge',
    'Windows',
  ],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/129.0.0.0 Safari/537.36 OPR/114.0.0.0`,
    'Opera',
    'macOS',
  ],
  [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/128.0.0.0 Safari/537.36 Vivaldi/6.9.3447.37`, 'Vivaldi', 'Linux'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
    'Safari',
    'macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
    'Safari',
    'iPhone',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/129.0 Mobile/15E148 Safari/604.1',
    'Chrome',
    'iPhone',
  ],
  [
    `Mozilla/5.0 (Linux; Android 14; SM-S921B) ${webkit} SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36`,
    'Samsung Internet',
    'Android',
  ],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/129.0.0.0 Safari/537.36`, 'Chrome', 'ChromeOS'],
  ['curl/8.5.0', 'curl', null],
  ['Acme Shop/2.1 (iPhone; iOS 18.0)', 'Acme Shop', 'iPhone'],
  ['<script>/1.0', null, null],
  ['Firefox', null, null],
  ['', null, null],
  [null, null, null],
])('%s is %s on %s', (userAgent, browser, system) => {
  expect(deviceName(userAgent)).toEqual({ browser, system });
});
