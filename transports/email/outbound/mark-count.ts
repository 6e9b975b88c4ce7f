/** The library pairs marks of emphasis in quadratic time; nobody writes so many into one paragraph. */
const MAX_MARKS = 250

const MARKS = /\*+|_+|~+/g
const FENCE = /^ {0,3}(?<mark>`{3,}(?=[^`]*$)|~{3,})(?<rest>.*)$/
/** What begins a block of its own, whatever stands above it. */
const BLOCK = /^(?: {0,3}[-+*] | {0,3}#{1,6} |\s*$)/

/** True where a paragraph of this markdown has more marks of emphasis than the library can pair in a moment. */
export function hasTooManyMarks(markdown: string): boolean {
  let fence: string | undefined
  let count = 0
  for (const line of markdown.split('\n')) {
    const { mark, rest = '' } = FENCE.exec(line)?.groups ?? {}
    if (fence !== undefined) {
      // Code is not looked into.
      if (mark?.startsWith(fence) && rest.trim() === '') fence = undefined
      continue
    }
    if (mark !== undefined) {
      fence = mark
      count = 0
      continue
    }
    if (BLOCK.test(line)) count = 0
    count += line.match(MARKS)?.length ?? 0
    if (count > MAX_MARKS) return true
  }
  return false
}
