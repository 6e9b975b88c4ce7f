import { cutLine } from './cut-line.ts'
import { commandOfEntry, pageLines, scrolled, subjectOf, withNextEntry } from './page.ts'
import { createPages } from './pages.ts'
import { type Question, questionLine, questionOf } from './question.ts'
import { FOLD, rowAfter, type Selection, type Shown, type Size, screenOf } from './screen.ts'

const HELP = `Keys of the overview
  ↑ ↓, k j        select a row
  PgUp PgDn       ten rows
  Home End, g G   first and last row
  Enter           open the gateway, message, road or group; of a trouble,
                  its text and what it is about
  /               show only rows with a text; Enter keeps it, Esc ends it
  t               show all troubles, or fold them
  a               you have the selected trouble, or no longer (asks)
  q, Esc          quit

Keys of an opened page
  ↑ ↓ PgUp PgDn   scroll
  Tab, Shift+Tab  select an entry of a list; Enter opens it
  r               retry the selected or shown message or dead letter (asks)
  a               you have the shown trouble, or no longer (asks)
  q, Esc          back
A page is read again every few seconds; the last line has its time (UTC).
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
  let question: Question | undefined
  const pages = createPages(deps)

  const openSelected = () => {
    const page = pages.last()
    if (page) {
      const command = commandOfEntry(page, size())
      if (command) pages.open({ command })
      return
    }
    const row = rowAfter(shown, size().rows, selection, 0)
    if (!row) return
    if (row.key === FOLD) selection = { ...selection, unfolds: true }
    else pages.open(row.opens)
  }
  const move = (steps: number) => {
    const bounded = Math.max(-ALL, Math.min(ALL, steps))
    const page = pages.last()
    if (page) {
      pages.replace(scrolled(page, size(), bounded))
      return
    }
    const row = rowAfter(shown, size().rows, selection, bounded)
    if (row) selection = { ...selection, key: row.key }
  }
  const ask = (key: string) => {
    const page = pages.last()
    if (page?.isAnswer) return
    const subject = page
      ? subjectOf(page, commandOfEntry(page, size()))
      : rowAfter(shown, size().rows, selection, 0)?.opens
    question = subject && questionOf(key, subject)
  }
  const answer = (key: string) => {
    if (key === 'y' && question) pages.open({ command: question.command }, { isAnswer: true })
    question = undefined
  }

  return {
    lines() {
      const page = pages.last()
      const lines = page ? pageLines(page, size()) : screenOf(shown, size(), selection)
      return question ? lines.with(-1, cutLine(questionLine(question), size().width)) : lines
    },
    /** Runs the command of the visible page again. */
    refresh: pages.refresh,
    /** Handles a key. False for one that ends the program. */
    press(key: string): boolean {
      const steps = STEPS[key]
      const page = pages.last()
      if (question) answer(key)
      else if (selection.isTyping && !page) selection = typed(selection, key)
      else if (key === 'escape' && !page && selection.filter) selection = { unfolds: selection.unfolds }
      else if (key === 'q' || key === 'escape') {
        if (!page) return false
        pages.back()
      } else if (steps !== undefined) move(steps)
      else if (key === '?') pages.show({ title: 'trivium top', text: HELP, top: 0 })
      else if (key === 'enter') openSelected()
      else if (key === 'r' || key === 'a') ask(key)
      else if (page && (key === 'tab' || key === 'backtab'))
        pages.replace(withNextEntry(page, size(), key === 'tab' ? 1 : -1))
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
