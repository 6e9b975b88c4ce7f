/**
 * How a style affects the visibility of text. A missing property is inherited, or has its default.
 */
export type Look = {
  /** The element and its content are not shown, regardless of the styles inside. */
  isGone?: boolean
  /** Unreadably small text. Like the next two properties, inherited until overridden. */
  isTiny?: boolean
  isInvisible?: boolean
  isTransparent?: boolean
}

/** Declarations by property (lower case). */
export type Declarations = ReadonlyMap<string, string>

type Rule = { important: [string, string][]; normal: [string, string][] }

/** The rules of a page that may hide text, by simple selector (`.name`, `#name`, `name`). */
export type Sheet = ReadonlyMap<string, { selector: string; rule: Rule }[]>

const STYLES = /<style(?=[\s>])[^>]{0,500}>(.*?)(?:<\/style|$)/gis
const CONDITIONAL = /<!--\[if.*?(?:-->|$)/gis
/** Maximum characters of CSS of a page. */
const MAX_CSS = 256 * 1024
/** Maximum number of selectors of a page. */
const MAX_SELECTORS = 5_000
/** Maximum number of classes of an element. */
const MAX_CLASSES = 50
/** Maximum characters of the attribute `style`. */
const MAX_STYLE = 20_000
const COMMENT = /\/\*.*?(?:\*\/|$)/gs
const RELEVANT =
  /^(?:display|visibility|opacity|font|font-size|color|height|max-height|width|max-width|overflow|overflow-[xy]|background|background-color|background-image|position|left|top|right|text-indent|clip|clip-path|transform|mso-hide)$/

/**
 * Reads the style sheets of a page: only rules for a single element, class or id, and for all
 * screens.
 */
export function readSheet(html: string): Sheet {
  const sheet = new Map<string, { selector: string; rule: Rule }[]>()
  if (!/<style/i.test(html)) return sheet
  let count = 0
  for (const { selectors, body } of blocksIn(cssOf(html))) {
    const rule = ruleOf(body)
    if (rule.important.length + rule.normal.length === 0) continue
    for (const each of selectors.split(',')) {
      const selector = bareSelector(each)
      const [, name = '', marks = ''] = SIMPLE.exec(selector) ?? []
      const key = /[.#][\w-]+/.exec(marks)?.[0] ?? name
      if (key === '' || ++count > MAX_SELECTORS) continue
      const known = sheet.get(key)
      if (known) known.push({ selector, rule })
      else sheet.set(key, [{ selector, rule }])
    }
  }
  return sheet
}

/** Whether rules of a page set colours by selectors that are not read. */
export function unreadColours(html: string): { ink: boolean; paper: boolean } {
  const unread = { ink: false, paper: false }
  if (!/<style/i.test(html)) return unread
  for (const { selectors, body } of blocksIn(cssOf(html))) {
    if (selectors.split(',').every((each) => SIMPLE.test(bareSelector(each)))) continue
    unread.ink ||= /(?:^|[;\s])color\s*:/i.test(body)
    unread.paper ||= /background/i.test(body)
  }
  return unread
}

/** The style sheets of a page, without those for Outlook only. */
function cssOf(html: string): string {
  const styles = [...html.replaceAll(CONDITIONAL, '').matchAll(STYLES)].map(([, content = '']) => content)
  return styles
    .join('\n')
    .slice(0, MAX_CSS)
    .replaceAll(COMMENT, ' ')
    .replaceAll(/<!--|-->/g, ' ')
}

/** One element, classes and ids. */
const SIMPLE = /^([a-z][a-z\d]*|)((?:[.#][\w-]+)*)$/

function bareSelector(selector: string): string {
  return selector
    .trim()
    .toLowerCase()
    .replace(/^(?:html|body)\s+/, '')
}

type Block = { selectors: string; body: string }

/**
 * The blocks of a style sheet. Those in media queries for all screens replace the surrounding
 * block.
 */
function blocksIn(css: string): Block[] {
  const blocks: Block[] = []
  /** Whether the open blocks apply. */
  const open: boolean[] = []
  let start = 0
  for (let at = 0; at < css.length; at++) {
    const char = css[at]
    if (char === ';' && open.length === 0) start = at + 1
    if (char === '{') {
      const before = css.slice(start, at).trim()
      const isMedia = /^@media/i.test(before)
      if (before.startsWith('@')) open.push(isMedia && /^@media\s+(?:only\s+)?(?:all|screen)$/i.test(before))
      else {
        const end = css.indexOf('}', at)
        if (open.every(Boolean))
          blocks.push({ selectors: before, body: css.slice(at + 1, end === -1 ? undefined : end) })
        if (end === -1) break
        at = end
      }
      start = at + 1
    } else if (char === '}') {
      open.pop()
      start = at + 1
    }
  }
  return blocks
}

function ruleOf(body: string): Rule {
  const rule: Rule = { important: [], normal: [] }
  for (const each of body.split(';')) {
    const colon = each.indexOf(':')
    const name = each.slice(0, Math.max(0, colon)).trim().toLowerCase()
    if (!RELEVANT.test(name)) continue
    const value = each
      .slice(colon + 1)
      .trim()
      .toLowerCase()
    const bare = value.replace(/\s?!\s?important$/, '')
    rule[bare === value ? 'normal' : 'important'].push([name, bare.trim()])
  }
  return rule
}

/** The declarations for an element: from the sheet, then inline, then important ones. */
export function declarationsFor(
  sheet: Sheet,
  name: string,
  attributes: ReadonlyMap<string, string>,
): Declarations {
  const classes = (attributes.get('class') ?? '').toLowerCase().split(/\s+/).slice(0, MAX_CLASSES)
  const id = (attributes.get('id') ?? '').toLowerCase()
  const ownMarks = [...classes.map((each) => `.${each}`), `#${id}`]
  const rules = [name, ...ownMarks]
    .flatMap((key) => sheet.get(key) ?? [])
    .filter(({ selector }) => {
      const marks = selector.match(/[.#][\w-]+/g) ?? []
      const element = selector.replace(/[.#].*$/, '')
      return (element === '' || element === name) && marks.every((mark) => ownMarks.includes(mark))
    })
    .map(({ rule }) => rule)
  const style = attributes.get('style')
  if (style) rules.push(ruleOf(style.slice(0, MAX_STYLE).replaceAll(COMMENT, ' ')))
  return new Map([...rules.flatMap(({ normal }) => normal), ...rules.flatMap(({ important }) => important)])
}

/**
 * The look of an element with these declarations. `isCell`: it is part of a table, where a height
 * is only a minimum.
 */
export function lookOf(style: Declarations, isCell: boolean): Look {
  if (style.size === 0) return {}
  const value = (name: string) => style.get(name) ?? ''
  const isTiny = isTinySize(value('font-size') || value('font'))
  const visibility = value('visibility')
  const color = value('color')
  return {
    isGone: isGone(style, isCell),
    ...(isTiny === undefined ? {} : { isTiny }),
    ...(visibility === '' || visibility === 'inherit' ? {} : { isInvisible: visibility !== 'visible' }),
    ...(color === '' || color === 'inherit' ? {} : { isTransparent: TRANSPARENT.test(color) }),
  }
}

const TRANSPARENT = /^transparent$|^rgba?\([^)]*[,/]\s*0?\.?0+%?\s*\)$|^hsla?\([^)]*[,/]\s*0?\.?0+%?\s*\)$/
/** Zero, or almost zero. */
const ZERO = /^-?(?:0+(?:\.0*)?|0*\.0+)(?:px|pt|em|rem|ex|ch|cm|mm|in|vh|vw|%)?$/
/** A length that puts text outside the page. */
const OFF_PAGE = /^-\d{3,}(?:\.\d+)?(?:px|pt|em|rem|%)?$/

function isGone(style: Declarations, isCell: boolean): boolean {
  const value = (name: string) => style.get(name) ?? ''
  const isZero = (name: string) => ZERO.test(value(name))
  const isClipped = ['overflow', 'overflow-x', 'overflow-y'].some((name) =>
    /hidden|clip|scroll|auto/.test(value(name)),
  )
  const isPlaced = /absolute|fixed/.test(value('position'))
  return (
    value('display') === 'none' ||
    value('mso-hide') === 'all' ||
    isZero('opacity') ||
    (isZero('max-height') && (isClipped || !isCell)) ||
    (isZero('height') && !isCell && value('overflow') !== 'visible') ||
    ((isZero('width') || isZero('max-width')) && isClipped) ||
    (isPlaced && ['left', 'top', 'right'].some((name) => OFF_PAGE.test(value(name)))) ||
    OFF_PAGE.test(value('text-indent')) ||
    /^rect\(\s*(?:[01](?:px)?[\s,]*){4}\)$/.test(value('clip')) ||
    /^inset\(\s*(?:50|100)%/.test(value('clip-path')) ||
    /\bscale(?:[xy]|3d)?\(\s*0(?:\.0*)?\s*[,)]/.test(value('transform'))
  )
}

/** Whether text is unreadably small; undefined if the size is relative to the surrounding text. */
function isTinySize(value: string): boolean | undefined {
  if (value === '' || value === 'inherit') return undefined
  const [, number = '', unit = ''] = /(?:^|\s)(\d*\.?\d+)(px|pt|em|rem|%|vw|)(?=$|[\s/])/.exec(value) ?? []
  if (number === '') return /^(?:larger|smaller)$/.test(value) ? undefined : false
  const isAbsolute = unit === 'px' || unit === 'pt'
  if (Number(number) === 0 || (isAbsolute && Number(number) <= 1)) return true
  // A fraction of a size that is zero is zero too.
  return unit === 'em' || unit === '%' ? undefined : false
}
