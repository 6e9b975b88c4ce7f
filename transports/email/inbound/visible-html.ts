import { Tokenizer } from 'htmlparser2'
import { BLACK, type Colours, coloursIn, isCamouflaged, WHITE } from './colours.ts'
import { declarationsFor, type Look, lookOf, readSheet, type Sheet, unreadColours } from './styles.ts'

/** An open element. Its look and colours include inherited properties. */
type Frame = { name: string; look: Required<Look>; colours: Colours }

const SEEN: Required<Look> = { isGone: false, isTiny: false, isInvisible: false, isTransparent: false }
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map()

/** Elements whose content is never shown. */
const HIDDEN = words('style script title template noframes noembed datalist iframe')
const VOID = words('area base br col embed hr img input link meta param source track wbr')
const CELLS = words('table tbody thead tfoot tr td th col colgroup')
/** End tags do not affect elements outside these (HTML, section 13.2.4.2). */
const SCOPES = words('table td th caption template object marquee')
/** Attributes that matter for the text. */
const TEXT_ATTRIBUTES = words('href start type class id cite')
/** Longer values of these attributes are left out. */
const MAX_VALUE = 10_000
/** Maximum characters of one piece of an attribute value that are read. */
const MAX_PIECE = 20_000
/** Maximum number of open elements that are searched. */
const MAX_SEARCH = 200

const BLOCKS = words(
  'address article aside blockquote center details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr ' +
    'main nav ol p pre section table ul',
)
/** The open elements that a start tag closes implicitly. */
const CLOSED_BY = new Map<string, ReadonlySet<string>>([
  ...[...BLOCKS].map((name) => [name, words('p')] as const),
  ['li', words('li')],
  ['dt', words('dt dd')],
  ['dd', words('dt dd')],
  ['option', words('option')],
  ['td', words('td th')],
  ['th', words('td th')],
  ['tr', words('tr td th')],
  ['tbody', words('tr td th thead tbody')],
  ['tfoot', words('tr td th tbody')],
])
const TABLE = words('table')
const BARRIERS = words('table ul ol dl select template object')

/**
 * The visible part of HTML: without hidden elements (by attribute or style), without tiny,
 * transparent or invisible text, and without comments, scripts and styles. Models read this text,
 * and could otherwise be addressed by text that people cannot see. Takes linear time.
 */
export function visibleHtml(html: string): string {
  const sheet = readSheet(html)
  const unread = unreadColours(html)
  const colours = { ink: unread.ink ? undefined : BLACK, paper: unread.paper ? undefined : WHITE }
  const stack = createStack({ name: '', look: SEEN, colours })
  const out: string[] = []
  let name = ''
  let attribute = ''
  let value = ''
  let current = new Map<string, string>()
  let attributes = NO_ATTRIBUTES

  const open = () => {
    stack.closeImplied(name)
    const frame = frameIn(stack.top, sheet, name, attributes)
    if (!frame.look.isGone) out.push(tagOf(name, attributes))
    if (name === 'img' && !frame.look.isGone) text(emojiIn(attributes))
    if (!VOID.has(name)) stack.push(frame)
  }
  const text = (piece: string) => {
    const { isGone, isTiny, isInvisible, isTransparent } = stack.top.look
    const isHidden = isGone || isTiny || isInvisible || isTransparent
    if (!isHidden && !isCamouflaged(stack.top.colours)) out.push(piece)
  }
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => text(escaped(html.slice(start, end))),
      ontextentity: (code) => text(escaped(String.fromCodePoint(code))),
      onopentagname(start, end) {
        name = html.slice(start, end).toLowerCase()
        attributes = NO_ATTRIBUTES
        if (current.size > 0) current = new Map()
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase()
        value = ''
      },
      onattribdata(start, end) {
        value += html.slice(start, Math.min(end, start + MAX_PIECE))
      },
      onattribentity(code) {
        value += String.fromCodePoint(code)
      },
      onattribend() {
        if (!current.has(attribute)) current.set(attribute, value)
        attributes = current
      },
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag(start, end) {
        const closed = html.slice(start, end).toLowerCase()
        if (stack.close(closed)?.look.isGone === false) out.push(`</${closed}>`)
      },
      oncdata() {},
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {},
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return out.join('')
}

