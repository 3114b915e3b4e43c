/** What a browser says of itself, as far as it is worth telling a person. */
export interface DeviceName {
  browser: string | null;
  system: string | null;
}

// In this order: each later one is also named by browsers that come from it.
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

/** What an app or a tool calls itself first (RFC 9110 §10.1.5); every browser says `Mozilla` there. */
const product = /^(?!Mozilla\/)([A-Za-z][\w .-]{0,39})\//;

/** Reads a `User-Agent` by the few names that people know; what it does not know, it does not guess. */
export const deviceName = (userAgent: string | null): DeviceName => ({
  browser: firstOf(browsers, userAgent) ?? product.exec(userAgent ?? '')?.[1] ?? null,
  system: firstOf(systems, userAgent),
});

const firstOf = (names: readonly [RegExp, string][], text: string | null) =>
  names.find(([pattern]) => pattern.test(text ?? ''))?.[1] ?? null;
