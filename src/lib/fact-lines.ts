import { paragraph } from './paragraph.ts'

/** Lines of facts, their texts below each other; facts without a text are left out. */
export function factLines(facts: readonly (readonly [title: string, text: string])[]): string[] {
  const shown = facts.filter(([, text]) => text !== '')
  const longest = Math.max(0, ...shown.map(([title]) => title.length))
  return shown.map(([title, text]) => paragraph(`${title.padEnd(longest)}  `, text))
}
