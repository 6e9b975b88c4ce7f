import { shellWord } from '../../lib/command-text.ts'
import { cutLine } from './cut-line.ts'
import { fitLine } from './fit-line.ts'
import type { Target } from './rows.ts'
import { FOLD, rowAfter, type Selection, type Shown, type Size, screenOf, windowOf } from './screen.ts'

const HELP = `Keys of the overview
  ↑ ↓, k j        select a row
  PgUp PgDn       ten rows
  Home End, g G   first and last row
  Enter           open the gateway, message, road or group; of a trouble,
                  its text and what it is about
  /               show only rows with a text; Enter keeps it, Esc ends it
  t               show all troubles, or fold them
  q, Esc          quit

Keys of an opened page
  ↑ ↓ PgUp PgDn   scroll
  q, Esc          back
A long command continues after \\ on the next line: copy all its lines.

! is a problem; · is intended, or somebody takes care of it.
The curves end now; each has its own maximum as its height. \`trivium trouble list\` has what to do.`

const PAGE_KEYS = '↑↓ scroll · q back'
const STEPS: Readonly<Record<string, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  pageup: -10,
  pagedown: 10,
  ' ': 10,
  home: Number.NEGATIVE_INFINITY,
  g: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
  G: Number.POSITIVE_INFINITY,
}
/** More than the rows and lines that there can be. */
const ALL = 1e6

/** A text over the whole screen. `top`: its first visible line. */
type Page = { title: string; text: string; top: number }

/**
 * The screen of `trivium top` with its selection and the page that is open. `output` runs a command
 * and resolves with what it prints. `draw` shows a changed screen.
 */
export function createView(deps: {
  shown: Shown
  size(): Size
  output(command: readonly string[]): Promise<string>
  draw(): void
}) {
  const { shown, size, draw } = deps
  let selection: Selection = { unfolds: false }
  let page: Page | undefined

  const open = (target: Target) => {
    const { command } = target
    const text = target.text?.().trimEnd() ?? ''
    const title = command ? `trivium ${command.map(shellWord).join(' ')}` : 'Trouble'
    const before = text === '' || !command ? text : `${text}\n\n`
    const opened: Page = { title, text: command ? `${before}Loading …` : text, top: 0 }
    page = opened
    if (!command) return
    void deps.output(command).then((output) => {
      opened.text = before + output
      draw()
    })
  }
  const openSelected = () => {
    const row = rowAfter(shown, size().rows, selection, 0)
    if (!row) return
    if (row.key === FOLD) selection = { ...selection, unfolds: true }
    else open(row.opens)
  }
  const move = (steps: number) => {
    const bounded = Math.max(-ALL, Math.min(ALL, steps))
    if (page) {
      page.top = Math.max(0, Math.min(lastTop(page, size()), page.top + bounded))
      return
    }
    const row = rowAfter(shown, size().rows, selection, bounded)
    if (row) selection = { ...selection, key: row.key }
  }

  return {
    lines: () => (page ? pageLines(page, size()) : screenOf(shown, size(), selection)),
    /** Handles a key. False for one that ends the program. */
    press(key: string): boolean {
      const steps = STEPS[key]
      if (selection.isTyping && !page) selection = typed(selection, key)
      else if (key === 'escape' && !page && selection.filter) selection = { unfolds: selection.unfolds }
      else if (key === 'q' || key === 'escape') {
        if (!page) return false
        page = undefined
      } else if (steps !== undefined) move(steps)
      else if (key === '?') page = { title: 'trivium top', text: HELP, top: 0 }
      else if (key === 'enter' && !page) openSelected()
      else if (key === '/' && !page) selection = { ...selection, filter: '', isTyping: true }
      else if (key === 't' && !page) selection = { ...selection, unfolds: !selection.unfolds }
      draw()
      return true
    },
  }
}

function linesIn({ text }: Page, { width }: Size): string[] {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => fitLine(line, width))
}

/** The selection after a key while its filter is typed. */
function typed(selection: Selection, key: string): Selection {
  const { filter = '', unfolds } = selection
  if (key === 'enter') return { ...selection, isTyping: false }
  if (key === 'escape') return { unfolds }
  if (key === '\u007f' || key === '\b') return { ...selection, filter: filter.slice(0, -1) }
  return /^[^\p{Cc}]$/u.test(key) ? { ...selection, filter: filter + key } : selection
}

/** The title of a page: a long command is in several lines. */
function titleOf({ title }: Page, { width }: Size): string[] {
  return title.length <= width ? [title] : fitLine(`\`${title}\``, width)
}

/** Rows of a page without its title and its keys. */
const roomOf = (page: Page, size: Size) => Math.max(3, size.rows - 2 - titleOf(page, size).length)

function lastTop(page: Page, size: Size): number {
  return Math.max(0, linesIn(page, size).length - roomOf(page, size))
}

function pageLines(page: Page, size: Size): string[] {
  const lines = linesIn(page, size)
  const room = roomOf(page, size)
  const top = Math.min(page.top, lastTop(page, size))
  const shown = windowOf(lines, top + Math.floor(room / 2), room)
  const fill = Array.from({ length: Math.max(0, room - shown.length) }, () => '')
  return [...titleOf(page, size), '', ...shown, ...fill, PAGE_KEYS].map((line) => cutLine(line, size.width))
}
