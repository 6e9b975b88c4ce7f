import { stripVTControlCharacters } from 'node:util'
import { cutLine } from './cut-line.ts'
import { fitLine } from './fit-line.ts'
import { type Size, windowOf } from './screen.ts'

/**
 * A text over the whole screen. `command`: the one whose output it ends with. `top`: its first
 * visible line. `at`: the line of the selected entry.
 */
export type Page = { title: string; text: string; command?: readonly string[]; top: number; at?: number }

const KEYS = '↑↓ scroll · q back'
const KEYS_WITH_ENTRIES = '↑↓ scroll · Tab next entry · Enter open · q back'

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
  const room = roomOf(size)
  const top = Math.min(page.top, lastTop(page, size))
  const shown = windowOf(lines, top + Math.floor(room / 2), room)
  const fill = Array.from({ length: Math.max(0, room - shown.length) }, () => '')
  const keys = entries.length > 0 ? KEYS_WITH_ENTRIES : KEYS
  return [page.title, '', ...shown, ...fill, keys].map((line) => cutLine(line, size.width))
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
  const top = Math.max(at - roomOf(size) + 2, Math.min(page.top, at - 1))
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
const roomOf = ({ rows }: Size) => Math.max(3, rows - 3)

function lastTop(page: Page, size: Size): number {
  return Math.max(0, linesIn(page, size).length - roomOf(size))
}
