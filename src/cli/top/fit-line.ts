import { stripVTControlCharacters } from 'node:util'
import { beginningIn, cellsOf } from '../../lib/cells.ts'
import { lengthOf } from '../../lib/paragraph.ts'

/** Commands in backticks, whose quoted arguments may have spaces. */
const WORD_OF_COMMAND = /(?:'[^']*'|[^\s'])+/g

/**
 * Breaks a line that is wider than the screen at its spaces, and keeps its indentation. A command
 * in backticks goes on after a `\\`, so that a shell takes all its lines when they are pasted.
 */
export function fitLine(line: string, width: number): string[] {
  if (lengthOf(line) <= width) return [line]
  const plain = stripVTControlCharacters(line)
  const indent = (/^\s*/.exec(plain)?.[0] ?? '').slice(0, Math.floor(width / 2))
  const lines: string[] = []
  let current = indent
  for (const { text, isInside } of wordsOf(plain.trim())) {
    const isFirst = current.trim() === ''
    const joined = isFirst ? current + text : `${current} ${text}`
    // The last word of a line inside a command leaves room for ` \\`.
    if (cellsOf(joined) + 2 <= width || isFirst) {
      current = joined
    } else {
      lines.push(isInside ? `${current} \\` : current)
      current = indent + text
    }
    while (cellsOf(current) > width) {
      const beginning = beginningIn(current, width) || current.slice(0, 1)
      lines.push(beginning)
      current = current.slice(beginning.length)
    }
  }
  return [...lines, current]
}

/** The words of a text. `isInside`: the word continues a command that began before it. */
function wordsOf(text: string): { text: string; isInside: boolean }[] {
  return text.split(/(`[^`]*`\S*)/).flatMap((part) => {
    const isCommand = part.startsWith('`')
    const words = (isCommand ? part.match(WORD_OF_COMMAND) : part.match(/\S+/g)) ?? []
    return words.map((word, at) => ({ text: word, isInside: isCommand && at > 0 }))
  })
}
