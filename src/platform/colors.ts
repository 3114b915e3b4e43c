export type Color = `#${string}`;

/** The two backgrounds that text stands on, in each scheme, as `templates/pages/styles.eta` paints them. */
export const surfaces = {
  light: ['#ffffff', '#f6f7f9'],
  dark: ['#16191e', '#0e1013'],
} as const satisfies Record<string, readonly Color[]>;

/** What the edge of a control is painted in, there and in mails. */
export const controls = { light: '#858c99', dark: '#747c8a' } as const satisfies Record<string, Color>;

/** WCAG 2.2 §1.4.3 for text, §1.4.11 for what is not text. */
const TEXT = 4.5;
const SHAPE = 3;

/** Whether this is a color as branding stores it: six hexadecimal digits, nothing that could leave a style sheet. */
export const isColor = (value: string): value is Color => /^#[0-9a-f]{6}$/i.test(value);

/** WCAG 2.2's contrast ratio, from 1 (the same) to 21 (black on white). */
export function contrast(a: Color, b: Color): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever is easier to read on a background; one of them always has a ratio above 4.5. */
export function textOn(background: Color): Color {
  return contrast(background, '#ffffff') >= contrast(background, '#000000') ? '#ffffff' : '#000000';
}

/** How a brand's color may be used: always as the button's background, as text only where it can be read. */
export function palette(brand: Color) {
  const on = textOn(brand);
  return {
    background: brand,
    text: on,
    // Hovering moves away from the text's color, so that contrast only grows; near black or white there is no way left.
    hover: mix(brand, on === '#ffffff' ? '#000000' : '#ffffff', 0.14),
    link: { light: readable(brand, surfaces.light, TEXT), dark: readable(brand, surfaces.dark, TEXT) },
    edge: { light: !readable(brand, surfaces.light, SHAPE), dark: !readable(brand, surfaces.dark, SHAPE) },
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
