import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTerminal } from '../../src/cli/terminal.ts'

const WIDTH = 20

/** What a terminal without automatic wrapping shows: the cursor stays on the last character. */
function shownBy(written: string): string[] {
  const cells: string[][] = Array.from({ length: 24 }, () => Array.from({ length: WIDTH }, () => '#'))
  let [row, column] = [0, 0]
  const erase = (line: string[] | undefined, from: number) => line?.fill(' ', from)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences of a terminal
  for (const part of written.match(/\x1b\[\??[\d;]*[A-Za-z]|[^\x1b]/g) ?? []) {
    if (part === '\x1b[H') [row, column] = [0, 0]
    else if (part === '\n') [row, column] = [row + 1, 0]
    else if (part === '\x1b[K') erase(cells[row], column)
    else if (part === '\x1b[J') {
      erase(cells[row], column)
      for (const line of cells.slice(row + 1)) erase(line, 0)
    } else if (!part.startsWith('\x1b')) {
      const line = cells[row]
      if (line) line[column] = part
      column = Math.min(column + 1, WIDTH - 1)
    }
  }
  return cells.map((line) => line.join('').trimEnd())
}

test('a full screen keeps the last character of its lines, and erases what was there before', () => {
  const whole = 'x'.repeat(WIDTH - 1)
  for (const lines of [[`${whole}.`, 'short', `${whole}!`], Array.from({ length: 24 }, () => `${whole}.`)]) {
    let written = ''
    const terminal = createTerminal(false, { out: (text) => (written += text), err: () => {} })
    const { draw, leave } = terminal.enterScreen(
      () => lines,
      () => {},
      () => true,
    )
    draw()
    leave()
    const blank = Array.from({ length: 24 - lines.length }, () => '')
    assert.deepEqual(shownBy(written), [...lines, ...blank])
  }
})
