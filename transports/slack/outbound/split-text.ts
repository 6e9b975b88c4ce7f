import { MAX_MARKDOWN } from './escape-text.ts'

/** The longest code fence that is closed and reopened. */
const MAX_FENCE = 20
/** Characters reserved for closing a code fence. */
const CLOSE_ROOM = MAX_FENCE + 1

/**
 * How to cut a text: `close` is added to the first part, and `reopen` before the rest. `at`: cut at
 * this earlier position instead; the cut there is then planned once more.
 */
type Cut = { close?: string; reopen?: string; at?: number }

/**
 * Splits Markdown into independent parts within Slack's limit: between paragraphs if possible, else
 * between lines or words. Code is closed and reopened; tables repeat their header.
 */
export function splitMarkdown(markdown: string, limit = MAX_MARKDOWN): string[] {
  return split(markdown, limit, (part, following) => {
    const fence = openFence(part)
    if (!fence) return cutInTable(part, following, limit / 4)
    const { marks, language } = fence
    return marks.length > MAX_FENCE ? {} : { close: `\n${marks}`, reopen: `${marks}${language}\n` }
  })
}

/**
 * Splits text in Slack's markup, in which a fence may share its line with code. Does not cut links.
 */
export function splitMrkdwn(text: string, limit: number): string[] {
  return split(text, limit, (part) => {
    const opening = part.lastIndexOf('<')
    if (opening > limit / 3 && !part.includes('>', opening) && !/\s/.test(part.charAt(opening + 1)))
      return { at: opening }
    const isOpen = part.split('```').length % 2 === 0
    return isOpen ? { close: '\n```', reopen: '```\n' } : {}
  })
}

/** Splits plain text. */
export function splitPlain(text: string, limit: number): string[] {
  return split(text, limit, () => ({}))
}

/** Splits a text. `planCut` decides about a cut between a part and the text that follows. */
function split(text: string, limit: number, planCut: (part: string, following: string) => Cut): string[] {
  const parts: string[] = []
  let rest = text.trim()
  while (rest.length > limit) {
    let at = positionIn(rest, limit - CLOSE_ROOM)
    let cut = planCut(rest.slice(0, at).trimEnd(), rest.slice(at))
    if (cut.at !== undefined) {
      at = cut.at
      cut = planCut(rest.slice(0, at).trimEnd(), rest.slice(at))
    }
    parts.push(rest.slice(0, at).trimEnd() + (cut.close ?? ''))
    rest = (cut.reopen ?? '') + rest.slice(at).replace(/^\n+/, '')
  }
  if (rest !== '') parts.push(rest)
  return parts
}

/**
 * The last position up to `max` between paragraphs, lines or words that does not leave a very short
 * part.
 */
function positionIn(text: string, max: number): number {
  for (const separator of ['\n\n', '\n', ' ']) {
    const at = text.lastIndexOf(separator, max)
    if (at > max / 3) return at + 1
  }
  // Never inside a surrogate pair.
  const code = text.charCodeAt(max - 1)
  return code >= 0xd800 && code <= 0xdbff ? max - 1 : max
}

/** The opening fence of a code block: its backticks or tildes, and the language of the code. */
type Fence = { marks: string; language: string }

/**
 * The fence of the code block in which a part ends, if any
 * (https://spec.commonmark.org/0.31.2/#fenced-code-blocks). Ignores indentation, as the block may
 * be in a list.
 */
function openFence(text: string): Fence | undefined {
  let open: Fence | undefined
  for (const [, marks = '', info = ''] of text.matchAll(/^[ \t]*(`{3,}|~{3,})(.*)$/gm)) {
    if (open) {
      // The closing fence is at least as long as the opening one, and has no info string.
      if (marks.startsWith(open.marks) && info.trim() === '') open = undefined
    } else if (marks.startsWith('~') || !info.includes('`')) {
      // Bounded, because it is repeated in every part.
      const [, language = ''] = /^\s*([\w+#.-]{0,20})/.exec(info) ?? []
      open = { marks, language }
    }
  }
  return open
}

/** The delimiter row of a table: `| --- | :-: |`. */
const SEPARATOR = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/

/** The cut inside a table: the rest repeats the header; a header without rows moves to the rest. */
function cutInTable(part: string, following: string, maxHeader: number): Cut {
  const isRow = (line: string | undefined): line is string => line?.includes('|') === true
  if (!isRow(following.split('\n', 1)[0])) return {}
  const lines = part.split('\n')
  let first = lines.length
  while (first > 0 && isRow(lines[first - 1])) first--
  const [header, separator, ...rows] = lines.slice(first)
  if (header === undefined) return {}
  const before = lines.slice(0, first).join('\n')
  if (rows.length === 0) return before.trim() === '' ? {} : { at: before.length + 1 }
  const head = `${header}\n${separator}\n`
  return SEPARATOR.test(separator ?? '') && head.length < maxHeader ? { reopen: head } : {}
}
