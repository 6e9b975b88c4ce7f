import { stripVTControlCharacters } from 'node:util'
import type { JsonObject } from '../../core/json.ts'
import { cutLine } from './cut-line.ts'
import { fitLine } from './fit-line.ts'
import { questionOf } from './question.ts'
import type { Target } from './rows.ts'
import { type Size, windowOf } from './screen.ts'

/**
 * A text over the whole screen. `command`: the one whose output it ends with, below the text
 * `before`. `top`: its first visible line. `at`: the line of the selected entry. `readAt`: when the
 * command ran (Unix ms). `isAnswer`: the command changed something, so it is not run again.
 */
export type Page = {
  id: number
  title: string
  text: string
  command?: readonly string[]
  before?: string
  trouble?: JsonObject
  top: number
  at?: number
  readAt?: number
  isAnswer?: boolean
}

const KEYS_WITH_ENTRIES = ['Tab next entry', 'Enter open']

/** The lists whose entries begin with an id, and the command that shows one. */
const SHOWS: Readonly<Record<string, readonly string[]>> = {
  'message list': ['message', 'show'],
  'dead-letter list': ['dead-letter', 'show'],
  'approval list': ['approval', 'show'],
}
/** An id as lists at a terminal show it, or whole. */
const ID = /^\s*([0-9a-f]{8}(?:-[0-9a-f-]{27})?(?::\S+)?)\s/

/** The lines of an open page, with its title and keys. */
export function pageLines(page: Page, size: Size): string[] {
  const entries = entriesIn(page, size)
  const lines = linesIn(page, size).map((line, at) => (at === page.at ? `▸ ${line.trimStart()}` : line))
  const room = roomOf(page, size)
  const top = Math.min(page.top, lastTop(page, size))
  const shown = windowOf(lines, top + Math.floor(room / 2), room)
  const fill = Array.from({ length: Math.max(0, room - shown.length) }, () => '')
  const keys = keysOf(page, entries.length > 0, commandOfEntry(page, size))
  return [...titleLines(page, size), '', ...shown, ...fill, keys].map((line) => cutLine(line, size.width))
}

/** A command that is wider than the screen goes on in the next line, and can be copied. */
function titleLines({ title, command }: Page, { width }: Size): string[] {
  if (!command) return [title]
  return fitLine(`\`${title}\``, width).map((line) => line.replaceAll('`', ''))
}

/** The keys of a page, after the time of its text. */
function keysOf(page: Page, hasEntries: boolean, entry: readonly string[] | undefined): string {
  const subject = subjectOf(page, entry)
  const can = (key: string) => !page.isAnswer && questionOf(key, subject) !== undefined
  return [
    ...(page.readAt === undefined ? [] : [new Date(page.readAt).toISOString().slice(11, 19)]),
    '↑↓ scroll',
    ...(hasEntries ? KEYS_WITH_ENTRIES : []),
    ...(can('r') ? ['r retry'] : []),
    ...(can('a') ? ['a ack'] : []),
    'q back',
  ].join(' · ')
}

/** What keys act on in an open page: its selected entry, or what it shows. */
export function subjectOf(page: Page, entry: readonly string[] | undefined): Target {
  const { command, trouble } = page
  return { ...((entry ?? command) && { command: entry ?? command ?? [] }), ...(trouble && { trouble }) }
}

/** The page with a new output of its command; its entry stays selected. */
export function withOutput(page: Page, output: string, readAt: number, size: Size): Page {
  const { at: _, ...rest } = page
  const next = { ...rest, text: (page.before ?? '') + output, readAt }
  const selected = commandOfEntry(page, size)?.join(' ')
  const entry = entriesIn(next, size).find(({ command }) => command.join(' ') === selected)
  return scrolled({ ...next, ...(entry && { at: entry.line }) }, size, 0)
}

/** The page scrolled by a number of lines. */
export function scrolled(page: Page, size: Size, steps: number): Page {
  return { ...page, top: Math.max(0, Math.min(lastTop(page, size), page.top + steps)) }
}

/** The page with its next entry selected, or the one before; after the last one, the first. */
export function withNextEntry(page: Page, size: Size, step: 1 | -1): Page {
  const lines = entriesIn(page, size).map(({ line }) => line)
  const selected = lines.indexOf(page.at ?? -1)
  const at = lines.at(selected < 0 && step < 0 ? -1 : (selected + step) % lines.length)
  if (at === undefined) return page
  // The first and the last line of a window may be marks.
  const top = Math.max(at - roomOf(page, size) + 2, Math.min(page.top, at - 1))
  return scrolled({ ...page, at, top }, size, 0)
}

/** The command that shows the selected entry. */
export function commandOfEntry(page: Page, size: Size): readonly string[] | undefined {
  return entriesIn(page, size).find(({ line }) => line === page.at)?.command
}

/** The entries of a list, with their lines. */
function entriesIn(page: Page, size: Size): { line: number; command: readonly string[] }[] {
  const show = SHOWS[page.command?.slice(0, 2).join(' ') ?? '']
  if (!show) return []
  return linesIn(page, size).flatMap((text, line) => {
    const id = ID.exec(stripVTControlCharacters(text))?.[1]
    return id === undefined ? [] : [{ line, command: [...show, id] }]
  })
}

function linesIn({ text }: Page, { width }: Size): string[] {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => fitLine(line, width))
}

/** Rows of a page without its title and its keys. */
const roomOf = (page: Page, size: Size) => Math.max(3, size.rows - 2 - titleLines(page, size).length)

function lastTop(page: Page, size: Size): number {
  return Math.max(0, linesIn(page, size).length - roomOf(page, size))
}
