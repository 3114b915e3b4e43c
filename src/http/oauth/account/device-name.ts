/** The parts of a browser's `User-Agent` that are worth showing to a person. */
export interface DeviceName {
  browser: string | null;
  system: string | null;
}

// The order matters: browsers that derive from a later one in the list also name that one.
const browsers: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\/|\bChromium\/|\bHeadlessChrome\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
];
const systems: [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b|\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** The first product of an app or a tool (RFC 9110 §10.1.5); for every browser it is `Mozilla`. */
const product = /^(?!Mozilla\/)([A-Za-z][\w .-]{0,39})\//;

/** Finds names that people know in a `User-Agent`; null rather than a guess. */
export const deviceName = (userAgent: string | null): DeviceName => ({
  browser: firstOf(browsers, userAgent) ?? product.exec(userAgent ?? '')?.[1] ?? null,
  system: firstOf(systems, userAgent),
});

const firstOf = (names: readonly [RegExp, string][], text: string | null) =>
  names.find(([pattern]) => pattern.test(text ?? ''))?.[1] ?? null;