/** An element within another. */
function frameIn(outer: Frame, sheet: Sheet, name: string, attributes: ReadonlyMap<string, string>): Frame {
  const { look, colours } = outer
  if (look.isGone) return { name, look, colours }
  const isHidden =
    HIDDEN.has(name) || attributes.has('hidden') || (name === 'dialog' && !attributes.has('open'))
  const isPlain = sheet.size === 0 && name !== 'a' && !STYLING.some((each) => attributes.has(each))
  if (!isHidden && isPlain) return { name, look, colours }
  const style = declarationsFor(sheet, name, attributes)
  const own = lookOf(style, CELLS.has(name))
  return {
    name,
    look: { ...look, ...own, isGone: isHidden || own.isGone === true },
    colours: coloursIn(colours, name, (property) => style.get(property) ?? '', attributes),
  }
}

/** Attributes that affect the look of an element. */
const STYLING = ['style', 'color', 'bgcolor', 'background', 'text']

/** Mail programs show emoji as images, and name them in `alt`. */
const EMOJI =
  /^(?=.*[\p{Extended_Pictographic}\p{Regional_Indicator}])[\p{Extended_Pictographic}\p{Emoji_Component}\s]{1,20}$/u

function emojiIn(attributes: ReadonlyMap<string, string>): string {
  const alt = attributes.get('alt') ?? ''
  return EMOJI.test(alt) ? escaped(alt) : ''
}

/** The stack of open elements, innermost last. Each step takes bounded time at any depth. */
function createStack(bottom: Frame) {
  const frames: Frame[] = []
  const counts = new Map<string, number>()
  const popTo = (index: number): Frame | undefined => {
    let last: Frame | undefined
    while (frames.length > index) {
      last = frames.pop()
      if (last) counts.set(last.name, (counts.get(last.name) ?? 1) - 1)
    }
    return last
  }
  /**
   * The index of the innermost of these elements that is not outside a barrier; -1 if there is
   * none.
   */
  const find = (names: ReadonlySet<string>, barriers: ReadonlySet<string>): number => {
    let isOpen = false
    for (const name of names) isOpen ||= (counts.get(name) ?? 0) > 0
    if (!isOpen) return -1
    for (let at = frames.length - 1; at >= Math.max(0, frames.length - MAX_SEARCH); at--) {
      const name = frames[at]?.name ?? ''
      if (names.has(name)) return at
      if (barriers.has(name)) return -1
    }
    return -1
  }
  return {
    get top(): Frame {
      return frames.at(-1) ?? bottom
    },
    push(frame: Frame): void {
      frames.push(frame)
      counts.set(frame.name, (counts.get(frame.name) ?? 0) + 1)
    },
    /** Closes the elements that a start tag closes implicitly. */
    closeImplied(name: string): void {
      const closed = CLOSED_BY.get(name)
      if (!closed) return
      // Repeatedly: a row closes the last cell, and then the previous row.
      let at = find(closed, BARRIERS)
      while (at !== -1) {
        popTo(at)
        at = find(closed, BARRIERS)
      }
    },
    /** Closes an element, and unclosed ones within it. */
    close(name: string): Frame | undefined {
      if (!counts.get(name)) return undefined
      const at = find(new Set([name]), CELLS.has(name) ? TABLE : SCOPES)
      return at === -1 ? undefined : popTo(at)
    },
  }
}

function tagOf(name: string, attributes: ReadonlyMap<string, string>): string {
  if (attributes.size === 0) return `<${name}>`
  const kept = [...attributes].filter(([key, value]) => TEXT_ATTRIBUTES.has(key) && value.length <= MAX_VALUE)
  const written = kept.map(([key, value]) => ` ${key}="${escaped(value).replaceAll('"', '&quot;')}"`)
  return `<${name}${written.join('')}>`
}

function escaped(text: string): string {
  if (!/[&<>]/.test(text)) return text
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}
