import { MAX_MARKDOWN } from './quiet-text.ts'

/** Characters reserved for closing and reopening code fences. */
const FENCE_ROOM = 60

/**
 * How to cut a text: `close` is added to the first part, and `reopen` before the rest. `at`: cut here
 * instead.
 */
type Cut = { close?: string; reopen?: string; at?: number }

/**
 * Splits Markdown into independent parts within Slack's limit: between paragraphs if possible, else
 * between lines or words. Code is closed and reopened; tables repeat their header.
 */
export function splitMarkdown(markdown: string, limit = MAX_MARKDOWN): string[] {
  return split(markdown, limit, (part, following) => {
    const fence = openFence(part)
    if (fence) return { close: `\n${/^[`~]+/.exec(fence)}`, reopen: `${fence}\n` }
    return cutInTable(part, following, limit / 4)
  })
}

/** Splits text in Slack's markup, in which a fence may share its line with code. Does not cut links. */
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

/** Splits a text. `cutAt` decides about a cut between a part and the text that follows. */
function split(text: string, limit: number, cutAt: (part: string, following: string) => Cut): string[] {
  const parts: string[] = []
  let rest = text.trim()
  while (rest.length > limit) {
    let at = positionIn(rest, limit - FENCE_ROOM)
    let cut = cutAt(rest.slice(0, at).trimEnd(), rest.slice(at))
    if (cut.at !== undefined) {
      at = cut.at
      cut = cutAt(rest.slice(0, at).trimEnd(), rest.slice(at))
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

/** The opening line of the code block in which a part ends, if any. */
function openFence(text: string): string | undefined {
  let open: string | undefined
  for (const [, fence = '', marks = ''] of text.matchAll(
    /^[ \t]*((`{3,10}|~{3,10})[^`\n]{0,20})[^`\n]*$/gm,
  )) {
    if (open === undefined) open = fence
    else if (open.startsWith(marks) && fence.trim() === marks) open = undefined
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
