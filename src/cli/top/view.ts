import { shellWord } from '../../lib/command-text.ts'
import { commandOfEntry, type Page, pageLines, scrolled, withNextEntry } from './page.ts'
import type { Target } from './rows.ts'
import { FOLD, rowAfter, type Selection, type Shown, type Size, screenOf } from './screen.ts'

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
  Tab, Shift+Tab  select an entry of a list; Enter opens it
  q, Esc          back
A long command continues after \\ on the next line: copy all its lines.

! is a problem; · is intended, or somebody takes care of it.
The curves end now; each has its own maximum as its height. \`trivium trouble list\` has what to do.`

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
  /** The open pages, the visible one last. */
  const pages: Page[] = []

  const open = (target: Target) => {
    const { command } = target
    const text = target.text?.().trimEnd() ?? ''
    const title = command ? `trivium ${command.map(shellWord).join(' ')}` : 'Trouble'
    const before = text === '' || !command ? text : `${text}\n\n`
    if (!command) {
      pages.push({ title, text, top: 0 })
      return
    }
    const loading: Page = { title, text: `${before}Loading …`, command, top: 0 }
    pages.push(loading)
    void deps.output(command).then((output) => {
      const at = pages.indexOf(loading)
      if (at >= 0) pages[at] = { ...loading, text: before + output }
      draw()
    })
  }
  const openSelected = () => {
    const page = pages.at(-1)
    if (page) {
      const command = commandOfEntry(page, size())
      if (command) open({ command })
      return
    }
    const row = rowAfter(shown, size().rows, selection, 0)
    if (!row) return
    if (row.key === FOLD) selection = { ...selection, unfolds: true }
    else open(row.opens)
  }
  const move = (steps: number) => {
    const bounded = Math.max(-ALL, Math.min(ALL, steps))
    const page = pages.at(-1)
    if (page) {
      pages.splice(-1, 1, scrolled(page, size(), bounded))
      return
    }
    const row = rowAfter(shown, size().rows, selection, bounded)
    if (row) selection = { ...selection, key: row.key }
  }

  return {
    lines() {
      const page = pages.at(-1)
      return page ? pageLines(page, size()) : screenOf(shown, size(), selection)
    },
    /** Handles a key. False for one that ends the program. */
    press(key: string): boolean {
      const steps = STEPS[key]
      const page = pages.at(-1)
      if (selection.isTyping && !page) selection = typed(selection, key)
      else if (key === 'escape' && !page && selection.filter) selection = { unfolds: selection.unfolds }
      else if (key === 'q' || key === 'escape') {
        if (!page) return false
        pages.pop()
      } else if (steps !== undefined) move(steps)
      else if (key === '?') pages.push({ title: 'trivium top', text: HELP, top: 0 })
      else if (key === 'enter') openSelected()
      else if (page && (key === 'tab' || key === 'backtab'))
        pages.splice(-1, 1, withNextEntry(page, size(), key === 'tab' ? 1 : -1))
      else if (key === '/' && !page) selection = { ...selection, filter: '', isTyping: true }
      else if (key === 't' && !page) selection = { ...selection, unfolds: !selection.unfolds }
      draw()
      return true
    },
  }
}

/** The selection after a key while its filter is typed. */
function typed(selection: Selection, key: string): Selection {
  const { filter = '', unfolds } = selection
  if (key === 'enter') return { ...selection, isTyping: false }
  if (key === 'escape') return { unfolds }
  if (key === '\u007f' || key === '\b') return { ...selection, filter: filter.slice(0, -1) }
  return /^[^\p{Cc}]$/u.test(key) ? { ...selection, filter: filter + key } : selection
}
