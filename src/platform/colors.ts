export type Color = `#${string}`;

/** The two backgrounds of text in each color scheme, as in `templates/pages/styles.eta`. */
export const surfaces = {
  light: ['#ffffff', '#f6f7f9'],
  dark: ['#16191e', '#0e1013'],
} as const satisfies Record<string, readonly Color[]>;

/** The color of a control's edge, on pages and in mails. */
export const controls = { light: '#858c99', dark: '#747c8a' } as const satisfies Record<string, Color>;

/** The least contrast ratios of WCAG 2.2: §1.4.3 for text, §1.4.11 for everything else. */
const textRatio = 4.5;
const shapeRatio = 3;

/** Whether `value` is a color as branding stores it: six hexadecimal digits, which cannot leave a style sheet. */
export const isColor = (value: string): value is Color => /^#[0-9a-f]{6}$/i.test(value);

/** Returns WCAG 2.2's contrast ratio, from 1 (the same color) to 21 (black on white). */
export function contrast(a: Color, b: Color): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Returns black or white, whichever is easier to read on `background`; one of them always has a ratio above 4.5. */
export function textOn(background: Color): Color {
  return contrast(background, '#ffffff') >= contrast(background, '#000000') ? '#ffffff' : '#000000';
}

/** Returns how a brand's color may be used: always as a button's background, as text only where it is readable. */
export function palette(brand: Color) {
  const on = textOn(brand);
  return {
    background: brand,
    text: on,
    // Hovering moves away from the text's color, so the contrast only grows; near black or white it hardly changes.
    hover: mix(brand, on === '#ffffff' ? '#000000' : '#ffffff', 0.14),
    link: { light: readable(brand, surfaces.light, textRatio), dark: readable(brand, surfaces.dark, textRatio) },
    edge: { light: !readable(brand, surfaces.light, shapeRatio), dark: !readable(brand, surfaces.dark, shapeRatio) },
  };
}

const readable = (color: Color, backgrounds: readonly Color[], ratio: number) =>
  backgrounds.every((background) => contrast(color, background) >= ratio);

const channels = (color: Color) =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as [number, number, number];

function luminance(color: Color): number {
  const [r, g, b] = channels(color).map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function mix(color: Color, other: Color, share: number): Color {
  const to = channels(other);
  const mixed = channels(color).map((channel, i) => Math.round(channel + ((to[i] as number) - channel) * share));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}
