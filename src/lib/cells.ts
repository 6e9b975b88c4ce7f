/** Characters with one cell each. Most texts have no others. */
const NARROW = /^[\x20-\x7e\xa0-\u02ff\u0370-\u0482\u048a-\u0590]*$/
/** Characters without a cell of their own, such as combining accents. */
const NO_CELL = /[\p{Mn}\p{Me}\p{Cf}]/u
/** East Asian wide characters, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

/** The number of cells of a terminal that a text without control characters takes. */
export function cellsOf(text: string): number {
  if (NARROW.test(text)) return text.length
  return [...text].reduce((sum, character) => sum + cellsIn(character), 0)
}

/** The beginning of a text that takes at most `width` cells. */
export function beginningIn(text: string, width: number): string {
  if (NARROW.test(text)) return text.slice(0, Math.max(0, width))
  let room = width
  let beginning = ''
  for (const character of text) {
    room -= cellsIn(character)
    if (room < 0) break
    beginning += character
  }
  return beginning
}

function cellsIn(character: string): number {
  if (NO_CELL.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
