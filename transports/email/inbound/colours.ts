/** The colour of a text (`ink`), and behind it (`paper`). Undefined if unknown, as for an image. */
export type Colours = { ink: Rgb | undefined; paper: Rgb | undefined }

type Rgb = readonly [red: number, green: number, blue: number]

export const BLACK: Rgb = [0, 0, 0]
export const WHITE: Rgb = [255, 255, 255]

const NAMES: Record<string, Rgb> = {
  white: WHITE,
  black: BLACK,
  snow: [255, 250, 250],
  ivory: [255, 255, 240],
  whitesmoke: [245, 245, 245],
}

/** Channels that differ by less look the same. */
const SAME = 8

/** Whether a text cannot be told from what is behind it. */
export function isCamouflaged({ ink, paper }: Colours): boolean {
  if (!ink || !paper) return false
  return ink.every((channel, at) => Math.abs(channel - (paper[at] ?? 0)) < SAME)
}

/**
 * The colours of an element. `outer`: the colours of the element around it. `name`: its own name.
 * `value` returns a property of its style.
 */
export function coloursIn(
  outer: Colours,
  name: string,
  value: (name: string) => string,
  attributes: ReadonlyMap<string, string>,
): Colours {
  const ink = value('color') || (attributes.get(name === 'body' ? 'text' : 'color') ?? '')
  // Links have a colour of their own.
  const inherited = name === 'a' ? undefined : outer.ink
  const written = [value('background-color'), value('background'), attributes.get('bgcolor') ?? '']
  const paper = written.find((each) => each !== '' && !TRANSPARENT.test(each))
  const hasImage =
    attributes.has('background') ||
    [...written, value('background-image')].some((each) => /url\(|gradient\(/i.test(each))
  return {
    ink: ink === '' ? inherited : ink === 'inherit' ? outer.ink : rgbOf(ink),
    paper: hasImage ? undefined : paper === undefined ? outer.paper : rgbOf(paper),
  }
}

const TRANSPARENT = /^(?:none|transparent|inherit|initial|unset)$/i

/** The first colour in a value; undefined if there is none that is known and opaque. */
function rgbOf(value: string): Rgb | undefined {
  const text = value.toLowerCase()
  const [, hex = ''] = /#([\da-f]{6}|[\da-f]{3})\b/.exec(text) ?? []
  if (hex !== '') {
    const digits = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex
    const channel = (at: number) => Number.parseInt(digits.slice(at, at + 2), 16)
    return [channel(0), channel(2), channel(4)]
  }
  const [, red, green, blue] = /rgb\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*\)/.exec(text) ?? []
  if (blue !== undefined) return [Number(red), Number(green), Number(blue)]
  return NAMES[/[a-z]+/.exec(text)?.[0] ?? '']
}
