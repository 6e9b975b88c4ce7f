import { LIMIT } from './words.ts'

/** For code that is closed and opened again where it is cut. */
const ROOM = 60

/** What a text is cut into: `close` ends the first part, `reopen` begins the rest. `at`: a better place for the cut. */
type Seam = { close?: string; reopen?: string; at?: number }

/**
 * Splits markdown into parts that Slack takes, each of which stands alone: between paragraphs where it can, else between lines
 * or words. Code that is cut is closed and opened again; a table that is cut has its header in each part.
 */
export function splitMarkdown(markdown: string, limit = LIMIT): string[] {
  return split(markdown, limit, (part, following) => {
    const fence = openFence(part)
    if (fence) return { close: `\n${/^[`~]+/.exec(fence)}`, reopen: `${fence}\n` }
    return tableSeam(part, following, limit / 4)
  })
}

/** Splits text in Slack's own markup, where a fence may share its line with code. Links are not cut. */
export function splitMrkdwn(text: string, limit: number): string[] {
  return split(text, limit, (part) => {
    const opening = part.lastIndexOf('<')
    if (opening > limit / 3 && !part.includes('>', opening) && !/\s/.test(part.charAt(opening + 1)))
      return { at: opening }
    const isOpen = part.split('```').length % 2 === 0
    return isOpen ? { close: '\n```', reopen: '```\n' } : {}
  })
}

/** Splits text that has no markup. */
export function splitPlain(text: string, limit: number): string[] {
  return split(text, limit, () => ({}))
}

function split(text: string, limit: number, seamOf: (part: string, following: string) => Seam): string[] {
  const parts: string[] = []
  let rest = text.trim()
  while (rest.length > limit) {
    let at = cutOf(rest, limit - ROOM)
    let seam = seamOf(rest.slice(0, at).trimEnd(), rest.slice(at))
    if (seam.at !== undefined) {
      at = seam.at
      seam = seamOf(rest.slice(0, at).trimEnd(), rest.slice(at))
    }
    parts.push(rest.slice(0, at).trimEnd() + (seam.close ?? ''))
    rest = (seam.reopen ?? '') + rest.slice(at).replace(/^\n+/, '')
  }
  if (rest !== '') parts.push(rest)
  return parts
}

function cutOf(text: string, longest: number): number {
  for (const separator of ['\n\n', '\n', ' ']) {
    const at = text.lastIndexOf(separator, longest)
    if (at > longest / 3) return at + 1
  }
  // Never between the halves of a character.
  const code = text.charCodeAt(longest - 1)
  return code >= 0xd800 && code <= 0xdbff ? longest - 1 : longest
}

/** The line that opened the code in which a part ends. */
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

/** `| --- | :-: |`, the line below the header of a table. */
const SEPARATOR = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/

/** Where a table is cut between two rows, the rest begins with its header. A header without a row goes to the rest. */
function tableSeam(part: string, following: string, longest: number): Seam {
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
  return SEPARATOR.test(separator ?? '') && head.length < longest ? { reopen: head } : {}
}
