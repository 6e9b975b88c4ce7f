import { shellWord } from '../../lib/command-text.ts'
import { type Page, withOutput } from './page.ts'
import type { Target } from './rows.ts'
import type { Size } from './screen.ts'

/** The open pages of `trivium top`, the visible one last. */
export function createPages(deps: {
  size(): Size
  output(command: readonly string[]): Promise<string>
  draw(): void
}) {
  const { size, output, draw } = deps
  const pages: Page[] = []
  /** Whether the command of a page runs: a slow one is not started twice. */
  let isReading = false

  /** Runs the command of a page, and shows its output unless the page was closed meanwhile. */
  const read = async (page: Page, command: readonly string[]) => {
    isReading = true
    const text = await output(command).finally(() => {
      isReading = false
    })
    // The page may have been scrolled meanwhile.
    const at = pages.findIndex(({ id }) => id === page.id)
    const current = pages[at]
    if (current) pages[at] = withOutput(current, text, Date.now(), size())
    draw()
  }
  let lastId = 0

  return {
    last: () => pages.at(-1),
    show(page: Omit<Page, 'id'>) {
      pages.push({ ...page, id: ++lastId })
    },
    back: () => pages.pop(),
    replace: (page: Page) => pages.splice(-1, 1, page),
    /** Opens what a row or a question stands for. `isAnswer`: its command changes something. */
    open({ text, command, trouble }: Target, { isAnswer = false }: { isAnswer?: boolean } = {}) {
      const given = text?.().trimEnd() ?? ''
      const title = command ? `trivium ${command.map(shellWord).join(' ')}` : 'Trouble'
      const before = given === '' || !command ? given : `${given}\n\n`
      const about = { title, top: 0, id: ++lastId, before, isAnswer, ...(trouble && { trouble }) }
      if (!command) {
        pages.push({ ...about, text: given })
        return
      }
      const page = { ...about, text: `${before}Loading …`, command }
      pages.push(page)
      void read(page, command)
    },
    /** Runs the command of the visible page again, unless it changes something. */
    async refresh(): Promise<void> {
      const page = pages.at(-1)
      if (!page?.command || page.isAnswer || isReading) return
      await read(page, page.command)
    },
  }
}
